"""Where the user's program recorded an operation, and under which floating-point error state."""

from __future__ import annotations

import math
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.expr.watch import Watch, watch

if TYPE_CHECKING:
    from types import CodeType, EllipsisType, FrameType

    from dnumpy.expr.race import Race

    Inside = bool | EllipsisType  # whether a file is one of a library; OWN of this one

_PACKAGE = str(Path(__file__).resolve().parent.parent)
# NumPy's own functions run over dnumpy (api/transplant.py): the user's line is beyond them too
_LIBRARIES = (_PACKAGE, str(Path(np.__file__).resolve().parent))

# NumPy keeps its error state in a context variable; reading the variable costs a twentieth of
# asking ``geterr`` for a dict, and the state that it holds is immutable, so the dict can be
# remembered.
context: Any = getattr(vars(np)["_core"].umath, "_extobj_contextvar", None)


class ErrorState(NamedTuple):
    """What ``numpy.geterr()`` says; ``at_once``: the user is to be told during the call itself."""

    kinds: tuple[tuple[str, str], ...]
    at_once: bool


states: list[tuple[object, ErrorState]] = []
_MOST_REMEMBERED = 8
_LATER = ("ignore", "warn")  # answers to a fault that may come when the value is computed


def error_state() -> ErrorState:
    """Return the error state of the calling thread."""
    token = context.get() if context is not None else None
    for known, state in states:
        if known is token and token is not None:
            return state
    kinds = np.geterr()
    at_once = any(value not in _LATER for value in kinds.values())
    state = ErrorState(tuple((k, str(v)) for k, v in kinds.items()), at_once)
    if len(states) >= _MOST_REMEMBERED:
        del states[1:]  # the first is the default, asked for most
    states.append((token, state))
    return state


class Site:
    """Whether what one place of a program records has been looked at by itself so far.

    Waiting gains nothing there: nothing comes to be fused with it. Where that was so ``SURE`` times
    in a row the next ones are computed as they are recorded, but one in ``PROBED`` waits again, so
    that another use of the same line is noticed. The first one of all does not wait: what runs once
    is not worth being planned. The second does.
    """

    __slots__ = ("alone", "race", "recorded_times", "recording", "unread")

    SURE = 3
    PROBED = 16
    TIMED = 8  # times that what recording takes is looked at where results wait
    UNREAD = 1  # times in a row that a result computed along was never read: see expr.unread
    NEEDED = -(1 << 62)
    FIRST = SURE + PROBED - 2

    def __init__(self) -> None:
        self.alone = self.FIRST
        self.unread = 0
        self.race: Race | None = None  # with NumPy
        self.recording = math.inf  # seconds that a function took here to record its result
        self.recorded_times = 0

    def died_unread(self) -> None:
        """Note that a result of this place was computed for nobody."""
        self.unread += 1

    def was_read(self) -> None:
        """Note that a result which was computed along was read."""
        self.unread = min(self.unread, 0)

    def is_needed(self) -> None:
        """Note that a result which was not computed along was needed."""
        self.unread = self.NEEDED

    def dies_unread(self) -> bool:
        """Say whether results of this place are not worth being computed along."""
        return self.unread >= self.UNREAD

    def looked_at(self, *, alone: bool) -> None:
        """Note how a pending result of this place came to be computed."""
        self.alone = self.alone + 1 if alone else 0

    def took(self, seconds: float) -> None:
        """Note what NumPy took for an operation of this place."""
        race = self.race
        if race is None:
            return
        if race.by_numpy:
            race.passed(seconds, self, ends=self is race.sites[-1])
        else:
            race.took(seconds)

    def recorded(self, seconds: float) -> None:
        """Note what a function took to record its result, without that being computed."""
        self.recording = min(self.recording, seconds)
        self.recorded_times += 1

    def is_timed(self) -> bool:
        """Say whether results of this place wait, and what recording them takes is known."""
        return not self.alone and self.recorded_times >= self.TIMED

    def computes_at_once(self) -> bool:
        """Say whether to compute the next result without waiting."""
        if self.alone < self.SURE:
            return False
        self.alone += 1
        if self.alone < self.SURE + self.PROBED:
            return True
        self.alone = self.SURE - 1
        return False


