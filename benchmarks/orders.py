"""Programs that count, scan, gather and sort: the order of the elements matters, not arithmetic."""

from __future__ import annotations

from typing import Any

import numpy

BINS = 100
COUNTERS = 1_000


def count_of(millions: int, scale: float) -> int:
    """Return how many elements, at least 4."""
    return max(int(millions * 1_000_000 * scale), 4)


def make_normal(scale: float) -> tuple[numpy.ndarray, ...]:
    """Return a normal sample."""
    return (numpy.random.default_rng(1891).normal(size=count_of(20, scale)),)


def histogram(np: Any, data: Any) -> Any:
    """Count the elements in equal bins from the smallest to the largest."""
    counts, edges = np.histogram(data[0], bins=BINS)
    return numpy.asarray(counts), numpy.asarray(edges)


def make_numbers(scale: float) -> tuple[numpy.ndarray, ...]:
    """Return small integers."""
    return (numpy.random.default_rng(1000).integers(0, COUNTERS, count_of(20, scale)),)


def bincount(np: Any, data: Any) -> Any:
    """Count how often each integer occurs."""
    return numpy.asarray(np.bincount(data[0], minlength=COUNTERS))


def make_steps(scale: float) -> tuple[numpy.ndarray, ...]:
    """Return positive steps."""
    return (numpy.random.default_rng(50).random(count_of(50, scale)),)


def cumsum(np: Any, data: Any) -> Any:
    """Add up the steps."""
    return numpy.asarray(np.cumsum(data[0]))


def make_places(scale: float) -> tuple[numpy.ndarray, ...]:
    """Return values, and as many random places among them."""
    rng, n = numpy.random.default_rng(20), count_of(20, scale)
    return rng.random(n), rng.integers(0, n, n)


def gather(_: Any, data: Any) -> Any:
    """Read the values in random order."""
    values, places = data
    return numpy.asarray(values[places])


def make_unsorted(scale: float) -> tuple[numpy.ndarray, ...]:
    """Return numbers, no two of which are equal."""
    n = count_of(10, scale)
    return (numpy.random.default_rng(10).permutation(n) * 0.37,)


def sort(np: Any, data: Any) -> Any:
    """Sort."""
    return numpy.asarray(np.sort(data[0]))


def argsort(np: Any, data: Any) -> Any:
    """Return the places of the elements in ascending order."""
    return numpy.asarray(np.argsort(data[0]))
