"""Sums of weights by whole numbers, as ``numpy.bincount`` adds them (``counts.c``).

NumPy's own holds the interpreter meanwhile, so that threads would take turns at it.
"""

from __future__ import annotations

import numpy as np

from dnumpy import native

LEAST = 1 << 10  # values, before which NumPy's is as fast


def sums(
    values: np.ndarray, weights: np.ndarray, size: int, block: int, threads: int = 1
) -> np.ndarray | None:
    """Return for each block of values what the weights of each number below ``size`` sum up to.

    Parameters
    ----------
    values : ndarray
        Whole numbers, of shape ``(n,)``.
    weights : ndarray
        float64, of shape ``(n,)``.
    size : int
        Of a row of sums.
    block : int
        Values in each block, of which the last may have fewer.
    threads : int
        That share the blocks.

    Returns
    -------
    ndarray or None
        float64, of shape ``(blocks, size)``; None where a number is negative or not below ``size``,
        and where NumPy is to add them.
    """
    if not native.built or len(values) < LEAST or size < 1 or weights.dtype != np.float64:
        return None
    whole = values.dtype.kind in "iu" and values.dtype != np.uint64
    if not (whole and values.flags.carray and weights.flags.carray):
        return None
    if not (values.dtype.isnative and weights.dtype.isnative):
        return None
    found: np.ndarray | None = native._module.weigh_whole(values, weights, size, block, threads)  # noqa: SLF001 - the package's own
    return found
