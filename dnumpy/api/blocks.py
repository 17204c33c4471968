"""Recording of blocked ops and folds, which composites of many functions are made of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import engine
from dnumpy.api.array import from_expr, ndarray
from dnumpy.api.record import content, fresh
from dnumpy.api.record import record as record  # noqa: PLC0414 - part of this vocabulary
from dnumpy.expr.expr import Const, Expr, make
from dnumpy.kernels.blocked import fold_rows
from dnumpy.ops.blocked import COUNTS, PERMUTE, CountParams, PermuteParams
from dnumpy.ops.families import Fold, RowParams, rowwise_of
from dnumpy.ops.indexing import MaskParams
from dnumpy.ops.table import CAST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Params, Shape


def rowwise(
    path: str,
    args: Sequence[Expr | Const],
    by_rows: tuple[bool, ...],
    result: tuple[Shape, np.dtype],
    **kwargs: Any,
) -> ndarray:
    """Return what the function called ``path`` gives, on blocks of rows; see ``rowwise_of``."""
    params = RowParams(by_rows, tuple(kwargs.items()))
    return from_expr(record(rowwise_of(path), args, params, *result))


def copied(expr: Expr) -> Expr:
    """Return an Expr with memory of its own and the content of ``expr``."""
    return make(CAST, (expr,), (), expr.shape, expr.dtype)


def merged(op: Fold, args: Sequence[Expr | Const], params: Params) -> Any:
    """Compute a fold now and return its result, of a size that only computing it tells."""
    box = record(op, args, params, (), np.dtype(object))
    return engine.value(box)[()]


def counted(mask: Expr, *masked: Expr) -> MaskParams:
    """Count the true elements of a mask by blocks of rows, now.

    They are as short as is good for what is ``masked``, of which whole blocks are read.
    """
    rows = mask.shape[0]
    block = fold_rows(rows, max(1, *(expr.nbytes // rows for expr in (mask, *masked))))
    shape = (-(-rows // block),)
    counts = engine.value(
        record(COUNTS, [mask], CountParams((True,), block), shape, np.dtype(np.int64))
    )
    return MaskParams(block, (0, *np.cumsum(counts).tolist()))


def spread(*arrays: Any) -> bool:
    """Say whether operands lie on nodes, or will be computed there: nothing should be gathered."""
    return any(type(a) is ndarray and a._np is None and _is_spread(a) for a in arrays)


def _is_spread(array: ndarray) -> bool:
    return engine.spreads(array._buf.expr)


def permuted(array: ndarray, axes: tuple[int, ...]) -> ndarray:
    """Return a C-contiguous copy of ``array.transpose(axes)``, exchanged between the nodes."""
    if axes[0] == 0:
        return fresh(content(array.transpose(axes)))
    expr = content(array)
    shape = tuple(expr.shape[k] for k in axes)
    if not expr.size:
        return fresh(content(array.transpose(axes)))
    return from_expr(record(PERMUTE, [expr], PermuteParams(axes), shape, expr.dtype))


def turned(array: ndarray, axes: tuple[int, ...]) -> ndarray:
    """Return ``array.transpose(axes)``, exchanged between the nodes where rows do not stay rows."""
    if axes == tuple(range(len(axes))):
        return array
    if axes[0] != 0 and spread(array):
        return permuted(array, axes)
    view: ndarray = array.transpose(axes)
    return view
