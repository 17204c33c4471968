"""Sorting and what is told by order, of arrays that lie on nodes.

Rows that are sorted apart never leave their node; a leading axis is exchanged first, and one long
axis is sorted by samples (:mod:`dnumpy.ops.sorting`). Operands in this process's memory are sorted
by NumPy, a long line in parts by all threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from dnumpy import engine
from dnumpy.api import blocks, calls, composites, ufuncs
from dnumpy.api.array import (
    concrete,
    concrete_for_writing,
    facts,
    from_expr,
    ghost,
    is_managed_dtype,
    ndarray,
    wrap,
)
from dnumpy.api.layout import permuted, restored
from dnumpy.api.locks import writing
from dnumpy.api.record import content, fresh
from dnumpy.config import config, thread_count
from dnumpy.expr.expr import leaf
from dnumpy.kernels.blocked import BLOCK_BYTES
from dnumpy.ops import sorting as rows
from dnumpy.ops.families import RowParams, rowwise_of
from dnumpy.ops.table import EMPTY, FULL
from dnumpy.runtime import buckets, runs
from dnumpy.runtime.find import home_of, users_cluster
from dnumpy.runtime.memory import pool

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.expr.expr import Expr
    from dnumpy.ops.families import Leaf, Rowwise, Sorting

MOST_BLOCKS = 128  # of one sort: what a task reads of each is a piece of its own
LEAST_BLOCK = 50  # rows: merging less costs more than sorting it
SAMPLES = 64  # of a block: no bucket holds more than a share of 1/64 beside its own
FEW_LANES = 4  # long axes side by side, each of which is sorted as a whole array would be
SHARED_BYTES = 2 << 20  # of an array whose rows are worth the threads of this process
SHARED_VALUES = 1 << 18  # that are worth the threads of this process
FEW_VALUES = 1 << 16  # that are sent to all rows of a sorted table, or of a set
LONG = 16  # blocks, from which an axis is long
INDICES = np.dtype(np.intp)


def block_rows(count: int, itemsize: int) -> int:
    """Return the rows of a block that is sorted by itself; no partition plays a part in it."""
    least = max(1, min(BLOCK_BYTES // itemsize, max(config.tile_rows_max, LEAST_BLOCK)))
    return max(least, -(-count // MOST_BLOCKS))


@dataclass(frozen=True, slots=True)
class Sorted:
    """One long axis in order: its sorted blocks, which their nodes hold, and where buckets lie."""

    blocks: ndarray
    buckets: rows.Buckets
    length: int
    stable: bool = True

    @property
    def _stably(self) -> bool:
        """Whether somebody could tell equal elements apart, and wants them in order."""
        return self.stable and self.blocks._buf.dtype.kind not in "biumM"

    def values(self) -> ndarray:
        """Return all values in order."""
        return self._merged(None, self.blocks._buf.dtype)

    def field(self, name: str) -> ndarray:
        """Return one field of all records in order."""
        return self._merged(name, self.blocks._buf.dtype[name])

    def _merged(self, name: str | None, dtype: np.dtype) -> ndarray:
        if len(self.buckets.starts) == 2:
            return self.blocks if name is None else self._field(name, dtype)
        params = rows.MergeParams(self.buckets, name, self._stably)
        held = [self.blocks._buf.expr]
        return from_expr(blocks.record(rows.MERGE, held, params, (self.length,), dtype))

    def _field(self, name: str, dtype: np.dtype) -> ndarray:
        params = rows.FieldParams((True,), name)
        held = [self.blocks._buf.expr]
        return from_expr(blocks.record(rows.FIELD, held, params, (self.length,), dtype))

    def at(self, ranks: Sequence[int]) -> np.ndarray:
        """Return what stands at these ranks, ascending: only their buckets are read."""
        params = rows.RankParams((True,), self.buckets, tuple(ranks), self._stably)
        found: np.ndarray = blocks.merged(rows.AT_RANKS, [self.blocks._buf.expr], params)
        return found


def in_order(expr: Expr, *, stable: bool, ranks: bool = False) -> Sorted:
    """Return the elements of a one-dimensional array in order.

    Where only some ``ranks`` are asked for, buckets that hold none of them go nowhere.
    """
    block = block_rows(expr.shape[0], expr.dtype.itemsize)
    if not ranks and _is_sooner_alone([expr], rows.SORT_BLOCKS, expr.dtype, block):
        block = expr.shape[0]
    params = rows.BlockParams((True,), block, "stable" if stable else None)
    held = from_expr(blocks.record(rows.SORT_BLOCKS, [expr], params, expr.shape, expr.dtype))
    return replace(_bucketed(held, expr.shape[0], block), stable=stable)


def keys_in_order(keys: Sequence[Expr]) -> Sorted:
    """Return records of keys, the primary one first, and of the index that they came from.

    Equal keys stand in the order of their indices.
    """
    dtype = rows.record_dtype([key.dtype for key in keys])
    count = keys[0].shape[0]
    block = block_rows(count, dtype.itemsize)
    if _is_sooner_alone(keys, rows.KEYED_BLOCKS, dtype, block):
        block = count
    params = rows.BlockParams((True,) * len(keys), block)
    held = from_expr(blocks.record(rows.KEYED_BLOCKS, keys, params, (count,), dtype))
    return _bucketed(held, count, block)


def _is_sooner_alone(keys: Sequence[Expr], op: Sorting, dtype: np.dtype, block: int) -> bool:
    """Say whether one worker sorts all blocks sooner, as one, than several workers do."""
    if keys[0].shape[0] <= block or config.mode == "split":
        return False
    with engine.lock:
        stored: list[Any] = [home for key in keys if (home := home_of(key)) is not None]
        where = stored[0] if stored else users_cluster()
        if where is None or not where.remote:
            return False
        from dnumpy.runtime.one_node import sorts_sooner_alone  # programs of one machine do without

        where.refresh()
        return sorts_sooner_alone(where, keys, op, dtype, block)


def _bucketed(held: ndarray, count: int, block: int) -> Sorted:
    number = -(-count // block)
    if number == 1:
        return Sorted(held, rows.Buckets(block, np.array([[0], [count]])), count)
    by_rows = (True,)
    expr = held._buf.expr
    sampling = rows.SampleParams(by_rows, block, SAMPLES, max(number - 1, 1))
    splitters = blocks.record(rows.SPLITTERS, [expr], sampling, (), np.dtype(object))
    found = blocks.merged(rows.CUTS, [expr, splitters], rows.CutParams((True, False), block))
    return Sorted(held, rows.buckets_from(block, count, found), count)


# ---------------------------------------------------------------- functions


def on_nodes(a: Any) -> bool:
    """Say whether an operand is an array that the engine holds away from this process."""
    return (
        type(a) is ndarray
        and a._np is None
        and is_managed_dtype(facts(a).dtype)
        and blocks.spread(a)
    )


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Return a sorted copy, in the memory order of the operand."""
    if order is None and _lanes_at_home(a, axis):
        np.sort(np.empty(0, facts(a).dtype), kind=kind, stable=stable)  # raises for a wrong kind
        options = {"kind": kind} if stable is None else {"stable": stable}
        return _by_lanes_here(rows.SORT_ROWS, a, facts(a).dtype, axis, **options)
    if order is None and axis is None and type(a) is ndarray and len(facts(a).shape) > 1:
        line = composites.reshape(a, -1) if a._np is None and not blocks.spread(a) else a
        a = line if line_at_home(line, -1) else a
    if order is None and line_at_home(a, axis):
        np.sort(np.empty(0, facts(a).dtype), kind=kind, stable=stable)  # raises for a wrong kind
        return _sorted_here(a)
    if not on_nodes(a) or order is not None:
        return NotImplemented
    np.sort(np.empty(0, facts(a).dtype), kind=kind, stable=stable)  # raises for a wrong kind
    keeps = _is_stable(kind, stable)
    if axis is None:
        return _sorted(composites.reshape(a, -1), 0, keeps)
    axis = normalize_axis_index(axis, len(facts(a).shape))
    axes = composites._order_of_copy(a, "K")
    if axes is None:
        return _sorted(a, axis, keeps)
    return restored(_sorted(permuted(a, axes), axes.index(axis), keeps), axes)


