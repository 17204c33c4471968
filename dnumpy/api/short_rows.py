"""Folds of leading axes that leave short rows, as of the pixels of a picture.

``picture.mean(axis=(0, 1))`` adds up a million rows of three elements, each of which costs a loop
of its own, in NumPy too. What lies in one piece is the same as a matrix of as many rows, along
whose one axis it is folded; where the order makes no difference (integers, and what is true), as
fewer and longer rows, whose parts are folded in the end.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from dnumpy.api import blocks, ufuncs
from dnumpy.api.array import ghost, ndarray
from dnumpy.api.composites import reshape

SHORT = 64  # elements of a row, at most
SHORTEST = 16  # likewise of what waits, and would else be folded where it is computed
WIDE = 4096  # elements of a longer row
LEAST = 1 << 16  # elements of an array; and so many longer rows:
LEAST_ROWS = 32
_IN_ANY_ORDER = frozenset({
    np.maximum, np.minimum, np.add, np.bitwise_or, np.bitwise_and, np.bitwise_xor, np.logical_or,
    np.logical_and,
})  # fmt: skip


def as_matrix(array: Any, axes: tuple[int, ...]) -> ndarray | None:
    """Return the short rows that a fold leaves as those of a matrix; None of what leaves others."""
    if type(array) is not ndarray or array._np is not None or array.size < LEAST:
        return None
    rest = array.shape[len(axes) :]
    most = SHORTEST if array._buf.pending else SHORT
    short = axes == tuple(range(len(axes))) and rest and prod(rest) <= most
    if not short or array.dtype.kind not in "biufc" or blocks.spread(array):
        return None
    if ufuncs.errors_raise() or not ghost(array).flags.c_contiguous:
        return None
    found: ndarray = reshape(array, (-1, prod(rest)))
    return found


def restored(folded: Any, shape: tuple[int, ...], axes: tuple[int, ...], *, keepdims: bool) -> Any:
    """Return what a matrix was folded to as what an array of such a shape is folded to."""
    rest = shape[len(axes) :]
    return folded.reshape((1,) * len(axes) + rest if keepdims else rest)


def in_any_order(wrapped: np.ufunc, dtype: np.dtype, result: np.dtype) -> bool:
    """Say whether a fold has the same bits in any order.

    Sums of integers of up to two bytes are whole numbers that a float64 holds.
    """
    if wrapped not in _IN_ANY_ORDER or dtype.kind not in "biu":
        return False
    as_float = wrapped is np.add and result == np.float64 and dtype.itemsize < 4
    return as_float or result.kind in "biu"


def folded(fold: Any, combine: np.ufunc, matrix: ndarray) -> Any:
    """Return ``fold`` of a matrix along its first axis by way of longer rows; None of a small one.

    ``combine`` is the ufunc that it folds with.
    """
    rows, width = matrix.shape
    many = _how_many(rows, WIDE // width)
    if rows < LEAST_ROWS * many:
        return None
    whole = rows - rows % many
    first = matrix if whole == rows else matrix[:whole]
    longer = fold(reshape(first, (rows // many, many * width)))
    if longer is NotImplemented:
        return None
    found = fold(reshape(longer, (many, width)))
    if whole < rows:
        found = ufuncs.call(combine, (found, fold(matrix[whole:])), {})
    return found


def _how_many(rows: int, most: int) -> int:
    """Return how many rows make a longer one: as can be without a rest, if that is half as many."""
    return next((k for k in range(most, most // 2, -1) if rows % k == 0), most)
