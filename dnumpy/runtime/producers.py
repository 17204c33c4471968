"""Producers: how rows of an array are computed, any range of them, on any node, as often as needed.

A producer is what remains of a stage when its Exprs are forgotten; it is built into the graph of
the run that the stage belongs to, and again, for fewer rows, into a later graph when a worker was
lost.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING

from dnumpy.config import config
from dnumpy.expr.geometry import Geometry
from dnumpy.ops.families import Contraction, read_by_rows
from dnumpy.plan.work import partial_bytes
from dnumpy.rewrite.phase import Access
from dnumpy.runtime import tasks
from dnumpy.runtime.bind import (
    Operand,
    Want,
    bind,
    bind_blocks,
    bind_by_rows,
    bind_in_turn,
    in_one_piece,
    make_ready,
)
from dnumpy.runtime.files import BLOCK_BYTES
from dnumpy.runtime.operands import Ref

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np

    from dnumpy.expr.expr import Params, Shape
    from dnumpy.expr.geometry import RowMap
    from dnumpy.ops.families import Blocked, Fold, Op
    from dnumpy.rewrite.phase import Phase
    from dnumpy.runtime.chunked import Source
    from dnumpy.runtime.graph import Graph, Range

Built = list[tuple["Range", Ref]]  # each range with the reference of its task, which gives a Made


class ByRanges(ABC):
    """One task for each range of rows, from operands."""

    __slots__ = ()
    operands: tuple[Operand, ...]

    def depth(self) -> int:
        """Return the number of stages that led here."""
        return max((operand.depth for operand in self.operands), default=0)

    @abstractmethod
    def granule(self) -> int:
        """Return the rows at whose multiples ranges are cut."""

    def row_outputs(self) -> int:
        """Return how many arrays each task gives rows of."""
        return 1

    def build(self, graph: Graph, ranges: Sequence[Range]) -> Built:
        """Add a task for each range, after those that make what passes through it."""
        made = []
        for r in ranges:
            if graph.passing:
                make_ready(graph, self.wants(r.lo, r.hi))
            made.append((r, self.task(graph, r)))
        return made

    def wants(self, lo: int, hi: int) -> list[Want]:  # noqa: ARG002 - where it depends on them
        """Return what rows ``lo:hi`` read, as far as it may pass: nothing unless a kind says so."""
        return []

    @abstractmethod
    def task(self, graph: Graph, r: Range) -> Ref:
        """Add the task for rows ``r``."""


@dataclass(frozen=True, slots=True, eq=False)
class FusedRows(ByRanges):
    """Rows of a phase."""

    phase: Phase
    operands: tuple[Operand, ...]

    def granule(self) -> int:
        """Return the rows at whose multiples ranges are cut."""
        return self.phase.tile_rows

    def row_outputs(self) -> int:
        """Return how many arrays each task gives rows of."""
        return sum(not output.partial for output in self.phase.outputs)

    @property
    def leaves_partials(self) -> bool:
        """Say whether tasks give partial results beside rows."""
        return any(output.partial for output in self.phase.outputs)

    def task(self, graph: Graph, r: Range) -> Ref:
        """Add the task for rows ``r``."""
        job, data = self.bound(graph, r)
        return graph.add("rows", r.node, tasks.run_rows, job, *data)

    def bound(self, graph: Graph, r: Range) -> tuple[tasks.RowJob, list[Ref]]:
        """Return what computes rows ``r``, and the arguments that bring its operands."""
        runs = self._runs(graph, r)
        wants = [self.wants(lo, hi) for lo, hi in runs]
        bound, data = bind_in_turn(graph, r.node, wants, self.wants(r.lo, r.hi))
        bindings = tuple([(lo, hi, each) for (lo, hi), each in zip(runs, bound, strict=True)])
        return tasks.RowJob(self.phase, r.lo, r.hi, bindings), data

    def wants(self, lo: int, hi: int) -> list[Want]:
        """Return what rows ``lo:hi`` read."""
        return [
            Want(operand, lo, hi) if given.access is Access.ROWS else Want(operand)
            for operand, given in zip(self.operands, self.phase.inputs, strict=True)
        ]

    def _runs(self, graph: Graph, r: Range) -> list[tuple[int, int]]:
        """Return runs of tiles, each as long as no operand's rows have to be put together for it.

        Putting them together costs a copy, and memory: it is done for single tiles only. What is
        read whole is put together for each run.
        """
        read = rows_read_at_a_time(graph, r.node, self.operands)
        size = self._rows_at_once(read)
        at_most = max(min(read // size, self._tiles_folded_at_a_time(graph, r.node)), 1)
        runs: list[tuple[int, int]] = []
        lo = r.lo
        while lo < r.hi:
            tiles = min(-(-(r.hi - lo) // size), at_most)
            fit = _most(tiles, partial(self._fits, graph, lo, size))
            hi = min(lo + max(fit, 1) * size, r.hi)
            runs.append((lo, hi))
            lo = hi
        return runs or [(r.lo, r.hi)]

    def _tiles_folded_at_a_time(self, graph: Graph, node: str) -> int:
        left = partial_bytes(self.phase)
        return int(BLOCK_BYTES // graph.nodes.threads(node) // left) if left else sys.maxsize

    def _rows_at_once(self, read: int) -> int:
        """Return the rows of a tile; of a part of it, where ``read`` rows of files are fewer.

        A column of a wide array is short, and lies in all of its rows. What is folded or multiplied
        goes by whole tiles, which its bits depend on.
        """
        size = self.phase.tile_rows
        if self.phase.multiplies or any(output.partial for output in self.phase.outputs):
            return size
        while size > max(read, LEAST_AT_ONCE) and size % 2 == 0:
            size //= 2
        return size

    def _fits(self, graph: Graph, lo: int, size: int, tiles: int) -> bool:
        hi = min(lo + tiles * size, self.phase.rows)
        return in_one_piece(graph, [want for want in self.wants(lo, hi) if want.lo is not None])


LEAST_AT_ONCE = 1 << 10  # rows: any loop begins there as it does at a tile


def rows_read_at_a_time(graph: Graph, node: str, operands: Sequence[Operand]) -> int:
    """Return how many rows a task on the node may read from files before it lets them go."""
    read: dict[Source, int] = {}
    for o in operands:
        if o.source is not None and o.shape:
            read[o.source] = max(read.get(o.source, 0), o.passed_bytes)
    in_files = sum(size for source, size in read.items() if graph.file(source) is not None)
    return BLOCK_BYTES // graph.nodes.threads(node) // in_files if in_files else sys.maxsize


def _most(upto: int, holds: Callable[[int], bool]) -> int:
    """Return the largest number up to ``upto`` that holds, where all below one that holds do."""
    if holds(upto):
        return upto
    low, high = 0, upto  # the first holds or is 0, the second does not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


@dataclass(frozen=True, slots=True, eq=False)
class UpdatedRows(ByRanges):
    """Rows of a copy of the base with one region, which steps through its rows, replaced."""

    base: Source
    value: Operand
    region: Geometry
    row_map: RowMap

    def depth(self) -> int:
        """Return the number of stages that led here."""
        return max(self.base.depth, self.value.depth)

    def granule(self) -> int:
        """Return the rows at whose multiples ranges are cut."""
        return tile_rows_of(self.base.shape, self.base.row_bytes)

    def task(self, graph: Graph, r: Range) -> Ref:
        """Add the task for rows ``r``."""
        bindings, data = bind(graph, r.node, self.wants(r.lo, r.hi))
        shape = (r.hi - r.lo, *self.base.shape[1:])
        job = tasks.UpdateJob(shape, self.base.dtype, self._region_in(r.lo, r.hi), bindings)
        return graph.add("update", r.node, tasks.run_update, job, *data)

    def wants(self, lo: int, hi: int) -> list[Want]:
        """Return what rows ``lo:hi`` read: the base, unless all is replaced, and the value."""
        region = self._region_in(lo, hi)
        wants = []
        if region is None or not region.is_whole((hi - lo, *self.base.shape[1:]), self.base.dtype):
            wants.append(Want(Operand(self.base), lo, hi))
        if region is not None:
            wants.append(value_rows(self.value, self.region, *self._region_rows(lo, hi)))
        return wants

    def _region_in(self, lo: int, hi: int) -> Geometry | None:
        """Return the region within rows ``lo:hi`` of the base; None where it has no row there."""
        first, stop = self._region_rows(lo, hi)
        return self._local_region(lo, first, stop) if first < stop else None

    def _region_rows(self, lo: int, hi: int) -> tuple[int, int]:
        """Return which rows of the region lie in rows ``lo:hi`` of the base."""
        start, step = self.row_map
        count = self.region.shape[0]
        if step > 0:
            first, stop = -(-(lo - start) // step), -(-(hi - start) // step)
        else:
            first, stop = -((hi - 1 - start) // -step), (start - lo) // -step + 1
        first = min(max(first, 0), count)
        return first, min(max(stop, first), count)

    def _local_region(self, row: int, lo: int, hi: int) -> Geometry:
        start, step = self.row_map
        low = self.region.offset - start * self.base.row_bytes
        offset = (start + step * lo - row) * self.base.row_bytes + low
        shape = (hi - lo, *self.region.shape[1:])
        return Geometry(offset, shape, self.region.strides, self.region.dtype)


def value_rows(value: Operand, region: Geometry, lo: int, hi: int) -> Want:
    """Return what rows ``lo:hi`` of a region read of the value that replaces it."""
    shape = value.shape
    by_rows = len(shape) == len(region.shape) and shape[0] == region.shape[0]
    return Want(value, lo, hi) if by_rows and shape[0] > 1 else Want(value)


@dataclass(frozen=True, slots=True, eq=False)
class ContractedRows(ByRanges):
    """Rows of a contraction, from rows of the first operand and the others whole."""

    op: Op
    params: Params
    shape: Shape
    dtype: np.dtype
    operands: tuple[Operand, ...]

    def granule(self) -> int:
        """Return the rows that one call takes; fixed, so that bits do not depend on the cut."""
        first = self.operands[0]
        return contraction_granule(first.shape, first.dtype.itemsize, prod(self.shape[1:]))

    def task(self, graph: Graph, r: Range) -> Ref:
        """Add the task for rows ``r``."""
        size = self.call_rows()
        bindings, data = bind_by_rows(graph, r.node, self.wants(r.lo, r.hi), (0,), size)
        shape = (r.hi - r.lo, *self.shape[1:])
        job = tasks.WholeJob(self.op, self.params, shape, self.dtype, bindings, size)
        return graph.add("contract", r.node, tasks.run_whole, job, *data)

    def call_rows(self) -> int:
        """Return the rows of one library call: a granule, or more where bits may depend on it.

        And where more take no more memory.
        """
        granule = self.granule()
        writes = isinstance(self.op, Contraction) and self.op.writes
        if config.reproducible or not writes or any(o.dtype != self.dtype for o in self.operands):
            return granule
        row_bytes = max(prod(shape[1:]) for shape in (self.shape, self.operands[0].shape))
        return granule * max(1, CALL_BYTES // (granule * max(row_bytes * self.dtype.itemsize, 1)))

    def wants(self, lo: int, hi: int) -> list[Want]:
        """Return what rows ``lo:hi`` read."""
        first, *rest = self.operands
        return [Want(first, lo, hi), *(Want(operand) for operand in rest)]


@dataclass(frozen=True, slots=True, eq=False)
class FoldedRows(ByRanges):
    """Partial results of ``left.T @ right``: rows of neither operand leave their node.

    With ``across`` of ``left @ right``: columns of the first go where rows of the second are.
    """

    shape: Shape
    dtype: np.dtype
    left: Operand
    right: Operand
    across: bool = False

    def depth(self) -> int:
        """Return the number of stages that led here."""
        return max(self.left.depth, self.right.depth)

    def granule(self) -> int:
        """Return the rows that one call takes; fixed, so that bits do not depend on the cut."""
        first = self.right if self.across else self.left
        columns = prod((self.left if self.across else self.right).shape[1:])
        return contraction_granule(first.shape, first.dtype.itemsize, columns)

    def row_outputs(self) -> int:
        """Return zero: the tasks give partial results only."""
        return 0

    def task(self, graph: Graph, r: Range) -> Ref:
        """Add the task for rows ``r``."""
        size, rows, order = self.granule(), self.right.shape[0], self.in_any_order()
        apart = tasks.folded_apart(any_order=order)
        bindings, data = bind_by_rows(graph, r.node, self.wants(r.lo, r.hi), apart, size)
        place = r.lo // size, -(-rows // size)
        job = tasks.FoldJob(self.shape, self.dtype, bindings, size, *place, order, self.across)
        return graph.add("fold", r.node, tasks.run_fold, job, *data)

    def in_any_order(self) -> bool:
        """Say whether products are added up in any order: bits may depend on the cut."""
        big = prod(self.shape) * self.dtype.itemsize > BIG_PRODUCT_BYTES
        return self.across or (big and not config.reproducible)

    def wants(self, lo: int, hi: int) -> list[Want]:
        """Return what rows ``lo:hi`` read."""
        left = Want(self.left, lo, hi)
        if self.across:
            left = Want(self.left, 0, self.left.shape[0], ((lo, hi),))
        return [left, Want(self.right, lo, hi)]


@dataclass(frozen=True, slots=True, eq=False)
class BlockedRows(ByRanges):
    """Rows of a blocked op, from the pieces of the operands that it names."""

    op: Blocked
    params: Params
    shape: Shape
    dtype: np.dtype
    operands: tuple[Operand, ...]
    grid: int

    def granule(self) -> int:
        """Return the rows at whose multiples ranges are cut."""
        return self.grid

    def task(self, graph: Graph, r: Range) -> Ref:
        """Add the task for rows ``r``."""
        step = self.step(r)
        cuts = [(lo, min(lo + step, r.hi)) for lo in range(r.lo, r.hi, step)]
        wants = [self.wants(lo, hi) for lo, hi in cuts]
        bound, data = bind_in_turn(graph, r.node, wants, self.wants(r.lo, r.hi))
        blocks = tuple([(lo, hi, each) for (lo, hi), each in zip(cuts, bound, strict=True)])
        shape = (r.hi - r.lo, *self.shape[1:])
        job = tasks.BlockJob(self.op, self.params, shape, self.dtype, r.lo, blocks)
        return graph.add(_word(self.op), r.node, tasks.run_blocks, job, *data)

    def step(self, r: Range) -> int:
        """Return the rows of one call: few enough that what a call allocates is little."""
        if self.op.rows is not None:
            return self.grid
        if not self.goes_by_rows():
            return max(r.hi - r.lo, 1)
        widths = [prod(o.shape[1:]) * o.dtype.itemsize for o in self._cut()]
        row_bytes = max([prod(self.shape[1:]) * self.dtype.itemsize, *widths, 1])
        return max(STEP_BYTES // row_bytes // self.grid, 1) * self.grid

    def goes_by_rows(self) -> bool:
        """Say whether rows of the result need the same rows of some operands, and others whole."""
        ends = (0, self.shape[0])
        wants = self.wants(*ends)
        return all(w.lo is None or ((w.lo, w.hi) == ends and not w.inner) for w in wants)

    def _cut(self) -> list[Operand]:
        return [w.operand for w in self.wants(0, self.shape[0]) if w.lo is not None]

    def wants(self, lo: int, hi: int) -> list[Want]:
        """Return what rows ``lo:hi`` read."""
        shapes = tuple(operand.shape for operand in self.operands)
        pieces = self.op.reads(shapes, self.params, lo, hi)
        return [Want(self.operands[p.operand], p.first, p.stop, p.inner) for p in pieces]


@dataclass(frozen=True, slots=True, eq=False)
class FoldedBlocks(ByRanges):
    """What a fold makes of each block of rows: rows of no operand leave their node."""

    op: Fold
    params: Params
    shape: Shape
    dtype: np.dtype
    operands: tuple[Operand, ...]
    grid: int

    def granule(self) -> int:
        """Return the rows of a block; fixed, so that bits do not depend on the cut."""
        return self.grid

    def row_outputs(self) -> int:
        """Return zero: the tasks give partial results only."""
        return 0

    def task(self, graph: Graph, r: Range) -> Ref:
        """Add the task for rows ``r``."""
        job, data = self.bound(graph, r, [])
        return graph.add(_word(self.op), r.node, tasks.run_partials, job, *data)

    def bound(self, graph: Graph, r: Range, data: list[Ref]) -> tuple[tasks.PartialJob, list[Ref]]:
        """Return what folds rows ``r``, and the arguments that bring its operands.

        They come after those in ``data``, which the task has already.
        """
        bindings, data = bind_blocks(graph, r, self.grid, self.wants, data)
        starts = range(r.lo, r.hi, self.grid)
        blocks = [
            (lo, min(lo + self.grid, r.hi), b) for lo, b in zip(starts, bindings, strict=True)
        ]
        place = r.lo // self.grid, -(-self.operands[0].shape[0] // self.grid)
        what = self.op, self.params, tuple(blocks)
        return tasks.PartialJob(*what, *place, self.shape, self.dtype), data

    def wants(self, lo: int, hi: int) -> list[Want]:
        """Return what rows ``lo:hi`` read."""
        shapes = tuple(operand.shape for operand in self.operands)
        pieces = read_by_rows(shapes, self.params, lo, hi)
        return [Want(self.operands[p.operand], p.first, p.stop) for p in pieces]


@dataclass(frozen=True, slots=True, eq=False)
class FoldedTogether(ByRanges):
    """What several folds of the same rows, in the same blocks, make of them: one task for all."""

    folds: tuple[FoldedBlocks, ...]

    @property
    def operands(self) -> tuple[Operand, ...]:  # type: ignore[override]
        """The operands of all folds."""
        return tuple(operand for fold in self.folds for operand in fold.operands)

    def granule(self) -> int:
        """Return the rows of a block; fixed, so that bits do not depend on the cut."""
        return self.folds[0].grid

    def row_outputs(self) -> int:
        """Return zero: the tasks give partial results only."""
        return 0

    def task(self, graph: Graph, r: Range) -> Ref:
        """Add the task for rows ``r``."""
        jobs: list[tasks.PartialJob] = []
        data: list[Ref] = []
        for fold in self.folds:
            job, data = fold.bound(graph, r, data)
            jobs.append(job)
        return graph.add("folds", r.node, tasks.run_partials_together, tuple(jobs), *data)

    def wants(self, lo: int, hi: int) -> list[Want]:
        """Return what rows ``lo:hi`` read."""
        return [want for fold in self.folds for want in fold.wants(lo, hi)]


def _word(op: Op) -> str:
    """Return a word for the keys of an op's tasks."""
    return op.name.rpartition(".")[2].strip("_") or "block"