def _lanes_at_home(a: Any, axis: Any) -> bool:
    """Say whether the threads of this process share the lanes of an array in its memory.

    Two threads sort rows apart in 0.3 to 0.9 of NumPy's time.
    """
    if type(a) is not ndarray or a._np is not None or thread_count() == 1:
        return False
    shape, dtype = facts(a)
    size = prod(shape) * dtype.itemsize
    if len(shape) < 2 or size < SHARED_BYTES or not is_managed_dtype(dtype) or blocks.spread(a):
        return False
    if not isinstance(axis, int) or not -len(shape) <= axis < len(shape):
        return False
    apart = size // (shape[axis] * dtype.itemsize) if axis % len(shape) == 0 else shape[0]
    return apart >= 4 * thread_count() and ghost(a).flags.c_contiguous


def _by_lanes_here(op: Rowwise, a: ndarray, dtype: np.dtype, axis: int, **kwargs: Any) -> ndarray:
    """Return what an op makes of each lane, those of the first axis turned into rows and back."""
    ndim = len(facts(a).shape)
    along = normalize_axis_index(axis, ndim)
    if along:
        return _rowwise(op, a, dtype, axis=along, **kwargs)
    turned = blocks.permuted(a, (*range(1, ndim), 0))
    found = _rowwise(op, turned, dtype, axis=ndim - 1, **kwargs)
    return blocks.permuted(found, (ndim - 1, *range(ndim - 1)))


