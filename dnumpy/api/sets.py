"""Unique elements and membership of arrays that are long or on nodes, told by order."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from dnumpy.api import (
    blocks,
    calls,
    composites,
    counting,
    installed,
    sorting,
    take,
    ufuncs,
)
from dnumpy.api.array import concrete, from_expr, ndarray, wrap
from dnumpy.api.record import content
from dnumpy.api.sorting import (
    as_array,
    block_rows,
    in_order,
    keys_in_order,
    made_of,
    on_nodes,
    promoted,
)
from dnumpy.config import threads_for
from dnumpy.native.among import among
from dnumpy.ops import row_keys
from dnumpy.ops import sorting as rows
from dnumpy.ops.families import RowParams
from dnumpy.ops.table import ARANGE, EMPTY, FULL
from dnumpy.runtime import buckets

if TYPE_CHECKING:
    from collections.abc import Callable

_NO_VALUE = np._NoValue

INDICES = np.dtype(np.intp)
MOST_COLUMNS = 32  # of subarrays that have no keys; those with more travel home
MOST_KEYS = 8  # columns that tell subarrays apart one by one; more are one key
SAMPLE = 1 << 14  # elements that tell whether most differ
MANY = 1 << 18  # elements of which a sample is worth its time
MOST_WAYS = 1 << 62  # for a subarray to be, each of which is an integer
WIDE = {1: np.dtype(np.int16), 2: np.dtype(np.int32)}
COUNTED = 4  # times as many integers as there are different ones at most


def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: Any = True,
    sorted: Any = _NO_VALUE,
) -> Any:
    """Return the unique elements in order, and where and how often they occur."""
    wanted = (bool(return_index), bool(return_inverse), bool(return_counts))
    given = {} if sorted is _NO_VALUE else {"sorted": sorted}
    if type(ar) is not ndarray or not ar.ndim:
        return NotImplemented
    if given and not installed.takes(np.unique, "sorted"):
        return NotImplemented  # NumPy says so
    if axis is not None:
        axis = normalize_axis_index(axis, ar.ndim)
    flat = axis is None or ar.ndim == 1
    if not on_nodes(ar) or not ar.size:
        found = _at_home(ar, None if flat else axis, wanted, equal_nan=bool(equal_nan))
        if found is NotImplemented:
            return calls.run(np.unique, (ar, *wanted, axis), {"equal_nan": equal_nan, **given})
        return found
    if not flat:
        return _unique_rows(ar, axis, wanted)
    line: Any = ar if ar.ndim == 1 else composites.reshape(ar, -1)
    places = None
    if wanted[0] or wanted[1]:
        ordered = keys_in_order([content(line)])
        values, places = ordered.field("k0"), ordered.field(rows.INDEX)
    else:
        values = in_order(content(line), stable=False).values()
    first = _firsts(values, equal_nan=bool(equal_nan))
    shape = ar.shape if axis is None else line.shape
    return _outputs(take.compressed(values, first), first, places, wanted, shape)


def _outputs(
    values: Any, first: ndarray, places: Any, wanted: tuple[bool, ...], shape: tuple[int, ...]
) -> Any:
    """Return the unique values with the outputs that are wanted."""
    index, inverse, counts = wanted
    found = [values]
    if index:
        found.append(take.compressed(places, first))
    if inverse:
        numbers = made_of(EMPTY, (), first.shape, INDICES)
        numbers[places] = first.cumsum() - 1
        found.append(composites.reshape(numbers, shape))
    if counts:
        found.append(_lengths(first))
    return found[0] if len(found) == 1 else tuple(found)


def _unique_rows(ar: ndarray, axis: int, wanted: tuple[bool, ...]) -> Any:
    """Return the unique subarrays along an axis, told apart column by column."""
    moved: ndarray = composites.moveaxis(ar, axis, 0)
    count, rest = moved.shape[0], moved.shape[1:]
    table: ndarray = composites.reshape(moved, (count, -1))
    width = table.shape[1]
    wide = width > MOST_KEYS or ar.dtype == np.float16  # of which NumPy compares NaN otherwise
    if wide and row_keys.has_keys(ar.dtype):
        return _unique_wide_rows(ar, axis, table, wanted)
    if width > MOST_COLUMNS:
        return calls.run(np.unique, (ar, *wanted, axis), {})
    ordered = keys_in_order([content(table[:, k]) for k in range(width)])
    columns = [ordered.field(name) for name in rows.key_fields(width)]
    places = ordered.field(rows.INDEX)
    first = made_of(FULL, (True,), (count,), np.dtype(bool))
    differs = columns[0][1:] != columns[0][:-1]
    for column in columns[1:]:
        differs = differs | (column[1:] != column[:-1])
    first[1:] = differs
    kept = [take.compressed(column, first) for column in columns]
    values = made_of(EMPTY, (), (kept[0].size, width), ar.dtype)
    for k, column in enumerate(kept):
        values[:, k] = column
    shaped = composites.moveaxis(composites.reshape(values, (kept[0].size, *rest)), 0, axis)
    return _outputs(shaped, first, places, wanted, (count,))


def _unique_wide_rows(ar: ndarray, axis: int, table: ndarray, wanted: tuple[bool, ...]) -> Any:
    """Return the unique subarrays along an axis, each told apart by one key."""
    count, width = table.shape
    missing = None
    if ar.dtype.kind in "fc":
        missing = ufuncs.call(np.isnan, (table,), {}).any(axis=1)
        if not bool(missing.any()):
            missing = None
        elif ar.dtype.kind == "c":
            return calls.run(np.unique, (ar, *wanted, axis), {})
    key = row_keys.key_dtype(table.dtype, width)
    alone = RowParams((True,))
    keys = blocks.record(row_keys.ROW_KEYS, [content(table)], alone, (count,), key)
    ordered = keys_in_order([keys])
    places = ordered.field(rows.INDEX)
    in_turn = [ordered.field("k0")._buf.expr]
    found = blocks.record(row_keys.DIFFERS, in_turn, alone, (count,), np.dtype(bool))
    first = from_expr(found)
    if missing is not None:  # nothing is equal to NaN
        first = first | missing[places]
    values = table[take.compressed(places, first)]
    shape = (values.shape[0], *[n for k, n in enumerate(ar.shape) if k != axis])
    shaped = composites.moveaxis(composites.reshape(values, shape), 0, axis)
    return _outputs(shaped, first, places, wanted, (count,))


def _at_home(ar: ndarray, axis: Any, wanted: tuple[bool, ...], *, equal_nan: bool) -> Any:
    """Return what is unique of many numbers in memory, told by counting or by all threads' order.

    NumPy's hash table takes ten times as long as a sort where most of many integers differ: a
    sample tells (``benchmarks/sorting.py``).
    """
    if ar.size < MANY or ar._np is not None or blocks.spread(ar):
        return NotImplemented
    if axis is not None:
        return _rows_as_integers(ar, axis, wanted) if ar.dtype.kind in "biu" else NotImplemented
    line: Any = ar if ar.ndim == 1 else composites.reshape(ar, -1)
    if ar.dtype.kind in "biu":
        if not wanted[0]:
            low, high = (int(end) for end in counting.ends(line))
            if high - low < line.size // COUNTED:
                return _by_counting(line, ar.shape, (low, high), wanted)
        if not any(wanted) and _repeats(concrete(line)):
            return NotImplemented
    loses_order = ar.dtype.kind == "f" and wanted[1] and not (wanted[0] or equal_nan)  # of NaN
    if loses_order or not sorting.line_at_home(line, -1):
        return NotImplemented
    places = None
    if wanted[0] or wanted[1]:
        places = calls.wrap_result(buckets.argsort(concrete(line), stable=True))
        values = line[places]
    else:
        values = sorting.sort(line)
    first = _firsts(values, equal_nan=equal_nan)
    return _outputs(take.compressed(values, first), first, places, wanted, ar.shape)


def _by_counting(
    line: ndarray, shape: tuple[int, ...], ends: tuple[int, int], wanted: tuple[bool, ...]
) -> Any:
    """Return the unique values of integers that are all within narrow ends, by counting each."""
    low, high = ends
    keys: Any = line.view(np.uint8) if line.dtype.kind == "b" else line
    if low < 0 or high > 2 * (high - low) + MANY:
        wide = WIDE.get(line.dtype.itemsize)  # a difference may not fit in fewer bits
        keys = (line if wide is None else line.astype(wide)) - low
    else:
        low = 0
    if keys.dtype.kind == "u" and keys.dtype.itemsize == np.dtype(np.intp).itemsize:
        keys = keys.astype(np.intp)
    counted = counting.bincount(keys)
    counts = np.bincount(concrete(keys)) if counted is NotImplemented else np.asarray(counted)
    present = np.flatnonzero(counts)
    values = present.astype(line.dtype)
    if low:
        values += line.dtype.type(low)
    found = [calls.wrap_result(values)]
    if wanted[1]:
        number = calls.wrap_result(np.cumsum(counts > 0) - 1)
        found.append(composites.reshape(number[keys], shape))
    if wanted[2]:
        found.append(calls.wrap_result(counts[present]))
    return found[0] if len(found) == 1 else tuple(found)


def _rows_as_integers(ar: ndarray, axis: int, wanted: tuple[bool, ...]) -> Any:
    """Return the unique subarrays of a few integers each, in memory, as each makes one integer.

    What an element counts for is how many ways there are for those behind it, so that the integers
    have the order of the subarrays.
    """
    moved: ndarray = composites.moveaxis(ar, axis, 0)
    table: ndarray = composites.reshape(moved, (moved.shape[0], -1))
    if not table.size or table.shape[1] > MOST_KEYS:
        return NotImplemented
    lows, highs = (np.asarray(found).tolist() for found in (table.min(axis=0), table.max(axis=0)))
    ways = [high - low + 1 for low, high in zip(lows, highs, strict=True)]
    if prod(ways) >= MOST_WAYS or max(highs) >= MOST_WAYS:
        return NotImplemented
    keys: Any = 0
    for k, (low, way) in enumerate(zip(lows, ways, strict=True)):
        keys = keys * way + (table[:, k].astype(np.intp) - low)
    found = unique(keys, *wanted)
    number, *rest = found if any(wanted) else (found,)
    number = np.asarray(number)
    values = np.empty((len(number), len(ways)), ar.dtype)
    for k in reversed(range(len(ways))):
        values[:, k] = number % ways[k] + lows[k]
        number = number // ways[k]
    shaped = np.moveaxis(values.reshape(-1, *moved.shape[1:]), 0, axis)
    made = calls.wrap_result(shaped)
    return (made, *rest) if rest else made


def _repeats(values: np.ndarray) -> bool:
    """Say whether so many elements of a sample repeat that all differ in 80,000 ways at most."""
    sample = values.ravel()[:: max(1, values.size // SAMPLE)]
    return 10 * len(np.unique(sample)) < 9 * len(sample)


def _firsts(values: ndarray, *, equal_nan: bool) -> ndarray:
    """Return which values differ from the one before."""
    differs = values[1:] != values[:-1]
    if equal_nan and values.dtype.kind in "fc":
        differs = differs & ~ufuncs.call(np.isnan, (values[:-1],), {})
    first = made_of(FULL, (True,), values.shape, np.dtype(bool))
    first[1:] = differs
    return first


def _lengths(first: ndarray) -> ndarray:
    positions = made_of(ARANGE, (0, 1), first.shape, INDICES)
    starts = take.compressed(positions, first)
    ends = made_of(FULL, (first.size,), starts.shape, INDICES)
    ends[:-1] = starts[1:]
    found: ndarray = ends - starts
    return found


def union1d(ar1: Any, ar2: Any) -> Any:
    """Return the elements of both, each once and in order."""
    first, second = as_array(ar1), as_array(ar2)
    if first is None or second is None or not (on_nodes(first) or on_nodes(second)):
        return NotImplemented
    return unique(composites.concatenate([composites.reshape(x, -1) for x in (first, second)]))


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: Any = False,
    invert: Any = False,
    *,
    kind: Any = None,
) -> Any:
    """Return which elements are in a set.

    A small operand goes to all rows of the other; of two large ones, the elements go to the range
    of the sorted set that they fall in.
    """
    values, members = as_array(element), as_array(test_elements)
    if values is None or members is None or kind not in (None, "sort"):
        return NotImplemented
    if not (on_nodes(values) or on_nodes(members)):
        plain = not assume_unique and kind is None
        return _among(values, members, invert=bool(invert)) if plain else NotImplemented
    if not _joined_exactly(values.dtype, members.dtype):
        return NotImplemented
    values, members = promoted(values, members)
    if values is None or not values.size or not members.size or not values.ndim:
        return NotImplemented
    if on_nodes(members) and values.size <= min(members.size - 1, sorting.FEW_VALUES):
        return _members(values, composites.reshape(members, -1), invert=bool(invert))
    table = _table(members.reshape(-1))
    params = RowParams((True, False), (("invert", bool(invert)),))
    exprs = [content(values), content(table)]
    return from_expr(blocks.record(rows.ISIN_ROWS, exprs, params, values.shape, np.dtype(bool)))


def _among(values: ndarray, members: ndarray, *, invert: bool) -> Any:
    """Return the same of what lies here."""
    if values._np is not None or not values.ndim or blocks.spread(values):
        return NotImplemented
    found = among(
        concrete(values), concrete(members), invert=invert, threads=threads_for(values.nbytes)
    )
    return NotImplemented if found is None else wrap(found)


def _joined_exactly(one: np.dtype, other: np.dtype) -> bool:
    """Say whether the common dtype tells apart what is apart.

    Where it does not, NumPy's sorted array counts elements as found that only became equal.
    """
    joined = np.promote_types(one, other)
    return joined.kind not in "fc" or all(
        x.kind not in "iu" or x.itemsize < joined.itemsize // (2 if joined.kind == "c" else 1)
        for x in (one, other)
    )


def _table(members: ndarray) -> ndarray:
    if not on_nodes(members):
        members = members.copy()
        members.sort()
        return members
    return in_order(content(members), stable=False).values()


def _members(values: ndarray, members: ndarray, *, invert: bool) -> ndarray:
    block = block_rows(members.size, members.dtype.itemsize)
    params = rows.MemberParams((True, False), block)
    line = composites.reshape(values, -1)
    exprs = [content(members), content(line)]
    found = from_expr(blocks.record(rows.MEMBERS, exprs, params, line.shape, np.dtype(bool)))
    shaped: ndarray = composites.reshape(found, values.shape)
    return ~shaped if invert else shaped


NATIVE: dict[str, Callable[..., Any]] = {"unique": unique, "union1d": union1d, "isin": isin}
