"""Weights by whole numbers are added block by block, with NumPy's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.native import weighed
from dnumpy.ops.families import added_pairwise

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")

WHOLE = ("i1", "i2", "i4", "i8", "u1", "u2", "u4")


def drawn(count: int, dtype: str, kinds: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    return draw.integers(0, kinds, count).astype(dtype), draw.standard_normal(count) * 1e3


@given(
    count=st.integers(weighed.LEAST, 5_000),
    dtype=st.sampled_from(WHOLE),
    kinds=st.integers(1, 120),
    more=st.integers(0, 9),
    block=st.integers(1, 6_000),
    threads=st.integers(1, 3),
    seed=st.integers(0, 99),
)
def test_each_block_is_numpys(
    count: int, dtype: str, kinds: int, more: int, block: int, threads: int, seed: int
) -> None:
    values, weights = drawn(count, dtype, kinds, seed)
    size = int(values.max()) + 1 + more
    found = weighed.sums(values, weights, size, block, threads)
    assert found is not None
    starts = range(0, count, block)
    expected = [np.bincount(values[k:][:block], weights[k:][:block], size) for k in starts]
    assert found.tobytes() == np.array(expected).tobytes()


@pytest.mark.parametrize("dtype", WHOLE)
@pytest.mark.parametrize("at", [0, 1_500, 2_999])
def test_a_number_without_a_sum_is_nobodys(dtype: str, at: int) -> None:
    values, weights = drawn(3_000, dtype, 50, 0)
    for outside in (50, *([-1] if dtype[0] == "i" else [])):
        wrong = values.copy()
        wrong[at] = outside
        assert weighed.sums(wrong, weights, 50, 1_000, 2) is None


OTHERS: dict[str, tuple[Any, Any]] = {
    "few": (np.zeros(10, int), np.ones(10)),
    "long ones without a sign": (np.zeros(3_000, "u8"), np.ones(3_000)),
    "floats": (np.zeros(3_000), np.ones(3_000)),
    "of the other byte order": (np.zeros(3_000, ">i4"), np.ones(3_000)),
    "weights of another type": (np.zeros(3_000, int), np.ones(3_000, "f4")),
    "apart": (np.zeros(6_000, int)[::2], np.ones(3_000)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_numpys_is_left_to_it(name: str) -> None:
    values, weights = OTHERS[name]
    assert weighed.sums(values, weights, 5, 1_000) is None


@pytest.mark.parametrize("count", [300_000, 500_000, 1_200_000])
@pytest.mark.parametrize("dtype", ["i8", "u1"])
def test_a_count_with_weights_has_the_same_bits_whether_it_waited(count: int, dtype: str) -> None:
    values, weights = drawn(count, dtype, 100, 1)
    values[-1] = 101  # the largest is not among the first
    here = np.asarray(dnumpy.bincount(dnumpy.asarray(values), dnumpy.asarray(weights)))
    pending = np.asarray(dnumpy.bincount(dnumpy.asarray(values), dnumpy.asarray(weights) * 1.0))
    assert here.tobytes() == pending.tobytes()
    np.testing.assert_allclose(here, np.bincount(values, weights), rtol=1e-9, atol=1e-6)
    negative = values.astype("i8")
    negative[7] = -1
    with pytest.raises(ValueError, match="negative"):
        dnumpy.bincount(dnumpy.asarray(negative), dnumpy.asarray(weights))


@pytest.mark.skipif(dnumpy.config.mode != "default", reason="other modes cut other blocks")
def test_sums_of_blocks_meet_up_the_tree() -> None:
    values, weights = drawn(1_200_000, "i8", 100, 2)
    rows = weighed.sums(values, weights, 100, 75_000, 2)
    assert rows is not None
    found = np.asarray(dnumpy.bincount(dnumpy.asarray(values), dnumpy.asarray(weights)))
    assert found.tobytes() == added_pairwise(list(rows), None).tobytes()
