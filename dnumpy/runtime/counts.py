"""Counting at home on all threads, each in counters of its own, once there is a kernel for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.config import thread_count
from dnumpy.expr.geometry import address_of
from dnumpy.kernels import counts as kernels
from dnumpy.ops.families import added_pairwise
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.kernels.choose import LoneKernel
    from dnumpy.kernels.compile import Compiled

SMALLEST = 1 << 18  # values; below this waking threads costs more than it gains
LARGEST = 1 << 16  # counters, beside which their own sets for each thread are little
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


def timed(kernel: LoneKernel, call: Callable[[], Any]) -> Any:
    """Return what NumPy gives in place of a kernel, which hears how long that took."""
    started = time.perf_counter()
    found = call()
    kernel.missed(time.perf_counter() - started)
    return found


def bincount(values: np.ndarray, least: int) -> np.ndarray | None:
    """Return ``numpy.bincount`` of whole numbers; None where that is NumPy's to say."""
    if not _applies(values, "iu") or values.dtype == np.uint64 or least > LARGEST:
        return None
    kernel = kernels.whole(values.dtype)
    code = kernel.ready()
    if code is None:
        return timed(kernel, lambda: np.bincount(values, minlength=least))
    size = max(int(values[:GUESSED_FROM].max()) + 1, least)
    found = _counted(code, values, size) if 0 < size <= LARGEST else None
    if found is None:
        low, high = int(values.min()), int(values.max())
        size = max(high + 1, least)
        found = _counted(code, values, size) if low >= 0 and size <= LARGEST else None
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
    """Return how many float64 lie in bins of equal width; None where there is no kernel yet."""
    if not _applies(values, "f") or values.dtype != np.float64 or edges.dtype != np.float64:
        return None
    bins = len(edges) - 1
    with np.errstate(all="ignore"):
        width = edges[-1] - edges[0]
    if not 0 < bins <= LARGEST or not 0 < width < np.inf:
        return None
    edges = np.ascontiguousarray(edges)
    if native.built:
        return _binned(values, bins, edges)
    code = kernels.BINS.ready()
    return None if code is None else _counted(code, values, bins, edges)


def _binned(values: np.ndarray, bins: int, edges: np.ndarray) -> np.ndarray | None:
    """Return what the module in C counts; None where a value was in no bin that there is."""
    count = thread_count()
    step = -(-values.size // count)
    counters = np.zeros((count, kernels.LANES, bins), np.intp)
    counted = [False] * count

    def run(k: int) -> None:
        counted[k] = native.count_bins(values[k * step : (k + 1) * step], edges, counters[k])

    share_out(run, range(count))
    if not all(counted):
        return None
    found: np.ndarray = counters.sum(axis=(0, 1))
    return found


def _counted(
    code: Compiled, values: np.ndarray, size: int, edges: np.ndarray | None = None
) -> np.ndarray | None:
    """Return the counts; None where a value was beyond the counters."""
    count = thread_count()
    step = -(-values.size // count)
    counters = np.zeros((count, kernels.LANES, size), np.int64)
    given = np.zeros((count, 8), np.int64)

    def run(k: int) -> None:
        part = values[k * step : (k + 1) * step]
        at = 0 if edges is None else address_of(edges)
        given[k, :5] = address_of(part), address_of(counters[k]), part.size, size, at
        code(address_of(given[k]), 0, 0)

    share_out(run, range(count))
    if given[:, 5].any():
        return None
    found: np.ndarray = counters.sum(axis=(0, 1), dtype=np.intp)
    return found
