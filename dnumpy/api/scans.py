"""Running folds of managed arrays: cumsum, cumprod, ``ufunc.accumulate``, ``ufunc.reduceat``."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from dnumpy.api import blocks, calls, composites, ufuncs, unbuffered
from dnumpy.api.array import facts, from_expr, is_managed_dtype, ndarray
from dnumpy.api.layout import permuted, restored, result_order
from dnumpy.api.record import Unmanaged, content, write
from dnumpy.kernels.blocked import scan_rows
from dnumpy.ops.scans import (
    ALONG,
    ALONG_SLICES,
    BEFORE,
    FACTORS,
    FOLDS_IN_BLOCKS,
    RUN,
    RUNNING_PRODUCTS,
    SCAN,
    SLICES,
    AlongParams,
    AlongSlicesParams,
    RunParams,
    ScanParams,
    SliceParams,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.expr.expr import Expr


def accumulate(
    wrapped: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """Record ``wrapped.accumulate``; NotImplemented where NumPy must run it."""
    kept = _accumulated_dtype(wrapped, array, dtype)
    if kept is None or not _takes(out, array, kept):
        return NotImplemented
    try:
        axis = normalize_axis_index(operator.index(axis), array.ndim)
        found = _recorded(wrapped, array, axis, kept)
    except (TypeError, np.exceptions.AxisError, Unmanaged):
        return NotImplemented  # NumPy says why
    if out is None or found is NotImplemented:
        return found
    write(out, content(found))
    return out


def _accumulated_dtype(wrapped: np.ufunc, array: Any, dtype: Any) -> np.dtype | None:
    """Ask NumPy: accumulate one element; None where it refuses, or where it must run all."""
    known = getattr(np, wrapped.__name__, None) is wrapped and wrapped.nin == 2
    if type(array) is not ndarray or not array.ndim or not array.size or not known:
        return None
    if ufuncs.errors_raise() or not is_managed_dtype(array.dtype):
        return None
    try:
        found = wrapped.accumulate(np.ones(1, array.dtype), dtype=dtype).dtype
    except (TypeError, ValueError):
        return None
    return found if is_managed_dtype(found) else None


def _takes(out: Any, array: ndarray, dtype: np.dtype) -> bool:
    if out is None:
        return True
    if type(out) is not ndarray or out._np is not None or out._readonly or out._buf.shared:
        return False
    shape, kept = facts(out)
    return shape == array.shape and kept == dtype


def _recorded(wrapped: np.ufunc, array: ndarray, axis: int, dtype: np.dtype) -> Any:
    if array.ndim > 1 and array.size == array.shape[axis]:
        flat = _recorded(wrapped, composites.reshape(array, -1), 0, dtype)
        return flat if flat is NotImplemented else composites.reshape(flat, array.shape)
    order = result_order([array])
    if order is not None:
        array, axis = permuted(array, order), order.index(axis)
    expr = content(array)
    if axis:
        params = AlongParams((True,), wrapped.__name__, dtype, axis)
        found: Any = from_expr(blocks.record(ALONG, [expr], params, expr.shape, dtype))
    elif wrapped.__name__ in FOLDS_IN_BLOCKS:
        found = from_expr(_down(wrapped.__name__, expr, dtype, spread=blocks.spread(array)))
    elif not blocks.spread(array):
        return NotImplemented  # one row after the other, as NumPy does
    else:
        run = RunParams((True,), wrapped.__name__, dtype)
        found = from_expr(blocks.record(RUN, [expr], run, expr.shape, dtype))
    return found if order is None else restored(found, order)


def _down(ufunc: str, expr: Expr, dtype: np.dtype, *, spread: bool) -> Expr:
    """Record the running folds along axis 0."""
    factors = ufunc == "multiply" and dtype.kind in "fc"
    block = scan_rows(expr.shape, dtype.itemsize)
    if factors and not spread:
        block = expr.shape[0]  # one running product, as NumPy's
    count = -(-expr.shape[0] // block)
    params = ScanParams((True,), ufunc, dtype, block)
    args = [expr]
    if spread and count > 1:
        before = FACTORS if factors else BEFORE
        args.append(blocks.record(before, [expr], params, (count, *expr.shape[1:]), dtype))
    op = RUNNING_PRODUCTS if factors else SCAN
    return blocks.record(op, args, params, expr.shape, dtype)


def _running(wrapped: np.ufunc) -> Callable[..., Any]:
    def function(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if type(a) is not ndarray:
            return NotImplemented
        if axis is None:
            if out is not None and getattr(out, "shape", None) != (a.size,):
                return NotImplemented
            a, axis = composites.reshape(a, -1), 0
            if a is NotImplemented:
                return NotImplemented
        return accumulate(wrapped, a, axis, dtype, out)

    return function


def reduceat(
    wrapped: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """Record ``wrapped.reduceat`` over slices known now; NotImplemented where NumPy must run it."""
    if out is not None or not blocks.spread(array) or not isinstance(axis, int):
        return NotImplemented
    kept = _accumulated_dtype(wrapped, array, dtype)
    starts = np.asarray(calls.unwrap(indices))
    if kept is None or starts.ndim != 1 or not starts.size or starts.dtype.kind not in "iu":
        return NotImplemented
    outside = not -array.ndim <= axis < array.ndim or result_order([array]) is not None
    if outside or starts.min() < 0 or starts.max() >= array.shape[axis]:
        return NotImplemented
    axis %= array.ndim
    shape = (*array.shape[:axis], starts.size, *array.shape[axis + 1 :])
    if axis:
        indices = tuple(starts.tolist())
        along = AlongSlicesParams((True,), wrapped.__name__, kept, axis, indices)
        return from_expr(blocks.record(ALONG_SLICES, [content(array)], along, shape, kept))
    params = SliceParams(wrapped.__name__, kept, starts.astype(np.int64).tobytes())
    return from_expr(blocks.record(SLICES, [content(array)], params, shape, kept))


ufuncs.record_method_with("accumulate", accumulate)
ufuncs.record_method_with("reduceat", reduceat)
ufuncs.record_method_with("at", unbuffered.at)

NATIVE: dict[str, Callable[..., Any]] = {
    "cumsum": _running(np.add),
    "cumprod": _running(np.multiply),
}
