"""Elements read by an array of places, on all threads.

NumPy reads ``values[places]`` in one thread and looks at every place twice. Here each thread finds
the extremes of some places, and then takes; what is out of bounds is left for NumPy to refuse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnumpy.runtime.memory import pool
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    from dnumpy.runtime.memory import Empty

SMALLEST = 1 << 17  # places; below this waking threads costs more than it gains
BLOCK = 1 << 16  # places: what is brought into bounds lies in the cache when it is read


def applies(values: object, places: object) -> bool:
    """Say whether these are many places along the first axis of an array in C order."""
    return (
        type(places) is np.ndarray
        and places.dtype.kind in "iu"
        and places.size >= SMALLEST
        and places.flags.c_contiguous
        and type(values) is np.ndarray
        and values.ndim > 0
        and len(values) > 0
        and values.flags.c_contiguous
        and not values.dtype.hasobject
        and np.can_cast(places.dtype, np.intp, "same_kind")
    )


def take(values: np.ndarray, places: np.ndarray, empty: Empty = pool.empty) -> np.ndarray | None:
    """Return ``values[places]`` in new memory; None where a place is out of bounds."""
    line = places.reshape(-1)
    starts = range(0, line.size, BLOCK)
    count = len(values)
    lows, highs = [0] * len(starts), [0] * len(starts)

    def bound(start: int) -> None:
        block = line[start : start + BLOCK]
        lows[start // BLOCK], highs[start // BLOCK] = int(block.min()), int(block.max())

    share_out(bound, starts)
    if min(lows) < -count or max(highs) >= count:
        return None
    rest = values.shape[1:]
    out = empty((*places.shape, *rest), values.dtype)
    rows = out.reshape((line.size, *rest))

    def fill(start: int) -> None:
        block = line[start : start + BLOCK].astype(np.intp, copy=False)
        if lows[start // BLOCK] < 0:
            block = np.where(block < 0, block + count, block)
        # all are in bounds: NumPy need not keep a copy in case one is not
        np.take(values, block, 0, rows[start : start + BLOCK], "clip")

    share_out(fill, starts)
    return out
