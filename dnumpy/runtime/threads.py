"""The threads of this process.

They sleep between stages. The caller works along: it takes the first call itself, and whatever
nobody has begun when it is done. Dask's threaded scheduler, which ran these calls before, took
0.6 ms to run two of them on two cores, and an executor with its futures 0.1 ms, 0.03 of it before
the first call began; this takes 0.07 ms. A call made from inside another cannot wait for threads
that are all taken. What needs no interpreter and takes less is shared out in C (``native/crew.c``).

While they multiply matrices tile by tile, BLAS has one thread for each caller: its own threads
would wait for the same cores, and only one caller at a time may use them.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from contextvars import copy_context
from functools import lru_cache
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, TypeVar

from dnumpy.config import thread_count
from dnumpy.native import wake_apart, woken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Item = TypeVar("Item")


class _Job:
    """A call that is made once: by a thread that waits for jobs, or by whoever asked for it."""

    __slots__ = ("_done", "_taken", "call", "error", "result")

    def __init__(self, call: Callable[[], Any]) -> None:
        self.call: Callable[[], Any] | None = call
        self.result: Any = None
        self.error: BaseException | None = None
        self._taken = threading.Lock()
        self._done = threading.Lock()
        self._done.acquire()

    def run(self) -> None:
        """Make the call, unless somebody has begun it."""
        if not self._taken.acquire(blocking=False):
            return
        call, self.call = self.call, None  # what it holds is let go of before anybody goes on
        assert call is not None
        try:
            self.result = call()
        except BaseException as error:  # noqa: BLE001 - raised where the result is asked for
            self.error = error
        del call
        self._done.release()

    def stop(self) -> None:
        """Let the call never be made if nobody has begun it, and wait for its end otherwise."""
        if self._taken.acquire(blocking=False):
            self.call = None
        else:
            self._done.acquire()


_jobs: SimpleQueue[_Job] = SimpleQueue()
_helpers: list[threading.Thread] = []
_numbers: tuple[int, ...] = ()  # of the helpers, in the system
_starting = threading.Lock()


def in_threads(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run ``calls`` at the same time, one of them here; return their results in order."""
    others = [_Job(call) for call in calls[1:]]
    if len(_helpers) < len(others):
        _start_helpers(len(others))
    if others:
        wake_apart(_numbers)
    for job in others:
        _jobs.put(job)
    try:
        results = [calls[0]()]
        for job in others:
            job.run()
    finally:
        for job in others:
            job.stop()
    for job in others:
        if job.error is not None:
            raise job.error
        results.append(job.result)
    return results


def _start_helpers(count: int) -> None:
    global _numbers  # noqa: PLW0603
    with _starting:
        while len(_helpers) < count:
            thread = threading.Thread(target=_help, name="dnumpy", daemon=True)
            thread.start()
            _helpers.append(thread)
        _numbers = tuple(helper.native_id or 0 for helper in _helpers)


def _help() -> None:
    jobs = _jobs
    while True:
        job = jobs.get()
        woken()
        job.run()
        del job


def _begin_anew() -> None:
    """Forget threads that are not in this process, and what they held."""
    global _jobs, _numbers, _starting  # noqa: PLW0603
    _helpers.clear()
    _numbers = ()
    _jobs, _starting = SimpleQueue(), threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


def share_out(work: Callable[[Item], object], items: Iterable[Item]) -> None:
    """Call ``work`` for each item; the threads draw from one queue.

    Each thread works in a copy of the caller's context, so that NumPy's error state is the same.
    """
    queue = iter(list(items))

    def drain() -> None:
        for item in queue:
            work(item)

    in_threads([_in_context(drain) for _ in range(thread_count())])


def _in_context(call: Callable[[], None]) -> Callable[[], None]:
    context = copy_context()
    return lambda: context.run(call)


@lru_cache(maxsize=1)
def _blas() -> list[Any]:
    """Return the BLAS libraries of this process, NumPy's among them."""
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


_blas_lock = threading.Lock()
_blas_before: list[list[int]] = []  # the libraries' numbers of threads, once for each user inside


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS compute in its callers' threads meanwhile; the last one out restores its threads."""
    libraries = _blas()
    with _blas_lock:
        outermost = not _blas_before
        threads = [library.num_threads for library in libraries] if outermost else _blas_before[0]
        _blas_before.append(threads)
        if outermost:
            for library in libraries:
                library.set_num_threads(1)
    try:
        yield
    finally:
        with _blas_lock:
            threads = _blas_before.pop()
            if not _blas_before:
                for library, count in zip(libraries, threads, strict=True):
                    library.set_num_threads(count)
