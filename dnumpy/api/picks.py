"""NumPy's functions that take and put elements by index, for operands that lie on nodes."""

from __future__ import annotations

import operator
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from dnumpy.api import blocks, calls, composites, stands, ufuncs
from dnumpy.api.array import concrete, facts, from_expr, ghost, is_managed_dtype, looked_at, ndarray
from dnumpy.api.composites import broadcast_to, ravel, reshape, through_ghost
from dnumpy.api.indexing import taken_here
from dnumpy.api.record import Unmanaged, content, fresh, operand, write
from dnumpy.api.record import where as where_expr
from dnumpy.api.stand_ins import stand_in
from dnumpy.api.take import (
    FEW_AXES,
    INTP,
    MOST_PARTS,
    Placed,
    bounds,
    compressed,
    coordinates,
    from_shape,
    gathered,
    get,
    is_far,
    managed_form,
    nonzero,
    placed,
    scattered,
    value_in,
)
from dnumpy.api.transplant import ours
from dnumpy.expr.expr import Expr, leaf
from dnumpy.ops.table import ARANGE

if TYPE_CHECKING:
    from collections.abc import Callable


_NO_VALUE = np._NoValue


def _as_array(x: Any) -> Any:
    """Return an array of ours as it is, anything else as NumPy's."""
    return x if type(x) is ndarray else np.asarray(calls.unwrap(x))


def _index_array(indices: Any) -> Any:
    """Return an index as an array of integers, ours or NumPy's; NumPy refuses other kinds."""
    found = _as_array(indices)
    if found.dtype == bool:
        found = found.astype(INTP)
    if found.dtype.kind not in "iu" or not np.can_cast(found.dtype, INTP, "same_kind"):
        raise Unmanaged
    return found


def _in_mode(indices: Any, extent: int, mode: str) -> Any:
    """Return an index array brought into bounds by a mode; ``raise`` leaves it as it is."""
    if mode == "raise" or not extent:
        return indices
    given = indices.astype(INTP)
    if mode == "wrap":
        return given % extent
    if mode == "clip":
        return (
            np.clip(given, 0, extent - 1)
            if type(given) is not ndarray
            else given.clip(0, extent - 1)
        )
    raise Unmanaged


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """Take rows, columns or elements by an index array of any shape."""
    if type(a) is not ndarray or not a.ndim:
        return NotImplemented
    if not is_far(a, indices):
        plain = out is None and mode == "raise" and (axis == 0 or (axis is None and a.ndim == 1))
        found = taken_here(concrete(a), indices) if plain and type(axis) is not bool else None
        return NotImplemented if found is None else found
    a = managed_form(a)
    index = _index_array(indices)
    if axis is None:
        found = _taken_flat(a, index, mode)
    else:
        along = normalize_axis_index(operator.index(axis), a.ndim)
        index = _in_mode(index, a.shape[along], mode)
        lead = (slice(None),) * along
        found = a[(*lead, operator.index(index))] if not index.ndim else _picked(a, along, index)
    if found is NotImplemented:
        return found
    return found if out is None else _into(out, found, mode)


def _taken_flat(a: ndarray, index: Any, mode: str) -> Any:
    index = _in_mode(index, a.size, mode)
    if not index.ndim:
        return ravel(a)[operator.index(index)]
    if not a.size:
        if index.size:
            msg = "cannot do a non-empty take from an empty axes."
            raise IndexError(msg)
        raise Unmanaged
    return gathered(_flat_place(a, index), in_c_order=True)


def _picked(a: ndarray, along: int, index: Any) -> Any:
    """Return what an index along one axis shows, in C order as the functions give it."""
    return get(a, (slice(None),) * along + (index,), in_c_order=True)


def _flat_place(a: ndarray, index: Any) -> Placed:
    """Return the place of an index that counts along all axes in C order."""
    flat = placed(reshape(a, -1), index)
    if flat.view.shape == a.shape:
        return flat
    return flat._replace(view=a, axes=tuple(range(a.ndim)), like=())


