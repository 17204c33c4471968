"""Scores: how a run was put into legs, to be performed again on other values.

To lay out a program that was run before, to bind its tasks and to cut them into legs gives what it
gave then: where the plan gives the nodes the same rows, and stored arrays lie as they did, only the
values differ. So the legs are kept as they are sent, and with them which part of which stored array
each of their arguments is. No score refers to any array.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from uuid import uuid4

from dnumpy.plan.cache import PlanCache
from dnumpy.rewrite.stages import FusedStage
from dnumpy.runtime.chunked import Source
from dnumpy.runtime.demands import LIGHT, Laid
from dnumpy.runtime.graph import TaskReads
from dnumpy.runtime.outputs import Output, told_of
from dnumpy.runtime.products import GridRows
from dnumpy.runtime.replicas import Rest
from dnumpy.runtime.sealed import MOST_BYTES
from dnumpy.runtime.stage_runs import Learner, Outline, StageRun

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    import numpy as np

    from dnumpy.expr.expr import Expr
    from dnumpy.plan.model import Plan
    from dnumpy.rewrite.stages import Stage
    from dnumpy.runtime.faults import StepFault
    from dnumpy.runtime.graph import Graph, Segment
    from dnumpy.runtime.operands import Ref, Seen
    from dnumpy.runtime.records import Record
    from dnumpy.runtime.relay import Legs
    from dnumpy.runtime.replicas import Replica, Replicas
    from dnumpy.runtime.sketches import Asked

ENTRIES = 64


class Lying(NamedTuple):
    """Segment ``segment`` of the stored array so numbered."""

    number: int
    segment: int


class Shown(NamedTuple):
    """A part of the home array so numbered, which tasks on ``node`` are given."""

    number: int
    what: Seen
    node: str


class GivenOutput(NamedTuple):
    """An output: the number of its Expr, whether it comes home, and in what its rows are."""

    number: int
    home: bool
    segments: tuple[Segment, ...]


class Performed(NamedTuple):
    """A stage that ran, without what it read, and the numbers of the Exprs of its steps."""

    run: StageRun
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Score:
    """A run as it was performed.

    Attributes
    ----------
    legs : Legs
    external : tuple
        For each leg, what its arguments are.
    instead : dict
        See :class:`~dnumpy.runtime.replicas.Rest`.
    at_home : tuple
        The same tasks: key, function and arguments, of which some are ``Shown``.
    outputs : tuple of GivenOutput
    stages : tuple of Performed
    live_bytes : float
        What its tasks hold at once.
    """

    legs: Legs
    external: tuple[tuple[Lying | Shown, ...], ...]
    instead: dict[str, Replica]
    at_home: tuple[tuple[str, Callable[..., Any], tuple[Any, ...]], ...]
    outputs: tuple[GivenOutput, ...]
    stages: tuple[Performed, ...]
    live_bytes: float

    @property
    def comes_home(self) -> bool:
        """Whether nothing stays on the nodes."""
        return all(output.home for output in self.outputs)


class Run(Protocol):
    """A run that has ended."""

    graph: Graph
    replicas: Replicas
    outputs: list[Output]
    stages: list[StageRun]


class Player(Learner, Protocol):
    """A cluster that performs scores."""

    def plays(self, live_bytes: float, longest_seconds: float) -> bool:
        """Say whether what was run as a relay is to be run as one again."""
        ...

    def play(self, legs: Legs, run: str, external: Sequence[Sequence[Ref]]) -> dict[str, Any]:
        """Run legs under this run's name; return results and Futures by the legs' own keys."""
        ...

    def place(self, array: np.ndarray, node: str, owner: Expr | None, what: Hashable) -> Ref:
        """Return an argument that gives ``array``, part ``what`` of the owner, on ``node``."""
        ...


_known: PlanCache[Score] = PlanCache(ENTRIES)


def clear_scores() -> None:
    """Forget all scores."""
    _known.clear()


def score_for(asked: Asked, plans: Sequence[Plan], cluster: Player) -> Score | None:
    """Return how the same was run by plans of the same rows; None where it was not, as a relay."""
    score = _known.find(_key(asked, plans))
    longest = max([plan.predicted_seconds for plan in plans], default=0.0)
    return score if score is not None and cluster.plays(score.live_bytes, longest) else None


def perform(
    score: Score,
    stages: Sequence[Stage],
    asked: Asked,
    plans: Sequence[Plan],
    staying: Mapping[int, Source],
    cluster: Player,
) -> tuple[list[Record], list[StepFault]]:
    """Run the stages by the score and give every output Expr its value.

    ``staying`` are the Sources of outputs that stay on the nodes, by id of their Expr.
    """
    from dask._task_spec import Task  # not before it is needed: it is slow to import

    def given(argument: Any) -> Any:
        if not isinstance(argument, (Lying, Shown)):
            return argument
        source, segments = asked.stored[argument.number]
        if isinstance(argument, Lying):
            return segments[argument.segment].arg
        array = argument.what.of(source.at_home())
        return cluster.place(array, argument.node, source.expr, argument.what)

    exprs = _exprs_of(stages)
    external = [[given(argument) for argument in leg] for leg in score.external]
    left = {key: Task(key, do, *[given(a) for a in args]) for key, do, args in score.at_home}
    runs = [_again(performed, exprs, plans) for performed in score.stages]
    started = time.perf_counter()
    results = cluster.play(score.legs, uuid4().hex, external)
    Rest(score.instead, left).complete(results)
    ran = started, time.perf_counter() - started
    told = told_of(runs, cluster, results, ran)  # while Exprs know their operands
    for number, home, segments in score.outputs:
        expr = exprs[number]
        source = staying.get(id(expr)) or Source(expr.shape, expr.dtype)
        Output(expr, source, home).settle(segments, results, cluster)
    return told


def _again(performed: Performed, exprs: Sequence[Expr], plans: Sequence[Plan]) -> StageRun:
    """Return the stage as it runs now: its steps are these, and so are its seconds."""
    run, steps = performed
    laid = run.laid
    if isinstance(laid, Outline) and laid.number != LIGHT:
        laid = replace(laid, plan=plans[laid.number])
    return replace(run, laid=laid, steps=tuple([exprs[k] for k in steps]))


def keep_score(asked: Asked, plans: Sequence[Plan], stages: Sequence[Stage], run: Run) -> None:
    """Keep how a run was performed, if it can be performed again like that."""
    graph = run.graph
    exprs = _exprs_of(stages)
    if graph.relay is None or not _is_repeatable(run, plans) or any(map(_calls, exprs)):
        return
    legs, given = graph.relay
    told = _Told(asked, graph)
    external = tuple([tuple([one for arg in data if (one := told.of(arg))]) for data in given])
    if list(map(len, external)) != list(map(len, given)):
        return  # there is something of no stored array
    rest = run.replicas.rest()
    at_home = [
        (key, task.func, tuple([told.of(arg) or arg for arg in task.args]))
        for key, task in rest.at_home.items()
    ]
    numbers = {id(expr): number for number, expr in enumerate(exprs)}
    outputs = [
        GivenOutput(numbers[id(o.expr)], o.home, tuple(graph.segments(o.source)))
        for o in run.outputs
    ]
    performed = [
        Performed(
            StageRun(stage.outline(), (), TaskReads(), [], stage.reports, stage.folded),
            tuple([numbers[id(expr)] for expr in stage.steps]),
        )
        for stage in run.stages
    ]
    score = Score(
        legs,
        external,
        rest.instead,
        tuple(at_home),
        tuple(outputs),
        tuple(performed),
        graph.live_bytes([key for leg in legs.nodes for key in (*leg.staying, *leg.coming)]),
    )
    _known.keep(_key(asked, plans), score)


def _is_repeatable(run: Run, plans: Sequence[Plan]) -> bool:
    """Say whether a run did nothing that another one like it would not do."""
    graph = run.graph
    if graph.sends or graph.healed or graph.reads_files():
        return False
    for stage in run.stages:
        laid = stage.laid
        if isinstance(laid, Laid) and isinstance(laid.producer, GridRows):
            return False  # its blocks follow the rates of the day
        if laid.number != LIGHT and laid.plan is not plans[laid.number]:
            return False
    legs, _ = graph.relay or (None, None)
    return legs is not None and sum(len(leg.sealed.data) for leg in legs.nodes) <= MOST_BYTES


def _calls(expr: Expr) -> bool:
    """Say whether an op calls a function of the user's, which may do something else each time."""
    return any(callable(param) for param in expr.params)


