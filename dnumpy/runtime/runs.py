"""One long line sorted on all threads, where it lies and by NumPy alone.

It is partitioned at its middle, and so are its parts, until there is one for each thread to sort:
that takes no memory, and as long as merging sorted parts would.

On some processors there is a faster way once a kernel is at hand (:mod:`dnumpy.runtime.buckets`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnumpy.config import thread_count
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

SMALLEST = 1 << 20  # elements; below this merging costs what was gained
KINDS = frozenset("ilqILQfd")  # whose equal elements cannot be told apart, but for signs of zero


def applies(dtype: np.dtype, size: int) -> bool:
    """Say whether a line is sorted sooner by several threads than by NumPy."""
    return size >= SMALLEST and dtype.char in KINDS and dtype.isnative and thread_count() > 1


def sort(line: np.ndarray) -> None:
    """Sort a line of adjacent elements in its place, NaN last as NumPy does."""
    parts = [line]
    while len(parts) < thread_count():
        _each(parts, lambda part: part.partition(part.size // 2) if part.size else None)
        halves = [(part[: part.size // 2], part[part.size // 2 :]) for part in parts]
        parts = [half for pair in halves for half in pair]
    _each(parts, lambda part: part.sort())


def _each(parts: Sequence[np.ndarray], do: Callable[[np.ndarray], None]) -> None:
    share_out(lambda k: do(parts[k]), range(len(parts)))
