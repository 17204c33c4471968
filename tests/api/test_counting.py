"""Counts per bin, and functions of one dimension, are NumPy's, wherever the rows lie."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import dnumpy
from tests.comparison import assert_as_numpy
from tests.gathering import computed, on_nodes, spread_out

pytestmark = pytest.mark.usefixtures("managed")

_rng = np.random.default_rng(7)
V = _rng.standard_normal(300)
I = _rng.integers(0, 9, 300)  # noqa: E741 - the integers of the table
W = _rng.random(300)
C = V + 1j * W
P = _rng.random((120, 3))
U = _rng.integers(0, 256, 200).astype(np.uint8)

# name -> (operand, the call): exactly NumPy's values
EXACT = {
    "bincount": (I, lambda np_, a: np_.bincount(a, minlength=20)),
    "histogram": (V, lambda np_, a: np_.histogram(a, 7)),
    "histogram-range": (V, lambda np_, a: np_.histogram(a, 5, range=(-1, 1))),
    "histogram-edges": (V, lambda np_, a: np_.histogram(a, [-2, -1, 0, 0.5, 3])),
    "histogram-of-integers": (I, lambda np_, a: np_.histogram(a)),
    "histogram-sturges": (V, lambda np_, a: np_.histogram(a, "sturges")),
    "histogram-of-columns": (P, lambda np_, a: np_.histogram(a, 4)),
    "histogram2d": (V, lambda np_, a: np_.histogram2d(a, a * a, [4, 3])),
    "histogramdd": (P, lambda np_, a: np_.histogramdd(a, [2, 3, 4])),
    "interp": (V, lambda np_, a: np_.interp(a, [-1.0, 0.0, 2.0], [3.0, 4.0, 1.0], left=-7)),
    "interp-period": (
        P,
        lambda np_, a: np_.interp(a, [0.1, 0.3, 0.2], [3.0, 4.0, 1.0], period=0.5),
    ),
    "packbits": (I, lambda np_, a: np_.packbits(a > 4)),
    "packbits-rows": (P, lambda np_, a: np_.packbits(a > 0.4, axis=0, bitorder="little")),
    "packbits-columns": (P, lambda np_, a: np_.packbits(a > 0.4, axis=1)),
    "unpackbits": (U, lambda np_, a: np_.unpackbits(a)),
    "unpackbits-columns": (U.reshape(50, 4), lambda np_, a: np_.unpackbits(a, axis=1)),
    "convolve": (I, lambda np_, a: np_.convolve(a, [1, 2, 3, 4])),
    "convolve-same": (I, lambda np_, a: np_.convolve([1, 2, 3, 4], a, "same")),
    "convolve-valid": (V, lambda np_, a: np_.convolve(a, [1.0, 2.0, 3.0], "valid")),
    "correlate": (V, lambda np_, a: np_.correlate(a, [1.0, 2.0, 3.0])),
    "correlate-full": (C, lambda np_, a: np_.correlate(a, np_.array([1.0, 2.0j, 3.0]), "full")),
    "correlate-swapped": (C, lambda np_, a: np_.correlate([1.0, 2.0j, 3.0], a, "same")),
    "vdot-of-integers": (I, lambda np_, a: np_.vdot(a, a)),
}
# to rounding
CLOSE = {
    "bincount-weights": (I, lambda np_, a: np_.bincount(a, np_.sqrt(a))),
    "histogram-weights": (V, lambda np_, a: np_.histogram(a, 6, weights=a * a)),
    "histogram-density": (V, lambda np_, a: np_.histogram(a, 6, density=True)),
    "histogramdd-density": (P, lambda np_, a: np_.histogramdd(a, 3, density=True)),
    "histogram2d-weights": (V, lambda np_, a: np_.histogram2d(a, a, 3, weights=a)),
    "vdot": (C, lambda np_, a: np_.vdot(a, a)),
    "inner": (V, lambda np_, a: np_.inner(a, a)),
    "average": (V, lambda np_, a: np_.average(a, weights=a * a)),
    "cov": (P, lambda np_, a: np_.cov(a, rowvar=False)),
    "corrcoef": (P, lambda np_, a: np_.corrcoef(a, rowvar=False)),
    "trapezoid": (V, lambda np_, a: np_.trapezoid(a, dx=0.5)),
}


@pytest.mark.parametrize("name", sorted({**EXACT, **CLOSE}))
@pytest.mark.filterwarnings("ignore:.*gathers:dnumpy.errors.FallbackWarning")
def test_operands_stay_on_their_nodes(name: str) -> None:
    values, call = {**EXACT, **CLOSE}[name]
    with spread_out() as meter:
        found = computed(call(dnumpy, on_nodes(values)))
        assert meter.most() < values.nbytes / 2, f"{name} gathers {meter.gathered}"
        compare(found, call(np, values), exact=name in EXACT)


def compare(found: Any, expected: Any, *, exact: bool) -> None:
    """Raise unless dtypes and shapes are equal and values are, or nearly."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            compare(one, other, exact=exact)
        return
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if exact:
        np.testing.assert_array_equal(found, expected)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


