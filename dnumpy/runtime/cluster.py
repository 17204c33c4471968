"""Run stages on many nodes: the virtual nodes of this process, or the workers of a Dask cluster.

All stages of one evaluation go out as one graph, each phase as one task per node and thread;
results stay where they were made, and only partial and small results come home.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dnumpy.errors import PlanInfeasible, WorkerLost
from dnumpy.expr.geometry import typed
from dnumpy.rewrite.cut import FusedStage
from dnumpy.runtime.chunked import Chunked, Part, Source
from dnumpy.runtime.failures import Failure, failure, is_ready
from dnumpy.runtime.faults import StepFault, collect
from dnumpy.runtime.folds import (
    BlockFold,
    StepFold,
    SumFold,
    Told,
    add_fold,
    told_by_fold,
    told_by_nodes,
)
from dnumpy.runtime.graph import Graph, Outputs, Range, Segment, TaskReads
from dnumpy.runtime.layout import LIGHT, Layout
from dnumpy.runtime.light import light_ones_at_home
from dnumpy.runtime.operands import Made
from dnumpy.runtime.peaks import peak_of
from dnumpy.runtime.producers import FoldedBlocks, FoldedRows, WholeResult
from dnumpy.runtime.reading import folds_together
from dnumpy.runtime.records import Record
from dnumpy.runtime.sketch import SketchLayout, following
from dnumpy.runtime.sketches import sketched_again
from dnumpy.runtime.streaming import peak_bytes

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Mapping, Sequence

    from dnumpy.cost.work import Work
    from dnumpy.expr.expr import Expr
    from dnumpy.plan.model import Plan
    from dnumpy.rewrite.cut import Stage
    from dnumpy.runtime.files import Identity
    from dnumpy.runtime.folds import AnyFold
    from dnumpy.runtime.jointly import Joint
    from dnumpy.runtime.layout import AnyProducer, Laid, Placement
    from dnumpy.runtime.operands import Ref
    from dnumpy.runtime.peaks import Taken
    from dnumpy.runtime.sketch import Sketch
    from dnumpy.runtime.tasks import Report


class Cluster(Protocol):
    """Nodes that tasks can be put on."""

    home_bytes: int  # results up to this size come home
    embed_bytes: float  # operands up to this size travel inside their task
    remote: bool  # whether bringing something home costs anything
    predicts: bool  # whether planned seconds are seconds
    round_trip: float  # seconds that a run takes besides its tasks

    def refresh(self) -> None:
        """Find out which nodes there are now; raises WorkerLost where there is none."""
        ...

    def plan(
        self,
        name: str,
        work: Work,
        granule: int,
        current: Placement | None,
        transfer_bytes_per_row: float,
        transfer_fixed_bytes: float = 0.0,
    ) -> Plan:
        """Return who computes how many rows."""
        ...

    def plan_run(self, sketch: Sketch) -> Joint | None:
        """Return who computes how many rows of all stages; None to plan them one by one."""
        ...

    def mirrored(self, owner: Expr) -> bool:
        """Say whether every node has a copy of all of a home array."""
        ...

    def threads(self, node: str) -> int:
        """Return how many tasks the node runs at the same time."""
        ...

    def fastest(self) -> str:
        """Return the node that runs a single task soonest."""
        ...

    def room(self) -> float:
        """Return the bytes that the node with most memory may be given."""
        ...

    def label(self, node: str) -> str:
        """Return the device class of a node, letters only."""
        ...

    def place(self, array: np.ndarray, node: str, owner: Expr | None, what: Hashable) -> Ref:
        """Return an argument that gives ``array``, part ``what`` of the owner, on ``node``."""
        ...

    def copies(self, owner: Expr) -> list[Segment]:
        """Return where rows of a home array already are, besides at home."""
        ...

    def send(self, owner: Expr, lo: int, hi: int, node: str) -> Segment:
        """Copy rows ``lo:hi`` of a home array to ``node``."""
        ...

    def segment(self, part: Part) -> Segment | None:
        """Return where the part's rows are, or None if they were lost."""
        ...

    def see(self, identity: Identity) -> bool:
        """Say whether every node sees this very file, and would rather read it than be sent it."""
        ...

    def spread(self, lo: int, hi: int, granule: int) -> list[Range]:
        """Return ranges over the nodes that tile ``lo:hi``."""
        ...

    def run(self, graph: Graph, home: list[Ref], stay: list[Ref]) -> dict[str, Any]:
        """Run the graph; return by key the values to bring home, and what holds those that stay.

        Raises :class:`NodesLost` when nodes were lost on the way.
        """
        ...

    def learn(self, what: str, work: Work, seen: list[tuple[Range, float, str]]) -> None:
        """Take in the seconds that each range of a stage took, and its lowering."""
        ...

    def learn_round_trip(self, seconds: float) -> None:
        """Take in how much longer a run took than its tasks, from the first to the last."""
        ...

    def recover(self, attempt: int, lost: NodesLost) -> None:
        """Prepare for another attempt without the lost nodes, or raise WorkerLost."""
        ...

    def bring_home(self, chunked: Chunked) -> np.ndarray:
        """Return all rows of a chunked array as one C-contiguous array."""
        ...


