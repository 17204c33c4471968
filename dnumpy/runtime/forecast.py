"""What a run would do: for each stage its ops, its kernel, rows per node, seconds and bytes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from dnumpy.cost import seconds
from dnumpy.ops.families import Contraction
from dnumpy.plan import plan_work
from dnumpy.plan.work import contraction_work, copy_work, phase_work, step_works
from dnumpy.rewrite.cut import FusedStage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.cost import DeviceProfile, Work
    from dnumpy.expr.expr import Expr
    from dnumpy.plan import Plan
    from dnumpy.rewrite.cut import Stage
    from dnumpy.runtime.cluster import Cluster
    from dnumpy.runtime.records import Record


@dataclass(frozen=True, slots=True)
class Forecast:
    """One stage before it runs.

    ``where`` lists (node, rows); ``node_seconds`` and ``node_bytes`` (peak) go with it. ``how``
    names the candidate that won; ``program`` lists the steps.
    """

    what: str
    kernel: str
    where: tuple[tuple[str, int], ...]
    seconds: float
    node_seconds: tuple[float, ...]
    node_bytes: tuple[int, ...]
    how: str
    program: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


def title(stage: Stage) -> str:
    """Return what a stage does, the same text that its Record will carry."""
    return stage.phase.title() if isinstance(stage, FusedStage) else stage.expr.op.name


def work_of(stage: Stage) -> Work:
    """Return what a stage costs on any device."""
    if isinstance(stage, FusedStage):
        return phase_work(stage.phase)
    return _whole_work(stage.expr)


def _whole_work(expr: Expr) -> Work:
    operands = expr.operands()
    shape = expr.shape or (1,)
    if isinstance(expr.op, Contraction) and operands and operands[0].shape:
        others = sum(prod(o.shape) * o.dtype.itemsize for o in operands[1:])
        return contraction_work(shape, expr.dtype, operands[0].shape, others)
    return copy_work(shape, expr.dtype)


def forecast_of_record(record: Record, profile: DeviceProfile) -> Forecast | None:
    """Return what would have been predicted of a phase that ran here; None for a single op."""
    if record.phase is None:
        return None
    stage = FusedStage(record.phase, (), (), {}, ())
    return forecast_local([stage], profile)[0]


def numpy_seconds(record: Record, profile: DeviceProfile) -> float:
    """Return the predicted seconds of NumPy for what a record's phase did: one op after the other.

    A single op that NumPy ran itself counts as what it took.
    """
    if record.phase is None:
        return record.seconds
    return sum(seconds(work, profile, work.rows) for work in step_works(record.phase))


def forecast_local(stages: Sequence[Stage], profile: DeviceProfile) -> list[Forecast]:
    """Return the forecast of a run on this process's threads."""
    return [
        _planned(s, plan_work(title(s), work_of(s), [profile]), f"{profile.threads} threads")
        for s in stages
    ]


def forecast_on(stages: Sequence[Stage], cluster: Cluster) -> list[Forecast]:
    """Return the forecast of a run on a cluster, each stage planned for itself."""
    cluster.refresh()
    found = []
    for stage in stages:
        granule = stage.phase.tile_rows if isinstance(stage, FusedStage) else 1
        plan = cluster.plan(title(stage), work_of(stage), granule, None, 0.0)
        found.append(_planned(stage, plan, plan.how))
    return found


def _planned(stage: Stage, plan: Plan, how: str) -> Forecast:
    return Forecast(
        what=title(stage),
        kernel="tiled" if isinstance(stage, FusedStage) else "numpy",
        where=tuple(plan.rows),
        seconds=plan.predicted_seconds,
        node_seconds=tuple(plan.predicted_node_seconds),
        node_bytes=tuple(int(size) for size in plan.peak_bytes),
        how=how,
        program=str(stage.phase) if isinstance(stage, FusedStage) else repr(stage.expr),
    )
