"""Gathers and scatters by index arrays and masks of operands that lie on nodes.

An index is brought to one form: a view of the array in which every index array stands for an axis
of its own, those axes, and where NumPy puts the axes that come of them. What follows is a gather or
a scatter along the leading axes, or within rows.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.api import blocks, calls, installed, middling
from dnumpy.api.array import (
    concrete,
    facts,
    from_expr,
    ghost,
    is_managed_dtype,
    ndarray,
    view_of,
)
from dnumpy.api.composites import broadcast_to, transpose
from dnumpy.api.locks import recording
from dnumpy.api.record import Unmanaged, cast, content, operand, write
from dnumpy.api.record import where as where_expr
from dnumpy.api.scalar import DeferredScalar
from dnumpy.config import config
from dnumpy.expr.expr import Const, Expr, leaf
from dnumpy.ops.blocked import COMPRESS, CompressParams
from dnumpy.ops.indexing import (
    BOUNDS,
    NONZERO,
    PUT,
    PUT_INSIDE,
    PUT_MASK,
    TAKE,
    TAKE_INSIDE,
    BoundsParams,
    MaskParams,
    PutParams,
    TakeParams,
    bounds_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.ops.families import Indexing
    from dnumpy.ops.indexing import Bounds

INTP = np.dtype(np.intp)
MOST_PARTS = 32  # of an index; NumPy says what it makes of more
FEW_AXES = 16  # below what any NumPy refuses to iterate over


class Unplaced(Exception):  # noqa: N818 - control flow, not an error
    """The index is one that NumPy must answer."""


class Placed(NamedTuple):
    """An advanced index in one form.

    ``view`` has an axis for each index array, ``axes`` are those; ``counted`` counts along them
    together in C order; its axes stand at ``dest`` among the others of the result. ``like`` has
    an array of at most two elements per axis for each index array.
    """

    view: ndarray
    axes: tuple[int, ...]
    counted: Expr
    dest: int
    like: tuple[np.ndarray, ...]

    def rest(self) -> tuple[int, ...]:
        """Return the other axes of the view."""
        return tuple(k for k in range(self.view.ndim) if k not in self.axes)

    def shape(self) -> tuple[int, ...]:
        """Return the shape of what the index shows."""
        rest = [self.view.shape[k] for k in self.rest()]
        return (*rest[: self.dest], *self.counted.shape, *rest[self.dest :])


def is_far(array: Any, *others: Any) -> bool:
    """Say whether operands lie on nodes, those inside a tuple (an index) too."""
    flat = [array]
    for x in others:
        flat += x if type(x) in (tuple, list) else [x]
    return any(type(x) is ndarray and x._np is None and blocks.spread(x) for x in flat)


# ---------------------------------------------------------------- the form of an index


def placed(array: ndarray, key: Any, value: Expr | Const | None = None) -> Placed:
    """Return an advanced index in one form; raises what NumPy raises for a wrong one.

    A ``value`` to be written there must have a shape that fits.
    """
    parts = _expanded(array, key)
    kinds = [_is_array(p) for p in parts]
    basic = tuple(slice(None) if isa else p for p, isa in zip(parts, kinds, strict=True))
    view = view_of(array, ghost(array)[basic])
    axes, original = [], []
    at = source = 0
    for part, isa in zip(parts, kinds, strict=True):
        if isa:
            axes.append(at)
            original.append(source)
        at += type(part) is not int
        source += part is not None
    arrays = [p for p, isa in zip(parts, kinds, strict=True) if isa]
    extents = [view.shape[k] for k in axes]
    like = tuple(_likeness(x) for x in arrays)
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    empty = leaf(np.empty(shape if 0 in shape else 0, INTP), shape, INTP)
    found = Placed(view, tuple(axes), empty, _destination(parts), like)
    if isinstance(value, Expr):
        _fitting(value, found.shape())
    if 0 in shape:  # NumPy looks at no element of indices that nothing comes of
        return found
    try:
        checked = [
            _checked(x, extent, axis)
            for x, extent, axis in zip(arrays, extents, original, strict=True)
        ]
    except IndexError:
        if 0 in found.shape() and not installed.looks_at_places_of_nothing():
            raise Unplaced from None  # NumPy warns, and picks nothing
        raise
    return found._replace(counted=_together(checked, extents))


def _likeness(x: Any) -> np.ndarray:
    """Return a small array of zeros with the axes of ``x`` in the same order in memory."""
    seen = ghost(x) if type(x) is ndarray and x._np is None else np.asarray(calls.unwrap(x))
    order = sorted(range(seen.ndim), key=lambda k: -abs(seen.strides[k]))
    small = np.zeros([min(seen.shape[k], 2) for k in order], seen.dtype)
    return small.transpose(np.argsort(order)) if order else small


def _order_in_memory(found: Placed) -> tuple[int, ...]:
    """Return the axes of the result, slowest first, as NumPy lays a fresh result out."""
    view = _likeness(found.view).transpose(*found.axes, *found.rest())
    picked = view[found.like]
    count, at = len(found.counted.shape), found.dest
    moved = np.moveaxis(picked, list(range(count)), list(range(at, at + count)))
    return tuple(sorted(range(moved.ndim), key=lambda k: -moved.strides[k]))


def _is_array(part: Any) -> bool:
    return type(part) is ndarray or isinstance(part, np.ndarray)


def _expanded(array: ndarray, key: Any) -> list[Any]:
    """Return one part per axis, new axes besides: ints, slices, None and integer arrays."""
    parts = [_part(p) for p in (key if type(key) is tuple else (key,))]
    if len(parts) > MOST_PARTS:
        raise Unplaced
    shape = array.shape
    used = sum(_consumed(p) for p in parts)
    if used > len(shape) or sum(p is Ellipsis for p in parts) > 1:
        _refuse(array, parts)
    filled: list[Any] = []
    full = [slice(None)] * (len(shape) - used)
    for p in parts:
        filled += full if p is Ellipsis else [p]
    if not any(p is Ellipsis for p in parts):
        filled += full
    found: list[Any] = []
    at = 0
    for p in filled:
        if _is_array(p) and p.dtype == bool:
            if p.shape != shape[at : at + p.ndim]:
                _refuse(array, parts)
            found += nonzero(p) if type(p) is ndarray else np.nonzero(p)
        else:
            found.append(p)
        at += _consumed(p)
    arrays = [p for p in found if _is_array(p)]
    if not arrays:
        raise Unplaced
    try:
        np.broadcast_shapes(*[p.shape for p in arrays])
    except ValueError:
        _refuse(array, found)
    return _separated(parts, found)


def _separated(parts: list[Any], found: list[Any]) -> list[Any]:
    """An ellipsis that stands for no axis still separates index arrays: NumPy answers that."""
    if any(p is Ellipsis for p in parts):
        at = next(k for k, p in enumerate(parts) if p is Ellipsis)
        before, after = parts[:at], parts[at + 1 :]
        empty = sum(_consumed(p) for p in (*before, *after)) == sum(_consumed(p) for p in found)
        touching = any(map(_counts, before)) and any(map(_counts, after))
        if empty and touching:
            raise Unplaced
    return found


def _part(p: Any) -> Any:
    """Return one part of an index in the fewest kinds."""
    if p is None or p is Ellipsis:
        return p
    if type(p) is slice:
        return slice(*[calls.unwrap(x) for x in (p.start, p.stop, p.step)])
    if isinstance(p, bool | np.bool_):
        raise Unplaced
    if isinstance(p, int | np.integer) or type(p) is DeferredScalar:
        return operator.index(p)
    if type(p) in (list, tuple):
        p = np.asarray(calls.unwrap(p))
        p = p.astype(INTP) if not p.size else p
    if not _is_array(p) or p.dtype.kind not in "biu":
        raise Unplaced
    if not p.ndim:
        if p.dtype == bool:
            raise Unplaced
        return operator.index(p)
    return p if is_far(p) else np.asarray(calls.unwrap(p))


def _consumed(p: Any) -> int:
    if p is None or p is Ellipsis:
        return 0
    return p.ndim if _is_array(p) and p.dtype == bool else 1


def _counts(p: Any) -> bool:
    return type(p) is int or _is_array(p)


def _refuse(array: ndarray, parts: list[Any]) -> None:
    """Let NumPy say what is wrong with an index; no element of anything is looked at."""
    shape, dtype = facts(array)
    stand_in = np.broadcast_to(np.empty((), dtype), shape)
    key = tuple(
        np.broadcast_to(np.zeros((), p.dtype), p.shape) if _is_array(p) else p for p in parts
    )
    stand_in[key]
    raise Unplaced


def _destination(parts: list[Any]) -> int:
    """Return where NumPy puts the axes of the index: in its place, or first if it is split."""
    at = [k for k, p in enumerate(parts) if _counts(p)]
    if at[-1] - at[0] + 1 != len(at):
        return 0
    return sum(not _counts(p) for p in parts[: at[0]])


def _checked(index: Any, extent: int, axis: int | None, *, what: str = "index") -> Any:
    """Return an index without negative elements; raises NumPy's IndexError out of bounds."""
    found = bounds(index, extent)
    if found.offending is not None:
        along = "" if axis is None else f"axis {axis} with "
        msg = f"{what} {found.offending} is out of bounds for {along}size {extent}"
        raise IndexError(msg)
    if type(index) is ndarray:
        expr = cast(content(index), INTP, index.shape)
        if not found.negative:
            return from_shape(expr)
        given: Any = from_shape(expr)
        return from_expr(where_expr(content(given < 0), content(given + extent), expr))
    index = index.astype(INTP, copy=False)
    return np.where(index < 0, index + extent, index) if found.negative else index


