"""Run stages on many nodes: the virtual nodes of this process, or the workers of a Dask cluster.

All stages of one evaluation go out as one graph, each phase as one task per node and thread;
results stay where they were made, and only partial and small results come home.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from dnumpy.errors import PlanInfeasible, WorkerLost
from dnumpy.rewrite.stages import FusedStage, owners_of
from dnumpy.runtime import settling, sketches, spans
from dnumpy.runtime.chunked import Chunked, Source
from dnumpy.runtime.demands import LIGHT, Laid
from dnumpy.runtime.failures import Failure, NodesLost, failure, is_ready
from dnumpy.runtime.folds import (
    COPIED_BYTES,
    BlockFold,
    StepFold,
    SumFold,
    Told,
    add_fold,
    may_be_copied,
    told_by_fold,
    told_by_nodes,
)
from dnumpy.runtime.graph import Graph, Outputs, Segment, TaskReads
from dnumpy.runtime.layout import Layout
from dnumpy.runtime.light import light_ones_at_home
from dnumpy.runtime.meanwhile import note_what_comes_meanwhile
from dnumpy.runtime.moving import settle
from dnumpy.runtime.outputs import Output, replace_parts, told_of
from dnumpy.runtime.passable import may_pass
from dnumpy.runtime.producers import FoldedBlocks, FoldedRows
from dnumpy.runtime.reading import folds_together
from dnumpy.runtime.refused import NotTogether
from dnumpy.runtime.replicas import Replicas
from dnumpy.runtime.scores import keep_score, perform, score_for
from dnumpy.runtime.settling import moves_after
from dnumpy.runtime.sketch import SketchLayout, following
from dnumpy.runtime.sketches import asked_of, sketched_again
from dnumpy.runtime.stage_runs import Learner, StageRun

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager

    import numpy as np

    from dnumpy.expr.expr import Expr
    from dnumpy.plan.model import Plan
    from dnumpy.rewrite.stages import Stage
    from dnumpy.runtime.demands import AnyProducer
    from dnumpy.runtime.faults import StepFault
    from dnumpy.runtime.folds import AnyFold
    from dnumpy.runtime.jointly import Joint
    from dnumpy.runtime.moving import Mover
    from dnumpy.runtime.operands import Ref
    from dnumpy.runtime.records import Record
    from dnumpy.runtime.scores import Player
    from dnumpy.runtime.sketch import Sketch

    Ran = tuple[list[Record], list[StepFault], list[Failure]]


class Cluster(sketches.Cluster, settling.Planner, Learner, Protocol):
    """Nodes that tasks can be put on: they plan, make graphs and run them, and learn from that."""

    @property
    def gone(self) -> bool:
        """Whether no node of it will ever answer again."""
        ...

    def refresh(self) -> None:
        """Find out which nodes there are now; raises WorkerLost where there is none."""
        ...

    def plan_run(self, sketch: Sketch) -> Joint | None:
        """Return who computes how many rows of all stages; None to plan them one by one."""
        ...

    def arrive(self, read: Callable[[], Collection[Expr]]) -> None:
        """Wait until those arrays that are read have arrived that are on their way."""
        ...

    def arrived(self, read: Collection[Expr]) -> AbstractContextManager[float]:
        """Let what is read lie where it is on its way to, for a look; give the seconds left."""
        ...

    def room(self) -> float:
        """Return the bytes that the node with most memory may be given."""
        ...

    def run(self, graph: Graph, home: list[Ref], stay: list[Ref]) -> dict[str, Any]:
        """Run the graph; return by key the values to bring home, and what holds those that stay.

        Raises :class:`NodesLost` when nodes were lost on the way.
        """
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


class _Run:
    """One evaluation being put into a graph."""

    def __init__(
        self,
        cluster: Cluster,
        wanted: Collection[int] | None = None,
        layout: Layout | None = None,
        passing: Collection[int] = (),
    ) -> None:
        self.cluster = cluster
        self.wanted = wanted
        self.passing = passing  # the numbers of stages whose rows nobody keeps
        self.layout = layout if layout is not None else Layout(cluster, Graph(cluster), {})
        self.graph = self.layout.graph
        self.replicas = Replicas(self.graph)
        self.outputs: list[Output] = []
        self.stages: list[StageRun] = []

    def add_all(self, stages: Sequence[Stage]) -> None:
        """Put all stages into the graph."""
        for self.layout.stage, group in folds_together(stages):
            if len(group) > 1:
                self._add_folds(
                    [stage.expr for stage in group if not isinstance(stage, FusedStage)]
                )
            else:
                self.add(group[0])
        note_what_comes_meanwhile(self.stages, self.graph)

    def _add_folds(self, exprs: list[Expr]) -> None:
        """Put folds of the same rows into the graph, as one stage."""
        self.layout.lets_pass = False
        laid = self.layout.together(exprs)
        folds = [
            BlockFold(expr.op, expr.params, expr.shape, expr.dtype, number)  # type: ignore[arg-type]
            for number, expr in enumerate(exprs)
        ]
        nbytes = sum(expr.nbytes for expr in exprs)
        built = self._build(laid, tuple(exprs), nbytes, folds, nbytes)
        for position, expr in enumerate(exprs):
            self._give_folded(expr, built, position)

    def add(self, stage: Stage) -> None:
        """Put a stage into the graph."""
        self.layout.lets_pass = self.layout.stage in self.passing
        if isinstance(stage, FusedStage):
            self.layout.lets_pass &= not stage.passes_on()
            self._add_fused(stage)
        elif id(stage.expr) not in self.layout.known:
            laid = self.layout.whole(stage.expr)
            if laid.lets_pass:
                self._let_pass(stage.expr, replace(laid, steps=(stage.expr,)), 0)
                return
            fold = _fold_of(laid.producer)
            nbytes = stage.expr.nbytes
            built = self._build(laid, (stage.expr,), nbytes, (fold,) if fold else (), nbytes)
            if fold:
                self._give_folded(stage.expr, built, 0)
            else:
                self._give(stage.expr, built, 0)

    def _build(
        self,
        laid: Laid,
        steps: tuple[Expr, ...],
        nbytes: int,
        fold: Sequence[AnyFold] = (),
        folded_bytes: int = 0,
    ) -> StageRun:
        """Add the stage's tasks; how they went comes home in what they made, unless it is big."""
        laid = replace(laid, steps=steps, folds=tuple(fold))
        steps = (*steps, *(step for each in laid.through for step in each.steps))
        self.graph.reads = reads = self.graph.reads.after()
        reads.began = len(self.graph.added)
        made = self.layout.built(laid, laid.ranges)
        self.graph.note_stage(reads.began, nbytes, [ref for _, ref in made])
        laid = replace(laid, ranges=[r for r, _ in made])
        inner, self.graph.inner = self.graph.inner, []
        self.graph.reads = TaskReads()
        stage = StageRun(laid, steps, reads, made, [])
        self.stages.append(stage)
        copied = False
        if laid.number == LIGHT and not fold and len(made) == 1:
            self._glue(stage)
        elif fold:
            row_outputs = laid.producer.row_outputs()
            copied = may_be_copied(fold, row_outputs, folded_bytes)
            stage.folded = add_fold(self.graph, fold, made, row_outputs, copied=copied)
            stage.reports = told_by_fold(stage.folded[1], made)
            if copied:
                self.replicas.may_copy(stage.folded[1])
        elif self.cluster.remote and nbytes > self.cluster.home_bytes:
            told = told_by_nodes(self.graph, [*made, *inner])
            stage.take_in_reports(told, inner)
        else:
            stage.take_in_reports([Told(ref) for _, ref in [*made, *inner]], inner)
        self.replicas.take_in([ref for _, ref in made], small=copied)
        return stage

    def _glue(self, stage: StageRun) -> None:
        """Let a light stage be a step of the task that it waits for, if it can be."""
        ((r, ref),) = stage.made
        assert isinstance(stage.laid, Laid)
        self.graph.light[ref.key] = Outputs(stage.laid.producer.row_outputs(), 0)
        found = self.layout.glued(ref)
        if found is None:
            stage.reports = [Told(ref)]
            return
        if sum(step.nbytes for step in stage.steps) > COPIED_BYTES:
            self.replicas.must_not_copy(found.ref)
        stage.made = [(r, found.ref)]
        stage.first = found.rows
        stage.reports = [Told(found.ref, found.report)]

    def _add_fused(self, stage: FusedStage) -> None:
        phase = stage.phase
        by_rows = [k for k, output in enumerate(phase.outputs) if not output.partial]
        filled = [n for n in stage.regions() if sorted(n) == by_rows]  # one array, nothing else
        straight = self.layout.placed(stage, filled[0]) if filled else None
        update = stage.placed[filled[0][-1]] if straight else None
        laid = straight or self.layout.fused(stage)
        if laid.lets_pass:
            laid = replace(laid, steps=stage.steps)
            for position, k in enumerate(by_rows):
                self._let_pass(stage.outputs[k], laid, position)
            if len(by_rows) == len(phase.outputs):
                return
        given = [stage.outputs[k] for k in by_rows] if update is None else [update]
        nbytes = sum(expr.nbytes for expr in given)
        numbers = [o.slot - len(phase.inputs) for o in phase.outputs if o.partial]
        fold = [StepFold(phase.steps[number], number) for number in numbers]
        partial = [k for k, output in enumerate(phase.outputs) if output.partial]
        folded_bytes = sum(stage.outputs[k].nbytes for k in partial)
        built = self._build(laid, stage.steps, nbytes, fold, folded_bytes)
        for position, k in enumerate(partial):
            self._give_folded(stage.outputs[k], built, position)
        if update is not None:
            self._give(update, built, 0)
            return
        for position, k in enumerate(() if laid.lets_pass else by_rows):
            give = self._source if k in stage.placed else self._give
            give(stage.outputs[k], built, position)
        for whole in () if laid.lets_pass else stage.placed.values():
            self._place(whole)

    def _give(self, expr: Expr, built: StageRun, position: int) -> None:
        """Let the Expr be row output ``position`` of a stage."""
        source = self._source(expr, built, position)
        if self.wanted is None or id(expr) in self.wanted:
            small = not source.shape or source.nbytes <= self.cluster.home_bytes
            self.outputs.append(Output(expr, source, small))

    def _source(self, expr: Expr, built: StageRun, position: int) -> Source:
        assert isinstance(built.laid, Laid)
        producer = built.laid.producer
        source = Source(expr.shape, expr.dtype, producer=producer, position=position)
        segments = self.graph.row_segments(producer, built.made, built.first + position)
        self.graph.provide(source, segments)
        self.layout.known[id(expr)] = source
        return source

    def _let_pass(self, expr: Expr, laid: Laid, position: int) -> None:
        """Let the Expr be row output ``position`` of a stage, made by whoever reads it."""
        source = Source(expr.shape, expr.dtype, producer=laid.producer, position=position)
        if source.producer is None:
            msg = f"{laid.what} comes after too many stages to be made again by each of its readers"
            raise PlanInfeasible(msg)
        self.graph.passing.add(source)
        self.layout.passing[source] = laid
        self.layout.known[id(expr)] = source

    def _place(self, update: Expr) -> None:
        """Let rows just made become part of another array; they are nobody else's."""
        built = self._build(self.layout.whole(update), (update,), update.nbytes)
        self._give(update, built, 0)

    def _give_folded(self, expr: Expr, built: StageRun, position: int) -> None:
        """Let the Expr be what a stage's fold gives at ``position``."""
        assert built.folded is not None
        source = Source(expr.shape, expr.dtype)
        rows = expr.shape[0] if expr.shape else 1
        self.graph.provide(source, [Segment(0, rows, *built.folded, position)])
        self.layout.known[id(expr)] = source
        self.outputs.append(Output(expr, source, home=True))

    def finish(self) -> tuple[list[Record], list[StepFault]]:
        """Run the graph and give every output Expr its value."""
        wanted = [told.ref for stage in self.stages for told in stage.told()]
        stay: list[Ref] = []
        for output in self.outputs:
            refs = [segment.arg for segment in self.graph.segments(output.source)]
            (wanted if output.home else stay).extend(refs)
        healed = [s for segments in self.graph.healed.values() for s in segments]
        stay += [s.arg for s in healed if getattr(s.arg, "key", "") in self.graph.node_of]
        self.replicas.drop_unread({ref.key for ref in stay}, remote=self.cluster.remote)
        home = [needed for ref in wanted for needed in self.replicas.needed_for(ref)]
        longest = max((stage.laid.plan.predicted_seconds for stage in self.stages), default=0.0)
        self.graph.longest_seconds = longest
        started = time.perf_counter()
        results = self.cluster.run(self.graph, home, stay)
        self.replicas.rest().complete(results)
        ran = started, time.perf_counter() - started
        told = told_of(self.stages, self.cluster, results, ran)  # while Exprs know their operands
        for output in self.outputs:
            output.settle(self.graph.segments(output.source), results, self.cluster)
        for chunked, segments in self.graph.healed.items():
            replace_parts(chunked, segments, results)
        return told


