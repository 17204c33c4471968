"""Counts, scans, gathers and sorts in Numba; each thread has its own part, and its own counters."""

from __future__ import annotations

from typing import Any

import numpy

from benchmarks.peers.compiled import inlined, parallel_strictly, prange


@parallel_strictly
def extremes(x: Any, threads: Any) -> Any:
    """Return the smallest and the largest element."""
    low, high = numpy.empty(threads), numpy.empty(threads)
    for t in prange(threads):
        part = x[len(x) * t // threads : len(x) * (t + 1) // threads]
        least = most = part[0]
        for value in part:
            least = min(least, value)
            most = max(most, value)
        low[t], high[t] = least, most
    return low.min(), high.max()


@parallel_strictly
def binned(x: Any, edges: Any, threads: Any) -> Any:
    """Return how many elements lie between neighbouring edges, which are equally far apart."""
    bins = len(edges) - 1
    low, per = edges[0], bins / (edges[-1] - edges[0])
    counts = numpy.zeros((threads, bins + 8), numpy.int64)
    for t in prange(threads):
        own = counts[t]
        for value in x[len(x) * t // threads : len(x) * (t + 1) // threads]:
            k = min(int((value - low) * per), bins - 1)
            k -= value < edges[k]
            k += (value >= edges[k + 1]) & (k < bins - 1)
            own[k] += 1
    return counts.sum(axis=0)[:bins]


def histogram(x: Any, bins: int, threads: int) -> Any:
    """Count the elements in equal bins from the smallest to the largest."""
    low, high = extremes(x, threads)
    edges = numpy.linspace(low, high, bins + 1)
    return binned(x, edges, threads), edges


@parallel_strictly
def bincount(x: Any, counters: Any, threads: Any) -> Any:
    """Count how often each integer below ``counters`` occurs."""
    counts = numpy.zeros((threads, counters + 8), numpy.int64)
    for t in prange(threads):
        own = counts[t]
        for value in x[len(x) * t // threads : len(x) * (t + 1) // threads]:
            own[value] += 1
    return counts.sum(axis=0)[:counters]


@parallel_strictly
def cumsum(x: Any, parts: Any) -> Any:
    """Add up each part, then run on from where the parts before it end."""
    n = len(x)
    starts = numpy.zeros(parts + 1)
    for p in prange(parts):
        total = 0.0
        for i in range(n * p // parts, n * (p + 1) // parts):
            total += x[i]
        starts[p + 1] = total
    for p in range(parts):
        starts[p + 1] += starts[p]
    out = numpy.empty_like(x)
    for p in prange(parts):
        total = starts[p]
        for i in range(n * p // parts, n * (p + 1) // parts):
            total += x[i]
            out[i] = total
    return out


@parallel_strictly
def gather(values: Any, places: Any) -> Any:
    """Read the values at the places."""
    out = numpy.empty(len(places), values.dtype)
    for i in prange(len(places)):
        out[i] = values[places[i]]
    return out


@inlined
def merge_up(x: Any, first: Any, second: Any, out: Any, count: Any) -> None:
    """Merge the ``count`` smallest of two sorted runs of places."""
    i = j = 0
    for k in range(count):
        if j == len(second) or (i < len(first) and x[first[i]] <= x[second[j]]):
            out[k] = first[i]
            i += 1
        else:
            out[k] = second[j]
            j += 1


@inlined
def merge_down(x: Any, first: Any, second: Any, out: Any, count: Any) -> None:
    """Merge the ``count`` largest of two sorted runs of places, from the end."""
    i, j = len(first) - 1, len(second) - 1
    for k in range(count):
        if j < 0 or (i >= 0 and x[first[i]] > x[second[j]]):
            out[len(out) - 1 - k] = first[i]
            i -= 1
        else:
            out[len(out) - 1 - k] = second[j]
            j -= 1


@inlined
def merge_values_up(first: Any, second: Any, out: Any, count: Any) -> None:
    """Merge the ``count`` smallest of two sorted runs."""
    i = j = 0
    for k in range(count):
        if j == len(second) or (i < len(first) and first[i] <= second[j]):
            out[k] = first[i]
            i += 1
        else:
            out[k] = second[j]
            j += 1


@inlined
def merge_values_down(first: Any, second: Any, out: Any, count: Any) -> None:
    """Merge the ``count`` largest of two sorted runs, from the end."""
    i, j = len(first) - 1, len(second) - 1
    for k in range(count):
        if j < 0 or (i >= 0 and first[i] > second[j]):
            out[len(out) - 1 - k] = first[i]
            i -= 1
        else:
            out[len(out) - 1 - k] = second[j]
            j -= 1


@parallel_strictly
def merged(first: Any, second: Any) -> Any:
    """Merge two sorted runs: one thread from below, one from above."""
    n = len(first) + len(second)
    out = numpy.empty(n, first.dtype)
    for t in prange(2):
        if t == 0:
            merge_values_up(first, second, out, n // 2)
        else:
            merge_values_down(first, second, out, n - n // 2)
    return out


@parallel_strictly
def merged_places(x: Any, first: Any, second: Any) -> Any:
    """Merge two runs of places, sorted by the values there."""
    n = len(first) + len(second)
    out = numpy.empty(n, first.dtype)
    for t in prange(2):
        if t == 0:
            merge_up(x, first, second, out, n // 2)
        else:
            merge_down(x, first, second, out, n - n // 2)
    return out


@parallel_strictly
def sorted_halves(x: Any) -> Any:
    """Sort both halves at once."""
    half = len(x) // 2
    out = x.copy()
    for t in prange(2):
        part = out[:half] if t == 0 else out[half:]
        part.sort()
    return out


@parallel_strictly
def places_of_halves(x: Any) -> Any:
    """Return the places of both halves, each in ascending order of its values."""
    half = len(x) // 2
    out = numpy.empty(len(x), numpy.int64)
    for t in prange(2):
        lo, hi = (0, half) if t == 0 else (half, len(x))
        out[lo:hi] = numpy.argsort(x[lo:hi]) + lo
    return out


def sort(x: Any) -> Any:
    """Sort two halves at once with Numba's quicksort, and merge them from both ends."""
    halves, half = sorted_halves(x), len(x) // 2
    return merged(halves[:half], halves[half:])


def argsort(x: Any) -> Any:
    """Sort the places in two halves at once, and merge them from both ends."""
    places, half = places_of_halves(x), len(x) // 2
    return merged_places(x, places[:half], places[half:])
