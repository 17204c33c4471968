"""The threads of this process, as Dask's threaded scheduler runs them.

While they multiply matrices tile by tile, BLAS has one thread for each caller: its own threads
would wait for the same cores, and only one caller at a time may use them.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from dnumpy.config import thread_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_executors: dict[int, ThreadPoolExecutor] = {}


def in_threads(calls: Sequence[Any]) -> list[Any]:
    """Run ``calls`` as tasks of Dask's threaded scheduler; return their results in order."""
    from dask import threaded
    from dask._task_spec import Task

    count = len(calls)
    if count not in _executors:
        _executors[count] = ThreadPoolExecutor(count, thread_name_prefix="dnumpy")
    graph = {f"part-{k}": Task(f"part-{k}", call) for k, call in enumerate(calls)}
    return list(threaded.get(graph, list(graph), pool=_executors[count], num_workers=count))


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