def line_at_home(a: Any, axis: Any) -> bool:
    """Say whether the threads of this process sort one long line in its memory."""
    if type(a) is not ndarray or a._np is not None:
        return False
    shape, dtype = facts(a)
    last = axis is None or (type(axis) is int and axis in (0, -1))
    return len(shape) == 1 and last and runs.applies(dtype, shape[0]) and not blocks.spread(a)


def _sorted_here(a: ndarray) -> ndarray:
    values = concrete(a)
    line = pool.empty(values.shape, values.dtype)
    buckets.sort_to(values, line)
    return wrap(line)


def _is_stable(kind: Any, stable: Any) -> bool:
    return bool(stable) or str(kind or "")[:1].lower() in ("s", "m")


def _sorted(a: ndarray, axis: int, stable: bool) -> ndarray:
    if _is_trivial(a, axis):
        return fresh(content(a))
    kind = "stable" if stable else None

    def by_rows(rest: ndarray, along: int) -> ndarray:
        return _rowwise(rows.SORT_ROWS, rest, facts(rest).dtype, axis=along, kind=kind)

    def whole(line: ndarray) -> ndarray:
        return in_order(content(line), stable=stable).values()

    return _along(a, axis, facts(a).dtype, by_rows, whole)


def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """Return the indices that sort; of equal elements the first comes first, whatever the kind."""
    if order is None and line_at_home(a, axis):
        np.argsort(np.empty(0, facts(a).dtype), kind=kind, stable=stable)  # raises for a wrong kind
        return wrap(buckets.argsort(concrete(a), stable=_is_stable(kind, stable)))
    if order is None and _lanes_at_home(a, axis):
        np.argsort(np.empty(0, facts(a).dtype), kind=kind, stable=stable)  # raises for a wrong kind
        options = {"kind": kind} if stable is None else {"stable": stable}
        return _by_lanes_here(rowwise_of("numpy.argsort"), a, INDICES, axis, **options)
    if not on_nodes(a) or order is not None:
        return NotImplemented
    np.argsort(np.empty(0, facts(a).dtype), kind=kind, stable=stable)  # raises for a wrong kind
    if axis is None:
        a, axis = composites.reshape(a, -1), 0
    axis = normalize_axis_index(axis, len(facts(a).shape))

    def by_rows(rest: ndarray, along: int) -> ndarray:
        op = rowwise_of("numpy.argsort")
        return _rowwise(op, rest, INDICES, axis=along, kind="stable")

    def whole(line: ndarray) -> ndarray:
        return keys_in_order([content(line)]).field(rows.INDEX)

    return _zeros(a) if _is_trivial(a, axis) else _along(a, axis, INDICES, by_rows, whole)


