"""Writing is one step for all threads: taking a Buffer's memory, and writing to it.

Between the two, another thread may make the Buffer copy its memory for a reader that waits; what
is written to the old memory then would be lost. A Buffer's lock is one of a fixed set, chosen by
its address, since a lock for each would cost more than most writes. Locks of several Buffers are
taken in one order. Whoever takes the engine's lock too takes it last, and what is pending is
computed before the lock of its Buffer is taken: a computation may run code of the user that writes.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from dnumpy import engine
from dnumpy.api.array import ndarray

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

_NOTHING: AbstractContextManager[Any] = nullcontext()


class _Several:
    """Several locks, taken in order."""

    def __init__(self, locks: list[Any]) -> None:
        self._locks = locks

    def __enter__(self) -> None:
        for lock in self._locks:
            lock.acquire()

    def __exit__(self, *_error: object) -> None:
        for lock in reversed(self._locks):
            lock.release()


def recording(target: ndarray) -> AbstractContextManager[Any]:
    """Return what keeps other threads from writing to an array while a write is recorded."""
    lock: AbstractContextManager[Any] = target._buf.lock
    return lock


def writing(*targets: Any) -> AbstractContextManager[Any]:
    """Return what keeps other threads from writing to the arrays, and tuples of arrays, meanwhile.

    Arrays that run at once, and whatever is no array of ours, need no lock.
    """
    found: dict[int, Any] = {}
    for target in targets:
        for x in target if type(target) is tuple else (target,):
            if type(x) is ndarray and x._np is None:
                if x._buf.pending:
                    engine.compute([x._buf.expr])
                found[id(x._buf.lock)] = x._buf.lock
    if not found:
        return _NOTHING
    return _Several([found[key] for key in sorted(found)])
