"""What is close to what is NumPy's to say, whoever says it."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from tests.native.told import told

pytestmark = pytest.mark.modeless("small arrays run at once")

SHAPES = [(), (1,), (5,), (3, 4), (0,), (4,), (1, 4)]
DTYPES = ["f8", "f4", "i8", "?", "c16", ">f8", "m8[s]"]
SPECIALS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 1e-320, 1.0, 1 + 1e-9, 1 + 1e-6)
TOLERANCES: list[dict[str, Any]] = [
    {},
    {"rtol": 0.0},
    {"atol": 0.5, "rtol": 1e-300},
    {"rtol": np.nan},
    {"atol": np.inf},
    {"atol": -1.0},
    {"equal_nan": True},
    {"rtol": 1},
    {"unknown": 1},
]


def assert_alike(a: Any, b: Any, *more: Any, **named: Any) -> None:
    first, second = (dnumpy.asarray(x) if isinstance(x, np.ndarray) else x for x in (a, b))
    for name in ("isclose", "allclose"):
        expected = told(lambda name=name: getattr(np, name)(a, b, *more, **named))
        found = told(lambda name=name: getattr(dnumpy, name)(first, second, *more, **named))
        assert found == expected


@given(
    shape=st.sampled_from(SHAPES),
    named=st.sampled_from(TOLERANCES),
    seed=st.integers(0, 10_000),
)
def test_floats(shape: tuple[int, ...], named: dict[str, Any], seed: int) -> None:
    draw = np.random.default_rng(seed)
    a, b = np.asarray(draw.choice(SPECIALS, shape)), np.asarray(draw.choice(SPECIALS, shape))
    assert_alike(a, b, **named)
    assert_alike(a, a.copy(), **named)
    assert_alike(a, float(draw.choice(SPECIALS)), **named)
    assert_alike(a, a + 1e-9, 1e-3, **named)
    assert_alike(a, b, 1e-3, 0.25)


def test_every_pair_of_shapes_and_dtypes() -> None:
    for (first, second), (kind, other) in product(product(SHAPES, SHAPES), product(DTYPES, DTYPES)):
        a = (np.arange(np.prod(first, dtype=int)) % 3).reshape(first).astype(kind)
        b = np.ones(second).astype(other)
        assert_alike(a, b)


def test_layouts() -> None:
    x = np.arange(12.0).reshape(3, 4)
    assert_alike(x.T, x.T + 1e-9)
    assert_alike(x[:, ::2], x[:, ::2])
    assert_alike(x.tolist(), x)
