"""Sums of products, by rows of their result or folded over rows of their operands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.ops.factor import block_rows
from dnumpy.ops.families import Blocked, Fold, Piece, added_pairwise, read_by_rows, row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.ops.families import Shapes


class SumParams(NamedTuple):
    """An Einstein sum; the rows of the operands that go by rows have one label."""

    by_rows: tuple[bool, ...]
    subscripts: str
    dtype: np.dtype


def _blocks(shapes: Shapes, params: SumParams) -> int:
    return block_rows((shapes[params.by_rows.index(True)],))


def _sum(pieces: Sequence[Any], params: SumParams) -> Any:
    several = len(pieces) > 1
    return np.einsum(params.subscripts, *pieces, optimize=several, dtype=params.dtype)


def _sum_into(pieces: Sequence[Any], params: SumParams, _lo: int, _hi: int, out: Any) -> None:
    np.copyto(out, _sum(pieces, params))


SUM_ROWS = row(Blocked("einstein.rows", read_by_rows, _sum_into, _blocks, "arith", flops=64.0))
SUM_FOLD = row(
    Fold(
        "einstein.fold",
        lambda pieces, params, _lo, _hi: _sum(pieces, params),
        added_pairwise,
        _blocks,
        "arith",
        flops=64.0,
        adds=True,
    )
)


class StripParams(NamedTuple):
    """Columns ``start:stop`` of the first operand meet as many rows of the second."""

    start: int
    stop: int


def _strips(shapes: Shapes, params: StripParams, lo: int, hi: int) -> tuple[Piece, ...]:
    strip = (params.start, params.stop)
    before = (Piece(2, lo, hi),) if len(shapes) > 2 else ()
    return (Piece(0, lo, hi, (strip,)), Piece(1, *strip), *before)


def _add_product(pieces: Sequence[Any], _params: StripParams, _lo: int, _hi: int, out: Any) -> None:
    left, right, *before = pieces
    np.matmul(left, right, out=out)
    for sums in before:
        out += sums


STRIP = row(
    Blocked(
        "einstein.strip",
        _strips,
        _add_product,
        lambda shapes, _params: block_rows(shapes),
        "arith",
        flops=64.0,
    )
)
