"""Counts of blocks are NumPy's, however the weights lie in memory."""

from __future__ import annotations

import numpy as np
import pytest

from dnumpy.ops import counting


@pytest.mark.parametrize("dtype", [float, np.float32, int, bool, ">f8"])
@pytest.mark.parametrize("size", [1, 5_000, 300_000])
@pytest.mark.parametrize("step", [1, 3, -2])
def test_weights_that_do_not_lie_together_count_as_they_do(
    dtype: type | str, size: int, step: int
) -> None:
    rng = np.random.default_rng(5)
    weights = (rng.random(3 * size) * 9).astype(dtype)[::step][:size]
    values = rng.integers(0, 7, len(weights))
    params = counting.BinParams((True, True), 9, (), True, size)
    for k in (1, 2):  # the second time in memory that was lent before
        found = counting._counted((values[::k], weights[::k]), params, 0, len(weights))
        expected = np.bincount(values[::k], weights[::k], 9)
        np.testing.assert_array_equal(found, expected, strict=True)
