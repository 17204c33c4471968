"""Cross products are NumPy's bit for bit, and so are their faults."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import dnumpy
from tests.native.told import told

pytestmark = pytest.mark.modeless("small arrays run at once")

SHAPES = [(3,), (1, 3), (5, 3), (4, 5, 3), (5, 2), (2,), (0, 3), (3, 5), (1, 5, 3)]
DTYPES = ["f8", "f4", "i8", "u8", "i4", "c16", ">f8", "f2", "O"]
SPECIALS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e200, 1e-200, -1e308)


def vectors(shape: tuple[int, ...], dtype: str, *, special: bool = False) -> Any:
    draw = np.random.default_rng(len(shape))
    x = draw.integers(-5, 6, shape) + 0.25
    if special:
        x = draw.choice(SPECIALS, shape)
    with np.errstate(all="ignore"):
        return x.astype(dtype)


def assert_alike(a: Any, b: Any, **named: Any) -> None:
    ours = dnumpy.asarray(a), dnumpy.asarray(b)
    expected = told(lambda: np.cross(a, b, **named))
    assert told(lambda: dnumpy.cross(*ours, **named)) == expected


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_pair_of_shapes(dtype: str) -> None:
    for first, second in product(SHAPES, SHAPES):
        assert_alike(vectors(first, dtype), vectors(second, dtype))


def test_dtypes_meet() -> None:
    for first, second in product(DTYPES, DTYPES):
        assert_alike(vectors((5, 3), first), vectors((3,), second))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_faults_are_told_of(dtype: str) -> None:
    for first, second in product(SHAPES, SHAPES):
        assert_alike(vectors(first, dtype, special=True), vectors(second, dtype))


def test_layouts_and_axes() -> None:
    x = vectors((5, 3), "f8")
    assert_alike(x[::2], x[1::2])
    assert_alike(x.T, x.T, axis=0)
    assert_alike(x[:, ::-1], x)
    assert_alike(x, x.T, axisb=0)
    assert_alike(x, x, axis=7)
    expected = told(lambda: np.cross(x.tolist(), [1, 2, 3]))
    assert told(lambda: dnumpy.cross(x.tolist(), [1, 2, 3])) == expected
