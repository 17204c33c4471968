"""Functions of some thousands of elements, where another way takes less than NumPy's.

They are given arrays of NumPy's and return what NumPy would, or NotImplemented where NumPy is to do
it. What is larger is managed, and has ways of its own; what is smaller NumPy is done with sooner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.api import lines
from dnumpy.api.array import room
from dnumpy.config import config, thread_count
from dnumpy.native.among import among
from dnumpy.ops.grids import histogramdd
from dnumpy.ops.sorting import evenly_placed
from dnumpy.runtime import buckets, masks, runs
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTED = 4  # times as many elements as there are integers between their ends, at least
SORTED = 1 << 16  # elements, before which waking threads takes as long as is gained
LOOKED_UP = 1 << 19  # steps of all searches together, likewise
SEARCHED = 1 << 16  # elements of a line of booleans, before which NumPy is as fast
LOOKED_FOR = 1 << 16  # elements that are looked up in a table, likewise
KEPT = 1 << 15  # elements of which a mask keeps some, likewise
PICKED = 1 << 15  # elements of a line that are picked, likewise
PIECES = 4  # for each thread


def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: Any = True,
) -> Any:
    """Return the unique values of integers: each is counted, or all are put in order.

    NumPy looks them up in a hash table, which takes three times as long and more.
    """
    if type(ar) is not np.ndarray or ar.dtype.kind not in "iub" or not ar.dtype.isnative:
        return NotImplemented
    if axis is not None or not ar.size:
        return NotImplemented
    keys: Any = ar.reshape(-1)
    keys = keys.view(np.uint8) if ar.dtype.kind == "b" else keys
    low, high = int(keys.min()), int(keys.max())
    if (high - low) * COUNTED > keys.size or ar.dtype == np.uint64:
        return NotImplemented if return_index or return_inverse or return_counts else _by_order(ar)
    if low < 0 or high > keys.size:
        keys = keys.astype(np.int64) - low
    else:
        low = 0
    counts = np.bincount(keys)
    present = np.flatnonzero(counts)
    found: list[Any] = [(present + low).astype(ar.dtype)]
    if return_index:
        first = np.empty(len(counts), np.intp)
        first[keys[::-1]] = np.arange(keys.size)[::-1]  # of several, the one that is written last
        found.append(first[present])
    if return_inverse:
        found.append((np.cumsum(counts > 0) - 1)[keys].reshape(ar.shape))
    if return_counts:
        found.append(counts[present])
    return found[0] if len(found) == 1 else tuple(found)


def _by_order(ar: np.ndarray) -> np.ndarray:
    values = ar.flatten()
    values.sort()
    first = np.ones(values.shape, bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    kept: np.ndarray = values[first]
    return kept


def _of_sets(name: str) -> Callable[..., Any]:
    """Return a function of two sets, whose members are found as above."""
    numpys = getattr(np, name)

    def of_sets(ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
        if assume_unique:
            return NotImplemented
        members = [unique(ar) for ar in (ar1, ar2)]
        if any(found is NotImplemented for found in members):
            return NotImplemented
        return numpys(*members, assume_unique=True)

    return of_sets


def union1d(ar1: Any, ar2: Any) -> Any:
    """Return what is in either set."""
    arrays = type(ar1) is type(ar2) is np.ndarray
    return unique(np.concatenate((ar1, ar2), axis=None)) if arrays else NotImplemented


def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """Return the indices that sort a line stably: by counting, or buckets where they are faster.

    NumPy's other sort is vectorised: over so few elements nothing was gained beside it.
    """
    if type(a) is np.ndarray and a.ndim > 1:
        return lines.argsort(a, axis, kind, order, stable=stable)
    line = type(a) is np.ndarray and a.ndim == 1 and _is_line(a) and a.dtype.isnative
    if not (line and type(axis) is int and axis in (0, -1) and order is None):
        return NotImplemented
    np.argsort(np.empty(0), kind=kind, stable=stable)  # raises for a wrong kind
    if not (stable or str(kind or "")[:1].lower() in ("s", "m")):
        return NotImplemented
    found = buckets.by_counting(a)
    if found is not None:
        return found
    if a.size < SORTED or a.dtype.char not in runs.KINDS or not _shares():
        return NotImplemented
    return buckets.argsort(a, stable=True, empty=np.empty)


def lexsort(keys: Any, axis: Any = -1) -> Any:
    """Return the indices that sort by several keys of whole numbers, the last one first."""
    lines = type(keys) in (tuple, list) and type(axis) is int and axis in (0, -1) and bool(keys)
    if not lines or not all(type(key) is np.ndarray and key.ndim == 1 for key in keys):
        return NotImplemented
    if not all(key.dtype.kind in "iub" and key.size == keys[0].size for key in keys):
        return NotImplemented
    order = buckets.by_counting(np.ascontiguousarray(keys[0]))
    for key in keys[1:]:
        if order is None:
            break
        found = buckets.by_counting(key[order])
        order = None if found is None else order[found]
    return NotImplemented if order is None else order


def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """Return where elements belong in a line that is in order; threads share the elements."""
    arrays = type(a) is type(v) is np.ndarray and a.dtype == v.dtype and a.dtype.kind in "iufM"
    if not (arrays and a.ndim == 1 and _is_line(v) and sorter is None and isinstance(side, str)):
        return NotImplemented
    a.searchsorted(v.reshape(-1)[:0], side)  # raises for a wrong side
    evenly = evenly_placed(a, v, side, thread_count())
    if evenly is not None:
        return evenly
    if v.size * len(a).bit_length() < LOOKED_UP or not _shares():
        return NotImplemented
    values = v.reshape(-1)
    found = np.empty(values.shape, np.intp)
    piece = -(-values.size // (PIECES * thread_count()))

    def search(start: int) -> None:
        found[start : start + piece] = a.searchsorted(values[start : start + piece], side)

    share_out(search, range(0, values.size, piece))
    return found.reshape(v.shape)


def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    """Return the bins, between rising edges, that elements belong in."""
    edges = type(bins) is np.ndarray and bins.ndim == 1 and bins.dtype.kind in "iuf"
    if not edges or not bool((bins[1:] >= bins[:-1]).all()) or not isinstance(right, bool):
        return NotImplemented
    return searchsorted(bins, x, "left" if right else "right")


def isin(
    element: Any,
    test_elements: Any,
    assume_unique: Any = False,
    invert: Any = False,
    *,
    kind: Any = None,
) -> Any:
    """Return which elements are among others: they are looked up in a table, by all threads."""
    plain = type(assume_unique) is type(invert) is bool and not assume_unique and kind is None
    if not plain or type(element) is not np.ndarray or not element.ndim:
        return NotImplemented
    if type(test_elements) not in (np.ndarray, list, tuple):
        return NotImplemented
    members = np.asarray(test_elements)
    threads = thread_count() if element.size >= LOOKED_FOR else 1
    found = among(element, members, invert=invert, threads=threads)
    return NotImplemented if found is None else found


def _mask_of(a: Any) -> np.ndarray | None:
    """Return where an array is not zero; None where NumPy is as fast, or knows better."""
    if type(a) is not np.ndarray or a.dtype.kind not in "biufc" or not a.ndim:
        return None
    if a.ndim == 1 and a.size < SEARCHED:
        return None
    mask = a if a.dtype.kind == "b" else np.not_equal(a, 0)
    return mask if mask.flags.c_contiguous else None


def nonzero(a: Any) -> Any:
    """Return the indices of what is not zero, an array for each axis: the columns of one array."""
    rows = _indices(_mask_of(a), rows=True)
    return rows if rows is NotImplemented else tuple(rows[:, k] for k in range(a.ndim))


def argwhere(a: Any) -> Any:
    """Return the indices of what is not zero, a row for each element: lines of an array, turned."""
    lines = _indices(_mask_of(a), rows=False)
    return lines if lines is NotImplemented else lines.T


def flatnonzero(a: Any) -> Any:
    """Return the indices of what is not zero in an array seen as one line."""
    if type(a) is not np.ndarray or not a.flags.c_contiguous:
        return NotImplemented
    rows = _indices(_mask_of(a.reshape(-1)), rows=True)
    return rows if rows is NotImplemented else rows[:, 0]


def _indices(mask: np.ndarray | None, *, rows: bool) -> Any:
    if mask is None:
        return NotImplemented
    found = native.nonzero(mask, room, rows=rows, threads=thread_count())
    return NotImplemented if found is None else found


def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """Return the elements of a line where a condition of the same length holds."""
    line = type(a) is np.ndarray and a.ndim == 1 and axis in (None, 0)
    return _kept(condition, a) if line and out is None else NotImplemented


def extract(condition: Any, arr: Any) -> Any:
    """Return the elements where a condition of the same shape holds."""
    return _kept(condition, arr)


def _kept(condition: Any, a: Any) -> Any:
    arrays = type(condition) is type(a) is np.ndarray and condition.shape == a.shape
    if not (arrays and a.size >= KEPT and condition.dtype == bool and a.dtype.kind in "biufc"):
        return NotImplemented
    if not (a.flags.c_contiguous and a.flags.aligned and condition.flags.c_contiguous):
        return NotImplemented
    return masks.take(a, condition, room)


def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    """Return elements of a line, or rows, by their places."""
    arrays = type(a) is type(indices) is np.ndarray and a.ndim > 0
    if not (arrays and out is None and mode == "raise" and indices.dtype == np.intp):
        return NotImplemented
    if indices.size < PICKED:
        return NotImplemented
    if not (axis == 0 or (axis is None and a.ndim == 1)):
        return NotImplemented
    found = native.gather(a, indices, room)
    return NotImplemented if found is None else found


def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    """Return elements of every row of a matrix by their places in it."""
    matrices = type(arr) is type(indices) is np.ndarray and arr.ndim == indices.ndim == 2
    if not (matrices and indices.dtype == np.intp and axis in (-1, 1)):
        return NotImplemented
    if len(arr) != len(indices):
        return NotImplemented
    found = native.gather(arr, (np.arange(len(arr))[:, None], indices), room)
    return NotImplemented if found is None else found


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Count pairs in rectangles."""
    if len(x) != len(y) or not (type(bins) is int or (type(bins) is list and len(bins) == 2)):
        return NotImplemented
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]


def _is_line(a: np.ndarray) -> bool:
    return a.flags.c_contiguous and a.flags.aligned


def _shares() -> bool:
    return config.mode == "default" and thread_count() > 1


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "unique": unique,
    "union1d": union1d,
    **{name: _of_sets(name) for name in ("intersect1d", "setdiff1d", "setxor1d")},
    "argsort": argsort,
    "lexsort": lexsort,
    "searchsorted": searchsorted,
    "digitize": digitize,
    "isin": isin,
    "histogramdd": histogramdd,
    "histogram2d": histogram2d,
    "nonzero": nonzero,
    "argwhere": argwhere,
    "flatnonzero": flatnonzero,
    "compress": compress,
    "extract": extract,
    "take": take,
    "take_along_axis": take_along_axis,
    **lines.FUNCTIONS,
}


def _compressed(a: Any, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return compress(condition, a, axis, out)


_array = np.ndarray
METHODS: dict[Any, Callable[..., Any]] = {  # of arrays; each takes the array first
    np.where: nonzero,  # of a condition alone
    _array.argsort: argsort,
    _array.argpartition: lines.argpartition,
    _array.searchsorted: searchsorted,
    _array.nonzero: nonzero,
    _array.compress: _compressed,
    _array.take: take,
}
