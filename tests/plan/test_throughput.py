"""Laws of throughput: the busiest part has least to do, and what is in flight fits."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy.errors import PlanInfeasible
from dnumpy.plan.dag import Ask, Edge, Network, Node, Placement, Program
from dnumpy.plan.events import simulate_program
from dnumpy.plan.joint import clear_program_cache, plan_program
from dnumpy.plan.reshard import messages

MUCH = 2.0


def rate_plan(program, budget=MUCH):
    clear_program_cache()
    plan = plan_program(program, budget, objective="throughput")
    plan.verify(program)
    return plan


def busiest(program, placements):
    """The most work of a node, a sending or a receiving port, added up by hand."""
    nodes = range(len(program.nodes))
    works = [sum(a.seconds(n, p.rows[n]) for a, p in zip(program.asks, placements, strict=True))
             for n in nodes]  # fmt: skip
    sends, receives = [0.0 for _ in nodes], [0.0 for _ in nodes]
    for edge in program.edges:
        before, after = placements[edge.producer], placements[edge.consumer]
        for message in messages(program, edge, before, after):
            took = program.network.seconds(message.source, message.target, message.amount)
            sends[message.source] += took
            receives[message.target] += took
    return max(works + sends + receives)


def splits(rows, count):
    if count == 1:
        return [(rows,)]
    return [(n, *rest) for n in range(rows + 1) for rest in splits(rows - n, count - 1)]


def best_rate(program):
    """The least of the busiest over all plans."""
    options = [[Placement(s) for s in splits(a.rows, len(program.nodes))] for a in program.asks]
    return min(busiest(program, places) for places in product(*options))


def stages(seconds, rate=10.0, rows=1, memory=inf):
    """A chain whose phases cannot be cut well: all their time is fixed."""
    nodes = len(seconds[0])
    asks = tuple(
        Ask(f"p{v}", rows, (0.0,) * nodes, tuple(line), bytes_per_row=1.0)
        for v, line in enumerate(seconds)
    )
    edges = tuple(Edge(v - 1, v, "aligned", 1.0) for v in range(1, len(asks)))
    places = tuple(Node(f"w{n}", memory) for n in range(nodes))
    return Program(places, Network.uniform(nodes, 0.1, rate), asks, edges)


def again_and_again(program, runs):
    """The program that many times, one after another."""
    count = len(program.asks)
    edges = tuple(
        replace(e, producer=e.producer + k * count, consumer=e.consumer + k * count)
        for k in range(runs)
        for e in program.edges
    )
    return replace(program, asks=program.asks * runs, edges=edges)


def test_a_pipeline_is_cut_for_its_rate_though_one_run_takes_longer():
    program = stages([(1.0, 1.0), (1.0, 1.0)])
    clear_program_cache()
    soon = plan_program(program, MUCH)
    often = rate_plan(program)
    assert soon.predicted_seconds == 2.0
    assert often.period_seconds == 1.0
    assert often.predicted_seconds > soon.predicted_seconds
    assert often.in_flight == 3


@given(st.integers(2, 12))
def test_a_pipeline_run_again_and_again_ends_once_per_period(runs):
    program = stages([(1.0, 1.0), (1.0, 1.0)])
    plan = rate_plan(program, 0.1)
    end = simulate_program(again_and_again(program, runs), plan.placements * runs).makespan
    assert end == pytest.approx(plan.predicted_seconds + (runs - 1) * plan.period_seconds)


@st.composite
def small_programs(draw):
    nodes = draw(st.integers(1, 2))
    count, rows = draw(st.integers(1, 3)), draw(st.integers(1, 4))
    asks = tuple(
        Ask(
            f"p{v}",
            rows,
            tuple(draw(st.floats(0.1, 3.0)) for _ in range(nodes)),
            (draw(st.sampled_from([0.0, 0.5])),) * nodes,
            bytes_per_row=1.0,
        )
        for v in range(count)
    )
    accesses = st.sampled_from(["aligned", "halo", "other axis", "fold"])
    edges = tuple(
        Edge(draw(st.integers(0, v - 1)), v, draw(accesses), 1.0, 1, 1.0) for v in range(1, count)
    )
    net = Network.uniform(nodes, draw(st.floats(0, 0.5)), draw(st.floats(0.5, 50)))
    return Program(tuple(Node(f"w{n}") for n in range(nodes)), net, asks, edges)


@settings(deadline=None, max_examples=40)
@given(small_programs())
def test_the_period_is_that_of_the_busiest_part_and_no_run_is_below_it(program):
    plan = rate_plan(program, 0.2)
    assert plan.period_seconds == pytest.approx(busiest(program, plan.placements))
    runs = 4
    end = simulate_program(again_and_again(program, runs), plan.placements * runs).makespan
    assert end >= runs * plan.period_seconds * (1 - 1e-9)


def test_most_rates_of_small_programs_are_the_best_of_all():
    rng = random.Random(7)
    gaps = []
    for _ in range(30):
        lines = [[rng.uniform(0.2, 2) for _ in range(2)] for _ in range(3)]
        asks = tuple(Ask(f"p{v}", 4, tuple(line), (0.1, 0.1)) for v, line in enumerate(lines))
        access = ["aligned", "halo", "other axis"]
        edges = tuple(Edge(v - 1, v, rng.choice(access), 1.0, 1) for v in (1, 2))
        net = Network.uniform(2, 0.05, rng.uniform(1, 20))
        program = Program((Node("a"), Node("b")), net, asks, edges)
        gaps.append(rate_plan(program, 3.0).period_seconds / best_rate(program) - 1)
    assert sorted(gaps)[27] < 0.02
    assert min(gaps) > -1e-9


@given(st.floats(1.0, 12.0))
def test_all_runs_in_flight_fit_in_the_memory_together(memory):
    program = stages([(1.0, 1.0), (1.0, 1.0), (1.0, 1.0)], memory=memory)
    try:
        plan = rate_plan(program, 0.1)
    except PlanInfeasible:
        assert memory < 3
        return
    alone = simulate_program(program, plan.placements).peak_bytes
    assert plan.peak_bytes == tuple(plan.in_flight * peak for peak in alone)
    assert max(plan.peak_bytes) <= memory * (1 + 1e-9)


def test_the_two_objectives_are_different_questions():
    program = stages([(1.0, 1.0), (1.0, 1.0)])
    clear_program_cache()
    assert plan_program(program).period_seconds == 0.0
    assert plan_program(program, objective="throughput").period_seconds == 1.0
    with pytest.raises(ValueError, match="objective"):
        plan_program(program, objective="speed")
