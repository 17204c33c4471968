"""A long run in pieces of whole tiles, between two of which another lowering may take over.

The first run of a phase begins before anybody has compiled it. Where it takes longer than that
does, what is left of it runs compiled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.geometry import overlap
from dnumpy.ops.families import Leaf
from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dnumpy.rewrite.phase import Phase

PIECES = 8
LEAST_SECONDS = 0.04  # of a run that is done in pieces: so many calls more are nothing beside it
# of a run that is worth compiling for while it goes on: beside it that takes 0.1 to 0.2 of the
# processors' time, and two to four times as long by the clock (two cores)
LONG_SECONDS = 0.6


def pieces(phase: Phase, lo: int, hi: int, count: int = PIECES) -> Iterator[tuple[int, int]]:
    """Yield the rows of so many pieces, fewer where there are fewer tiles."""
    tiles = -(-(hi - lo) // phase.tile_rows)
    size = -(-tiles // count) * phase.tile_rows
    for start in range(lo, hi, size):
        yield start, min(start + size, hi)


def beginning_at(row: int, phase: Phase, outs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the outputs, the partial ones from the tile on that begins with a row."""
    number = row // phase.tile_rows
    return [o[number:] if g.partial else o for o, g in zip(outs, phase.outputs, strict=True)]


def part_of(
    phase: Phase, values: Sequence[Any], outs: Sequence[np.ndarray], lo: int, hi: int
) -> tuple[Sequence[Any], Sequence[np.ndarray]]:
    """Return what a run over rows ``lo:hi``, whole tiles of all, reads and writes."""
    if not lo and hi == phase.rows:
        return values, outs
    given = [
        value[lo:hi] if x.access is Access.ROWS else value
        for value, x in zip(values, phase.inputs, strict=True)
    ]
    first, last = lo // phase.tile_rows, -(-hi // phase.tile_rows)
    written = [
        out[first:last] if x.partial else out[lo:hi]
        for out, x in zip(outs, phase.outputs, strict=True)
    ]
    return given, written


def may_be_parted(phase: Phase, values: Sequence[Any], outs: Sequence[np.ndarray]) -> bool:
    """Say whether runs over parts of all arrays do what one over all does.

    Values that tell in which row they are do not let that be, nor do results in memory that is read
    by rows of another part.
    """
    if any(isinstance(step.op, Leaf) for step in phase.steps):
        return False
    return not overlap([v for v in values if isinstance(v, np.ndarray)], outs)