class Registry(dict[Any, Any]):
    """What was warned of in code whose globals are no module's; no two are alike."""

    __hash__ = object.__hash__  # type: ignore[assignment]
    __eq__ = object.__eq__
    __ne__ = object.__ne__


class Origin(NamedTuple):
    """The first frame outside this package, the error state there, and who listens to warnings."""

    file: str
    line: int
    errors: tuple[tuple[str, str], ...]
    module: str
    function: str
    watch: Watch
    site: Site
    also: tuple[Origin, ...] = ()  # where else the same was recorded while it was pending
    registry: Registry | None = None  # of warnings, where the globals are no module's
    told_as: str = ""  # NumPy's name for what was called, where the op has another

    def silent(self) -> Origin:
        """Return the same place, where no fault is told."""
        return self._replace(errors=tuple((kind, "ignore") for kind, _ in self.errors), also=())

    @property
    def places(self) -> tuple[Origin, ...]:
        """Where the same was recorded: each line is told of faults as it asked to be."""
        return (self, *self.also)

    def and_at(self, other: Origin) -> Origin:
        """Return this place with another one, where that is another line or asks otherwise."""
        if other is self or len(self.also) >= _MOST_PLACES:
            return self
        asks = (other.line, other.file, other.errors, other.watch, other.told_as)
        if any((p.line, p.file, p.errors, p.watch, p.told_as) == asks for p in self.places):
            return self
        return self._replace(also=(*self.also, other))


def here() -> Origin:
    """Return the origin of the call that is being recorded."""
    origin = here_above(2, error_state(), watch())
    name = naming.name
    return origin._replace(told_as=name) if name else origin


class _Naming(threading.local):
    """What this thread is recording, in NumPy's words."""

    name = ""


naming = _Naming()


class told_as:  # noqa: N801 - a context, as np.errstate
    """Tell faults of what is recorded within under a name; the outermost one counts."""

    __slots__ = ("_before", "_name")

    def __init__(self, name: str) -> None:
        self._name, self._before = name, ""

    def __enter__(self) -> None:
        self._before = naming.name
        naming.name = self._before or self._name

    def __exit__(self, *_raised: object) -> None:
        naming.name = self._before


def here_above(depth: int, state: ErrorState, watched: Watch) -> Origin:
    """Return the origin of the call being recorded, at least ``depth`` frames above this one."""
    frame = _frame_at(depth)
    code = frame.f_code
    found = sites.get((id(code), frame.f_lasti))
    if found is not None:
        known, errors, listens = found[:3]
        if known is code and errors is state and listens is watched:
            kept: Origin = found[3]
            return kept
    return _origin_beyond(frame, state, watched)


def users_frame(depth: int) -> FrameType:
    """Return the frame of the program's that called, at least ``depth`` above this one."""
    return _outside(_frame_at(depth))


def _outside(frame: FrameType) -> FrameType:
    """Return the first frame from here outside the libraries."""
    return _frames_of(frame)[1]


def _frames_of(frame: FrameType) -> tuple[FrameType | None, FrameType]:
    """Return the first frame of NumPy's own Python from here, if any, and the first outside."""
    within = None
    while frame.f_back is not None:
        name = frame.f_code.co_filename
        inside = libraries.get(name)
        if inside is None:
            inside = note_file(name)
        if inside is False:
            break
        if inside is True and within is None:
            within = frame
        frame = frame.f_back
    return within, frame


def site_of(frame: FrameType) -> Site | None:
    """Return the place of a frame where something was recorded before for the user, else None."""
    code = frame.f_code
    found = sites.get((id(code), frame.f_lasti))
    if found is None:
        within, outside = _frames_of(frame)
        if within is not None:
            known = _known_within(within, outside)
            return None if known is None else known[3].site
        code = outside.f_code
        found = None if outside is frame else sites.get((id(code), outside.f_lasti))
    return found[3].site if found is not None and found[0] is code else None


def site_at(frame: FrameType) -> Site | None:
    """Return the place of a frame, made if there is none; None of one inside this library."""
    site = site_of(frame)
    if site is None:
        name = frame.f_code.co_filename
        inside = libraries.get(name)
        if (note_file(name) if inside is None else inside) is not OWN:
            site = _origin_beyond(frame, error_state(), watch()).site
    return site


