"""One long line sorted on all threads: each sorts a part, and neighbours are merged in pairs.

The merge is NumPy's own: its stable sort (timsort, for the dtypes here) finds the two runs that lie
side by side and merges them in one pass, with half of them copied.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dnumpy.config import thread_count
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    import numpy as np

SMALLEST = 1 << 20  # elements; below this merging costs what was gained
KINDS = frozenset("ilqILQfd")  # whose equal elements cannot be told apart, but for signs of zero


def applies(dtype: np.dtype, size: int) -> bool:
    """Say whether a line is sorted sooner by several threads than by NumPy."""
    return size >= SMALLEST and dtype.char in KINDS and dtype.isnative and thread_count() > 1


def sort(line: np.ndarray) -> None:
    """Sort a line of adjacent elements in its place, NaN last as NumPy does."""
    count = 1 << (thread_count().bit_length() - 1)
    bounds = [k * line.size // count for k in range(count + 1)]

    def alone(k: int) -> None:
        line[bounds[k] : bounds[k + 1]].sort()

    share_out(alone, range(count))
    while count > 1:
        bounds, count = bounds[::2], count // 2
        share_out(partial(_merge, line, bounds), range(count))


def _merge(line: np.ndarray, bounds: list[int], k: int) -> None:
    line[bounds[k] : bounds[k + 1]].sort(kind="stable")