class _Told:
    """Tells arguments of tasks by the stored arrays that they are of."""

    def __init__(self, asked: Asked, graph: Graph) -> None:
        self.graph = graph
        self.lying: dict[str, Lying] = {}
        self.numbers: dict[int, int] = {}
        for number, (source, segments) in asked.stored.items():
            self.numbers[_identity(source)] = number
            for k, segment in enumerate(segments):
                self.lying.setdefault(segment.arg.key, Lying(number, k))

    def of(self, arg: Ref) -> Lying | Shown | None:
        """Return which part of which stored array an argument is; None if it is of none."""
        placed = self.graph.placed.get(id(arg))
        if placed is not None and _identity(placed.source) in self.numbers:
            return Shown(self.numbers[_identity(placed.source)], placed.what, placed.node)
        return self.lying.get(getattr(arg, "key", ""))


def _identity(source: Source) -> int:
    return id(source if source.expr is None else source.expr)


def _key(asked: Asked, plans: Sequence[Plan]) -> Hashable:
    """Return what decides how a run is performed: what is asked, and who computes which rows."""
    return asked.key, asked.exact, tuple([plan.rows for plan in plans])


def _exprs_of(stages: Sequence[Stage]) -> list[Expr]:
    """Return all that the stages compute, each in its place."""
    found: list[Expr] = []
    for stage in stages:
        if isinstance(stage, FusedStage):
            found += (*stage.steps, *stage.outputs, *stage.placed.values())
        else:
            found.append(stage.expr)
    return found
