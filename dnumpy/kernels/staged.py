"""Results that are computed block by block into scratch memory and copied to where they belong.

Scratch stays in the cache, so that the copy costs little. A kernel that writes adjacent elements
can then give its results to any view (:class:`Staged`), and a result may lie in memory of which
each block reads no more than its own rows (:mod:`dnumpy.runtime.donation`).
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from dnumpy.expr.geometry import overlap
from dnumpy.kernels.tiled import TOLD
from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from dnumpy.rewrite.phase import Phase

BLOCK_BYTES = 1 << 18  # of a result that is computed before it is copied


class Bound(Protocol):
    """A compiled kernel bound to a phase: :class:`dnumpy.kernels.numba.Variant`."""

    @property
    def source(self) -> str: ...  # noqa: D102 - see there

    @property
    def key(self) -> str: ...  # noqa: D102

    @property
    def helpers(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def ready(self) -> bool: ...  # noqa: D102

    def run(  # noqa: D102
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        lo: int,
        hi: int,
        origin: int = 0,
        told: Collection[str] = TOLD,
    ) -> bool: ...


class Block(NamedTuple):
    """Rows ``lo:hi`` of a run: what they read, and where their results go meanwhile."""

    lo: int
    hi: int
    values: list[Any]
    outs: list[np.ndarray]


class Scratch(threading.local):
    """Each thread's memory for a block of results: so many rows of each of these outputs."""

    def __init__(self, outs: Sequence[np.ndarray], rows: dict[int, int]) -> None:
        self.held = {k: np.empty((n, *outs[k].shape[1:]), outs[k].dtype) for k, n in rows.items()}


def block_rows(phase: Phase, outs: Sequence[np.ndarray], staged: Sequence[int], nbytes: int) -> int:
    """Return how many rows to compute before they are copied: whole tiles of up to ``nbytes``."""
    row = max([outs[k][:1].size * outs[k].itemsize for k in staged])
    tiles = max(1, nbytes // max(row * phase.tile_rows, 1))
    return tiles * phase.tile_rows


def in_blocks(
    phase: Phase,
    values: Sequence[Any],
    outs: Sequence[np.ndarray],
    scratch: dict[int, np.ndarray],
    rows: tuple[int, int, int],
    size: int,
    *,
    write: bool = True,
) -> Iterator[Block]:
    """Give the blocks of rows ``lo:hi``, the third of ``rows`` being the first that is held.

    What is in scratch memory when the next block is asked for is copied to its output, unless
    somebody else is to ``write`` it. Partial
    results are given from the block's own tile on, the first of ``outs`` being that of ``lo``.
    """
    lo, hi, origin = rows
    for start in range(lo, hi, size):
        stop = min(start + size, hi)
        mine, tile = slice(start - origin, stop - origin), (start - lo) // phase.tile_rows
        given = [
            v[mine] if i.access is Access.ROWS else v
            for v, i in zip(values, phase.inputs, strict=True)
        ]
        made = [
            scratch[k][: stop - start] if k in scratch else o[tile:] if g.partial else o[mine]
            for k, (o, g) in enumerate(zip(outs, phase.outputs, strict=True))
        ]
        yield Block(start, stop, given, made)
        for k in scratch if write else ():
            outs[k][mine] = made[k]


class Staged:
    """A compiled kernel whose results go to views that it cannot write to itself."""

    def __init__(
        self, variant: Bound, phase: Phase, outs: Sequence[np.ndarray], staged: Sequence[int]
    ) -> None:
        self._variant = variant
        self._phase = phase
        self._staged = tuple(staged)
        self._size = block_rows(phase, outs, staged, BLOCK_BYTES)
        self._scratch = Scratch(outs, dict.fromkeys(staged, min(self._size, phase.rows)))
        self.source = variant.source
        self.key = f"staged {variant.key}"
        self.helpers = variant.helpers

    @property
    def ready(self) -> bool:
        """Whether it is compiled."""
        return self._variant.ready

    def run(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        lo: int,
        hi: int,
        origin: int = 0,
        told: Collection[str] = TOLD,
    ) -> bool:
        """Compute rows ``lo:hi``; False means that NumPy must compute them (again)."""
        read = [v for v in values if isinstance(v, np.ndarray)]
        if overlap(read, [outs[k] for k in self._staged]):
            return False
        scratch, run = self._scratch.held, self._variant.run
        return all(
            run(b.values, b.outs, b.lo, b.hi, b.lo, told)
            for b in in_blocks(self._phase, values, outs, scratch, (lo, hi, origin), self._size)
        )
