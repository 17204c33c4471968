"""Locks for writes: taking a Buffer's memory and writing to it is one step for all threads.

Between the two, another thread may make the Buffer copy its memory for a reader that waits; what
is written to the old memory then would be lost. A Buffer's lock is one of a fixed set, chosen by
its address, since a lock for each would cost more than most writes. Locks of several Buffers are
taken in the order of the set. Whoever takes the engine's lock too takes it last, and what is
pending is computed before the lock of its Buffer is taken: a computation may run code of the user
that writes.
"""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from dnumpy import engine
from dnumpy.api.array import ndarray

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from dnumpy.api.buffer import Buffer

_LOCKS = tuple(threading.RLock() for _ in range(64))
_NOTHING: AbstractContextManager[Any] = nullcontext()
_OBJECT_BYTES = 16  # addresses of objects are multiples of this


def _number(buffer: Buffer) -> int:
    return id(buffer) // _OBJECT_BYTES % len(_LOCKS)


class _Several:
    """Several locks, taken in order."""

    def __init__(self, numbers: list[int]) -> None:
        self._locks = [_LOCKS[number] for number in numbers]

    def __enter__(self) -> None:
        for lock in self._locks:
            lock.acquire()

    def __exit__(self, *_error: object) -> None:
        for lock in reversed(self._locks):
            lock.release()


def recording(target: ndarray) -> AbstractContextManager[Any]:
    """Return what keeps other threads from writing to an array while a write is recorded."""
    return _LOCKS[_number(target._buf)]


def writing(*targets: Any) -> AbstractContextManager[Any]:
    """Return what keeps other threads from writing to the arrays, and tuples of arrays, meanwhile.

    Arrays that run at once, and whatever is no array of ours, need no lock.
    """
    found: set[int] = set()
    for target in targets:
        for x in target if type(target) is tuple else (target,):
            if type(x) is ndarray and x._np is None:
                if x._buf.pending:
                    engine.compute([x._buf.expr])
                found.add(_number(x._buf))
    if not found:
        return _NOTHING
    return _LOCKS[found.pop()] if len(found) == 1 else _Several(sorted(found))