class NodesLost(Exception):  # noqa: N818 - an event of the run, caught and answered by a new plan
    """Nodes went away while a graph ran on them."""

    def __init__(self, nodes: frozenset[str], graph_tasks: int) -> None:
        super().__init__(f"lost {sorted(nodes)} while running {graph_tasks} tasks")
        self.nodes = nodes


@dataclass(slots=True)
class _Output:
    """An Expr to be given a value: an array at home, or rows where they were made."""

    expr: Expr
    source: Source
    home: bool


@dataclass(slots=True)
class _StageRun:
    """A stage in the graph: its tasks, where they report, and the task that folds, on its node."""

    laid: Laid
    steps: tuple[Expr, ...]
    reads: TaskReads
    made: list[tuple[Range, Ref]]
    reports: list[Told]
    folded: tuple[str, Ref] | None = None
    first: int = 0  # position of its first row output in what its task gives


class _Run:
    """One evaluation being put into a graph."""

    def __init__(
        self,
        cluster: Cluster,
        wanted: Collection[int] | None = None,
        layout: Layout | None = None,
    ) -> None:
        self.cluster = cluster
        self.wanted = wanted
        self.layout = layout if layout is not None else Layout(cluster, Graph(cluster), {})
        self.graph = self.layout.graph
        self.outputs: list[_Output] = []
        self.stages: list[_StageRun] = []

    def add_all(self, stages: Sequence[Stage]) -> None:
        """Put all stages into the graph."""
        for self.layout.stage, group in folds_together(stages):
            if len(group) > 1:
                self._add_folds(
                    [stage.expr for stage in group if not isinstance(stage, FusedStage)]
                )
            else:
                self.add(group[0])

    def _add_folds(self, exprs: list[Expr]) -> None:
        """Put folds of the same rows into the graph, as one stage."""
        laid = self.layout.together(exprs)
        folds = [
            BlockFold(expr.op, expr.params, expr.shape, expr.dtype, number)  # type: ignore[arg-type]
            for number, expr in enumerate(exprs)
        ]
        built = self._build(laid, tuple(exprs), sum(expr.nbytes for expr in exprs), folds)
        for position, expr in enumerate(exprs):
            self._give_folded(expr, built, position)

    def add(self, stage: Stage) -> None:
        """Put a stage into the graph."""
        if isinstance(stage, FusedStage):
            self._add_fused(stage)
        elif id(stage.expr) not in self.layout.known:
            laid = self.layout.whole(stage.expr)
            fold = _fold_of(laid.producer)
            built = self._build(laid, (stage.expr,), stage.expr.nbytes, (fold,) if fold else ())
            if fold:
                self._give_folded(stage.expr, built, 0)
            else:
                self._give(stage.expr, built, 0)

    def _build(
        self, laid: Laid, steps: tuple[Expr, ...], nbytes: int, fold: Sequence[AnyFold] = ()
    ) -> _StageRun:
        """Add the stage's tasks; how they went comes home in what they made, unless it is big."""
        self.graph.made_bytes += nbytes
        self.graph.reads = reads = self.graph.reads.after()
        made = self.layout.built(laid, laid.ranges)
        self.graph.reads = TaskReads()
        stage = _StageRun(laid, steps, reads, made, [])
        self.stages.append(stage)
        if laid.number == LIGHT and not fold and len(made) == 1:
            self._glue(stage)
        elif fold:
            stage.folded = add_fold(self.graph, fold, made, laid.producer.row_outputs())
            stage.reports = told_by_fold(stage.folded[1], made)
        elif self.cluster.remote and nbytes > self.cluster.home_bytes:
            stage.reports = told_by_nodes(self.graph, made)
        else:
            stage.reports = [Told(ref) for _, ref in made]
        return stage

    def _glue(self, stage: _StageRun) -> None:
        """Let a light stage be a step of the task that it waits for, if it can be."""
        ((r, ref),) = stage.made
        self.graph.light[ref.key] = Outputs(stage.laid.producer.row_outputs(), 0)
        found = self.layout.glued(ref)
        if found is None:
            stage.reports = [Told(ref)]
            return
        stage.made = [(r, found.ref)]
        stage.first = found.rows
        stage.reports = [Told(found.ref, found.report)]

    def _add_fused(self, stage: FusedStage) -> None:
        phase = stage.phase
        by_rows = [k for k, output in enumerate(phase.outputs) if not output.partial]
        update = stage.placed.get(by_rows[0]) if len(by_rows) == 1 else None
        straight = None if update is None else self.layout.placed(stage, update)
        laid = straight or self.layout.fused(stage)
        nbytes = sum(stage.outputs[k].nbytes for k in by_rows)
        numbers = [o.slot - len(phase.inputs) for o in phase.outputs if o.partial]
        fold = [StepFold(phase.steps[number], number) for number in numbers]
        built = self._build(laid, stage.steps, nbytes, fold)
        partial = [k for k, output in enumerate(phase.outputs) if output.partial]
        for position, k in enumerate(partial):
            self._give_folded(stage.outputs[k], built, position)
        if straight is not None and update is not None:
            self._give(update, built, 0)
            return
        for position, k in enumerate(by_rows):
            if k in stage.placed:
                self._source(stage.outputs[k], built, position)
                self._place(stage.placed[k])
            else:
                self._give(stage.outputs[k], built, position)

    def _give(self, expr: Expr, built: _StageRun, position: int) -> None:
        """Let the Expr be row output ``position`` of a stage."""
        source = self._source(expr, built, position)
        if self.wanted is None or id(expr) in self.wanted:
            small = not source.shape or source.nbytes <= self.cluster.home_bytes
            self.outputs.append(_Output(expr, source, small))

    def _source(self, expr: Expr, built: _StageRun, position: int) -> Source:
        producer = built.laid.producer
        source = Source(expr.shape, expr.dtype, producer=producer, position=position)
        segments = self.graph.row_segments(producer, built.made, built.first + position)
        self.graph.provide(source, segments)
        self.layout.known[id(expr)] = source
        return source

    def _place(self, update: Expr) -> None:
        """Let rows just made become part of another array; they are nobody else's."""
        built = self._build(self.layout.whole(update), (update,), update.nbytes)
        self._give(update, built, 0)

    def _give_folded(self, expr: Expr, built: _StageRun, position: int) -> None:
        """Let the Expr be what a stage's fold gives at ``position``."""
        assert built.folded is not None
        source = Source(expr.shape, expr.dtype)
        rows = expr.shape[0] if expr.shape else 1
        self.graph.provide(source, [Segment(0, rows, *built.folded, position)])
        self.layout.known[id(expr)] = source
        self.outputs.append(_Output(expr, source, home=True))

    def finish(self) -> tuple[list[Record], list[StepFault]]:
        """Run the graph and give every output Expr its value."""
        home = [told.ref for stage in self.stages for told in stage.reports]
        stay: list[Ref] = []
        for output in self.outputs:
            refs = [segment.arg for segment in self.graph.segments(output.source)]
            (home if output.home else stay).extend(refs)
        healed = [s for segments in self.graph.healed.values() for s in segments]
        stay += [s.arg for s in healed if s.arg.key in self.graph.node_of]
        started = time.perf_counter()
        results = self.cluster.run(self.graph, home, stay)
        ran = started, time.perf_counter() - started
        for output in self.outputs:
            self._settle(output, results)
        for chunked, segments in self.graph.healed.items():
            _replace_parts(chunked, segments, results)
        records = [self._record(stage, results, ran) for stage in self.stages]
        if attended := [told.report(results) for stage in self.stages for told in stage.reports]:
            first = min(report.ended - report.seconds for report in attended)
            busy = max(report.ended for report in attended) - first
            self.cluster.learn_round_trip(max(0.0, ran[1] - max(busy, 0.0)))
        faults = [f for stage in self.stages for f in self._faults(stage, results)]
        return records, faults

    def _settle(self, output: _Output, results: dict[str, Any]) -> None:
        expr, source = output.expr, output.source
        segments = self.graph.segments(source)
        parts = tuple(_part(s, results[s.arg.key]) for s in segments)
        if output.home:
            expr.value = typed(_joined([part.data for part in parts]), expr.dtype)
            source.settle_home(expr)
        else:
            expr.value = Chunked(expr.shape, expr.dtype, parts, source, self.cluster)
        expr.args = ()

    def _record(
        self, stage: _StageRun, results: dict[str, Any], ran: tuple[float, float]
    ) -> Record:
        laid = stage.laid
        plan = laid.plan if self.cluster.predicts and laid.plan.predicted_seconds else None
        node_seconds: dict[str, float] = {}
        rows: dict[str, int] = {}
        nbytes = 0
        told = zip(laid.ranges, stage.reports, strict=False)
        seen = [(r, one.report(results)) for r, one in told]
        if laid.as_planned:
            took = [(r, report.seconds, report.lowering) for r, report in seen]
            self.cluster.learn(laid.what, laid.work, took)
        for r, report in seen:
            node_seconds[r.node] = max(node_seconds.get(r.node, 0.0), report.seconds)
            rows[r.node] = rows.get(r.node, 0) + r.hi - r.lo
            nbytes += report.nbytes
        planned = dict(plan.rows) if plan is not None else {}
        predicted = dict(zip(planned, plan.predicted_node_seconds, strict=True)) if plan else {}
        peaks = _predicted_peaks(stage, rows) if self.cluster.predicts else {}
        starts: dict[str, float] = {}
        if plan is not None and plan.starts:
            begun = [self.cluster.round_trip + start for start in plan.starts]
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
            node_starts=_starts([(r.node, report) for r, report in seen], ran),
            predicted_seconds=plan.predicted_seconds if plan is not None else None,
            predicted_node_seconds=tuple(predicted[n] for n in rows if n in predicted),
            predicted_peak_bytes=tuple(int(peaks[n]) for n in rows if n in peaks),
            measured_peak_bytes=_peaks([(r.node, report) for r, report in seen]),
            predicted_node_starts=tuple(starts[n] for n in rows if n in starts),
        )

    def _faults(self, stage: _StageRun, results: dict[str, Any]) -> list[StepFault]:
        found: set[tuple[int, str]] = set()
        for told in stage.reports:
            found |= told.report(results).faults
        if stage.folded is not None:
            found |= results[stage.folded[1].key].faults
        return collect(stage.steps, found)


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


