"""Sums of large arrays that lie here, at lines that look at each by itself: nothing is recorded.

Recording a sum, evaluating it and keeping account of that takes 30 us, as long as passing 300,000
elements that lie in a cache; where a program has just passed large arrays through that cache, which
pushes Python's code out of it, 400 us. So a sum or mean over one axis or all is one call of the
module in C (``native/lone.c``), which asks this one how arrays of a kind are summed.
"""

from __future__ import annotations

import time
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from dnumpy.api import lone
from dnumpy.api.array import SEEN, lying_here, ndarray, small
from dnumpy.api.buffer import Buffer
from dnumpy.api.layout import descends
from dnumpy.config import config, threads_for
from dnumpy.expr import unread
from dnumpy.expr.expr import leaf, make
from dnumpy.expr.geometry import Geometry, address_of
from dnumpy.expr.origin import Site, here, told_at_once
from dnumpy.kernels import sums
from dnumpy.ops.families import reduction_of
from dnumpy.rewrite.phase import ReduceParams
from dnumpy.runtime import direct

_MOST_KNOWN = 1024
MOST_BYTES = 24 << 20  # of what is summed; native/record.h, too


class Way(NamedTuple):
    """How arrays of one kind are summed."""

    seen: sums.Way
    each: int  # of how many elements a sum is
    tile_rows: int
    shape: tuple[int, ...]  # of the result
    kept: tuple[int, ...]  # the same with axes of one element for those that are summed over


def now(array: Any, axis: Any, keepdims: Any) -> Any:
    """Return the sum over an axis or all as NumPy returns it; None where it is to be recorded."""
    found = _floats_of(array, axis, MOST_BYTES)
    if found is None:
        return None
    memory, way, turned = found
    site = here().site
    race = site.race
    takes_turn = race is not None and race.by_numpy and race.apart
    if not takes_turn and (site.alone < Site.SURE or not site.computes_at_once()):
        return None
    started = time.perf_counter()
    total = _summed(memory, way, keepdims=bool(keepdims))
    if takes_turn and total is not None:
        site.took(time.perf_counter() - started)
    return _given(array, total.T if turned and total is not None else total)


def variance_now(array: Any, axis: Any, ddof: float, keepdims: Any) -> Any:
    """Return the variance over an axis or all, by NumPy's formula; None where it is to be recorded.

    What fits a cache is passed four times as fast as it is put together to be passed twice.
    """
    found = _floats_of(array, axis, direct.FOLDED_BYTES)
    if found is None:
        return None
    memory, way, turned = found
    faults: list[str] = []
    with np.errstate(all="call", call=lambda kind, _flag: faults.append(kind)):
        total = _summed(memory, way, keepdims=True)
        if total is None:
            return None
        means = total / way.each
        folded = _summed(memory, way, keepdims=bool(keepdims), means=means)
        variance = None if folded is None else np.asarray(folded / max(way.each - ddof, 0))
    if faults or variance is None:
        return None
    return _given(array, variance.T if turned else variance)


def told_way(memory: np.ndarray, axis: int | None) -> tuple[Any, ...] | None:
    """Return for the module in C how to sum such floats over an axis or all; None if Python has to.

    That is the name of the way, the shape in which it sees them, the rows of that to a tile, how
    many elements each sum is of, and the shape of the result without and with the axis.
    """
    sizes = (config.tile_bytes, config.tile_rows_max)
    way = _way(memory.shape, memory.strides, memory.dtype, axis, sizes)
    if way is None:
        return None
    seen = way.seen
    return seen.kind, seen.shape, seen.tile(way.tile_rows), way.each, way.shape, way.kept


def _floats_of(array: Any, axis: Any, most: int) -> tuple[np.ndarray, Way, bool] | None:
    """Return floats that lie here, at most so many bytes, how to sum them, and if they are turned.

    A matrix that is seen the other way round is summed in the order in which it lies.
    """
    if type(array) is not ndarray or array._np is not None or type(array._buf) is not Buffer:
        return None
    memory = array._buf.expr.value
    turned = array._place is not None and _is_turned(array, memory)
    if array._place is not None and not turned:
        memory = lying_here(array)
    if type(memory) is not np.ndarray or memory.nbytes > most:
        return None
    if axis is not None:
        if type(axis) is not int and not (
            type(axis) is tuple and all(type(k) is int for k in axis)
        ):
            return None
        if turned:
            if type(axis) is not int or not -2 <= axis < 2:
                return None
            axis = 1 - axis % 2
    sizes = (config.tile_bytes, config.tile_rows_max)
    way = _way(memory.shape, memory.strides, memory.dtype, axis, sizes)
    if way is None or told_at_once() or not lone.is_free(memory.nbytes):
        return None
    return memory, way, turned


@lru_cache(maxsize=_MOST_KNOWN)
def _way(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype,
    axis: int | tuple[int, ...] | None,
    sizes: tuple[int, int],
) -> Way | None:
    """Return how such arrays are summed; None where that is to be recorded."""
    count = len(shape)
    if not shape or 0 in shape or dtype.char not in "fd" or not dtype.isnative:
        return None
    if not descends(shape, strides):
        return None
    try:
        axes = tuple(range(count)) if axis is None else normalize_axis_tuple(axis, count)
    except ValueError:
        return None  # NumPy says why
    seen = sums.way_of(shape, strides, tuple(sorted(axes))) if axes else None
    if seen is None:
        return None
    kept = tuple(1 if k in axes else n for k, n in enumerate(shape))
    left = tuple(n for k, n in enumerate(shape) if k not in axes)
    given = leaf(np.broadcast_to(np.zeros((), dtype), shape), shape, dtype)
    params = ReduceParams(
        tuple(sorted(axes)), keepdims=False, dtype=None, initial=None, masked=False
    )
    expr = make(reduction_of(np.add), (given,), params, left, dtype)
    each = prod(shape[k] for k in axes)
    return Way(seen, each, direct.phase_alone(expr, sizes).tile_rows, left, kept)


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


def _given(array: ndarray, found: np.ndarray | None) -> Any:
    """Return what was made of an array, of which is noted that it was read."""
    if found is None:
        return None
    if unread.watched:
        unread.note_read(array._buf.expr)
    return small(found) if found.shape else found[()]


def _summed(
    memory: np.ndarray, way: Way, *, keepdims: bool, means: np.ndarray | None = None
) -> np.ndarray | None:
    """Return what all lowerings give; None where a fault is to be told of.

    Where there are ``means``, that is the sum of squares beside them.
    """
    out = np.empty(way.kept if keepdims else way.shape, memory.dtype)
    threads = threads_for(memory.nbytes)
    return out if sums.total(memory, way.seen, way.tile_rows, out, means, threads) else None
