"""What kernels count on all threads is what NumPy counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.config import config
from dnumpy.kernels import choose
from dnumpy.kernels import counts as kernels
from dnumpy.runtime import counts


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "SMALLEST", 1)
    monkeypatch.setattr(counts, "GUESSED_FROM", 5)
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "kernels", "auto")
    monkeypatch.setattr(config, "cluster", "off")
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "threads", 2)


def made_ready(kernel: choose.LoneKernel) -> None:
    """Wait until a kernel is compiled, as one that has long been missed is in the background."""
    record = kernel._record
    if record.state != "ready":
        choose._prepare(record, None, worth=True)
    assert record.state == "ready"
    assert kernel.ready() is not None


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4"])
@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 100), min_size=1, max_size=40), st.integers(0, 120), st.integers(1, 4)
)
def test_whole_numbers_are_counted_as_numpy_counts(
    dtype: str, values: list[int], least: int, threads: int
) -> None:
    made_ready(kernels.whole(np.dtype(dtype)))
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


@settings(max_examples=300, deadline=None)
@given(
    st.lists(FLOATS, min_size=1, max_size=40),
    st.integers(1, 40),
    st.sampled_from([(0.0, 1.0), (-1.0, 1.0), (0.1, 0.7), (1e-300, 3e-300), (-1e308, 1e307)]),
)
def test_numbers_are_put_in_bins_as_numpy_puts_them(
    values: list[float], bins: int, ends: tuple[float, float]
) -> None:
    made_ready(kernels.BINS)
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


X = np.random.default_rng(1).normal(size=999)
K = np.random.default_rng(2).integers(0, 50, 999)


@pytest.mark.parametrize("ready", [False, True], ids=["NumPy's", "compiled"])
def test_arrays_are_counted_alike_before_and_after_there_is_a_kernel(
    ready: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kernel in (kernels.BINS, kernels.whole(K.dtype)):
        if ready:
            made_ready(kernel)
        else:
            monkeypatch.setattr(kernel._record, "state", "failed")
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
    made_ready(kernels.whole(K.dtype))
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
    np.testing.assert_array_equal(counts.bincount(late, 0), np.bincount(late))


def test_a_kernel_is_compiled_once_it_has_been_missed_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        choose, "_prepare", lambda record, _phase, worth: asked.append(record.source)
    )
    kernel = choose.LoneKernel("def kernel(a, b, c):\n    pass\n")
    kernel.missed(1e-4)
    assert not asked
    kernel.missed(10.0)
    for thread in choose.threading.enumerate():
        if thread.name == "dnumpy-compile":
            thread.join()
    assert asked == [kernel.source]
    assert kernel.ready() is None
