"""Sums of large arrays that lie here, at lines that look at each by itself: nothing is recorded.

Recording a sum, evaluating it and keeping account of that takes 30 us, as long as passing 300,000
elements that lie in a cache.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy as np

from dnumpy.api import lone
from dnumpy.api.array import SEEN, ndarray, small
from dnumpy.api.buffer import Buffer
from dnumpy.config import config
from dnumpy.expr import unread
from dnumpy.expr.expr import leaf, make
from dnumpy.expr.geometry import Geometry, address_of
from dnumpy.expr.origin import Site, here, told_at_once
from dnumpy.kernels import sums
from dnumpy.ops.families import reduction_of
from dnumpy.rewrite.phase import ReduceParams
from dnumpy.runtime import direct

_MOST_KNOWN = 1024


def now(array: Any, axis: Any, keepdims: Any) -> Any:
    """Return the sum over an axis or all as NumPy returns it; None where it is to be recorded."""
    memory = _memory_of(array, axis)
    if memory is None:
        return None
    turned = array._place is not None
    if turned:
        axis = _other(axis)
    site = here().site
    race = site.race
    takes_turn = race is not None and race.by_numpy and race.apart
    if not takes_turn and (site.alone < Site.SURE or not site.computes_at_once()):
        return None
    started = time.perf_counter()
    found = _summed(memory, _axes(memory, axis), keepdims=bool(keepdims))
    if takes_turn and found is not None:
        site.took(time.perf_counter() - started)
    return _given(array, found.T if turned and found is not None else found)


def variance_now(array: Any, axis: Any, ddof: float, keepdims: Any) -> Any:
    """Return the variance over an axis or all, by NumPy's formula; None where it is to be recorded.

    What fits a cache is passed four times as fast as it is put together to be passed twice.
    """
    memory = _memory_of(array, axis)
    if memory is None:
        return None
    turned = array._place is not None
    if turned:
        axis = _other(axis)
    axes = _axes(memory, axis)
    count = memory.size if axis is None else memory.shape[axis]
    faults: list[str] = []
    with np.errstate(all="call", call=lambda kind, _flag: faults.append(kind)):
        total = _summed(memory, axes, keepdims=True)
        if total is None:
            return None
        means = total / count
        folded = _summed(memory, axes, keepdims=bool(keepdims), means=means)
        found = None if folded is None else np.asarray(folded / max(count - ddof, 0))
    if faults or found is None:
        return None
    return _given(array, found.T if turned else found)


def _memory_of(array: Any, axis: Any) -> np.ndarray | None:
    """Return the memory of a whole array of floats that lies here and fits a cache.

    That of a matrix may be seen the other way round: it is summed in the order in which it lies.
    """
    if type(array) is not ndarray or array._np is not None or type(array._buf) is not Buffer:
        return None
    memory = array._buf.expr.value
    if array._place is not None and not _is_turned(array, memory):
        return None
    if (
        type(memory) is not np.ndarray
        or memory.dtype.char not in "fd"
        or memory.nbytes > direct.FOLDED_BYTES
    ):
        return None
    if axis is not None and type(axis) is not int:
        return None
    if axis is not None and not (-memory.ndim <= axis < memory.ndim):
        return None  # NumPy says why
    along = axis if array._place is None else _other(axis)
    if not sums.has_total(memory.shape, _axes(memory, along)):
        return None
    return None if told_at_once() or not lone.is_free(memory.nbytes) else memory


def _is_turned(array: ndarray, memory: Any) -> bool:
    """Say whether an array is the transpose of a matrix, and not of one row or column."""
    if type(memory) is not np.ndarray or memory.ndim != 2 or min(memory.shape) < 2:
        return False
    shown: Any = array._place
    if shown is SEEN:
        shown = array._seen[1] if array._seen is not None and array._seen[0] is memory else None
    begins = (
        address_of(shown) == address_of(memory)
        if type(shown) is np.ndarray
        else type(shown) is Geometry and shown.offset == 0
    )
    return (
        begins
        and shown.shape == memory.shape[::-1]
        and shown.strides == memory.strides[::-1]
        and shown.dtype == memory.dtype
    )


def _other(axis: int | None) -> int | None:
    """Return the axis of a matrix that is ``axis`` of its transpose."""
    return None if axis is None else 1 - axis % 2


def _axes(memory: np.ndarray, axis: int | None) -> tuple[int, ...]:
    return tuple(range(memory.ndim)) if axis is None else (axis % memory.ndim,)


def _given(array: ndarray, found: np.ndarray | None) -> Any:
    """Return what was made of an array, of which is noted that it was read."""
    if found is None:
        return None
    if unread.watched:
        unread.note_read(array._buf.expr)
    return small(found) if found.shape else found[()]


def _summed(
    memory: np.ndarray, axes: tuple[int, ...], *, keepdims: bool, means: np.ndarray | None = None
) -> np.ndarray | None:
    """Return what all lowerings give; None where a fault is to be told of.

    Where there are ``means``, that is the sum of squares beside them.
    """
    kept = (n for k, n in enumerate(memory.shape) if k not in axes)
    shape = tuple(1 if k in axes else n for k, n in enumerate(memory.shape)) if keepdims else kept
    out = np.empty(tuple(shape), memory.dtype)
    sizes = (config.tile_bytes, config.tile_rows_max)
    rows = _tile_rows(memory.shape, memory.dtype, axes, sizes)
    return out if sums.total(memory, rows, axes, out, means) else None


@lru_cache(maxsize=_MOST_KNOWN)
def _tile_rows(
    shape: tuple[int, ...], dtype: np.dtype, axes: tuple[int, ...], sizes: tuple[int, int]
) -> int:
    """Return how many rows a tile of the phase has that would sum such an array."""
    given = leaf(np.broadcast_to(np.zeros((), dtype), shape), shape, dtype)
    params = ReduceParams(axes, keepdims=False, dtype=None, initial=None, masked=False)
    kept = tuple(n for k, n in enumerate(shape) if k not in axes)
    return direct.phase_alone(
        make(reduction_of(np.add), (given,), params, kept, dtype), sizes
    ).tile_rows
