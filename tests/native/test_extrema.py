"""The largest and the smallest of a large array are NumPy's, however many threads look."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy import native
from dnumpy.config import config

pytestmark = [
    pytest.mark.skipif(not native.built, reason="the module in C was not built"),
    pytest.mark.modeless("NumPy's arrays are given to it"),
]
SIZE = 1_100_000
ODD = (np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, -1.0, 3e38)


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "threads", 3)


def found_by(name: str, x: Any, **how: Any) -> Any:
    """Return what both of ours give, which are the same."""
    method, function = native.FASTER_OF_ARRAYS[name](x, **how), native.FASTER[name](x, **how)
    assert type(method) is type(function)
    assert np.asarray(method).tobytes() == np.asarray(function).tobytes()
    return method


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(("f8", "f4", "i8", "i4")),
    st.sampled_from(("max", "min")),
    st.integers(0, 70),
    st.lists(st.tuples(st.integers(0, SIZE - 100), st.sampled_from(ODD)), max_size=4),
    st.sampled_from((0.0, -3.0, 3.0)),
)
def test_an_extremum_is_numpys(dtype, name, fewer, odd, beyond):
    x = np.random.default_rng(fewer).random(2 * SIZE - fewer) + beyond
    x = (x * 1e6).astype(dtype)
    for at, value in odd if dtype[0] == "f" else [(at, 7) for at, _ in odd]:
        x[at] = value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = found_by(name, x)
    expected = getattr(x, name)()
    assert type(found) is type(expected)
    same = found.tobytes() == expected.tobytes()
    assert same or (np.isnan(found) and np.isnan(expected))


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("zeros", [(0.0, -0.0), (-0.0, 0.0)])
def test_of_zeros_of_either_sign_numpy_has_its_own(name, zeros):
    x = np.full(SIZE, -1.0 if name == "max" else 1.0)
    x[[300, 900_000]] = zeros
    assert found_by(name, x).tobytes() == getattr(x, name)().tobytes()


@pytest.mark.parametrize("dtype", ["?", "u1", "f2", "u8", "c16", "M8[s]", ">f8", "g"])
@pytest.mark.parametrize("name", ["max", "min"])
def test_others_are_numpys(dtype, name):
    x = (np.random.default_rng(1).random(SIZE) * 100).astype("i8").astype(dtype)
    found, expected = found_by(name, x), getattr(x, name)()
    assert (type(found), found.dtype) == (type(expected), expected.dtype)
    assert found == expected


@pytest.mark.parametrize("layout", ["columns", "every other", "backwards"])
def test_so_are_those_that_lie_otherwise(layout):
    x = np.random.default_rng(1).random((1100, 2000))
    seen = {"columns": x.T, "every other": x[::2], "backwards": x[::-1]}[layout]
    assert found_by("max", seen) == seen.max()
    assert found_by("max", seen, keepdims=True).shape == (1, 1)
