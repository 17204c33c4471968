"""What comes later, of arrays that a run makes anew: where they lie is decided once and for all.

An array that is made of nothing that lies on the nodes (of ranges, random numbers, files, arrays at
home) may lie anywhere. Where it is made soonest, each node has rows, however slow or far away it
is; programs that pass over them again and again then wait for it in each pass, and moving the rows
takes longer than a run. So such a run is planned with what most programs will do: a pass over the
rows, an answer made of what all nodes found, which each of them needs to begin the next pass. A
node that adds less than it takes to hear of it has no rows; where arrays are large, all have.
"""

from __future__ import annotations

from math import inf, isinf
from typing import TYPE_CHECKING, NamedTuple

from dnumpy.cost.work import Work
from dnumpy.plan.dag import SAME_ROWS, Ask, Edge

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dnumpy.plan.dag import ProgramPlan
    from dnumpy.plan.model import NodeRate
    from dnumpy.runtime.sketch import Sketch

PASSES = 8  # before the answer that is looked at, and after it
# What a pass takes, times what reading takes: between a sum and many distances. With less,
# rows would lie on too few nodes for programs that compute; with more, on too many for others.
READINGS = 3.0
ANSWER_BYTES = 1e3  # of each node, and back: a few numbers


class Passed(NamedTuple):
    """What a run makes anew and keeps, of equal length: its demands, and its work in one pass."""

    demands: tuple[int, ...]
    work: Work


def passed_later(sketch: Sketch) -> list[Passed]:
    """Return what of a run may lie anywhere, and will probably be passed over."""
    bound: set[int] = set()
    for read in sketch.reads:
        if read.access not in SAME_ROWS:
            continue
        if bool(sketch.lying[read.producer].where) if read.lying else read.producer in bound:
            bound.add(read.consumer)
    return [
        Passed(tuple(mine), _read_once([sketch.demands[k].work for k in mine]))
        for mine in sketch.kept_by_rows(left_out=bound)
        if sketch.demands[mine[0]].work.rows > 1
    ]


def _read_once(works: Sequence[Work]) -> Work:
    """Return what reading the results of these takes, which have the same rows."""
    return Work(works[0].rows, bytes_read=sum(work.bytes_written for work in works))


def asks_later(first: int, made: Mapping[int, float], one: Ask) -> tuple[list[Ask], list[Edge]]:
    """Return a pass, an answer and the next pass as asks from number ``first`` on, and their reads.

    ``made`` has the bytes of a row of each ask whose rows are passed over.
    """
    nothing = (0.0,) * len(one.seconds_per_row)
    never = tuple(seconds if isinf(seconds) else 0.0 for seconds in one.fixed_seconds)
    answer = Ask("an answer", 1, nothing, never, bytes_per_row=ANSWER_BYTES, copies=False)
    edges = [
        Edge(k, reader, "aligned", row_bytes, put_together=False)
        for reader in (first, first + 2)
        for k, row_bytes in made.items()
    ]
    edges.append(Edge(first, first + 1, "fold", partial_bytes=ANSWER_BYTES))
    edges.append(Edge(first + 1, first + 2, "whole", ANSWER_BYTES))
    return [one, answer, one], edges


def a_pass(
    work: Work,
    rates: Sequence[NodeRate],
    hops: Sequence[float],
    rows: int,
    granule: int,
    away: int,
) -> Ask:
    """Return passes over rows that are planned as so many, at these granules.

    Nodes hear as much later of the pass before as ``hops`` say, seconds each; ``away`` nodes beside
    them can do nothing.
    """
    part = PASSES * READINGS * work.rows / rows
    return Ask(
        "what comes later",
        rows,
        tuple(rate.seconds_per_row * part for rate in rates) + (0.0,) * away,
        (*(PASSES * hop for hop in hops), *(inf,) * away),
        granule,
        copies=False,
    )


def seconds_of(plan: ProgramPlan, asks: Collection[int]) -> float:
    """Return when the last of these asks ends."""
    return max(span[1] for k in asks for span in plan.spans[k] if span is not None)
