"""One long line sorted on all threads, where it lies and by NumPy alone.

Where it lies, it is partitioned at its middle, and so are its parts, until there is one for each
thread to sort: that takes no memory, and as long as merging sorted parts would. Where it goes
elsewhere, all threads move the values of each part to where it is sorted (sample sort: Frazer and
McKellar, J. ACM 17, 1970).

On some processors there is a faster way (:mod:`dnumpy.runtime.buckets`).
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from dnumpy import native
from dnumpy.config import thread_count
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SMALLEST = 1 << 18  # elements; below this NumPy sorts as soon
SAMPLED = 4096  # elements for each part, by which these differ by some hundredths
DRAWN = 4096  # elements of the sample at a time
MOST_PARTS = 64
UNEVEN = 1.5  # times its share that the largest part may have
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


def sort_to(line: np.ndarray, out: np.ndarray) -> None:
    """Sort a line into ``out``, which does not overlap it."""
    if not _told_apart(line, out):
        out[...] = line
        sort(out)


def _told_apart(line: np.ndarray, out: np.ndarray) -> bool:
    """Sort by moving the values of each part to their place first; False where that is no gain.

    All threads move, where partitioning the whole line would be one thread's work.
    """
    threads = thread_count()
    adjacent = all(array.flags.c_contiguous and array.flags.aligned for array in (line, out))
    fits = line.size >= SMALLEST and 1 < threads <= MOST_PARTS
    if not native.built or not adjacent or not fits:
        return False
    count = 1 << (threads - 1).bit_length()
    if threads & (threads - 1):
        count *= 2  # so that they end together
    splitters = splitters_of(line, count, SAMPLED, out)
    shares, counts = counted(line, splitters)
    sizes = counts.sum(axis=0)
    if sizes.sum() != line.size or sizes.max() * threads > UNEVEN * line.size:
        return False
    bounds, places = placed(counts)
    share_out(lambda k: native.tell_apart(shares[k], splitters, places[k], out), range(threads))
    _each([out[lo:hi] for lo, hi in itertools.pairwise(bounds)], lambda part: part.sort())
    return True


def counted(line: np.ndarray, splitters: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the threads' shares of a line, and how many values of each lie in each part."""
    threads = thread_count()
    step = -(-line.size // threads)
    shares = [line[k * step : (k + 1) * step] for k in range(threads)]
    counts = np.zeros((threads, len(splitters) + 1), np.intp)
    share_out(lambda k: native.tell_apart(shares[k], splitters, counts[k]), range(threads))
    return shares, counts


def placed(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return where each part begins, and the end, and where it begins for each thread's share."""
    bounds = np.concatenate([[0], np.cumsum(counts.sum(axis=0))])
    return bounds, bounds[:-1] + np.cumsum(counts, axis=0) - counts


def splitters_of(line: np.ndarray, parts: int, sampled: int, scratch: np.ndarray) -> np.ndarray:
    """Return the values between so many parts, in order, by a sample of so many for each.

    The sample lies at the beginning of ``scratch``, which is overwritten.
    """
    draw = np.random.default_rng(line.size)
    sample = scratch.view(line.dtype)[: sampled * parts]
    for some in np.split(sample, range(DRAWN, sample.size, DRAWN)):
        some[...] = line[draw.integers(0, line.size, some.size)]
    sample.sort()
    sample = sample[: np.count_nonzero(sample == sample)]  # noqa: PLR0124 - NaN, last, are beyond
    if not sample.size:
        return np.zeros(parts - 1, line.dtype)
    at = np.arange(1, parts) * sample.size // parts
    return np.ascontiguousarray(sample[at])


def _each(parts: Sequence[np.ndarray], do: Callable[[np.ndarray], None]) -> None:
    share_out(lambda k: do(parts[k]), range(len(parts)))
