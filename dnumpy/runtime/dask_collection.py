"""The Dask collection protocol: ``dask.compute(x)``, ``dask.persist(x)``, ``delayed(f)(x)``.

A managed array is a collection of one task that evaluates its expression wherever Dask runs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

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