def _fold_of(producer: AnyProducer) -> AnyFold | None:
    """Return how what the producer's tasks leave behind is folded, where it gives no rows."""
    if isinstance(producer, FoldedRows):
        return SumFold(producer.shape)
    if isinstance(producer, FoldedBlocks):
        return BlockFold(producer.op, producer.params, producer.shape, producer.dtype)
    return None


ATTEMPTS = 4
T = TypeVar("T")


def execute(stages: list[Stage], cluster: Cluster, wanted: Collection[int] | None = None) -> Ran:
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
        more = _each_alone(stages, cluster, wanted)
        return [*done, *more[0]], [*found, *more[1]], [*failed, *more[2]]
    if not stages:
        return done, found, []

    def together(passing: Collection[int]) -> Ran:
        return *_persistently(stages, cluster, wanted, passing), []

    def apart(met: PlanInfeasible) -> Ran:
        return _one_by_one(stages, cluster, met, wanted)

    try:
        records, faults, failed = as_it_fits(stages, cluster, wanted, together, apart)
    except WorkerLost:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, the user will see it
        records, faults, failed = _one_by_one(stages, cluster, error, wanted)
    stages.clear()
    return [*done, *records], [*found, *faults], failed


def as_it_fits(
    stages: Sequence[Stage],
    cluster: Cluster,
    wanted: Collection[int] | None,
    together: Callable[[Collection[int]], T],
    apart: Callable[[PlanInfeasible], T],
) -> T:
    """Return what stages give that go ``together``, while rows of some pass where they have to.

    A run and its forecast decide here alike. Both raise :class:`~dnumpy.errors.PlanInfeasible`
    where it does not fit. Where it never does, or small results leave room for one stage after
    another, the stages go ``apart``.
    """
    try:
        return together(())
    except PlanInfeasible as error:
        error.__traceback__ = None  # which would keep what stages read from being let go of
        met = error
    offered = met.offered_bytes if isinstance(met, NotTogether) else 0.0
    passed = while_rows_pass(stages, cluster, wanted, together, offered)
    return apart(met) if passed is None else passed


