"""Matrix products over nodes: by rows, by inner rows, or in a grid of blocks, whichever is sooner.

By rows, each node needs all of the second operand. By inner rows, a node multiplies the columns of
the first operand with the same rows of the second that it has, and what the nodes find is added up:
so for a short first operand. In a grid, groups of nodes share the rows and the nodes of a group the
columns, so that a node needs a part of both operands; blocks are then put side by side within their
group. Blocks are as large as their nodes are fast.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.config import config
from dnumpy.runtime import tasks
from dnumpy.runtime.bind import Operand, Want, bind
from dnumpy.runtime.chunked import Source
from dnumpy.runtime.graph import Range, Segment
from dnumpy.runtime.memory import pool
from dnumpy.runtime.operands import Made
from dnumpy.runtime.producers import ByRanges, ContractedRows, contraction_granule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Params, Shape
    from dnumpy.ops.families import Op
    from dnumpy.runtime.graph import Graph
    from dnumpy.runtime.operands import Ref

TASK_SECONDS = 2e-3  # what each task costs on the way
FURTHER = {"rows": 0, "inner": 1, "grid": 3}  # tasks one after the other, beside the product
CLEARLY = 0.8  # of the seconds by rows: what is not sooner than that is within the model's error
INNER_BYTES = 16 << 20  # of a result that is added up in one place, at most
Span = tuple[int, int]


class Party(NamedTuple):
    """A node that may take part in a product, with its rates in it and into it."""

    node: str
    flops_per_second: float
    bytes_per_second: float


class Sizes(NamedTuple):
    """A product of ``rows`` x ``inner`` with ``inner`` x ``columns`` elements."""

    rows: int
    inner: int
    columns: int
    itemsize: int


class Block(NamedTuple):
    """What one node multiplies."""

    node: str
    rows: Span
    inner: Span
    columns: Span


class Way(NamedTuple):
    """A way to compute a product: its blocks, where the result's rows end up, and what it costs.

    ``received`` are the bytes that each node gets, of operands and of other nodes' blocks.
    """

    kind: str
    blocks: tuple[Block, ...]
    result: tuple[Range, ...]
    seconds: float = 0.0
    received: tuple[tuple[str, float], ...] = ()


def ways(
    sizes: Sizes, parties: Sequence[Party], left: Sequence[Range], right: Sequence[Range]
) -> list[Way]:
    """Return all ways considered, with their seconds; rows of the operands lie where they say."""
    found = [by_rows(sizes, parties, left)]
    if sizes.rows * sizes.columns * sizes.itemsize <= INNER_BYTES:
        found.append(by_inner(sizes, parties, right))
    fast = sorted(parties, key=lambda p: -p.flops_per_second)
    for groups in range(1, len(fast)):
        each = len(fast) // groups
        if each > 1:
            found.append(in_grid(sizes, [fast[g * each : (g + 1) * each] for g in range(groups)]))
    found = [way for way in found if all(_is_some(block) for block in way.blocks)]
    return [costed(way, sizes, parties, left, right) for way in found]


def _is_some(block: Block) -> bool:
    return all(lo < hi for lo, hi in (block.rows, block.inner, block.columns))


def by_rows(sizes: Sizes, parties: Sequence[Party], left: Sequence[Range]) -> Way:
    """Return the product by rows of the first operand, where they lie if they lie anywhere."""
    places = _tiling(left, sizes.rows, {p.node for p in parties})
    if not places:
        cuts = shares(sizes.rows, [p.flops_per_second for p in parties])
        places = [Range(p.node, *cut) for p, cut in zip(parties, cuts, strict=True)]
    blocks = [Block(r.node, (r.lo, r.hi), (0, sizes.inner), (0, sizes.columns)) for r in places]
    return Way("rows", tuple(b for b in blocks if b.rows[0] < b.rows[1]), tuple(places))


def by_inner(sizes: Sizes, parties: Sequence[Party], right: Sequence[Range]) -> Way:
    """Return the product by rows of the second operand, added up on the node of the first."""
    places = _tiling(right, sizes.inner, {p.node for p in parties})
    if not places:
        cuts = shares(sizes.inner, [p.flops_per_second for p in parties])
        places = [Range(p.node, *cut) for p, cut in zip(parties, cuts, strict=True)]
    whole = (0, sizes.rows), (0, sizes.columns)
    blocks = [Block(r.node, whole[0], (r.lo, r.hi), whole[1]) for r in places if r.lo < r.hi]
    return Way("inner", tuple(blocks), (Range(blocks[0].node, 0, sizes.rows),))


def in_grid(sizes: Sizes, groups: Sequence[Sequence[Party]]) -> Way:
    """Return the product in blocks: the rows shared among groups, columns within a group."""
    heights = shares(sizes.rows, [sum(p.flops_per_second for p in group) for group in groups])
    blocks: list[Block] = []
    result: list[Range] = []
    for rows, group in zip(heights, groups, strict=True):
        speeds = [p.flops_per_second for p in group]
        widths = shares(sizes.columns, speeds)
        parts = shares(rows[1] - rows[0], speeds)
        for party, columns, (lo, hi) in zip(group, widths, parts, strict=True):
            blocks.append(Block(party.node, rows, (0, sizes.inner), columns))
            if lo < hi:
                result.append(Range(party.node, rows[0] + lo, rows[0] + hi))
    return Way("grid", tuple(blocks), tuple(result))


def shares(count: int, rates: Sequence[float]) -> list[Span]:
    """Return consecutive spans of ``count`` in proportion to the rates."""
    ends = np.rint(np.cumsum([0.0, *rates]) / sum(rates) * count).astype(int).tolist()
    return list(pairwise(ends))


def _tiling(places: Sequence[Range], rows: int, nodes: set[str]) -> list[Range]:
    """Return the places in order where they are all the rows, once each, on these nodes."""
    ordered = sorted(places, key=lambda r: r.lo)
    tiled = [r.lo for r in ordered] == [0, *(r.hi for r in ordered)][: len(ordered)]
    known = all(r.node in nodes for r in ordered)
    return ordered if ordered and tiled and known and ordered[-1].hi == rows else []


def costed(
    way: Way, sizes: Sizes, parties: Sequence[Party], left: Sequence[Range], right: Sequence[Range]
) -> Way:
    """Return the way with its seconds and bytes: operands arrive, blocks follow, results move."""
    by_node = {p.node: p for p in parties}
    work = dict.fromkeys(by_node, 0.0)
    first = dict.fromkeys(by_node, 0.0)
    for block in way.blocks:
        rows, inner, columns = (hi - lo for lo, hi in block[1:])
        work[block.node] += 2.0 * rows * inner * columns / by_node[block.node].flops_per_second
        lacks = inner * missing(left, block.node, block.rows)
        lacks += columns * missing(right, block.node, block.inner)
        first[block.node] += lacks * sizes.itemsize
    after = _result_bytes(way, sizes)
    rate = {node: party.bytes_per_second for node, party in by_node.items()}
    seconds = max(work[node] + first[node] / rate[node] for node in by_node)
    seconds += max((nbytes / rate[node] for node, nbytes in after.items()), default=0.0)
    seconds += TASK_SECONDS * FURTHER[way.kind]
    received = {node: first[node] + after.get(node, 0.0) for node in by_node}
    return way._replace(seconds=seconds, received=tuple(received.items()))


def missing(places: Sequence[Range], node: str, span: Span) -> int:
    """Return how many rows of a span are not on a node."""
    there = [(max(r.lo, span[0]), min(r.hi, span[1])) for r in places if r.node == node]
    return span[1] - span[0] - sum(max(hi - lo, 0) for lo, hi in there)


def _result_bytes(way: Way, sizes: Sizes) -> dict[str, float]:
    """Return the bytes of other nodes' blocks that each node gets for its rows of the result."""
    after: dict[str, float] = {}
    for r in way.result:
        for block in way.blocks:
            lo, hi = max(r.lo, block.rows[0]), min(r.hi, block.rows[1])
            if block.node != r.node and lo < hi:
                size = (hi - lo) * (block.columns[1] - block.columns[0]) * sizes.itemsize
                after[r.node] = after.get(r.node, 0.0) + size
    return after


