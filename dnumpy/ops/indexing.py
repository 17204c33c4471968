"""Gathers and scatters by index arrays and masks.

Index arrays are in bounds and not negative: whoever records these rows has seen to that. An index
counts along the leading axes of its table, ``lead`` of them taken together in C order.
"""

from __future__ import annotations

from bisect import bisect_right
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.ops.families import Fold, Indexing, Piece, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.ops.families import Shapes


class TakeParams(NamedTuple):
    """``lead`` axes of the table are indexed together."""

    lead: int


class PutParams(NamedTuple):
    """``full``: the values have an element for each element of the region, not only of a row.

    With ``ufunc``, elements are not replaced but changed by it, once for each time that they are
    named; one of a single operand reads no values.
    """

    lead: int
    full: bool
    ufunc: str = ""


def flat_rows(table: np.ndarray, lead: int) -> np.ndarray:
    """Return the table with its leading axes as one; a view where that is possible."""
    return table if lead == 1 else table.reshape(prod(table.shape[:lead]), *table.shape[lead:])


def take_rows(table: np.ndarray, index: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """Return ``table[index]``, into ``out`` where it is given; the index is in bounds."""
    if out is None:
        picked: np.ndarray = table[index]
        return picked
    if table.flags.c_contiguous and table.shape[0]:
        return np.take(table, index, 0, out, "clip")
    out[...] = table[index]
    return out


def _by_index(_shapes: Shapes, _params: TakeParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return Piece(0), Piece(1, lo, hi)


def _take(pieces: Sequence[Any], params: TakeParams, _lo: int, _hi: int, out: Any) -> None:
    table, index = pieces
    take_rows(flat_rows(table, params.lead), index, out)


TAKE = row(Indexing("take", _by_index, _take, loop="gather"))


def _within_rows(_shapes: Shapes, _params: TakeParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return Piece(0, lo, hi), Piece(1)


def _columns_of(table: np.ndarray, lead: int) -> np.ndarray:
    shape = table.shape
    return table.reshape(shape[0], prod(shape[1 : lead + 1]), *shape[lead + 1 :])


def _take_inside(pieces: Sequence[Any], params: TakeParams, _lo: int, _hi: int, out: Any) -> None:
    table, index = pieces
    np.take(_columns_of(table, params.lead), index, 1, out, "clip")


# the axes after the first are indexed: row i of the result comes from row i of the table
TAKE_INSIDE = row(Indexing("take_inside", _within_rows, _take_inside, loop="gather"))


def _put_reads(_shapes: Shapes, _params: PutParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return Piece(0, lo, hi), Piece(1), Piece(2)


def put_rows(out: np.ndarray, params: PutParams, index: np.ndarray, values: Any) -> None:
    """Perform ``out[index] = values``, or a ufunc's ``at``, in the order of the index.

    Of values that replace elements, the last of equal indices wins.
    """
    rows = flat_rows(out, params.lead)
    if not params.ufunc:
        rows[index] = values
        return
    ufunc = getattr(np, params.ufunc)
    ufunc.at(rows, index, *([values] if ufunc.nin > 1 else []))


def _put(pieces: Sequence[Any], params: PutParams, lo: int, hi: int, out: Any) -> None:
    base, index, values = pieces
    np.copyto(out, base)
    inner = prod(base.shape[1 : params.lead])
    flat = index.reshape(-1)
    if params.full:
        values = values.reshape(flat.size, *base.shape[params.lead :])
    if lo or (flat.size and flat.max() >= hi * inner):  # all of it else
        flat = flat - lo * inner
        mine = (flat >= 0) & (flat < (hi - lo) * inner)
        flat, values = flat[mine], values[mine] if params.full else values
    put_rows(out, params, flat, values)


PUT = row(Indexing("put", _put_reads, _put, loop="scatter"))
AT = row(Indexing("at", _put_reads, _put, loop="scatter"))  # put, by a ufunc


def _put_inside_reads(shapes: Shapes, params: PutParams, lo: int, hi: int) -> tuple[Piece, ...]:
    del shapes
    return Piece(0, lo, hi), Piece(1), Piece(2, lo, hi) if params.full else Piece(2)


def _put_inside(pieces: Sequence[Any], params: PutParams, _lo: int, _hi: int, out: Any) -> None:
    base, index, values = pieces
    np.copyto(out, base)
    flat = index.reshape(-1)
    if params.full:
        values = values.reshape(out.shape[0], flat.size, *out.shape[params.lead + 1 :])
    _columns_of(out, params.lead)[:, flat] = values


PUT_INSIDE = row(Indexing("put_inside", _put_inside_reads, _put_inside, loop="scatter"))


class MaskParams(NamedTuple):
    """``starts[k]``: true elements of the mask before row ``k * block``; the last is the total."""

    block: int
    starts: tuple[int, ...]
    full: bool = True


def _mask_block(shapes: Shapes, params: MaskParams, lo: int, hi: int) -> tuple[Piece, ...]:
    del shapes
    if not params.full:
        return Piece(0, lo, hi), Piece(1, lo, hi), Piece(2)
    k = lo // params.block
    first, stop = params.starts[k : k + 2]
    if first == stop:  # a row that nobody reads, since no piece is empty
        first, stop = max(first - 1, 0), max(first, 1)
    return Piece(0, lo, hi), Piece(1, lo, hi), Piece(2, first, stop)


def _put_mask(pieces: Sequence[Any], params: MaskParams, lo: int, _hi: int, out: Any) -> None:
    base, mask, values = pieces
    np.copyto(out, base)
    k = lo // params.block
    if params.starts[k] < params.starts[k + 1]:
        out[mask] = values


# the values, in C order, where the mask over the leading axes is true
PUT_MASK = row(
    Indexing("put_mask", _mask_block, _put_mask, rows=lambda _shapes, p: p.block, loop="scatter")
)


def _where_blocks(shapes: Shapes, params: MaskParams, lo: int, hi: int) -> tuple[Piece, ...]:
    first = bisect_right(params.starts, lo) - 1
    stop = bisect_right(params.starts, hi - 1)
    return (Piece(0, first * params.block, min(stop * params.block, shapes[0][0])),)


def _coordinates(pieces: Sequence[Any], params: MaskParams, lo: int, hi: int, out: Any) -> None:
    k = bisect_right(params.starts, lo) - 1
    skipped = lo - params.starts[k]
    for axis, places in enumerate(np.nonzero(pieces[0])):
        first = k * params.block if axis == 0 else 0
        np.add(places[skipped : skipped + hi - lo], first, out=out[:, axis])


# row i: the index, an integer per axis, of the i-th element that is not zero
NONZERO = row(Indexing("nonzero", _where_blocks, _coordinates, loop="compare"))


class BoundsParams(NamedTuple):
    """Parameters of a look at an index into an axis of ``extent`` elements."""

    by_rows: tuple[bool, ...]
    extent: int


class Bounds(NamedTuple):
    """The first element out of bounds, if one is, and whether elements count from the end."""

    offending: int | None
    negative: bool


def bounds_of(index: np.ndarray, extent: int) -> Bounds:
    """Return how an index array fits an axis."""
    if not index.size:
        return Bounds(None, negative=False)
    low, high = index.min(), index.max()
    if -extent <= low and high < extent:
        return Bounds(None, negative=bool(low < 0))
    flat = index.reshape(-1)
    return Bounds(int(flat[np.argmax((flat < -extent) | (flat >= extent))]), negative=True)


def _merged_bounds(partials: Sequence[Bounds], _params: BoundsParams) -> Bounds:
    wrong = [p.offending for p in partials if p.offending is not None]
    return Bounds(wrong[0] if wrong else None, any(p.negative for p in partials))


BOUNDS = row(
    Fold(
        "bounds",
        lambda pieces, params, _lo, _hi: bounds_of(pieces[0], params.extent),
        _merged_bounds,
        loop="compare",
    )
)