def while_rows_pass(
    stages: Sequence[Stage],
    cluster: Cluster,
    wanted: Collection[int] | None,
    together: Callable[[Collection[int]], T],
    offered_bytes: float = 0.0,
) -> T | None:
    """Return what stages give of which rows pass that nobody keeps; None where it does not fit.

    Likewise where their results may be held in a good part of what is offered.
    """
    if len(stages) < 2:
        return None
    for passing in may_pass(*_sketch_run(stages, cluster, wanted), offered_bytes):
        try:
            return together(passing)
        except PlanInfeasible as error:
            error.__traceback__ = None
    return None


def _persistently(
    stages: Sequence[Stage],
    cluster: Cluster,
    wanted: Collection[int] | None,
    passing: Collection[int] = (),
) -> tuple[list[Record], list[StepFault]]:
    for attempt in range(ATTEMPTS):
        try:
            cluster.refresh()
            return _attempt(stages, cluster, wanted, passing)
        except NodesLost as lost:
            cluster.recover(attempt, lost)
    raise AssertionError  # recover raises WorkerLost on the last attempt


def _one_by_one(
    stages: list[Stage], cluster: Cluster, met: Exception, wanted: Collection[int] | None
) -> Ran:
    """Run what can be run after all stages together met an error; one alone met that very one."""
    if isinstance(met, PlanInfeasible):
        met.__traceback__ = None  # which would keep what stages read from being let go of
    if len(stages) == 1 or (isinstance(met, PlanInfeasible) and met.final):
        return [], [], [failure(stages.pop(), met)]
    records, faults, failures = _each_alone(stages, cluster, wanted)
    for found in failures:
        if isinstance(found.error, PlanInfeasible) and isinstance(met, PlanInfeasible):
            found.error.add_note(str(met))
    return records, faults, failures


