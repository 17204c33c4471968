"""The Dask collection protocol: ``dask.compute(x)``, ``dask.persist(x)``, ``delayed(f)(x)``.

A managed array is a collection of one task that evaluates its expression wherever Dask runs it.
"""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np

    from dnumpy.expr.recipe import Recipe


def graph(name: str, recipe: Recipe, evaluate: Callable[[Recipe], np.ndarray]) -> dict[str, Any]:
    """Return a Dask graph with one task, ``name``, whose result is a NumPy array."""
    from dask._task_spec import Task

    return {name: Task(name, evaluate, recipe)}


def scheduler() -> Any:
    """Return the scheduler that computes collections unless the user names another."""
    from dask.threaded import get

    return get


def first(results: list[np.ndarray]) -> np.ndarray:
    """Return the array among the results of the one task."""
    return results[0]


def settled(result: Any) -> Any:
    """Return what persisting left: the array, or what the future on a cluster holds."""
    return result.result() if hasattr(result, "result") else result


@contextmanager
def while_pickled() -> Iterator[None]:
    """Let clients answer in the block, in which an array comes home to be pickled.

    A client pickles what it is to submit under the lock of its references, for which its event loop
    waits as soon as a future dies: what lies on workers would never arrive.
    """
    distributed = sys.modules.get("distributed.client")
    with ExitStack() as later:
        for client in list(getattr(getattr(distributed, "Client", None), "_instances", ())):
            lock: Any = getattr(client, "_refcount_lock", None)
            if lock is not None and lock._is_owned():  # noqa: SLF001 - as threading.Condition does
                later.callback(lock._acquire_restore, lock._release_save())  # noqa: SLF001
        yield
