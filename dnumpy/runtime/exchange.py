"""Exchange by index: index lists travel to the rows that they name, values travel back.

The table does not travel, but for blocks of which nearly all is asked for. For a gather, a task
beside the index splits it by owner of the rows, tasks beside the rows take them, and a task beside
the index puts the answers in order. For a scatter, a task beside the index splits (index, value)
pairs by owner, and the owner applies what it gets in the order of the index, so that the last of
equal indices wins. Indices travel in the smallest integers that hold them, and those that are
repeated travel once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.ops.indexing import AT, PUT, TAKE, flat_rows, put_rows
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
    asked: list[np.ndarray | None]  # of each run, counted from the owner's first row; None: all
    values: list[Any]  # of each run, for a scatter
    back: list[np.ndarray | None]  # where in the answer the elements of a run are, if not in order


class SplitJob(NamedTuple):
    """How to split an index; ``ends`` are the first and last element of each owner, in order.

    Nothing travels to owners that are ``near``; from others, ``item_bytes`` for each element. Of a
    scatter, values ``replace`` what was there: of equal indices the last alone counts.
    """

    bindings: Bindings
    ends: tuple[int, ...]
    near: tuple[bool, ...]
    item_bytes: int
    rest: Shape = ()
    scatters: bool = False
    full: bool = False
    replace: bool = True


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
    split = Split(order, [*starts[:1], *stops], [], [], [])
    for k, run in enumerate(runs):
        first, stop = job.ends[2 * k : 2 * k + 2]
        own = flat[run] - first
        if job.scatters:
            _add_pairs(job, split, own, run, values[0], stop - first)
        elif job.near[k]:
            split.asked.append(own)
            split.back.append(None)
        else:
            asked, back = asked_for(own, stop - first, job.item_bytes)
            split.asked.append(asked)
            split.back.append(back)
    return split


def _add_pairs(
    job: SplitJob, split: Split, own: np.ndarray, run: np.ndarray, values: Any, rows: int
) -> None:
    """Add the pairs of one owner; of equal indices the last alone where they are told apart."""
    kept = last_of_each(own, rows) if job.replace else None
    if kept is not None:
        own, run = own[kept], run[kept]
    split.asked.append(own.astype(np.min_scalar_type(max(rows - 1, 0))))
    if job.full:
        values = values.reshape(len(split.order), *job.rest)[run]
    split.values.append(values)


MARKED = 64  # rows for each element of an index, at most, that are marked to find repeated ones
SAMPLED = 1024  # elements of a sparser index that are looked at for repeated ones
REPEATED = 0.1  # of an index: the share from which on repeated elements are sent once


def asked_for(
    index: np.ndarray, rows: int, item_bytes: int
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return what to ask an owner of so many rows for, and where the answers of an index are then.

    The elements in the smallest unsigned integers that hold them, each once where many are
    repeated; None where all rows are to be sent, as they lie.
    """
    dtype = np.min_scalar_type(max(rows - 1, 0))
    told = distinct(index, rows)
    asked, back = (index, None) if told is None else told
    if blocks_are_denser(len(asked), dtype.itemsize, rows, item_bytes):
        return None, index
    return asked.astype(dtype), back


def blocks_are_denser(asked: int, index_bytes: int, rows: int, item_bytes: int) -> bool:
    """Say whether all rows are fewer bytes than those that are asked for with their indices."""
    return rows * item_bytes <= asked * (index_bytes + item_bytes)


