"""A long line sorted in parts is the line that NumPy sorts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.config import config
from dnumpy.runtime import buckets, runs


@pytest.fixture(autouse=True)
def _short_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "SMALLEST", 4)
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "cluster", "off")
    monkeypatch.setattr(buckets.Known, "pays", lambda *_: False)  # the other way
    monkeypatch.setattr(config, "eager_below", 0)


@pytest.mark.parametrize("threads", [2, 3, 8])
@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 200),
    st.sampled_from(["f8", "f4", "i8", "u8", "i4", "u4"]),
    st.integers(0, 2**32 - 1),
    st.booleans(),
)
def test_a_line_is_sorted_as_numpy_sorts_it(
    threads: int, size: int, dtype: str, seed: int, missing: bool
) -> None:
    rng = np.random.default_rng(seed)
    line = rng.integers(0, 1 + seed % 90, size).astype(dtype)
    if missing and dtype.startswith("f"):
        line[rng.random(size) < 0.2] = np.nan
    expected = np.sort(line)
    elsewhere = np.empty_like(line)
    kept, config.threads = config.threads, threads
    try:
        runs.sort_to(line, elsewhere)
        runs.sort(line)
    finally:
        config.threads = kept
    np.testing.assert_array_equal(line, expected)
    np.testing.assert_array_equal(elsewhere, expected)


@pytest.mark.parametrize("threads", [2, 3])
def test_a_line_that_lies_at_an_odd_address_is_sorted(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr(config, "threads", threads)
    values = np.random.default_rng(1).random(2_000)
    line = np.zeros(values.nbytes + 1, np.uint8)[1:].view(float)  # as what arrives in a message
    line[...] = values
    assert not line.flags.aligned
    np.testing.assert_array_equal(dnumpy.sort(dnumpy.asarray(line)), np.sort(values))
    elsewhere = np.empty_like(values)
    runs.sort_to(line, elsewhere)
    runs.sort(line)
    np.testing.assert_array_equal(elsewhere, np.sort(values))
    np.testing.assert_array_equal(line, np.sort(values))


@pytest.mark.skipif(not native.built, reason="told apart by the module in C alone")
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u8", "i4", "u4", "l", "q", "L", "Q"])
@pytest.mark.parametrize("parts", [2, 4, 16, 2048])
def test_numbers_are_told_apart_by_splitters(dtype: str, parts: int) -> None:
    rng = np.random.default_rng(parts)
    line = rng.integers(0, 100, 1_003).astype(dtype)
    if line.dtype.kind == "f":
        line[::7] = np.nan
    elif line.dtype.kind == "i":
        line -= 50
    splitters = np.sort(rng.choice(line[line == line], parts - 1))
    part = np.searchsorted(splitters, line, side="right")
    places = np.zeros(parts, np.intp)
    assert native.tell_apart(line, splitters, places)
    np.testing.assert_array_equal(places, np.bincount(part, minlength=parts))
    places[:] = np.concatenate([[0], np.cumsum(places)[:-1]])
    order = np.argsort(part, kind="stable")
    moved, found = np.empty_like(line), np.empty(line.size, np.intp)
    assert native.tell_apart(line, splitters, places.copy(), moved)
    np.testing.assert_array_equal(moved, line[order])
    assert native.tell_apart(line, splitters, places, found, 5)
    np.testing.assert_array_equal(found, order + 5)


@pytest.mark.skipif(not native.built, reason="told apart by the module in C alone")
def test_what_changes_meanwhile_writes_nothing_beyond_the_target() -> None:
    line, around = np.full(64, 5.0), np.full(96, -1.0)
    places = np.array([0, 8], np.intp)  # as if most had been less
    assert native.tell_apart(line, np.array([1.0]), places, around[:32])
    assert (around[32:] == -1.0).all()
    with pytest.raises(TypeError, match="splitters"):
        native.tell_apart(line, np.array([1.0]), np.zeros(3, np.intp))
    with pytest.raises(TypeError, match="splitters"):
        native.tell_apart(line, np.array([1.0]), places, around[:32], 0)  # no room for places


@pytest.mark.skipif(not native.built, reason="told apart by the module in C alone")
@pytest.mark.parametrize("parts", [2, 8, 64])
def test_parts_at_a_negative_place_go_nowhere(parts: int) -> None:
    line = np.random.default_rng(2).random(1_001)
    splitters = np.arange(1, parts) / parts
    part = np.searchsorted(splitters, line, side="right")
    places = np.full(parts, -1)
    places[parts // 2] = 0
    found = np.full(line.size, -1.0)
    assert native.tell_apart(line, splitters, places, found)
    wanted = line[part == parts // 2]
    np.testing.assert_array_equal(found[: wanted.size], wanted)
    assert (found[wanted.size :] == -1).all()
    assert places[parts // 2] == wanted.size
    assert (np.delete(places, parts // 2) == -1).all()


def test_a_line_of_few_values_is_partitioned_by_where_they_lie(monkeypatch: Any) -> None:
    monkeypatch.setattr(config, "threads", 4)
    line = np.repeat([2.0, 1.0], [900, 100])
    out = np.empty_like(line)
    runs.sort_to(line, out)
    np.testing.assert_array_equal(out, np.sort(line))
    runs.sort_to(line[::-3], out[:334])
    np.testing.assert_array_equal(out[:334], np.sort(line[::-3]))


WRONG: list[dict[str, Any]] = [
    {"kind": "odd"}, {"axis": 3}, {"order": "x"}, {"kind": "stable", "stable": True},
]  # fmt: skip


LINE = np.random.default_rng(9).permutation(300) * 0.37


@pytest.mark.parametrize("options", [{}, {"kind": "stable"}, {"axis": 0}, {"stable": True}])
def test_arrays_are_sorted_in_parts(options: dict[str, Any], monkeypatch: Any) -> None:
    monkeypatch.setattr(config, "threads", 2)
    sorted_here: list[int] = []
    sort, told = runs.sort, runs._told_apart

    def moved(line: np.ndarray, out: np.ndarray) -> bool:
        done = told(line, out)
        sorted_here.extend([line.size] * done)  # else it is sorted where it lies
        return done

    monkeypatch.setattr(runs, "sort", lambda line: (sorted_here.append(line.size), sort(line)))
    monkeypatch.setattr(runs, "_told_apart", moved)
    a = dnumpy.array(LINE)
    found = dnumpy.sort(a, **options)
    np.testing.assert_array_equal(np.asarray(found), np.sort(LINE))
    np.testing.assert_array_equal(np.asarray(a), LINE)
    for places in (dnumpy.argsort(a, **options), a.argsort(**options)):
        assert type(places) is dnumpy.ndarray
        np.testing.assert_array_equal(np.asarray(places), np.argsort(LINE))
    view = a[::2]
    a.sort(**options)
    np.testing.assert_array_equal(np.asarray(a), np.sort(LINE))
    np.testing.assert_array_equal(np.asarray(view), np.sort(LINE)[::2])
    a[...] = LINE
    a[100:200].sort(**options)
    np.testing.assert_array_equal(np.asarray(a)[100:200], np.sort(LINE[100:200]))
    np.testing.assert_array_equal(np.asarray(a)[:100], LINE[:100])
    assert sorted_here == [300, 300, 100]


def test_what_numpy_refuses_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "threads", 2)
    a = dnumpy.array(LINE)
    for wrong in WRONG:
        with pytest.raises((TypeError, ValueError)) as expected:
            np.sort(LINE, **wrong)
        with pytest.raises(expected.type) as found:
            dnumpy.sort(a, **wrong)
        assert str(found.value) == str(expected.value)
        with pytest.raises(expected.type):
            a.sort(**wrong)
    a.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        a.sort()
    np.testing.assert_array_equal(np.asarray(a), LINE)


def test_a_reversed_line_is_sorted_where_it_lies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "threads", 2)
    a = dnumpy.array(LINE)
    a[::-1].sort()
    np.testing.assert_array_equal(np.asarray(a), np.sort(LINE)[::-1])