def from_shape(expr: Expr) -> ndarray:
    """Return a handle on an Expr that may be another array's content."""
    return from_expr(expr if expr.owner is None and expr.value is None else blocks.copied(expr))


def bounds(index: Any, extent: int) -> Bounds:
    """Return how an index array fits an axis, computed now."""
    if type(index) is not ndarray:
        return bounds_of(index, extent)
    if not index.size:
        return bounds_of(np.empty(0, INTP), extent)
    return blocks.merged(BOUNDS, [content(index)], BoundsParams((True,), extent))


def _together(arrays: Sequence[Any], extents: Sequence[int]) -> Expr:
    """Return one index for several: they count along their axes together, in C order."""
    total: Any = arrays[0]
    for x, extent in zip(arrays[1:], extents[1:], strict=True):
        total = total * extent + x
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    if type(total) is ndarray:
        return content(total if total.shape == shape else broadcast_to(total, shape))
    total = np.array(np.broadcast_to(total, shape), INTP, order="C")
    return leaf(total, total.shape, total.dtype)


# ---------------------------------------------------------------- reading


def get(array: ndarray, key: Any, *, in_c_order: bool = False) -> Any:
    """Return ``array[key]`` for an advanced index; NotImplemented where NumPy must answer."""
    try:
        array = managed_form(array)
        if in_c_order:
            return gathered(placed(array, key), in_c_order=True)
        if type(key) is ndarray and key.ndim and key.dtype == bool and _covers(array, key):
            return compressed(array, key)
        return gathered(placed(array, key))
    except (Unplaced, Unmanaged):
        return NotImplemented


