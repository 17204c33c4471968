"""Reductions of managed arrays: sum, prod, max, min, any, all, mean, var, std, argmax, argmin, ...

Each function returns NotImplemented for what the engine does not record; NumPy then runs it.
Mean and variance are NumPy's own formulas over recorded sums, so they fuse with their operands.
"""

from __future__ import annotations

import inspect
import operator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from dnumpy import engine
from dnumpy.api import chosen, installed, short_rows, summed, ufuncs
from dnumpy.api.array import is_managed_dtype, ndarray
from dnumpy.api.chosen import chosen_by
from dnumpy.api.layout import Axes, permuted, restored, result_order
from dnumpy.api.record import Unmanaged, is_lazy, operand, record, result_of
from dnumpy.api.stand_ins import stand_in
from dnumpy.config import config
from dnumpy.expr.expr import Expr, exact
from dnumpy.expr.origin import told_as
from dnumpy.ops.families import Reduction, reduction_of
from dnumpy.ops.table import ARGMAX, ARGMIN, PRODUCT_IN_TURN, REORDERABLE
from dnumpy.rewrite.phase import ReduceParams
from dnumpy.runtime import find

if TYPE_CHECKING:
    from dnumpy.api.chosen import Selection

_NO_VALUE = np._NoValue
_known_dtypes: dict[tuple[Any, ...], np.dtype] = {}  # of results
_MOST_KNOWN = 4096


def reduce_ufunc(
    wrapped: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    initial: Any = _NO_VALUE,
    where: Any = True,
) -> Any:
    """Record ``wrapped.reduce``; NotImplemented where NumPy must run it."""
    if chosen_by(array) is not None and out is None and initial is _NO_VALUE and where is True:
        found = _fold_chosen(wrapped, array, axis, dtype, keepdims)
        if found is not NotImplemented:
            return found
    plain = out is None and initial is _NO_VALUE and where is True
    if plain and wrapped is np.add and dtype is None:
        found = summed.now(array, axis, keepdims)
        if found is not None:
            return found
    if plain and axis is not None:
        found = _of_short_rows(wrapped, array, axis, dtype, keepdims)
        if found is not NotImplemented:
            return found
    return _reduce_whole(wrapped, array, axis, dtype, out, keepdims, initial, where)


def _of_short_rows(wrapped: np.ufunc, array: Any, axis: Any, dtype: Any, keepdims: Any) -> Any:
    """Fold leading axes of what lies in one piece as one axis; NotImplemented where that is it."""
    if type(array) is not ndarray or array._np is not None or wrapped not in REORDERABLE:
        return NotImplemented
    try:
        axes = _axes(axis, array.ndim)
    except (TypeError, ValueError):
        return NotImplemented  # NumPy says why
    matrix = short_rows.as_matrix(array, axes) if axes and axes[0] == 0 else None
    if matrix is None:
        return NotImplemented
    result = _reduced_dtype(wrapped, array.dtype, dtype, None, masked=False)

    def fold(a: Any) -> Any:
        return _reduce_whole(wrapped, a, 0, dtype, None, False, _NO_VALUE, True)

    found = None
    if result is not None and short_rows.in_any_order(wrapped, array.dtype, result):
        found = short_rows.folded(fold, wrapped, matrix)
    if found is None:
        if len(axes) == 1:
            return NotImplemented
        found = reduce_ufunc(wrapped, matrix, 0, dtype)
    if found is NotImplemented:
        return NotImplemented
    return short_rows.restored(found, array.shape, axes, keepdims=bool(keepdims))


def _reduce_whole(
    wrapped: np.ufunc,
    array: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
) -> Any:
    try:
        return _recorded_whole(wrapped, array, axis, dtype, out, keepdims, initial, where)
    except (TypeError, ValueError):
        asked: Any = (axis, dtype, None, keepdims, initial, stand_in(where))
        with np.errstate(all="ignore"):
            wrapped.reduce(stand_in(array), *asked)  # raises in NumPy's words
        raise


