"""Sketch: what a run asks of its nodes, written down before any of it is built.

The stages of a run are laid out twice. The first time nothing is built: every decision about rows
becomes a :class:`Demand`, and what its operands are becomes what it reads of earlier demands, of
arrays that lie on nodes already, or of arrays at home. All demands are then planned together (see
:mod:`~dnumpy.runtime.jointly`), and the second time the layout follows the plan.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf, prod
from typing import TYPE_CHECKING, Any, NamedTuple

from dnumpy.plan.model import Plan
from dnumpy.runtime.demands import LIGHT
from dnumpy.runtime.graph import Graph, Segment
from dnumpy.runtime.layout import Layout
from dnumpy.runtime.liveness import most_live
from dnumpy.runtime.reading import NEAR
from dnumpy.runtime.regions import exchanged_axes, rows_beginning
from dnumpy.runtime.tasks import rows_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from dnumpy.runtime.answers import Answer, Refused
    from dnumpy.runtime.bind import Operand
    from dnumpy.runtime.chunked import Chunked, Source
    from dnumpy.runtime.demands import Demand, Laid
    from dnumpy.runtime.graph import Nodes, Range
    from dnumpy.runtime.operands import Ref
    from dnumpy.runtime.planner import Planner

FOLLOWING = ("aligned", "halo")  # reads of the rows beside those that are computed


class Promise(NamedTuple):
    """What a task of a demand would give: rows of its result, or (a fold) all in one place."""

    demand: int
    rows: bool = True

    @property
    def key(self) -> str:
        """Return a key, as references into a graph have."""
        return f"promise-{self.demand}"


class Lying(NamedTuple):
    """An array that is there before the run: rows per node, or at home where there are none.

    Of what is at home some nodes have copies of the whole.
    """

    rows: int
    row_bytes: float
    where: tuple[tuple[str, int], ...]
    copies: tuple[str, ...] = ()


class Reads(NamedTuple):
    """What demand ``consumer`` reads of a demand, or (``lying``) of an array that is there.

    ``access`` is that of :class:`dnumpy.plan.dag.Edge`; ``nbytes`` are those of all that is read.
    What is ``resting`` is read where it lies, as long as no row of it is to go elsewhere.
    """

    producer: int
    consumer: int
    access: str
    nbytes: float
    halo_rows: int = 0
    lying: bool = False
    resting: bool = False


@dataclass(slots=True)
class Sketch:
    """The demands of a run in the order of the layout, and what they read.

    ``stages`` has for each demand the number of the stage that it belongs to. ``sources`` are the
    lying arrays; a sketch that is kept has their ``numbers`` instead, those of
    :class:`~dnumpy.runtime.sketches.Asked`. The fastest run ``took`` so many seconds. The
    ``answers`` are the plans that were made for it, the ``refusals`` when there was none, see
    :mod:`dnumpy.runtime.answers`.
    """

    demands: list[Demand] = field(default_factory=list)
    stages: list[int] = field(default_factory=list)
    lying: list[Lying] = field(default_factory=list)
    reads: list[Reads] = field(default_factory=list)
    kept: set[int] = field(default_factory=set)
    sources: list[Source] = field(default_factory=list, init=False, repr=False, compare=False)
    numbers: dict[int, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    took: float = field(default=inf, init=False, repr=False, compare=False)
    answers: list[Answer] = field(default_factory=list, init=False, repr=False, compare=False)
    refusals: list[Refused] = field(default_factory=list, init=False, repr=False, compare=False)

    def note_took(self, seconds: float) -> None:
        """Note what a run took."""
        self.took = min(self.took, seconds)

    def kept_by_rows(self, left_out: Collection[int] = ()) -> list[list[int]]:
        """Return the demands whose rows stay on the nodes, those of equal length together."""
        by_rows: dict[int, list[int]] = {}
        for k in sorted(self.kept.difference(left_out)):
            demand = self.demands[k]
            if not demand.alone and demand.work.bytes_written:
                by_rows.setdefault(demand.work.rows, []).append(k)
        return list(by_rows.values())

    def live_bytes(self) -> float:
        """Return the most bytes that the results of demands take at once."""
        sizes = [demand.work.rows * demand.work.bytes_written for demand in self.demands]
        apart = [(r.producer, r.consumer) for r in self.reads if not r.lying]
        return most_live(sizes, apart, self.kept)


class SketchGraph(Graph):
    """A graph in which every task is a promise, and nothing is sent or computed again."""

    def add(self, what: str, node: str, function: Callable[..., Any], *args: object) -> Ref:  # noqa: ARG002
        """Return what the task would give."""
        promised = [arg for arg in args if isinstance(arg, Promise)]
        latest = max(promised, key=lambda p: p.demand, default=Promise(LIGHT, rows=False))
        return latest._replace(rows=latest.rows and function is rows_of)

    def _enter(self, source: Source, chunked: Chunked) -> None:
        found = [self.nodes.segment(part) for part in chunked.parts]
        self._segments[source] = [segment for segment in found if segment is not None]


class SketchLayout(Layout):
    """A layout that writes down what it would ask, and puts everything on the first node."""

    def __init__(self, planner: Planner, nodes: Nodes) -> None:
        super().__init__(planner, SketchGraph(nodes), {})
        self.sketch = Sketch()
        self._lying: dict[Source, int] = {}
        self._first = planner.fastest()
        self._waited_for = Promise(LIGHT, rows=False)

    def decide(self, demand: Demand) -> Plan:
        """Write the demand down, with what it reads."""
        number = len(self.sketch.demands)
        self.sketch.demands.append(demand)
        self.sketch.stages.append(self.stage)
        rows = demand.work.rows
        found: dict[tuple[int, bool, str], Reads] = {}
        for operand in demand.by_rows:
            self._note(found, number, operand, *_followed(operand, rows))
        for operand in demand.across:
            self._note(found, number, operand, "other axis", 0)
        for operand in demand.whole:
            self._note(found, number, operand, "whole", 0)
        self.sketch.reads += found.values()
        return Plan(demand.what, ((self._first, rows),), 0.0, (0.0,), (0.0,), "single")

    def built(self, laid: Laid, ranges: Sequence[Range]) -> list[tuple[Range, Ref]]:
        """Return promises; what is light is promised with what it waits for."""
        if laid.number != LIGHT:
            return [(r, Promise(laid.number)) for r in ranges]
        return [(r, self._waited_for) for r in ranges]

    def glued(self, ref: Ref) -> None:
        """Return None: promises stand for themselves."""

    def _node_of_light(self, demand: Demand) -> str:
        found: list[Any] = [Promise(LIGHT, rows=False)]
        for operand in demand.operands():
            if operand.source is not None:
                found += [s.arg for s in self.graph.segments(operand.source)]
        promised = [arg for arg in found if type(arg) is Promise]
        self._waited_for = max(promised, key=lambda p: p.demand)._replace(rows=False)
        return self._first

    def keep(self, segments: Sequence[Segment]) -> None:
        """Note that what these segments hold stays on the nodes after the run."""
        held = {s.arg.demand for s in segments if isinstance(s.arg, Promise) and s.arg.rows}
        self.sketch.kept |= held

    def _note(
        self,
        found: dict[tuple[int, bool, str], Reads],
        number: int,
        operand: Operand,
        access: str,
        halo: int,
    ) -> None:
        """Add what an operand is read of; reads of the same rows through several views are one."""
        source = operand.source
        if source is None:
            return
        segments = self.graph.segments(source)
        promise = segments[0].arg if segments else None
        if isinstance(promise, Promise):
            if promise.demand == LIGHT:
                return
            producer, lying = promise.demand, False
            if not promise.rows:
                access = "fold"
            elif access != "whole" and self.sketch.demands[producer].alone:
                access = "other axis"
        elif self._is_everywhere(source, access):
            return
        else:
            producer, lying = self._lying_number(source, segments), True
        nbytes: float = _bytes_seen(operand) if access == "whole" else source.nbytes
        same = FOLLOWING if access in FOLLOWING else (access,)
        before = [found.pop((producer, lying, kind), None) for kind in same]
        for known in before:
            if known is not None:
                nbytes, halo = max(nbytes, known.nbytes), max(halo, known.halo_rows)
        access = "halo" if halo else access
        demand = self.sketch.demands[number]
        rests = lying and access == "aligned" and self._rests(operand, demand)
        rests = rests and all(known is None or known.resting for known in before)
        found[producer, lying, access] = Reads(
            producer, number, access, nbytes, halo, lying, resting=rests
        )

    def _rests(self, operand: Operand, demand: Demand) -> bool:
        """Say whether an operand is read where it lies, if every row stays there."""
        place = self._place_of(operand, demand.work.rows)
        return self.resting_bytes(replace(demand, by_rows=(operand,)), place) > 0

    def _is_everywhere(self, source: Source, access: str) -> bool:
        """Say whether an array at home costs nothing to bring: it is small, or was sent before."""
        expr = source.expr
        if expr is None:
            return False
        return source.nbytes <= self.graph.nodes.embed_bytes or (
            access == "whole" and self.planner.mirrored(expr)
        )

    def _lying_number(self, source: Source, segments: Sequence[Segment]) -> int:
        if source not in self._lying:
            rows = source.shape[0] if source.shape else 1
            counts: dict[str, int] = {}
            for segment in segments:
                counts[segment.node] = counts.get(segment.node, 0) + segment.stop - segment.start
            complete = sum(counts.values()) == rows
            where = tuple(counts.items()) if complete else ()
            self._lying[source] = len(self.sketch.lying)
            self.sketch.sources.append(source)
            copies: tuple[str, ...] = ()
            if source.expr is not None and not where:
                copies = self.planner.holders(source.expr)
            row_bytes = source.nbytes / max(rows, 1)
            self.sketch.lying.append(Lying(rows, row_bytes, where, copies))
        return self._lying[source]


def _bytes_seen(operand: Operand) -> int:
    """Return the bytes of an operand that is read whole, as far as its views let see of it."""
    assert operand.source is not None
    seen = prod(operand.shape) * operand.dtype.itemsize
    return min(seen, operand.source.nbytes)


class FollowingLayout(Layout):
    """A layout that follows the answers to a sketch.

    A demand that differs from what was sketched (rows were lost meanwhile) is planned by itself.
    """

    def __init__(self, planner: Planner, graph: Graph, plans: Sequence[Plan]) -> None:
        super().__init__(planner, graph, {})
        self._plans = plans

    def decide(self, demand: Demand) -> Plan:
        """Return the answer to the demand that was sketched at this place."""
        number = self.decided - 1
        if number < len(self._plans):
            plan = self._plans[number]
            if plan.phase == demand.what and sum(plan.row_counts) == demand.work.rows:
                return plan
        return super().decide(demand)


def following(planner: Planner, graph: Graph, plans: Sequence[Plan] | None) -> Layout:
    """Return a layout that follows the plans of a run; without them it plans stage by stage."""
    return Layout(planner, graph, {}) if plans is None else FollowingLayout(planner, graph, plans)


def _followed(operand: Operand, rows: int) -> tuple[str, int]:
    """Return how so many rows follow those of an operand's memory, and how many lie beside."""
    source = operand.source
    if source is None or not source.shape:
        return "aligned", 0
    counted = operand.shape[0]
    beside = abs(counted - rows)
    if beside > NEAR * rows or exchanged_axes(operand) is not None:
        return "other axis", 0
    if operand.views:
        if operand.views[-1].strides[0] <= 0:
            return "other axis", 0
        held = source.shape[0]
        for part in (0.25, 0.5, 0.75):
            _, stop = rows_beginning(operand, 0, round(part * held), counted)
            beside = max(beside, round(abs(stop / counted - part) * held))
        if beside > max(1, NEAR * held):
            return "other axis", 0
    return ("halo", beside) if beside else ("aligned", 0)