def _predicted_peaks(stage: _StageRun, rows: Mapping[str, int]) -> dict[str, int]:
    """Return what each node takes at the peak; nothing for calls whose workspace is not known."""
    if isinstance(stage.laid.producer, WholeResult):
        return {}
    laid = stage.laid
    return {
        node: peak_bytes(laid.work, laid.producer, n, stage.reads.held(node))
        for node, n in rows.items()
    }


def _peaks(seen: Sequence[tuple[str, Made | Report]]) -> tuple[int, ...]:
    """Return what each node took at the peak, in the order of first mention; () where unknown."""
    taken: dict[str, list[Taken]] = {}
    for node, report in seen:
        if report.memory is None:
            return ()
        taken.setdefault(node, []).append(report.memory)
    return tuple(map(peak_of, taken.values()))


def _replace_parts(chunked: Chunked, segments: Sequence[Segment], results: dict[str, Any]) -> None:
    """Replace the lost parts by those computed again; the others stay."""
    known = {part.start: part for part in chunked.parts}
    chunked.parts = tuple(
        _part(s, results[s.arg.key]) if s.arg.key in results else known[s.start] for s in segments
    )


def _part(segment: Segment, result: Made | Ref) -> Part:
    """Return the part that a finished segment is; an array of this process leaves its Made."""
    if isinstance(result, Made):
        assert segment.item is not None
        return Part(segment.node, segment.start, segment.stop, result.rows[segment.item])
    return Part(segment.node, segment.start, segment.stop, result, segment.item)