def _recorded_whole(  # noqa: C901 - one way out for each thing that NumPy must answer
    wrapped: np.ufunc,
    array: Any,
    axis: Any,
    dtype: Any,
    out: Any,
    keepdims: Any,
    initial: Any,
    where: Any,
) -> Any:
    if wrapped not in REORDERABLE or out is not None or type(array) is not ndarray:
        return NotImplemented
    if ufuncs.errors_raise():
        return NotImplemented
    try:
        expr = operand(array)
        args: list[Any] = [expr]
        if where is not True:
            args.append(operand(where))
    except Unmanaged:
        return NotImplemented
    if not isinstance(expr, Expr) or not expr.shape or not expr.size:
        return NotImplemented
    initial_value = _initial(initial)
    if initial_value is NotImplemented:
        return NotImplemented
    axes = _axes(axis, expr.ndim)
    if len(axes) != len(set(axes)) or not axes:
        return NotImplemented
    result_dtype = _reduced_dtype(wrapped, expr.dtype, dtype, initial_value, where is not True)
    if result_dtype is None:
        return NotImplemented
    if len(args) > 1 and not _fits(args[1], expr):
        return NotImplemented
    asked = None if dtype is None else np.dtype(dtype)
    if initial_value is not None:
        initial_value = exact(np.full((), initial_value[0], result_dtype)[()])
        if wrapped is np.add and len(initial_value) > 1 and "-0" in initial_value[1]:
            return NotImplemented  # a recorded sum is never -0.0, which NumPy's then can be
    params = ReduceParams(axes, bool(keepdims), asked, initial_value, len(args) > 1)
    order = result_order([array, where][: len(args)])
    if order is not None:
        return _record_permuted(
            reduction_of(wrapped), [array, where][: len(args)], params, result_dtype, order
        )
    return _record(reduction_of(wrapped), *_plain(wrapped, args, params), result_dtype)


def _plain(
    wrapped: np.ufunc, args: list[Any], params: ReduceParams
) -> tuple[list[Any], ReduceParams]:
    """Return a fold under a mask as an ordinary one, for which there are the fastest loops."""
    filler = _neutral(wrapped, args[0].dtype) if params.masked else None
    if filler is None:
        return args, params
    expr, mask = args
    return [chosen.filled(expr, mask, filler)], params._replace(masked=False)


def _record_permuted(
    op: Reduction, given: list[Any], params: ReduceParams, dtype: np.dtype, order: Axes
) -> Any:
    """Record over axes in the operand's memory order, which NumPy's result keeps."""
    folded = tuple(sorted(order.index(k) for k in params.axis))
    given = [np.asarray(x) if type(x) in (list, tuple) else x for x in given]
    args = [operand(permuted(x, order)) for x in given]
    result = _record(op, args, params._replace(axis=folded), dtype)
    if not params.keepdims:
        order = tuple(k for k in order if k not in params.axis)
    return restored(result, order)


ufuncs.fold_with(reduce_ufunc)


# ---------------------------------------------------------------- selections by a mask


def _fold_chosen(wrapped: np.ufunc, array: Any, axis: Any, dtype: Any, keepdims: Any) -> Any:
    """Fold a selection without making it; what has no neutral element must know that it is fed."""
    selected = chosen_by(array)
    if selected is None or not _folds_all(axis, keepdims):
        return NotImplemented
    source = selected.domain.dtype
    filler = _neutral(wrapped, source) if wrapped in REORDERABLE else None
    result = None if filler is None else _reduced_dtype(wrapped, source, dtype, None, masked=False)
    if result is None or not chosen.may_fold(selected):
        return NotImplemented
    asked = None if dtype is None else np.dtype(dtype)
    expr = chosen.folded(
        wrapped, chosen.filled(selected.domain, selected.mask, filler), asked, result
    )
    if wrapped.identity is None and not _count_with(selected, expr):
        return NotImplemented  # NumPy says that there is nothing
    return result_of(expr)


def _folds_all(axis: Any, keepdims: Any) -> bool:
    whole = axis is None or (type(axis) is int and axis in (0, -1))
    return whole and (keepdims is False or keepdims is _NO_VALUE)


def _neutral(wrapped: np.ufunc, dtype: np.dtype) -> Any:
    """Return what changes no fold of elements of this dtype, None if there is nothing."""
    if wrapped.identity is not None:
        return wrapped.identity
    if wrapped not in (np.maximum, np.minimum) or dtype.kind == "c":
        return None
    if dtype.kind == "b":
        return wrapped is np.minimum
    if dtype.kind == "f":
        return -np.inf if wrapped is np.maximum else np.inf
    info = np.iinfo(dtype)
    return info.min if wrapped is np.maximum else info.max


def _count_with(selected: Selection, expr: Expr) -> int:
    """Compute a fold, and the number of elements of the selection in the same pass."""
    counting = chosen.count_of(selected)
    engine.compute([expr] if selected.count is not None else [expr, counting])
    if selected.count is None:
        selected.count = int(counting.value[()])
    return selected.count


