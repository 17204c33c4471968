"""Laws of long programs: pieces tile them, carry on what is read later, and lose little."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy.plan import pieces
from dnumpy.plan.dag import Ask, Edge, Network, Node, Placement, Program
from dnumpy.plan.events import simulate_program
from dnumpy.plan.joint import clear_program_cache, plan_program
from dnumpy.plan.pieces import PIECES_FROM_PHASES, cuts, piece_program, widths

SOME = 0.5  # seconds of search


@st.composite
def long_programs(draw, least=PIECES_FROM_PHASES, most=40, nodes=3):
    count = draw(st.integers(least, most))
    rng = random.Random(draw(st.integers(0, 2**32)))
    asks = tuple(
        Ask(
            f"p{v}",
            24,
            tuple(rng.uniform(0.1, 2) for _ in range(nodes)),
            (rng.choice((0.0, 0.1)),) * nodes,
            bytes_per_row=rng.choice((1.0, 8.0)),
            kept=rng.random() < 0.1,
            pinned=Placement((24, 0, 0)) if rng.random() < 0.1 else None,
        )
        for v in range(count)
    )
    accesses = ["aligned", "aligned", "halo", "whole", "other axis", "fold", "none"]
    edges = tuple(
        Edge(rng.randrange(max(0, v - 4), v), v, rng.choice(accesses), 8.0, 1, 8.0)
        for v in range(1, count)
    )
    memory = draw(st.sampled_from([float("inf"), 24 * 8.0 * count]))
    places = tuple(Node(f"w{n}", memory) for n in range(nodes))
    return Program(places, Network.uniform(nodes, 0.01, rng.uniform(5, 500)), asks, edges)


@given(long_programs(least=1, most=60))
def test_pieces_tile_the_program_in_order_and_are_short(program):
    found = cuts(program)
    assert found[0][0] == 0
    assert found[-1][1] == len(program.asks)
    assert all(one[1] == other[0] for one, other in pairwise(found))
    assert all(0 < stop - first <= pieces.MOST_PIECE for first, stop in found)


@given(long_programs(least=1, most=30))
def test_a_width_counts_what_is_read_across_it(program):
    for v, width in enumerate(widths(program)):
        crossing = {
            e.producer
            for e in program.edges
            if e.producer <= v < e.consumer and e.access != "none"
            if program.asks[e.producer].pinned is None
        }
        assert width == len(crossing)


def test_a_chain_of_loops_is_cut_where_everything_passes_through_one_phase():
    # in each turn of four the first is read by the others, the last by the next turn
    asks = tuple(Ask(f"p{v}", 8, (1.0, 1.0), (0.0, 0.0)) for v in range(24))
    edges = [Edge(v - 1, v, "aligned", 8.0) for v in range(1, 24)]
    edges += [Edge(v, v + 3, "aligned", 8.0) for v in range(0, 24, 4)]
    program = Program((Node("a"), Node("b")), Network.uniform(2, 0.0, 1.0), asks, tuple(edges))
    assert all(stop % 4 in {0, 1} for _, stop in cuts(program))


@settings(deadline=None, max_examples=30)
@given(long_programs(most=30))
def test_a_piece_takes_from_earlier_ones_all_that_it_reads_and_nothing_else_works(program):
    everything = Placement((8, 8, 8))
    placements = [ask.pinned or everything for ask in program.asks]
    for first, stop in cuts(program):
        piece, before = piece_program(program, first, stop, placements)
        piece.verify()
        assert len(piece.asks) == before + stop - first
        assert all(sum(ask.seconds_per_row) == 0 == sum(ask.fixed_seconds)
                   for ask in piece.asks[:before])  # fmt: skip
        reads = sum(first <= e.consumer < stop and e.access != "none" for e in program.edges)
        assert sum(e.access != "none" for e in piece.edges) == reads


@settings(deadline=None, max_examples=10)
@given(long_programs())
def test_a_long_program_gets_a_plan_that_fits_and_is_as_predicted(program):
    clear_program_cache()
    plan = plan_program(program, SOME)
    plan.verify(program)
    assert plan.predicted_seconds == simulate_program(program, plan.placements).makespan


@pytest.mark.parametrize("seed", range(3))
def test_pieces_are_as_good_as_the_whole_at_once(seed, monkeypatch):
    rng = random.Random(seed)
    asks = tuple(
        Ask(f"p{v}", 64, tuple(rng.uniform(0.01, 0.05) for _ in range(3)), (0.01,) * 3,
            bytes_per_row=8.0)
        for v in range(24)
    )  # fmt: skip
    accesses = ["aligned", "halo", "other axis"]
    edges = tuple(Edge(v - 1, v, rng.choice(accesses), 8.0, 1) for v in range(1, 24))
    places = tuple(Node(f"w{n}") for n in range(3))
    program = Program(places, Network.uniform(3, 0.001, 2000.0), asks, edges)
    clear_program_cache()
    in_pieces = plan_program(program, 2.0)
    monkeypatch.setattr(pieces, "PIECES_FROM_PHASES", 10**9)
    clear_program_cache()
    at_once = plan_program(program, 2.0)
    assert in_pieces.predicted_seconds <= at_once.predicted_seconds * 1.05


def test_equal_turns_of_a_loop_are_planned_once(monkeypatch):
    asks = tuple(
        Ask(f"p{v}", 64, (0.01, 0.03), (0.001, 0.001), bytes_per_row=8.0) for v in range(60)
    )
    edges = tuple(Edge(v - 1, v, "halo", 8.0, 1) for v in range(1, 60))
    program = Program((Node("a"), Node("b")), Network.uniform(2, 1e-3, 1e6), asks, edges)
    searched = []
    original = pieces.Pieces._search

    def counted(self, *args):
        searched.append(1)
        return original(self, *args)

    monkeypatch.setattr(pieces.Pieces, "_search", counted)
    clear_program_cache()
    plan_program(program, 10.0)
    assert 0 < len(searched) < pieces.CARRIED * len(cuts(program)) / 2


def test_a_pinned_loop_constant_does_not_widen_a_cut():
    asks = [Ask("a", 8, (0.0, 0.0), (0.0, 0.0), pinned=Placement((4, 4)))]
    asks += [Ask(f"p{v}", 8, (1.0, 1.0), (0.0, 0.0)) for v in range(20)]
    edges = [Edge(0, v, "whole", 8.0) for v in range(1, 21)]
    edges += [Edge(v, v + 1, "aligned", 8.0) for v in range(1, 20)]
    program = Program(
        (Node("a"), Node("b")), Network.uniform(2, 0.0, 1.0), tuple(asks), tuple(edges)
    )
    assert max(widths(program)) == 1
    free = replace(program, asks=(replace(asks[0], pinned=None), *asks[1:]))
    assert max(widths(free)) == 2
