"""Which numbers are among others is what NumPy says, whichever way they are looked up."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.native.among import among
from tests.native.told import told

DTYPES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
SPECIALS = (np.nan, np.inf, -np.inf, 0.0, -0.0)
SHAPES = [(1,), (3000,), (40, 50), (200_000,), (0,), (3, 0)]
MEMBERS = [(1,), (3,), (12,), (13,), (40,), (0,), (500,), (3000,), (20, 30)]


def numbers(dtype: str, shape: tuple[int, ...], spread: str, seed: int) -> Any:
    """Return numbers that lie close, far apart, or anywhere."""
    draw = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if dtype == "?":
        return draw.random(shape) < 0.5
    if kind.kind == "f":
        x = draw.integers(-30, 30, shape) * draw.choice([1.0, 0.5])
        return np.where(draw.random(shape) < 0.1, draw.choice(SPECIALS, shape), x).astype(kind)
    info = np.iinfo(kind)
    if spread == "anywhere":
        return draw.integers(info.min, info.max, shape, dtype=kind, endpoint=True)
    high = 100 if spread == "close" else 5_000_000
    return np.clip(draw.integers(-high, high, shape), info.min, info.max).astype(kind)


@pytest.mark.skipif(not native.built, reason="the module in C was not built")
@pytest.mark.modeless("NumPy's arrays are given to it")
@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(DTYPES),
    st.sampled_from(DTYPES),
    st.sampled_from(SHAPES),
    st.sampled_from(MEMBERS),
    st.sampled_from(("close", "far", "anywhere")),
    st.booleans(),
    st.sampled_from((1, 3)),
    st.integers(0, 99),
)
def test_numbers_are_found_as_numpy_finds_them(
    dtype, other, shape, members, spread, invert, threads, seed
):
    x, y = numbers(dtype, shape, spread, seed), numbers(other, members, spread, seed + 1)
    found = among(x, y, invert=invert, threads=threads)
    if found is not None:
        assert found.dtype == bool
        np.testing.assert_array_equal(found, np.isin(x, y, invert=invert), strict=True)


@pytest.mark.parametrize("dtype", ["i4", "f8", "u1"])
@pytest.mark.parametrize("shape", [(2000,), (600, 700)])
@pytest.mark.parametrize("members", [3, 70, 5000])
@pytest.mark.parametrize("as_list", [False, True])
def test_isin_is_numpys(dtype, shape, members, as_list):
    x, y = numbers(dtype, shape, "close", 1), numbers(dtype, (members,), "far", 2)
    theirs = y.tolist() if as_list else y
    ours = theirs if as_list else dnumpy.asarray(y.copy())
    for options in ({}, {"invert": True}, {"kind": "sort"}, {"assume_unique": False}):
        expected = np.isin(x, theirs, **options)
        found = dnumpy.isin(dnumpy.asarray(x.copy()), ours, **options)
        assert type(found) is dnumpy.ndarray
        np.testing.assert_array_equal(np.asarray(found), expected, strict=True)
        later = dnumpy.isin(dnumpy.asarray(x.copy()) * 1, ours, **options)
        np.testing.assert_array_equal(np.asarray(later), np.isin(x * 1, theirs, **options))


@pytest.mark.parametrize("kind", ["other", "table"])
def test_what_numpy_refuses_it_refuses(kind):
    x, y = np.linspace(0, 1, 3000), np.linspace(0, 1, 7)
    theirs = told(partial(np.isin, x, y, kind=kind))
    assert theirs[0] is ValueError
    assert told(partial(dnumpy.isin, dnumpy.asarray(x), dnumpy.asarray(y), kind=kind)) == theirs
