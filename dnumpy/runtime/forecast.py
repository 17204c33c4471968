"""What a run would do: for each stage its ops, its kernel, rows per node, seconds and bytes."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from dnumpy.cost import seconds
from dnumpy.cost.estimate import peak_bytes
from dnumpy.expr.expr import Expr
from dnumpy.expr.walk import base_of
from dnumpy.plan.work import step_works
from dnumpy.rewrite.stages import FusedStage
from dnumpy.runtime import learnt, spans, works
from dnumpy.runtime.records import HERE, call_of
from dnumpy.runtime.spans import end_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.cost import DeviceProfile, Work
    from dnumpy.rewrite.stages import Stage
    from dnumpy.runtime.records import Record


@dataclass(frozen=True, slots=True)
class Forecast:
    """One stage before it runs.

    ``where`` lists (node, rows); ``node_seconds`` and ``node_bytes`` (peak) go with it. ``how``
    names the candidate that won; ``program`` lists the steps. About four of five runs fall between
    ``low`` and ``high`` seconds. ``basis`` says what the seconds are from: equal ``runs``, the
    ``kernel`` as it was timed, the device's ``profile``, or the ``plan`` over several nodes.
    ``reads`` has the numbers of the stages whose results this one waits for; ``node_starts`` when
    each node is to begin, in seconds after the run's beginning, where stages were planned together.
    ``period_seconds`` is of the whole run, where throughput is the objective: after how long the
    next one ends, at best. Where what a stage reads passes, its rows are made in so many ``blocks``
    by all nodes together; where its own rows do, each of its readers makes them (``passes``).
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
    reads: tuple[int, ...] = ()
    node_starts: tuple[float, ...] = ()
    period_seconds: float = 0.0
    blocks: int = 0
    passes: bool = False

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
        return works.phase_work(stage.phase)
    return learnt.call_work(call_of(stage.expr))


def forecast_of_record(record: Record, profile: DeviceProfile) -> Forecast | None:
    """Return what was predicted of what ran here, or would have been; None for a single op."""
    if record.phase is not None:
        kind, program = learnt.phase_kind(record.phase, record.what), str(record.phase)
    elif record.call is not None:
        kind, program = learnt.call_kind(record.call), record.what
    else:
        return None
    expected = learnt.here.before(record) or learnt.here.expect(kind, profile)
    return _forecast(kind, profile, expected, program)


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
    found = [_local(s, profile, size) for s, size in zip(stages, held, strict=True)]
    return with_reads(stages, found)


def brought_first(bringing: float, stages: Sequence[Forecast]) -> list[Forecast]:
    """Return the forecast where the first stage waits so long for its operands to come here."""
    if not stages:
        return []
    first, *others = stages
    took = tuple(bringing + each for each in first.node_seconds)
    low, middle, high = (bringing + each for each in (first.low, first.seconds, first.high))
    return [replace(first, seconds=middle, node_seconds=took, low=low, high=high), *others]


def _local(stage: Stage, profile: DeviceProfile, held: int) -> Forecast:
    kind = (
        learnt.phase_kind(stage.phase, stage.phase.title(), stage.read_again())
        if isinstance(stage, FusedStage)
        else learnt.call_kind(call_of(stage.expr))
    )
    found = _forecast(kind, profile, learnt.here.tell(kind, profile), program_of(stage))
    return replace(found, node_bytes=(max(held, *found.node_bytes),))


def _forecast(
    kind: learnt.Kind, profile: DeviceProfile, expected: learnt.Expected | None, program: str
) -> Forecast:
    work = kind.work
    assert work is not None
    assert expected is not None  # the profile knows every work
    return Forecast(
        what=kind.what,
        kernel=kind.lowering,
        where=((HERE, work.rows),),
        seconds=expected.seconds,
        node_seconds=(expected.seconds,),
        node_bytes=(int(peak_bytes(work, work.rows)),),
        how=f"{profile.threads} threads",
        program=program,
        low=expected.low,
        high=expected.high,
        basis=expected.basis,
    )


def program_of(stage: Stage) -> str:
    """Return the steps of a stage as text."""
    return str(stage.phase) if isinstance(stage, FusedStage) else repr(stage.expr)


def _held_bytes(stages: Sequence[Stage]) -> list[int]:
    """Return for each stage the bytes of all arrays that are there while it runs.

    These are what the run reads, what it has given, and the tiles of the stage itself.
    """
    held: dict[int, int] = {}
    found = []
    for stage in stages:
        bases = [base_of(expr) for expr in (*_read(stage), *_given(stage))]
        held |= {id(base): base.nbytes for base in bases}
        tiles = (
            int(works.phase_work(stage.phase).fixed_bytes) if isinstance(stage, FusedStage) else 0
        )
        found.append(sum(held.values()) + tiles)
    return found


def with_reads(stages: Sequence[Stage], found: Sequence[Forecast]) -> list[Forecast]:
    """Return the forecasts, each with the stages that it waits for."""
    maker: dict[int, int] = {}
    told = []
    for number, (stage, forecast) in enumerate(zip(stages, found, strict=True)):
        bases = [id(base_of(expr)) for expr in _read(stage)]
        makers = sorted({maker[base] for base in bases if base in maker})
        told.append(replace(forecast, reads=tuple(makers)))
        maker |= dict.fromkeys(map(id, _given(stage)), number)
    return told


def _read(stage: Stage) -> list[Expr]:
    read = stage.inputs if isinstance(stage, FusedStage) else stage.expr.operands()
    return [arg for arg in read if isinstance(arg, Expr)]


def _given(stage: Stage) -> tuple[Expr, ...]:
    if isinstance(stage, FusedStage):
        return (*stage.outputs, *stage.placed.values())
    return (stage.expr,)


def interval_of_plan(seconds: float | None) -> tuple[float, float] | None:
    """Return low and high seconds of what was planned for several nodes, if it was predicted."""
    if seconds is None:
        return None
    expected = learnt.around(seconds, "plan")
    return expected.low, expected.high


def prediction_of(stages: Sequence[Forecast], program: int, waiting: float = 0.0) -> Prediction:
    """Return what stages take together: until the last ends, or one after the other.

    On nodes, what runs of the same ``program`` took, if there were any, after ``waiting`` seconds
    until the first stage may begin.
    """
    peaks: dict[str, int] = {}
    for stage in stages:
        for (node, _), size in zip(stage.where, stage.node_bytes, strict=True):
            peaks[node] = max(peaks.get(node, 0), size)
    together = end_of([(stage.node_starts, stage.node_seconds) for stage in stages])
    if together is not None:
        known = spans.here.seconds(program)
        if known is not None:
            return _after(waiting, learnt.around(known, "runs"), peaks)
        first = spans.first_of(stage.node_starts for stage in stages)
        factor = spans.here.factor((s.what, s.where) for s in stages if any(s.node_seconds))
        together = first + (together - first) * factor
        return _after(waiting, learnt.around(together, "plan"), peaks)
    low, middle, high = (
        waiting + float(sum(getattr(s, name) for s in stages))
        for name in ("low", "seconds", "high")
    )
    return Prediction(middle, (low, high), peaks)


def _after(waiting: float, expected: learnt.Expected, peaks: dict[str, int]) -> Prediction:
    low, middle, high = (waiting + each for each in (expected.low, expected.seconds, expected.high))
    return Prediction(middle, (low, high), peaks)
