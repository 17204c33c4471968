"""Runs of a compiled kernel by one call, once it is known how most of its runs go.

Which lowering runs, on how many threads, in which batches and over which frames is asked anew in
each run of :mod:`~dnumpy.kernels.choose`, and all of it timed: with caches that large arrays have
just passed through, that takes longer than a kernel does over 100,000 elements. What has been
decided holds for some runs, more of them the longer it has; then all is asked once again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnumpy import native
from dnumpy.config import config
from dnumpy.kernels.flags import to_be_told

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy as np

    from dnumpy.kernels.chain import Chain
    from dnumpy.kernels.numba import Variant
    from dnumpy.kernels.staged import Staged

MOST_RUNS = 15  # until all is asked again
ASKED = 4  # runs in which all was asked, for each that is not


class Settled:
    """How the next runs over all rows go, of operands that lie as the latest did."""

    __slots__ = ("_batch", "_changes", "_launch", "_left", "_rows", "_threads", "_tile", "_variant")

    def __init__(
        self, variant: Variant, launch: Any, rows: tuple[int, int, int], threads: int, left: int
    ) -> None:
        self._variant, self._launch, self._threads, self._left = variant, launch, threads, left
        self._rows, self._batch, self._tile = rows
        self._changes = config.changes

    def run(self, values: Sequence[Any], outs: Sequence[np.ndarray]) -> int:
        """Compute all rows; return the flags raised, -1 where nothing was run and all is asked."""
        if self._left <= 0 or self._changes != config.changes:
            return -1
        self._left -= 1
        flags: int = self._launch.shared(
            values, outs, self._rows, self._batch, self._tile, self._threads
        )
        return flags

    def are_told(self, raised: int, told: Collection[str]) -> bool:
        """Say whether NumPy has to run all again to say which steps raised these flags."""
        return to_be_told(raised, told, truncates=self._variant.program.truncates)


def settled(
    variant: Variant | Staged | Chain | None,
    arrays: tuple[Sequence[Any], Sequence[np.ndarray]],
    rows: tuple[int, int, int],
    threads: int,
    asked: int,
) -> Settled | None:
    """Return how the next runs go, if the kernel is one that the module in C launches.

    Parameters
    ----------
    variant
        The kernel that ran.
    arrays
        The values and the outputs.
    rows
        How many there are, how many a batch has, and a tile.
    threads
        How many draw batches.
    asked
        In how many runs all was asked.
    """
    from dnumpy.kernels.numba import Variant

    left = min(asked // ASKED, MOST_RUNS)
    if not left or not native.built or type(variant) is not Variant or not variant.plain:
        return None
    launch = variant.launch_for(*arrays, frames=threads)
    return None if launch is None else Settled(variant, launch, rows, threads, left)
