"""The operators that loops are made of, recorded in few steps.

Two operands, arrays in C order or plain scalars, of which nothing special is to be seen: what is
recorded is what :mod:`dnumpy.api.ufuncs` records after looking at all that a call may ask for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api.array import from_expr, is_managed_dtype, managed, ndarray
from dnumpy.api.buffer import Buffer
from dnumpy.api.layout import descends
from dnumpy.api.record import broadcast, constant, resolve
from dnumpy.config import config
from dnumpy.expr.expr import Const, Expr, make
from dnumpy.expr.origin import here, told_at_once
from dnumpy.ops.families import elementwise_of
from dnumpy.ops.table import FULL, VIEW

if TYPE_CHECKING:
    from dnumpy.ops.families import Elementwise

_SCALARS = frozenset({float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_})
_results: dict[tuple[Any, ...], np.dtype] = {}
_SAFE_INT = 127  # fits every integer dtype, so that its value cannot change the answer


def row_of(ufunc: np.ufunc) -> Elementwise | None:
    """Return the row that records a binary ufunc; None for one whose operands decide more."""
    return None if ufunc is np.power or ufunc.nout > 1 else elementwise_of(ufunc)


def binary(row: Elementwise, x: Any, y: Any) -> ndarray | None:  # noqa: C901 - every step counts
    """Return the recorded result; None where it takes another look."""
    first = _content(x) if type(x) is ndarray else None
    if first is None or told_at_once() or config.accuracy != "exact":
        return None
    second: Expr | Const | None
    if type(y) is ndarray:
        second = _content(y)
        if second is None:
            return None
        kind: Any = second.dtype.num
    elif type(y) in _SCALARS:
        second = constant(y)
        kind = type(y)
        if kind is int and not 0 <= y <= _SAFE_INT:
            kind = (int, y)
    else:
        return None
    key = (row, first.dtype.num, kind)
    dtype = _results.get(key)
    if dtype is None:
        dtype = _ask(row, key, [first, second])
        if dtype is None:
            return None
    shape = first.shape
    if type(second) is Expr and second.shape != shape:
        shape = broadcast(row.ufunc, [first, second])
    if not shape:
        return None
    expr = make(row, (first, second), (), shape, dtype)
    if expr.origin is not None:  # somebody recorded the same, and may hold it
        return from_expr(expr)
    expr.origin = here()
    return managed(Buffer.recorded(expr), None)


def _ask(row: Elementwise, key: tuple[Any, ...], operands: list[Expr | Const]) -> np.dtype | None:
    assert row.ufunc is not None
    (dtype,) = resolve(row.ufunc, operands)
    if not is_managed_dtype(dtype):
        return None
    if len(_results) >= 1 << 12:
        _results.clear()
    _results[key] = dtype
    return dtype


def _content(x: ndarray) -> Expr | None:
    """Return what an array shows now; None where NumPy may have it, or another order than C."""
    if x._np is not None:
        return None
    buffer = x._buf
    if buffer.foreign or buffer._export is not None or type(buffer) is not Buffer:
        return None
    expr = buffer.expr
    if x._place is None:
        return None if expr.op is FULL and expr.value is not None else expr
    place = x._geo
    if place is None or not descends(place.shape, place.strides):
        return None
    dtype = place.dtype
    view = make(VIEW, (expr,), place, place.shape, dtype)
    return view if view.size >= config.eager_below and is_managed_dtype(dtype) else None
