"""The integer programs alone: what they propose is legal, and the best of all choices."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy.plan.dag import Ask, Edge, Network, Node, Placement, Program
from dnumpy.plan.events import simulate_program
from dnumpy.plan.rows import solve_rows
from dnumpy.plan.structure import make_tables, solve_structure
from dnumpy.plan.templates import caps, make_templates, plain_plans

NODES = 3


@st.composite
def chains(draw, accesses=("aligned", "halo", "whole", "other axis"), rows=60):
    """Phases that each read the one before."""
    asks = tuple(
        Ask(
            f"p{v}",
            rows,
            tuple(draw(st.floats(0.01, 0.1)) for _ in range(NODES)),
            (draw(st.sampled_from([0.0, 0.2])),) * NODES,
            bytes_per_row=8.0,
        )
        for v in range(draw(st.integers(1, 4)))
    )
    edges = tuple(
        Edge(v - 1, v, draw(st.sampled_from(accesses)), 8.0, 1) for v in range(1, len(asks))
    )
    net = Network.uniform(NODES, 0.01, draw(st.floats(50, 5000)))
    return Program(tuple(Node(f"w{n}") for n in range(NODES)), net, asks, edges)


OPTIONS = [Placement((60, 0, 0)), Placement((20, 20, 20)), Placement((0, 40, 20))]


def by_tables(program, tables, picked):
    """When a chain ends by the tables, and by the work of the busiest node."""
    end = sum(tables.phases[v][k] for v, k in enumerate(picked)) + sum(
        tables.edges[i][picked[e.producer]][picked[e.consumer]] for i, e in enumerate(program.edges)
    )
    loads = [
        sum(a.seconds(n, OPTIONS[k].rows[n]) for a, k in zip(program.asks, picked, strict=True))
        for n in range(NODES)
    ]
    return max(end, *loads)


@settings(deadline=None, max_examples=30)
@given(chains())
def test_model_w_picks_what_the_tables_say_is_best(program):
    choices = [OPTIONS] * len(program.asks)
    tables = make_tables(program, choices, inf)
    every = product(range(len(OPTIONS)), repeat=len(program.asks))
    best = min(by_tables(program, tables, picked) for picked in every)
    picked, _ = solve_structure(program, choices, tables, best, 10.0)
    assert picked is not None
    assert by_tables(program, tables, picked) <= best * 1.002


@settings(deadline=None, max_examples=30)
@given(chains(accesses=("aligned",)))
def test_model_r_finds_the_best_rows_of_phases_that_share_a_partition(program):
    known = (Placement((20, 20, 20)),) * len(program.asks)
    placements, _ = solve_rows(program, known, simulate_program(program, known).makespan, 10.0)
    assert placements is not None
    end = simulate_program(program, placements).makespan
    splits = [(a, b, 60 - a - b) for a in range(61) for b in range(61 - a)]

    def work(split):
        return max(sum(a.seconds(n, rows) for a in program.asks) for n, rows in enumerate(split))

    one_granule = sum(max(a.seconds_per_row) for a in program.asks)
    assert end <= min(map(work, splits)) * 1.002 + one_granule


@settings(deadline=None, max_examples=40)
@given(chains(), st.sampled_from(OPTIONS), st.sampled_from(OPTIONS))
def test_model_r_keeps_totals_and_structure(program, first, second):
    known = tuple(first if v % 2 else second for v in range(len(program.asks)))
    placements, _ = solve_rows(program, known, simulate_program(program, known).makespan, 10.0)
    assert placements is not None
    for ask, placement in zip(program.asks, placements, strict=True):
        placement.verify(ask.rows, ask.granule)
    for edge in program.edges:
        if edge.access in {"aligned", "halo"} and known[edge.producer] == known[edge.consumer]:
            assert placements[edge.producer] == placements[edge.consumer]


def test_rows_in_microseconds_are_exact_where_seconds_are_tiny():
    asks = (Ask("p", 4000, (1e-10, 2e-10, 4e-10), (0.0,) * NODES),)
    program = Program(
        tuple(Node(f"w{n}") for n in range(NODES)), Network.uniform(NODES, 0.0, 1e9), asks, ()
    )
    known = (Placement((4000, 0, 0)),)
    placements, _ = solve_rows(program, known, simulate_program(program, known).makespan, 5.0)
    assert placements is not None
    assert placements[0].rows == (2286, 1143, 571)


@settings(deadline=None, max_examples=60)
@given(chains(), st.lists(st.floats(1.0, 400.0), min_size=NODES, max_size=NODES), st.data())
def test_model_r_proposes_what_there_is_room_for_or_nothing(program, memory, data):
    places = tuple(Node(n.name, m) for n, m in zip(program.nodes, memory, strict=True))
    program = replace(program, nodes=places)  # what the known plan holds may be too much
    known = (data.draw(st.sampled_from(OPTIONS)),) * len(program.asks)
    seconds = simulate_program(program, known).makespan
    limit = data.draw(st.sampled_from([0.0005, 0.005, 5.0]))
    placements, _ = solve_rows(program, known, seconds, limit)
    for v, ask in enumerate(program.asks if placements is not None else ()):
        placements[v].verify(ask.rows, ask.granule)
        if all(e.access in {"aligned", "halo"} for e in program.edges):
            counts = zip(placements[v].rows, caps(program, v), strict=True)
            assert all(rows <= cap for rows, cap in counts)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.floats(1.0, 400.0), min_size=NODES, max_size=NODES), st.integers(1, 60))
def test_templates_are_made_whatever_the_memory(memory, granule):
    places = tuple(Node(f"w{n}", m) for n, m in enumerate(memory))
    ask = Ask("p", 60, (0.1,) * NODES, (0.0,) * NODES, granule, bytes_per_row=8.0)
    program = Program(places, Network.uniform(NODES, 0.0, 1e9), (ask,), ())
    holds = sum(caps(program, 0)) >= ask.granules
    (found,) = make_templates(program)
    assert bool(found) == holds
    assert bool(plain_plans(program)) == holds
