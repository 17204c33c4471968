"""Exchange by value: values travel to the range of a sorted table that they fall in.

The table never travels. A task beside the values splits them by owner, told by the first element
of each owner's rows; tasks beside those rows look them up; a task beside the values puts the
answers in order.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.ops.sorting import FIND, ISIN_ROWS
from dnumpy.runtime.bind import Operand, Want, bind
from dnumpy.runtime.exchange import OrderJob, Split, asked_of, owners, put_in_order, replicable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Expr, Params, Shape
    from dnumpy.ops.families import Blocked
    from dnumpy.runtime.graph import Graph, Range
    from dnumpy.runtime.operands import Bindings, Ref

Built = list[tuple["Range", "Ref"]]


def edge_of(bindings: Bindings, *data: Ref) -> np.ndarray:
    """Return the first element of an owner's rows, an array of one."""
    (first,) = bindings.values(data)
    return np.array(first)


def split_values(bindings: Bindings, side: str, owners_: int, *data: Ref) -> Split:
    """Return the values by owner, each run in their own order.

    What lies below the first edge goes to the first owner. With ``side`` "left" none of what comes
    after an owner is below its values; with "right" none is at most equal to them.
    """
    (values,) = bindings.values(data[owners_:])
    flat = values.reshape(-1)
    edges = np.concatenate(data[:owners_])
    found = np.searchsorted(edges, flat, side)  # type: ignore[call-overload]
    owner = np.maximum(found - 1, 0).astype(np.int32)
    order = np.argsort(owner, kind="stable")
    cuts = np.searchsorted(owner[order], np.arange(owners_ + 1)).tolist()
    asked: list[np.ndarray | None] = [flat[order[a:b]] for a, b in itertools.pairwise(cuts)]
    return Split(order, cuts, asked, [None] * owners_, [None] * owners_)


class LookJob(NamedTuple):
    """How owner ``number`` looks values up in its rows, of which the first is row ``lo``."""

    op: Blocked
    params: Params
    dtype: np.dtype
    lo: int
    bindings: Bindings
    number: int


def look_up(job: LookJob, wanted: Split | tuple[np.ndarray], *data: Ref) -> tuple[np.ndarray]:
    """Return what the op says of values whose place is in these rows of the table."""
    (table,) = job.bindings.values(data)
    asked = wanted.asked[job.number] if isinstance(wanted, Split) else wanted[0]
    assert asked is not None
    out = np.empty(len(asked), job.dtype)
    pieces: tuple[Any, ...] = (table, asked) if job.op is FIND else (asked, table)
    job.op.call(pieces, job.params, 0, len(asked), out)
    if job.op is FIND:
        out += job.lo
    return (out,)


@dataclass(frozen=True, slots=True, eq=False)
class FoundRows:
    """What is found of rows of values in a sorted table that stays where it lies."""

    expr: tuple[Blocked, Params, Shape, np.dtype]
    side: str
    table: Operand
    values: Operand
    grid: int

    def depth(self) -> int:
        """Return the number of stages that led here."""
        return max(self.table.depth, self.values.depth)

    def granule(self) -> int:
        """Return the rows at whose multiples ranges are cut."""
        return self.grid

    def row_outputs(self) -> int:
        """Return how many arrays each task gives rows of."""
        return 1

    def build(self, graph: Graph, ranges: Sequence[Range]) -> Built:
        """Add tasks for each range."""
        places = owners(graph, self.table)
        edges = [self._edge(graph, place) for place in places]
        return [(r, self._task(graph, r, places, edges)) for r in ranges]

    def _edge(self, graph: Graph, place: Range) -> Ref:
        bindings, data = bind(graph, place.node, [Want(self.table, place.lo, place.lo + 1)])
        return graph.add("edge", place.node, edge_of, bindings, *data)

    def _task(self, graph: Graph, r: Range, places: Sequence[Range], edges: Sequence[Ref]) -> Ref:
        op, params, shape, dtype = self.expr
        bindings, data = bind(graph, r.node, [Want(self.values, r.lo, r.hi)])
        given = (bindings, self.side, len(places), *edges, *data)
        split = graph.add("split", r.node, split_values, *given)
        answers = []
        for k, place in enumerate(places):
            far = place.node != r.node
            asked = graph.add("pick", r.node, asked_of, split, (k,)) if far else split
            rows, data = bind(graph, place.node, [Want(self.table, place.lo, place.hi)])
            job = LookJob(op, params, dtype, place.lo, rows, k)
            answers.append(graph.add("look", place.node, look_up, job, asked, *data))
        order = OrderJob((r.hi - r.lo, *shape[1:]), dtype, tuple((k,) for k in range(len(places))))
        return graph.add("order", r.node, put_in_order, order, split, *answers)


def lookup_for(
    expr: Expr, operands: tuple[Operand, ...], grid: int, small: float
) -> FoundRows | None:
    """Return the producer of a search in a table that is too big to replicate, else None."""
    params: Any = expr.params
    if expr.op is FIND:
        (table, values), side = operands, params.side
    elif expr.op is ISIN_ROWS:
        (values, table), side = operands, "right"
    else:
        return None
    if replicable(table, small):
        return None
    return FoundRows((expr.op, params, expr.shape, expr.dtype), side, table, values, grid)