def _total_chosen(selected: Selection, wide: Any) -> Any:
    """Return the sum of a selection, computed with the count; NotImplemented if it is empty."""
    dtype = np.dtype(selected.domain.dtype if wide is None else wide)
    if dtype not in selected.totals:
        if selected.count == 0 or not chosen.may_fold(selected):
            return NotImplemented
        expr = chosen.folded(np.add, chosen.filled(selected.domain, selected.mask, 0), wide, dtype)
        _count_with(selected, expr)
        selected.totals[dtype] = expr.value[()]
    return selected.totals[dtype] if selected.count else NotImplemented


def _mean_chosen(a: Any, axis: Any, dtype: Any, keepdims: Any) -> Any:
    """Mean of a selection; NumPy warns of the mean of nothing."""
    selected = chosen_by(a)
    source = a.dtype
    if selected is None or not _folds_all(axis, keepdims) or source.char == "g":
        return NotImplemented
    wide, narrow = _mean_dtypes(source, dtype)
    if wide is not None and np.dtype(wide).kind not in "fc":
        return NotImplemented
    total = _total_chosen(selected, None if wide is None else np.dtype(wide))
    if total is NotImplemented:
        return NotImplemented
    kind = total.dtype.type if narrow is None else narrow.type
    return kind(total / np.asarray(selected.count)[()])


def _var_chosen(a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any) -> Any:
    """Variance of a selection by NumPy's two-pass formula."""
    selected = chosen_by(a)
    source = a.dtype
    if selected is None or not _folds_all(axis, keepdims) or source.char == "g":
        return NotImplemented
    wide, narrow = _var_dtypes(source, dtype)
    if np.dtype(wide or source).kind != "f" or source.kind == "c":
        return NotImplemented
    total = _total_chosen(selected, None if wide is None else np.dtype(wide))
    if total is NotImplemented or ddof >= selected.count:
        return NotImplemented
    centre = total.dtype.type(
        total / np.asarray(selected.count)[()]
    )  # the count may exceed float16
    apart = ufuncs.call(np.subtract, (a, centre), {})
    with told_as(installed.name_of_squares()):
        squares = ufuncs.call(np.multiply, (apart, apart), {})
    folded = sum_(squares, None, None if wide is None else np.dtype(wide))
    return _shared_out(folded, selected.count - ddof, narrow)


def _fits(mask: Any, expr: Expr) -> bool:
    return (
        isinstance(mask, Expr)
        and mask.dtype == bool
        and np.broadcast_shapes(mask.shape, expr.shape) == expr.shape
    )


def _initial(initial: Any) -> Any:
    """Return a 1-tuple, None for NumPy's default, NotImplemented for what is not recorded."""
    if initial is _NO_VALUE or initial is None:
        return None if initial is _NO_VALUE else NotImplemented
    if isinstance(initial, int | float | complex | np.number | np.bool_) and not is_lazy(initial):
        return (initial,)
    return NotImplemented


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    axes = axis if type(axis) is tuple else (operator.index(axis),)
    return tuple(sorted(normalize_axis_tuple(axes, ndim, allow_duplicate=True)))


def _reduced_dtype(
    wrapped: np.ufunc, dtype: np.dtype, asked: Any, initial: Any, masked: bool
) -> np.dtype | None:
    """Ask NumPy: fold a 1-element array."""
    key = (wrapped, dtype, dtype.num, asked)
    if initial is None and not masked and (known := _known_dtypes.get(key)) is not None:
        return known
    kwargs: dict[str, Any] = {} if initial is None else {"initial": initial[0]}
    if masked:
        kwargs["where"] = np.ones(1, bool)
    found = np.asarray(wrapped.reduce(np.ones(1, dtype), dtype=asked, **kwargs)).dtype
    if not is_managed_dtype(found):
        return None
    warns = dtype.kind == "c" and found.kind not in "cbO"  # each time that NumPy is asked
    if initial is None and not masked and not warns and len(_known_dtypes) < _MOST_KNOWN:
        _known_dtypes[key] = found
    return found


def _record(op: Reduction, args: list[Any], params: ReduceParams, dtype: np.dtype) -> Any:
    expr = args[0]
    if op.ufunc is np.multiply and dtype.kind in "fc" and 0 in params.axis and _has_all_here():
        op = PRODUCT_IN_TURN
    if params.keepdims:
        shape = tuple(1 if k in params.axis else n for k, n in enumerate(expr.shape))
    else:
        shape = tuple(n for k, n in enumerate(expr.shape) if k not in params.axis)
    return result_of(record(op, args, params, shape, dtype))


