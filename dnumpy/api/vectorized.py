"""``vectorize``: the user's function on each element, on the nodes where the elements lie."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import engine
from dnumpy.api import blocks, calls
from dnumpy.api.array import facts, from_expr, is_managed_dtype, ndarray
from dnumpy.api.record import Unmanaged, operand
from dnumpy.api.stand_ins import stand_in
from dnumpy.expr.expr import Expr
from dnumpy.ops.applied import EACH, ElementParams

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.expr.expr import Const

_base: Any = np.vectorize


class vectorize(_base):  # type: ignore[misc]  # noqa: D101 - its documentation is NumPy's
    __doc__ = np.vectorize.__doc__

    def _vectorize_call(self, func: Callable[..., Any], args: Sequence[Any]) -> Any:
        """Call the function on each element; where elements lie on nodes, there."""
        seen_once = self.cache and self.otypes is None  # the first element must not be called twice
        if self.signature is None and not seen_once and args and blocks.spread(*args):
            found = self._on_nodes(func, args)
            if found is not NotImplemented:
                return found
        plain = [calls.unwrap(a) for a in args]
        return calls.wrap_result(super()._vectorize_call(func, plain), args)

    def _on_nodes(self, func: Callable[..., Any], args: Sequence[Any]) -> Any:
        given = [np.asarray(a) if type(a) in (list, tuple) else a for a in args]
        shape = np.broadcast_shapes(*[np.shape(stand_in(a)) for a in given])
        if not shape or 0 in shape:
            return NotImplemented
        try:
            exprs = [operand(a) for a in given]
        except Unmanaged:
            return NotImplemented
        dtype = self._result_dtype(func, given)
        if dtype is None:
            return NotImplemented
        by_rows = tuple(_goes_by_rows(e, shape) for e in exprs)
        params = ElementParams(by_rows, func, dtype)
        expr = blocks.record(EACH, exprs, params, shape, dtype)
        engine.compute([expr])  # what the function raises is raised by this call
        return from_expr(expr)

    def _result_dtype(self, func: Callable[..., Any], args: Sequence[Any]) -> np.dtype | None:
        """Return the dtype of the one output, which NumPy learns from the first elements."""
        if self.otypes is not None:
            found = np.dtype(self.otypes[0]) if len(self.otypes) == 1 else None
        else:
            first = func(*[_first(a) for a in args])
            found = None if isinstance(first, tuple) else np.asarray(first).dtype
        return found if found is not None and is_managed_dtype(found) else None


vectorize.__module__ = "dnumpy"


def _goes_by_rows(x: Expr | Const, shape: tuple[int, ...]) -> bool:
    return isinstance(x, Expr) and x.ndim == len(shape) and x.shape[0] == shape[0]


def _first(x: Any) -> Any:
    if type(x) is ndarray and x._np is None:
        return x[(0,) * len(facts(x).shape)]
    return np.asarray(calls.unwrap(x)).flat[0]
