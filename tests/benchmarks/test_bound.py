"""Laws of the lower bound: no plan is faster, and one phase takes its rows over the rates."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.bound import Step, bound, bound_over_links, least_seconds, rate, rates, speed_ratio
from benchmarks.scaleout import WORKS, bound_of, profile, profiles
from benchmarks.workloads import WORKLOADS
from dnumpy.cost.work import Work
from dnumpy.plan import Ask, Edge, Network, Node, Placement, Program, simulate_program

positive = st.floats(1e-6, 1e6)


@given(st.floats(0.0, 1e12), st.lists(positive, min_size=1, max_size=8))
def test_the_bound_of_one_phase_is_its_rows_over_the_sum_of_the_rates(rows, speeds):
    assert least_seconds(rows, speeds) * sum(speeds) == pytest.approx(rows)


@given(st.lists(positive, min_size=1, max_size=6), positive)
def test_one_more_node_never_raises_the_bound(speeds, more):
    assert least_seconds(1.0, [*speeds, more]) <= least_seconds(1.0, speeds)


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_no_simulated_plan_is_faster_than_the_bound(seed):
    rng = random.Random(seed)
    nodes, phases, rows = rng.randint(1, 4), rng.randint(1, 4), rng.randint(1, 40)
    asks = tuple(
        Ask(f"p{v}", rows, tuple(rng.uniform(0.1, 3.0) for _ in range(nodes)), (0.0,) * nodes)
        for v in range(phases)
    )
    # the next phase waits for all rows of the one before, wherever they are
    edges = tuple(Edge(v - 1, v, "none") for v in range(1, phases))
    places = []
    for _ in asks:
        cuts = sorted(rng.randint(0, rows) for _ in range(nodes - 1))
        stops = [0, *cuts, rows]
        places.append(Placement(tuple(b - a for a, b in pairwise(stops))))
    network = Network.uniform(nodes, 1e-6, 1e9)
    program = Program(tuple(Node(f"w{n}") for n in range(nodes)), network, asks, edges)
    assert bound_of(program) <= simulate_program(program, places).makespan * (1 + 1e-9)


def test_equal_nodes_share_the_time_of_one():
    work = Work(1 << 20, bytes_read=8.0, loops=(("arith", 1.0),))
    node = profile()
    alone = 1 / rate(work, node, work.rows / 4)
    four = rates(work, [node] * 4)
    assert four == pytest.approx([1 / alone] * 4)
    assert bound([Step(work)], [node] * 4) == pytest.approx(work.rows * alone / 4)


def test_a_node_of_half_the_speed_has_half_the_rate_and_steps_add_up():
    work = Work(1 << 20, flops=1e5)  # no memory, whose rate depends on the share
    there = [profile(), profile().with_speed(0.5)]
    assert speed_ratio([Step(work)], there) == pytest.approx(2.0)
    once = bound([Step(work)], there)
    assert bound([Step(work, 3)], there) == pytest.approx(3 * once)
    assert bound([Step(work), Step(work)], there) == pytest.approx(2 * once)


def test_what_is_exchanged_takes_its_links_and_work_that_takes_longer_hides_it():
    work = Work(1 << 20, flops=1e5)
    two, fast = [profile(), profile()], float("inf")
    once = bound([Step(work)], two)
    assert bound_over_links([Step(work)], two, [1.0, 1.0]) == once  # nothing is exchanged
    assert bound_over_links([Step(work, exchanged=8.0)], two, [fast] * 2) == pytest.approx(once)
    quarter = work.rows * 8.0 / 4  # of all bytes crosses each way between equal halves
    link = quarter / once
    for slower in (0.5, 1.0, 2.0):
        took = bound_over_links([Step(work, exchanged=8.0)], two, [link / slower] * 2)
        assert took == pytest.approx(once * max(slower, 1.0), rel=1e-5)
    # a thin link is left alone: one node does all, and gets the half of the other in any case
    assert bound_over_links([Step(work, 3, 8.0)], two, [link / 1e3] * 2) >= 3 * once


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda one: one.name)
def test_every_program_has_work_that_scales_with_it(workload):
    there = profiles(4, jitter=0.0)
    small, large = (bound(workload.steps(*workload.fields(scale)), there) for scale in (0.25, 1.0))
    assert 0 < small < large
    for step in workload.steps(*workload.fields(1.0)):
        step.work.verify()


@pytest.mark.parametrize("work", WORKS.values(), ids=WORKS)
def test_simulated_work_is_plausible(work):
    work.verify()