def distinct(index: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the distinct elements and where among them each element is.

    None where few are repeated, as far as that is cheap to know.
    """
    count = len(index)
    if count * MARKED < rows:
        sample = index[:: -(-count // SAMPLED)] if count else index
        if len(np.unique(sample)) > (1 - REPEATED) * len(sample):
            return None
        once, back = np.unique(index, return_inverse=True)
        return once, back
    marks = np.zeros(rows, np.bool_)
    marks[index] = True
    once = np.flatnonzero(marks)
    if len(once) > (1 - REPEATED) * count:
        return None
    places = np.empty(rows, np.intp)
    places[once] = np.arange(len(once))
    return once, places[index]


def last_of_each(index: np.ndarray, rows: int) -> np.ndarray | None:
    """Return where each distinct element of an index stands for the last time, else None."""
    if len(index) * MARKED < rows:
        return None
    last = np.full(rows, -1, np.intp)
    last[index] = np.arange(len(index))
    kept = last[last >= 0]
    return np.sort(kept) if len(kept) <= (1 - REPEATED) * len(index) else None


def asked_of(split: Split, numbers: tuple[int, ...]) -> tuple[np.ndarray | None, ...]:
    """Return what some owners are asked for."""
    return tuple([split.asked[k] for k in numbers])


def pairs_of(split: Split, number: int) -> tuple[np.ndarray, Any]:
    """Return the indices and values of one owner."""
    asked = split.asked[number]
    assert asked is not None
    return asked, split.values[number]


def take_there(
    tables: tuple[Bindings, ...], lead: int, asked: Sequence[np.ndarray | None], *data: Ref
) -> tuple[np.ndarray, ...]:
    """Return the rows that indices name, beside the tables."""
    found = []
    for bindings, index in zip(tables, asked, strict=True):
        (table,) = bindings.values(data)
        rows = flat_rows(table, lead)
        found.append(rows if index is None else rows[index])
    return tuple(found)


class OrderJob(NamedTuple):
    """Rows of a gather: the owners of each task that answers, and of the tables that are here."""

    shape: Shape
    dtype: np.dtype
    far: tuple[tuple[int, ...], ...]
    near: tuple[int, ...] = ()
    tables: tuple[Bindings, ...] = ()
    lead: int = 1


def put_in_order(job: OrderJob, split: Split, *data: Ref) -> Made:
    """Return rows of the result from the owners' answers."""
    started = time.perf_counter()
    out = pool.empty(job.shape, job.dtype)
    count = len(split.order)
    flat = out.reshape(count, -1) if out.size else out
    answers, data = data[: len(job.far)], data[len(job.far) :]
    here = take_there(job.tables, job.lead, asked_of(split, job.near), *data)
    numbers = [*chain(*job.far), *job.near]
    for k, answer in zip(numbers, [*chain(*answers), *here], strict=True):
        places = split.order[split.cuts[k] : split.cuts[k + 1]]
        if len(places):
            back = split.back[k]
            rows = answer.reshape(len(answer), -1)
            flat[places] = rows if back is None else rows[back]
    return Made((out,), (), time.perf_counter() - started, frozenset())


class PutJob(NamedTuple):
    """Rows of a base in which the pairs that arrive are written, one list after the other.

    Of a Split, those of the owner ``number`` are meant.
    """

    shape: Shape
    dtype: np.dtype
    params: PutParams
    bindings: Bindings
    lists: int
    number: int


def put_here(job: PutJob, *data: Ref) -> Made:
    """Return a copy of the base's rows with the pairs written in order."""
    started = time.perf_counter()
    given, data = data[: job.lists], data[job.lists :]
    (base,) = job.bindings.values(data)
    out = pool.empty(job.shape, job.dtype)
    np.copyto(out, base)
    for one in given:
        index, values = pairs_of(one, job.number) if isinstance(one, Split) else one
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
        near = tuple(place.node == r.node for place in places)
        item_bytes = prod(self.table.shape[self.lead :]) * self.dtype.itemsize
        job = SplitJob(bindings, _ends(places, inner), near, item_bytes)
        split = graph.add("split", r.node, split_index, job, *data)
        numbers = by_node(places)
        here = numbers.pop(r.node, ())
        answers = [self._answer(graph, r, split, places, some) for some in numbers.values()]
        tables, data = self._tables(graph, r.node, [places[k] for k in here])
        shape = (r.hi - r.lo, *self.shape[1:])
        far = tuple(numbers.values())
        order = OrderJob(shape, self.dtype, far, here, tables, self.lead)
        return graph.add("order", r.node, put_in_order, order, split, *answers, *data)

    def _answer(
        self,
        graph: Graph,
        r: Range,
        split: Ref,
        places: Sequence[Range],
        numbers: tuple[int, ...],
    ) -> Ref:
        """Add the task with which another node answers."""
        node = places[numbers[0]].node
        asked = graph.add("pick", r.node, asked_of, split, numbers)
        tables, data = self._tables(graph, node, [places[k] for k in numbers])
        return graph.add("take", node, take_there, tables, self.lead, asked, *data)

    def _tables(
        self, graph: Graph, node: str, places: Sequence[Range]
    ) -> tuple[tuple[Bindings, ...], list[Ref]]:
        data: list[Ref] = []
        tables = []
        for place in places:
            bindings, data = bind(graph, node, [Want(self.table, place.lo, place.hi)], data)
            tables.append(bindings)
        return tuple(tables), data


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
        near = (False,) * (len(ends) // 2)
        replace = not self.params.ufunc
        job = SplitJob(bindings, ends, near, 0, rest, scatters=True, full=full, replace=replace)
        return place, graph.add("split", place.node, split_index, job, *data)

    def _task(
        self, graph: Graph, r: Range, number: int, splits: Sequence[tuple[Range, Ref]]
    ) -> Ref:
        pairs = [
            split if q.node == r.node else graph.add("pick", q.node, pairs_of, split, number)
            for q, split in splits
        ]
        bindings, data = bind(graph, r.node, [Want(self.base, r.lo, r.hi)])
        shape = (r.hi - r.lo, *self.base.shape[1:])
        job = PutJob(shape, self.base.dtype, self.params, bindings, len(pairs), number)
        return graph.add("put", r.node, put_here, job, *pairs, *data)


def by_node(places: Sequence[Range]) -> dict[str, tuple[int, ...]]:
    """Return the numbers of the places on each node."""
    found: dict[str, tuple[int, ...]] = {}
    for number, place in enumerate(places):
        found[place.node] = (*found.get(place.node, ()), number)
    return found


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
    if expr.op in (PUT, AT) and not all(replicable(o, small) for o in operands[1:]):
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