def _joined(pieces: Sequence[np.ndarray]) -> np.ndarray:
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def _fold_of(producer: AnyProducer) -> AnyFold | None:
    """Return how what the producer's tasks leave behind is folded, where it gives no rows."""
    if isinstance(producer, FoldedRows):
        return SumFold(producer.shape)
    if isinstance(producer, FoldedBlocks):
        return BlockFold(producer.op, producer.params, producer.shape, producer.dtype)
    return None


ATTEMPTS = 4


def execute(
    stages: list[Stage], cluster: Cluster, wanted: Collection[int] | None = None
) -> tuple[list[Record], list[StepFault], list[Failure]]:
    """Run ``stages`` in order, emptying the list, and give output Exprs their value.

    With ``wanted``, ids of Exprs, an output that is not among them stays pending unless its value
    comes home anyway: its rows are let go as soon as the stages that read them are done.

    When nodes are lost on the way, the stages are planned again over those that are left, and rows
    that were lost are computed again; raises :class:`~dnumpy.errors.WorkerLost` where that is not
    possible. When a task raises, the stages are run one by one, and what depends on the one that
    fails stays pending.
    """
    done, found, failed = light_ones_at_home(stages, cluster.home_bytes if cluster.remote else -1)
    if failed:
        more = _each_alone(stages, cluster)
        return [*done, *more[0]], [*found, *more[1]], [*failed, *more[2]]
    if not stages:
        return done, found, []
    try:
        records, faults = _persistently(stages, cluster, wanted)
    except WorkerLost:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the user will see it
        records, faults, failed = _one_by_one(stages, cluster, error)
    stages.clear()
    return [*done, *records], [*found, *faults], failed


