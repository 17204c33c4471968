"""Sums and means of whole numbers and booleans are NumPy's to the last bit, whoever adds them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.config import config

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")
DTYPES = ("i8", "u8", "i4", "?", "u4", "i2", "u1")
SIZE = 1_200_000
ROUNDS = 8


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "threads", 3)


def numbers(dtype: str, size: int, bits: int, seed: int) -> Any:
    """Return numbers of about so many bits, of either sign where there is one."""
    draw = np.random.default_rng(seed)
    if dtype == "?":
        return draw.random(size) < 0.3
    info = np.iinfo(dtype)
    bits = min(bits, info.bits - (info.min < 0))
    high = min(2**bits - 1, 2**63 - 1)
    low = -high - 1 if info.min < 0 else 0
    return draw.integers(low, high, size, endpoint=True).astype(dtype)


@pytest.mark.modeless("NumPy's arrays are given to it")
@settings(deadline=None, max_examples=80)
@given(
    st.sampled_from(DTYPES),
    st.sampled_from(("sum", "mean")),
    st.sampled_from((1, 7, 300, SIZE, SIZE + 13)),
    st.integers(1, 64),
    st.integers(0, 9),
    st.sampled_from(({}, {"axis": 0}, {"axis": -1, "keepdims": True})),
)
def test_a_fold_is_numpys(dtype, name, size, bits, seed, how):
    x = numbers(dtype, size, bits, seed)
    expected = getattr(x, name)(**how)
    for ours in (native.FASTER_OF_ARRAYS[name], native.FASTER[name]):
        found = ours(x, **how)
        assert type(found) is type(expected)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("bits", [1, 20, 40, 63])
def test_so_are_those_of_large_arrays_at_lines_that_look_at_each(dtype, bits):
    size = 3 * max(config.eager_below, 3_000)
    theirs = numbers(dtype, size, bits, 3).reshape(-1, 3)
    x = dnumpy.array(theirs)
    for _ in range(ROUNDS):
        assert x.sum() == theirs.sum()
        assert dnumpy.sum(x) == np.sum(theirs)
        np.testing.assert_array_equal(np.asarray(x.sum(0)), theirs.sum(0))
        np.testing.assert_array_equal(np.asarray(x.sum(axis=1)), theirs.sum(axis=1))
        np.testing.assert_array_equal(np.asarray(x.T.sum(1)), theirs.T.sum(1))
        assert x.sum().dtype == theirs.sum().dtype
        found, expected = x.mean(), theirs.mean()
        assert found == expected or abs(found - expected) <= 1e-12 * abs(expected)


def test_numbers_whose_sum_no_float_holds_have_numpys_mean():
    x = np.full(SIZE, 2**53 + 1)
    assert native.FASTER["mean"](x) == x.mean()
    x[0] = -(2**63)
    assert native.FASTER["mean"](x) == x.mean()


LAID = {
    "rows": lambda x: x,
    "columns": np.asfortranarray,
    "turned": lambda x: x.T,
    "every other": lambda x: x[::2],
}
SHAPES = [
    (7,), (3, 4), (40, 30), (1000, 3), (3, 1000), (30_000, 3), (70, 2500), (1200, 1000),
    (2000, 1025), (5, 6, 7), (64, 64, 3), (3, 500, 400), (2, 3, 4, 5), (1, 5000), (5000, 1),
]  # fmt: skip


@pytest.mark.modeless("NumPy's arrays are given to it")
@settings(deadline=None, max_examples=300)
@given(
    st.data(),
    st.sampled_from((*DTYPES, "i1", "u2")),
    st.sampled_from(("sum", "mean", "max", "min", "any", "all")),
    st.sampled_from(SHAPES),
    st.sampled_from(sorted(LAID)),
    st.integers(1, 64),
    st.integers(0, 9),
)
def test_so_are_those_along_axes(data, dtype, name, shape, layout, bits, seed):
    x = LAID[layout](numbers(dtype, int(np.prod(shape)), bits, seed).reshape(shape))
    some = [tuple(range(k, n)) for n in range(1, x.ndim + 1) for k in range(n)]
    axes = [None, *range(-x.ndim, x.ndim), *some, (-1,), (0, -1) if x.ndim > 1 else None, ()]
    how = {"axis": data.draw(st.sampled_from(axes)), "keepdims": data.draw(st.booleans())}
    expected = getattr(x, name)(**how)
    for ours in (native.FASTER_OF_ARRAYS[name], native.FASTER[name]):
        found = ours(x, **how)
        assert type(found) is type(expected)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("dtype", ["i4", "u1", "?", "i8"])
def test_a_reduction_by_the_ufunc_is_the_sum(dtype):
    theirs = numbers(dtype, 900_000, 6, 5).reshape(900, 1000)
    x = dnumpy.asarray(theirs.copy())
    for _ in range(ROUNDS):
        for axis in ({}, {"axis": 1}, {"axis": None}, {"axis": (0, 1)}):
            np.testing.assert_array_equal(np.asarray(x.mean(**axis)), theirs.mean(**axis))
            found = np.asarray(dnumpy.add.reduce(x, **axis))
            np.testing.assert_array_equal(found, np.add.reduce(theirs, **axis), strict=True)
