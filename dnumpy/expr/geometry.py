"""Where a view lies in its base: offset, shape, strides and dtype over C-contiguous memory.

NumPy computes geometries (indexing a real or a ghost array); this module only reads them.
"""

from __future__ import annotations

import ctypes
import sys
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

_DATA = object.__basicsize__  # where NumPy's public struct of an array holds its memory's address
_word_at = ctypes.c_size_t.from_address


def _address_told(array: np.ndarray) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def _address_read(array: np.ndarray) -> int:
    return _word_at(id(array) + _DATA).value


def _is_readable() -> bool:
    """Say whether this interpreter lays objects out so that an address can be read."""
    if sys.implementation.name != "cpython":
        return False
    samples = (np.empty(3), np.empty((2, 2), np.int8)[1:])
    return all(_address_read(a) == _address_told(a) for a in samples)


# of an array's first element: NumPy makes a dict or an object to tell it, which takes 2 us
address_of = _address_read if _is_readable() else _address_told


def same_dtype(a: np.dtype, b: np.dtype) -> bool:
    """Say whether two dtypes are one; int64 and longlong compare equal and are two.

    So do one with metadata and one without.
    """
    return a is b or (a == b and a.num == b.num and a.metadata == b.metadata)


def typed(value: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return ``value`` with the very dtype, where its own one compares equal to it."""
    other = value.dtype.num != dtype.num and value.dtype == dtype
    return value.view(dtype) if other else value


class RowMap(NamedTuple):
    """Row ``i`` of a view lies in row ``start + step * i`` of its base."""

    start: int
    step: int


class Geometry(NamedTuple):
    """A view: ``offset`` and ``strides`` in bytes from the first byte of the base's memory."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype

    def over(self, memory: np.ndarray) -> np.ndarray:
        """Return this view of ``memory``, which is C-contiguous and holds the whole base."""
        return over(self, memory)

    def is_whole(self, shape: tuple[int, ...], dtype: np.dtype) -> bool:
        """Say whether this is the base itself."""
        return (
            self.offset == 0
            and self.shape == shape
            and same_dtype(self.dtype, dtype)
            and self.strides == contiguous_strides(shape, dtype.itemsize)
        )

    def row_map(self, base_shape: tuple[int, ...], base_dtype: np.dtype) -> RowMap | None:
        """Return how axis 0 of the view steps through rows of the base, or None if it does not."""
        if not self.shape or not base_shape or 0 in self.shape or 0 in base_shape:
            return None
        row_bytes = prod(base_shape[1:]) * base_dtype.itemsize
        start, low = divmod(self.offset, row_bytes)
        if self.shape[0] == 1:
            step = 1
        else:
            step, rest = divmod(self.strides[0], row_bytes)
            if rest or step == 0:
                return None
        return RowMap(start, step) if self._within_row(low, row_bytes) else None

    def box_in(
        self, base_shape: tuple[int, ...], base_dtype: np.dtype
    ) -> tuple[tuple[int, int], ...] | None:
        """Return ``(lo, hi)`` per axis of the base if this is a box of it, else None."""
        base_strides = contiguous_strides(base_shape, base_dtype.itemsize)
        if self.dtype != base_dtype or 0 in self.shape or 0 in base_shape:
            return None
        kept = [(n, s) for n, s in zip(self.shape, self.strides, strict=True) if n > 1]
        rest, box = self.offset, []
        for extent, stride in zip(base_shape, base_strides, strict=True):
            lo, rest = divmod(rest, stride)
            count = 1
            if kept and kept[0][1] == stride and extent > 1:
                count = kept.pop(0)[0]
            if lo < 0 or lo + count > extent:
                return None
            box.append((lo, lo + count))
        return tuple(box) if not kept and rest == 0 else None

    def _within_row(self, low: int, row_bytes: int) -> bool:
        high = low + self.dtype.itemsize
        for extent, stride in zip(self.shape[1:], self.strides[1:], strict=True):
            reach = (extent - 1) * stride
            if reach < 0:
                low += reach
            else:
                high += reach
        return low >= 0 and high <= row_bytes


def copies_over_itself(target: Geometry, source: Geometry) -> bool:
    """Say whether NumPy's assignment of a view to another of its base writes what it then reads.

    NumPy copies by way of a temporary where two views overlap, but not from one axis to one axis in
    the same direction: there it goes through the elements, from the last one where the source
    begins below the target. That is right for one stride. With two of them it may read what it
    has just written, and what programs get is that.
    """
    if len(target.shape) != 1 or not source.shape or target.shape[0] == 1:
        return False
    count, into, out_of = target.shape[0], target.strides[0], source.strides[-1]
    if into == out_of or into * out_of <= 0:
        return False
    last = (count - 1) * into, (count - 1) * out_of
    to, at = target.offset + min(last[0], 0), source.offset + min(last[1], 0)
    into, out_of = abs(into), abs(out_of)
    backwards = at < to < at + count * out_of
    if at + count * out_of <= to or to + count * into <= at:
        return False
    return out_of > into if backwards else out_of < into


def overlaps_itself(geometry: Geometry) -> bool:
    """Say whether elements of a view may share bytes with others of it."""
    reach = geometry.dtype.itemsize
    for stride, extent in sorted(zip(map(abs, geometry.strides), geometry.shape, strict=True)):
        if extent > 1:
            if stride < reach:
                return True
            reach += (extent - 1) * stride
    return False


_MOST_WORK = 10_000  # steps of the search for a byte that two views share


class _Nowhere:
    """What NumPy takes for an array at an address where nothing is."""

    def __init__(self, geometry: Geometry) -> None:
        self.__array_interface__ = {
            "data": (_NOWHERE + geometry.offset, True),
            "shape": geometry.shape,
            "strides": geometry.strides,
            "typestr": f"|V{geometry.dtype.itemsize}",
            "version": 3,
        }


_NOWHERE = 1 << 32


def lie_apart(first: Geometry, second: Geometry) -> bool:
    """Say whether two views of one base are known to share no byte."""
    here, there = np.asarray(_Nowhere(first)), np.asarray(_Nowhere(second))
    return not np.may_share_memory(here, there, max_work=_MOST_WORK)  # type: ignore[arg-type]


def over(geometry: tuple[Any, ...], memory: np.ndarray) -> np.ndarray:
    """Return the view of ``memory`` that a geometry, or a plain tuple of its fields, describes."""
    offset, shape, strides, dtype = geometry
    if 0 in shape:  # no element, so no offset or stride to check
        empty: np.ndarray = np.ndarray(shape, dtype, memory)
        return empty
    view: np.ndarray = np.ndarray(shape, dtype, memory, offset, strides)
    return view


def contiguous_strides(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...]:
    """Return the C-order strides of ``shape`` in bytes, as NumPy reports them."""
    if 0 in shape:
        return np.empty(shape, (np.void, itemsize)).strides
    strides = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(extent, 1)
    return tuple(reversed(strides))


def overlap(inputs: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> bool:
    """Say whether an output may share memory with an input, by where they begin and end."""
    share = np.may_share_memory
    return True in [share(array, out) for out in outs for array in inputs]
