"""What a run on nodes would do: found by the steps of the run itself, of which none is computed.

The run is planned, and its graph is made, as :mod:`~dnumpy.runtime.cluster` would. Where it does
not fit, the same things are tried in the same order: rows that pass, then one stage after another.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from dnumpy.cost import seconds
from dnumpy.plan.model import Plan
from dnumpy.rewrite.stages import FusedStage
from dnumpy.runtime import learnt
from dnumpy.runtime.demands import Laid
from dnumpy.runtime.forecast import (
    Forecast,
    program_of,
    title,
    with_reads,
    work_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from dnumpy.cost import DeviceProfile
    from dnumpy.errors import PlanInfeasible
    from dnumpy.rewrite.stages import Stage
    from dnumpy.runtime.cluster import Cluster
    from dnumpy.runtime.jointly import Joint
    from dnumpy.runtime.stage_runs import StageRun

MADE_BY_READERS = "made by its readers"


def forecast_on(
    stages: Sequence[Stage],
    cluster: Cluster,
    wanted: Collection[int] | None = None,
    here: DeviceProfile | None = None,
) -> list[Forecast]:
    """Return the forecast of a run on a cluster; ``wanted`` as for a run.

    What nodes take that are threads of this process is told by its profile ``here``.

    Raises
    ------
    dnumpy.errors.PlanInfeasible
        Where the run would be refused.
    """
    from dnumpy.runtime.cluster import as_it_fits  # here: programs of one machine do without

    cluster.refresh()
    together = partial(_together, stages, cluster, wanted, here)
    apart = partial(_apart, stages, cluster, wanted, together)
    return with_reads(stages, as_it_fits(stages, cluster, wanted, together, apart))


def _together(
    stages: Sequence[Stage],
    cluster: Cluster,
    wanted: Collection[int] | None,
    here: DeviceProfile | None,
    passing: Collection[int],
) -> list[Forecast]:
    """Return the forecast of all stages in one graph, while rows of some pass."""
    from dnumpy.runtime.cluster import sketched
    from dnumpy.runtime.rehearsal import rehearsed

    sketch = sketched(stages, cluster, wanted, passing)
    joint = cluster.plan_run(sketch)
    if joint is None and cluster.predicts and not passing:
        return [_alone(stage, cluster) for stage in stages]
    plans = None if joint is None else joint.plans
    runs = rehearsed(stages, cluster, wanted, plans, passing)
    by_number = {run.laid.number: run for run in runs}
    found = []
    for number, stage in enumerate(stages):
        mine = [k for k, of in enumerate(sketch.stages) if of == number]
        named = [k for k in mine if sketch.demands[k].what == title(stage)]
        last = (named or mine)[-1] if mine else None
        if last is None:
            told = _passed(stage) if number in passing else _light(stage, cluster)
        elif joint is not None:
            told = _joined(stage, cluster, joint, by_number, mine, joint.plans[last])
        elif last not in by_number or here is None:
            told = _alone(stage, cluster)
        else:
            told = _here(stage, by_number[last], here)
        laid = [by_number[k].laid for k in mine if k in by_number]
        blocks = sum(each.blocks for each in laid if isinstance(each, Laid))
        found.append(replace(told, blocks=blocks, passes=number in passing))
    return found


def _apart(
    stages: Sequence[Stage],
    cluster: Cluster,
    wanted: Collection[int] | None,
    together: Callable[[Collection[int]], list[Forecast]],
    met: PlanInfeasible,
) -> list[Forecast]:
    """Return the forecast of one stage after another; where one is refused, of rows that pass."""
    from dnumpy.errors import PlanInfeasible
    from dnumpy.runtime.cluster import while_rows_pass

    if len(stages) == 1 or met.final:
        raise met
    try:
        return [_alone(stage, cluster) for stage in stages]
    except PlanInfeasible:
        passed = while_rows_pass(stages, cluster, wanted, together)
        if passed is None:
            raise
        return passed


def _alone(stage: Stage, cluster: Cluster) -> Forecast:
    """Return the forecast of a stage that is planned by itself."""
    granule = stage.phase.tile_rows if isinstance(stage, FusedStage) else 1
    plan = cluster.plan(title(stage), work_of(stage), granule, None, 0.0)
    return _planned(stage, plan, plan.how)


def _joined(
    stage: Stage,
    cluster: Cluster,
    joint: Joint,
    runs: Mapping[int, StageRun],
    mine: Sequence[int],
    plan: Plan,
) -> Forecast:
    """Return the forecast of a stage with the numbers ``mine`` among those planned together."""
    starts = tuple(cluster.round_trip + start for start in plan.starts)
    planned = replace(
        _planned(stage, plan, joint.how), node_starts=starts, period_seconds=joint.period_seconds
    )
    peaks = {k: runs[k].predicted_peaks() for k in mine if k in runs}
    return replace(planned, node_bytes=_node_bytes(joint.plans, peaks, mine, plan))


def _light(stage: Stage, cluster: Cluster) -> Forecast:
    """Return the forecast of what is so little that it goes with what it waits for."""
    where = ((cluster.fastest(), work_of(stage).rows),)
    plan = Plan(title(stage), where, 0.0, (0.0,), (0.0,), "single", starts=(0.0,))
    return replace(_planned(stage, plan, "with what it waits for"), node_starts=plan.starts)


def _passed(stage: Stage) -> Forecast:
    """Return the forecast of a stage whose rows pass: what it takes is its readers'."""
    plan = Plan(title(stage), (), 0.0, (), (), "single")
    return _planned(stage, plan, MADE_BY_READERS)


def _here(stage: Stage, run: StageRun, profile: DeviceProfile) -> Forecast:
    """Return the forecast of a stage on threads of this process, which are its nodes."""
    laid = run.laid
    rows: dict[str, int] = {}
    for r in laid.ranges:
        rows[r.node] = rows.get(r.node, 0) + r.hi - r.lo
    took = tuple(seconds(laid.work, profile, count, "tiled") for count in rows.values())
    peaks = run.predicted_peaks()
    held = tuple(float(peaks.get(node, 0)) for node in rows)
    plan = Plan(laid.what, tuple(rows.items()), max(took, default=0.0), took, held, "even")
    return replace(_planned(stage, plan, f"{len(rows)} threads"), basis="profile")


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
        program=program_of(stage),
        low=expected.low,
        high=expected.high,
        basis=expected.basis,
    )


def _node_bytes(
    plans: Sequence[Plan], peaks: Mapping[int, Mapping[str, int]], mine: Sequence[int], plan: Plan
) -> tuple[int, ...]:
    """Return the most that each node of the plan holds in any of a stage's demands ``mine``."""
    most: dict[str, int] = {}
    for number in mine:
        planned = zip(plans[number].rows, plans[number].peak_bytes, strict=True)
        held = {node: int(size) for (node, _), size in planned} | dict(peaks.get(number) or {})
        for node, size in held.items():
            most[node] = max(most.get(node, 0), size)
    return tuple(most.get(node, 0) for node, _ in plan.rows)
