"""Blocked rows: movement and indexing that no stride describes."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.ops.families import Blocked, Fold, Indexing, Piece, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.ops.families import Shapes


class PermuteParams(NamedTuple):
    """Axis ``k`` of the result is axis ``axes[k]`` of the operand."""

    axes: tuple[int, ...]


def _columns(shapes: Shapes, params: PermuteParams, lo: int, hi: int) -> tuple[Piece, ...]:
    """Rows of the result are a slab of every row of the operand: an all-to-all exchange."""
    shape, along = shapes[0], params.axes[0]
    if along == 0:
        return (Piece(0, lo, hi),)
    inner = (*((0, n) for n in shape[1:along]), (lo, hi))
    return (Piece(0, 0, shape[0], inner),)


def _permute(pieces: Sequence[Any], params: PermuteParams, _lo: int, _hi: int, out: Any) -> None:
    np.copyto(out, pieces[0].transpose(params.axes))


PERMUTE = row(Blocked("permute", _columns, _permute, loop="cast"))


class CompressParams(NamedTuple):
    """``starts[k]``: true elements of the mask before row ``k * block``; the last is the total."""

    block: int
    starts: tuple[int, ...]


def _chosen_from(shapes: Shapes, params: CompressParams, lo: int, hi: int) -> tuple[Piece, ...]:
    """Chosen rows ``lo:hi`` come from the blocks that their numbers fall in."""
    first = bisect_right(params.starts, lo) - 1
    stop = bisect_right(params.starts, hi - 1)
    rows = (first * params.block, min(stop * params.block, shapes[0][0]))
    return (Piece(0, *rows), Piece(1, *rows))


def _choose(pieces: Sequence[Any], params: CompressParams, lo: int, hi: int, out: Any) -> None:
    rows, mask = pieces
    skipped = lo - params.starts[bisect_right(params.starts, lo) - 1]
    np.copyto(out, rows[mask][skipped : skipped + hi - lo])


COMPRESS = row(Indexing("compress", _chosen_from, _choose, loop="gather"))


class CountParams(NamedTuple):
    """Parameters of a count per block of ``block`` rows."""

    by_rows: tuple[bool, ...]
    block: int


COUNTS = row(
    Fold(
        "counts",
        lambda pieces, _params, _lo, _hi: int(np.count_nonzero(pieces[0])),
        lambda partials, _params: np.array(partials, np.int64),
        rows=lambda _shapes, params: params.block,
        loop="compare",
    )
)
