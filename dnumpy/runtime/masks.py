"""Boolean masks over whole arrays, on all threads.

Reading counts each block's true elements first, so that every block knows where its elements go;
the result is NumPy's, in C order. It is done by threads of the module in C, since what there is to
do takes less than waking others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnumpy import native
from dnumpy.config import thread_count
from dnumpy.runtime.memory import pool

if TYPE_CHECKING:
    from dnumpy.runtime.memory import Empty

SMALLEST = 1 << 18  # elements; below this waking threads costs more than it gains


def applies(values: np.ndarray, mask: object) -> bool:
    """Say whether ``mask`` is a boolean mask over all of ``values``, big enough to share out."""
    return (
        type(mask) is np.ndarray
        and mask.dtype == bool
        and mask.shape == values.shape
        and values.size >= SMALLEST
        and values.flags.c_contiguous
        and mask.flags.c_contiguous
    )


def take(values: np.ndarray, mask: np.ndarray, empty: Empty = pool.empty) -> np.ndarray:
    """Return ``values[mask]`` in new memory."""
    flat, chosen = values.reshape(-1), mask.reshape(-1)

    def make(count: int) -> np.ndarray:
        return empty((count,), values.dtype)

    taken = native.take_by_mask(flat, chosen, make, thread_count())
    if taken is None:
        taken = make(int(np.count_nonzero(chosen)))
        np.compress(chosen, flat, out=taken)
    return taken


def put(values: np.ndarray, mask: np.ndarray, new: np.ndarray) -> bool:
    """Perform ``values[mask] = new`` for a 1-D ``new`` with one element per true element.

    False, with nothing written, where NumPy is to do it: it says what is wrong.
    """
    return native.put_by_mask(values.reshape(-1), mask.reshape(-1), new, thread_count())
