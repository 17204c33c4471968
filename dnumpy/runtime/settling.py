"""Whether rows that are read again and again are to lie where they are computed.

Where an array's rows lie was decided when it was made, by what was known and done then. A plan
that computes them elsewhere moves them in each run, and one that leaves them on a slow node waits
for it in each. So what a run loses to one whose arrays lay where the planner would put them is
added up, with its largest array. Once that is a good part of what moving them takes, they are
moved, once and for all: what was read several times will probably be read several times more.

Source: the rental of skis (Karlin, Manasse, Rudolph and Sleator, "Competitive snoopy caching",
Algorithmica 3, 1988).
"""

from __future__ import annotations

from operator import attrgetter
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Protocol

from dnumpy.kernels.blocked import grid_rows
from dnumpy.ops.families import RowParams, rowwise_of
from dnumpy.runtime.bind import Operand
from dnumpy.runtime.layout import cut_range
from dnumpy.runtime.producers import BlockedRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dnumpy.runtime.answers import Elsewhere
    from dnumpy.runtime.chunked import Chunked
    from dnumpy.runtime.graph import Graph, Range, Segment
    from dnumpy.runtime.sketch import Sketch
    from dnumpy.runtime.sketches import Asked

FUTURE = 4.0  # times what was lost so far is expected to be lost yet; each move makes that less
LEAST_PART = 0.1  # of what a run takes: predictions are off by as much


class Planner(Protocol):
    """Who plans runs of a cluster."""

    def plan_elsewhere(self, sketch: Sketch) -> Elsewhere | None:
        """Return where a run that was planned would have its arrays lie; None if where they do."""
        ...


class Stay:
    """What runs lost because of where an array lies, since it was moved last."""

    __slots__ = ("due", "lost", "moves", "moving", "runs")

    def __init__(self) -> None:
        self.lost = 0.0  # seconds
        self.moves = 0
        self.moving = False  # whether it is on its way now
        self.due = 0.0  # by the monotonic clock, when it is predicted to arrive
        self.runs = 1  # of which it is not known yet what they lost

    def lose(self, seconds: float) -> None:
        """Note what a run lost; those before, of which nobody asked, lost as much."""
        self.lost += self.runs * seconds
        self.runs = 1

    def is_worth(self, moving: float, lost: float = 0.0) -> bool:
        """Say whether moving for so many seconds is worth it, with what a run loses now."""
        return FUTURE ** (1 - self.moves) * (self.lost + self.runs * lost) >= moving


class Move(NamedTuple):
    """An array that is to lie elsewhere: rows per node, cut at multiples of ``granule``."""

    array: Chunked
    where: tuple[tuple[str, int], ...]
    granule: int


def moves_after(asked: Asked, sketch: Sketch, cluster: Planner) -> list[Move]:
    """Return what to move after a run; note what the run lost otherwise.

    An array that is read for the first time is not thought about: most are read once.
    """
    read = _arrays(asked, sketch)
    if not read or any(array.stay is not None and array.stay.moving for array in read.values()):
        return []
    largest = max(read.values(), key=lambda array: array.nbytes)
    if largest.stay is None:
        largest.stay = Stay()
        largest.stay.runs += 1
        return []
    found = cluster.plan_elsewhere(sketch)
    gain = _gain(found, sketch)
    if found is None or not gain:
        return []
    worth = largest.stay.is_worth(found.moving_seconds, gain)
    largest.stay.lose(gain)
    if not worth:
        return []
    largest.stay.lost = 0.0
    largest.stay.moves += 1
    moves = [Move(read[k], where, granule) for k, where, granule in found.places if k in read]
    for move in moves:
        move.array.stay = move.array.stay or Stay()
        move.array.stay.due = monotonic() + found.moving_seconds
    return moves


def copied(move: Move, graph: Graph) -> list[Segment]:
    """Add tasks that copy what is to lie elsewhere; return where all rows will lie."""
    source, lo = move.array.source, 0
    held = {(s.node, s.start, s.stop): s for s in graph.segments(source)}
    ranges: list[Range] = []
    for node, count in move.where:
        ranges += cut_range(node, lo, lo + count, move.granule, graph.nodes.threads(node))
        lo += count
    operand, copy, params = Operand(source), rowwise_of("numpy.copy"), RowParams((True,))
    grid = grid_rows(copy, (source.shape,), params, lo, source.row_bytes)
    rows = BlockedRows(copy, params, source.shape, source.dtype, (operand,), grid)
    made = rows.build(graph, [r for r in ranges if r not in held])
    there = [held[r] for r in ranges if r in held]
    return sorted([*there, *graph.row_segments(rows, made, 0)], key=attrgetter("start"))


def _gain(found: Elsewhere | None, sketch: Sketch) -> float:
    """Return by how many seconds a run would end sooner; 0 where that is uncertain.

    It loses no more than by what was measured of it, however long it was predicted to take.
    """
    if found is None:
        return 0.0
    now = min(found.now_seconds, sketch.took)
    gain = now - found.then_seconds
    return gain if gain > LEAST_PART * now else 0.0


def _arrays(asked: Asked, sketch: Sketch) -> Mapping[int, Chunked]:
    """Return the arrays on the nodes that a run reads, by their place in the sketch."""
    sources = {k: asked.stored[number][0] for k, number in sketch.numbers.items()}
    return {k: array for k, source in sources.items() if (array := source.pieces()) is not None}
