"""What a run would do: for each stage its ops, its kernel, rows per node, seconds and bytes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

from dnumpy.cost import seconds
from dnumpy.cost.estimate import peak_bytes
from dnumpy.cost.work import Work
from dnumpy.expr.expr import Expr
from dnumpy.ops.families import Blocked, Contraction, Fold
from dnumpy.ops.table import VIEW
from dnumpy.plan.work import contraction_work, copy_work, phase_work, step_works
from dnumpy.rewrite.cut import FusedStage
from dnumpy.runtime import learnt
from dnumpy.runtime.records import call_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.cost import DeviceProfile
    from dnumpy.plan import Plan
    from dnumpy.rewrite.cut import Stage
    from dnumpy.runtime.cluster import Cluster
    from dnumpy.runtime.records import Record


@dataclass(frozen=True, slots=True)
class Forecast:
    """One stage before it runs.

    ``where`` lists (node, rows); ``node_seconds`` and ``node_bytes`` (peak) go with it. ``how``
    names the candidate that won; ``program`` lists the steps. About four of five runs fall between
    ``low`` and ``high`` seconds. ``basis`` says what the seconds are from: equal ``runs``, the
    ``kernel`` as it was timed, the device's ``profile``, or the ``plan`` over several nodes.
    """

    what: str
    kernel: str
    where: tuple[tuple[str, int], ...]
    seconds: float
    node_seconds: tuple[float, ...]
    node_bytes: tuple[int, ...]
    how: str
    program: str
    low: float
    high: float
    basis: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Prediction:
    """What computing something takes: ``float()`` gives the seconds.

    Attributes
    ----------
    seconds : float
        Of all stages, one after the other; 0 where nothing is left to compute.
    interval : tuple of float
        Low and high seconds, between which about four of five runs fall.
    bytes : dict
        Of each node, the bytes of memory at the peak: what is read, given and held meanwhile.
    """

    seconds: float
    interval: tuple[float, float]
    bytes: dict[str, int]

    def __float__(self) -> float:
        """Return the seconds."""
        return self.seconds


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
        others = sum(o.nbytes for o in operands[1:])
        return contraction_work(shape, expr.dtype, operands[0].shape, others)
    if isinstance(expr.op, Blocked | Fold):
        return _blocked_work(expr.op, operands, shape, expr.nbytes)
    return copy_work(shape, expr.dtype)


def _blocked_work(
    op: Blocked | Fold, operands: Sequence[Expr], shape: tuple[int, ...], nbytes: int
) -> Work:
    """Return the work of an op that reads its operands once, as its cost class and flops say."""
    rows = shape[0] or 1
    elements = max(prod(shape), *(o.size for o in operands)) if operands else prod(shape)
    read = sum(o.nbytes for o in operands)
    loops = ((op.loop, elements * op.flops / rows),)
    return Work(rows, bytes_read=read / rows, bytes_written=nbytes / rows, loops=loops)


def forecast_of_record(record: Record, profile: DeviceProfile) -> Forecast | None:
    """Return what would have been predicted of a phase that ran here; None for a single op."""
    if record.phase is None:
        return None
    stage = FusedStage(record.phase, (), (), {}, ())
    found = forecast_local([stage], profile)[0]
    known = learnt.here.before(record)
    if known is None:
        return found
    seconds, low, high, basis = known
    return replace(found, seconds=seconds, node_seconds=(seconds,), low=low, high=high, basis=basis)


def numpy_seconds(record: Record, profile: DeviceProfile) -> float:
    """Return the predicted seconds of NumPy for what a record's phase did: one op after the other.

    A single op that NumPy ran itself counts as what it took.
    """
    if record.phase is None:
        return record.seconds
    return sum(seconds(work, profile, work.rows) for work in step_works(record.phase))


def forecast_local(stages: Sequence[Stage], profile: DeviceProfile) -> list[Forecast]:
    """Return the forecast of a run on this process's threads."""
    held = _held_bytes(stages)
    return [_local(s, profile, size) for s, size in zip(stages, held, strict=True)]


def _local(stage: Stage, profile: DeviceProfile, held: int) -> Forecast:
    kind = _kind(stage)
    work = kind.work
    assert work is not None
    expected = learnt.here.expect(kind, profile)
    assert expected is not None  # the profile knows every work
    return Forecast(
        what=kind.what,
        kernel=kind.lowering,
        where=((profile.name, work.rows),),
        seconds=expected.seconds,
        node_seconds=(expected.seconds,),
        node_bytes=(max(held, int(peak_bytes(work, work.rows))),),
        how=f"{profile.threads} threads",
        program=_program(stage),
        low=expected.low,
        high=expected.high,
        basis=expected.basis,
    )


def _kind(stage: Stage) -> learnt.Kind:
    if isinstance(stage, FusedStage):
        return learnt.phase_kind(stage.phase, stage.phase.title())
    return learnt.Kind(call_of(stage.expr), stage.expr.op.name, "numpy", work_of(stage))


def _program(stage: Stage) -> str:
    return str(stage.phase) if isinstance(stage, FusedStage) else repr(stage.expr)


def _held_bytes(stages: Sequence[Stage]) -> list[int]:
    """Return for each stage the bytes of all arrays that are there while it runs.

    These are what the run reads, what it has given, and the tiles of the stage itself.
    """
    held: dict[int, int] = {}
    found = []
    for stage in stages:
        given = stage.outputs if isinstance(stage, FusedStage) else (stage.expr,)
        read = stage.inputs if isinstance(stage, FusedStage) else stage.expr.operands()
        for expr in (*read, *given):
            if isinstance(expr, Expr):
                base = _base(expr)
                held[id(base)] = base.nbytes
        tiles = int(phase_work(stage.phase).fixed_bytes) if isinstance(stage, FusedStage) else 0
        found.append(sum(held.values()) + tiles)
    return found


def _base(expr: Expr) -> Expr:
    while expr.op is VIEW and expr.value is None:
        expr = expr.operands()[0]
    return expr


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
    expected = learnt.around(plan.predicted_seconds, "plan")
    return Forecast(
        what=title(stage),
        kernel="tiled" if isinstance(stage, FusedStage) else "numpy",
        where=tuple(plan.rows),
        seconds=plan.predicted_seconds,
        node_seconds=tuple(plan.predicted_node_seconds),
        node_bytes=tuple(int(size) for size in plan.peak_bytes),
        how=how,
        program=_program(stage),
        low=expected.low,
        high=expected.high,
        basis=expected.basis,
    )


def prediction_of(stages: Sequence[Forecast]) -> Prediction:
    """Return what stages that run one after the other take together."""
    peaks: dict[str, int] = {}
    for stage in stages:
        for (node, _), size in zip(stage.where, stage.node_bytes, strict=True):
            peaks[node] = max(peaks.get(node, 0), size)
    low, expected, high = (
        float(sum(getattr(s, name) for s in stages)) for name in ("low", "seconds", "high")
    )
    return Prediction(expected, (low, high), peaks)
