"""The order in which floating-point sums are taken, the same in every lowering.

A run of elements is cut into blocks, the last one perhaps shorter. NumPy's own loop sums a block:
pairwise, in eight lanes up to 128 elements, so that 29 additions at most lie on the way through a
block; compiled kernels add in that order by themselves. The blocks' sums meet pairwise, level by
level, the odd one out going up unchanged: the logarithm of the number of blocks lies above. A tile
of rows shorter than a block is one run; of longer rows, each row's blocks start at its beginning.

A few trailing entries that are folded beside others that stay, as the coordinates of many points
are, meet in NumPy's own order: one after the other, from eight on in eight lanes.

So the bits of a sum depend on the phase, and not on the lowering or the partition.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from dnumpy import native

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T")

BLOCK = 512  # elements
QUARTER = 128  # most elements that NumPy sums in eight lanes from end to end
FEW = 8  # lanes in which NumPy sums adjacent elements
SHORT = 16  # most elements that are folded as separate values


def as_runs(rows: np.ndarray) -> np.ndarray | None:
    """Return each row's elements one after the other, in place; None where steps between differ."""
    return rows.reshape(len(rows), -1) if has_runs(rows.shape, rows.strides) else None


def has_runs(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Say whether one step leads through all the elements of a row."""
    inner = [(n, s) for n, s in zip(shape[1:], strides[1:], strict=True) if n != 1]
    return all(s == n * t for (_, s), (n, t) in pairwise(inner))


def sum_runs(runs: np.ndarray) -> np.ndarray:
    """Return the sum of each row of a two-dimensional array."""
    return _fold_blocks(_block_sums(runs)) + runs.dtype.type(0)  # a sum of -0.0 alone is 0.0


def sum_tile(rows: np.ndarray) -> np.ndarray:
    """Return the sum of everything in the rows of a tile, a two-dimensional array."""
    return sum_tiles(rows, len(rows))[0]


def sum_tiles(rows: np.ndarray, tile_rows: int) -> np.ndarray:
    """Return the sum of every tile of ``tile_rows`` rows, of which there is a whole number."""
    tiles = len(rows) // tile_rows
    folded = np.empty(tiles, rows.dtype)
    if native.fold("fold_tiles", rows, tile_rows, folded):
        return folded
    if rows.shape[1] < BLOCK:
        return sum_runs(rows.reshape(tiles, -1))
    return _fold_blocks(_block_sums(rows).reshape(tiles, -1)) + rows.dtype.type(0)


def _fold_blocks(level: np.ndarray) -> np.ndarray:
    """Return the sum of each row of block sums, pairwise, level by level."""
    if len(level) == 1 and level.dtype == np.float64:  # as Python's floats: a tenth of the calls
        return np.array([fold_in_python(level[0].tolist())])
    folded = np.empty(len(level), level.dtype)
    if native.fold("fold_rows", level, folded):
        return folded
    while level.shape[1] > 1:
        paired = level[:, 0:-1:2] + level[:, 1::2]
        level = np.concatenate([paired, level[:, -1:]], axis=1) if level.shape[1] % 2 else paired
    return level[:, 0]


def fold_in_python(level: list[float]) -> float:
    """Return the sum of doubles, pairwise, level by level."""
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else []
        level = [a + b for a, b in zip(level[::2], level[1::2], strict=False)] + odd
    return level[0]


def _block_sums(runs: np.ndarray) -> np.ndarray:
    """Return the sum of each block of each row."""
    count, length = runs.shape
    sums = np.empty((count, -(-length // BLOCK)), runs.dtype)
    _blocks_into(runs, sums)
    return sums


def _blocks_into(runs: np.ndarray, sums: np.ndarray) -> None:
    if native.fold("fold_blocks", runs, sums):
        return
    runs = np.ascontiguousarray(runs)  # NumPy goes backwards through what lies backwards
    count, length = runs.shape
    full, tail = divmod(length, BLOCK)
    if not tail:
        np.add.reduce(runs.reshape(count, full, BLOCK), axis=2, out=sums)
        return
    if full:
        blocks = runs[:, : full * BLOCK].reshape(count, full, BLOCK)
        np.add.reduce(blocks, axis=2, out=sums[:, :full])
    np.add.reduce(runs[:, full * BLOCK :], axis=1, out=sums[:, full])


class Way(NamedTuple):
    """How floats of one shape are summed over some axes by one call of the module in C.

    Axes of both kinds, folded and kept, are each seen as one where they lie one inside the other.
    """

    kind: str  # of native/folds.h
    shape: tuple[int, ...]  # in which the array is seen
    times: int  # rows of that shape for each row of the array

    def tile(self, rows: int) -> int:
        """Return how many of the rows that are seen make a tile of so many rows."""
        return min(rows * self.times, self.shape[0])


@lru_cache(maxsize=4096)
def way_of(shape: tuple[int, ...], strides: tuple[int, ...], axes: tuple[int, ...]) -> Way | None:
    """Return how to sum over ``axes`` of an array; None where NumPy must.

    What all lowerings leave to NumPy (:func:`are_numpys`), and what it makes of a tile of rows, is
    summed in its order.
    """
    groups: list[tuple[bool, int]] = []
    for k, n in enumerate(shape):
        if n != 1 or not k:
            folded = k in axes
            if groups and groups[-1][0] == folded:
                groups[-1] = folded, groups[-1][1] * n
            else:
                groups.append((folded, n))
    pattern = "".join("+" if folded else "." for folded, _ in groups)
    seen = tuple(n for _, n in groups)
    inner = prod(shape[1:])
    alone = bool(groups) and seen[0] == shape[0]  # the first axis and no other
    if pattern == "+" or (alone and pattern in {"+.", ".+"}):
        kind = {"+": "tiles", "+.": "columns", ".+": "rows"}[pattern]
        return Way(kind, (shape[0], inner), 1) if has_runs(shape, strides) else None
    kinds = {"+.": "columns", ".+": "numpys rows", "+.+": "middle", ".+.": "within"}
    size = strides[-1] if strides else 0
    if pattern not in kinds or not has_runs((1, *shape), (0, *strides)) or size <= 0:
        return None
    return Way(kinds[pattern], seen, seen[0] // shape[0])


def total(
    rows: np.ndarray,
    way: Way,
    tile_rows: int,
    out: np.ndarray,
    means: np.ndarray | None = None,
    threads: int = 1,
) -> bool:
    """Sum rows into ``out`` by as many threads; False where NumPy must.

    The sums of tiles, of which the last may be shorter, meet up the tree. Where there are
    ``means``, one for each sum, squares of what is left beside them are summed.
    """
    seen, tile = rows.reshape(way.shape), way.tile(tile_rows)
    return native.sum_axes(seen, way.kind, tile, means, out, True, threads)


def sum_tiles_over(
    rows: np.ndarray, axes: tuple[int, ...], tile_rows: int, out: np.ndarray
) -> bool:
    """Sum each tile of rows, or each row, over ``axes``; False where NumPy is to do it.

    That is where no sums stay beside each other. The last tile may be shorter, and ``out`` has a
    row for each.
    """
    way = way_of(rows.shape, rows.strides, axes)
    if way is None or way.kind in {"tiles", "rows"}:
        return False
    seen = rows.reshape(way.shape)
    return native.sum_axes(seen, way.kind, way.tile(tile_rows), None, out, False, 1)


def sum_columns_up(rows: np.ndarray, tile_rows: int, out: np.ndarray) -> bool:
    """Sum each column of a matrix, tiles meeting up the tree; False where NumPy is to do it."""
    return native.fold("fold_total", rows, tile_rows, out)


def are_numpys(shape: tuple[int, ...], axis: tuple[int, ...]) -> bool:
    """Say whether all lowerings leave a sum of adjacent rows to NumPy, of one row or of many."""
    beside = prod(n for k, n in enumerate(shape) if k and k not in axis)
    return 0 not in axis and beside > 1 and not folds_short_axes(shape, axis)


class TileSums:
    """Sums of tiles of equal shape: each tile's blocks when it comes, all their folds at the end.

    What is left to do for a tile is one call of NumPy's, so that threads seldom wait for each
    other between two calls.
    """

    def __init__(self, tiles: int, rows: int, width: int, dtype: np.dtype) -> None:
        self._runs, length = (1, rows * width) if width < BLOCK else (rows, width)
        self._length = length
        self._sums = np.empty((tiles * self._runs, -(-length // BLOCK)), dtype)
        self._tiles = tiles

    def take(self, rows: np.ndarray, number: int) -> None:
        """Sum the blocks of one or several adjacent tiles, of which the first is ``number``."""
        runs = np.asarray(rows, self._sums.dtype).reshape(-1, self._length)
        at = number * self._runs
        _blocks_into(runs, self._sums[at : at + len(runs)])

    def folded(self) -> np.ndarray:
        """Return the sum of each tile, as :func:`sum_tile` gives it."""
        sums = self._sums
        return _fold_blocks(sums.reshape(self._tiles, -1)) + sums.dtype.type(0)


def folds_short_axes(shape: tuple[int, ...], axes: tuple[int, ...]) -> bool:
    """Say whether ``axes`` are the last ones, hold a few elements, and leave others beside rows."""
    kept = len(shape) - len(axes)
    if tuple(sorted(axes)) != tuple(range(kept, len(shape))):
        return False
    return prod(shape[1:kept]) > 1 < prod(shape[kept:]) <= SHORT


def fold_in_turn(parts: Sequence[T], both: Callable[[T, T], T]) -> T:
    """Return all parts joined by ``both``, one after the other."""
    total = parts[0]
    for part in parts[1:]:
        total = both(total, part)
    return total


def fold_short(parts: Sequence[T], add: Callable[[T, T], T]) -> T:
    """Return the sum of at most ``SHORT`` parts in the order in which NumPy sums adjacent ones."""
    lanes, full = list(parts[:FEW]), len(parts) // FEW * FEW
    if not full:
        return fold_in_turn(parts, add)
    for k in range(FEW, full):
        lanes[k % FEW] = add(lanes[k % FEW], parts[k])
    while len(lanes) > 1:
        lanes = [add(a, b) for a, b in zip(lanes[::2], lanes[1::2], strict=True)]
    return fold_in_turn([lanes[0], *parts[full:]], add)


def fold_short_axes(ufunc: np.ufunc, tile: np.ndarray, count: int, dtype: np.dtype) -> np.ndarray:
    """Return the fold of the last ``count`` axes by addition or multiplication."""
    parts = [
        np.asarray(tile[(..., *at)], dtype) for at in np.ndindex(*tile.shape[tile.ndim - count :])
    ]
    if ufunc is np.add:
        return np.asarray(fold_short(parts, np.add) + dtype.type(0))
    return np.asarray(fold_in_turn(parts, ufunc))
