"""Rehearsal: a run is put into a graph that nobody runs, to know what its nodes will hold.

What a stage takes at the peak depends on what its tasks read in pieces, put together and pack for
others, which only the graph tells. So a prediction builds the graph as the run would, but nothing
is sent meanwhile: arrays at home count as lying where they would be sent to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dnumpy.runtime.cluster import run_of
from dnumpy.runtime.graph import Segment

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Sequence

    import numpy as np

    from dnumpy.expr.expr import Expr
    from dnumpy.plan.model import Plan
    from dnumpy.rewrite.cut import Stage
    from dnumpy.runtime.cluster import Cluster
    from dnumpy.runtime.operands import Ref
    from dnumpy.runtime.stage_runs import StageRun


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
        return TaskRef(f"unsent-{self._count}")


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
