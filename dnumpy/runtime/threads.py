"""The threads of this process.

One executor, whose threads sleep between stages. The caller works along: it takes the first call
itself, and whatever nobody has begun when it is done. Dask's threaded scheduler, which ran these
calls before, took 0.6 ms to run two of them on two cores; this takes 0.1 ms, and a call made from
inside another cannot wait for threads that are all taken.

While they multiply matrices tile by tile, BLAS has one thread for each caller: its own threads
would wait for the same cores, and only one caller at a time may use them.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dnumpy.config import thread_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_executors: dict[int, ThreadPoolExecutor] = {}


def in_threads(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run ``calls`` at the same time, one of them here; return their results in order."""
    helpers = len(calls) - 1
    if helpers not in _executors:
        _executors[helpers] = ThreadPoolExecutor(max(helpers, 1), thread_name_prefix="dnumpy")
    others = [_executors[helpers].submit(call) for call in calls[1:]]
    try:
        results = [calls[0]()]
    finally:
        begun = [not other.cancel() for other in others]
        wait([other for other, was_begun in zip(others, begun, strict=True) if was_begun])
    for call, other, was_begun in zip(calls[1:], others, begun, strict=True):
        results.append(other.result() if was_begun else call())
    return results


def share_out(work: Callable[[int], None], items: Iterable[int]) -> None:
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
