"""Matrix products made of products of fixed blocks: the same bits for any partition.

Either each block of rows of the result is one product, or the products of blocks along the axis
that is summed over meet pairwise. Which of the two, and the blocks, follow from the shapes alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.ops.families import Blocked, Fold, added_pairwise, row
from dnumpy.ops.families import read_by_rows as rows_and_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.ops.families import Shapes


class ProductParams(NamedTuple):
    """Parameters of a product of ``block`` rows at a time, as ``RowParams`` has them.

    With ``conjugate`` the first factors of a sum are conjugated.
    """

    by_rows: tuple[bool, ...]
    conjugate: bool
    block: int


def _block(_shapes: Shapes, params: ProductParams) -> int:
    return params.block


def _product(pieces: Sequence[Any], params: ProductParams, _lo: int, _hi: int) -> Any:
    left, right = map(np.ascontiguousarray, pieces)  # one way through the library, wherever
    if left.dtype == right.dtype == np.float16:  # summed in float32 and rounded once
        left, right = left.astype(np.float32), right.astype(np.float32)
    if left.ndim == right.ndim == 1:
        # the same loop, but that ``dot`` tells of no fault before NumPy 2.4
        return (np.vdot if params.conjugate else np.matmul)(left, right)
    return np.matmul(left.T, right)


# rows of both operands are summed over: left.T @ right
PRODUCT = row(
    Fold("product", _product, added_pairwise, rows=_block, loop="arith", flops=2.0, adds=True)
)


def _rows(pieces: Sequence[Any], _params: ProductParams, _lo: int, _hi: int, out: Any) -> None:
    left, right = map(np.ascontiguousarray, pieces)
    np.matmul(left, right, out=out)


PRODUCT_ROWS = row(
    Blocked("product.rows", rows_and_whole, _rows, rows=_block, loop="arith", flops=32.0)
)