def managed_form(array: ndarray) -> ndarray:
    """Return an array that may be recorded; a small one is copied."""
    if array._np is None:
        return array
    if not is_managed_dtype(array._np.dtype) or not array._np.ndim:
        raise Unmanaged
    return _array(np.array(array._np, order="C"))


def _covers(array: ndarray, mask: Any) -> bool:
    return array.ndim >= mask.ndim and array.shape[: mask.ndim] == mask.shape and bool(mask.size)


def gathered(found: Placed, *, in_c_order: bool = False) -> Any:
    """Return what a placed index shows, laid out as an index does or in C order."""
    shape = found.shape()
    dtype = facts(found.view).dtype
    if 0 in shape:
        return _array(np.empty(shape, dtype))
    params = TakeParams(len(found.axes))
    rest = found.rest()
    inside = bool(found.axes[0])
    front = (0, *found.axes, *rest[1:]) if inside else (*found.axes, *rest)
    table = content(transpose(found.view, front))
    skipped = len(found.axes) + inside
    result = (*table.shape[:inside], *found.counted.shape, *table.shape[skipped:])
    op = TAKE_INSIDE if inside else TAKE
    taken = from_expr(blocks.record(op, [table, found.counted], params, result, dtype))
    own = range(int(inside), inside + len(found.counted.shape))
    others = [k for k in range(len(result)) if k not in own]
    axes = (*others[: found.dest], *own, *others[found.dest :])
    order = tuple(range(len(axes))) if in_c_order else _order_in_memory(found)
    return laid_out(taken, axes, order)