@dataclass(frozen=True, slots=True, eq=False)
class WholeResult(ByRanges):
    """One op on whole operands, in one task."""

    op: Op
    params: Params
    shape: Shape
    dtype: np.dtype
    operands: tuple[Operand, ...]

    def granule(self) -> int:
        """Return the rows of the whole result: it is not cut."""
        return max(self.shape[0], 1) if self.shape else 1

    def build(self, graph: Graph, ranges: Sequence[Range]) -> Built:
        """Add one task, on the node of the first range."""
        return super(WholeResult, self).build(graph, ranges[:1])

    def task(self, graph: Graph, r: Range) -> Ref:
        """Add the task for the whole result."""
        bindings, data = bind(graph, r.node, self.wants(r.lo, r.hi))
        job = tasks.WholeJob(self.op, self.params, self.shape, self.dtype, bindings)
        return graph.add("whole", r.node, tasks.run_whole, job, *data)

    def wants(self, lo: int, hi: int) -> list[Want]:  # noqa: ARG002 - one task makes all rows
        """Return the operands, whole."""
        return [Want(operand) for operand in self.operands]


Producer = (
    FusedRows
    | UpdatedRows
    | ContractedRows
    | FoldedRows
    | BlockedRows
    | FoldedBlocks
    | FoldedTogether
    | WholeResult
)

