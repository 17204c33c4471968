"""Values selected at a few ranks are those that stand there in the sorted line."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.config import config
from dnumpy.runtime import buckets, runs, selection
from tests.runtime.test_buckets import DTYPES, KINDS, made


@pytest.fixture(autouse=True)
def _short_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SMALLEST", 4)
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "cluster", "off")
    monkeypatch.setattr(config, "threads", 2)
    monkeypatch.setattr(config, "eager_below", 0)


@pytest.mark.skipif(not native.built, reason="told apart by the module in C alone")
@pytest.mark.parametrize("dtype", DTYPES)
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_values_at_ranks_are_those_of_the_sorted_line(dtype: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(8, 3000))
    line = made(
        dtype, size, data.draw(st.integers(0, 2**32 - 1)), data.draw(st.sampled_from(KINDS))
    )
    ranks = sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=30)))
    kept, config.threads = config.threads, data.draw(st.integers(1, 5))
    before = line.copy()
    try:
        found = selection.at_ranks(line, ranks)
    finally:
        config.threads = kept
    np.testing.assert_array_equal(found, np.sort(line)[ranks])
    np.testing.assert_array_equal(line, before)
    assert found.dtype == line.dtype


@pytest.mark.skipif(not native.built, reason="told apart by the module in C alone")
@pytest.mark.parametrize("what", ["distinct", "few values", "one value", "missing", "zeros"])
def test_little_is_gathered(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    line = made("f8", 100_000, 5, what)
    gathered: list[int] = []
    tell = native.tell_apart

    def watched(*given: Any) -> bool:
        gathered.extend(target.size for target in given[3:])
        return tell(*given)

    monkeypatch.setattr(native, "tell_apart", watched)
    monkeypatch.setattr(buckets, "sort_to", None)  # not to be called
    ranks = [10_000, 50_000, 50_001]
    np.testing.assert_array_equal(selection.at_ranks(line, ranks), np.sort(line)[ranks])
    assert sum(gathered) <= 2 * line.size // 5  # by two threads


STATISTICS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("median", (), {}),
    ("median", (), {"axis": 0}),
    ("median", (), {"axis": -1, "keepdims": True}),
    ("percentile", (37.5,), {}),
    ("percentile", ([[5, 50], [95, 100]],), {"axis": 0}),
    ("quantile", (np.array([0.25, 0.75]),), {"method": "nearest"}),
    ("quantile", (0.3,), {"method": "inverted_cdf", "keepdims": True}),
    ("nanmedian", (), {}),
    ("nanpercentile", ([0, 10, 100],), {}),
    ("nanquantile", (0.9,), {"method": "higher"}),
]


@pytest.mark.parametrize(("name", "given", "options"), STATISTICS)
@pytest.mark.parametrize("what", ["distinct", "few values", "missing", "all missing"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u4"])
def test_statistics_of_a_line_are_those_of_numpy(
    name: str,
    given: tuple[Any, ...],
    options: dict[str, Any],
    what: str,
    dtype: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    selected: list[int] = []
    at = selection.at_ranks
    monkeypatch.setattr(
        selection, "at_ranks", lambda line, ranks: (selected.append(len(ranks)), at(line, ranks))[1]
    )
    line = made(dtype, 1_000, 7, what)
    a = dnumpy.array(line)
    with warnings.catch_warnings(record=True) as theirs:
        warnings.simplefilter("always")
        expected = getattr(np, name)(line, *given, **options)
    with warnings.catch_warnings(record=True) as ours:
        warnings.simplefilter("always")
        found = getattr(dnumpy, name)(a, *given, **options)
    np.testing.assert_array_equal(np.asarray(found), expected, strict=True)
    assert [str(w.message) for w in ours] == [str(w.message) for w in theirs]
    if native.built and what != "all missing":
        assert selected
    if "axis" not in options:
        square = dnumpy.array(line.reshape(20, 50))
        found = getattr(dnumpy, name)(square, *given, **options)
        expected = getattr(np, name)(line.reshape(20, 50), *given, **options)
        np.testing.assert_array_equal(np.asarray(found), expected, strict=True)


def test_wrong_ranks_are_refused_in_the_words_of_numpy() -> None:
    line = made("f8", 1_000, 7, "distinct")
    a = dnumpy.array(line)
    with pytest.raises(ValueError, match=r"Percentiles must be in the range \[0, 100\]"):
        dnumpy.percentile(a, 101)
    with pytest.raises(np.exceptions.AxisError):
        dnumpy.median(a, axis=1)
    with pytest.raises(ValueError, match="method"):
        dnumpy.quantile(a, 0.5, method="odd")
    out = dnumpy.zeros(())
    assert dnumpy.median(a, out=out) is out
    assert float(out) == np.median(line)
