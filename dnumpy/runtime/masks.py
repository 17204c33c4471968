"""Boolean masks over whole arrays, on all threads.

Reading counts each block's true elements first, so that every block knows where its elements go;
the result is NumPy's, in C order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnumpy import native
from dnumpy.config import thread_count
from dnumpy.runtime.memory import pool
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.runtime.memory import Empty

SMALLEST = 1 << 18  # elements; below this waking threads costs more than it gains
_BLOCKS_PER_THREAD = 4


def applies(values: np.ndarray, mask: object) -> bool:
    """Say whether ``mask`` is a boolean mask over all of ``values``, big enough to share out."""
    return (
        type(mask) is np.ndarray
        and mask.dtype == bool
        and mask.shape == values.shape
        and values.size >= SMALLEST
        and values.flags.c_contiguous
        and mask.flags.c_contiguous
        and thread_count() > 1
    )


def take(values: np.ndarray, mask: np.ndarray, empty: Empty = pool.empty) -> np.ndarray:
    """Return ``values[mask]`` in new memory."""
    flat, chosen = values.reshape(-1), mask.reshape(-1)
    blocks = _blocks(flat.size)
    counts = [0] * len(blocks)

    def count(k: int) -> None:
        counts[k] = int(np.count_nonzero(chosen[blocks[k]]))

    share_out(count, range(len(blocks)))
    starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
    out = empty((starts[-1],), values.dtype)

    def fill(k: int) -> None:
        mine, part = out[starts[k] : starts[k + 1]], blocks[k]
        if not native.take_by_mask(flat[part], chosen[part], mine):
            mine[...] = flat[part][chosen[part]]

    share_out(fill, range(len(blocks)))
    return out


def put(values: np.ndarray, mask: np.ndarray, new: np.ndarray) -> bool:
    """Perform ``values[mask] = new`` for a 1-D ``new`` with one element per true element.

    False, with nothing written, when the numbers differ: NumPy then says why.
    """
    flat, chosen = values.reshape(-1), mask.reshape(-1)
    blocks = _blocks(flat.size)
    counts = [0] * len(blocks)

    def count(k: int) -> None:
        counts[k] = int(np.count_nonzero(chosen[blocks[k]]))

    share_out(count, range(len(blocks)))
    starts = np.concatenate([[0], np.cumsum(counts)]).tolist()
    if starts[-1] != new.shape[0]:
        return False

    def write(k: int) -> None:
        mine, part = new[starts[k] : starts[k + 1]], blocks[k]
        if not native.put_by_mask(flat[part], chosen[part], mine):
            flat[part][chosen[part]] = mine

    share_out(write, range(len(blocks)))
    return True


def _blocks(size: int) -> Sequence[slice]:
    count = thread_count() * _BLOCKS_PER_THREAD
    step = -(-size // count)
    return [slice(lo, min(lo + step, size)) for lo in range(0, size, step)]
