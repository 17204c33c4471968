"""What one call on a block of rows takes is never more than the block, nor than its bound."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.ops.families import RowParams
from dnumpy.ops.sorting import SORT_ROWS
from dnumpy.runtime.bind import Operand
from dnumpy.runtime.chunked import Source
from dnumpy.runtime.producers import STEP_BYTES, BlockedRows, FoldedRows
from dnumpy.runtime.streaming import step_bytes

F8 = np.dtype(float)


@given(st.integers(1, 10_000), st.integers(1, 500), st.integers(1, 10_000))
def test_a_call_takes_no_more_than_the_rows_of_its_node(rows: int, width: int, grid: int) -> None:
    shape = (rows, width)
    operand = Operand(Source(shape, F8))
    blocked = BlockedRows(SORT_ROWS, RowParams((True,)), shape, F8, (operand,), min(grid, rows))
    taken = step_bytes(blocked, rows)
    assert 0 < taken <= min(STEP_BYTES, rows * width * 8)


def test_of_other_calls_the_bound_is_taken() -> None:
    operand = Operand(Source((10, 2), F8))
    assert step_bytes(FoldedRows((2, 2), F8, operand, operand), 10) == STEP_BYTES
