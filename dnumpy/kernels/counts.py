"""NumPy's histogram, counted by the module in C, which has NumPy's own steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from dnumpy import native
from dnumpy.ops.sorting import evenly_placed

FEWEST = 512  # values, before which NumPy's steps cost more than they count
LARGEST = 1 << 16  # bins or counters, of which each thread has two rows of its own


def in_bins(values: np.ndarray, edges: np.ndarray, threads: int = 1) -> np.ndarray | None:
    """Return how many float64 lie in each bin of equal width; None where NumPy is to count them."""
    bins = len(edges) - 1
    plain = values.dtype == edges.dtype == np.float64 and values.dtype.isnative
    if not (plain and values.flags.carray and native.built and 0 < bins <= LARGEST):
        return None
    with np.errstate(all="ignore"):
        width = edges[-1] - edges[0]
    if not 0 < width < np.inf:
        return None
    return native.count_bins(values, np.ascontiguousarray(edges), threads)


def histogram(
    a: Any,
    bins: Any = 10,
    range: Any = None,  # noqa: A002 - NumPy's name
    density: Any = None,
    weights: Any = None,
) -> Any:
    """Return what :func:`numpy.histogram` returns, of arrays of NumPy's."""
    plain = type(a) is np.ndarray and type(bins) is int and weights is None
    if type(a) is type(bins) is np.ndarray and range is None and weights is None:
        found = _between_edges(a, bins)
        if found is not None:
            return _as_asked(found, bins, density)
    if not plain or a.size < FEWEST or a.dtype != np.float64:
        return np.histogram(a, bins, range, density, weights)
    edges = np.histogram_bin_edges(a, bins, range)
    counts = in_bins(a, edges)
    if counts is None:
        return np.histogram(a, bins, range, density, weights)
    return _as_asked(counts, edges, density)


def _as_asked(counts: np.ndarray, edges: np.ndarray, density: Any) -> Any:
    if density:
        return counts / np.array(np.diff(edges), float) / counts.sum(), edges
    return counts, edges


def _between_edges(a: np.ndarray, edges: np.ndarray) -> np.ndarray | None:
    """Return how many float64 lie between even edges that are given; None of others."""
    if edges.ndim != 1 or a.size < FEWEST:
        return None
    places = evenly_placed(edges, a.reshape(-1), "right")
    if places is None:
        return None
    counts: np.ndarray = np.bincount(places, minlength=len(edges) + 1)[1:-1].copy()
    counts[-1] += np.count_nonzero(a == edges[-1])  # which the last bin has, too
    return counts