def _has_all_here() -> bool:
    """Say whether arrays are folded from end to end in this process.

    Parts of a product that overflow give other results than NumPy's order does. Where arrays lie
    on workers, or pass through little memory, they are nevertheless folded in parts.
    """
    return find.current_client() is None and not config.memory_limit


def _by_ufunc(wrapped: np.ufunc) -> Any:
    def function(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = _NO_VALUE,
        initial: Any = _NO_VALUE,
        where: Any = _NO_VALUE,
    ) -> Any:
        return reduce_ufunc(
            wrapped,
            a,
            axis,
            dtype,
            out,
            keepdims=False if keepdims is _NO_VALUE else keepdims,
            initial=initial,
            where=True if where is _NO_VALUE else where,
        )

    return function


def _without_dtype(wrapped: np.ufunc) -> Any:
    fold = _by_ufunc(wrapped)

    def function(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = _NO_VALUE,
        initial: Any = _NO_VALUE,
        where: Any = _NO_VALUE,
    ) -> Any:
        return fold(a, axis, None, out, keepdims, initial, where)

    return function


def _logical(wrapped: np.ufunc) -> Any:
    fold = _by_ufunc(wrapped)

    def function(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = _NO_VALUE,
        *,
        where: Any = _NO_VALUE,
    ) -> Any:
        return fold(a, axis, None, out, keepdims, _NO_VALUE, where)

    return function


sum_ = _by_ufunc(np.add)
prod = _by_ufunc(np.multiply)
amax = _without_dtype(np.maximum)
amin = _without_dtype(np.minimum)
any_ = _logical(np.logical_or)
all_ = _logical(np.logical_and)


def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = _NO_VALUE,
    *,
    where: Any = _NO_VALUE,
) -> Any:
    """Mean by NumPy's formula: a sum in the intermediate dtype over the count."""
    if chosen_by(a) is not None and out is None and where is _NO_VALUE:
        found = _mean_chosen(a, axis, dtype, keepdims)
        if found is not NotImplemented:
            return found
    if out is not None or where is not _NO_VALUE or not _averages(a):
        return NotImplemented
    wide, narrow = _mean_dtypes(a.dtype, dtype)
    total = sum_(a, axis, wide, None, keepdims)
    if total is NotImplemented:
        return NotImplemented
    half = total.dtype if total.dtype == np.float16 else None
    return _cast_to(_shared_out(total, _count(a, axis), half), narrow or total.dtype)


def _averages(a: Any) -> bool:
    return type(a) is ndarray and a.size > 0 and a.dtype.kind in "biufc" and a.dtype.char != "g"


def _mean_dtypes(dtype: np.dtype, asked: Any) -> tuple[Any, np.dtype | None]:
    """Return the dtype of the sum and, where NumPy casts back, of the result."""
    if asked is not None:
        return np.dtype(asked), None
    if dtype.kind in "biu":
        return np.dtype("f8"), None
    if dtype == np.float16:
        return np.dtype("f4"), np.dtype("f2")
    return None, None


def _var_dtypes(dtype: np.dtype, asked: Any) -> tuple[Any, np.dtype | None]:
    """Return the same for the variance, whose every step NumPy does in float16."""
    if np.dtype(dtype if asked is None else asked) == np.float16:
        return asked, np.dtype("f2")
    return _mean_dtypes(dtype, asked)


_COMPUTED = frozenset({np.float64, np.float32})


def _shared_out(total: Any, count: float, narrow: np.dtype | None) -> Any:
    """Divide by a count, which may be more than the largest float16."""
    if narrow is None:
        if type(total) in _COMPUTED or (type(total) is ndarray and total._np is not None):
            return total / count  # what is at hand goes no longer way
        return ufuncs.call(np.true_divide, (total, count), {})
    return _cast_to(ufuncs.call(np.true_divide, (total, np.asarray(count)[()]), {}), narrow)


def _count(a: Any, axis: Any) -> int:
    count = 1
    for k in _axes(axis, a.ndim):
        count *= a.shape[k]
    return count


def _cast_to(x: Any, dtype: np.dtype) -> Any:
    return x if x.dtype == dtype else x.astype(dtype)


