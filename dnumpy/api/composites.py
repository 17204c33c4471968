"""NumPy functions written over recorded operations, so that they fuse and distribute with the rest.

Each has NumPy's parameters and returns NotImplemented for what it does not cover; NumPy then runs
it. Movement is written as an empty array with regions replaced: the pieces are computed into their
place.
"""

from __future__ import annotations

import math
import operator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from dnumpy.api import blocks, calls, installed, ufuncs
from dnumpy.api.array import (
    facts,
    from_expr,
    ghost,
    is_managed_dtype,
    managed,
    ndarray,
    view_of,
)
from dnumpy.api.layout import (
    Axes,
    arranged,
    copy_order,
    kept_order,
    permuted,
    restored,
    result_order,
)
from dnumpy.api.record import (
    Unmanaged,
    content,
    converted,
    fresh,
    operand,
    record,
    view,
    write,
)
from dnumpy.api.record import where as where_expr
from dnumpy.expr.expr import Expr, exact, make
from dnumpy.expr.geometry import Geometry, same_dtype
from dnumpy.ops.blocked import WRAP, WrapParams
from dnumpy.ops.table import CAST, EMPTY, FULL, VIEW

_NO_VALUE = np._NoValue
_MOST_DECIMALS = 308  # 10.0 to a higher power is infinite


def clip(
    a: Any,
    a_min: Any = _NO_VALUE,
    a_max: Any = _NO_VALUE,
    out: Any = None,
    *,
    min: Any = _NO_VALUE,
    max: Any = _NO_VALUE,
    **kwargs: Any,
) -> Any:
    """Clip by NumPy's own ufuncs."""
    given = [x is not _NO_VALUE for x in (a_min, a_max, min, max)]
    if (any(given[:2]) and any(given[2:])) or given[0] != given[1]:
        return NotImplemented  # NumPy says why
    low = min if a_min is _NO_VALUE else a_min
    high = max if a_max is _NO_VALUE else a_max
    low = None if low is _NO_VALUE else low
    high = None if high is _NO_VALUE else high
    if type(a) is not ndarray or (low is None and high is None):
        return NotImplemented
    if out is not None:
        kwargs["out"] = out
    if a.dtype.kind in "iu":  # as NumPy, so that Python integers beyond the dtype's range are legal
        low = None if type(low) is int and low <= np.iinfo(a.dtype).min else low
        high = None if type(high) is int and high >= np.iinfo(a.dtype).max else high
    if low is None and high is None:
        return ufuncs.call(np.positive, (a,), kwargs)
    if low is None:
        return ufuncs.call(np.minimum, (a, high), kwargs)
    if high is None:
        return ufuncs.call(np.maximum, (a, low), kwargs)
    return ufuncs.call(np._core.umath.clip, (a, low, high), kwargs)


def clip_method(a: Any, *args: Any, **kwargs: Any) -> Any:
    """Clip as the method, of which either limit may be left out: ``clip(min, max, out)``."""
    names = ("min", "max", "out")[: len(args)]
    if len(args) > 3 or kwargs.keys() & {*names, "a_min", "a_max"}:
        return NotImplemented  # NumPy says why
    given = dict(zip(names, args, strict=True)) | kwargs
    return clip(a, given.pop("min", None), given.pop("max", None), **given)


def where(condition: Any, x: Any = _NO_VALUE, y: Any = _NO_VALUE, /) -> Any:
    """Choose elementwise."""
    if x is _NO_VALUE or y is _NO_VALUE:
        return NotImplemented
    given, axes = arranged((condition, x, y))
    try:
        expr = where_expr(*[operand(v) for v in given])
    except (Unmanaged, ValueError):
        return NotImplemented  # NumPy says why
    if not expr.shape:
        return NotImplemented
    return from_expr(expr) if axes is None else restored(from_expr(expr), axes)


