"""How much memory a task took at its peak, as the system counted it.

The kernel keeps the most memory that a process has held since it was last told to forget it (Linux:
``VmHWM``, reset through ``clear_refs``). Reading and resetting take some ten microseconds, so each
task is watched. Blocks that the pool keeps unused are not counted: an array that lies in one
takes memory as much as one in fresh pages.

Only worker processes are watched: what else the client's process does would be counted too. What a
task took while compilers were at work is not told: they take some 100 MB when they are imported,
which plans set apart from what programs may have (``node_setup.free_bytes_of``), and the system
does not say what part of the process's memory is theirs.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from weakref import finalize

from dnumpy.kernels.compilers import compilers
from dnumpy.runtime.memory import pool

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")
STATUS_BYTES = 1 << 14  # several times what it has
FORGET_THE_MOST = b"5"  # what clear_refs calls it


class Given(NamedTuple):
    """Memory that lay there before the task: where, the bytes that are read, and all of them."""

    address: int
    read: int
    whole: int


class Taken(NamedTuple):
    """What a process held when a task began and at its most until it ended, and what was given."""

    began: int
    most: int
    given: tuple[Given, ...] = ()


class _Watch:
    """The tasks of this process that run now."""

    def __init__(self) -> None:
        self.on = False
        self._lock = threading.Lock()
        self._running: dict[object, list[int]] = {}  # of each: bytes when it began, and at the most
        self._leaving = 0  # bytes of copies made for other nodes that are still here

    def start(self) -> bool:
        """Watch the tasks of this process from now on; False where the system does not tell."""
        with self._lock:
            self.on = _forget() and _held()[1] > 0
        if self.on:
            pool.trimming = self.apart
        return self.on

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Give memory back to the system in the block: what was held before is noted for itself."""
        with self._lock:
            if self._running:
                self._note()
            yield
            _forget()
            pool.forget_least_unused()

    def begin(self) -> object:
        """Note what is held as a task begins."""
        task = object()
        with self._lock:
            if self._running:
                self._note()
            _forget()
            pool.forget_least_unused()
            now, _ = _held()
            held = now - pool.unused
            self._running[task] = [held - self._leaving, held]
        return task

    def note_leaving(self, arrays: Iterable[np.ndarray]) -> None:
        """Count copies made for other nodes as taken by the tasks that run until they are gone."""
        for array in arrays if self.on else ():
            self._count_leaving(array.nbytes)
            finalize(array, self._count_leaving, -array.nbytes)

    def _count_leaving(self, nbytes: int) -> None:
        self._leaving += nbytes  # without the lock: it may be called while one is held

    def end(self, task: object) -> Taken:
        """Return what the task took; others that run at the same time are counted with it."""
        with self._lock:
            self._note()
            began, most = self._running.pop(task)
            return Taken(began, most)

    def _note(self) -> None:
        """Take in the most that was held since this was last forgotten."""
        most = _held()[1] - pool.least_unused
        for seen in self._running.values():
            seen[1] = max(seen[1], most)


@cache
def _opened(path: Path, flags: int, _process: int) -> int:
    """Return the file, which stays open: to open it takes longer than to read or write it.

    It is that of this process: one that is forked off later has files of its own.
    """
    return os.open(path, flags)


def _forget() -> bool:
    try:
        os.pwrite(_opened(CLEAR, os.O_WRONLY, os.getpid()), FORGET_THE_MOST, 0)
    except (OSError, AttributeError):  # there is no such file, or no such call
        return False
    return True


def _held() -> tuple[int, int]:
    """Return the bytes that this process holds, and the most since that was forgotten."""
    try:
        text = os.pread(_opened(STATUS, os.O_RDONLY, os.getpid()), STATUS_BYTES, 0)
    except (OSError, AttributeError):  # there is no such file, or no such call
        return 0, 0
    return _field(text, b"VmRSS:"), _field(text, b"VmHWM:")


def _field(text: bytes, name: bytes) -> int:
    at = text.find(name)
    return int(text[at + len(name) :].split(None, 1)[0]) * 1024 if at >= 0 else 0


watch = _Watch()


@contextmanager
def watched(seen: list[Taken]) -> Iterator[None]:
    """Add what the block takes to ``seen``, where this process is watched and compiles nothing."""
    if not watch.on:
        yield
        return
    others, begun = compilers.at_work, compilers.begun
    task = watch.begin()
    try:
        yield
    finally:
        taken = watch.end(task)
        if not others and compilers.begun == begun:
            seen.append(taken)


def peak_of(tasks: Iterable[Taken]) -> int:
    """Return the bytes that the tasks of one stage on one node took together at the peak.

    These are what they were given, each byte once, and by how much the process grew.
    """
    read: dict[int, int] = {}
    whole: dict[int, int] = {}
    began: list[int] = []
    most: list[int] = []
    for task in tasks:
        began.append(task.began)
        most.append(task.most)
        for given in task.given:
            read[given.address] = read.get(given.address, 0) + given.read
            whole[given.address] = given.whole
    held = sum(min(size, whole[address]) for address, size in read.items())
    return held + max(most) - min(began)
