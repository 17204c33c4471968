"""Counting at home on all threads, each in counters of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.config import thread_count
from dnumpy.kernels.counts import LARGEST, in_bins
from dnumpy.native.weighed import sums
from dnumpy.ops.families import added_pairwise

if TYPE_CHECKING:
    from collections.abc import Callable

SMALLEST = 1 << 18  # values; below this waking threads costs more than it gains
GUESSED_FROM = 1 << 14  # values, whose largest often is the largest of all


def _applies(values: object, kinds: str) -> bool:
    return (
        type(values) is np.ndarray
        and values.ndim == 1
        and values.size >= SMALLEST
        and values.flags.c_contiguous
        and values.flags.aligned
        and values.dtype.isnative
        and values.dtype.kind in kinds
    )


def bincount(values: np.ndarray, least: int) -> np.ndarray | None:
    """Return ``numpy.bincount`` of whole numbers; None where that is NumPy's to say."""
    if not _applies(values, "iu") or values.dtype == np.uint64 or least > LARGEST:
        return None
    threads = thread_count()
    size = max(int(values[:GUESSED_FROM].max()) + 1, least)
    found = native.count_whole(values, size, threads) if 0 < size <= LARGEST else None
    if found is None and native.built:
        low, high = int(values.min()), int(values.max())
        size = max(high + 1, least)
        found = native.count_whole(values, size, threads) if low >= 0 and size <= LARGEST else None
    return found


def weighed(
    values: np.ndarray, weights: np.ndarray, least: int, block_of: Callable[[int], int]
) -> np.ndarray:
    """Return the sums of weights by whole numbers, added as a fold of blocks adds.

    There are ``least`` of them at least, and of so many a block has the rows that ``block_of``
    says. Raises what ``numpy.bincount`` raises.
    """
    if _applies(values, "iu") and weights.dtype == np.float64:
        size = max(int(values[:GUESSED_FROM].max()) + 1, least)
        found = sums(values, weights, size, block_of(size), thread_count())
        if found is not None:
            return _added(found)
    size = max(int(values.max()) + 1, least)
    block = block_of(size)
    starts = range(0, len(values), block)
    found = sums(values, weights, size, block, thread_count())
    if found is not None:
        return _added(found)
    return _added(
        [np.bincount(values[k : k + block], weights[k : k + block], size) for k in starts]
    )


def _added(partials: Any) -> np.ndarray:
    found: np.ndarray = added_pairwise(list(partials), None)
    return found


def histogram(values: np.ndarray, edges: np.ndarray) -> np.ndarray | None:
    """Return how many float64 lie in bins of equal width; None where others are to count them."""
    return in_bins(values, edges, thread_count()) if _applies(values, "f") else None
