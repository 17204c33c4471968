"""One long line sorted on all threads: each sorts a part, and neighbours are merged in pairs.

The merge is NumPy's own: its stable sort (timsort, for the dtypes here) finds the two runs that lie
side by side and merges them in one pass, with half of them copied.

Where elements would be sorted is told likewise, each run looking up its place in its neighbour.
That is NumPy's answer where no two elements are equal. The order that NumPy gives equal ones is its
own: where some turn up, it is asked.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from dnumpy.config import thread_count
from dnumpy.runtime.threads import share_out

SMALLEST = 1 << 20  # elements; below this merging costs what was gained
SAMPLE = 1 << 16  # elements, in which equal ones turn up where there are many
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


class _Run(NamedTuple):
    """Elements in order, and where in the line they are."""

    values: np.ndarray
    places: np.ndarray


def argsort(line: np.ndarray) -> np.ndarray | None:
    """Return where the elements would be sorted; None where two of them are equal, or missing."""
    if not _distinct(np.sort(line[:: max(1, line.size // SAMPLE)])):
        return None
    count = 1 << (thread_count().bit_length() - 1)
    bounds = [k * line.size // count for k in range(count + 1)]
    runs: list[_Run | None] = [None] * count

    def alone(k: int) -> None:
        part = line[bounds[k] : bounds[k + 1]]
        places = part.argsort()
        values = part[places]
        places += bounds[k]
        runs[k] = _Run(values, places) if _distinct(values) else None

    share_out(alone, range(count))
    found = [run for run in runs if run is not None]
    while len(found) == count and count > 1:
        count //= 2
        found = _joined(found)
    return found[0].places if len(found) == count else None


def _distinct(values: np.ndarray) -> bool:
    """Say whether no two elements in order are equal; NaN, which is last, counts as equal."""
    if values.size and values[-1] != values[-1]:
        return False
    return not bool((values[1:] == values[:-1]).any())


def _joined(runs: list[_Run]) -> list[_Run]:
    """Return runs merged in pairs, those without equal elements."""
    pairs = list(zip(runs[::2], runs[1::2], strict=True))
    joined = [
        _Run(*(np.empty(len(a.places) + len(b.places), x.dtype) for x in a)) for a, b in pairs
    ]

    def place(k: int) -> None:
        """Bring the elements of one run to where they are in both."""
        pair, into = pairs[k // 2], joined[k // 2]
        own, other = pair[k % 2], pair[1 - k % 2]
        at = np.searchsorted(other.values, own.values, "right" if k % 2 else "left")
        at += np.arange(at.size)
        into.places[at] = own.places
        into.values[at] = own.values

    share_out(place, range(2 * len(pairs)))
    return [run for run in joined if _distinct(run.values)]
