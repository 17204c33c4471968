"""Stages in a graph, and what is recorded of them when they have run."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dnumpy.runtime.faults import StepFault, collect
from dnumpy.runtime.peaks import peak_of
from dnumpy.runtime.producers import WholeResult
from dnumpy.runtime.records import Record
from dnumpy.runtime.streaming import peak_bytes, sums_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.cost.work import Work
    from dnumpy.expr.expr import Expr
    from dnumpy.plan.model import Plan
    from dnumpy.rewrite.phase import Phase
    from dnumpy.runtime.demands import Laid
    from dnumpy.runtime.folds import Told
    from dnumpy.runtime.graph import Range, TaskReads
    from dnumpy.runtime.operands import Made, Ref
    from dnumpy.runtime.peaks import Taken
    from dnumpy.runtime.tasks import Report


class Ran(NamedTuple):
    """How a range of a stage ran: in how many seconds, ``paging`` of them for new memory."""

    rows: Range
    seconds: float
    lowering: str
    paging: float = 0.0


class Learner(Protocol):
    """What planned the stages."""

    predicts: bool  # whether planned seconds are seconds
    round_trip: float  # seconds that a run takes besides its tasks

    def learn(self, what: str, work: Work, seen: list[Ran]) -> None:
        """Take in how each range of a stage ran."""
        ...

    def learn_round_trip(self, seconds: float) -> None:
        """Take in how much longer a run took than its tasks, from the first to the last."""
        ...


@dataclass(frozen=True, slots=True)
class Outline:
    """A stage that was laid out, without what it reads; and what nodes take at the peak."""

    what: str
    ranges: list[Range]
    plan: Plan
    work: Work
    number: int
    as_planned: bool
    runs: Phase | None
    peaks: dict[str, int]

    def phase(self) -> Phase | None:
        """Return the phase that runs, None for a single op."""
        return self.runs


@dataclass(slots=True)
class StageRun:
    """A stage in the graph: its tasks, where they report, and the task that folds, on its node."""

    laid: Laid | Outline
    steps: tuple[Expr, ...]
    reads: TaskReads
    made: list[tuple[Range, Ref]]
    reports: list[Told]
    folded: tuple[str, Ref] | None = None
    first: int = 0  # position of its first row output in what its task gives
    meanwhile: dict[str, int] = field(default_factory=dict)  # bytes that arrive for other stages
    inner: list[tuple[str, Told]] = field(default_factory=list)  # tasks that only those above read

    def take_in_reports(self, told: list[Told], inner: Sequence[tuple[Range, Ref]]) -> None:
        """Note where the stage's tasks report, the inner ones after the others."""
        count = len(told) - len(inner)
        self.reports = told[:count]
        self.inner = [(r.node, one) for (r, _), one in zip(inner, told[count:], strict=True)]

    def told(self) -> list[Told]:
        """Return where all tasks of the stage report."""
        return [*self.reports, *(told for _, told in self.inner)]

    def record(self, cluster: Learner, results: dict[str, Any], ran: tuple[float, float]) -> Record:
        """Return what was done, beside what was planned; the planner learns from it."""
        laid = self.laid
        plan = laid.plan if cluster.predicts and laid.plan.predicted_seconds else None
        node_seconds: dict[str, float] = {}
        rows: dict[str, int] = {}
        nbytes = 0
        told = zip(laid.ranges, self.reports, strict=False)
        seen = [(r, one.report(results)) for r, one in told]
        if laid.as_planned:
            took = [
                Ran(r, report.steady_seconds, report.lowering, report.pace.paging)
                for r, report in seen
            ]
            cluster.learn(laid.what, laid.work, took)
        for r, report in seen:
            node_seconds[r.node] = max(node_seconds.get(r.node, 0.0), report.seconds)
            rows[r.node] = rows.get(r.node, 0) + r.hi - r.lo
            nbytes += report.nbytes
        inner = [(node, one.report(results)) for node, one in self.inner if node in rows]
        for node, report in inner:
            node_seconds[node] += report.seconds
        attended = [(r.node, report) for r, report in seen]
        planned = dict(plan.rows) if plan is not None else {}
        predicted = dict(zip(planned, plan.predicted_node_seconds, strict=True)) if plan else {}
        peaks = self.predicted_peaks() if cluster.predicts else {}
        starts: dict[str, float] = {}
        if plan is not None and plan.starts:
            begun = [cluster.round_trip + start for start in plan.starts]
            starts = dict(zip(planned, begun, strict=True))
        return Record(
            what=laid.what,
            where=tuple(rows.items()),
            seconds=max(node_seconds.values(), default=ran[1]),
            nbytes=nbytes,
            node_seconds=tuple(node_seconds.values()),
            lowering=max((report.lowering for _, report in seen), default="numpy"),
            phase=laid.phase(),
            started=ran[0],
            node_starts=_starts([*attended, *inner], ran),
            predicted_seconds=plan.predicted_seconds if plan is not None else None,
            predicted_node_seconds=tuple(predicted[n] for n in rows if n in predicted),
            predicted_peak_bytes=tuple(int(peaks[n]) for n in rows if n in peaks),
            measured_peak_bytes=_most(_peaks(attended), _peaks(inner)),
            predicted_node_starts=tuple(starts[n] for n in rows if n in starts),
        )

    def predicted_peaks(self) -> dict[str, int]:
        """Return what each node takes at the peak; nothing for calls of unknown workspace."""
        laid = self.laid
        if isinstance(laid, Outline):
            return laid.peaks
        if isinstance(laid.producer, WholeResult):
            return {}
        return self.taken()

    def taken(self) -> dict[str, int]:
        """Return what each node takes at the peak; calls of unknown workspace as planned."""
        laid = self.laid
        assert not isinstance(laid, Outline)
        sums: dict[str, float] = {}
        for r in laid.ranges:
            sums[r.node] = sums.get(r.node, 0.0) + sums_of(laid.producer, r.hi - r.lo)
        return {
            node: peak_bytes(laid.work, laid.producer, n, self._held(node) + ceil(sums[node]))
            for node, n in self._rows().items()
        }

    def made_bytes(self) -> dict[str, int]:
        """Return the bytes of rows that the stage leaves on each node."""
        row = self.laid.work.bytes_written
        return {node: round(count * row) for node, count in self._rows().items()}

    def _rows(self) -> dict[str, int]:
        rows: dict[str, int] = {}
        for r in self.laid.ranges:
            rows[r.node] = rows.get(r.node, 0) + r.hi - r.lo
        return rows

    def _held(self, node: str) -> int:
        return self.reads.held(node) + self.meanwhile.get(node, 0)

    def outline(self) -> Outline:
        """Return the stage without what it reads."""
        laid = self.laid
        named = laid.what, laid.ranges, laid.plan, laid.work, laid.number, laid.as_planned
        return Outline(*named, laid.phase(), self.predicted_peaks())

    def faults(self, results: dict[str, Any]) -> list[StepFault]:
        """Return the floating-point faults that the stage's tasks met."""
        found: set[tuple[int, str]] = set()
        for told in self.told():
            found |= told.report(results).faults
        if self.folded is not None:
            found |= results[self.folded[1].key].faults
        return collect(self.steps, found)


