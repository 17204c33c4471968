"""Arrays as Dask collections."""

from __future__ import annotations

import itertools
import weakref
from typing import TYPE_CHECKING, Any

from dnumpy import engine
from dnumpy.api.array import concrete, expr_of, ndarray, wrap
from dnumpy.runtime import dask_collection

if TYPE_CHECKING:
    import numpy as np

    from dnumpy.expr.expr import Expr
    from dnumpy.expr.recipe import Recipe

_names: weakref.WeakKeyDictionary[Expr, str] = weakref.WeakKeyDictionary()
_numbers = itertools.count()


def evaluate(recipe: Recipe) -> np.ndarray:
    """Compute an expression in whatever process Dask put this task."""
    return engine.value(recipe.follow())


def _name(self: ndarray) -> str:
    expr = self._buf.expr
    if expr not in _names:
        _names[expr] = f"dnumpy-{id(expr):x}-{next(_numbers)}"
    return _names[expr] if self._geo is None else f"{_names[expr]}-{hash(self._geo) & 0xFFFFFFFF:x}"


def _graph(self: ndarray) -> dict[str, Any] | None:
    if self._np is not None:
        return None  # a small array is plain data, not a collection
    return dask_collection.graph(_name(self), engine.recipe(expr_of(self)), evaluate)


def _rebuild(graph: Any, name: str) -> ndarray:
    return wrap(dask_collection.settled(graph[name]))


def install() -> None:
    """Give the class the protocol; run once when the package is imported."""
    ndarray.__dask_graph__ = _graph
    ndarray.__dask_keys__ = lambda self: [_name(self)]
    ndarray.__dask_layers__ = lambda self: (_name(self),)
    ndarray.__dask_postcompute__ = lambda _self: (dask_collection.first, ())
    ndarray.__dask_postpersist__ = lambda self: (_rebuild, (_name(self),))
    ndarray.__dask_tokenize__ = lambda self: _name(self) if self._np is None else concrete(self)
    ndarray.__dask_optimize__ = staticmethod(lambda graph, _keys, **_kwargs: graph)
    ndarray.__dask_scheduler__ = property(lambda _self: dask_collection.scheduler())


install()