def _into(out: Any, found: Any, mode: str) -> Any:
    if type(out) is not ndarray or out.shape != np.shape(found) or not out.ndim:
        return NotImplemented
    if not np.can_cast(found.dtype, out.dtype, "same_kind" if mode == "raise" else "unsafe"):
        return NotImplemented
    out[...] = found
    return out


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> Any:
    """Write elements by an index into the flattened array; values repeat."""
    if type(a) is not ndarray or a._np is not None or not is_far(a, ind, v):
        return NotImplemented
    if a._readonly or a._buf.shared or not a.size or not a.ndim:
        return NotImplemented
    index = _index_array(ind).reshape(-1)
    values = _as_array(v)
    if not index.size or not values.size:
        return None
    index = _in_mode(index, a.size, mode)
    new = repeated(values, index.size)
    if mode == "raise" and bounds(index, a.size).offending is not None:
        given = np.asarray(calls.unwrap(index))
        within = int(np.argmax((given < -a.size) | (given >= a.size)))
        put(a, given[:within], new[:within])  # as NumPy, which looks at each before it writes
    scattered(_flat_place(a, index), value_in(new, a.dtype))
    return None


def repeated(values: Any, count: int) -> Any:
    """Return ``count`` elements: those of the flattened values, over and over."""
    flat = values.reshape(-1)
    if flat.size == 1:
        return flat
    if flat.size >= count:
        return flat[:count]
    times = -(-count // flat.size)
    shape = (times, flat.size)
    if type(flat) is ndarray:
        return reshape(fresh(content(broadcast_to(flat, shape))), -1)[:count]
    return np.broadcast_to(flat, shape).reshape(-1)[:count]


def place(arr: Any, mask: Any, vals: Any) -> Any:
    """Write values where a mask is true, in order, over and over."""
    if _placed_on_nodes(arr, mask, vals):
        return None
    return calls.run_writing(np.place, (arr, mask, vals), {})


def _placed_on_nodes(arr: Any, mask: Any, vals: Any) -> bool:
    """Record a ``place``; False where NumPy must do it, or say why not."""
    if type(arr) is not ndarray or arr._np is not None or not is_far(arr, mask, vals):
        return False
    chosen = _as_array(mask)
    if arr._readonly or arr._buf.shared or chosen.shape != arr.shape or not arr.ndim:
        return False
    chosen = chosen if chosen.dtype == bool else chosen.astype(bool)
    values = _as_array(vals)
    total = int(np.count_nonzero(chosen) if type(chosen) is not ndarray else chosen.sum())
    if not total:
        return True
    if not values.size:
        msg = "Cannot insert from an empty array!"
        raise ValueError(msg)
    arr[chosen] = repeated(values.astype(arr.dtype), total)
    return True


def putmask(a: Any, /, mask: Any, values: Any) -> Any:
    """Write, where a mask is true, the values at the same places; they repeat."""
    if type(a) is not ndarray or a._np is not None or not is_far(a, mask, values):
        return NotImplemented
    given = _as_array(values)
    chosen = _as_array(mask)
    if a._readonly or a._buf.shared or chosen.shape != a.shape or not a.ndim or not given.size:
        return NotImplemented
    if not np.can_cast(given.dtype, a.dtype, "same_kind") and given.ndim:
        return NotImplemented  # NumPy says what it makes of it
    new = given if given.shape == a.shape else repeated(given, a.size)
    new = new if given.size == 1 or new.shape == a.shape else reshape_any(new, a.shape)
    chosen = chosen if chosen.dtype == bool else chosen.astype(bool)
    value = value_in(new, a.dtype)
    write(a, where_expr(operand(chosen), value, content(a)))
    return None


def reshape_any(a: Any, shape: tuple[int, ...]) -> Any:
    """Return an array of ours or NumPy's in another shape."""
    return reshape(a, shape) if type(a) is ndarray else a.reshape(shape)


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """Take the slices along an axis where a condition of one axis holds."""
    if type(a) is not ndarray or not is_far(a, condition) or out is not None or not a.ndim:
        return NotImplemented
    chosen = _as_array(condition)
    if chosen.ndim != 1:
        msg = "condition must be a 1-d array"
        raise ValueError(msg)
    a = managed_form(a)
    source: Any = ravel(a) if axis is None else a
    along = normalize_axis_index(0 if axis is None else operator.index(axis), source.ndim)
    chosen = chosen if chosen.dtype == bool else chosen.astype(bool)
    extent = source.shape[along]
    if chosen.shape[0] < extent:
        source = source[(slice(None),) * along + (slice(chosen.shape[0]),)]
    elif chosen.shape[0] > extent:
        if bool(chosen[extent:].any()):
            return NotImplemented  # NumPy says why
        chosen = chosen[:extent]
    return _picked(source, along, chosen)


def compress_method(a: ndarray, condition: Any, axis: Any = None, out: Any = None) -> Any:
    """As the method, whose first operand is the array."""
    return compress(condition, a, axis, out)


def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """Repeat each element along an axis, so many times or as many as an array says."""
    if type(a) is not ndarray or not is_far(a, repeats):
        return NotImplemented
    a = managed_form(a)
    source: Any = ravel(a) if axis is None else a
    if not source.ndim:
        return NotImplemented
    along = normalize_axis_index(-1 if axis is None else operator.index(axis), source.ndim)
    counts = _as_array(repeats)
    if counts.size == 1 and counts.ndim <= 1 and counts.dtype.kind in "iu":
        return _repeated_evenly(source, int(counts.reshape(-1)[0]), along)
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or counts.shape[0] != source.shape[along]:
        return NotImplemented  # NumPy says why
    return _repeated_unevenly(source, counts, along)


def _repeated_evenly(a: ndarray, times: int, along: int) -> Any:
    if times < 0:
        np.repeat(stand_in(a), times, along)  # raises
    shape = a.shape
    result = (*shape[:along], shape[along] * times, *shape[along + 1 :])
    if 0 in result:
        return NotImplemented
    each = a[(slice(None),) * (along + 1) + (None,)]
    wide = broadcast_to(each, (*shape[: along + 1], times, *shape[along + 1 :]))
    return reshape(fresh(content(wide)), result)


def _repeated_unevenly(a: ndarray, counts: Any, along: int) -> Any:
    """Row ``i`` of the result is the row whose running total of counts first exceeds ``i``."""
    if bool((counts < 0).any()):
        msg = "repeats may not contain negative values."
        raise ValueError(msg)
    if type(counts) is not ndarray or not is_far(counts):
        plain = calls.unwrap(counts)
        index: Any = np.repeat(np.arange(plain.shape[0]), plain)
    else:
        ends = ours(np.cumsum)(counts, dtype=INTP)
        places = from_expr(blocks.record(ARANGE, [], (0, 1), (int(ends[-1]),), INTP))
        index = ours(np.searchsorted)(ends, places, side="right")
    return _picked(a, along, index)


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Take by an index of the same shape apart from the axis; within rows where it can be."""
    if type(arr) is not ndarray or axis is None or not is_far(arr, indices) or not arr.ndim:
        return NotImplemented
    along = normalize_axis_index(operator.index(axis), arr.ndim)
    if type(indices) is not ndarray or indices.ndim != arr.ndim or indices.dtype.kind not in "iu":
        return NotImplemented
    rest = [k for k in range(arr.ndim) if k != along]
    same = all(arr.shape[k] == indices.shape[k] for k in rest)
    if not along or not same or not indices.size or not arr.shape[0]:
        return NotImplemented  # NumPy's own code, over an index array per axis
    found = bounds(indices, arr.shape[along])
    if found.offending is not None:
        msg = (
            f"index {found.offending} is out of bounds for axis {along} with size "
            f"{arr.shape[along]}"
        )
        raise IndexError(msg)
    args = [content(arr), content(indices)]
    result = (indices.shape, facts(arr).dtype)
    return blocks.rowwise("numpy.take_along_axis", args, (True, True), result, axis=along)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any = -1) -> Any:
    """Write along all axes as one; NumPy's own code writes along a single one."""
    if axis is not None or type(arr) is not ndarray or getattr(indices, "ndim", 0) != 1:
        return NotImplemented
    flat: Any = ravel(arr)
    if flat is NotImplemented or flat._np is not None or flat._buf is not arr._buf:
        return NotImplemented
    flat[indices] = values
    return None


def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Choose elementwise among arrays by number."""
    if out is not None or not is_far(a, choices) or type(choices) not in (list, tuple, ndarray):
        return NotImplemented
    options = list(choices)
    number = _as_array(a)
    if not options or number.dtype.kind not in "biu" or not 0 < number.ndim <= FEW_AXES:
        return NotImplemented
    if len(options) > MOST_PARTS or any(stands.is_stood_for(type(x)) for x in options):
        return NotImplemented  # NumPy says how many it takes, and converts each once
    weak = (int, float, complex)
    dtype = np.result_type(
        *[x if type(x) in weak else np.asarray(stand_in(x)).dtype for x in options]
    )
    if not is_managed_dtype(dtype):
        return NotImplemented
    shape = np.broadcast_shapes(*[np.shape(stand_in(x)) for x in (*options, number)])
    if mode == "raise":
        found = bounds(number, len(options))
        if found.offending is not None or found.negative:
            msg = "invalid entry in choice array"
            raise ValueError(msg)
    chosen = operand(_in_mode(number.astype(INTP), len(options), mode))
    return _chosen(chosen, options, shape, dtype)


def choose_method(a: Any, *choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """Choose elementwise; the choices are one sequence, or arguments of their own."""
    one = len(choices) == 1 and type(choices[0]) in (list, tuple, ndarray)
    return choose(a, choices[0] if one else choices, out, mode)


def _chosen(number: Any, options: list[Any], shape: tuple[int, ...], dtype: np.dtype) -> Any:
    made: Any = _option(options[0], dtype)
    for k, option in enumerate(options[1:], 1):
        is_it = ufuncs.call(np.equal, (from_shape(number), k), {})
        made = where_expr(content(is_it), _option(option, dtype), made)
    found = from_shape(made) if isinstance(made, Expr) else None
    if found is None or found.shape == shape:
        return NotImplemented if found is None else found
    return fresh(content(broadcast_to(found, shape)))


def _option(option: Any, dtype: np.dtype) -> Any:
    """Return a choice in the dtype of the result; a Python number is cast whatever it is."""
    if type(option) in (int, float, complex):
        option = np.asarray(option).astype(dtype)[()]
    return value_in(option, dtype)


def as_strided(
    x: Any,
    shape: Any = None,
    strides: Any = None,
    subok: bool = False,
    writeable: bool = True,
) -> Any:
    """Return a view with any shape and strides, if it stays within the memory of its base."""
    if type(x) is not ndarray or x._np is not None:
        return NotImplemented
    seen = ghost(x)
    wanted = tuple(seen.shape if shape is None else shape)
    steps = tuple(seen.strides if strides is None else strides)
    if len(wanted) != len(steps) or not all(
        isinstance(n, int | np.integer) for n in wanted + steps
    ):
        return NotImplemented
    buffer = x._buf
    offset = x._geo.offset if x._geo is not None else 0
    low, high = offset, offset + x.dtype.itemsize
    for extent, step in zip(wanted, steps, strict=True):
        reach = (int(extent) - 1) * int(step)
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    if 0 in wanted or low < 0 or high > prod(buffer.shape) * buffer.dtype.itemsize:
        return NotImplemented
    plain = np.lib.stride_tricks.as_strided
    return through_ghost(x, lambda g: plain(g, wanted, steps, subok=subok, writeable=writeable))


def _reach(x: Any) -> tuple[Any, np.ndarray] | None:
    """Return what memory an array lies in, and a stand-in that lies in it as the array does."""
    if type(x) is not ndarray or x._np is not None:
        return None
    return x._buf, ghost(x)


def _shares(function: Callable[..., bool]) -> Callable[..., Any]:
    def native(a: Any, b: Any, /, max_work: Any = None) -> Any:
        first, second = _reach(a), _reach(b)
        if first is None or second is None:
            return _shares_with_outside(a, b)
        if first[0] is not second[0]:
            return False if not (first[0].shared and second[0].shared) else NotImplemented
        return function(first[1], second[1], max_work=max_work)

    return native


def _shares_with_outside(a: Any, b: Any) -> Any:
    """An array on nodes shares its memory with nothing else."""
    ours = a if _reach(a) is not None else b
    other = b if ours is a else a
    known = type(other) is ndarray or isinstance(other, np.ndarray | np.generic)
    return False if known and is_far(ours) and not ours._buf.shared else NotImplemented


def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    """Return flat indices for an index array per axis."""
    parts = list(multi_index) if type(multi_index) in (tuple, list, ndarray) else []
    if not is_far(*parts, None) or order not in ("C", "F") or not parts:
        return NotImplemented
    extents = [operator.index(n) for n in (dims if np.ndim(dims) else (dims,))]
    modes = [mode] * len(extents) if isinstance(mode, str) else list(mode)
    if len(extents) != len(parts) or len(modes) != len(parts) or 0 in extents:
        return NotImplemented
    pairs = list(zip(parts, extents, modes, strict=True))
    total: Any = 0
    for part, extent, how in pairs if order == "C" else pairs[::-1]:
        index = _index_array(part)
        if how == "raise":
            found = bounds(index, extent)
            if found.offending is not None or found.negative:
                msg = "invalid entry in coordinates array"
                raise ValueError(msg)
        total = total * extent + _in_mode(index.astype(INTP), extent, how)
    return total


def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    """Return an index array per axis for flat indices."""
    if type(indices) is not ndarray or not is_far(indices) or order not in ("C", "F"):
        return NotImplemented
    index = _index_array(indices)
    extents = [operator.index(n) for n in (shape if np.ndim(shape) else (shape,))]
    size = prod(extents)
    found = bounds(index, size)
    if found.offending is not None or found.negative or not index.ndim or not extents:
        return NotImplemented  # NumPy says why
    rest: Any = index.astype(INTP)
    parts: list[Any] = []
    for extent in reversed(extents) if order == "C" else extents:
        parts.append(rest % extent)
        rest = rest // extent
    return tuple(parts[::-1] if order == "C" else parts)


def where(condition: Any, x: Any = _NO_VALUE, y: Any = _NO_VALUE, /) -> Any:
    """Choose elementwise; of a condition alone, return where it is not zero."""
    if x is _NO_VALUE and y is _NO_VALUE:
        return nonzero(condition)
    return composites.where(condition, x, y)


def argwhere(a: Any) -> Any:
    """Return the indices of the elements that are not zero, a row for each."""
    return coordinates(a) if type(a) is ndarray and a.ndim and is_far(a) else NotImplemented


def extract(condition: Any, arr: Any) -> Any:
    """Return the elements where a condition of the same shape holds, in C order."""
    if type(arr) is not ndarray or not is_far(arr, condition) or not arr.ndim or not arr.size:
        return NotImplemented
    chosen = _as_array(condition)
    if chosen.shape != arr.shape:
        return NotImplemented
    if type(chosen) is not ndarray:
        chosen = from_expr(leaf(chosen.astype(bool), chosen.shape, np.dtype(bool)))
    arr = managed_form(arr)
    return compressed(arr, chosen if chosen.dtype == bool else chosen.astype(bool))


NATIVE: dict[str, Callable[..., Any]] = {
    "where": where,
    "argwhere": argwhere,
    "extract": extract,
    "take": take,
    "put": put,
    "place": place,
    "putmask": putmask,
    "compress": compress,
    "repeat": repeat,
    "nonzero": nonzero,
    "take_along_axis": take_along_axis,
    "put_along_axis": put_along_axis,
    "choose": choose,
    "ravel_multi_index": ravel_multi_index,
    "unravel_index": unravel_index,
    "shares_memory": _shares(np.shares_memory),
    "may_share_memory": _shares(np.may_share_memory),
}

SUBMODULES: dict[str, Callable[..., Any]] = {"lib.stride_tricks.as_strided": as_strided}


def item(a: ndarray, *args: Any) -> Any:
    """Return one element as a Python scalar; only that element comes home."""
    at = args[0] if len(args) == 1 and type(args[0]) is tuple else args
    if a._np is not None or not is_far(a) or not a.ndim or not all(type(k) is int for k in at):
        return NotImplemented
    if len(at) == 1 and a.ndim > 1:
        if not -a.size <= at[0] < a.size:
            return NotImplemented  # NumPy says why
        at = tuple(int(k) for k in np.unravel_index(at[0] % a.size, a.shape))
    return a[at].item() if len(at) == a.ndim else NotImplemented


def tolist(a: ndarray) -> Any:
    """Return nested lists of the elements shown; of a view no more comes home."""
    return looked_at(a).tolist() if a._np is None else NotImplemented


METHODS: dict[str, Callable[..., Any]] = {
    "item": item,
    "tolist": tolist,
    "take": take,
    "put": put,
    "compress": compress_method,
    "repeat": repeat,
    "nonzero": nonzero,
    "choose": choose_method,
}
