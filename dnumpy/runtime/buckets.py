"""One long line sorted by way of buckets, each of which fits the cache of a core.

Splitters are drawn from a sample of the line. Each thread tells a part of the line into buckets,
in the order in which the values lie, and then the threads sort buckets. Where elements would be
sorted needs no memory but that of the answer: a bucket's places are in order before it is sorted,
so that its values are read from the line once more.

NumPy's answer is the same where no two elements are equal, or where equal ones keep their order.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from dnumpy.config import thread_count
from dnumpy.kernels import buckets as kernels
from dnumpy.runtime import runs
from dnumpy.runtime.counts import timed
from dnumpy.runtime.memory import pool
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    from dnumpy.kernels.compile import Compiled

SAMPLED = 32  # elements for each bucket
SORT_SAVES, ARGSORT_SAVES = 2e-8, 8e-8  # seconds an element, beside what NumPy alone does here
GROUP = 8  # buckets that a thread takes at a time


def sort_to(line: np.ndarray, out: np.ndarray) -> None:
    """Sort a line into ``out``, NaN last as NumPy does."""
    kernel = kernels.of(line.dtype)
    code = kernel.made_for(line.size * SORT_SAVES) if line.flags.c_contiguous else None
    if code is None:
        timed(kernel, lambda: _sort_copy(line, out))
        return
    bounds = _told(code, line, out, kernels.VALUES)

    def work(first: int) -> None:
        for lo, hi in _group(bounds, first):
            out[lo:hi].sort()

    share_out(work, range(0, kernels.BUCKETS, GROUP))


def _sort_copy(line: np.ndarray, out: np.ndarray) -> None:
    out[...] = line
    runs.sort(out)


def argsort(line: np.ndarray, *, stable: bool) -> np.ndarray | None:
    """Return where the elements of a line would be sorted.

    None where that is NumPy's to say, since two are equal, or missing.
    """
    kernel = kernels.of(line.dtype)
    code = kernel.made_for(line.size * ARGSORT_SAVES) if line.flags.c_contiguous else None
    if code is None:
        found: np.ndarray | None = timed(kernel, lambda: runs.argsort(line))
        return found
    places = pool.empty(line.shape, np.dtype(np.intp))
    return places if _places_in_order(code, line, places, stable=stable) else None


def _places_in_order(code: Compiled, line: np.ndarray, places: np.ndarray, *, stable: bool) -> bool:
    """Fill in the places; False where equal elements have an order that is NumPy's own."""
    bounds = _told(code, line, places, kernels.PLACES)
    kind = "stable" if stable else None
    tied: list[int] = []

    def work(first: int) -> None:
        for lo, hi in _group(bounds, first):
            if tied:
                return
            bucket = places[lo:hi]
            values = line[bucket]
            order = values.argsort(kind=kind)
            if not stable and not runs.distinct(values[order]):
                tied.append(lo)
                return
            places[lo:hi] = bucket[order]

    share_out(work, range(0, kernels.BUCKETS, GROUP))
    return not tied


def _group(bounds: np.ndarray, first: int) -> list[tuple[int, int]]:
    cuts = bounds[first : first + GROUP + 1].tolist()
    return [(lo, hi) for lo, hi in itertools.pairwise(cuts) if hi > lo]


def _told(code: Compiled, line: np.ndarray, target: np.ndarray, what: int) -> np.ndarray:
    """Tell a line into the buckets of ``target``; return where each begins, and the end."""
    splitters = _splitters(line)
    threads = thread_count()
    step = -(-line.size // threads)
    counters = np.zeros((threads, kernels.BUCKETS), np.int64)
    given = np.zeros((threads, kernels.FIELDS), np.int64)
    for k in range(threads):
        part = line[k * step : (k + 1) * step]
        given[k] = (
            part.ctypes.data,
            splitters.ctypes.data,
            counters[k].ctypes.data,
            target.ctypes.data,
            part.size,
            k * step,
            kernels.COUNT,
        )

    def run(k: int) -> None:
        code(given[k].ctypes.data, 0, 0)

    share_out(run, range(threads))
    sizes = counters.sum(axis=0)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    counters[...] = bounds[:-1] + np.cumsum(counters, axis=0) - counters
    given[:, -1] = what
    share_out(run, range(threads))
    return bounds


def _splitters(line: np.ndarray) -> np.ndarray:
    """Return the values between the buckets, in order."""
    draw = np.random.default_rng(line.size)
    sample = np.sort(line[draw.integers(0, line.size, SAMPLED * kernels.BUCKETS)])
    sample = sample[sample == sample]  # noqa: PLR0124 - NaN are beyond all splitters
    if not sample.size:
        return np.zeros(kernels.BUCKETS - 1, line.dtype)
    at = np.arange(1, kernels.BUCKETS) * sample.size // kernels.BUCKETS
    return np.ascontiguousarray(sample[at])