def _var_parts(a: Any, axis: Any, dtype: Any, ddof: Any, keepdims: Any) -> Any:
    wide, narrow = _var_dtypes(a.dtype, dtype)
    if np.dtype(wide or a.dtype).kind != "f" and np.dtype(wide or a.dtype).kind != "c":
        return NotImplemented
    count = _count(a, axis)
    total = sum_(a, axis, wide, None, True)
    if total is NotImplemented:
        return NotImplemented
    centre = _shared_out(total, count, narrow)
    apart = ufuncs.call(np.subtract, (a, centre), {})
    other = ufuncs.call(np.conjugate, (apart,), {}) if apart.dtype.kind == "c" else apart
    with told_as(installed.name_of_squares()):  # as NumPy computes the same
        squares = ufuncs.call(np.multiply, (apart, other), {}).real
    folded = sum_(squares, axis, wide, None, keepdims)
    if folded is NotImplemented:
        return NotImplemented
    return _shared_out(folded, max(count - ddof, 0), narrow), narrow


def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = _NO_VALUE,
    *,
    where: Any = _NO_VALUE,
    mean: Any = _NO_VALUE,
    correction: Any = _NO_VALUE,
) -> Any:
    """Variance by NumPy's two-pass formula."""
    plain = all(x is _NO_VALUE for x in (where, mean, correction)) and out is None
    if plain and chosen_by(a) is not None and type(ddof) in (int, float):
        found = _var_chosen(a, axis, dtype, ddof, keepdims)
        if found is not NotImplemented:
            return found
    if not plain or not _averages(a) or type(ddof) not in (int, float):
        return NotImplemented
    if ddof >= _count(a, axis):
        return NotImplemented
    if dtype is None and (now := summed.variance_now(a, axis, ddof, keepdims is True)) is not None:
        return now
    axes = _axes(axis, a.ndim)
    matrix = short_rows.as_matrix(a, axes) if len(axes) > 1 else None
    if matrix is not None:
        found = var(matrix, 0, dtype, None, ddof)
        if found is NotImplemented:
            return NotImplemented
        kept = keepdims is not _NO_VALUE and bool(keepdims)
        return short_rows.restored(found, a.shape, axes, keepdims=kept)
    found = _var_parts(a, axis, dtype, ddof, keepdims)
    if found is NotImplemented:
        return NotImplemented
    result, narrow = found
    return result if narrow is None else _cast_to(result, narrow)


def std(*args: Any, **kwargs: Any) -> Any:
    """Standard deviation: the root of the variance, of which it takes the arguments."""
    squared = var(*args, **kwargs)
    if squared is NotImplemented:
        return NotImplemented
    return ufuncs.call(np.sqrt, (squared,), {})


std.__signature__ = inspect.signature(var)


def _arg(op: Reduction) -> Any:
    def function(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _NO_VALUE) -> Any:
        if out is not None or type(a) is not ndarray or not a.size or not a.ndim:
            return NotImplemented
        try:
            expr = operand(a)
        except Unmanaged:
            return NotImplemented
        if axis is not None and not isinstance(axis, int | np.integer):
            return NotImplemented
        params = ReduceParams(_axes(axis, a.ndim), keepdims is True, None, None, masked=False)
        return _record(op, [expr], params, np.dtype(np.intp))

    return function


argmax = _arg(ARGMAX)
argmin = _arg(ARGMIN)


def _is_here(a: ndarray) -> bool:
    """Say whether an array is computed and lies here whole."""
    return config.mode == "default" and type(a._buf.expr.value) is np.ndarray


def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """Count as the sum of ``a != 0``."""
    if type(a) is not ndarray or a._np is not None:
        return NotImplemented
    if axis is None and not keepdims and a.dtype == bool and _is_here(a):
        return NotImplemented  # NumPy counts eight bytes at a time
    nonzero = a if a.dtype == bool else ufuncs.call(np.not_equal, (a, 0), {})
    found = sum_(nonzero, axis, np.dtype(np.intp), None, keepdims)
    plain = axis is None and not keepdims and found is not NotImplemented
    return int(found) if plain and installed.counts_are_ints() else found


def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _NO_VALUE) -> Any:
    """Largest less smallest."""
    if out is not None:
        return NotImplemented
    high = amax(a, axis, None, keepdims)
    low = amin(a, axis, None, keepdims)
    if high is NotImplemented or low is NotImplemented:
        return NotImplemented
    return ufuncs.call(np.subtract, (high, low), {})
