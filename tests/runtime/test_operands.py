"""What tasks read is as kernels need it, however it arrived."""

from __future__ import annotations

import numpy as np
import pytest

from dnumpy.runtime.operands import Bindings, Made, Read, Take


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
