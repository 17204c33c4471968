"""Bounds of integers hold for every value, whatever made them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy as dnp
from dnumpy.config import config
from dnumpy.expr.bounds import Bounds, bounds

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def lazy() -> Iterator[None]:
    kept = config.mode, config.eager_below
    config.mode, config.eager_below = "lazy", 0
    yield
    config.mode, config.eager_below = kept


def bounds_of(x: Any) -> Bounds | None:
    return bounds(x._buf.expr)


STEPS = {
    "add": lambda np_, x, k: x + k,
    "subtract": lambda np_, x, k: k - x,
    "multiply": lambda np_, x, k: x * k,
    "remainder": lambda np_, x, k: x % (abs(k) + 1),
    "floor_divide": lambda np_, x, k: x // (k or 3),
    "minimum": lambda np_, x, k: np_.minimum(x, k),
    "maximum": lambda np_, x, k: np_.maximum(x, k),
    "clip": lambda np_, x, k: np_.clip(x, -abs(k), k),
    "where": lambda np_, x, k: np_.where(x > k, x, k),
    "cast": lambda np_, x, k: x.astype(np.int16 if k % 2 else np.int64),
    "bool": lambda np_, x, k: (x > k).astype(np.int64),
    "argmin": lambda np_, x, k: np_.stack([x, x % 7, x * k], axis=1).argmin(axis=1),
    "view": lambda np_, x, k: x[::-1],
}


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(-50, 50)), max_size=6),
    st.integers(0, 2**31),
)
def test_every_value_lies_within_its_bounds(steps: list[tuple[str, int]], seed: int) -> None:
    start = np.random.default_rng(seed).integers(-1000, 1000, 40)
    theirs, ours = start, dnp.array(start)
    for name, k in steps:
        theirs, ours = STEPS[name](np, theirs, k), STEPS[name](dnp, ours, k)
    found = bounds_of(ours)
    assert found is not None
    assert found.low <= theirs.min()
    assert theirs.max() <= found.high


def test_labels_of_the_nearest_are_known_to_count_from_none_to_the_last() -> None:
    labels = dnp.array(np.random.default_rng(0).random((50, 8))).argmin(axis=1)
    assert bounds_of(labels) == (0, 7)
    assert bounds_of(labels.astype(np.int32) * 8 + labels) == (0, 63)
    assert bounds_of((labels > 3).astype(int)) == (0, 1)


def test_floats_have_no_bounds() -> None:
    assert bounds_of(dnp.array(np.ones(50)) * 2) is None
