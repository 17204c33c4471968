"""A line sorted by way of buckets is the line that NumPy sorts."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.config import config
from dnumpy.kernels.sharing import Seconds
from dnumpy.runtime import buckets, runs

DTYPES = ["f8", "f4", "i8", "u8", "i4", "u4"]
KINDS = [
    "distinct",
    "few values",
    "one value",
    "missing",
    "all missing",
    "in order",
    "huge",
    "zeros",
]


@pytest.fixture(autouse=True)
def _at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "kernels", "auto")
    monkeypatch.setattr(config, "cluster", "off")
    monkeypatch.setattr(config, "threads", 2)
    monkeypatch.setattr(buckets, "_known", defaultdict(plainly_slow))


def plainly_slow() -> buckets.Known:
    """Return what is known where NumPy takes long."""
    return buckets.Known(plain=Seconds(1e6, 1))


def made(dtype: str, size: int, seed: int, what: str) -> np.ndarray:
    rng = np.random.default_rng(seed)
    line = rng.permutation(size).astype(dtype)
    floats = dtype.startswith("f")
    if what == "few values":
        line = line % 7
    elif what == "one value":
        line[:] = 3
    elif what == "in order":
        line.sort()
    elif what == "zeros":
        line[::2] = 0
    elif what == "huge":
        limits = np.finfo(dtype) if floats else np.iinfo(dtype)
        line[: size // 2] = limits.max
        line[size // 2 :: 3] = limits.min
    elif floats and what in ("missing", "all missing"):
        line[rng.random(size) < (0.2 if what == "missing" else 2.0)] = np.nan
    if floats and what == "distinct" and size > 2:
        line[:2] = np.inf, -np.inf
    return line


@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 3000), st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.integers(1, 5))
def test_a_line_is_sorted_as_numpy_sorts_it(
    dtype: str, size: int, seed: int, what: str, threads: int
) -> None:
    line = made(dtype, size, seed, what)
    before, out = line.copy(), np.empty_like(line)
    kept, config.threads = config.threads, threads
    try:
        buckets.sort_to(line, out)
        stable = buckets.argsort(line, stable=True)
        places = buckets.argsort(line, stable=False)
    finally:
        config.threads = kept
    np.testing.assert_array_equal(line, before)
    np.testing.assert_array_equal(out, np.sort(line))
    np.testing.assert_array_equal(stable, np.argsort(line, kind="stable"))
    np.testing.assert_array_equal(places, np.argsort(line))


@pytest.mark.skipif(not native.built, reason="told apart by the module in C alone")
def test_arrays_are_sorted_by_way_of_buckets(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[bool] = []
    tell = buckets._told

    def watched(line: np.ndarray, target: np.ndarray, *, places: bool) -> np.ndarray:
        told.append(places)
        return tell(line, target, places=places)

    monkeypatch.setattr(buckets, "_told", watched)
    line = np.random.default_rng(3).random(runs.SMALLEST)
    a = dnumpy.array(line)
    np.testing.assert_array_equal(np.asarray(dnumpy.sort(a)), np.sort(line))
    np.testing.assert_array_equal(np.asarray(dnumpy.argsort(a)), np.argsort(line))
    np.testing.assert_array_equal(np.asarray(a.argsort(kind="stable")), np.argsort(line))
    a[5] = a[6]  # equal ones, whose order is NumPy's own
    line[5] = line[6]
    np.testing.assert_array_equal(np.asarray(dnumpy.argsort(a)), np.argsort(line))
    assert told == [False, True, True, True]


@pytest.mark.parametrize(("plain", "by_buckets"), [(1e-6, None), (1.0, 2.0)])
def test_numpy_sorts_where_it_is_as_fast(
    plain: float, by_buckets: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = buckets.Known(Seconds(plain), Seconds(by_buckets))
    monkeypatch.setattr(buckets, "_known", defaultdict(lambda: known))
    monkeypatch.setattr(buckets, "_told", None)  # not to be called
    line = np.random.default_rng(4).random(runs.SMALLEST)
    out = np.empty_like(line)
    buckets.sort_to(line, out)
    np.testing.assert_array_equal(out, np.sort(line))
    known.plain.value = plain
    np.testing.assert_array_equal(buckets.argsort(line, stable=False), np.argsort(line))
    assert known.plain.count == 2


@pytest.mark.parametrize(("least", "is_told"), [(0.0, native.built), (1e6, False)])
def test_a_first_line_is_sorted_by_what_a_sample_of_it_takes(
    least: float, is_told: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines: defaultdict[tuple[str, str, int], buckets.Known] = defaultdict(buckets.Known)
    monkeypatch.setattr(buckets, "_known", lines)
    monkeypatch.setattr(buckets, "LEAST", dict.fromkeys(buckets.LEAST, least))
    line = np.random.default_rng(5).random(runs.SMALLEST)
    out = np.empty_like(line)
    buckets.sort_to(line, out)
    np.testing.assert_array_equal(out, np.sort(line))
    np.testing.assert_array_equal(buckets.argsort(line, stable=False), np.argsort(line))
    np.testing.assert_array_equal(buckets.argsort(line, stable=True), np.argsort(line))
    assert [known.buckets.count for known in lines.values()] == [int(is_told)] * 3
    assert [known.plain.count for known in lines.values()] == [int(not is_told)] * 3
    if native.built:
        guessed = [known.guessed for known in lines.values()]
        assert all(guess is not None and guess > 0 for guess in guessed)
