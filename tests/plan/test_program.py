"""Laws of plans: they tile, they fit, they are as fast as the best split there is."""

from __future__ import annotations

import random
import sys
from itertools import product

import pulp
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dnumpy.errors import PlanInfeasible
from dnumpy.plan import NodeRate, PhaseSpec, Plan, clear_plan_cache, plan_rows, program
from dnumpy.plan.candidates import heuristic_candidates
from dnumpy.plan.problem import make_problem
from dnumpy.plan.simulate import makespan
from dnumpy.plan.waterfill import common_deadline

ALWAYS_SOLVE = 0.0
TIMES = st.one_of(st.just(0.0), st.floats(1e-6, 10.0))


@st.composite
def node_rates(draw: st.DrawFn, most: int = 5, rows: int = 100) -> list[NodeRate]:
    return [
        NodeRate(
            node=f"w{i}",
            seconds_per_row=draw(st.floats(1e-6, 10.0)),
            fixed_seconds=draw(TIMES),
            transfer_seconds_per_row=draw(TIMES),
            memory_bytes=8.0 * draw(st.integers(0, rows)),
        )
        for i in range(draw(st.integers(1, most)))
    ]


def least_makespan(spec: PhaseSpec, nodes: list[NodeRate]) -> float:
    """The best of all splits, by trying them."""
    every = product(range(spec.rows + 1), repeat=len(nodes) - 1)
    tails = (((*head, spec.rows - sum(head))) for head in every if sum(head) <= spec.rows)
    legal = (
        rows
        for rows in tails
        if all(
            spec.bytes_on_node(n) <= node.memory_bytes for n, node in zip(rows, nodes, strict=True)
        )
    )
    return min((makespan(rows, nodes) for rows in legal), default=float("inf"))


def planned(spec: PhaseSpec, nodes: list[NodeRate], granule: int = 1) -> Plan:
    clear_plan_cache()
    return plan_rows(spec, nodes, granule, solver_below_seconds=ALWAYS_SOLVE)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 12), node_rates(most=3, rows=12))
def test_a_plan_is_as_fast_as_the_best_of_all_splits(rows: int, nodes: list[NodeRate]) -> None:
    spec = PhaseSpec("p", rows, bytes_per_row=8.0)
    best = least_makespan(spec, nodes)
    if best == float("inf"):
        with pytest.raises(PlanInfeasible):
            planned(spec, nodes)
    else:
        got = planned(spec, nodes).predicted_seconds
        assert best * (1 - 1e-12) <= got <= best * (1 + program.SAME_MAKESPAN)


@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10_000),
    st.integers(1, 70),
    st.floats(0.0, 100.0),
    node_rates(most=6, rows=10_000),
)
def test_a_plan_tiles_the_rows_in_whole_granules_and_fits(
    rows: int, granule: int, fixed_bytes: float, nodes: list[NodeRate]
) -> None:
    spec = PhaseSpec("p", rows, bytes_per_row=8.0, fixed_bytes=fixed_bytes)
    try:
        plan = planned(spec, nodes, granule)
    except PlanInfeasible:
        assume(sum(make_problem(spec, nodes, granule).caps) < -(-rows // granule))
        return
    plan.verify(spec, nodes, granule)
    assert [start for _, start, _ in plan.ranges()][:1] == ([0] if rows else [])
    assert sum(stop - start for _, start, stop in plan.ranges()) == rows


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 100_000),
    st.lists(st.floats(1e-6, 1e-3), min_size=2, max_size=6),
    st.floats(0.0, 0.1),
    st.floats(0.0, 1e-4),
)
def test_a_faster_node_never_gets_less(
    rows: int, rates: list[float], fixed: float, transfer: float
) -> None:
    nodes = [NodeRate(f"w{i}", rate, fixed, transfer) for i, rate in enumerate(rates)]
    counts = planned(PhaseSpec("p", rows), nodes).row_counts
    for rate_a, rows_a in zip(rates, counts, strict=True):
        for rate_b, rows_b in zip(rates, counts, strict=True):
            if rate_a < rate_b * (1 - 1e-6):
                assert rows_a >= rows_b


@pytest.mark.parametrize("count", [2, 4, 8, 16])
def test_the_integer_program_is_within_one_percent_of_the_bound(count: int) -> None:
    random_source = random.Random(count)
    for _ in range(5):
        rows = random_source.choice([100_000, 10_000_000])
        total = 10 ** random_source.uniform(-1.5, 3.5) * count
        nodes = [
            NodeRate(
                f"w{i}",
                total / rows * 10 ** random_source.uniform(-1, 1),
                total / count * 10 ** random_source.uniform(-3, -0.5),
                total / rows * 10 ** random_source.uniform(-3, 0),
                8.0 * rows * random_source.uniform(1.0, 3.0) / count,
            )
            for i in range(count)
        ]
        problem = make_problem(PhaseSpec("p", rows, 8.0), nodes)
        found, _ = program.solved_by_program(problem, heuristic_candidates(problem))
        assert [c.how for c in found] == ["milp"]
        assert makespan(found[0].rows, nodes) <= common_deadline(problem) * 1.01