def laid_out(array: ndarray, axes: tuple[int, ...], order: tuple[int, ...]) -> ndarray:
    """Return ``array.transpose(axes)``, with its axes in memory in the given order."""
    memory = tuple(axes[k] for k in order)
    shape = array.shape
    apart = [k for k in memory if shape[k] > 1]
    if apart != sorted(apart):
        array = blocks.permuted(array, memory)
        axes = tuple(int(k) for k in np.argsort(order))
    return array if axes == tuple(range(len(axes))) else transpose(array, axes)


def _array(values: np.ndarray) -> ndarray:
    return from_expr(leaf(values, values.shape, values.dtype))


# ---------------------------------------------------------------- masks


def compressed(array: ndarray, mask: Any) -> ndarray:
    """Return what of the leading axes a mask shows, in C order."""
    chosen = content(mask)
    expr = content(array)
    params = blocks.counted(chosen, expr)
    shape = (params.starts[-1], *expr.shape[chosen.ndim :])
    if 0 in shape:
        return _array(np.empty(shape, expr.dtype))
    plain = CompressParams(params.block, params.starts)
    found = from_expr(blocks.record(COMPRESS, [expr, chosen], plain, shape, expr.dtype))
    like = _likeness(array)[_likeness(mask).astype(bool) | True]
    order = sorted(range(like.ndim), key=lambda k: -like.strides[k])
    return laid_out(found, tuple(range(len(shape))), tuple(order))


def nonzero(a: Any) -> Any:
    """Return the indices of the elements that are not zero, one array per axis."""
    if type(a) is not ndarray or not a.ndim:
        return NotImplemented
    if not is_far(a):
        return _indices_at_home(a)
    try:
        found = coordinates(a)
    except Unmanaged:
        return NotImplemented
    return tuple(found[:, k] for k in range(a.ndim))


def _indices_at_home(a: ndarray) -> Any:
    if config.mode != "default" or a._np is not None:
        return NotImplemented
    indices = middling.nonzero(concrete(a))
    return indices if indices is NotImplemented else calls.wrap_result(indices)


def coordinates(a: ndarray) -> Any:
    """Return an index of one integer per axis for each element that is not zero, as rows."""
    expr = content(a)
    params = blocks.counted(expr) if expr.size else MaskParams(1, (0, 0))
    shape = (params.starts[-1], expr.ndim)
    if not shape[0]:
        return _array(np.empty(shape, INTP))
    return from_expr(blocks.record(NONZERO, [expr], params, shape, INTP))


# ---------------------------------------------------------------- writing


def set_(array: ndarray, key: Any, value: Any) -> bool:
    """Record ``array[key] = value`` for an advanced index; False where NumPy must do it."""
    try:
        new = value_in(value, facts(array).dtype)
        if type(key) is ndarray and key.ndim and key.dtype == bool and _covers(array, key):
            _put_masked(array, key, new)
        else:
            scattered(placed(array, key, new), new)
    except (Unplaced, Unmanaged):
        return False
    return True


def value_in(value: Any, dtype: np.dtype) -> Expr | Const:
    """Return what is written, in the target's dtype."""
    if type(value) in (list, tuple):
        value = np.array(calls.unwrap(value), dtype)
    found = operand(value)
    if isinstance(found, Const):
        cell = np.empty((), dtype)
        cell[...] = found.value  # raises what NumPy's assignment raises
        return Const(cell[()])
    if found.dtype.kind == "c" and dtype.kind != "c":
        np.empty(1, dtype)[...] = np.zeros(1, complex)  # warns
    return cast(found, dtype, found.shape)


