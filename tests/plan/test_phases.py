"""Partitions of consecutive phases."""

from __future__ import annotations

import random

from dnumpy.plan import NodeRate, PhaseSpec, clear_plan_cache, plan_phases, plan_rows
from dnumpy.plan.simulate import chain_seconds


def nodes_for(a: float, b: float, transfer: float) -> list[NodeRate]:
    return [NodeRate("a", a, 0.001, transfer), NodeRate("b", b, 0.001, transfer)]


def test_phases_share_a_partition_where_moving_rows_is_dear() -> None:
    specs = [PhaseSpec(f"p{i}", 100_000) for i in range(4)]
    rates = [nodes_for(1e-6, 2e-6, 1e-5), nodes_for(2e-6, 1e-6, 1e-5)] * 2
    start = (("a", 50_000), ("b", 50_000))
    plans = plan_phases(specs, rates, current=start)
    assert len({plan.row_counts for plan in plans}) == 1
    assert [plan.phase for plan in plans] == ["p0", "p1", "p2", "p3"]


def test_phases_move_rows_where_that_is_free() -> None:
    specs = [PhaseSpec(f"p{i}", 1_000_000) for i in range(2)]
    rates = [nodes_for(1e-6, 9e-6, 0.0), nodes_for(9e-6, 1e-6, 0.0)]
    memory = 8.0 * 950_000
    specs = [PhaseSpec(s.name, s.rows, 8.0) for s in specs]
    rates = [[NodeRate(n.node, n.seconds_per_row, 0, 0, memory) for n in r] for r in rates]
    plans = plan_phases(specs, rates)
    alike = chain_seconds([plans[0].row_counts] * 2, rates)
    assert chain_seconds([p.row_counts for p in plans], rates) <= alike


def test_a_chain_is_never_slower_than_planning_each_phase_alone() -> None:
    source = random.Random(1)
    for _ in range(10):
        specs = [PhaseSpec(f"p{i}", 50_000) for i in range(3)]
        rates = [
            [
                NodeRate(name, 10 ** source.uniform(-7, -5), 0.001, 10 ** source.uniform(-8, -5))
                for name in "abc"
            ]
            for _ in specs
        ]
        clear_plan_cache()
        plans = plan_phases(specs, rates)
        alone = []
        placed = None
        for spec, nodes in zip(specs, rates, strict=True):
            alone.append(plan_rows(spec, nodes, current=placed))
            placed = alone[-1].rows
        for plan, spec, nodes in zip(plans, specs, rates, strict=True):
            plan.verify(spec, nodes)
        chained = chain_seconds([p.row_counts for p in plans], rates)
        assert chained <= chain_seconds([p.row_counts for p in alone], rates)


def test_phases_of_other_extent_or_other_nodes_are_planned_anew() -> None:
    specs = [PhaseSpec("wide", 100_000), PhaseSpec("narrow", 10), PhaseSpec("lost", 10)]
    rates = [nodes_for(1e-6, 1e-6, 0), nodes_for(1e-6, 1e-6, 0), [NodeRate("b", 1e-6)]]
    plans = plan_phases(specs, rates, granule=[1, 5, 5])
    for plan, spec, nodes, granule in zip(plans, specs, rates, [1, 5, 5], strict=True):
        plan.verify(spec, nodes, granule)


def test_no_phases_need_no_plans() -> None:
    assert plan_phases([], []) == []
