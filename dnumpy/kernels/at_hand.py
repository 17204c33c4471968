"""Whether what writes kernels is imported in this process, and when it pays to import it.

It takes about as long as a short program. The thread that wants it imports it: once phases have run
tiled for a multiple of that, before those that take longer and have machine code on disk, or in the
midst of a long one. Beside a program that asks for the interpreter after each of NumPy's calls, a
thread in the background took three times as long.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from contextlib import contextmanager
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from dnumpy import native
from dnumpy.config import config
from dnumpy.kernels import cached
from dnumpy.kernels.compilers import compilers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dnumpy.rewrite.phase import Phase

IMPORT_AFTER = 0.1  # seconds of tiled time that importing what writes kernels is worth
KNOWN_AFTER = 0.03  # and where a phase that takes part has machine code on disk
COMPILE_SECONDS = 0.04  # at most: most of the work is another process's, beside the program
LONG_PROGRAM = 80  # steps; what has more takes so many times as long to write and to compile
LOAD_SECONDS = 1e-3  # of machine code from a disk
AHEAD = 8  # times what compiling costs: a run that takes longer is worth it from its beginning
FASTEST = 5e10  # bytes a second of results, which no tiled phase is faster than
GIVE_WAY = 2e-4  # seconds for which a thread in the background keeps the interpreter
IMPORT_SECONDS = 10.0  # at most
_MOST_PHASES = 4096

_imported = threading.Event()
_import_seconds = [0.0]  # of this process's time, that importing what writes kernels took
_importing = threading.Lock()  # taken once and for all by whoever starts importing
_tiled_seconds = [0.0]  # of phases that ran before, until what writes kernels is imported
_giving: list[float] = []  # the interpreter's own time, while threads are in the background
_giving_lock = threading.Lock()

is_known = lru_cache(maxsize=_MOST_PHASES)(cached.is_known)


def length(phase: Phase) -> float:
    """Return how many times as long compiling takes as that of most phases.

    A step takes 0.15 ms to write and 0.5 ms to compile (one core of a Xeon): a loop of which a
    hundred laps are one phase is worth it only where it comes again.
    """
    return max(1.0, len(phase.steps) / LONG_PROGRAM)


def is_imported() -> bool:
    """Say whether phases may be lowered now."""
    return _imported.is_set()


def is_imported_now() -> bool:
    """Import what writes kernels, or wait while somebody does; say whether it is imported."""
    if _importing.acquire(blocking=False):
        import_lowerings()
    return _imported.wait(IMPORT_SECONDS)


def are_made_now() -> bool:
    """Say whether kernels are being compiled in the background."""
    return bool(_giving)


def note_tiled(seconds: float) -> None:
    """Note that a phase which ran before took so long, tiled."""
    _tiled_seconds[0] += seconds


def lowerings_wait(run: float) -> float:
    """Return for how many more seconds phases run tiled until what writes kernels is imported.

    ``run`` is what one takes that is about to begin.
    """
    if _imported.is_set() or run >= AHEAD * COMPILE_SECONDS:
        return 0.0
    return max(0.0, IMPORT_AFTER - _tiled_seconds[0])


def lowerings_at_hand(phase: Phase, run: float) -> bool:
    """Say whether what writes kernels is imported; import it where that is worth it by now.

    It is, once a compilation might begin, or once as much as a short program takes has gone by, or
    is about to in this ``run``, and a kernel might be loaded in its place.
    """
    if _imported.is_set():
        return True
    spent = _tiled_seconds[0]
    known = max(spent, run) >= KNOWN_AFTER and is_known(phase)
    if known or spent >= IMPORT_AFTER or run >= AHEAD * COMPILE_SECONDS:
        _import()
    return _imported.is_set()


def load_ahead(phases: Iterable[Phase]) -> None:
    """Import what writes kernels where phases that are about to run have some on disk.

    That is, where those would take longer than a short program if they ran tiled.
    """
    if config.kernels != "auto" or _importing.locked():
        return
    expected = [(least_seconds(phase), phase) for phase in phases]
    if sum(seconds for seconds, _ in expected) < KNOWN_AFTER:
        return
    if sum(seconds for seconds, phase in expected if is_known(phase)) >= KNOWN_AFTER:
        _import()


@lru_cache(maxsize=_MOST_PHASES)
def least_seconds(phase: Phase) -> float:
    """Return what a phase takes at least where it runs tiled: each step writes its result."""
    nbytes = 0
    for slot, step in enumerate(phase.steps, start=len(phase.inputs)):
        nbytes += phase.rows * prod(phase.shape_of(slot)[1:]) * step.dtype.itemsize
    return nbytes / FASTEST


def _import() -> None:
    if _importing.acquire(blocking=False):
        import_lowerings()


def import_lowerings() -> None:
    """Import what writes kernels, and let phases use it.

    The code takes 1.7 MB: as much, and more, has lain free in the heap since programs began.
    """
    native.trim_heap()
    started = time.thread_time()
    with giving_way():
        import dnumpy.kernels.compile
        import dnumpy.kernels.numba  # noqa: F401

    if not _imported.is_set():
        _import_seconds[0] = time.thread_time() - started
    native.trim_heap()  # of what reading it took
    _imported.set()


def import_seconds() -> float:
    """Return the CPU time that importing what writes kernels took here; 0 before it is imported."""
    return _import_seconds[0]


@contextmanager
def giving_way() -> Iterator[None]:
    """Let others have the interpreter soon after they ask for it: phases run tiled meanwhile.

    They ask after each call of NumPy's, and would wait for 5 ms each time.
    """
    with _giving_lock:
        before = sys.getswitchinterval()
        _giving.append(_giving[0] if _giving else before)
        sys.setswitchinterval(min(GIVE_WAY, before))
    try:
        with compilers.working():
            yield
    finally:
        with _giving_lock:
            before = _giving.pop()
            if not _giving:
                sys.setswitchinterval(before)


def _forget_importing() -> None:
    if _importing.locked():  # the thread that imports is not in this process
        _importing.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_importing)
