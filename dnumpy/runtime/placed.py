"""Phases that fill regions of another array: computed where they go, in a copy of the rest.

``grid[1:-1, 1:-1] = f(grid)`` is one task per range of rows: it takes memory for the rows of the
new grid, copies what the region leaves of the old one, and computes straight into the region.
Columns that are filled one after the other are one such task too.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dnumpy.runtime import tasks
from dnumpy.runtime.bind import Operand, Want, bind
from dnumpy.runtime.graph import Range
from dnumpy.runtime.memory import pool
from dnumpy.runtime.operands import Made
from dnumpy.runtime.producers import ByRanges

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from dnumpy.expr.expr import Shape
    from dnumpy.expr.geometry import Geometry
    from dnumpy.runtime.chunked import Source
    from dnumpy.runtime.graph import Graph
    from dnumpy.runtime.operands import Bindings, Ref
    from dnumpy.runtime.producers import FusedRows

Box = tuple[tuple[int, int], ...]


class PlaceJob(NamedTuple):
    """A block of rows, of which rows ``first:first + filled`` hold rows of a phase in regions.

    ``regions`` are theirs in the block's memory, one for each row output, ``box`` the part of each
    row that these cover, None where they leave gaps. Of the rows of ``job``, those from ``skipped``
    on are meant. ``base`` brings the block as it was, unless nothing of it is left.
    """

    shape: Shape
    dtype: np.dtype
    first: int
    filled: int
    regions: tuple[Geometry, ...]
    box: Box | None
    job: tasks.RowJob | None
    skipped: int
    base: Bindings | None

    def reads(self) -> tuple[Bindings, ...]:
        """Return where its operands come from."""
        found = () if self.job is None else self.job.reads()
        return found if self.base is None else (*found, self.base)


@tasks.saying_how_it_went
def run_placed(job: PlaceJob, *data: Ref) -> Made:
    """Return the block with the phase's rows in their regions."""
    started = time.perf_counter()
    block = pool.empty(job.shape, job.dtype)
    if job.base is not None:
        done, ends = 0, (job.first, job.first + job.filled)
        for base in job.base.pieces(data):  # never put together: little of them is copied
            rows = slice(done, done := done + len(base))
            if job.box is None or job.job is None:
                block[rows] = base
            else:
                lo, hi = (min(max(row - rows.start, 0), len(base)) for row in ends)
                _copy_around(block[rows], base, slice(lo, hi), job.box)
    if job.job is None:
        return Made((block,), (), time.perf_counter() - started, frozenset())
    targets = [region.over(block) for region in job.regions]
    exact, left = job.job.hi - job.job.lo == job.filled, iter(targets)
    outs = [
        next(left) if exact and not output.partial else tasks.allocated(job.job, output)
        for output in job.job.phase.outputs
    ]
    partials, faults, lowering = tasks.fill_rows(job.job, outs, data)
    if not exact:
        made = [out for out in outs if out is not None]
        for target, values in zip(targets, made, strict=True):
            target[...] = values[job.skipped : job.skipped + job.filled]
    return Made((block,), partials, time.perf_counter() - started, faults, lowering)


def _copy_around(block: np.ndarray, base: np.ndarray, rows: slice, box: Box) -> None:
    """Copy all but the box of the rows."""
    block[: rows.start] = base[: rows.start]
    block[rows.stop :] = base[rows.stop :]
    inside: tuple[slice, ...] = (rows,)
    for lo, hi in box:
        before, behind = (*inside, slice(None, lo)), (*inside, slice(hi, None))
        block[before] = base[before]
        block[behind] = base[behind]
        inside = (*inside, slice(lo, hi))


@dataclass(frozen=True, slots=True, eq=False)
class PlacedRows(ByRanges):
    """Rows of a copy of the base in which each of the phase's row outputs replaces a region.

    Row ``k`` of the phase goes into row ``start + k`` of the base. Ranges are rows of the base.
    """

    rows: FusedRows
    base: Source
    regions: tuple[Geometry, ...]
    start: int

    def depth(self) -> int:
        """Return the number of stages that led here."""
        return max(self.base.depth, self.rows.depth())

    def granule(self) -> int:
        """Return the rows at whose multiples ranges are cut, before they are shifted."""
        return self.rows.granule()

    def shifted(self, ranges: Sequence[Range]) -> list[Range]:
        """Return the ranges cut where tiles of the phase end, so that none is computed twice."""
        last = self.base.shape[0]
        end = self.start + self.regions[0].shape[0]

        def moved(cut: int) -> int:
            return (
                cut if cut in {0, last} else (cut + self.start if cut + self.start < end else last)
            )

        found = (Range(r.node, moved(r.lo), moved(r.hi)) for r in ranges)
        return [r for r in found if r.lo < r.hi]

    def task(self, graph: Graph, r: Range) -> Ref:
        """Add the task for rows ``r``."""
        count = self.regions[0].shape[0]
        lo, hi = (min(max(row - self.start, 0), count) for row in (r.lo, r.hi))
        shape = (r.hi - r.lo, *self.base.shape[1:])
        box = None
        if len(self.regions) == 1:
            box = self.regions[0].box_in(self.base.shape, self.base.dtype)
        tile = self.rows.granule()
        begin, end = lo - lo % tile, min(-(-hi // tile) * tile, count)
        job: tasks.RowJob | None = None
        data: list[Ref] = []
        if lo < hi:
            job, data = self.rows.bound(graph, Range(r.node, begin, end))
        base = None
        whole = box is not None and all(
            ends == (0, extent) for ends, extent in zip(box[1:], self.base.shape[1:], strict=True)
        )
        if not whole or hi - lo < r.hi - r.lo:
            base, data = bind(graph, r.node, [Want(Operand(self.base), r.lo, r.hi)], data)
        first = self.start + lo - r.lo
        placed = PlaceJob(
            shape,
            self.base.dtype,
            first,
            hi - lo,
            tuple(self._local(region, first, hi - lo) for region in self.regions),
            None if box is None else box[1:],
            job,
            lo - begin,
            base,
        )
        return graph.add("place", r.node, run_placed, placed, *data)

    def _local(self, region: Geometry, first: int, count: int) -> Geometry:
        """Return where ``count`` rows of a region lie in a block that they begin at ``first``."""
        low = region.offset - self.start * self.base.row_bytes
        return region._replace(
            offset=first * self.base.row_bytes + low, shape=(count, *region.shape[1:])
        )
