"""Counts per bin, and functions of one dimension whose rows follow an operand's rows.

Counts are folds: each block of rows is counted by NumPy with edges that are known before, so that
every element falls in the bin in which NumPy puts it, and the blocks' counts are added in order.
"""

from __future__ import annotations

from threading import local
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.native import weighed
from dnumpy.ops.families import Blocked, Fold, Piece, added_pairwise, row
from dnumpy.ops.grids import histogramdd

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.ops.families import Shapes


class BinParams(NamedTuple):
    """Parameters of a count of ``block`` rows at a time.

    ``bins`` is their number, None where an operand holds their edges; ``ends`` are the outermost
    edges of equal bins. ``weighted`` says that the operand after the values weighs them.
    """

    by_rows: tuple[bool, ...]
    bins: int | None
    ends: tuple[Any, ...]
    weighted: bool
    block: int


def _block(_shapes: Shapes, params: Any) -> int:
    return int(params.block)


_weights = local()  # of each thread: memory for weights that do not lie together
LENT = 1 << 20  # bytes of it at most


def _counted(pieces: Sequence[Any], params: BinParams, _lo: int, _hi: int) -> Any:
    values, weights = pieces[0], _together(pieces[1]) if params.weighted else None
    if weights is not None and type(values) is type(weights) is np.ndarray and params.bins:
        found = weighed.sums(values, weights, params.bins, len(values))
        if found is not None:
            return found[0]
    return np.bincount(values, weights, params.bins or 0)


def _together(weights: Any) -> Any:
    """Return weights as NumPy would copy them, into memory that is not taken anew each time."""
    if weights.flags.c_contiguous or weights.dtype != np.float64 or weights.nbytes > LENT:
        return weights
    lent = getattr(_weights, "memory", None)
    if lent is None or len(lent) < len(weights):
        lent = _weights.memory = np.empty(len(weights))
    lent = lent[: len(weights)]
    np.copyto(lent, weights)
    return lent


BINCOUNT = row(Fold("bincount", _counted, added_pairwise, rows=_block, loop="gather", adds=True))


def _histogram(pieces: Sequence[Any], params: BinParams, _lo: int, _hi: int) -> Any:
    weights = pieces[1] if params.weighted else None
    if params.bins is None:
        return np.histogram(pieces[0], pieces[-1], weights=weights)[0]
    return np.histogram(pieces[0], params.bins, range=params.ends, weights=weights)[0]


HISTOGRAM = row(
    Fold("histogram", _histogram, added_pairwise, rows=_block, loop="gather", flops=10.0, adds=True)
)


class GridParams(NamedTuple):
    """Parameters of a count on a grid: the first ``columns`` operands are the coordinates."""

    by_rows: tuple[bool, ...]
    columns: int
    weighted: bool
    block: int


def _on_grid(pieces: Sequence[Any], params: GridParams, _lo: int, _hi: int) -> Any:
    points = pieces[0] if params.columns == 1 else list(pieces[: params.columns])
    weights = pieces[params.columns] if params.weighted else None
    edges = pieces[params.columns + params.weighted :]
    return histogramdd(points, edges, weights=weights)[0]


ON_GRID = row(
    Fold("histogramdd", _on_grid, added_pairwise, rows=_block, loop="gather", flops=20.0, adds=True)
)


# ---------------------------------------------------------------- bits and sliding products


class BitParams(NamedTuple):
    """Eight rows of bits are one row of bytes, the first the highest (``big``) or the lowest."""

    bitorder: str


def _bits_of_bytes(shapes: Shapes, _params: BitParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return (Piece(0, lo * 8, min(hi * 8, shapes[0][0])),)


def _pack(pieces: Sequence[Any], params: BitParams, _lo: int, _hi: int, out: Any) -> None:
    out[...] = np.packbits(pieces[0], axis=0, bitorder=params.bitorder)  # type: ignore[call-overload]


PACKBITS = row(Blocked("packbits", _bits_of_bytes, _pack, loop="cast"))


def _bytes_of_bits(_shapes: Shapes, _params: BitParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return (Piece(0, lo // 8, -(-hi // 8)),)


def _unpack(pieces: Sequence[Any], params: BitParams, lo: int, hi: int, out: Any) -> None:
    bits = np.unpackbits(pieces[0], axis=0, bitorder=params.bitorder)  # type: ignore[call-overload]
    out[...] = bits[lo % 8 : lo % 8 + hi - lo]


UNPACKBITS = row(Blocked("unpackbits", _bytes_of_bits, _unpack, loop="cast"))


class SlideParams(NamedTuple):
    """Row 0 of the result is element ``skipped`` of the full correlation."""

    skipped: int


def _neighbours(shapes: Shapes, params: SlideParams, lo: int, hi: int) -> tuple[Piece, ...]:
    (count,), (width,) = shapes
    first = max(lo + params.skipped - width + 1, 0)
    return (Piece(0, first, min(hi + params.skipped, count)), Piece(1))


def _slide(pieces: Sequence[Any], params: SlideParams, lo: int, hi: int, out: Any) -> None:
    long, short = pieces
    first = max(lo + params.skipped - len(short) + 1, 0)
    full = np.correlate(long, short, "full")  # its elements at a cut are not among those asked for
    out[...] = full[lo + params.skipped - first :][: hi - lo]


CORRELATE = row(Blocked("correlate", _neighbours, _slide, loop="arith", flops=32.0))
