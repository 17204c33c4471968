"""Blocked rows: movement and indexing that no stride describes."""

from __future__ import annotations

from bisect import bisect_right
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy import native
from dnumpy.config import threads_for
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
    _copy(np.asarray(pieces[0]).transpose(params.axes), out)


def _copy(x: np.ndarray, out: np.ndarray) -> None:
    """Copy an array, threads of the module in C sharing one that is large."""
    if not native.copied(x, out, threads_for(out.nbytes)):
        np.copyto(out, x)


PERMUTE = row(Blocked("permute", _columns, _permute, loop="cast", shares=native.built))


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


class WrapParams(NamedTuple):
    """Entry ``i`` of axis ``k`` of the result is entry ``i - lead[k]`` of the operand, modulo."""

    lead: tuple[int, ...]


def _wrapped_rows(shapes: Shapes, params: WrapParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return tuple(Piece(0, a, b) for a, b in wrapped_runs(shapes[0][0], params.lead[0], lo, hi))


def wrapped_runs(extent: int, lead: int, lo: int, hi: int) -> list[tuple[int, int]]:
    """Return the runs (first, stop) of an axis that entries ``lo:hi`` of the result are, in order.

    ``extent`` is that of the operand, and positive.
    """
    runs = []
    first, left = (lo - lead) % extent, hi - lo
    while left > 0:
        stop = min(extent, first + left)
        runs.append((first, stop))
        left -= stop - first
        first = 0
    return runs


def _wrap(pieces: Sequence[Any], params: WrapParams, _lo: int, _hi: int, out: Any) -> None:
    rows = 0
    for piece in pieces:
        block = out[rows : rows + len(piece)]
        rows += len(piece)
        if native.wrapped(np.asarray(piece), block, params.lead, threads_for(block.nbytes)):
            continue
        axes = zip(piece.shape[1:], params.lead[1:], out.shape[1:], strict=True)
        cuts = [_cuts(wrapped_runs(n, lead, 0, extent)) for n, lead, extent in axes]
        for slices in product(*cuts):
            target = (slice(None), *(to for to, _ in slices))
            _copy(
                np.asarray(piece[(slice(None), *(source for _, source in slices))]), block[target]
            )


def _cuts(runs: list[tuple[int, int]]) -> list[tuple[slice, slice]]:
    """Return where each run goes, and where it lies."""
    found, at = [], 0
    for first, stop in runs:
        found.append((slice(at, at + stop - first), slice(first, stop)))
        at += stop - first
    return found


def inside(padded: np.ndarray, lead: Sequence[int], shape: Sequence[int]) -> np.ndarray:
    """Return the array in its padded copy, where it begins ``lead`` entries along each axis."""
    return padded[tuple([slice(m, m + n) for m, n in zip(lead, shape, strict=True)])]


def fill_margins(padded: np.ndarray, lead: Sequence[int], shape: Sequence[int]) -> None:
    """Make every axis of a padded copy wrap around: each margin repeats the array's other end."""
    whole = [slice(m, m + n) for m, n in zip(lead, shape, strict=True)]
    for axis in reversed(range(padded.ndim)):
        m, n = lead[axis], shape[axis]
        after = padded.shape[axis] - n - m
        for target, source in (((0, m), (n, n + m)), ((m + n, m + n + after), (m, m + after))):
            to, at = (
                (*whole[:axis], slice(*run), *[slice(None)] * (padded.ndim - axis - 1))
                for run in (target, source)
            )
            padded[to] = padded[at]


WRAP = row(Blocked("wrap", _wrapped_rows, _wrap, loop="cast", shares=native.built))
