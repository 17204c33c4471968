"""Kernels that count whole numbers, and numbers in bins of equal width, in counters of their own.

They are given the address of eight numbers: those of the values, of the counters, how many values
and how many counters there are, and for bins the address of the edges. Two sets of counters take
turns, so that equal neighbours do not wait for each other. Whole numbers beyond the counters are
not counted but told of.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dnumpy import native
from dnumpy.kernels.choose import LoneKernel

LANES = 2

_WHOLE = """\
def kernel(given, _unused, _other):
    values = load_i8(given, 0, 0, 0)
    counters = load_i8(given, 1, 0, 0)
    count = load_i8(given, 2, 0, 0)
    size = load_i8(given, 3, 0, 0)
    beyond = 0
    for i in range(count):
        k = i8(load_{code}(values, i, 0, 0))
        if 0 <= k < size:
            at = k + (i & 1) * size
            store_i8(counters, at, load_i8(counters, at, 0, 0) + 1, 0, 0)
        else:
            beyond += 1
    store_i8(given, 5, beyond, 0, 0)
"""

# numpy.histogram's own steps, one value at a time
_BINS = """\
def kernel(given, _unused, _other):
    values = load_i8(given, 0, 0, 0)
    counters = load_i8(given, 1, 0, 0)
    count = load_i8(given, 2, 0, 0)
    bins = load_i8(given, 3, 0, 0)
    edges = load_i8(given, 4, 0, 0)
    first = load_f8(edges, 0, 0, 0)
    last = load_f8(edges, bins, 0, 0)
    width = last - first
    scale = f8(bins)
    for i in range(count):
        x = load_f8(values, i, 0, 0)
        if first <= x <= last:
            k = i8((x - first) / width * scale)
            if k >= bins:
                k = bins - 1
            if x < load_f8(edges, k, 0, 0):
                k -= 1
            if k != bins - 1 and x >= load_f8(edges, k + 1, 0, 0):
                k += 1
            at = k + (i & 1) * bins
            store_i8(counters, at, load_i8(counters, at, 0, 0) + 1, 0, 0)
"""

FEWEST = 512  # values, before which NumPy's steps cost more than they count
LARGEST = 1 << 16  # bins, beside which two rows of counters are little


def in_bins(values: np.ndarray, edges: np.ndarray) -> np.ndarray | None:
    """Return how many float64 lie in each bin of equal width; None where NumPy is to count them."""
    bins = len(edges) - 1
    plain = values.dtype == edges.dtype == np.float64 and values.dtype.isnative
    if not (plain and values.flags.carray and native.built and 0 < bins <= LARGEST):
        return None
    with np.errstate(all="ignore"):
        width = edges[-1] - edges[0]
    if not 0 < width < np.inf:
        return None
    counters = np.zeros((2, bins), np.intp)
    counted = native.count_bins(values, np.ascontiguousarray(edges), counters)
    return counters[0] + counters[1] if counted else None


def histogram(
    a: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002 - NumPy's name
    density: Any = None,
    weights: Any = None,
) -> Any:
    """Return what :func:`numpy.histogram` returns, of arrays of NumPy's."""
    plain = type(a) is np.ndarray and type(bins) is int and weights is None
    if not plain or a.size < FEWEST or a.dtype != np.float64:
        return np.histogram(a, bins, range, density, weights)
    edges = np.histogram_bin_edges(a, bins, range)
    counts = in_bins(a, edges)
    if counts is None:
        return np.histogram(a, bins, range, density, weights)
    if density:
        return counts / np.array(np.diff(edges), float) / counts.sum(), edges
    return counts, edges


BINS = LoneKernel(_BINS)
_whole: dict[str, LoneKernel] = {}


def whole(dtype: np.dtype) -> LoneKernel:
    """Return the kernel for whole numbers of a dtype of at most eight bytes, but for uint64."""
    code = f"{dtype.kind}{dtype.itemsize}"
    if code not in _whole:
        _whole[code] = LoneKernel(_WHOLE.format(code=code))
    return _whole[code]
