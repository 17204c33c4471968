"""Sorting rows: a sample sort in static steps, and functions that sort each row apart.

One long axis is sorted in four steps, none of which holds a whole operand in one place:

1. blocks of a fixed grid are sorted where they lie (``SORT_BLOCKS``; ``KEYED_BLOCKS`` keeps with
   every key the index that it came from);
2. ``SPLITTERS`` merges regular samples of the sorted blocks into the values that cut buckets;
3. ``CUTS`` counts in each block what is below, and what is not above, each splitter: the exact
   place of every bucket in every block (:class:`Buckets`, in which runs of equal values are cut in
   the order of the blocks, so that many duplicates neither unbalance nor reorder anything);
4. ``MERGE`` reads for rows ``lo:hi`` the pieces of the buckets that cover them, and merges them
   (``native/merges.c``); where nobody could tell equal elements apart it sorts them anew instead if
   that is sooner, as it is where NumPy's sort is vectorised well: 8 million float64 take one
   processor with AVX-512 54 ms, and another 500.

A bucket is always merged as a whole: the bits are the same whichever rows are asked for.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cache
from itertools import pairwise
from math import log2
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy import native
from dnumpy.native.among import among
from dnumpy.ops.families import (
    Fold,
    Piece,
    RowParams,
    Rowwise,
    Sorting,
    added_pairwise,
    read_by_rows,
    row,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dnumpy.ops.families import Shapes

TRIED, TRIED_RUNS = 1 << 14, 16  # elements and runs on which both ways of merging are timed
EVEN = 8  # elements of a table, in which a place is found sooner by a guess than by halves
INDEX = "index"  # the field of a record that says where its keys came from


class BlockParams(NamedTuple):
    """Blocks of ``block`` rows; ``kind`` is NumPy's, and each operand goes by rows."""

    by_rows: tuple[bool, ...]
    block: int
    kind: Any = None


def key_fields(count: int) -> list[str]:
    """Return the names of the keys of a record, the primary one first."""
    return [f"k{k}" for k in range(count)]


def record_dtype(keys: Sequence[np.dtype]) -> np.dtype:
    """Return the dtype of records with these keys."""
    fields = zip(key_fields(len(keys)), keys, strict=True)
    return np.dtype([*fields, (INDEX, np.intp)])


def _keys_of(records: np.ndarray) -> list[str]:
    return [name for name in records.dtype.names or () if name != INDEX]


def _comparable(values: np.ndarray) -> np.ndarray:
    """Return what tells the order of records; values that are no records tell it themselves."""
    names = _keys_of(values)
    if not names:
        return values
    return values[names[0]] if len(names) == 1 else values[names]


def _order(values: np.ndarray) -> np.ndarray:
    """Return the stable order of records."""
    names = _keys_of(values)
    if len(names) == 1:
        return np.argsort(values[names[0]], kind="stable")
    return np.lexsort([values[name] for name in reversed(names)])