def astype(
    a: ndarray,
    dtype: Any,
    order: str = "K",
    casting: Any = "unsafe",
    subok: bool = True,
    copy: bool = True,
) -> Any:
    """Return a copy in another dtype."""
    wanted = np.dtype(dtype)
    if order not in ("K", "C", "A") or not is_managed_dtype(wanted):
        return NotImplemented
    have = facts(a).dtype
    if not np.can_cast(have, wanted, casting):
        np.empty(0, have).astype(wanted, casting=casting)  # raises NumPy's error
    if have.kind == "c" and wanted.kind not in "cb":
        np.empty(0, have).astype(wanted)  # warns about discarded imaginary parts
    if same_dtype(have, wanted) and not copy:
        return a
    axes = _order_of_copy(a, order)
    try:
        expr = content(a if axes is None else permuted(a, axes))
    except Unmanaged:
        return NotImplemented
    made = from_expr(converted(expr, wanted, expr.shape))
    return made if axes is None else restored(made, axes)


def astype_function(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """Return a copy in another dtype; the function of the array API, with fewer parameters."""
    if type(x) is not ndarray or device not in (None, "cpu"):
        return NotImplemented
    return astype(x, dtype, copy=copy)


_ORDERS = ("C", "F", "K", "A")


def copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """Return an array of its own memory."""
    if type(a) is not ndarray or a._np is not None or type(order) is not str:
        return NotImplemented
    if order not in ("K", "C", "A"):
        return NotImplemented
    if not is_managed_dtype(a.dtype):
        return NotImplemented
    axes = _order_of_copy(a, order)
    if axes is not None:
        return restored(fresh(content(permuted(a, axes))), axes)
    return fresh(content(a))


def _order_of_copy(a: ndarray, order: str) -> Axes | None:
    keeps = order == "K" or (order == "A" and ghost(a).flags.fnc)
    return kept_order(a) if keeps and a._geo is not None else None


def transpose(a: Any, axes: Any = None) -> Any:
    """Return a view with axes permuted."""
    if type(a) is not ndarray:
        return NotImplemented
    return through_ghost(a, lambda g: g.transpose(axes))


def through_ghost(a: Any, function: Any) -> Any:
    """Return the view that NumPy makes of a ghost."""
    if type(a) is not ndarray or a._np is not None:
        return NotImplemented
    before = ghost(a)
    seen = function(before)
    return a if seen is before else view_of(a, seen)


def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    """Return a view with two axes exchanged."""
    return through_ghost(a, lambda g: g.swapaxes(axis1, axis2))


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """Return a view with axes moved."""
    return through_ghost(a, lambda g: np.moveaxis(g, source, destination))


def rollaxis(a: Any, axis: Any, start: Any = 0) -> Any:
    """Return a view with one axis rolled back."""
    return through_ghost(a, lambda g: np.rollaxis(g, axis, start))


def squeeze(a: Any, axis: Any = None) -> Any:
    """Return a view without axes of length one."""
    return through_ghost(a, lambda g: g.squeeze(axis))


def expand_dims(a: Any, axis: Any) -> Any:
    """Return a view with new axes."""
    return through_ghost(a, lambda g: np.expand_dims(g, axis))


def flip(m: Any, axis: Any = None) -> Any:
    """Return a view with axes reversed; NumPy reads the one element where there are none."""
    return NotImplemented if not np.ndim(m) else through_ghost(m, lambda g: np.flip(g, axis))


def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    """Return a rotated view."""
    return through_ghost(m, lambda g: np.rot90(g, k, axes))


def diagonal(a: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1) -> Any:
    """Return a read-only view of diagonals."""
    return (
        NotImplemented
        if np.ndim(a) < 2
        else through_ghost(a, lambda g: g.diagonal(offset, axis1, axis2))
    )


def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """Return a view with broadcast axes."""
    if type(array) is not ndarray:
        return NotImplemented
    return through_ghost(array, lambda g: np.broadcast_to(g, shape))


def broadcast_writeable(array: Any, shape: Any, *, subok: bool, readonly: bool) -> Any:
    """Return a view with broadcast axes; one that is not ``readonly`` warns when written to."""
    if type(array) is not ndarray or array._np is not None:
        plain = calls.unwrap(array)
        return calls.wrap_result(
            _numpys_broadcast(plain, shape, subok=subok, readonly=readonly), (array,)
        )
    made = broadcast_to(array, shape)
    made._readonly = readonly or array._readonly
    return made


_numpys_broadcast = vars(np.lib)["_stride_tricks_impl"]._broadcast_to


def reshape(
    a: Any, /, shape: Any = None, order: str = "C", *, copy: bool | None = None, **older: Any
) -> Any:
    """Return a view where NumPy would, else a copy; ``older`` names are left to its own code."""
    if type(a) is not ndarray or shape is None or older:
        return NotImplemented
    if copy:
        return reshape(fresh(content(a)), shape, order)
    try:
        return through_ghost(a, lambda g: np.reshape(g, shape, order=order, copy=False))
    except ValueError as error:
        if "avoid" not in str(error) or copy is False:
            raise
    if order != "C":
        return NotImplemented
    return reshape(fresh(content(a)), shape)


def ravel(a: Any, order: str = "C") -> Any:
    """Return a 1-D view where NumPy would, else a copy."""
    if type(order) is not str or order not in _ORDERS or type(a) is not ndarray:
        return NotImplemented
    if order == "A":
        order = "F" if ghost(a).flags.fnc else "C"
    if order == "K":
        axes = _order_of_copy(a, "K")
        a, order = (a if axes is None else permuted(a, axes)), "C"
    flags = ghost(a).flags
    if flags.c_contiguous if order == "C" else flags.f_contiguous:
        return reshape(a, -1, order)
    return _unshared(reshape(fresh(content(a if order == "C" else transpose(a))), -1))


def _unshared(view: Any) -> Any:
    """Return a view of a copy that nobody else has as what has no base, as NumPy's copies are."""
    return managed(view._buf, view._geo) if type(view) is ndarray and view._np is None else view


def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """Join along an axis: an empty array with one region per piece."""
    if out is not None or type(arrays) not in (list, tuple) or not arrays:
        return NotImplemented
    if axis is None and not blocks.spread(*arrays):
        return NotImplemented
    try:
        if axis is None:
            arrays, axis = [_flattened(a) for a in arrays], 0
        pieces: list[Any] = [operand(a) for a in arrays]
    except Unmanaged:
        return NotImplemented
    if not all(isinstance(p, Expr) and p.shape for p in pieces):
        return NotImplemented
    ndim = pieces[0].ndim
    axis = normalize_axis_index(operator.index(axis), ndim)
    rest = [p.shape[:axis] + p.shape[axis + 1 :] for p in pieces]
    if any(p.ndim != ndim for p in pieces) or len(set(rest)) != 1:
        return NotImplemented  # NumPy says why
    empties = [np.empty(0, p.dtype) for p in pieces]
    found = np.concatenate(empties, dtype=dtype, casting=casting).dtype
    if not is_managed_dtype(found):
        return NotImplemented
    axes = copy_order(arrays)
    if axes is not None:
        arrays = [permuted(a if type(a) is ndarray else np.asarray(a), axes) for a in arrays]
        return restored(concatenate(arrays, axes.index(axis), dtype=dtype, casting=casting), axes)
    total = sum(p.shape[axis] for p in pieces)
    shape = (*pieces[0].shape[:axis], total, *pieces[0].shape[axis + 1 :])
    return _assemble(shape, found, pieces, axis)


def _flattened(a: Any) -> Any:
    return reshape(a, -1) if type(a) is ndarray else np.reshape(calls.unwrap(a), -1)


def _assemble(shape: tuple[int, ...], dtype: np.dtype, pieces: list[Any], axis: int) -> ndarray:
    joined = from_expr(make(EMPTY, (), (), shape, dtype))
    start = 0
    for piece in pieces:
        stop = start + piece.shape[axis]
        if stop > start and piece.size:
            inner = _without_axis(piece, axis)
            where = slice(start, stop) if inner is None else start
            key = (slice(None),) * axis + (where,)
            write(view_of(joined, ghost(joined)[key]), piece if inner is None else inner)
        start = stop
    return joined


def _without_axis(piece: Expr, axis: int) -> Expr | None:
    """Return what a view shows with one more axis, None of what has it without one.

    What is not seen through a view may be computed into its place.
    """
    if piece.op is not VIEW or piece.value is not None or piece.shape[axis] != 1 or piece.ndim < 2:
        return None
    base, shown = piece.operands()[0], Geometry(*piece.params)
    shape, strides = (x[:axis] + x[axis + 1 :] for x in (shown.shape, shown.strides))
    inner = shown._replace(shape=shape, strides=strides)
    return base if inner.is_whole(base.shape, base.dtype) else view(base, inner)


def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """Pad with a constant: a full array with one region replaced; NumPy runs the other modes."""
    fill = kwargs.pop("constant_values", 0)
    plain = type(array) is ndarray and array.ndim > 0 and mode == "constant" and not kwargs
    if not plain or not isinstance(fill, int | float | complex | np.number | np.bool_):
        return NotImplemented
    widths = np.asarray(pad_width)
    if widths.dtype.kind not in "iu" or (widths < 0).any() or ghost(array).flags.fnc:
        return NotImplemented
    try:
        pairs = np.broadcast_to(widths, (array.ndim, 2)).tolist()
        inner = content(array)
    except (ValueError, Unmanaged):
        return NotImplemented  # NumPy says why
    cell = np.empty((), array.dtype)
    cell[...] = fill
    shape = tuple(n + before + after for n, (before, after) in zip(array.shape, pairs, strict=True))
    padded = from_expr(make(FULL, (), exact(cell[()]), shape, cell.dtype))
    if array.size:
        key = tuple(slice(b, b + n) for n, (b, _) in zip(array.shape, pairs, strict=True))
        write(view_of(padded, ghost(padded)[key]), inner)
    return padded


def stack(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """Join along a new axis."""
    if out is not None or type(arrays) not in (list, tuple) or not arrays:
        return NotImplemented
    if not all(type(a) is ndarray for a in arrays) or len({a.shape for a in arrays}) != 1:
        return NotImplemented
    axis = normalize_axis_index(axis, arrays[0].ndim + 1)
    key = (slice(None),) * axis + (None,)
    return concatenate([a[key] for a in arrays], axis, dtype=dtype, casting=casting)


def _joined(arrays: Any, prepare: Any, axis: int, **kwargs: Any) -> Any:
    if type(arrays) not in (list, tuple) or not all(type(a) is ndarray for a in arrays):
        return NotImplemented
    return concatenate([prepare(a) for a in arrays], axis, **kwargs)


def atleast_1d(a: ndarray) -> ndarray:
    """Return a view with at least one axis."""
    return a if a.ndim else reshape(a, (1,))


def atleast_2d(a: ndarray) -> ndarray:
    """Return a view with at least two axes."""
    return a if a.ndim >= 2 else (a[None, :] if a.ndim else reshape(a, (1, 1)))


def vstack(tup: Any, **kwargs: Any) -> Any:
    """Join rows."""
    return _joined(tup, atleast_2d, 0, **kwargs)


def hstack(tup: Any, **kwargs: Any) -> Any:
    """Join columns (or 1-D pieces end to end)."""
    if type(tup) not in (list, tuple) or not all(type(a) is ndarray for a in tup):
        return NotImplemented
    return _joined(tup, atleast_1d, 0 if tup[0].ndim <= 1 else 1, **kwargs)


def column_stack(tup: Any) -> Any:
    """Join 1-D arrays as columns."""
    return _joined(tup, lambda a: a[:, None] if a.ndim == 1 else a, 1)


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Roll all axes in one copy, or in none where what reads it can read a padded one."""
    if type(a) is not ndarray:
        return NotImplemented
    shape = a.shape
    if not shape or 0 in shape:
        return NotImplemented
    if axis is None:
        return reshape(roll(reshape(a, -1), shift, 0), shape)
    try:
        lead = _known_leads(shift, axis, shape)
    except TypeError:  # what has no hash
        lead = _leads(shift, axis, shape)
    order = _order_of_copy(a, "K")
    if lead is None:
        return NotImplemented
    if order is not None:
        rolled = roll(permuted(a, order), tuple([lead[k] for k in order]), tuple(range(len(shape))))
        return rolled if rolled is NotImplemented else restored(rolled, order)
    try:
        expr = content(a)
    except Unmanaged:
        return NotImplemented
    if not any(lead):
        return copy(a)
    source, total = _unrolled(expr, lead)
    if any(total):
        expr, lead = source, total
    return from_expr(record(WRAP, [expr], WrapParams(lead), shape, expr.dtype))


def _unrolled(expr: Expr, lead: tuple[int, ...]) -> tuple[Expr, tuple[int, ...]]:
    """Return what an Expr that waits is a roll or a copy of, and by how much that is to be rolled.

    Rolls along one axis after the other so become rolls of one array, which can share a copy of it.
    """
    while expr.value is None and (expr.op is WRAP or expr.op is CAST):
        (inner,) = expr.operands()
        if inner.shape != expr.shape or inner.dtype != expr.dtype:
            break
        if expr.op is WRAP:
            steps = zip(lead, expr.params.lead, inner.shape, strict=True)
            lead = tuple([(one + other) % n for one, other, n in steps])
        expr = inner
    return expr, lead


def _leads(shift: Any, axis: Any, shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """Return by how much each axis is rolled forward; None for what NumPy refuses."""
    ndim = len(shape)
    lead = [0] * ndim
    if type(shift) is int and type(axis) is int:
        pairs: Any = ((shift, axis),)
    elif type(shift) is type(axis) is tuple and len(shift) == len(axis):
        pairs = zip(shift, axis, strict=True)
    else:
        pairs = np.broadcast(shift, axis)
        if pairs.ndim > 1:
            return None
    for by, along in pairs:
        lead[normalize_axis_index(int(along), ndim)] += int(by)
    return tuple([by % n for by, n in zip(lead, shape, strict=True)])


_known_leads = lru_cache(maxsize=1024)(_leads)


def diff(
    a: Any, n: Any = 1, axis: Any = -1, prepend: Any = _NO_VALUE, append: Any = _NO_VALUE
) -> Any:
    """Difference of neighbours."""
    plain = prepend is _NO_VALUE and append is _NO_VALUE and type(a) is ndarray
    if not plain or n != 1 or not a.ndim:
        return NotImplemented
    k = normalize_axis_index(axis, a.ndim)
    lead = (slice(None),) * k
    wrapped = np.not_equal if a.dtype == bool else np.subtract
    return ufuncs.call(wrapped, (a[(*lead, slice(1, None))], a[(*lead, slice(None, -1))]), {})


def outer(a: Any, b: Any, out: Any = None) -> Any:
    """Product of all pairs of the flattened operands."""
    if out is not None or type(a) is not ndarray or type(b) is not ndarray:
        return NotImplemented
    return ufuncs.call(np.multiply, (a.ravel()[:, None], b.ravel()[None, :]), {})


def real(val: Any) -> Any:
    """Return the real part, a view."""
    return _part(val, "real")


def imag(val: Any) -> Any:
    """Return the imaginary part, a view for complex arrays."""
    return _part(val, "imag")


def _part(val: Any, name: str) -> Any:
    if type(val) is not ndarray or val._np is not None:
        return NotImplemented
    if val.dtype.kind != "c":
        return val if name == "real" else _no_imaginary_part(val)
    return through_ghost(val, lambda g: getattr(g, name))


def _no_imaginary_part(val: ndarray) -> Any:
    """Return read-only zeros."""
    shape, dtype = facts(val)
    if not is_managed_dtype(dtype) or dtype.kind not in "biuf" or val.flags.fnc:
        return NotImplemented
    zeros = from_expr(make(FULL, (), (dtype.type(0),), shape, dtype))
    zeros.flags.writeable = False
    return zeros


def round_(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """Round by NumPy's rule: scale, rint, unscale; what is scaled is in C order or Fortran's."""
    if out is not None or type(a) is not ndarray or type(decimals) is not int:
        return NotImplemented
    kind = a.dtype.kind
    if not a.ndim and kind != "f":
        return NotImplemented  # NumPy gives a scalar
    if kind == "c":
        found = a.copy(installed.order_of_rounded())
        for part in (found.real, found.imag):
            rounded = round_(part, decimals)
            if rounded is NotImplemented:
                return rounded
            part[...] = rounded
        return found
    if kind in "iu" and decimals >= 0:
        return a if installed.whole_is_rounded() else a.copy("K")
    if kind not in "iuf":
        return NotImplemented
    if decimals == 0:
        return ufuncs.call(np.rint, (a,), {})
    if result_order([a]) is not None and not a.flags.f_contiguous:
        a = a.copy()
    return _rounded_at(a, decimals).astype(a.dtype, copy=False)


def _rounded_at(a: Any, decimals: int) -> Any:
    scale = 10.0 ** abs(decimals) if abs(decimals) <= _MOST_DECIMALS else math.inf
    before, after = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
    scaled = ufuncs.call(np.rint, (ufuncs.call(before, (a, scale), {}),), {})
    return ufuncs.call(after, (scaled, scale), {})
