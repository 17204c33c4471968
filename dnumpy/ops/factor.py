"""Steps of the factorisations of one matrix whose rows lie on nodes.

Every step is a :class:`~dnumpy.ops.families.Blocked` row or a fold: panels (a few columns, or a few
rows) are whole where they are read, the matrix never is.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.config import config
from dnumpy.ops.families import Blocked, Fold, Piece, added_pairwise, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.ops.families import Shapes

BLOCK_BYTES = 1 << 21  # of the rows that one library call takes
LEAST_ROWS = 64


def block_rows(shapes: Shapes, _params: Any = None) -> int:
    """Return how many rows of the first operand one call takes: fixed, whatever the partition."""
    count, *inner = shapes[0]
    width = max(int(np.prod(inner)), 1) * 8
    rows = max(LEAST_ROWS, BLOCK_BYTES // width)
    return max(1, min(count, rows, config.tile_rows_max))


class TakeParams(NamedTuple):
    """The rows to take."""

    rows: tuple[int, ...]


def _runs(rows: Sequence[int]) -> list[tuple[int, int]]:
    """Return ``rows`` as runs start:stop of consecutive ones."""
    runs: list[tuple[int, int]] = []
    for k in rows:
        if runs and runs[-1][1] == k:
            runs[-1] = (runs[-1][0], k + 1)
        else:
            runs.append((k, k + 1))
    return runs


def _rows_read(_shapes: Shapes, params: TakeParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return tuple(Piece(0, *run) for run in _runs(params.rows[lo:hi]))


def _joined(pieces: Sequence[Any], _params: Any, _lo: int, _hi: int, out: Any) -> None:
    np.concatenate(pieces, out=out)


TAKE_ROWS = row(Blocked("factor.take_rows", _rows_read, _joined, loop="cast"))


class ColumnParams(NamedTuple):
    """The columns to take."""

    start: int
    stop: int


def _columns_read(_shapes: Shapes, params: ColumnParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return (Piece(0, lo, hi, ((params.start, params.stop),)),)


def _copied(pieces: Sequence[Any], _params: Any, _lo: int, _hi: int, out: Any) -> None:
    np.copyto(out, pieces[0])


TAKE_COLUMNS = row(Blocked("factor.take_columns", _columns_read, _copied, loop="cast"))


class StepParams(NamedTuple):
    """Columns ``start:stop`` are the panel; ``placed`` are the rows replaced, ascending.

    The first of them are rows ``start:stop``.
    """

    start: int
    stop: int
    placed: tuple[int, ...] = ()


def _matrix_by_rows(_shapes: Shapes, _params: StepParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return (Piece(0, lo, hi), Piece(1, lo, hi), Piece(2))


def _eliminate(pieces: Sequence[Any], params: StepParams, lo: int, hi: int, out: Any) -> None:
    """Replace rows and the panel's columns, and subtract panel times the pivots' rows below."""
    matrix, panel, rows = pieces
    start, stop, placed = params
    np.copyto(out, matrix)
    for k in range(bisect_left(placed, lo), bisect_left(placed, hi)):
        out[placed[k] - lo] = rows[k]
    first, below = max(start - lo, 0), max(stop - lo, 0)
    out[first:, start:stop] = panel[first:]
    if below < hi - lo and stop < out.shape[1]:
        out[below:, stop:] -= panel[below:] @ rows[: stop - start, stop:]


ELIMINATE = row(
    Blocked("factor.eliminate", _matrix_by_rows, _eliminate, block_rows, "arith", flops=64.0)
)


def _panel_whole(_shapes: Shapes, _params: StepParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return (Piece(0, lo, hi), Piece(1))


def _downdate(pieces: Sequence[Any], params: StepParams, lo: int, hi: int, out: Any) -> None:
    """Replace the panel's columns, and subtract panel times its own conjugate transpose.

    Only what is left of and on the diagonal is kept right; the panel begins with row ``start``.
    """
    matrix, panel = pieces
    start, stop, _ = params
    np.copyto(out, matrix)
    first, below = max(start - lo, 0), max(stop - lo, 0)
    if first < hi - lo:
        out[first:, start:stop] = panel[lo + first - start : hi - start]
    if below < hi - lo:
        own = panel[lo + below - start : hi - start]
        out[below:, stop:hi] -= own @ panel[stop - start : hi - start].conj().T


DOWNDATE = row(Blocked("factor.downdate", _panel_whole, _downdate, block_rows, "arith", flops=32.0))


def _columns_and_rows(_shapes: Shapes, params: StepParams, lo: int, hi: int) -> tuple[Piece, ...]:
    columns = ((params.start, params.stop),)
    return (Piece(1, lo, hi, columns), Piece(0, lo, hi), Piece(2))


def _substitute(pieces: Sequence[Any], params: StepParams, lo: int, hi: int, out: Any) -> None:
    """Put in the unknowns ``start:stop``, and take their part out of the right sides above."""
    columns, rhs, solved = pieces
    start, stop, _ = params
    np.copyto(out, rhs)
    above = min(max(start - lo, 0), hi - lo)
    if above:
        out[:above] -= columns[:above] @ solved
    first, last = max(start, lo), min(stop, hi)
    if first < last:
        out[first - lo : last - lo] = solved[first - start : last - start]


SUBSTITUTE = row(
    Blocked("factor.substitute", _columns_and_rows, _substitute, block_rows, "arith", flops=64.0)
)


class DivideParams(NamedTuple):
    """Columns ``start:stop`` are divided now; what they count for begins with column ``first``."""

    start: int
    stop: int
    first: int


def _rows_and_panels(_shapes: Shapes, _params: DivideParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return (Piece(0, lo, hi), Piece(1), Piece(2))


def _divide(pieces: Sequence[Any], params: DivideParams, _lo: int, _hi: int, out: Any) -> None:
    """Multiply the columns by the inverse of their corner, and take them out of the others."""
    matrix, inverse, rest = pieces
    start, stop, first = params
    np.copyto(out, matrix)
    np.matmul(matrix[:, start:stop], inverse, out=out[:, start:stop])
    if rest.shape[1]:
        out[:, first : first + rest.shape[1]] -= out[:, start:stop] @ rest


DIVIDE = row(Blocked("factor.divide", _rows_and_panels, _divide, block_rows, "arith", flops=64.0))


class TallParams(NamedTuple):
    """Blocks of ``block`` rows are factored apart."""

    by_rows: tuple[bool, ...]
    block: int


def _factor_r(pieces: Sequence[Any], _params: TallParams, _lo: int, _hi: int) -> Any:
    return np.linalg.qr(pieces[0], mode="r")


def _stacked(partials: Sequence[Any], _params: TallParams) -> Any:
    """Return R, and by block what its Q is to be multiplied with, as one array."""
    q, r = np.linalg.qr(np.concatenate(partials))
    apart = np.zeros((len(partials), r.shape[1], r.shape[0]), r.dtype)
    start = 0
    for k, partial in enumerate(partials):
        stop = start + len(partial)
        apart[k, : len(partial)] = q[start:stop]
        start = stop
    return r, apart


TALL_R = row(
    Fold("factor.tall_r", _factor_r, _stacked, lambda _s, params: params.block, flops=64.0)
)


def _tall_pieces(_shapes: Shapes, params: TallParams, lo: int, hi: int) -> tuple[Piece, ...]:
    return (Piece(0, lo, hi), Piece(1, lo // params.block, -(-hi // params.block)))


def _factor_q(pieces: Sequence[Any], _params: TallParams, _lo: int, _hi: int, out: Any) -> None:
    block, factors = pieces
    q = np.linalg.qr(block)[0]
    np.matmul(q, factors[0][: q.shape[1]], out=out)


TALL_Q = row(
    Blocked("factor.tall_q", _tall_pieces, _factor_q, lambda _s, params: params.block, flops=64.0)
)


class CrossParams(NamedTuple):
    """Both operands go by rows."""

    by_rows: tuple[bool, ...] = (True, True)


CROSS = row(
    Fold(
        "factor.cross",
        lambda pieces, _params, _lo, _hi: pieces[0].conj().T @ pieces[1],
        added_pairwise,
        block_rows,
        flops=64.0,
        adds=True,
    )
)
