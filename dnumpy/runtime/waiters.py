"""Threads that wait for answers of workers, which may never come.

A message to a worker that is gone is tried for half a minute, and one that stands still never
answers. The threads of a pool of Python's are waited for when the program ends; these are not.
"""

from __future__ import annotations

import weakref
from concurrent.futures import Future
from functools import partial
from queue import Empty, SimpleQueue
from threading import Semaphore, Thread
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

_Job = tuple["Future[Any]", "Callable[[], Any]"]
_Jobs = SimpleQueue["_Job | None"]  # None ends a thread


class Waiters:
    """So many threads at ``most``, started as they are needed."""

    def __init__(self, most: int, name: str) -> None:
        self._most, self._name = most, name
        self._jobs: _Jobs = SimpleQueue()
        self._idle = Semaphore(0)
        self._threads: list[Thread] = []
        weakref.finalize(self, _end, self._jobs, self._threads).atexit = False

    def submit(self, call: Callable[..., T], *args: Any) -> Future[T]:
        """Let a thread make a call; return the Future of what it gives or raises."""
        job: Future[T] = Future()
        self._jobs.put((job, partial(call, *args)))
        if not self._idle.acquire(blocking=False) and len(self._threads) < self._most:
            thread = Thread(
                target=_work, args=(self._jobs, self._idle), name=self._name, daemon=True
            )
            self._threads.append(thread)
            thread.start()
        return job

    def leave(self, *, cancel: bool = False) -> None:
        """Let threads end once they have made their calls; ``cancel`` those that have not begun."""
        while cancel:
            try:
                left = self._jobs.get_nowait()
            except Empty:
                break
            if left is not None:
                left[0].cancel()
        _end(self._jobs, self._threads)


def _end(jobs: _Jobs, threads: list[Thread]) -> None:
    for _ in threads:
        jobs.put(None)


def _work(jobs: _Jobs, idle: Semaphore) -> None:
    while (found := jobs.get()) is not None:
        job, call = found
        if job.set_running_or_notify_cancel():
            try:
                result = call()
            except BaseException as problem:  # noqa: BLE001 - is whose who looks at the Future
                job.set_exception(problem)
            else:
                job.set_result(result)
                del result
        del found, job, call  # nothing is held while the next one is waited for
        idle.release()