def scattered(
    found: Placed, value: Expr | Const, op: Indexing | None = None, ufunc: str = ""
) -> None:
    """Write what is at a placed index, or change it: by ``op``, the ``ufunc`` of that name."""
    shape = found.shape()
    value, full = _arranged(value, found, shape)
    if 0 in shape:
        return
    view, axes, rest = found.view, found.axes, found.rest()
    params = PutParams(len(axes), full, ufunc)
    first = bool(axes[0])
    target = transpose(view, (0, *axes, *rest[1:]) if first else (*axes, *rest))
    op = op or (PUT_INSIDE if first else PUT)
    with recording(target):
        base = content(target)
        args = [base, found.counted, value]
        write(target, blocks.record(op, args, params, base.shape, base.dtype))


def _fitting(value: Expr, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a value that fits, without leading ones too many."""
    have = value.shape
    while len(have) > len(shape) and have[0] == 1:
        have = have[1:]
    fits = len(have) <= len(shape) and all(
        n in (1, t) for n, t in zip(reversed(have), reversed(shape), strict=False)
    )
    if not fits:
        got, want = (str(s).replace(" ", "") for s in (value.shape, shape))
        msg = (
            f"shape mismatch: value array of shape {got} could not be broadcast to indexing "
            f"result of shape {want}"
        )
        raise ValueError(msg)
    return have


def _arranged(
    value: Expr | Const, found: Placed, shape: tuple[int, ...]
) -> tuple[Expr | Const, bool]:
    """Return the value with its axes as the target's, and whether it has an element for each."""
    if isinstance(value, Const):
        return value, False
    have = _fitting(value, shape)
    if 0 in shape:
        return value, False
    if value.shape == shape and not any(found.axes[:1]) and not found.dest:
        return value, True  # as it is
    given = from_shape(value)
    lead = len(shape) - len(have)
    given = given[(0,) * (len(value.shape) - len(have)) + (None,) * lead + (...,)]
    ndim, at = len(found.counted.shape), found.dest
    index = tuple(range(at, at + ndim))
    others = tuple(k for k in range(len(shape)) if k not in index)
    moving = (*others[:1], *index, *others[1:]) if found.axes[0] else (*index, *others)
    once = moving[: ndim + bool(found.axes[0])]
    if all(given.shape[k] == 1 for k in once):
        return content(transpose(given, moving)[(*(0,) * len(once), ...)]), False
    whole = transpose(broadcast_to(given, shape), moving)
    return blocks.copied(content(whole)), True


def _put_masked(array: ndarray, mask: ndarray, value: Expr | Const) -> None:
    chosen = content(mask)
    params = blocks.counted(chosen)
    total, rest = params.starts[-1], array.shape[mask.ndim :]
    if isinstance(value, Expr):
        value, full = _mask_values(value, total, rest)
        params = params._replace(full=full)
    else:
        params = params._replace(full=False)
    if not total or 0 in rest:
        return
    with recording(array):
        base = content(array)
        args = [base, chosen, value]
        write(array, blocks.record(PUT_MASK, args, params, base.shape, base.dtype))


def _mask_values(value: Expr, total: int, rest: tuple[int, ...]) -> tuple[Expr, bool]:
    shape = (total, *rest)
    if not rest:
        if value.ndim > 1:
            msg = (
                "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, "
                f"input has {value.ndim} dimensions"
            )
            raise ValueError(msg)
        if value.size not in (1, total):
            msg = (
                f"NumPy boolean array indexing assignment cannot assign {value.size} input values "
                f"to the {total} output values where the mask is true"
            )
            raise ValueError(msg)
    have = _fitting(value, shape)
    given = from_shape(value)[(0,) * (value.ndim - len(have)) + (...,)]
    if not total or 0 in rest:
        return value, False
    if len(have) < len(shape) or have[0] == 1:
        return content(given[0, ...] if len(have) == len(shape) else given), False
    if have != shape:
        return blocks.copied(content(broadcast_to(given, shape))), True
    return content(given), True
