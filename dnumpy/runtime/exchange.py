"""Exchange by index: index lists travel to the rows that they name, values travel back.

The table never travels. For a gather, a task beside the index splits it by owner of the rows, tasks
beside the rows take them, and a task beside the index puts the answers in order. For a scatter, a
task beside the index splits (index, value) pairs by owner, and the owner applies what it gets in
the order of the index, so that the last of equal indices wins.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.ops.indexing import PUT, TAKE, flat_rows, put_rows
from dnumpy.runtime.bind import Operand, Want, bind
from dnumpy.runtime.graph import Range
from dnumpy.runtime.memory import pool
from dnumpy.runtime.operands import Bindings, Made
from dnumpy.runtime.regions import rows_beginning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Expr, Shape
    from dnumpy.ops.indexing import PutParams
    from dnumpy.runtime.graph import Graph
    from dnumpy.runtime.operands import Ref

Built = list[tuple[Range, "Ref"]]


class Split(NamedTuple):
    """An index in runs by owner: ``order`` sorts it, run ``k`` is ``cuts[k]:cuts[k + 1]``."""

    order: np.ndarray
    cuts: list[int]
    asked: list[np.ndarray]  # of each run, counted from the owner's first row
    values: list[Any]  # of each run, for a scatter


class SplitJob(NamedTuple):
    """How to split an index; ``ends`` are the first and last element of each owner, in order."""

    bindings: Bindings
    ends: tuple[int, ...]
    rest: Shape = ()
    scatters: bool = False
    full: bool = False


def split_index(job: SplitJob, *data: Ref) -> Split:
    """Return the index by owner, each run in the order of the index."""
    index, *values = job.bindings.values(data)
    flat = index.reshape(-1)
    owner = np.searchsorted(np.asarray(job.ends), flat, side="right").astype(np.int16)
    order = np.argsort(owner, kind="stable")
    numbers = range(1, len(job.ends), 2)
    starts = np.searchsorted(owner[order], numbers, side="left").tolist()
    stops = np.searchsorted(owner[order], numbers, side="right").tolist()
    runs = [order[a:b] for a, b in zip(starts, stops, strict=True)]
    apart = [flat[run] - job.ends[2 * k] for k, run in enumerate(runs)]
    given: list[Any] = [None] * len(runs)
    if job.scatters:
        given = [values[0]] * len(runs)
        if job.full:
            rows = values[0].reshape(flat.size, *job.rest)
            given = [rows[run] for run in runs]
    return Split(order, [*starts[:1], *stops], apart, given)


def index_of(split: Split, number: int) -> np.ndarray:
    """Return what one owner is asked for."""
    return split.asked[number]


def pairs_of(split: Split, number: int) -> tuple[np.ndarray, Any]:
    """Return the indices and values of one owner."""
    return split.asked[number], split.values[number]


def take_here(bindings: Bindings, lead: int, index: np.ndarray, *data: Ref) -> np.ndarray:
    """Return the rows that an index names, beside the table."""
    (table,) = bindings.values(data)
    return flat_rows(table, lead)[index]


def put_in_order(shape: Shape, dtype: np.dtype, split: Split, *answers: np.ndarray) -> Made:
    """Return rows of the result from the owners' answers."""
    started = time.perf_counter()
    out = pool.empty(shape, dtype)
    count = len(split.order)
    flat = out.reshape(count, -1) if out.size else out
    for k, answer in enumerate(answers):
        if len(answer):
            places = split.order[split.cuts[k] : split.cuts[k + 1]]
            flat[places] = answer.reshape(len(answer), -1)
    return Made((out,), (), time.perf_counter() - started, frozenset())


class PutJob(NamedTuple):
    """Rows of a base in which the pairs that arrive are written, one list after the other."""

    shape: Shape
    dtype: np.dtype
    params: PutParams
    bindings: Bindings
    lists: int


def put_here(job: PutJob, *data: Ref) -> Made:
    """Return a copy of the base's rows with the pairs written in order."""
    started = time.perf_counter()
    pairs, data = data[: job.lists], data[job.lists :]
    (base,) = job.bindings.values(data)
    out = pool.empty(job.shape, job.dtype)
    np.copyto(out, base)
    for index, values in pairs:
        if len(index):
            put_rows(out, job.params, index, values)
    return Made((out,), (), time.perf_counter() - started, frozenset())


@dataclass(frozen=True, slots=True, eq=False)
class TakenRows:
    """Rows of a gather whose table stays where it lies."""

    lead: int
    shape: Shape
    dtype: np.dtype
    table: Operand
    index: Operand
    grid: int

    def depth(self) -> int:
        """Return the number of stages that led here."""
        return max(self.table.depth, self.index.depth)

    def granule(self) -> int:
        """Return the rows at whose multiples ranges are cut."""
        return self.grid

    def row_outputs(self) -> int:
        """Return how many arrays each task gives rows of."""
        return 1

    def build(self, graph: Graph, ranges: Sequence[Range]) -> Built:
        """Add tasks for each range."""
        places = owners(graph, self.table)
        return [(r, self._task(graph, r, places)) for r in ranges]

    def _task(self, graph: Graph, r: Range, places: Sequence[Range]) -> Ref:
        inner = prod(self.table.shape[1 : self.lead])
        bindings, data = bind(graph, r.node, [Want(self.index, r.lo, r.hi)])
        job = SplitJob(bindings, _ends(places, inner))
        split = graph.add("split", r.node, split_index, job, *data)
        answers = []
        for k, place in enumerate(places):
            asked = graph.add("pick", r.node, index_of, split, k)
            rows, data = bind(graph, place.node, [Want(self.table, place.lo, place.hi)])
            answers.append(graph.add("take", place.node, take_here, rows, self.lead, asked, *data))
        shape = (r.hi - r.lo, *self.shape[1:])
        return graph.add("order", r.node, put_in_order, shape, self.dtype, split, *answers)


