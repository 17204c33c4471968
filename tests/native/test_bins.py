"""Histograms of small arrays are NumPy's, whoever counts them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from dnumpy.kernels import counts

pytestmark = pytest.mark.modeless("small arrays run at once")

NUMBERS = {
    "normal": lambda draw, n: draw.normal(size=n),
    "on the edges": lambda draw, n: draw.integers(0, 8, n) / 8,
    "tenths": lambda draw, n: draw.integers(0, 11, n) * 0.1,
    "one": lambda _draw, n: np.full(n, 0.3),
    "tiny": lambda draw, n: draw.random(n) * 5e-322,
    "huge": lambda draw, n: (draw.random(n) - 0.5) * 3e308,
    "far": lambda draw, n: 1e16 + draw.integers(0, 9, n),
    "not a number": lambda draw, n: np.where(draw.random(n) < 0.1, np.nan, draw.random(n)),
    "infinite": lambda draw, n: np.where(draw.random(n) < 0.1, np.inf, draw.random(n)),
    "zeros": lambda draw, n: np.where(draw.random(n) < 0.5, -0.0, 0.0),
    "few": lambda draw, n: draw.normal(size=n).astype("f4"),
    "whole": lambda draw, n: draw.integers(-5, 5, n),
}
BINS = (1, 2, 3, 7, 10, 50, 1001, 0, -1, "auto", "sqrt", [0, 0.5, 1], 2.5, True, np.int64(5), None)
RANGES = (None, (0, 1), (0.25, 0.75), (-1.0, 1e-300), (1, 0), (0, 0), (0, np.inf), "x", (0, 1e308))


def told(function: Any, *args: Any) -> Any:
    try:
        return [np.asarray(part) for part in function(*args)]
    except Exception as error:  # noqa: BLE001 - whatever NumPy raises
        return type(error), str(error)


@given(
    st.integers(0, 99), st.sampled_from(sorted(NUMBERS)), st.sampled_from((0, 1, 511, 512, 3000)),
    st.sampled_from(BINS), st.sampled_from(RANGES), st.booleans(),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
def test_histograms(seed: int, kind: str, size: int, bins: Any, limits: Any, density: bool) -> None:
    x = NUMBERS[kind](np.random.default_rng(seed), size)
    found = told(dnumpy.histogram, dnumpy.array(x), bins, limits, density)
    expected = told(np.histogram, x, bins, limits, density)
    if isinstance(expected, tuple):
        assert found == expected
        return
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@given(st.integers(0, 99), st.integers(1, 60), st.floats(1e-3, 1e3), st.floats(-1e3, 1e3))
def test_counts_are_numpys_to_the_last_one(seed: int, bins: int, width: float, low: float) -> None:
    draw = np.random.default_rng(seed)
    edges = np.histogram_bin_edges(np.array([low, low + width]), bins)
    values = np.concatenate([draw.choice(edges, 400), draw.uniform(low, low + width, 400)])
    values = np.nextafter(values, draw.choice([-np.inf, np.inf], 800))
    found = counts.in_bins(values, edges)
    if found is not None:
        np.testing.assert_array_equal(found, np.histogram(values, bins, (low, low + width))[0])