STEP_BYTES = 1 << 20  # of an operand or result that one call on blocks of rows takes
BIG_PRODUCT_BYTES = 1 << 18  # from which on a node sends one sum, unless bits are to be the same
CONTRACTION_ROWS = 256  # of the first operand in one library call, or the bytes below if more
CONTRACTION_BYTES = 1 << 19
CALL_BYTES = 1 << 23  # of a call's rows: with 256 of 1,000 columns each takes 1.12 times as long
FEW_COLUMNS = 4  # of what is multiplied by, where no row is read more often
LONG_ROWS = 32  # in one library call, at least; a power of two, as most arrays are cut at


def contraction_granule(shape: Shape, itemsize: int, columns: int) -> int:
    """Return how many rows of an operand of this shape one library call takes.

    Long rows that meet few ``columns`` are read as fast a few at a time, and cut where they lie:
    rows that lie beyond the next multiple would travel in each step of a power iteration.
    """
    row_bytes = max(prod(shape[1:]) * itemsize, 1)
    rows = max(CONTRACTION_ROWS, CONTRACTION_BYTES // row_bytes)
    if columns <= FEW_COLUMNS and CONTRACTION_ROWS * row_bytes > CONTRACTION_BYTES:
        fitting = max(CONTRACTION_BYTES // row_bytes, 1)
        rows = max(LONG_ROWS, 1 << fitting.bit_length() - 1)
    return max(1, min(rows, config.tile_rows_max, shape[0]))


def tile_rows_of(shape: Shape, row_bytes: int) -> int:
    """Return rows per tile of an array that no phase computes."""
    return max(1, min(shape[0], config.tile_rows_max, config.tile_bytes // max(row_bytes, 1)))
