"""Rehearsal: a run is put into a graph that nobody runs, to know what its nodes will hold.

What a stage takes at the peak depends on what its tasks read in pieces, put together and pack for
others, which only the graph tells. So a prediction builds the graph as the run would, but nothing
is sent meanwhile: arrays at home count as lying where they would be sent to.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from dnumpy.runtime.cluster import run_of
from dnumpy.runtime.graph import Segment
from dnumpy.runtime.parcels import Parcel

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Sequence

    import numpy as np

    from dnumpy.expr.expr import Expr
    from dnumpy.plan.model import Plan
    from dnumpy.rewrite.stages import Stage
    from dnumpy.runtime.cluster import Cluster
    from dnumpy.runtime.graph import Graph
    from dnumpy.runtime.operands import Ref
    from dnumpy.runtime.stage_runs import StageRun

UNSENT = "unsent"


class _Unsent:
    """A cluster, except that nothing is sent to it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._count = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cluster, name)

    def place(self, array: np.ndarray, node: str, owner: Expr | None, what: Hashable) -> Ref:  # noqa: ARG002
        """Return the array itself when small, else what its copy on the node would be called."""
        return array if array.nbytes <= self._cluster.embed_bytes else self._promised()

    def send(self, owner: Expr, lo: int, hi: int, node: str) -> Segment:  # noqa: ARG002
        """Return what rows ``lo:hi`` of a home array would be on the node."""
        return Segment(lo, hi, node, self._promised(), None)

    def _promised(self) -> Ref:
        from dask._task_spec import TaskRef

        self._count += 1
        return TaskRef(f"{UNSENT}-{self._count}")


def rehearsed(
    stages: Sequence[Stage],
    cluster: Cluster,
    wanted: Collection[int] | None,
    plans: Sequence[Plan] | None,
    passing: Collection[int] = (),
) -> list[StageRun]:
    """Return the stages of a run as they would be put into a graph, which nobody runs.

    Raises
    ------
    dnumpy.errors.PlanInfeasible
        Where putting them there finds no room.
    """
    return run_of(stages, cast("Cluster", _Unsent(cluster)), wanted, plans, passing).stages


def needs_of(
    stages: Sequence[Stage],
    cluster: Cluster,
    wanted: Collection[int] | None,
    plans: Sequence[Plan],
) -> dict[str, float]:
    """Return the most bytes that each node needs at a time, beside what lies there already.

    What a stage takes, and what was made before and is read later, or stays.
    """
    run = run_of(stages, cast("Cluster", _Unsent(cluster)), wanted, plans)
    starts = [stage.reads.began for stage in run.stages]
    read = [_read_by(stage, run.graph, starts) for stage in run.stages]
    stays = {
        _maker(segment.arg, run.graph, starts)
        for output in run.outputs
        for segment in run.graph.segments(output.source)
    }
    most: Counter[str] = Counter()
    for number, stage in enumerate(run.stages):
        needs = Counter(stage.taken())
        needs.subtract(_lying_bytes(stage, run.graph))
        later = set().union(stays, *read[number + 1 :])
        for before in range(number):
            if before in later and before not in read[number]:
                needs.update(run.stages[before].made_bytes())
        most |= needs
    return dict(most)


def _read_by(stage: StageRun, graph: Graph, starts: Sequence[int]) -> set[int]:
    """Return the numbers of the stages that made what a stage reads."""
    given = [arg for _, arg, _ in stage.reads.pieces()]
    parts = [part for arg in given for part in (arg.data if type(arg) is Parcel else (arg,))]
    return {_maker(part, graph, starts) for part in parts}


def _maker(arg: Ref, graph: Graph, starts: Sequence[int]) -> int:
    """Return which stage made an argument: -1 where it was there before."""
    latest = graph.latest(arg)
    return bisect(starts, latest - 1) - 1 if latest else -1


def _lying_bytes(stage: StageRun, graph: Graph) -> Counter[str]:
    """Return the bytes on each node that a stage reads where they lay before the run."""
    found: Counter[str] = Counter()
    for node, arg, nbytes in stage.reads.pieces(arriving=False):
        promised = str(getattr(arg, "key", "")).startswith(UNSENT)
        if not graph.latest(arg) and not promised:
            found[node] += nbytes
    return found
