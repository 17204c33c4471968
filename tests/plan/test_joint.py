"""Laws of plans of whole programs: legal, in memory, and as good as the best of all plans."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import product
from math import isfinite
from threading import Event

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy.errors import PlanInfeasible
from dnumpy.plan.dag import Ask, Edge, Network, Node, Placement, Program
from dnumpy.plan.events import simulate_program
from dnumpy.plan.joint import clear_program_cache, default_budget, plan_program
from dnumpy.plan.templates import fill, make_templates
from dnumpy.plan.watchdog import Solve

ENDLESS = st.just(float("inf"))
MUCH = 2.0  # seconds of search: these programs need far less


def splits(rows, count):
    if count == 1:
        return [(rows,)]
    return [(n, *rest) for n in range(rows + 1) for rest in splits(rows - n, count - 1)]


def placements_of(asked, count):
    if asked.pinned:
        return [asked.pinned]
    granules = [tuple(n * asked.granule for n in s) for s in splits(asked.granules, count)]
    return [Placement(rows) for rows in granules]


def least_end(program):
    """The best of all plans that fit, by trying them."""
    count = len(program.nodes)
    every = product(*(placements_of(asked, count) for asked in program.asks))
    runs = (simulate_program(program, places) for places in every)
    return min((run.makespan for run in runs if run.fits(program)), default=float("inf"))


@st.composite
def programs(draw, most_nodes=2, most_rows=4, most_asks=3, memory=ENDLESS):
    count, rows = draw(st.integers(1, most_nodes)), draw(st.integers(1, most_rows))
    asks = [
        Ask(
            f"p{v}",
            rows,
            tuple(draw(st.floats(0.1, 5.0)) for _ in range(count)),
            tuple(draw(st.sampled_from([0.0, 0.1, 1.0])) for _ in range(count)),
            bytes_per_row=draw(st.floats(0, 9)),
        )
        for v in range(draw(st.integers(1, most_asks)))
    ]
    accesses = st.sampled_from(["aligned", "aligned", "halo", "whole", "other axis", "fold"])
    edges = []
    for v in range(1, len(asks)):
        producer = draw(st.integers(0, v - 1))
        edges.append(Edge(producer, v, draw(accesses), asks[producer].bytes_per_row, 1, 3.0))
    net = Network.uniform(count, draw(st.floats(0, 0.5)), draw(st.floats(0.5, 50)))
    places = tuple(Node(f"w{n}", draw(memory)) for n in range(count))
    return Program(places, net, tuple(asks), tuple(edges))


def planned(program):
    clear_program_cache()
    plan = plan_program(program, MUCH)
    plan.verify(program)
    return plan


@settings(deadline=None, max_examples=40)
@given(programs())
def test_a_plan_of_a_small_program_is_near_the_best_of_all(program):
    assert planned(program).predicted_seconds <= least_end(program) * 1.25 + 1e-9


def test_most_plans_of_small_programs_are_the_best_of_all():
    rng = random.Random(5)
    gaps = []
    for _ in range(30):
        asks = tuple(
            Ask(f"p{v}", 4, (rng.uniform(0.1, 2), rng.uniform(0.1, 2)), (0.1, 0.1))
            for v in range(3)
        )
        access = ["aligned", "halo", "whole"]
        edges = tuple(Edge(v - 1, v, rng.choice(access), 4.0, 1) for v in (1, 2))
        net = Network.uniform(2, 0.05, rng.uniform(2, 50))
        program = Program((Node("a"), Node("b")), net, asks, edges)
        gaps.append(planned(program).predicted_seconds / least_end(program) - 1)
    assert sorted(gaps)[27] < 0.02


@settings(deadline=None, max_examples=40)
@given(programs(memory=st.floats(4, 120)))
def test_a_plan_never_holds_more_than_a_node_has_and_refusal_means_nothing_fits(program):
    if least_end(program) == float("inf"):
        with pytest.raises(PlanInfeasible, match="Short by"):
            planned(program)
        return
    plan = planned(program)
    for peak, node in zip(plan.peak_bytes, program.nodes, strict=True):
        assert peak <= node.memory_bytes * (1 + 1e-9)


@settings(deadline=None, max_examples=25)
@given(programs(most_nodes=2, most_rows=3))
def test_one_more_node_never_makes_the_best_plan_worse(program):
    asks = tuple(
        Ask(a.name, a.rows, (*a.seconds_per_row, 1.0), (*a.fixed_seconds, 0.1))
        for a in program.asks
    )
    net = Network.uniform(
        len(program.nodes) + 1,
        program.network.latency_seconds[0][0],
        program.network.bytes_per_second[0][0],
    )
    wider = Program((*program.nodes, Node("more")), net, asks, program.edges)
    assert planned(wider).predicted_seconds <= planned(program).predicted_seconds * (1 + 1e-6)


@given(
    st.lists(st.floats(0.01, 10.0), min_size=1, max_size=6),
    st.integers(0, 200),
    st.floats(0.0, 3.0),
)
def test_a_faster_node_never_gets_less(seconds, granules, fixed):
    counts = fill(seconds, [fixed] * len(seconds), [granules] * len(seconds), granules)
    for i, j in product(range(len(seconds)), repeat=2):
        if seconds[i] < seconds[j]:
            assert counts[i] >= counts[j]


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 0.3, 1.0, 4.0]), st.floats(0, 3), st.integers(0, 4)),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 8),
)
def test_filling_is_the_best_of_all_splits_in_the_room(rates, granules):
    seconds, fixed, room = zip(*rates, strict=True)
    counts = fill(seconds, fixed, room, granules)

    def end(split):
        used = zip(split, seconds, fixed, strict=True)
        return max(f + n * s for n, s, f in used if n)

    legal = [
        s
        for s in splits(granules, len(rates))
        if all(n <= cap for n, cap in zip(s, room, strict=True))
    ]
    if not legal:
        assert counts is None
    else:
        assert tuple(counts) in legal
        assert end(counts) <= min(map(end, legal)) * (1 + 1e-9)


@settings(deadline=None, max_examples=40)
@given(programs(most_nodes=4, most_rows=50, memory=st.floats(10, 400)))
def test_every_template_places_all_rows_within_what_each_phase_needs(program):
    for asked, options in zip(program.asks, make_templates(program), strict=True):
        for placement in options:
            placement.verify(asked.rows, asked.granule)
            for rows, node in zip(placement.rows, program.nodes, strict=True):
                assert rows * asked.bytes_per_row <= node.memory_bytes * (1 + 1e-9)


def chain(rows=64, access="aligned", memory=float("inf"), rate=100.0, **more):
    asks = tuple(
        Ask(f"p{v}", rows, (0.01, 0.02), (0.0, 0.0), bytes_per_row=8.0, **more) for v in range(3)
    )
    edges = (Edge(0, 1, access, 8.0), Edge(1, 2, access, 8.0))
    return Program(
        (Node("a", memory), Node("b", memory)), Network.uniform(2, 0.001, rate), asks, edges
    )


def test_aligned_phases_stay_where_they_are():
    plan = planned(chain())
    assert len(set(plan.placements)) == 1
    assert plan.placements[0].rows[0] > plan.placements[0].rows[1] > 0


def test_slow_links_keep_everything_on_one_node():
    plan = planned(chain(access="whole", rate=1.0))
    assert all(len(placement.used) == 1 or placement.replicated for placement in plan.placements)


def test_a_pinned_phase_stays_where_its_rows_lie():
    program = chain()
    lies = Placement((10, 54))
    first = Ask("in", 64, (0.0, 0.0), (0.0, 0.0), bytes_per_row=8.0, pinned=lies)
    pinned = Program(program.nodes, program.network, (first, *program.asks[1:]), program.edges)
    assert planned(pinned).placements[0] == lies


def test_live_arrays_of_several_phases_count_together():
    fits_alone = chain(memory=64 * 8 * 2.0)
    kept = tuple(
        Ask(a.name, a.rows, a.seconds_per_row, a.fixed_seconds, bytes_per_row=8.0, kept=True)
        for a in fits_alone.asks
    )
    program = Program(fits_alone.nodes, fits_alone.network, kept, fits_alone.edges)
    assert all(peak <= 64 * 16 for peak in planned(program).peak_bytes)


def test_a_known_program_is_answered_from_the_cache_whatever_its_names():
    clear_program_cache()
    program = chain()
    first = plan_program(program)
    renamed = Program((Node("x"), Node("y")), program.network, program.asks, program.edges)
    assert plan_program(renamed) is first
    assert plan_program(chain(rows=65)) is not first


def test_the_budget_is_a_twentieth_of_the_prediction_and_nothing_for_short_programs():
    assert default_budget(0.019) == 0.0
    assert default_budget(1.0) == pytest.approx(0.05)
    assert default_budget(1e6) == 2.0


@st.composite
def mixed_programs(draw):
    """Programs with everything at once: pins, copies, halos, folds, another axis, order alone."""
    nodes, rows = draw(st.integers(2, 4)), draw(st.integers(1, 1000))
    table = st.tuples(*[st.floats(1e-7, 1e-3)] * nodes)
    starts = st.tuples(*[st.sampled_from([0.0, 1e-4, float("inf")])] * (nodes - 1))
    pins = [
        None,
        None,
        Placement((rows,) + (0,) * (nodes - 1)),
        Placement((rows,) * nodes, replicated=True),
        Placement((rows - rows // 3,) + (0,) * (nodes - 2) + (rows // 3,)),
    ]
    count = draw(st.integers(1, 4))
    asks = []
    for v in range(count):
        pin = draw(st.sampled_from(pins))
        fixed = (0.0,) * nodes if pin else (0.0, *draw(starts))
        granule = draw(st.sampled_from([1, 64]))
        asks.append(
            Ask(f"p{v}", rows, draw(table), fixed, granule, 8.0, 1.0, 4.0, pin, draw(st.booleans()))
        )
    accesses = st.sampled_from(["aligned", "halo", "whole", "other axis", "fold", "none"])
    edges = tuple(
        Edge(draw(st.integers(0, v - 1)), v, draw(accesses), 8.0, 2, 8.0) for v in range(1, count)
    )
    places = tuple(Node(f"w{n}", draw(st.sampled_from([float("inf"), 1e6]))) for n in range(nodes))
    return Program(places, Network.uniform(nodes, 1e-4, 1e8), tuple(asks), edges)


@settings(deadline=None, max_examples=60)
@given(mixed_programs(), st.sampled_from(["latency", "throughput"]))
def test_any_program_gets_a_plan_that_holds_and_ends(program, objective):
    clear_program_cache()
    plan = plan_program(program, objective=objective)
    plan.verify(program)
    spans = [span for line in plan.spans for span in line if span is not None]
    assert all(map(isfinite, (plan.predicted_seconds, plan.period_seconds, *plan.peak_bytes)))
    assert all(isfinite(t) for span in spans for t in span)


def test_a_short_program_needs_no_solver():
    code = (
        "import sys\n"
        "from dnumpy.plan import Ask, Edge, Network, Node, Program, plan_program\n"
        "asks = tuple(Ask(f'p{v}', 1000, (1e-6, 2e-6), (1e-4, 1e-4)) for v in range(3))\n"
        "edges = (Edge(0, 1, 'aligned', 8.0), Edge(1, 2, 'halo', 8.0, 1))\n"
        "nodes = (Node('a'), Node('b'))\n"
        "plan_program(Program(nodes, Network.uniform(2, 1e-4, 1e9), asks, edges))\n"
        "print(sorted({'pulp', 'highspy'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_a_solver_that_never_answers_does_not_keep_a_plan_waiting(monkeypatch):
    end, asked = Event(), []

    def endless(solve, prob, gap):
        asked.append(gap)
        end.wait()

    monkeypatch.setattr(Solve, "solve", endless)
    asks = tuple(Ask(f"p{v}", 64, (0.01,) * 4, (0.001,) * 4) for v in range(6))
    edges = tuple(Edge(v - 1, v, "halo", 8.0, 1) for v in range(1, 6))
    places = tuple(Node(f"w{n}") for n in range(4))
    program = Program(places, Network.uniform(4, 0.001, 100.0), asks, edges)
    plan = planned(program)
    assert len(asked) == 1  # while it runs, nothing else is solved
    plan.verify(program)
    end.set()