def _each_alone(stages: list[Stage], cluster: Cluster, wanted: Collection[int] | None) -> Ran:
    """Run what can be run, stage by stage, emptying the list: what was read last is let go of.

    Where some of them find no room, those and what waits for them run while their rows pass.
    """
    records: list[Record] = []
    faults: list[StepFault] = []
    failures: list[Failure] = []
    left: list[Stage] = []
    stages.reverse()
    while stages:
        stage = stages.pop()
        if not isinstance(stage, FusedStage) and stage.expr.value is not None:
            continue
        if not is_ready(stage):
            left.append(stage)
            continue
        done, found, failed = execute([stage], cluster)
        records += done
        faults += found
        failures += failed
        left += [stage] * bool(failed)
    if failures and all(isinstance(failed.error, PlanInfeasible) for failed in failures):
        passed = while_rows_pass(
            left, cluster, wanted, lambda passing: _persistently(left, cluster, wanted, passing)
        )
        if passed is not None:
            return [*records, *passed[0]], [*faults, *passed[1]], []
    return records, faults, failures


def _attempt(
    stages: Sequence[Stage],
    cluster: Cluster,
    wanted: Collection[int] | None,
    passing: Collection[int] = (),
) -> tuple[list[Record], list[StepFault]]:
    if not cluster.predicts:
        return run_of(stages, cluster, wanted, None, passing).finish()
    cluster.arrive(lambda: owners_of(stages))
    if passing:
        joint = cluster.plan_run(sketched(stages, cluster, wanted, passing))
        plans = None if joint is None else joint.plans
        return run_of(stages, cluster, wanted, plans, passing).finish()
    asked = asked_of(stages, cluster, wanted)
    sketch = sketched_again(asked, lambda: _sketch_run(stages, cluster, wanted)[0])
    joint = cluster.plan_run(sketch)
    if joint is None:
        return run_of(stages, cluster, wanted, None).finish()
    began = time.perf_counter()
    player = cast("Player", cluster)  # and performs
    score = score_for(asked, joint.plans, player)
    if score is None:
        run = run_of(stages, cluster, wanted, joint.plans)
        spans.here.note_layout(time.perf_counter() - began, len(stages))
        done = run.finish()
        keep_score(asked, joint.plans, stages, run)
    else:
        staying: dict[int, Source] = {}
        if not score.comes_home:  # lost rows are computed again by what a layout tells
            laid = _laid_out(stages, SketchLayout(cluster, cluster), cluster, wanted)
            staying = {id(output.expr): output.source for output in laid.outputs}
        done = perform(score, stages, asked, joint.plans, staying, player)
    sketch.note_took(time.perf_counter() - began)
    with suppress(NodesLost):  # of which the next run will hear
        for move in moves_after(asked, sketch, cluster):
            settle(move, cast("Mover", cluster))  # what predicts moves arrays
    return done


