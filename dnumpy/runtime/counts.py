"""Counting at home on all threads, each in counters of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from dnumpy import native
from dnumpy.config import thread_count
from dnumpy.kernels.counts import LARGEST, in_bins
from dnumpy.ops.families import added_pairwise
from dnumpy.runtime.threads import share_out

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


def weighed(values: np.ndarray, weights: np.ndarray, size: int, block: int) -> np.ndarray:
    """Return the sums of weights by whole numbers below ``size``, added as a fold of blocks adds.

    Raises what ``numpy.bincount`` raises.
    """
    starts = range(0, len(values), block)
    partials: list[Any] = [None] * len(starts)

    def count(k: int) -> None:
        lo = starts[k]
        partials[k] = np.bincount(values[lo : lo + block], weights[lo : lo + block], size)

    if len(starts) > 1 and values.size >= SMALLEST:
        share_out(count, range(len(starts)))
    else:
        for k in range(len(starts)):
            count(k)
    found: np.ndarray = added_pairwise(partials, None)
    return found


def histogram(values: np.ndarray, edges: np.ndarray) -> np.ndarray | None:
    """Return how many float64 lie in bins of equal width; None where others are to count them."""
    return in_bins(values, edges, thread_count()) if _applies(values, "f") else None
