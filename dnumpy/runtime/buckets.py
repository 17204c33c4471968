"""One long line sorted by way of buckets, each of which fits the cache of a core.

Splitters are drawn from a sample of the line. Each thread tells a part of the line into buckets,
in the order in which the values lie, and then the threads sort buckets. Where elements would be
sorted needs no memory but that of the answer, and of two buckets for each thread: a bucket's places
are in order before it is sorted, so that its values are read from the line once more.

NumPy's answer is the same where no two elements are equal, or where equal ones keep their order.

How long a processor takes for either way differs by more than what there is to gain: with AVX-512
NumPy itself sorts numbers in 8 ns each on one and in 25 ns on another. So both are timed.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from dnumpy import native
from dnumpy.config import thread_count
from dnumpy.kernels.sharing import Seconds
from dnumpy.runtime import runs
from dnumpy.runtime.memory import pool
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.runtime.memory import Empty

MOST_BUCKETS = 1 << 11
EXPECTED = 1 << 13  # elements of a bucket: about as many, where there are not too many of them
SAMPLED = 32  # elements for each bucket
SAMPLE = 1 << 14  # elements, in which equal ones turn up where there are many, and that are timed
LOOKED_AT = 1024  # elements of a bucket
CACHED_BYTES = 2 << 20  # of a line whose elements are found in the cache of a core, in any order
APART = 1_000_003  # elements between those that are fetched to see what that takes
SURE = 2.0  # times what buckets take at least, from where they are tried before the plain way
GUESSES = 3  # of which the least counts
MOST_KINDS = 1 << 16  # of whole numbers that are put in order by counting
GROUP = 8  # buckets that a thread takes at a time
LEAST = {"sort": 1.2e-8, "argsort": 2.5e-8, "stable": 4e-8}  # seconds an element, by way of buckets


@dataclass
class Known:
    """What lines of about one length took without buckets, and by way of them."""

    plain: Seconds = field(default_factory=Seconds)
    buckets: Seconds = field(default_factory=Seconds)
    guessed: float | None = None

    def pays(self, least: float, guess: Callable[[], float]) -> bool:
        """Say whether buckets save time, which take at least so many seconds.

        What it takes without them is guessed, once, where it was not measured, and rather too
        little: where buckets turn out to take longer than that, the plain way is measured next.
        """
        plain, buckets = self.plain.value, self.buckets.value
        if plain is not None:
            return plain > (least if buckets is None else buckets)
        if self.guessed is None:
            self.guessed = guess()
        return self.guessed > (SURE * least if buckets is None else buckets)


_known: dict[tuple[str, str, int], Known] = defaultdict(Known)  # by dtype, what to do, and length


def sort_to(line: np.ndarray, out: np.ndarray) -> None:
    """Sort a line into ``out``, NaN last as NumPy does."""

    def plainly() -> np.ndarray:
        runs.sort_to(line, out)
        return out

    def by_buckets() -> np.ndarray:
        bounds = _told(line, out, places=False)

        def work(first: int) -> None:
            for lo, hi in _group(bounds, first):
                out[lo:hi].sort()

        share_out(work, range(0, len(bounds) - 1, GROUP))
        return out

    def guess() -> float:
        return _extrapolated(_sample(line), np.sort, line.size) / thread_count()

    _sooner(line, "sort", plainly, by_buckets, guess)


def argsort(line: np.ndarray, *, stable: bool, empty: Empty = pool.empty) -> np.ndarray:
    """Return where the elements of a line would be sorted, in memory that ``empty`` makes."""
    kind: Literal["stable"] | None = "stable" if stable else None
    counted = by_counting(line) if stable else None
    if counted is not None:
        return counted
    if not stable and not distinct(np.sort(_sample(line))):
        return line.argsort()

    def plainly() -> np.ndarray:
        return line.argsort(kind=kind)

    def by_buckets() -> np.ndarray | None:
        places = empty(line.shape, np.dtype(np.intp))
        return places if _places_in_order(line, places, stable=stable) else None

    def guess() -> float:
        compared = _extrapolated(_sample(line), lambda some: some.argsort(kind=kind), line.size)
        return compared + _fetched(line)

    return _sooner(line, "stable" if stable else "argsort", plainly, by_buckets, guess)


def by_counting(line: np.ndarray) -> np.ndarray | None:
    """Return the stable order of whole numbers within narrow ends; None for others."""
    fits = line.dtype.kind in "iub" and line.dtype.isnative and line.dtype != np.uint64
    if not (fits and native.built and line.size and line.flags.c_contiguous and line.flags.aligned):
        return None
    keys = line.view(np.uint8) if line.dtype.kind == "b" else line
    low, high = int(keys.min()), int(keys.max())
    if high - low >= min(MOST_KINDS, line.size):
        return None
    return native.order_by_counting(keys, low, high - low + 1, thread_count())


def _sample(line: np.ndarray) -> np.ndarray:
    """Return elements of all parts of a line, in their order."""
    return line[:: max(SAMPLED, line.size // SAMPLE)].copy()


def _extrapolated(sample: np.ndarray, do: Callable[[np.ndarray], np.ndarray], size: int) -> float:
    """Return the seconds that sorting a line takes at least, by what its sample does.

    What lies outside the caches takes longer than the comparisons that are counted here.
    """
    do(sample[:2])  # what a first call loads
    took = math.inf
    for _ in range(GUESSES):
        began = time.perf_counter()
        do(sample)
        took = min(took, time.perf_counter() - began)
    return took * size * math.log2(size + 1) / (sample.size * math.log2(sample.size + 1))


def _fetched(line: np.ndarray) -> float:
    """Return what comparing elements by their places adds where a line lies outside the caches.

    Until the places are told into parts that fit, each is looked at once for every halving, and its
    element is fetched from anywhere in its part.
    """
    halvings = math.log2(line.nbytes / CACHED_BYTES) if line.nbytes > CACHED_BYTES else 0.0
    if not halvings:
        return 0.0
    took = math.inf
    for k in range(GUESSES):  # each time others, which no cache has
        places = (np.arange(SAMPLE) * APART + k * SAMPLE) % line.size
        began = time.perf_counter()
        line.take(places)
        took = min(took, time.perf_counter() - began)
    return took / SAMPLE * line.size * halvings


def _sooner(
    line: np.ndarray,
    what: str,
    plainly: Callable[[], np.ndarray],
    by_buckets: Callable[[], np.ndarray | None],
    guess: Callable[[], float],
) -> np.ndarray:
    """Return what the way gives that is faster, as far as is known, and can tell."""
    known = _known[line.dtype.char, what, line.size.bit_length()]
    fits = native.built and line.flags.c_contiguous and line.flags.aligned
    told = fits and known.pays(line.size * LEAST[what], guess)
    began = time.perf_counter()
    found = by_buckets() if told else None
    if found is None:
        plain_began = time.perf_counter()
        found = plainly()
        known.plain.observe(time.perf_counter() - plain_began)
    if told:
        known.buckets.observe(time.perf_counter() - began)  # with what was in vain
    return found


def distinct(values: np.ndarray) -> bool:
    """Say whether no two elements in order are equal; NaN, which is last, counts as equal."""
    if values.size and values[-1] != values[-1]:
        return False
    return not bool((values[1:] == values[:-1]).any())


def distinct_in(values: np.ndarray, order: np.ndarray) -> bool:
    """Say so of values that are in order by way of their places; a few are looked at at a time."""
    starts = range(0, max(len(order) - 1, 1), LOOKED_AT)
    return all(distinct(values[order[lo : lo + LOOKED_AT + 1]]) for lo in starts)


def _places_in_order(line: np.ndarray, places: np.ndarray, *, stable: bool) -> bool:
    """Fill in the places; False where equal elements have an order that is NumPy's own."""
    bounds = _told(line, places, places=True)
    kind: Literal["stable"] | None = "stable" if stable else None
    widest = int(np.diff(bounds).max(initial=0))
    idle: list[np.ndarray] = []  # one for each thread: values, and then places
    tied: list[int] = []

    def work(first: int) -> None:
        scratch = idle.pop() if idle else np.empty(widest, np.intp)
        for lo, hi in _group(bounds, first):
            if tied:
                break
            bucket = places[lo:hi]
            values, moved = scratch.view(line.dtype)[: hi - lo], scratch[: hi - lo]
            np.take(line, bucket, out=values, mode="clip")
            order = values.argsort(kind=kind)
            if not (stable or distinct_in(values, order)):
                tied.append(lo)
                break
            np.take(bucket, order, out=moved, mode="clip")
            bucket[...] = moved
            del order  # before the next one is made
        idle.append(scratch)

    share_out(work, range(0, len(bounds) - 1, GROUP))
    return not tied


def _group(bounds: np.ndarray, first: int) -> list[tuple[int, int]]:
    cuts = bounds[first : first + GROUP + 1].tolist()
    return [(lo, hi) for lo, hi in itertools.pairwise(cuts) if hi > lo]


def _told(line: np.ndarray, target: np.ndarray, *, places: bool) -> np.ndarray:
    """Tell a line, or where its elements lie, into the buckets of ``target``.

    Return where each begins, and the end.
    """
    count = min(MOST_BUCKETS, 2 << (line.size // EXPECTED).bit_length())
    splitters = runs.splitters_of(line, count, SAMPLED, target)
    shares, counts = runs.counted(line, splitters)
    bounds, counters = runs.placed(counts)

    def move(k: int) -> None:
        first = k * len(shares[0]) if places else -1
        native.tell_apart(shares[k], splitters, counters[k], target, first)

    share_out(move, range(len(shares)))
    return bounds