def run_of(
    stages: Sequence[Stage],
    cluster: Cluster,
    wanted: Collection[int] | None,
    plans: Sequence[Plan] | None,
    passing: Collection[int] = (),
) -> _Run:
    """Return the run of the stages as it is planned, put into a graph that has yet to be run.

    Nobody keeps the rows of the stages with the numbers ``passing``.
    """
    layout = following(cluster, Graph(cluster), plans)
    return _laid_out(stages, layout, cluster, wanted, passing)


def sketched(
    stages: Sequence[Stage],
    cluster: Cluster,
    wanted: Collection[int] | None = None,
    passing: Collection[int] = (),
) -> Sketch:
    """Return what running the stages asks of the nodes, without running anything."""
    if passing:
        return _sketch_run(stages, cluster, wanted, passing)[0]
    asked = asked_of(stages, cluster, wanted)
    return sketched_again(asked, lambda: _sketch_run(stages, cluster, wanted)[0])


def _sketch_run(
    stages: Sequence[Stage],
    cluster: Cluster,
    wanted: Collection[int] | None,
    passing: Collection[int] = (),
) -> tuple[Sketch, list[Laid]]:
    """Return the sketch of the stages, and how they were laid out for it."""
    layout = SketchLayout(cluster, cluster)
    run = _laid_out(stages, layout, cluster, wanted, passing)
    for output in run.outputs:
        layout.keep(run.graph.segments(output.source))
    return layout.sketch, [s.laid for s in run.stages if isinstance(s.laid, Laid)]


def _laid_out(
    stages: Sequence[Stage],
    layout: Layout,
    cluster: Cluster,
    wanted: Collection[int] | None,
    passing: Collection[int] = (),
) -> _Run:
    run = _Run(cluster, wanted, layout, passing)
    run.add_all(stages)
    return run


def heal(chunked: Chunked, cluster: Cluster) -> list[Chunked]:
    """Compute again what was lost of a chunked array; return at once where nothing was.

    Return the arrays of which something was: those that it is made of among them.
    """
    run = _Run(cluster)
    run.graph.segments(chunked.source)
    if chunked in run.graph.healed:
        run.finish()
    return list(run.graph.healed)