_floats = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int16, np.uint8]),
    st.integers(9, 60),
    elements=st.integers(0, 40),
)


@given(_floats, st.integers(1, 12), st.sampled_from([1, 0.1, 1 / 3]))
def test_every_element_falls_in_numpys_bin(values: np.ndarray, bins: int, scale: float) -> None:
    assert_as_numpy(lambda np_: np_.histogram(np_.array(values) * scale, bins)[0] * 1)
    edges = np.unique(values)[::2] * scale
    if len(edges) > 1:
        assert_as_numpy(lambda np_: np_.histogram(np_.array(values) * scale, edges)[0] * 1)
        assert_as_numpy(
            lambda np_: np_.histogramdd(np_.array(values)[:, None] * scale, [edges])[0] * 1
        )


@given(
    hnp.arrays(np.int64, st.integers(9, 60), elements=st.integers(-9, 9)),
    hnp.arrays(np.int64, st.integers(1, 70), elements=st.integers(-9, 9)),
    st.sampled_from(["full", "same", "valid"]),
)
def test_sliding_products_are_numpys(a: np.ndarray, v: np.ndarray, mode: Any) -> None:
    assert_as_numpy(lambda np_: np_.convolve(np_.array(a), v, mode) * 1)
    assert_as_numpy(lambda np_: np_.correlate(np_.array(a), np_.array(v), mode) * 1)


@pytest.mark.parametrize(
    "call",
    [
        lambda np_: np_.bincount(np_.arange(20) - 5),
        lambda np_: np_.bincount(np_.arange(20.0)),
        lambda np_: np_.bincount(np_.arange(20), minlength=-1),
        lambda np_: np_.bincount(np_.arange(20), weights=np_.arange(19)),
        lambda np_: np_.histogram(np_.arange(20.0), 0),
        lambda np_: np_.histogram(np_.arange(20.0) + np.nan),
        lambda np_: np_.histogram(np_.arange(20.0), [3, 2, 1]),
        lambda np_: np_.histogram(np_.arange(20.0), range=(3, 1)),
        lambda np_: np_.histogramdd(np_.arange(20.0).reshape(10, 2), [1, 2, 3]),
        lambda np_: np_.interp(np_.arange(20.0), [1, 2], [1, 2, 3]),
        lambda np_: np_.convolve(np_.arange(20.0), []),
        lambda np_: np_.unpackbits(np_.arange(20)),
    ],
)
def test_what_numpy_refuses_is_refused(call: Any) -> None:
    assert_as_numpy(call)


def test_labels_are_counted_without_looking_for_their_ends_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from dnumpy import engine
    from dnumpy.config import config

    monkeypatch.setattr(config, "mode", "split")
    monkeypatch.setattr(config, "eager_below", 0)
    points = np.random.default_rng(0).random((3_000, 5))
    labels = dnumpy.array(points).argmin(axis=1)
    engine.history.clear()
    counts = dnumpy.bincount(labels, minlength=5)
    sums = dnumpy.bincount(labels, weights=points[:, 0], minlength=5)
    assert not engine.history
    theirs = points.argmin(axis=1)
    assert np.array_equal(np.asarray(counts), np.bincount(theirs, minlength=5))
    assert np.allclose(np.asarray(sums), np.bincount(theirs, points[:, 0], 5), rtol=1e-15)
    longer = dnumpy.bincount(labels + 3, minlength=2)
    assert np.array_equal(np.asarray(longer), np.bincount(theirs + 3, minlength=2))


def test_ends_are_computed_once_for_the_same_values(monkeypatch: pytest.MonkeyPatch) -> None:
    from dnumpy import engine
    from dnumpy.config import config

    monkeypatch.setattr(config, "mode", "split")
    monkeypatch.setattr(config, "eager_below", 0)
    values = np.random.default_rng(0).integers(0, 9, 3_000)
    x = dnumpy.array(values)
    first = np.asarray(dnumpy.bincount(x))
    engine.history.clear()
    again = dnumpy.bincount(x)
    assert not engine.history
    assert np.array_equal(first, np.bincount(values))
    assert np.array_equal(np.asarray(again), first)
    x[0] = 20  # another content has other ends
    values[0] = 20
    assert np.array_equal(np.asarray(dnumpy.bincount(x)), np.bincount(values))
