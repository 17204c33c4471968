"""How the user's program listens to warnings where an operation is recorded.

A floating-point warning of a recorded operation can only be known when it is computed. Whether
that may wait depends on who listens:

- Filters that ignore RuntimeWarning: nobody will hear of it, whenever it comes.
- The ordinary filters: it is given when the value is computed, at the line that recorded it.
- A filter that turns it into an error, or a block that collects warnings
  (``warnings.catch_warnings(record=True)``, ``pytest.warns``, ``numpy.testing.assert_warns``): the
  program looks at the outcome at that very line or right after the block, and nothing tells this
  library that the block has ended. So there operations are computed at once.

A test runner collects the warnings of whole tests, and of reading their modules, without asking
for ``always``; that alone would make every test run at once, so under pytest only a block that asks
for ``always`` counts.

A filter of this library's own stays in front of those that the program adds: see :class:`Filters`.

The filters are remembered with each operation, because it is they that count and not those where
the value happens to be looked at. A look at whether they changed costs a quarter of a microsecond:
the list is another one, or has another length or another first entry behind this library's own, or
warnings are shown by something else.
"""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable

_MODULE: Any = warnings  # its display function is not in the type stubs
_ORDINARY = ("warnings", "logging")  # modules whose functions only display warnings
_EACH = frozenset({"always", "all"})


Entry = tuple[Any, ...]
_list: Any = list


class Filters(list[Entry]):
    """A list of filters, and copies of it, in which the first entry stays in front.

    ``simplefilter`` and ``filterwarnings`` insert in front of all others, ``catch_warnings`` takes
    a slice for the time of its block, and ``resetwarnings`` assigns to one.
    """

    __slots__ = ()

    def insert(self, place: SupportsIndex, entry: Entry) -> None:
        """Insert an entry, behind the first one at least."""
        _list.insert(self, place.__index__() or 1, entry)

    def __getitem__(self, place: SupportsIndex | slice) -> Any:  # noqa: ANN401 - an entry or entries
        """Return an entry; all of them as a list like this one."""
        found = _list.__getitem__(self, place)
        return Filters(found) if place == _ALL else found

    def __setitem__(self, place: SupportsIndex | slice, entries: Iterable[Any]) -> None:
        """Replace entries; all of them but the first."""
        if place == _ALL:
            first = _list.__getitem__(self, 0)
            entries = [first, *[entry for entry in entries if entry is not first]]
        _list.__setitem__(self, place, entries)


_ALL = slice(None)
_entry = _list.__getitem__


class Watch(NamedTuple):
    """The filters, and what shows warnings, at the time of recording."""

    filters: tuple[Any, ...]
    show: Any
    at_once: bool

    def action(self, text: str, category: type[Warning], module: str, line: int) -> str:
        """Return what the filters say about a warning."""
        for action, message, filtered, where, number in self.filters:
            if (
                issubclass(category, filtered)
                and _matches(message, text)
                and _matches(where, module)
                and number in (0, line)
            ):
                return str(action)
        return str(_MODULE.defaultaction)

    def may_raise(self) -> bool:
        """Say whether some RuntimeWarning becomes an error."""
        return "error" in _possible(self.filters)


class _Sight(NamedTuple):
    """What is compared to find out that nothing changed."""

    filters: Any
    length: int
    number: int
    latest: Any
    show: Any
    showwarning: Any
    watch: Watch


def _matches(pattern: re.Pattern[str] | str | None, text: str) -> bool:
    if pattern is None:
        return True
    return pattern == text if isinstance(pattern, str) else bool(pattern.match(text))


sights: list[_Sight] = []


def watch() -> Watch:
    """Return how the program listens to warnings now."""
    filters = _MODULE.filters
    if sights:
        seen = sights[0]
        if (
            filters is seen.filters
            and _MODULE._showwarnmsg_impl is seen.show  # noqa: SLF001 - what catch_warnings replaces
            and _MODULE.showwarning is seen.showwarning
            and len(filters) == seen.length
            and (not filters or _entry(filters, seen.number) is seen.latest)
        ):
            return seen.watch
    return _look()


def _look() -> Watch:
    filters, show, showwarning = (
        _MODULE.filters,
        _MODULE._showwarnmsg_impl,  # noqa: SLF001 - as above
        _MODULE.showwarning,
    )
    collected = getattr(show, "__module__", None) not in _ORDINARY
    replaced = getattr(showwarning, "__module__", None) not in _ORDINARY
    found = Watch(
        tuple(filters), show, at_once=_at_once(_possible(filters), replaced, collected=collected)
    )
    number = 1 if type(filters) is Filters and len(filters) > 1 else 0
    latest = _entry(filters, number) if filters else None
    sights[:] = [_Sight(filters, len(filters), number, latest, show, showwarning, found)]
    return found


def _possible(filters: Iterable[tuple[Any, ...]]) -> frozenset[str]:
    """Return what may become of a RuntimeWarning, as far as its text and place are not known."""
    found = set()
    for action, message, category, where, line in filters:
        if issubclass(RuntimeWarning, category):
            found.add(action)
            if message is None and where is None and not line:
                return frozenset(found)
    return frozenset({*found, _MODULE.defaultaction})


def _at_once(actions: frozenset[str], replaced: bool, *, collected: bool) -> bool:
    if "error" in actions:
        return True
    if not (collected or replaced) or actions == {"ignore"}:
        return False
    runs_tests = not {"PYTEST_VERSION", "PYTEST_CURRENT_TEST"}.isdisjoint(os.environ)
    return bool(_EACH & actions) or (collected and not runs_tests)
