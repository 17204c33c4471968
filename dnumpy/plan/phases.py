"""Partitions of consecutive phases: keep one where moving rows costs more than it gains."""

from __future__ import annotations

from itertools import groupby
from math import lcm
from typing import TYPE_CHECKING

from dnumpy.errors import PlanInfeasible
from dnumpy.plan.model import Candidate, NodeRate, PhaseSpec
from dnumpy.plan.program import aligned, judged, plan_rows
from dnumpy.plan.simulate import chain_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.model import Plan

Placement = tuple[tuple[str, int], ...]


def plan_phases(
    specs: Sequence[PhaseSpec],
    rates: Sequence[Sequence[NodeRate]],
    granule: int | Sequence[int] = 1,
    current: Sequence[tuple[str, int]] | None = None,
    solver_below_seconds: float | None = None,
) -> list[Plan]:
    """Return a plan per phase, for phases that run one after another on the same nodes.

    Consecutive phases of equal extent form a chain: either each is planned with the choice to stay
    where the previous one left the rows, or all share the partition that suits their sum; the
    simulated end of the chain decides. ``current`` is where the rows of the first chain lie.
    """
    granules = [granule] * len(specs) if isinstance(granule, int) else list(granule)
    steps = list(zip(specs, rates, granules, strict=True))
    placed = tuple(current) if current is not None else None
    plans: list[Plan] = []
    for _, chain in groupby(steps, key=lambda step: (step[0].rows, _names(step[1]))):
        plans += _plan_chain(list(chain), placed, solver_below_seconds)
        placed = plans[-1].rows
    return plans


def _names(nodes: Sequence[NodeRate]) -> tuple[str, ...]:
    return tuple(node.node for node in nodes)


Step = tuple[PhaseSpec, "Sequence[NodeRate]", int]


def _plan_chain(
    steps: list[Step], current: Placement | None, solver_below: float | None
) -> list[Plan]:
    greedy = _one_by_one(steps, current, solver_below)
    shared = _all_alike(steps, current, solver_below) if len(steps) > 1 else None
    if shared is None:
        return greedy
    rates = [nodes for _, nodes, _ in steps]
    here = aligned(current, rates[0], steps[0][0].rows)
    end_greedy = chain_seconds([plan.row_counts for plan in greedy], rates, here)
    end_shared = chain_seconds([plan.row_counts for plan in shared], rates, here)
    return shared if end_shared <= end_greedy else greedy


def _one_by_one(
    steps: list[Step], current: Placement | None, solver_below: float | None
) -> list[Plan]:
    plans = []
    for spec, nodes, granule in steps:
        plan = plan_rows(spec, nodes, granule, current, solver_below)
        current = plan.rows
        plans.append(plan)
    return plans


def _all_alike(
    steps: list[Step], current: Placement | None, solver_below: float | None
) -> list[Plan] | None:
    """Return plans that share one partition, or None where no partition fits all phases."""
    specs = [spec for spec, _, _ in steps]
    window = PhaseSpec(
        name=f"{specs[0].name}..{specs[-1].name}",
        rows=specs[0].rows,
        bytes_per_row=max(spec.bytes_per_row for spec in specs),
        fixed_bytes=max(spec.fixed_bytes for spec in specs),
    )
    nodes = [_summed(column) for column in zip(*(nodes for _, nodes, _ in steps), strict=True)]
    granule = lcm(*(granule for _, _, granule in steps))
    try:
        common = plan_rows(window, nodes, granule, current, solver_below)
    except PlanInfeasible:  # the worst memory of the window fits nowhere: phases must differ
        return None
    candidate = Candidate(common.how, common.row_counts)
    here = aligned(current, nodes, window.rows)
    plans = []
    for spec, rates, _ in steps:
        plans.append(judged(candidate, spec, rates, here, common.solver_seconds))
        here = common.row_counts
    return plans


def _summed(column: Sequence[NodeRate]) -> NodeRate:
    """Return one node's rate for all phases of a window: times add up, the least memory holds."""
    return NodeRate(
        node=column[0].node,
        seconds_per_row=sum(rate.seconds_per_row for rate in column),
        fixed_seconds=sum(rate.fixed_seconds for rate in column),
        transfer_seconds_per_row=column[0].transfer_seconds_per_row,
        memory_bytes=min(rate.memory_bytes for rate in column),
    )
