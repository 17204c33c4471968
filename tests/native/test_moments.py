"""Sums, means, deviations and extrema of small arrays are NumPy's bit for bit; faults, too."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from tests.native.told import told

pytestmark = pytest.mark.modeless("small arrays run at once")

NAMES = ("sum", "mean", "var", "std", "max", "min")
DTYPES = ("f8", "f4", "f2", "i8", "u8", "i4", "i1", "u1", "?", "c16", ">f8", "M8[s]", "S3", "O")
SHAPES = [(), (0,), (1,), (2,), (7,), (8,), (130,), (700,), (5, 9), (3, 0), (4, 5, 6), (1, 1)]
LAYOUTS = {
    "whole": lambda x: x,
    "transposed": lambda x: x.T,
    "every other": lambda x: x[::2] if x.ndim else x,
    "reversed": lambda x: x[..., ::-1] if x.ndim else x,
    "unaligned": lambda x: np.frombuffer(b"0" + x.tobytes(), "u1")[1:].view(x.dtype),
}
CALLS: dict[str, Any] = {
    "plain": {},
    "axis": {"axis": None},
    "last axis": {"axis": -1},
    "first axis": {"axis": 0},
    "second axis": {"axis": 1},
    "no axis": {"axis": -7},
    "axes": {"axis": (0, 1)},
    "rows, kept": {"axis": -1, "keepdims": True},
    "columns, kept": {"axis": 0, "keepdims": True},
    "columns, one less": {"axis": 0, "ddof": 1},
    "kept": {"keepdims": True},
    "dtype": {"dtype": "f8"},
    "one less": {"ddof": 1},
    "many less": {"ddof": 10**6},
    "fewer than none": {"ddof": -1},
    "half": {"ddof": 0.5},
    "first": {"initial": 3},
    "unknown": {"unknown": 1},
    "none": {"dtype": None},
}
SPECIALS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, 5e-324, 1e-200, 3e38)


def numbers(seed: int, dtype: str, shape: tuple[int, ...], specials: float) -> Any:
    draw = np.random.default_rng(seed)
    x = np.asarray(draw.integers(-9, 9, shape) + draw.random(shape))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "f" in dtype:
            x = np.where(draw.random(shape) < specials, draw.choice(SPECIALS, shape), x)
        return x.astype(dtype)


@given(
    name=st.sampled_from(NAMES),
    dtype=st.sampled_from(DTYPES),
    shape=st.sampled_from(SHAPES),
    layout=st.sampled_from(sorted(LAYOUTS)),
    call=st.sampled_from(["plain", "plain", *CALLS]),
    specials=st.sampled_from([0.0, 0.0, 0.02, 0.5, 1.0]),
    seed=st.integers(0, 1000),
)
def test_folds_of_small_arrays(
    name: str,
    dtype: str,
    shape: tuple[int, ...],
    layout: str,
    call: str,
    specials: float,
    seed: int,
) -> None:
    if dtype == "O" and layout == "unaligned":
        layout = "whole"
    x = LAYOUTS[layout](numbers(seed, dtype, shape, specials))
    ours = dnumpy.asarray(x)
    named = CALLS[call]
    expected = told(lambda: getattr(np, name)(x, **named))
    assert told(lambda: getattr(dnumpy, name)(ours, **named)) == expected
    expected = told(lambda: getattr(x, name)(**named))
    assert told(lambda: getattr(ours, name)(**named)) == expected


@pytest.mark.parametrize("shape", [(2000, 3), (3, 2000), (20, 40, 50), (60, 70), (5000, 24)])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4"])
@pytest.mark.parametrize("special", [None, np.nan, -0.0, np.inf, -np.inf])
def test_extrema_along_short_and_long_axes(
    shape: tuple[int, ...], dtype: str, special: float | None
) -> None:
    x = numbers(1, dtype, shape, 0.0)
    if special is not None and dtype[0] == "f":
        x[-1, ..., -1] = special
        x[0, ..., 0] = 0.0
        x[x < 0] = special
    ours = dnumpy.array(x)
    for axis in range(x.ndim):
        for name in ("max", "min"):
            expected = told(partial(getattr(x, name), axis))
            assert told(partial(getattr(ours, name), axis)) == expected


@pytest.mark.parametrize("name", NAMES)
def test_arguments_by_position(name: str) -> None:
    x = np.arange(6.0)
    ours = dnumpy.array(x)
    for given_ in ((None,), (None, None), (None, None, None), (None, None, None, None), (0, None)):
        expected = told(lambda given_=given_: getattr(np, name)(x, *given_))
        assert told(lambda given_=given_: getattr(dnumpy, name)(ours, *given_)) == expected
        expected = told(lambda given_=given_: getattr(x, name)(*given_))
        assert told(lambda given_=given_: getattr(ours, name)(*given_)) == expected


@pytest.mark.parametrize("name", ["sum", "mean", "var", "std"])
def test_flags_of_a_fault_are_left_to_nobody(name: str) -> None:
    huge = dnumpy.array([1e308, 1e308, -1e308])
    with pytest.warns(RuntimeWarning, match="overflow"):
        getattr(huge, name)()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert getattr(dnumpy.ones(5), name)() == getattr(np.ones(5), name)()