def partition(
    a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    """Return a partitioned copy; one long axis is sorted, which is a partition at every rank."""
    if order is None and kind == "introselect" and _lanes_at_home(a, axis):
        ranks = _ranks(kth, facts(a).shape[axis])
        if ranks is not None:
            return _by_lanes_here(rows.PARTITION_ROWS, a, facts(a).dtype, axis, kth=ranks)
    if not on_nodes(a) or order is not None:
        return NotImplemented
    if axis is None:
        a, axis = composites.reshape(a, -1), 0
    axis = normalize_axis_index(axis, len(facts(a).shape))
    ranks = _ranks(kth, facts(a).shape[axis])
    if ranks is None or kind != "introselect":
        return NotImplemented  # NumPy says why
    axes = composites._order_of_copy(a, "K")
    if axes is None:
        return _partitioned(a, axis, ranks)
    return restored(_partitioned(permuted(a, axes), axes.index(axis), ranks), axes)


def _partitioned(a: ndarray, axis: int, ranks: tuple[int, ...]) -> ndarray:
    if _is_trivial(a, axis):
        return fresh(content(a))

    def by_rows(rest: ndarray, along: int) -> ndarray:
        return _rowwise(rows.PARTITION_ROWS, rest, facts(rest).dtype, axis=along, kth=ranks)

    def whole(line: ndarray) -> ndarray:
        return in_order(content(line), stable=False).values()

    return _along(a, axis, facts(a).dtype, by_rows, whole)


def argpartition(
    a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    """Return the indices that partition; one long axis is sorted."""
    if order is None and kind == "introselect" and _lanes_at_home(a, axis):
        ranks = _ranks(kth, facts(a).shape[axis])
        if ranks is not None:
            op = rowwise_of("numpy.argpartition")
            return _by_lanes_here(op, a, INDICES, axis, kth=ranks)
    if not on_nodes(a) or order is not None:
        return NotImplemented
    if axis is None:
        a, axis = composites.reshape(a, -1), 0
    axis = normalize_axis_index(axis, len(facts(a).shape))
    ranks = _ranks(kth, facts(a).shape[axis])
    if ranks is None or kind != "introselect":
        return NotImplemented  # NumPy says why

    def by_rows(rest: ndarray, along: int) -> ndarray:
        return _rowwise(rowwise_of("numpy.argpartition"), rest, INDICES, axis=along, kth=ranks)

    def whole(line: ndarray) -> ndarray:
        return keys_in_order([content(line)]).field(rows.INDEX)

    return _zeros(a) if _is_trivial(a, axis) else _along(a, axis, INDICES, by_rows, whole)


def _ranks(kth: Any, length: int) -> tuple[int, ...] | None:
    """Return the ranks at which to partition, None for what NumPy refuses."""
    given = np.asarray(kth)
    if given.dtype.kind not in "iu" or given.ndim > 1:
        return None
    ranks = tuple(k + length if k < 0 else k for k in given.ravel().tolist())
    return ranks if all(0 <= k < length for k in ranks) else None


def lexsort(keys: Any, axis: Any = -1) -> Any:
    """Return the indices that sort by several keys, the last one the primary."""
    lines = list(keys) if type(keys) in (list, tuple) or type(keys) is ndarray else []
    if lines and type(axis) is int and all(line_at_home(line, axis) for line in lines):
        return _in_turn(lines)
    if not lines or not any(on_nodes(line) for line in lines):
        return NotImplemented
    arrays = [line if type(line) is ndarray else from_expr(_held(line)) for line in lines]
    shapes = {a.shape for a in arrays}
    if len(shapes) != 1 or any(not is_managed_dtype(a.dtype) for a in arrays):
        return NotImplemented
    (shape,) = shapes
    if not shape:
        return NotImplemented
    axis = normalize_axis_index(axis, len(shape))
    exprs = [content(a) for a in arrays]
    if not prod(shape) or shape[axis] <= 1 or (len(shape) > 1 and axis == 0):
        return NotImplemented
    if len(shape) == 1:
        return keys_in_order(exprs[::-1]).field(rows.INDEX)
    params = RowParams((True,) * len(exprs), (("axis", axis),))
    return from_expr(blocks.record(rows.LEXSORT_ROWS, exprs, params, shape, INDICES))


def _in_turn(keys: list[ndarray]) -> Any:
    """Return where lines in memory are in order by all keys: by each, what is equal as it was."""
    if len({facts(key).shape for key in keys}) > 1:
        return NotImplemented  # NumPy says why
    order: Any = wrap(buckets.argsort(concrete(keys[0]), stable=True))
    for key in keys[1:]:
        order = order[wrap(buckets.argsort(concrete(key[order]), stable=True))]
    return order


def made_of(op: Leaf, params: tuple[Any, ...], shape: tuple[int, ...], dtype: np.dtype) -> ndarray:
    """Return an array whose rows are made from their index alone."""
    return from_expr(blocks.record(op, [], params, shape, dtype))


def _held(values: Any) -> Expr:
    array = np.array(values, order="C")
    return leaf(array, array.shape, array.dtype)


# ---------------------------------------------------------------- along an axis


def _is_trivial(a: ndarray, axis: int) -> bool:
    shape = facts(a).shape
    return not prod(shape) or shape[axis] <= 1


def _zeros(a: ndarray) -> ndarray:
    return made_of(FULL, (0,), facts(a).shape, INDICES)


def _along(
    a: ndarray,
    axis: int,
    dtype: np.dtype,
    by_rows: Callable[[ndarray, int], ndarray],
    whole: Callable[[ndarray], ndarray],
) -> ndarray:
    """Return an array of the operand's shape, in C order, from functions of rows and of lines.

    Every line along the axis has at least two elements.
    """
    shape = facts(a).shape
    if len(shape) == 1:
        return whole(a)
    front = (axis, *[k for k in range(len(shape)) if k != axis])
    back = tuple(np.argsort(front).tolist())
    if is_long(shape, axis, facts(a).dtype.itemsize):
        lines = a if axis == 0 else blocks.permuted(a, front)
        made = _line_by_line(lines, dtype, whole)
        return made if axis == 0 else blocks.permuted(made, back)
    if axis:
        return by_rows(a, axis)
    last = (*range(1, len(shape)), 0)
    found = by_rows(blocks.permuted(a, last), len(shape) - 1)
    return blocks.permuted(found, (len(shape) - 1, *range(len(shape) - 1)))


def is_long(shape: tuple[int, ...], axis: int, itemsize: int) -> bool:
    """Say whether there are too few rows to be shared out, and each is worth sharing."""
    length = shape[axis]
    return prod(shape) <= FEW_LANES * length and length >= LONG * block_rows(length, itemsize)


def _line_by_line(a: ndarray, dtype: np.dtype, whole: Callable[[ndarray], ndarray]) -> ndarray:
    made = made_of(EMPTY, (), facts(a).shape, dtype)
    for at in np.ndindex(facts(a).shape[1:]):
        line = a[(slice(None), *at)]
        made[(slice(None), *at)] = whole(line)
    return made


def _rowwise(op: Rowwise, a: ndarray, dtype: np.dtype, **kwargs: Any) -> ndarray:
    params = RowParams((True,), tuple(kwargs.items()))
    expr = content(a)
    return from_expr(blocks.record(op, [expr], params, expr.shape, dtype))


# ---------------------------------------------------------------- searching


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Return where to insert.

    A small operand goes to all rows of the other; of two large ones, the values go to the range of
    the table that they fall in.
    """
    if sorter is not None or not (on_nodes(a) or on_nodes(v) or _are_many_at_home(v)):
        return NotImplemented
    if type(side) is not str or side not in {"left", "right"}:
        return NotImplemented  # NumPy says why
    table, wanted = (as_array(x) for x in (a, v))
    if table is None or wanted is None or table.ndim != 1:
        return NotImplemented
    table, wanted = promoted(table, wanted)
    if table is None or wanted is None or not table.size or not wanted.size:
        return NotImplemented
    few = on_nodes(table) and wanted.size <= min(table.size, FEW_VALUES)
    if wanted.ndim and not few:
        exprs = [content(table), content(wanted)]
        params = rows.FindParams((False, True), side)
        return from_expr(blocks.record(rows.FIND, exprs, params, wanted.shape, INDICES))
    searching = rows.SearchParams((True, False), block_rows(table.size, table.itemsize), side)
    exprs = [content(table), content(composites.reshape(wanted, -1))]
    found = from_expr(blocks.record(rows.SEARCH, exprs, searching, (wanted.size,), INDICES))
    return found[0] if not wanted.ndim else composites.reshape(found, wanted.shape)


def _are_many_at_home(v: Any) -> bool:
    """Say whether the threads of this process share the values that are to be found."""
    if type(v) is not ndarray or v._np is not None or thread_count() == 1:
        return False
    shape, dtype = facts(v)
    return prod(shape) >= SHARED_VALUES and dtype.kind in "biuf"


def monotonicity(bins: Any) -> int:
    """Return 1 where edges never fall, -1 where they never rise, else 0, as NumPy's helper does."""
    numpys: Any = vars(np.lib)["_function_base_impl"]._monotonicity
    if not on_nodes(bins) or bins.ndim != 1 or bins.size < LEAST_BLOCK:
        return int(numpys(calls.unwrap(bins)))
    if bins.dtype.kind == "c" or bool(ufuncs.call(np.isnan, (bins,), {}).any()):
        return int(numpys(calls.unwrap(bins)))
    before, after = bins[:-1], bins[1:]
    if not bool((after < before).any()):
        return 1
    return 0 if bool((after > before).any()) else -1


def as_array(x: Any) -> Any:
    """Return what NumPy makes an array of, managed; None for what the engine does not hold."""
    if type(x) is ndarray:
        return x
    if isinstance(x, np.ndarray | np.generic | int | float | complex | list | tuple):
        values = np.asarray(x)
        return from_expr(_held(values)) if is_managed_dtype(values.dtype) else None
    return None


def promoted(table: ndarray, wanted: ndarray) -> tuple[Any, Any]:
    """Return both in the dtype in which NumPy compares them."""
    dtype = np.promote_types(table.dtype, wanted.dtype)
    if not is_managed_dtype(dtype):
        return None, None
    first, second = (x if x.dtype == dtype else x.astype(dtype) for x in (table, wanted))
    return first, second


def sort_in_place(
    a: ndarray, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """Sort what an array shows, through a view too."""
    if order is None and axis is not None and line_at_home(a, axis) and not a._readonly:
        np.empty(0, facts(a).dtype).sort(kind=kind, stable=stable)  # raises for a wrong kind
        with writing(a):
            line = concrete_for_writing(a)
            if line.flags.c_contiguous:
                runs.sort(line)
            else:
                line.sort()
        return None
    return _replaced(a, lambda: sort(a, axis, kind, order, stable=stable), axis)


def partition_in_place(
    a: ndarray, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    """Partition what an array shows, through a view too."""
    return _replaced(a, lambda: partition(a, kth, axis, kind, order), axis)


def _replaced(a: ndarray, compute: Callable[[], Any], axis: Any) -> Any:
    if not on_nodes(a) or a._readonly or axis is None:
        return NotImplemented  # NumPy says why, or does it at home
    found = compute()
    if found is NotImplemented:
        return NotImplemented
    a[...] = found
    return None


NATIVE: dict[str, Callable[..., Any]] = {
    "sort": sort,
    "argsort": argsort,
    "partition": partition,
    "argpartition": argpartition,
    "lexsort": lexsort,
    "searchsorted": searchsorted,
}

# methods of the class, which write to their array
IN_PLACE: dict[str, Callable[..., Any]] = {
    "partition": partition_in_place,
    "sort": sort_in_place,
}
