"""Laws of plans over groups of equal nodes: legal for the nodes, better than an even split."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy.plan import classes, joint
from dnumpy.plan.classes import in_groups
from dnumpy.plan.dag import Ask, Edge, Network, Node, Placement, Program
from dnumpy.plan.events import simulate_program
from dnumpy.plan.joint import clear_program_cache, plan_program


def fleet(counts, rows, granule=1, pinned=None, memory=float("inf")):
    """Nodes of class k are k + 1 times as slow as those of the first."""
    slowness = [k + 1.0 for k, count in enumerate(counts) for _ in range(count)]
    seconds = tuple(0.001 * s for s in slowness)
    fixed = (0.01,) * len(seconds)
    asks = (
        Ask("in", rows, (0.0,) * len(seconds), fixed, bytes_per_row=8.0, pinned=pinned),
        Ask("a", rows, seconds, fixed, granule, bytes_per_row=8.0),
        Ask("b", rows, seconds, fixed, granule, bytes_per_row=8.0),
    )
    edges = (Edge(0, 1, "aligned", 8.0), Edge(1, 2, "halo", 8.0, 1))
    nodes = tuple(Node(f"w{n}", memory) for n in range(len(seconds)))
    return Program(nodes, Network.uniform(len(seconds), 1e-4, 1e8), asks, edges)


def test_groups_of_a_class_add_up_to_it_and_can_be_used_in_part():
    grouped = in_groups(fleet((40, 25), 1000))
    assert grouped is not None
    assert grouped.sizes == (1, 2, 4, 8, 16, 9, 1, 2, 4, 8, 10)
    grouped.program.verify()


def test_nodes_that_all_differ_are_not_grouped():
    assert in_groups(fleet((1,) * 6, 100)) is None


def test_what_groups_compute_is_what_their_nodes_compute():
    program = fleet((40, 25), 6500, granule=10)
    grouped = in_groups(program)
    assert grouped is not None
    even = tuple(Placement(tuple(100 * size for size in grouped.sizes)) for _ in range(3))
    expanded = grouped.expand(program, even)
    for ask, placement in zip(program.asks, expanded, strict=True):
        placement.verify(ask.rows, ask.granule)
        assert set(placement.rows) == {100}


def test_a_plan_over_groups_is_legal_and_better_than_the_even_split():
    clear_program_cache()
    program = fleet((48, 32), 80_000)
    plan = plan_program(program)
    plan.verify(program)
    assert plan.how.endswith("of groups") or plan.how == "window"
    even = Placement((1000,) * 80)
    assert plan.predicted_seconds < simulate_program(program, [even] * 3).makespan
    assert plan.placements[2].rows[0] > plan.placements[2].rows[-1]


def test_a_pinned_phase_is_pinned_in_its_groups_and_in_the_plan():
    clear_program_cache()
    lies = Placement((80_000,) + (0,) * 79)
    program = fleet((48, 32), 80_000, pinned=lies)
    plan = plan_program(program)
    plan.verify(program)
    assert plan.placements[0] == lies


def test_memory_of_single_nodes_holds_in_a_plan_over_groups():
    clear_program_cache()
    program = fleet((64,), 6400, memory=8 * 4 * 110.0)
    plan = plan_program(program)
    plan.verify(program)


def jittered(count, rows, access="fold", memory=float("inf"), seed=0):
    """Nodes of four classes in any order, every speed some per cent off that of its class."""
    rng = random.Random(seed)
    slowness = [rng.choice((1.0, 1.5, 2.0, 4.0)) * rng.gauss(1.0, 0.02) for _ in range(count)]
    seconds = tuple(1e-3 * s for s in slowness)
    fixed = tuple(rng.uniform(0.004, 0.006) for _ in slowness)
    asks = tuple(
        Ask(f"p{v}", rows, seconds, fixed, 4, bytes_per_row=64.0, work_fixed_bytes=100.0)
        for v in range(3)
    )
    edges = (Edge(0, 1, "halo", 64.0, 1), Edge(1, 2, access, 64.0, 0, 64.0))
    nodes = tuple(Node(f"w{n}", memory) for n in range(count))
    return Program(nodes, Network.uniform(count, 1e-4, 1e8), asks, edges)


def test_nodes_that_are_nearly_equal_are_a_few_groups_in_whatever_order_they_stand():
    program = jittered(1000, 100_000)
    grouped = in_groups(program)
    assert grouped is not None
    assert len(grouped.members) <= 4 * 6
    assert sorted(n for nodes in grouped.members for n in nodes) == list(range(1000))
    for nodes, parts in zip(grouped.members, grouped.parts, strict=True):
        rates = [program.asks[0].seconds_per_row[n] for n in nodes]
        assert max(rates) <= 1.2 * min(rates)
        ends = [rate * part for rate, part in zip(rates, parts, strict=True)]
        assert max(ends) == pytest.approx(min(ends))


@pytest.mark.parametrize("access", ["aligned", "halo", "fold", "whole", "other axis"])
def test_what_is_predicted_of_groups_is_what_is_simulated_of_their_nodes(access, monkeypatch):
    monkeypatch.setattr(classes, "SECONDS_PER_EVENT", 1.0)  # no time for all nodes
    clear_program_cache()
    program = jittered(160, 64_000, access)
    plan = plan_program(program)
    plan.verify(program)
    assert plan.how.endswith("of groups")
    line = simulate_program(program, plan.placements)
    assert plan.predicted_seconds == pytest.approx(line.makespan, rel=0.1)
    pairs = zip(plan.peak_bytes, line.peak_bytes, strict=True)
    assert all(promised >= held for promised, held in pairs)


@pytest.mark.parametrize("count", [64, 160])
@pytest.mark.parametrize("used", ["all", "largest", "smallest", "half"])
def test_an_exchange_among_groups_takes_what_it_takes_among_their_nodes(count, used):
    program = jittered(count, 64_000, "other axis")
    heavy = replace(program.edges[1], bytes_per_row=1e5)  # far longer than what is computed
    program = replace(program, edges=(program.edges[0], heavy))
    grouped = in_groups(program)
    assert grouped is not None
    order = sorted(range(len(grouped.sizes)), key=lambda g: -grouped.sizes[g])
    among = {
        "all": order,
        "largest": order[:1],
        "smallest": order[-3:],
        "half": order[: len(order) // 2],
    }[used]
    rows = [grouped.sizes[g] if g in among else 0 for g in range(len(order))]
    counts = [64_000 * n // sum(rows) // 4 * 4 for n in rows]
    counts[among[0]] += 64_000 - sum(counts)
    placements = (Placement(tuple(counts)),) * 3
    told = simulate_program(grouped.program, placements).makespan
    exact = simulate_program(program, grouped.expand(program, placements)).makespan
    assert told == pytest.approx(exact, rel=0.2)


@pytest.mark.parametrize("count", [64, 256])
def test_a_plan_with_a_heavy_exchange_is_no_worse_than_the_even_split(count):
    clear_program_cache()
    program = jittered(count, 64_000, "other axis")
    heavy = replace(program.edges[1], bytes_per_row=1e5)
    program = replace(program, edges=(program.edges[0], heavy))
    plan = plan_program(program, budget_seconds=1.0)  # whatever else runs here
    plan.verify(program)
    rows = 64_000 // count // 4 * 4
    even = Placement((*(rows,) * (count - 1), 64_000 - rows * (count - 1)))
    took = simulate_program(program, plan.placements).makespan
    assert took <= 1.05 * simulate_program(program, [even] * 3).makespan


def test_with_time_for_it_all_nodes_are_simulated(monkeypatch):
    monkeypatch.setattr(classes, "SECONDS_PER_EVENT", 0.0)
    monkeypatch.setattr(joint, "BUDGET_PART", 1.0)
    clear_program_cache()
    program = jittered(64, 64_000)
    plan = plan_program(program)
    line = simulate_program(program, plan.placements)
    assert (plan.predicted_seconds, plan.peak_bytes) == (line.makespan, line.peak_bytes)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["aligned", "halo", "fold", "whole", "other axis"]),
    st.lists(st.integers(0, 9), min_size=15, max_size=15),
)
def test_no_node_holds_more_than_the_bound_says(access, cuts):
    program = jittered(5, 100, access)
    placements = []
    for v in range(3):
        shares = cuts[5 * v : 5 * v + 5]
        counts = [4 * share for share in shares]
        counts[v] += 100 - sum(counts) if sum(counts) <= 100 else 0
        if sum(counts) != 100:
            counts = [100, 0, 0, 0, 0]
        placements.append(Placement(tuple(counts)))
    line = simulate_program(program, placements)
    bound = classes.ever_held(program, tuple(placements))
    assert all(most <= top + 1e-6 for most, top in zip(line.ever_held_bytes, bound, strict=True))
