"""A half of a run reads, of what the run reads, what its rows need: the same values."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.expr.geometry import Geometry
from dnumpy.runtime.halves import narrowed
from dnumpy.runtime.operands import Bindings, Literal, Read, Take

ROWS, COLUMNS = 24, 3  # of each window


@st.composite
def takes(draw: st.DrawFn, pieces: list[np.ndarray]) -> tuple[Take, ...]:
    """Return a window of ROWS rows from pieces, some of them every other row of one."""
    found = []
    left = ROWS
    while left:
        count = draw(st.integers(1, left))
        step = draw(st.sampled_from([1, 2]))
        start = draw(st.integers(0, 3))
        rows = start + count * step + draw(st.integers(0, 2))
        pieces.append(np.random.default_rng(len(pieces)).normal(size=(rows, COLUMNS)))
        whole = start == 0 and rows == count and step == 1
        cut = None if whole else slice(start, start + (count - 1) * step + 1, step)
        found.append(Take(len(pieces) - 1, None, cut))
        left -= count
    return tuple(found)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Bindings, list[bool], list[Any]]:
    """Return how operands of 16 rows are read, some whole, from windows that they share."""
    data: list[Any] = []
    windows = tuple(draw(takes(data)) for _ in range(draw(st.integers(1, 2))))
    reads: list[Any] = []
    by_rows: list[bool] = []
    row = COLUMNS * 8
    for _ in range(draw(st.integers(1, 4))):
        window = draw(st.integers(0, len(windows) - 1))
        first = draw(st.integers(0, ROWS - 16))
        views = [
            Read(window, (), slice(first, first + 16)),
            Read(window, (Geometry(first * row + 8, (16, 2), (row, 8), np.dtype("f8")),)),
            Read(window, (Geometry((first + 15) * row, (16, 3), (-row, 8), np.dtype("f8")),)),
            Literal(2.5),
        ]
        reads.append(draw(st.sampled_from(views)))
        by_rows.append(not isinstance(reads[-1], Literal) and draw(st.booleans()))
    return Bindings(windows, tuple(reads)), by_rows, data


@given(cases(), st.integers(0, 15), st.integers(1, 16))
def test_fewer_rows_are_those_of_all(
    case: tuple[Bindings, list[bool], list[Any]], first: int, count: int
) -> None:
    bindings, by_rows, data = case
    rows = slice(first, min(first + count, 16))
    fewer = narrowed(bindings, by_rows, (rows.start, rows.stop), data)
    for got, whole, cut in zip(fewer.values(data), bindings.values(data), by_rows, strict=True):
        np.testing.assert_array_equal(got, whole[rows] if cut else whole)


def test_what_no_reader_sees_does_not_travel() -> None:
    data = [np.zeros((10, 2)), np.zeros((14, 2))]
    window = (Take(0, None, None), Take(1, None, None))
    bindings = Bindings((window,), (Read(0, (), slice(0, 20)), Read(0, (), slice(2, 22))))
    fewer = narrowed(bindings, [True, True], (12, 16), data)
    assert fewer.windows == ((Take(1, None, slice(2, 8, 1)),),)
    one_whole = narrowed(bindings, [True, False], (12, 16), data)
    assert one_whole.windows == bindings.windows