def note_file(name: str) -> Inside:
    """Say, and remember, whether a file is one of a library and none of its tests."""
    if len(libraries) >= _MOST_KNOWN:
        libraries.clear()
    inside = name.startswith(_LIBRARIES) and "/tests/" not in name
    found = libraries[name] = OWN if inside and name.startswith(_PACKAGE) else inside
    return found


OWN = ...  # of this package
libraries: dict[str, Inside] = {}  # file -> whether it is one of a library and none of its tests
_frame_at = sys._getframe  # noqa: SLF001 - the documented way to look at callers cheaply

# a place in a program -> its code object, which keeps the id its own, and what was so there last;
# and a place in NumPy's Python, with the program's that called it -> likewise, and that one's code
# and origin. The lines of such a function are places of their own, each with its own results.
sites: dict[tuple[int, ...], tuple[Any, ...]] = {}
_MOST_KNOWN = 4096
_MOST_PLACES = 16


def _origin_of(frame: FrameType, state: ErrorState, watched: Watch) -> Origin:
    code = frame.f_code
    key = (id(code), frame.f_lasti)
    found = sites.get(key)
    if found is not None:
        known, errors, listens = found[:3]
        if known is code and errors is state and listens is watched:
            kept: Origin = found[3]
            return kept
    site = found[3].site if found is not None and found[0] is code else Site()
    module = frame.f_globals.get("__name__") or "<unknown>"
    own = None if frame.f_globals is _globals_of(module) else _registry_of(code)
    origin = Origin(
        code.co_filename,
        frame.f_lineno,
        state.kinds,
        module,
        code.co_name,
        watched,
        site,
        registry=own,
    )
    if len(sites) >= _MOST_KNOWN:
        sites.clear()
    sites[key] = (code, state, watched, origin)
    return origin


def _origin_beyond(frame: FrameType, state: ErrorState, watched: Watch) -> Origin:
    """Return the user's line as the origin of what a frame records, maybe of a library."""
    within, outside = _frames_of(frame)
    origin = _origin_of(outside, state, watched)
    return origin if within is None else _origin_within(within, outside, origin, state)


def _key_within(within: FrameType, outside: FrameType) -> tuple[int, ...]:
    return id(within.f_code), within.f_lasti, id(outside.f_code), outside.f_lasti


def _known_within(within: FrameType, outside: FrameType) -> tuple[Any, ...] | None:
    """Return what is known of a place in NumPy's Python, called from one of the program."""
    found = sites.get(_key_within(within, outside))
    if found is None or found[0] is not within.f_code or found[4] is not outside.f_code:
        return None
    return found


def _origin_within(
    within: FrameType, outside: FrameType, origin: Origin, state: ErrorState
) -> Origin:
    """Return the user's line as the origin of what a line of NumPy's Python records for it."""
    found = _known_within(within, outside)
    if found is not None and found[5] is origin:
        known: Origin = found[3]
        return known
    made = origin._replace(site=Site() if found is None else found[3].site)
    if len(sites) >= _MOST_KNOWN:
        sites.clear()
    key = _key_within(within, outside)
    sites[key] = (within.f_code, state, origin.watch, made, outside.f_code, origin)
    return made


# what was warned of in code that was given globals of its own, which are not to be kept alive;
# by id, since code of the same text is equal
_registries: dict[int, tuple[CodeType, Registry]] = {}


def _registry_of(code: CodeType) -> Registry:
    if len(_registries) >= _MOST_KNOWN:
        _registries.clear()
    return _registries.setdefault(id(code), (code, Registry()))[1]


def _globals_of(module: str) -> dict[str, Any] | None:
    found = sys.modules.get(module)
    return None if found is None else vars(found)


def told_at_once() -> bool:
    """Say whether the program wants to know of a fault during the very call that causes it."""
    return error_state().at_once or watch().at_once


def may_raise_at_once() -> bool:
    """Say whether a fault is an error, which the program may wait for at the very call."""
    return error_state().at_once or watch().may_raise()