def _persistently(
    stages: Sequence[Stage], cluster: Cluster, wanted: Collection[int] | None
) -> tuple[list[Record], list[StepFault]]:
    for attempt in range(ATTEMPTS):
        try:
            cluster.refresh()
            return _attempt(stages, cluster, wanted)
        except NodesLost as lost:
            cluster.recover(attempt, lost)
    raise AssertionError  # recover raises WorkerLost on the last attempt


def _one_by_one(
    stages: list[Stage], cluster: Cluster, met: Exception
) -> tuple[list[Record], list[StepFault], list[Failure]]:
    """Run what can be run after all stages together met an error; one alone met that very one."""
    if isinstance(met, PlanInfeasible):
        met.__traceback__ = None  # which would keep what stages read from being let go of
    if len(stages) == 1 or (isinstance(met, PlanInfeasible) and met.final):
        return [], [], [failure(stages.pop(), met)]
    records, faults, failures = _each_alone(stages, cluster)
    for found in failures:
        if isinstance(found.error, PlanInfeasible) and isinstance(met, PlanInfeasible):
            found.error.add_note(str(met))
    return records, faults, failures


def _each_alone(
    stages: list[Stage], cluster: Cluster
) -> tuple[list[Record], list[StepFault], list[Failure]]:
    """Run what can be run, stage by stage, emptying the list: what was read last is let go of."""
    records: list[Record] = []
    faults: list[StepFault] = []
    failures: list[Failure] = []
    stages.reverse()
    while stages:
        stage = stages.pop()
        given = not isinstance(stage, FusedStage) and stage.expr.value is not None
        if given or not is_ready(stage):
            continue
        done, found, failed = execute([stage], cluster)
        records += done
        faults += found
        failures += failed
    return records, faults, failures


def _attempt(
    stages: Sequence[Stage], cluster: Cluster, wanted: Collection[int] | None
) -> tuple[list[Record], list[StepFault]]:
    joint = cluster.plan_run(sketched(stages, cluster, wanted)) if cluster.predicts else None
    plans = None if joint is None else joint.plans
    run = _Run(cluster, wanted, following(cluster, Graph(cluster), plans))
    run.add_all(stages)
    return run.finish()


def sketched(
    stages: Sequence[Stage], cluster: Cluster, wanted: Collection[int] | None = None
) -> Sketch:
    """Return what running the stages asks of the nodes, without running anything."""
    return sketched_again(stages, cluster, wanted, lambda: _sketched(stages, cluster, wanted))


def _sketched(stages: Sequence[Stage], cluster: Cluster, wanted: Collection[int] | None) -> Sketch:
    layout = SketchLayout(cluster, cluster)
    run = _Run(cluster, wanted, layout)
    run.add_all(stages)
    for output in run.outputs:
        layout.keep(run.graph.segments(output.source))
    return layout.sketch


def heal(chunked: Chunked, cluster: Cluster) -> None:
    """Compute again what was lost of a chunked array; return at once where nothing was."""
    run = _Run(cluster)
    run.graph.segments(chunked.source)
    if chunked in run.graph.healed:
        run.finish()