@dataclass(frozen=True, slots=True, eq=False)
class PutRows:
    """Rows of a copy of the base with values scattered into it, each pair by its owner."""

    params: PutParams
    base: Operand
    index: Operand
    values: Operand
    grid: int

    def depth(self) -> int:
        """Return the number of stages that led here."""
        return max(self.base.depth, self.index.depth, self.values.depth)

    def granule(self) -> int:
        """Return the rows at whose multiples ranges are cut."""
        return self.grid

    def row_outputs(self) -> int:
        """Return how many arrays each task gives rows of."""
        return 1

    def build(self, graph: Graph, ranges: Sequence[Range]) -> Built:
        """Add tasks for each range."""
        ordered = sorted(ranges, key=lambda r: r.lo)
        lead = self.params.lead
        ends = _ends(ordered, prod(self.base.shape[1:lead]))
        splits = [self._split(graph, place, ends) for place in owners(graph, self.index)]
        return [(r, self._task(graph, r, k, splits)) for k, r in enumerate(ordered)]

    def _split(self, graph: Graph, place: Range, ends: tuple[int, ...]) -> tuple[Range, Ref]:
        full = self.params.full
        by_rows = Want(self.values, place.lo, place.hi) if full else Want(self.values)
        wants = [Want(self.index, place.lo, place.hi), by_rows]
        bindings, data = bind(graph, place.node, wants)
        rest = self.base.shape[self.params.lead :]
        job = SplitJob(bindings, ends, rest, scatters=True, full=full)
        return place, graph.add("split", place.node, split_index, job, *data)

    def _task(
        self, graph: Graph, r: Range, number: int, splits: Sequence[tuple[Range, Ref]]
    ) -> Ref:
        pairs = [graph.add("pick", q.node, pairs_of, split, number) for q, split in splits]
        bindings, data = bind(graph, r.node, [Want(self.base, r.lo, r.hi)])
        shape = (r.hi - r.lo, *self.base.shape[1:])
        job = PutJob(shape, self.base.dtype, self.params, bindings, len(pairs))
        return graph.add("put", r.node, put_here, job, *pairs, *data)


def _ends(ranges: Sequence[Range], inner: int) -> tuple[int, ...]:
    return tuple(end * inner for r in ranges for end in (r.lo, r.hi))


def owners(graph: Graph, operand: Operand) -> list[Range]:
    """Return ranges that tile an operand's rows, each where most of its rows lie."""
    rows = operand.shape[0]
    source = operand.source
    assert source is not None
    found: list[Range] = []
    if source.expr is None:
        found = _places(graph, operand, rows)
    if [r.lo for r in found] != [0, *(r.hi for r in found)][: len(found)] or not found:
        return graph.nodes.spread(0, rows, 1)
    return found if found[-1].hi == rows else graph.nodes.spread(0, rows, 1)


def _places(graph: Graph, operand: Operand, rows: int) -> list[Range]:
    source = operand.source
    assert source is not None
    found = []
    for segment in graph.require(source, 0, source.shape[0]):
        lo, hi = rows_beginning(operand, segment.start, segment.stop, rows)
        if lo < hi:
            found.append(Range(segment.node, lo, hi))
    return sorted(found, key=lambda r: r.lo)


def exchange_for(
    expr: Expr, operands: tuple[Operand, ...], grid: int, small: float
) -> TakenRows | PutRows | None:
    """Return the producer of a gather or scatter whose table, or index, is too big to replicate.

    None where ``small`` bytes or what is at home is simply sent to every node.
    """
    if expr.op is TAKE and not replicable(operands[0], small):
        lead = expr.params.lead  # type: ignore[attr-defined]
        return TakenRows(lead, expr.shape, expr.dtype, operands[0], operands[1], grid)
    if expr.op is PUT and not all(replicable(o, small) for o in operands[1:]):
        base, index, values = operands
        return PutRows(expr.params, base, index, values, grid)  # type: ignore[arg-type]
    return None


def replicable(operand: Operand, small: float) -> bool:
    """Say whether every node may get a copy of an operand."""
    source = operand.source
    if source is None:
        return True
    nbytes = prod(operand.shape) * operand.dtype.itemsize
    return nbytes <= (LARGEST_FROM_HOME if source.expr is not None else small)


LARGEST_FROM_HOME = 64 << 20  # a table at home up to this size is sent to every node