def _same_rows(_shapes: Shapes, params: BlockParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return tuple(Piece(k, lo, hi) for k in range(len(params.by_rows)))


def _sort_block(
    pieces: Sequence[Any], params: BlockParams, _lo: int, _hi: int, out: np.ndarray
) -> None:
    np.copyto(out, pieces[0])
    out.sort(kind=params.kind)


def stable_order(keys: np.ndarray) -> np.ndarray:
    """Return the stable order of keys; by NumPy's vectorised sorts where it has them.

    Those put equal keys in any order (3 million float64: 0.12 s against 0.42): where there are
    some, their places are sorted afterwards, in one sort of the runs' numbers with the places.
    """
    if keys.dtype.kind not in "iuf" or keys.dtype.itemsize not in (4, 8) or len(keys) >> 31:
        return np.argsort(keys, kind="stable")
    order = np.argsort(keys)
    ordered = keys[order]
    same = ordered[1:] == ordered[:-1]
    if keys.dtype.kind == "f":
        missing = np.isnan(ordered)
        same |= missing[1:] & missing[:-1]
    if not same.any():
        return order
    places = np.zeros(len(keys), np.int64)
    np.cumsum(~same, out=places[1:])
    places <<= _PLACE_BITS
    places |= order
    places.sort()
    places &= (1 << _PLACE_BITS) - 1
    return places


_PLACE_BITS = 32


def _key_block(
    pieces: Sequence[Any], _params: BlockParams, lo: int, _hi: int, out: np.ndarray
) -> None:
    order = stable_order(pieces[0]) if len(pieces) == 1 else np.lexsort(pieces[::-1])
    for name, keys in zip(key_fields(len(pieces)), pieces, strict=True):
        np.take(keys, order, out=out[name])
    np.add(order, lo, out=out[INDEX])


def _block(_shapes: Shapes, params: Any) -> int:
    block: int = params.block
    return block


SORT_BLOCKS = row(Sorting("sort_blocks", _same_rows, _sort_block, _block, "sort", 1.0))
KEYED_BLOCKS = row(Sorting("keyed_blocks", _same_rows, _key_block, _block, "sort", 2.5))


class FieldParams(NamedTuple):
    """The name of a field."""

    by_rows: tuple[bool, ...]
    field: str


def _field(pieces: Sequence[Any], params: FieldParams, _lo: int, _hi: int, out: np.ndarray) -> None:
    np.copyto(out, pieces[0][params.field])


FIELD = row(Sorting("field", _same_rows, _field, None, "cast", 1.0))


class SampleParams(NamedTuple):
    """``each`` samples of each block; ``splitters`` of all of them."""

    by_rows: tuple[bool, ...]
    block: int
    each: int
    splitters: int


def _sample(pieces: Sequence[Any], params: SampleParams, _lo: int, _hi: int) -> np.ndarray:
    (values,) = pieces
    count = min(params.each, len(values))
    at = (2 * np.arange(count) + 1) * len(values) // (2 * count)
    return np.array(_comparable(values)[at])


def _splitters(samples: Sequence[np.ndarray], params: SampleParams) -> np.ndarray:
    every = np.concatenate(samples)
    ordered = every[_order(every)] if every.dtype.names else np.sort(every, kind="stable")
    at = np.arange(1, params.splitters + 1) * len(ordered) // (params.splitters + 1)
    chosen = ordered[at]
    first = np.searchsorted(chosen, chosen, "left") == np.arange(len(chosen))
    return np.array(chosen[first])


SPLITTERS = row(Fold("splitters", _sample, _splitters, _block, "gather", 0.01))


class CutParams(NamedTuple):
    """The sorted blocks go by rows; the splitters whole, in an array without axes."""

    by_rows: tuple[bool, ...]
    block: int


def _cut(pieces: Sequence[Any], _params: CutParams, _lo: int, _hi: int) -> np.ndarray:
    values, (splitters,) = pieces[0], pieces[1].reshape(1)
    keys = np.ascontiguousarray(_comparable(values))
    return np.stack([np.searchsorted(keys, splitters, side) for side in ("left", "right")])


CUTS = row(
    Fold("cuts", _cut, lambda found, _params: np.stack(found, axis=-1), _block, "gather", 0.1)
)


class Buckets:
    """Where each bucket of a sorted array lies in each sorted block.

    ``starts[k]`` is the row of the result at which bucket ``k`` begins, and ``cuts[k][b]`` the row
    of block ``b``; the last of both are the ends.
    """

    __slots__ = ("_key", "block", "cuts", "starts")

    def __init__(self, block: int, cuts: np.ndarray) -> None:
        self.block = block
        self.cuts: np.ndarray = np.ascontiguousarray(cuts, np.int64)
        self.starts: list[int] = self.cuts.sum(axis=1).tolist()
        self._key = hash((block, self.cuts.tobytes()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the table alone."""
        return Buckets, (self.block, self.cuts)

    def __hash__(self) -> int:
        """Equal tables have equal hashes."""
        return self._key

    def __eq__(self, other: object) -> bool:
        """Say whether two tables cut alike."""
        if not isinstance(other, Buckets):
            return NotImplemented
        return self.block == other.block and np.array_equal(self.cuts, other.cuts)

    def covering(self, lo: int, hi: int) -> tuple[int, int]:
        """Return the first bucket that holds one of rows ``lo:hi``, and the one after the last."""
        return bisect_right(self.starts, lo) - 1, bisect_left(self.starts, hi)

    def within(self, first: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Yield block, first and last row in it, of buckets ``first:stop`` where there are any."""
        ends = zip(self.cuts[first].tolist(), self.cuts[stop].tolist(), strict=True)
        return ((b, lo, hi) for b, (lo, hi) in enumerate(ends) if lo < hi)


def buckets_from(block: int, rows: int, found: np.ndarray) -> Buckets:
    """Return the buckets that counts ``found[below or not above][splitter][block]`` tell.

    Values equal to a splitter that fill a bucket or more are cut apart in the order of the blocks.
    """
    below, upto = found
    number = found.shape[-1]
    sizes = np.minimum(block, rows - block * np.arange(number))
    target = max(1, -(-rows // (found.shape[1] + 1)))
    cuts: list[np.ndarray] = [np.zeros(number, np.int64)]
    for least, most in zip(below, upto, strict=True):
        cuts.append(least)
        equal = most - least
        total = int(equal.sum())
        if total > target // 2:
            before = np.cumsum(equal) - equal
            cuts += [
                least + np.clip(done - before, 0, equal) for done in range(target, total, target)
            ]
            cuts.append(most)
    cuts.append(sizes)
    kept = cuts[:1] + [new for old, new in pairwise(cuts) if (new != old).any()]
    return Buckets(block, np.array(kept))


class MergeParams(NamedTuple):
    """``field`` of the records is what the result holds; None for all that there is.

    Values that are no records keep the order of equal ones where they are merged ``stably``.
    """

    buckets: Buckets
    field: str | None = None
    stably: bool = True


def _pieces(_shapes: Shapes, params: MergeParams, lo: int, hi: int) -> tuple[Piece, ...]:
    table = params.buckets
    parts = table.within(*table.covering(lo, hi))
    return tuple(Piece(0, b * table.block + x, b * table.block + y) for b, x, y in parts)


def merged(parts: Sequence[np.ndarray], field: str | None, *, stably: bool = True) -> np.ndarray:
    """Return sorted parts as one, equal keys in the order of the parts if ``stably`` or records."""
    values = np.concatenate(parts)
    if values.dtype.names is None:
        _join(values, parts, stably=stably)
        return values
    order = _order(values)
    kept: np.ndarray = values if field is None else values[field]
    taken: np.ndarray = kept[order]
    return taken


def _join(values: np.ndarray, parts: Sequence[np.ndarray], *, stably: bool) -> None:
    """Sort a line of sorted parts where it lies, equal elements in the order of the parts."""
    if len(parts) == 1:
        return
    if not stably and _is_sorted_sooner(values.dtype.str, values.size, len(parts)):
        values.sort()
    elif not native.merge_runs(values, np.cumsum([len(part) for part in parts])):
        values.sort(kind="stable")


def _is_sorted_sooner(dtype: str, size: int, runs: int) -> bool:
    """Say whether NumPy sorts a line sooner than that many runs of it are merged."""
    sorting, merging = _sorting_and_merging(dtype)
    return sorting * log2(max(size, 2)) < merging * log2(runs)


@cache
def _sorting_and_merging(dtype: str) -> tuple[float, float]:
    """Return the seconds of both ways for a line of some length, by the logarithms of what it has.

    That is its elements' number for NumPy's sort, and the runs' for a merge. It takes two
    milliseconds, once for each dtype in a process.
    """
    line = np.random.default_rng(0).permutation(TRIED).astype(dtype)
    runs = np.sort(line.reshape(TRIED_RUNS, -1)).reshape(-1)
    ends = np.arange(1, TRIED_RUNS + 1) * (TRIED // TRIED_RUNS)
    if not native.merge_runs(runs.copy(), ends):
        return 0.0, 1.0
    sorting = _least_seconds(line, lambda x: x.sort())
    merging = _least_seconds(runs, lambda x: native.merge_runs(x, ends))
    return sorting / log2(TRIED), merging / log2(TRIED_RUNS)


def _least_seconds(line: np.ndarray, order: Callable[[np.ndarray], object]) -> float:
    taken = []
    for _ in range(3):
        copy = line.copy()
        started = perf_counter()
        order(copy)
        taken.append(perf_counter() - started)
    return min(taken)


def _merge(pieces: Sequence[Any], params: MergeParams, lo: int, hi: int, out: Any) -> None:
    table = params.buckets
    first, stop = table.covering(lo, hi)
    held = [(b, begin) for b, begin, _ in table.within(first, stop)]
    for k in range(first, stop):
        ends = table.cuts[k], table.cuts[k + 1]
        parts = [
            piece[ends[0][b] - begin : ends[1][b] - begin]
            for piece, (b, begin) in zip(pieces, held, strict=True)
            if ends[0][b] < ends[1][b]
        ]
        begin, behind = table.starts[k], table.starts[k + 1]
        start, end = max(lo, begin), min(hi, behind)
        target = out[start - lo : end - lo]
        if (start, end) == (begin, behind) and parts[0].dtype == out.dtype and not out.dtype.names:
            np.concatenate(parts, out=target)  # without memory that is taken for it alone
            _join(target, parts, stably=params.stably)
            continue
        bucket = merged(parts, params.field, stably=params.stably)
        target[...] = bucket[start - begin : end - begin]


MERGE = row(Sorting("merge", _pieces, _merge, None, "sort", 0.8))


class RankParams(NamedTuple):
    """The ranks whose values are wanted, ascending."""

    by_rows: tuple[bool, ...]
    buckets: Buckets
    ranks: tuple[int, ...]
    stably: bool = True

    @property
    def block(self) -> int:
        """Rows of a block."""
        return self.buckets.block

    def needed(self) -> list[int]:
        """Return the buckets in which the ranks fall."""
        return sorted({self.buckets.covering(rank, rank + 1)[0] for rank in self.ranks})


def _parts_at(pieces: Sequence[Any], params: RankParams, lo: int, _hi: int) -> list[np.ndarray]:
    (values,) = pieces
    cuts = params.buckets.cuts[:, lo // params.block]
    return [np.array(values[cuts[k] : cuts[k + 1]]) for k in params.needed()]


def _values_at(found: Sequence[list[np.ndarray]], params: RankParams) -> np.ndarray:
    needed = params.needed()
    buckets = {
        k: merged([f[i] for f in found], None, stably=params.stably) for i, k in enumerate(needed)
    }
    starts = params.buckets.starts
    picked = []
    for rank in params.ranks:
        k, _ = params.buckets.covering(rank, rank + 1)
        picked.append(buckets[k][rank - starts[k]])
    return np.array(picked, found[0][0].dtype)


AT_RANKS = row(Fold("at_ranks", _parts_at, _values_at, _block, "gather", 0.05))


def _sort_rows(
    pieces: Sequence[Any], params: RowParams, _lo: int, _hi: int, out: np.ndarray
) -> None:
    np.copyto(out, pieces[0])
    out.sort(**dict(params.kwargs))


SORT_ROWS = row(Rowwise("sort_rows", read_by_rows, _sort_rows, None, "sort", 1.0))


def _partition_rows(
    pieces: Sequence[Any], params: RowParams, _lo: int, _hi: int, out: np.ndarray
) -> None:
    kwargs = dict(params.kwargs)
    np.copyto(out, pieces[0])
    out.partition(kwargs["kth"], axis=kwargs["axis"])


PARTITION_ROWS = row(Rowwise("partition_rows", read_by_rows, _partition_rows, None, "sort", 0.2))


def _lexsort_rows(
    pieces: Sequence[Any], params: RowParams, _lo: int, _hi: int, out: np.ndarray
) -> None:
    out[...] = np.lexsort(pieces, **dict(params.kwargs))


LEXSORT_ROWS = row(Rowwise("lexsort_rows", read_by_rows, _lexsort_rows, None, "sort", 3.0))


class SearchParams(NamedTuple):
    """The sorted table goes by rows, the values to be found whole."""

    by_rows: tuple[bool, ...]
    block: int
    side: str


def _search(pieces: Sequence[Any], params: SearchParams, _lo: int, _hi: int) -> np.ndarray:
    table, values = pieces
    return np.searchsorted(table, values, params.side)  # type: ignore[call-overload,no-any-return]


SEARCH = row(Fold("search", _search, added_pairwise, _block, "gather", 0.1, adds=True))


class FindParams(NamedTuple):
    """The sorted table whole, the values to be found by rows."""

    by_rows: tuple[bool, ...]
    side: str


def _find(pieces: Sequence[Any], params: FindParams, _lo: int, _hi: int, out: np.ndarray) -> None:
    table, values = pieces
    found = evenly_placed(table, values, params.side)
    if found is None:
        found = np.searchsorted(table, values, params.side)  # type: ignore[call-overload]
    out[...] = found


def evenly_placed(
    table: np.ndarray, values: np.ndarray, side: str, threads: int = 1
) -> np.ndarray | None:
    """Return what ``numpy.searchsorted`` does, where a place is told from a value by a guess.

    None for all but doubles in C order, and a table of such that rises about evenly.
    """
    for x in (table, values):
        if type(x) is not np.ndarray or x.dtype != np.float64:
            return None
        if not (x.flags.c_contiguous and x.flags.aligned and x.dtype.isnative):
            return None
    if not EVEN <= len(table) <= values.size:
        return None
    return native.find_places(table, values, right=side[:1] in "rR", threads=threads)


FIND = row(Rowwise("find", read_by_rows, _find, None, "gather", 4.0))


def _quantile_rows(
    pieces: Sequence[Any], params: RowParams, _lo: int, _hi: int, out: np.ndarray
) -> None:
    kwargs = dict(params.kwargs)
    q = [np.array(values) if ndim else values[0] for values, ndim in kwargs["q"]]
    function = getattr(np, kwargs["name"])
    lanes, axis = pieces[0], kwargs["axis"]
    missing = _without_numbers(kwargs["name"], lanes, axis)
    lanes = np.where(missing, lanes.dtype.type(0), lanes) if missing.any() else lanes
    found = function(lanes, *q, axis=axis, **dict(kwargs["options"]))
    out[...] = np.moveaxis(found, 0, -1) if q and np.ndim(q[0]) else found
    _tell_missing(out, missing, axis)


def _without_numbers(name: str, lanes: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Say of every lane, along axes kept, whether NumPy would find no number in it and warn.

    Whoever recorded this has warned.
    """
    if not name.startswith("nan") or lanes.dtype.kind != "f":
        return np.zeros((1,) * lanes.ndim, bool)
    missing: np.ndarray = np.isnan(lanes).all(axis=axes, keepdims=True)
    return missing


def _tell_missing(out: np.ndarray, missing: np.ndarray, axes: tuple[int, ...]) -> None:
    if missing.any():
        out[missing.reshape(missing.shape[: missing.ndim - len(axes)])] = np.nan


QUANTILE_ROWS = row(Rowwise("quantile_rows", read_by_rows, _quantile_rows, None, "sort", 0.2))


class WeightedParams(NamedTuple):
    """Weighted quantiles ``q`` along ``axes``, by the function ``name``; elements and weights."""

    by_rows: tuple[bool, bool]
    name: str
    q: Any  # a number, or a tuple of some
    kind: str  # dtype of q, '' for a number of Python's
    axes: tuple[int, ...]


def _weighted_rows(
    pieces: Sequence[Any], params: WeightedParams, _lo: int, _hi: int, out: np.ndarray
) -> None:
    values, weights = pieces
    q = np.array(params.q, params.kind) if params.kind else params.q
    function = getattr(np, params.name)
    missing = _without_numbers(params.name, values, params.axes)
    if missing.any():
        values = np.where(missing, values.dtype.type(0), values)
        weights = np.where(missing, weights.dtype.type(1), weights)
    found = function(values, q, axis=params.axes, weights=weights, method="inverted_cdf")
    out[...] = np.moveaxis(found, 0, -1) if np.ndim(q) else found
    _tell_missing(out, missing, params.axes)


WEIGHTED_ROWS = row(Rowwise("weighted_rows", read_by_rows, _weighted_rows, None, "sort", 3.0))


def _isin_rows(
    pieces: Sequence[Any], params: RowParams, _lo: int, _hi: int, out: np.ndarray
) -> None:
    values, table = pieces
    if among(values, table, invert=dict(params.kwargs)["invert"], out=out) is not None:
        return
    at = np.searchsorted(table, values)
    np.minimum(at, len(table) - 1, out=at)
    np.equal(table[at], values, out=out)
    if dict(params.kwargs)["invert"]:
        np.logical_not(out, out=out)


ISIN_ROWS = row(Rowwise("isin_rows", read_by_rows, _isin_rows, None, "gather", 4.0))


class MemberParams(NamedTuple):
    """The set goes by rows, the values whole."""

    by_rows: tuple[bool, ...]
    block: int


MEMBERS = row(
    Fold(
        "members",
        lambda pieces, _params, _lo, _hi: np.isin(pieces[1], pieces[0]),
        lambda found, _params: np.logical_or.reduce(found),
        _block,
        "gather",
        1.0,
    )
)