def held_beyond_rows(way: Way, sizes: Sizes | None) -> float:
    """Return the most bytes that a node holds beyond what it would if the product went by rows.

    Its parts of the operands are put together, and its block is there beside rows of the result;
    by rows it would be the second operand, and as many rows of the first as of the result.
    """
    if way.kind != "grid" or sizes is None:
        return 0.0
    received = dict(way.received)
    whole = sizes.inner * sizes.columns * sizes.itemsize
    most = 0.0
    for block in way.blocks:
        rows, inner, columns = (hi - lo for lo, hi in block[1:])
        parts = rows * inner + inner * columns + rows * columns
        own = sum(r.hi - r.lo for r in way.result if r.node == block.node) * sizes.inner
        most = max(most, received[block.node] + (parts - own) * sizes.itemsize - whole)
    return most


def best_way(
    sizes: Sizes, parties: Sequence[Party], left: Sequence[Range], right: Sequence[Range]
) -> Way:
    """Return the way that takes the fewest seconds; by rows unless another is clearly sooner."""
    first, *others = ways(sizes, parties, left, right)
    best = min(others, key=lambda way: way.seconds, default=first)
    return best if best.seconds < CLEARLY * first.seconds else first


def parties_of(planner: Any, dtype: np.dtype) -> list[Party]:
    """Return the nodes with their rates; none where the planner does not know them."""
    found = getattr(planner, "parties", None)
    return list(found(dtype)) if found is not None else []


