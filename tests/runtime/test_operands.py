"""What tasks read is as kernels need it, however it arrived."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.runtime.operands import Bindings, Literal, Made, Pieces, Read, Take


def unaligned(array: np.ndarray) -> np.ndarray:
    """Return an equal array whose elements begin at odd addresses."""
    memory = np.empty(array.nbytes + 16, np.uint8)
    first = 1 + -memory.__array_interface__["data"][0] % 8
    found = np.ndarray(array.shape, array.dtype, memory, first)
    found[...] = array
    assert not found.flags.aligned
    return found


@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("rows", [None, slice(2, 9, 1)])
def test_what_arrived_unaligned_is_read_aligned(made: bool, rows: slice | None) -> None:
    array = np.arange(40.0).reshape(10, 4)
    moved = unaligned(array)
    data = Made((moved,), (), 0.0, frozenset()) if made else moved
    take = Take(0, 0 if made else None, rows)
    (found,) = Bindings(((take,),), (Read(0),)).values([data])
    assert found.flags.aligned
    assert np.array_equal(found, array if rows is None else array[rows])


def test_what_lies_aligned_is_not_copied() -> None:
    array = np.arange(40.0).reshape(10, 4)
    (found,) = Bindings(((Take(0, None, slice(1, 5)),),), (Read(0),)).values([array])
    assert np.shares_memory(found, array)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.data())
def test_rows_that_lie_in_pieces_are_read_as_if_they_lay_together(
    sizes: list[int], data: st.DataObject
) -> None:
    total = sum(sizes)
    whole = np.arange(3.0 * total).reshape(total, 3)
    ends = np.cumsum([0, *sizes])
    lying = [whole[a:b].copy() for a, b in pairwise(ends)]
    pieces = Pieces(lying)
    assert pieces.shape == whole.shape
    lo = data.draw(st.integers(0, max(total - 1, 0)))
    hi = data.draw(st.integers(min(lo + 1, total), total))
    if lo < hi:
        found = pieces[lo:hi]
        assert np.array_equal(found, whole[lo:hi])
        inside = [
            each for each, a in zip(lying, ends, strict=False) if a <= lo and hi <= a + len(each)
        ]
        assert all(np.shares_memory(found, each) for each in inside)


def test_only_what_is_read_by_rows_stays_in_pieces() -> None:
    parts = [np.arange(8.0).reshape(4, 2), np.arange(6.0).reshape(3, 2)]
    window = (Take(0, None, None), Take(1, None, None))
    reads = (Read(0), Read(0, rows=slice(1, 4)), Literal(2.0), Read(1))
    bound = Bindings((window, (Take(0, None, None),)), reads)
    apart, cut, number, one = bound.values(parts, apart=(0, 1, 2, 3))
    assert type(apart) is Pieces
    assert np.array_equal(cut, np.concatenate(parts)[1:4])
    assert number == 2.0
    assert one is parts[0]
    assert np.array_equal(bound.values(parts)[0], np.concatenate(parts))
