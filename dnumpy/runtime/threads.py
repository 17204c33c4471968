"""The threads of this process, as Dask's threaded scheduler runs them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from dnumpy.config import thread_count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
