"""One long line sorted on all threads, where it lies and by NumPy alone.

It is partitioned at its middle, and so are its parts, until there is one for each thread to sort:
that takes no memory, and as long as merging sorted parts would.

Where elements would be sorted is told by parts sorted apart, each of which looks up its places in
its neighbour. That is NumPy's answer where no two elements are equal. The order that NumPy gives
equal ones is its own: where some turn up, it is asked. There is a faster way once a kernel is at
hand (:mod:`dnumpy.runtime.buckets`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnumpy.config import thread_count
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SMALLEST = 1 << 20  # elements; below this merging costs what was gained
BLOCK = 1 << 16  # elements that look up their places at a time
SAMPLE = 1 << 16  # elements, in which equal ones turn up where there are many
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


class _Run(NamedTuple):
    """Elements in order, and where in the line they are."""

    values: np.ndarray
    places: np.ndarray


def argsort(line: np.ndarray) -> np.ndarray | None:
    """Return where the elements would be sorted; None where two of them are equal, or missing."""
    if not distinct(np.sort(line[:: max(1, line.size // SAMPLE)])):
        return None
    count = 1 << (thread_count().bit_length() - 1)
    bounds = [k * line.size // count for k in range(count + 1)]
    sorted_parts: dict[int, _Run] = {}

    def alone(k: int) -> None:
        part = line[bounds[k] : bounds[k + 1]]
        places = part.argsort()
        values = part[places]
        places += bounds[k]
        if distinct(values):
            sorted_parts[k] = _Run(values, places)

    share_out(alone, range(count))
    runs = [sorted_parts[k] for k in sorted(sorted_parts)] if len(sorted_parts) == count else []
    while len(runs) > 1:
        runs = _joined(runs, last=len(runs) == 2)
    return runs[0].places if runs else None


def distinct(values: np.ndarray) -> bool:
    """Say whether no two elements in order are equal; NaN, which is last, counts as equal."""
    if values.size and values[-1] != values[-1]:
        return False
    return not bool((values[1:] == values[:-1]).any())


def _joined(runs: Sequence[_Run], *, last: bool) -> list[_Run]:
    """Return runs merged in pairs, the last without its values; nothing where two are equal."""
    pairs = list(zip(runs[::2], runs[1::2], strict=True))
    joined = [_empty([a, b], with_values=not last) for a, b in pairs]
    tied: list[int] = []

    def place(k: int) -> None:
        """Bring the elements of one run to where they are in both."""
        into = joined[k // 2]
        own, other = pairs[k // 2][k % 2], pairs[k // 2][1 - k % 2]
        for start in range(0, own.places.size, BLOCK):
            values = own.values[start : start + BLOCK]
            at = np.searchsorted(other.values, values, "right" if k % 2 else "left")
            if tied or _meets(other.values, at - k % 2, values):
                tied.append(k)
                return
            at += np.arange(start, start + at.size)
            into.places[at] = own.places[start : start + BLOCK]
            if not last:
                into.values[at] = values

    share_out(place, range(2 * len(pairs)))
    return [] if tied else joined


def _meets(others: np.ndarray, at: np.ndarray, values: np.ndarray) -> bool:
    """Say whether any value equals its neighbour in the other run."""
    return others.size > 0 and bool((others.take(at, mode="clip") == values).any())


def _empty(runs: Sequence[_Run], *, with_values: bool) -> _Run:
    size = sum(run.places.size for run in runs)
    values = np.empty(size if with_values else 0, runs[0].values.dtype)
    return _Run(values, np.empty(size, np.intp))
