"""What memory that is new to the process costs its first writer, as it is at this moment.

A virtual machine may have given what its programs freed back to its host, from which it must then
be fetched page by page: measured at 1.9 ns a byte, against 0.1 where it had not. Which of the two
awaits the next array no profile can tell that was taken at another moment, so a little is taken
and written to when a prediction needs to know, and kept, so that what is taken the next time is
new again. Whether an array would lie in new memory at all is for the C library to say: it is asked
for as much, and the system whether there are pages behind that.
"""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import median
from time import monotonic, thread_time
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.geometry import address_of
from dnumpy.runtime import measure
from dnumpy.runtime.memory import fresh as block_of

if TYPE_CHECKING:
    from collections.abc import Sequence

PROBED_SHARE = 1 / 8  # of what is to be new: what probing may cost of what it foretells
HUGE_PAGE, MOST_PAGES = 1 << 21, 3
HOLDS_SECONDS = 1.0


@dataclass(slots=True)
class Fresh:
    """ns per byte of the first touch, measured again when it is asked for a second later."""

    ns: float = 0.0
    known_at: float = float("-inf")
    held: list[np.ndarray] = field(default_factory=list)

    def touch_ns(self, new_bytes: float, otherwise: float) -> float:
        """Return ns per byte of so much new memory; ``otherwise`` where too little to be worth it.

        What is held to find out is at most ``MOST_PAGES`` huge pages.
        """
        pages = min(int(PROBED_SHARE * new_bytes) // HUGE_PAGE, MOST_PAGES)
        if not pages:
            return otherwise
        now = monotonic()
        if now - self.known_at > HOLDS_SECONDS:
            found = [measure.touched_ns(HUGE_PAGE, thread_time) for _ in range(pages)]
            self.ns = median(ns for ns, _ in found)
            self.held[:] = [memory for _, memory in found]
            self.known_at = now
        return self.ns


here = Fresh()


def untouched_bytes(sizes: Sequence[int]) -> float:
    """Return how many bytes of arrays of these sizes, made now, nobody would have written to."""
    blocks = [block_of(size) for size in sizes]  # all at once
    held = [np.frombuffer(block.buffer, np.uint8, block.nbytes) for block in blocks]
    return float(sum(map(_untouched, held)))


def _untouched(block: np.ndarray) -> int:
    """Return the bytes of the block that have no page yet; all of it where nobody can say."""
    page = mmap.PAGESIZE
    start = address_of(block)
    first = start + -start % page
    pages = (start + block.nbytes - first) // page
    asked = _mincore()
    if asked is None or pages <= 0:
        return block.nbytes
    there = np.empty(pages, np.uint8)
    if asked(
        ctypes.c_void_p(first), ctypes.c_size_t(pages * page), ctypes.c_void_p(there.ctypes.data)
    ):
        return block.nbytes
    missing = pages - int(np.count_nonzero(there & 1))
    return block.nbytes * missing // pages


@lru_cache(maxsize=1)
def _mincore() -> Any:
    """Return the system's call that tells which pages are there; None where it has none."""
    try:
        return ctypes.CDLL(None).mincore
    except (AttributeError, OSError, TypeError):
        return None
