"""Rows of an array beside one row, or an element for each, are NumPy's bit for bit; faults, too."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from tests.native.told import told

pytestmark = [
    pytest.mark.skipif(not native.built, reason="the module in C was not built"),
    pytest.mark.modeless("small arrays run at once"),
]
UFUNCS = (
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "maximum",
    "fmin", "less", "equal", "logical_and", "bitwise_xor", "left_shift", "arctan2", "hypot",
    "copysign", "nextafter", "logaddexp", "ldexp",
)  # fmt: skip
DTYPES = ("f8", "f4", "i8", "i4", "u1", "i2", "?", "c16", "c8", "f2")
ROWS, COLUMNS = (1, 3, 4, 5, 33, 130, 700), (1, 2, 3, 7, 15, 16, 17, 33, 63, 64, 65, 100)
SPECIALS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308, -1e308)
BESIDE = ("row", "each", "both", "number", "turned", "every other", "three axes")


def numbers(seed: int, dtype: str, shape: tuple[int, ...], specials: float) -> Any:
    draw = np.random.default_rng(seed)
    x = draw.integers(-4, 5, shape) * draw.choice([0.25, 1.0, 1.5], shape)
    with np.errstate(all="ignore"):
        if dtype in "f8f4f2gc16c8" and specials:
            x = np.where(draw.random(shape) < specials, draw.choice(SPECIALS, shape), x)
        return np.asarray(np.abs(x) if dtype == "u1" else x).astype(dtype)


def pair(beside: str, dtype: str, rows: int, columns: int, specials: float, seed: int) -> Any:
    of = partial(numbers, dtype=dtype, specials=specials)
    x = of(seed, shape=(rows, columns))
    if beside == "row":
        return x, of(seed + 1, shape=(columns,))
    if beside == "each":
        return x, of(seed + 1, shape=(rows, 1))
    if beside == "both":
        return of(seed, shape=(rows, 1)), of(seed + 1, shape=(columns,))
    if beside == "number":
        return x, of(seed + 1, shape=(1, 1))
    if beside == "turned":
        return of(seed, shape=(columns, rows)).T, of(seed + 1, shape=(columns,))
    if beside == "every other":
        return x, of(seed + 1, shape=(2 * columns,))[::2]
    return of(seed, shape=(rows, 3, columns)), of(seed + 1, shape=(3, columns))


@settings(deadline=None, max_examples=600)
@given(
    name=st.sampled_from(UFUNCS),
    dtype=st.sampled_from(DTYPES),
    beside=st.sampled_from(BESIDE),
    rows=st.sampled_from(ROWS),
    columns=st.sampled_from(COLUMNS),
    specials=st.sampled_from([0.0, 0.0, 0.05]),
    turned=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_rows_beside_others(name, dtype, beside, rows, columns, specials, turned, seed):
    given = pair(beside, dtype, rows, columns, specials, seed)
    given = given[::-1] if turned else given
    ours = [dnumpy.asarray(x.copy("K")) for x in given]
    theirs = getattr(np, name)
    for _ in range(2):  # the first time a loop is tried
        assert told(partial(getattr(dnumpy, name), *ours)) == told(partial(theirs, *given))


@settings(deadline=None, max_examples=200)
@given(
    name=st.sampled_from(["__iadd__", "__isub__", "__imul__", "__itruediv__", "__ixor__"]),
    dtype=st.sampled_from(DTYPES),
    beside=st.sampled_from(["row", "each", "number", "its own row", "its own column"]),
    rows=st.sampled_from(ROWS),
    columns=st.sampled_from(COLUMNS),
    seed=st.integers(0, 1000),
)
def test_rows_written_to(name, dtype, beside, rows, columns, seed):
    kind = "number" if "own" in beside else beside
    x, y = pair(kind, dtype, rows, columns, 0.02, seed)
    a, b = dnumpy.asarray(x.copy()), dnumpy.asarray(y.copy())
    if beside == "its own row":
        y, b = x[rows // 2], a[rows // 2]
    elif beside == "its own column":
        y, b = x[:, columns // 2, None], a[:, columns // 2, None]
    expected = told(lambda: getattr(x, name)(y))
    assert told(lambda: getattr(a, name)(b)) == expected
    assert np.asarray(a).tobytes() == x.tobytes()


@pytest.mark.parametrize("name", ["power", "float_power", "maximum", "minimum", "fmax", "fmin"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("beside", ["row", "each", "three axes", "both"])
def test_what_depends_on_what_it_meets_is_numpys(name, dtype, beside):
    """Zeros of either sign, and an exponent that is one number for many: a root, to NumPy."""
    for seed, (rows, columns) in enumerate([(33, 65), (700, 7), (130, 17), (700, 16)] * 8):
        given = pair(beside, dtype, rows, columns, 0.3 if seed % 2 else 0.0, seed)
        given = given[::-1] if seed % 3 == 0 else given
        ours = [dnumpy.asarray(x.copy("K")) for x in given]
        expected = told(partial(getattr(np, name), *given))
        assert told(partial(getattr(dnumpy, name), *ours)) == expected