class BesideJob(NamedTuple):
    """Rows of a result whose blocks lie side by side."""

    shape: Shape
    dtype: np.dtype
    bindings: Any

    def reads(self) -> tuple[Any, ...]:
        """Return where its operands come from."""
        return (self.bindings,)


@tasks.saying_how_it_went
def put_beside(job: BesideJob, *data: Ref) -> Made:
    """Return the rows of blocks put side by side."""
    started = time.perf_counter()
    out = pool.empty(job.shape, job.dtype)
    np.concatenate(job.bindings.values(data), 1, out=out)
    return Made((out,), (), time.perf_counter() - started, frozenset())


@dataclass(frozen=True, slots=True, eq=False)
class GridRows(ByRanges):
    """Rows of a product that is computed in a grid; lost rows are computed again by rows."""

    op: Op
    params: Params
    shape: Shape
    dtype: np.dtype
    operands: tuple[Operand, ...]
    way: Way

    def granule(self) -> int:
        """Return the rows at whose multiples ranges are cut."""
        first = self.operands[0]
        return contraction_granule(first.shape, first.dtype.itemsize, prod(self.shape[1:]))

    def build(self, graph: Graph, ranges: Sequence[Range]) -> list[tuple[Range, Ref]]:
        """Add tasks for the blocks and the rows; for some rows only, as if there were no grid."""
        if tuple(ranges) != self.way.result:
            again = ContractedRows(self.op, self.params, self.shape, self.dtype, self.operands)
            return again.build(graph, ranges)
        columns = [(block, self._block(graph, block)) for block in self.way.blocks]
        return [(r, self._beside(graph, r, columns)) for r in ranges]

    def task(self, graph: Graph, r: Range) -> Ref:
        """Add the task for rows ``r`` alone."""
        return self.build(graph, [r])[0][1]

    def _block(self, graph: Graph, block: Block) -> Source:
        """Add the task of a block; return the columns of the result that it is rows of."""
        first, second = self.operands
        (lo, hi), width = block.rows, block.columns[1] - block.columns[0]
        part = (block.columns,) if width < second.shape[1] else ()
        wants = [Want(first, lo, hi), Want(second, 0, second.shape[0], part)]
        bindings, data = bind(graph, block.node, wants)
        job = tasks.WholeJob(self.op, self.params, (hi - lo, width), self.dtype, bindings)
        ref = graph.add("block", block.node, tasks.run_whole, job, *data)
        graph.inner.append((Range(block.node, lo, hi), ref))
        source = Source((self.shape[0], width), self.dtype)
        graph.provide(source, [Segment(lo, hi, block.node, ref, 0)])
        return source

    def _beside(self, graph: Graph, r: Range, columns: Sequence[tuple[Block, Source]]) -> Ref:
        wants = [
            Want(Operand(source), r.lo, r.hi)
            for block, source in columns
            if block.rows[0] <= r.lo and r.hi <= block.rows[1]
        ]
        bindings, data = bind(graph, r.node, wants)
        job = BesideJob((r.hi - r.lo, *self.shape[1:]), self.dtype, bindings)
        return graph.add("beside", r.node, put_beside, job, *data)


def sizes_of(first: Operand, second: Operand, dtype: np.dtype) -> Sizes | None:
    """Return the sizes of a product of two matrices that lie as they are read, else None.

    None as well where bits must not depend on the nodes.
    """
    plain = all(o.source is not None and not o.views for o in (first, second))
    if config.reproducible or not plain or dtype.kind not in "fc":
        return None
    if len(first.shape) != 2 or len(second.shape) != 2:
        return None
    if not prod(first.shape) or not prod(second.shape):
        return None
    return Sizes(*first.shape, second.shape[1], dtype.itemsize)


def places_of(operand: Operand, parties: Sequence[Party]) -> list[Range]:
    """Return where the rows of an operand lie; nowhere where they are at home.

    What is still to be computed will lie where nodes are fast: before and after all stages are
    planned the answer is the same.
    """
    source = operand.source
    if source is None or source.expr is not None:
        return []
    chunked = source.pieces()
    if chunked is not None:
        return [Range(part.node, part.start, part.stop) for part in chunked.parts]
    cuts = shares(source.shape[0], [p.flops_per_second for p in parties])
    return [Range(p.node, *cut) for p, cut in zip(parties, cuts, strict=True)]
