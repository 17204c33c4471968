"""Kernels that count whole numbers, and numbers in bins of equal width, in counters of their own.

They are given the address of eight numbers: those of the values, of the counters, how many values
and how many counters there are, and for bins the address of the edges. Two sets of counters take
turns, so that equal neighbours do not wait for each other. Whole numbers beyond the counters are
not counted but told of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnumpy.kernels.choose import LoneKernel

if TYPE_CHECKING:
    import numpy as np

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

BINS = LoneKernel(_BINS)
_whole: dict[str, LoneKernel] = {}


def whole(dtype: np.dtype) -> LoneKernel:
    """Return the kernel for whole numbers of a dtype of at most eight bytes, but for uint64."""
    code = f"{dtype.kind}{dtype.itemsize}"
    if code not in _whole:
        _whole[code] = LoneKernel(_WHOLE.format(code=code))
    return _whole[code]
