"""What kernels count on all threads is what NumPy counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.config import config
from dnumpy.runtime import counts

in_c = pytest.mark.skipif(not native.built, reason="the module in C counts")


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "SMALLEST", 1)
    monkeypatch.setattr(counts, "GUESSED_FROM", 5)
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "kernels", "auto")
    monkeypatch.setattr(config, "cluster", "off")
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "threads", 2)


@in_c
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4"])
@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 100), min_size=1, max_size=40), st.integers(0, 120), st.integers(1, 4)
)
def test_whole_numbers_are_counted_as_numpy_counts(
    dtype: str, values: list[int], least: int, threads: int
) -> None:
    given_values = np.array(values, dtype)
    kept, config.threads = config.threads, threads
    try:
        found = counts.bincount(given_values, least)
    finally:
        config.threads = kept
    expected = np.bincount(given_values, minlength=least)
    assert found is not None
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


FLOATS = st.floats(-2, 2) | st.sampled_from([-1.0, 0.0, 0.1, 0.3, 0.7, 1.0, np.nan, np.inf])


@in_c
@settings(max_examples=300, deadline=None)
@given(
    st.lists(FLOATS, min_size=1, max_size=40),
    st.integers(1, 40),
    st.sampled_from([(0.0, 1.0), (-1.0, 1.0), (0.1, 0.7), (1e-300, 3e-300), (-1e308, 1e307)]),
)
def test_numbers_are_put_in_bins_as_numpy_puts_them(
    values: list[float], bins: int, ends: tuple[float, float]
) -> None:
    edges = np.histogram_bin_edges(np.array([]), bins, ends)
    # every edge, and its neighbours: what is within rounding of one is where NumPy looks twice
    near = np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])
    line = np.concatenate([values, near])
    found = counts.histogram(line, edges)
    assert found is not None
    with np.errstate(all="ignore"):
        expected = np.histogram(line, bins, ends)[0]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@in_c
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_count_everything_once(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "threads", threads)
    draw = np.random.default_rng(3)
    for size in (1 << 16, 300_001):
        values = draw.integers(0, 70, size)
        np.testing.assert_array_equal(counts.bincount(values, 0), np.bincount(values))
        values[size // 2] = -1
        assert native.count_whole(values, 70, threads) is None
        line = draw.normal(size=size)
        expected, edges = np.histogram(line, 33)
        np.testing.assert_array_equal(counts.histogram(line, edges), expected)


X = np.random.default_rng(1).normal(size=999)
K = np.random.default_rng(2).integers(0, 50, 999)


@pytest.mark.parametrize("built", [False, True], ids=["without the module in C", "with it"])
def test_arrays_are_counted_alike_with_and_without_the_module_in_c(
    built: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not built:
        monkeypatch.setattr(counts, "_applies", lambda _values, _kinds: False)
    calls: list[Any] = [
        lambda np_, x, _k: np_.histogram(x, 30),
        lambda np_, x, _k: np_.histogram(x, 30, (-1, 0.5), density=True),
        lambda np_, x, _k: np_.histogram(x, bins=[-1.0, 0.0, 2.5]),
        lambda np_, _x, k: np_.bincount(k),
        lambda np_, _x, k: np_.bincount(k, minlength=70),
    ]
    for call in calls:
        found = call(dnumpy, dnumpy.array(X), dnumpy.array(K))
        expected = call(np, X, K)
        pairs = zip(found, expected, strict=True) if type(found) is tuple else [(found, expected)]
        for mine, theirs in pairs:
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(np.asarray(mine), theirs)


def test_what_numpy_refuses_is_refused() -> None:
    negative = K.copy()
    negative[700] = -3
    for least in (0, 99):
        with pytest.raises(ValueError, match="negative") as expected:
            np.bincount(negative, minlength=least)
        with pytest.raises(ValueError, match="negative") as found:
            dnumpy.bincount(dnumpy.array(negative), minlength=least)
        assert str(found.value) == str(expected.value)
    late = K.copy()
    late[700] = 1000  # beyond what the first values show
    if native.built:
        np.testing.assert_array_equal(counts.bincount(late, 0), np.bincount(late))
