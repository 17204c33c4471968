"""Programs of Exprs for the tests of the runtime, and what they mean by the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.expr.geometry import Geometry
from dnumpy.expr.walk import pending_in_order
from dnumpy.kernels import reference
from dnumpy.ops.families import lookup
from dnumpy.ops.table import MATMUL, UPDATE, VIEW
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.rewrite.phase import ReduceParams
from dnumpy.runtime.chunked import gather
from dnumpy.runtime.cluster import execute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.runtime.cluster import Cluster
    from dnumpy.runtime.records import Record


def data(array: np.ndarray) -> Expr:
    """Return a leaf over a C-contiguous copy of the array."""
    array = np.array(array, order="C")
    return leaf(array, array.shape, array.dtype)


def ghost(expr: Expr) -> np.ndarray:
    """Return an array of the same shape and dtype without data."""
    return np.lib.stride_tricks.as_strided(
        np.zeros(1, expr.dtype), expr.shape, np.zeros(expr.shape, expr.dtype).strides
    )


def call(name: str, *args: Expr | float) -> Expr:
    """Return the pending elementwise op."""
    bound = tuple(a if isinstance(a, Expr) else Const(a) for a in args)
    ufunc = lookup(name).ufunc
    dummies = [np.ones((1,) * a.ndim, a.dtype) if isinstance(a, Expr) else a for a in args]
    shape = np.broadcast_shapes(*[a.shape for a in args if isinstance(a, Expr)])
    return make(lookup(name), bound, (), shape, ufunc(*dummies).dtype)


def total(operand: Expr, axis: tuple[int, ...], *, keepdims: bool = False) -> Expr:
    """Return the pending sum."""
    shape = tuple(
        1 if k in axis else n for k, n in enumerate(operand.shape) if keepdims or k not in axis
    )
    params = ReduceParams(axis, keepdims, None, None, False)
    return make(lookup("add.reduce"), (operand,), params, shape, operand.dtype)


def geometry(base: Expr, see: Callable[[np.ndarray], np.ndarray]) -> Geometry:
    """Return where ``see`` of the base lies in the base's memory, by NumPy itself."""
    memory = np.empty(base.shape, base.dtype)
    view = see(memory)
    offset = view.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    return Geometry(offset, view.shape, view.strides, view.dtype)


def view(base: Expr, see: Callable[[np.ndarray], np.ndarray]) -> Expr:
    """Return the pending view."""
    g = geometry(base, see)
    return make(VIEW, (base,), tuple(g), g.shape, g.dtype)


def update(base: Expr, see: Callable[[np.ndarray], np.ndarray], value: Expr | float) -> Expr:
    """Return the base with the seen region replaced."""
    bound = value if isinstance(value, Expr) else Const(value)
    return make(UPDATE, (base, bound), tuple(geometry(base, see)), base.shape, base.dtype)


def matmul(left: Expr, right: Expr) -> Expr:
    """Return the pending product."""
    shape = (*left.shape[:-1], *right.shape[1:])
    return make(MATMUL, (left, right), (), shape, np.result_type(left.dtype, right.dtype))


def meaning(roots: Sequence[Expr]) -> list[np.ndarray]:
    """Return the roots' values by the reference, leaving the Exprs pending."""
    values: dict[int, Any] = {}

    def value(arg: Expr | Const) -> Any:
        if isinstance(arg, Const):
            return arg.value
        return gather(arg.value) if arg.value is not None else values[id(arg)]

    for expr in pending_in_order(roots):
        args = [value(a) for a in expr.args]
        if expr.op is VIEW:
            args = [np.ascontiguousarray(args[0])]
        values[id(expr)] = reference.apply(expr.op, args, expr.params, expr.shape, expr.dtype)
    return [value(root) for root in roots]


def run(
    roots: Sequence[Expr], cluster: Cluster, tile_rows: int = 5, *, alone: bool = False
) -> list[Record]:
    """Evaluate the roots on the cluster, ``alone`` or with all before them; return the records."""
    stages = cut(pending_in_order(roots), list(roots), Grain(1, 1 << 18, tile_rows))
    records, _, failures = execute(stages, cluster, {id(root) for root in roots} if alone else None)
    for failure in failures:
        raise failure.error
    return records


def values(roots: Sequence[Expr]) -> list[np.ndarray]:
    """Return the roots' values, gathered."""
    return [gather(root.value) for root in roots]
