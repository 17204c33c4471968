"""The order in which floating-point sums are taken, the same in every lowering.

A run of elements is cut into blocks. A block is folded in half, the upper half on the lower,
until one entry is left; the blocks' sums meet pairwise, level by level, the odd one out going up
unchanged. The error grows with the logarithm of the length. A tile of rows shorter than a block
is one run; of longer rows, each row's blocks start at its beginning.

So the bits of a sum depend on the phase, and not on the lowering or the partition.
"""

from __future__ import annotations

import numpy as np

BLOCK = 512  # elements


def sum_runs(runs: np.ndarray) -> np.ndarray:
    """Return the sum of each row of a C-contiguous two-dimensional array."""
    return fold_blocks(_block_sums(runs)) + runs.dtype.type(0)  # a sum of -0.0 alone is 0.0


def sum_tile(rows: np.ndarray) -> np.ndarray:
    """Return the sum of everything in the rows of a tile, a C-contiguous two-dimensional array."""
    if rows.shape[1] < BLOCK:
        return sum_runs(rows.reshape(1, -1))[0]
    return fold_blocks(_block_sums(rows).reshape(1, -1))[0] + rows.dtype.type(0)


def fold_blocks(level: np.ndarray) -> np.ndarray:
    """Return the sum of each row of block sums, pairwise, level by level."""
    while level.shape[1] > 1:
        paired = level[:, 0:-1:2] + level[:, 1::2]
        level = np.concatenate([paired, level[:, -1:]], axis=1) if level.shape[1] % 2 else paired
    return level[:, 0]


def _block_sums(runs: np.ndarray) -> np.ndarray:
    count, length = runs.shape
    full = length // BLOCK
    sums = []
    if full:
        sums.append(_halved(runs[:, : full * BLOCK].reshape(count, full, BLOCK)))
    if length % BLOCK:
        sums.append(_halved(runs[:, full * BLOCK :])[:, None])
    return sums[0] if len(sums) == 1 else np.concatenate(sums, axis=1)


def _halved(blocks: np.ndarray) -> np.ndarray:
    """Return the sums along the last axis, folded in half again and again."""
    length = blocks.shape[-1]
    half = (length + 1) // 2
    work = blocks[..., :half].copy()
    work[..., : length - half] += blocks[..., half:]
    while half > 1:
        length, half = half, (half + 1) // 2
        work[..., : length - half] += work[..., half:length]
    return work[..., 0]
