"""Laws of what sorts are made of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.ops.sorting import stable_order

DTYPES = ["f8", "f4", "i8", "i4", "u8", "u4", "i2", "u1", "f2", "c16", ">f8"]


@pytest.mark.parametrize("dtype", DTYPES)
@given(st.integers(0, 300), st.integers(1, 400), st.integers(0, 99))
def test_equal_keys_stand_in_the_order_of_their_places(
    dtype: str, count: int, ways: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, ways, count).astype(dtype)
    if keys.dtype.kind in "fc":
        keys[rng.random(count) < 0.2] = np.nan
        keys[rng.random(count) < 0.2] = -0.0
    np.testing.assert_array_equal(stable_order(keys), np.argsort(keys, kind="stable"))
