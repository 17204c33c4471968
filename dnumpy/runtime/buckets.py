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
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from dnumpy.config import thread_count
from dnumpy.kernels import buckets as kernels
from dnumpy.kernels.sharing import Seconds
from dnumpy.runtime import runs
from dnumpy.runtime.memory import pool
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.kernels.compile import Compiled

SAMPLED = 32  # elements for each bucket
TIE_SAMPLE = 1 << 14  # elements, in which equal ones turn up where there are many
LOOKED_AT = 1024  # elements of a bucket
GROUP = 8  # buckets that a thread takes at a time
LEAST = {"sort": 1.2e-8, "argsort": 2.5e-8, "stable": 4e-8}  # seconds an element, by way of buckets


@dataclass
class Known:
    """What lines of about one length took without buckets, and by way of them."""

    plain: Seconds = field(default_factory=Seconds)
    buckets: Seconds = field(default_factory=Seconds)

    def saved(self, least: float) -> float:
        """Return the seconds that buckets save, which take at least so many; 0.0 if unknown."""
        if self.plain.value is None:
            return 0.0
        return self.plain.value - (least if self.buckets.value is None else self.buckets.value)


_known: dict[tuple[str, str, int], Known] = defaultdict(Known)  # by dtype, what to do, and length


def sort_to(line: np.ndarray, out: np.ndarray) -> None:
    """Sort a line into ``out``, NaN last as NumPy does."""

    def plainly() -> np.ndarray:
        runs.sort_to(line, out)
        return out

    def by_buckets(code: Compiled) -> np.ndarray:
        bounds = _told(code, line, out, kernels.VALUES)

        def work(first: int) -> None:
            for lo, hi in _group(bounds, first):
                out[lo:hi].sort()

        share_out(work, range(0, kernels.BUCKETS, GROUP))
        return out

    _sooner(line, "sort", plainly, by_buckets)


def argsort(line: np.ndarray, *, stable: bool) -> np.ndarray:
    """Return where the elements of a line would be sorted."""
    if not stable and not distinct(np.sort(line[:: max(1, line.size // TIE_SAMPLE)])):
        return line.argsort()

    def by_buckets(code: Compiled) -> np.ndarray | None:
        places = pool.empty(line.shape, np.dtype(np.intp))
        return places if _places_in_order(code, line, places, stable=stable) else None

    what = "stable" if stable else "argsort"
    return _sooner(line, what, lambda: line.argsort(stable=stable), by_buckets)


def _sooner(
    line: np.ndarray,
    what: str,
    plainly: Callable[[], np.ndarray],
    by_buckets: Callable[[Compiled], np.ndarray | None],
) -> np.ndarray:
    """Return what the way gives that is faster, as far as is known, and can tell."""
    kernel = kernels.of(line.dtype)
    known = _known[line.dtype.char, what, line.size.bit_length()]
    saved = known.saved(line.size * LEAST[what])
    code = kernel.made_for(saved) if saved > 0 and line.flags.c_contiguous else None
    began = time.perf_counter()
    found = by_buckets(code) if code is not None else None
    if found is None:
        plain_began = time.perf_counter()
        found = plainly()
        known.plain.observe(time.perf_counter() - plain_began)
    if code is not None:
        known.buckets.observe(time.perf_counter() - began)  # with what was in vain
    elif saved > 0:
        kernel.missed(saved)
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


def _places_in_order(code: Compiled, line: np.ndarray, places: np.ndarray, *, stable: bool) -> bool:
    """Fill in the places; False where equal elements have an order that is NumPy's own."""
    bounds = _told(code, line, places, kernels.PLACES)
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

    share_out(work, range(0, kernels.BUCKETS, GROUP))
    return not tied


def _group(bounds: np.ndarray, first: int) -> list[tuple[int, int]]:
    cuts = bounds[first : first + GROUP + 1].tolist()
    return [(lo, hi) for lo, hi in itertools.pairwise(cuts) if hi > lo]


def _told(code: Compiled, line: np.ndarray, target: np.ndarray, what: int) -> np.ndarray:
    """Tell a line into the buckets of ``target``; return where each begins, and the end."""
    splitters = runs.splitters_of(line, kernels.BUCKETS, SAMPLED, target)
    threads = thread_count()
    step = -(-line.size // threads)
    counters = np.zeros((threads, kernels.BUCKETS), np.int64)
    given = np.zeros((threads, kernels.FIELDS), np.int64)
    for k in range(threads):
        part = line[k * step : (k + 1) * step]
        given[k] = (
            part.ctypes.data,
            splitters.ctypes.data,
            counters[k].ctypes.data,
            target.ctypes.data,
            part.size,
            k * step,
            kernels.COUNT,
        )

    def run(k: int) -> None:
        code(given[k].ctypes.data, 0, 0)

    share_out(run, range(threads))
    sizes = counters.sum(axis=0)
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    counters[...] = bounds[:-1] + np.cumsum(counters, axis=0) - counters
    given[:, -1] = what
    share_out(run, range(threads))
    return bounds