def test_many_nodes_are_planned_on_the_support_of_the_water_filling_split() -> None:
    nodes = [NodeRate(f"w{i}", 1e-6 * (1 + i % 7), 0.001, 0.0, 1e9) for i in range(100)]
    spec = PhaseSpec("p", 50_000_000, 8.0)
    problem = make_problem(spec, nodes)
    plan = planned(spec, nodes)
    plan.verify(spec, nodes)
    assert plan.solver_seconds > 0
    assert plan.predicted_seconds <= common_deadline(problem) * 1.001


def test_equal_makespans_go_to_fewer_nodes() -> None:
    nodes = [NodeRate("fast", 1e-6), NodeRate("hopeless", 1.0)]
    plan = planned(PhaseSpec("p", 100_000), nodes)
    assert plan.row_counts == (100_000, 0)
    assert plan.how == "single"


def test_the_solver_is_not_asked_below_its_threshold_nor_for_one_node() -> None:
    spec = PhaseSpec("p", 1_000)
    pair = [NodeRate("a", 1e-6), NodeRate("b", 2e-6)]
    clear_plan_cache()
    assert plan_rows(spec, pair).solver_seconds == 0.0
    assert planned(spec, pair[:1]).solver_seconds == 0.0
    assert planned(spec, pair).solver_seconds > 0.0


def test_the_first_solve_of_a_process_waits_for_a_phase_that_is_worth_an_import(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pair = [NodeRate("a", 1e-6), NodeRate("b", 2e-6)]
    half_a_second = PhaseSpec("p", 500_000)
    clear_plan_cache()
    monkeypatch.delitem(sys.modules, "pulp", raising=False)
    assert plan_rows(half_a_second, pair).solver_seconds == 0.0
    monkeypatch.setitem(sys.modules, "pulp", pulp)
    assert plan_rows(half_a_second, pair).solver_seconds > 0.0


def test_what_does_not_fit_names_phase_arrays_nodes_and_missing_bytes() -> None:
    spec = PhaseSpec("7 (matmul)", 1_000, 8_000_000.0, live="a 4.0 GB, b 4.0 GB")
    nodes = [NodeRate("w0", 1e-3, memory_bytes=2e9), NodeRate("w1", 1e-3, memory_bytes=1e9)]
    with pytest.raises(PlanInfeasible) as caught:
        plan_rows(spec, nodes)
    text = str(caught.value)
    for part in ("7 (matmul)", "a 4.0 GB, b 4.0 GB", "w0 2.0 GB", "w1 1.0 GB", "8.0 GB", "smaller"):
        assert part in text
    assert "5000000000 bytes" in text
    assert isinstance(caught.value, MemoryError)


def test_no_nodes_is_an_error_that_says_so() -> None:
    with pytest.raises(PlanInfeasible, match="no nodes"):
        plan_rows(PhaseSpec("p", 1), [])


def test_a_cached_plan_equals_the_first_and_asks_no_solver() -> None:
    spec, nodes = PhaseSpec("p", 1_000_000), [NodeRate("a", 1e-6), NodeRate("b", 3e-6)]
    first = planned(spec, nodes)
    again = plan_rows(PhaseSpec("q", 1_000_000), nodes, solver_below_seconds=ALWAYS_SOLVE)
    assert first.solver_seconds > 0.0
    assert again.solver_seconds == 0.0
    assert (again.phase, again.row_counts) == ("q", first.row_counts)
    assert again.predicted_node_seconds == first.predicted_node_seconds


def test_a_cached_split_is_not_used_where_memory_no_longer_holds_it() -> None:
    spec = PhaseSpec("p", 1_000, 1_000.0)
    roomy = [NodeRate("a", 1e-6, memory_bytes=1_010_000.0), NodeRate("b", 1.0, memory_bytes=1e6)]
    assert planned(spec, roomy).row_counts == (1_000, 0)
    tight = [NodeRate("a", 1e-6, memory_bytes=999_500.0), roomy[1]]
    plan = plan_rows(spec, tight, solver_below_seconds=ALWAYS_SOLVE)
    plan.verify(spec, tight)
    assert plan.row_counts == (999, 1)


def test_rows_stay_where_they_are_when_moving_costs_more_than_it_gains() -> None:
    spec = PhaseSpec("p", 1_000_000)
    nodes = [NodeRate("a", 1e-6, transfer_seconds_per_row=0.1), NodeRate("b", 2e-6)]
    lopsided = (("a", 500_000), ("b", 500_000))
    clear_plan_cache()
    assert plan_rows(spec, nodes, current=lopsided).how == "current"
    cheap = [NodeRate("a", 1e-6, transfer_seconds_per_row=1e-9), NodeRate("b", 2e-6)]
    moved = plan_rows(spec, cheap, current=lopsided)
    assert moved.row_counts[0] > 600_000
