"""Sorted runs that follow each other are merged as NumPy's stable sort orders them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy import native

pytestmark = [
    pytest.mark.modeless("memory of NumPy's alone"),
    pytest.mark.skipif(not native.built, reason="the module in C merges"),
]


def lines(dtype: str) -> st.SearchStrategy[list[list[float]]]:
    values: st.SearchStrategy[float] = st.integers(0 if dtype[0] == "u" else -9, 9)
    if dtype[0] == "f":
        values = values | st.sampled_from([np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5])
    return st.lists(st.lists(values, max_size=30), min_size=1, max_size=9)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u8", "u4"])
@given(data=st.data())
def test_runs_are_merged_stably(dtype: str, data: st.DataObject) -> None:
    runs = [np.sort(np.array(run, dtype), kind="stable") for run in data.draw(lines(dtype))]
    line = np.concatenate(runs)
    expected = np.sort(line, kind="stable")
    assert native.merge_runs(line, np.cumsum([len(run) for run in runs]))
    assert line.tobytes() == expected.tobytes()  # zeros of either sign in their order, too


@pytest.mark.parametrize("runs", [1, 2, 3, 31])
def test_long_runs(runs: int) -> None:
    draw = np.random.default_rng(runs)
    parts = [np.sort(draw.normal(size=draw.integers(1, 20_000)).round(3)) for _ in range(runs)]
    line = np.concatenate(parts)
    expected = np.sort(line)
    assert native.merge_runs(line, np.cumsum([len(part) for part in parts]))
    np.testing.assert_array_equal(line, expected)


def test_what_it_does_not_know_is_left_alone() -> None:
    for line in (np.array([2, 1], "i2"), np.array([2.0, 1.0], ">f8"), np.arange(4.0)[::2]):
        before = line.copy()
        assert not native.merge_runs(line, np.array([1, 2]))
        np.testing.assert_array_equal(line, before)


@pytest.mark.parametrize("ends", [[1], [2, 1], [1, 3], [-1, 2]])
def test_ends_that_are_none_are_refused(ends: list[int]) -> None:
    with pytest.raises(ValueError, match="follow each other"):
        native.merge_runs(np.array([1.0, 2.0]), np.array(ends))
