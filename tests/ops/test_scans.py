"""What blocks of running folds leave behind is small."""

from __future__ import annotations

import numpy as np
import pytest

from dnumpy.ops.scans import BEFORE, ScanParams


@pytest.mark.parametrize("ufunc", ["add", "maximum"])
def test_the_total_of_a_block_keeps_none_of_its_folds_in_memory(ufunc: str) -> None:
    block = np.random.default_rng(0).random((64, 3))
    params = ScanParams((True,), ufunc, block.dtype, 64)
    total = BEFORE.call((block,), params, 0, 64)
    np.testing.assert_array_equal(total, getattr(np, ufunc).accumulate(block, axis=0)[-1])
    assert total.base is None