def _starts(
    seen: Sequence[tuple[str, Made | Report]], ran: tuple[float, float]
) -> tuple[float, ...]:
    """Return when each node began, by this process's clock.

    Clocks of nodes may go wrong by more than a run takes: what they say is kept within the run.
    """
    since = time.time() - time.perf_counter()
    first, last = ran[0], ran[0] + ran[1]
    starts: dict[str, float] = {}
    for node, report in seen:
        began = min(max(report.ended - report.seconds - since, first), last)
        starts[node] = min(starts.get(node, began), began)
    return tuple(starts.values())


def _most(peaks: dict[str, int] | None, inner: dict[str, int] | None) -> tuple[int, ...]:
    """Return the most that each node took in its tasks or in the inner ones; () where unknown."""
    if peaks is None or inner is None:
        return ()
    return tuple([max(nbytes, inner.get(node, 0)) for node, nbytes in peaks.items()])


def _peaks(seen: Sequence[tuple[str, Made | Report]]) -> dict[str, int] | None:
    """Return what each node took at the peak, in the order of first mention; None if unknown."""
    taken: dict[str, list[Taken]] = {}
    for node, report in seen:
        if report.memory is None:
            return None
        taken.setdefault(node, []).append(report.memory)
    return {node: peak_of(tasks) for node, tasks in taken.items()}
