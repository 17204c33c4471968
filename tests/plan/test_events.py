"""Laws of the event simulator: hand-computed runs, and bounds that no run is below."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy.plan.dag import Ask, Edge, Network, Node, Placement, Program
from dnumpy.plan.events import simulate_program
from dnumpy.plan.reshard import messages, moved_bytes, overlaps
from dnumpy.plan.templates import caps

LATENCY, RATE = 0.5, 4.0


def nodes(count, memory=float("inf")):
    return tuple(Node(f"w{n}", memory) for n in range(count))


def ask(name, rows, seconds, fixed=None, **more):
    return Ask(name, rows, tuple(seconds), tuple(fixed or [0.0] * len(seconds)), **more)


def program(asks, edges=(), latency=LATENCY, rate=RATE):
    count = len(asks[0].seconds_per_row)
    return Program(nodes(count), Network.uniform(count, latency, rate), tuple(asks), tuple(edges))


def two_phases(access, **more):
    asks = [
        ask("a", 4, [1.0, 1.0], bytes_per_row=2.0),
        ask("b", 4, [1.0, 1.0], bytes_per_row=2.0, work_bytes_per_row=1.0),
    ]
    return program(asks, [Edge(0, 1, access, 2.0, **more)])


def test_aligned_phases_run_through_without_a_transfer():
    run = simulate_program(two_phases("aligned"), [Placement((3, 1)), Placement((3, 1))])
    assert run.spans == (((0.0, 3.0), (0.0, 1.0)), ((3.0, 6.0), (1.0, 2.0)))
    assert run.makespan == 6.0
    assert run.sent_bytes == 0
    assert run.peak_bytes == (3 * 2 + 3 * 2 + 3, 2 + 2 + 1)


def test_a_reader_elsewhere_waits_for_latency_and_bytes():
    run = simulate_program(two_phases("aligned"), [Placement((4, 0)), Placement((0, 4))])
    assert run.spans[1] == (None, (4 + LATENCY + 8 / RATE, 8 + LATENCY + 8 / RATE))
    assert run.peak_bytes == (8.0, 8.0 + 8 + 4)


def test_only_rows_that_change_their_node_travel():
    run = simulate_program(two_phases("aligned"), [Placement((3, 1)), Placement((1, 3))])
    assert run.sent_bytes == 4.0
    # node 0 ends its part at 3, sends two rows, goes on with its own row; node 1 waits for them
    assert run.spans[1] == ((3.0, 4.0), (3 + LATENCY + 1.0, 3 + LATENCY + 4.0))


def test_a_halo_brings_its_rows_and_no_more():
    run = simulate_program(two_phases("halo", halo_rows=1), [Placement((2, 2)), Placement((2, 2))])
    assert run.sent_bytes == 2 * 2.0
    assert run.makespan == 2 + LATENCY + 2 / RATE + 2


def test_sends_of_one_node_follow_one_another():
    asks = [ask("a", 3, [0.0] * 3, pinned=Placement((3, 0, 0))), ask("b", 3, [1.0] * 3)]
    run = simulate_program(
        program(asks, [Edge(0, 1, "aligned", 4.0)]),
        [Placement((3, 0, 0)), Placement((1, 1, 1))],
    )
    took = LATENCY + 4 / RATE
    assert [span[0] for span in run.spans[1]] == [0.0, took, 2 * took]


def test_transfers_overlap_with_other_work():
    asks = [ask("a", 1, [1.0, 9.0]), ask("b", 1, [5.0, 5.0]), ask("c", 1, [1.0, 1.0])]
    built = program(asks, [Edge(0, 2, "aligned", 4.0)])
    run = simulate_program(built, [Placement((1, 0)), Placement((0, 1)), Placement((0, 1))])
    assert run.makespan == 6.0


def test_another_axis_exchanges_all_but_what_is_at_home():
    built = program(
        [ask("a", 4, [1.0, 1.0]), ask("b", 8, [1.0, 1.0])], [Edge(0, 1, "other axis", 16.0)]
    )
    # of each row an eighth per row of the reader
    assert moved_bytes(built, built.edges[0], Placement((3, 1)), Placement((2, 6))) == (
        3 * 16 * 6 / 8 + 1 * 16 * 2 / 8
    )


def test_partials_go_up_a_tree():
    count = 8
    asks = [ask("a", count, [1.0] * count), ask("b", 1, [1.0] * count)]
    built = program(asks, [Edge(0, 1, "fold", partial_bytes=2.0)])
    run = simulate_program(built, [Placement((1,) * count), Placement((1,) + (0,) * (count - 1))])
    assert run.makespan == 1 + 3 * (LATENCY + 2 / RATE) + 1
    assert run.sent_bytes == (count - 1) * 2.0


def test_many_readers_of_all_rows_are_reached_by_a_tree():
    count = 128
    asks = [ask("a", 1, [1.0] * count), ask("b", count, [1.0] * count)]
    built = program(asks, [Edge(0, 1, "whole", 4.0)])
    run = simulate_program(built, [Placement((1,) + (0,) * (count - 1)), Placement((1,) * count)])
    tree = 1 + 7 * (LATENCY + 4 / RATE) + 1
    assert run.makespan == pytest.approx(tree)
    assert run.sent_bytes == (count - 1) * 4.0


def test_rows_that_were_sent_are_there_for_the_next_reader():
    once = [
        ask("a", 4, [1.0, 1.0], bytes_per_row=2.0),
        ask("b", 4, [1.0, 1.0], bytes_per_row=2.0),
        ask("c", 4, [1.0, 1.0], bytes_per_row=2.0),
    ]
    edges = [Edge(0, 1, "aligned", 2.0), Edge(0, 2, "aligned", 2.0)]
    there = [Placement((4, 0)), Placement((0, 4)), Placement((0, 4))]
    run = simulate_program(program(once, edges), there)
    assert run.sent_bytes == 8.0
    arrived = 4 + LATENCY + 8 / RATE
    assert run.spans[1:] == ((None, (arrived, arrived + 4)), (None, (arrived + 4, arrived + 8)))
    assert run.peak_bytes[1] >= 8.0 + 8.0 + 8.0  # what arrived stays for the second reader
    elsewhere = [Placement((4, 0)), Placement((0, 4)), Placement((2, 2))]
    assert simulate_program(program(once, edges), elsewhere).sent_bytes == 8.0 + 4.0


def test_an_edge_of_mere_order_moves_nothing_but_waits_for_all():
    run = simulate_program(two_phases("none"), [Placement((3, 1)), Placement((0, 4))])
    assert run.sent_bytes == 0
    assert run.spans[1] == (None, (3.0, 7.0))


def test_copies_spare_the_transfer():
    built = two_phases("whole")
    run = simulate_program(built, [Placement((4, 4), replicated=True), Placement((2, 2))])
    assert run.sent_bytes == 0
    assert run.makespan == 6.0


def compositions(rows, count):
    return st.lists(st.integers(0, rows), min_size=count - 1, max_size=count - 1).map(
        lambda cuts: tuple(
            b - a for a, b in zip([0, *sorted(cuts)], [*sorted(cuts), rows], strict=True)
        )
    )


@st.composite
def placed_programs(draw):
    count, rows = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    seconds = st.tuples(*[st.floats(0.0, 5.0)] * count)
    asks = [
        Ask(f"p{v}", rows, draw(seconds), draw(seconds), bytes_per_row=draw(st.floats(0, 9)))
        for v in range(draw(st.integers(1, 5)))
    ]
    accesses = st.sampled_from(["aligned", "halo", "whole", "other axis", "fold", "none"])
    edges = [
        Edge(draw(st.integers(0, v - 1)), v, draw(accesses), draw(st.floats(0, 9)), 1, 3.0)
        for v in range(1, len(asks))
        for _ in range(draw(st.integers(0, 2)))
    ]
    net = Network.uniform(count, draw(st.floats(0, 2)), draw(st.floats(0.5, 9)))
    built = Program(nodes(count), net, tuple(asks), tuple(edges))
    built.verify()
    copies = Placement((rows,) * count, replicated=True)
    places = [
        draw(st.one_of(compositions(rows, count).map(Placement), st.just(copies))) for _ in asks
    ]
    return built, places


@settings(deadline=None)
@given(placed_programs())
def test_no_run_is_below_the_critical_path_or_the_work_of_a_node(case):
    built, places = case
    run = simulate_program(built, places)
    ends = []
    for v, asked in enumerate(built.asks):
        took = min(asked.seconds(n, places[v].rows[n]) for n in places[v].used)
        first = {
            n: max(
                (ends[e.producer][n] for e in built.into(v) if n in ends[e.producer]), default=0.0
            )
            for n in places[v].used
        }
        ends.append({n: first[n] + asked.seconds(n, places[v].rows[n]) for n in places[v].used})
        assert min(ends[v].values()) >= took
    assert run.makespan * (1 + 1e-9) >= max(max(e.values()) for e in ends)
    for n in range(len(built.nodes)):
        work = sum(a.seconds(n, p.rows[n]) for a, p in zip(built.asks, places, strict=True))
        assert run.makespan * (1 + 1e-9) >= work


@settings(deadline=None)
@given(placed_programs())
def test_every_phase_runs_once_on_its_nodes_one_at_a_time_and_after_what_it_reads(case):
    built, places = case
    run = simulate_program(built, places)
    for v, place in enumerate(places):
        assert [span is not None for span in run.spans[v]] == [rows > 0 for rows in place.rows]
    for n in range(len(built.nodes)):
        spans = [spans[n] for spans in run.spans if spans[n]]
        assert all(a[1] <= b[0] for a, b in pairwise(spans))
    for edge in built.edges:
        for message in messages(built, edge, places[edge.producer], places[edge.consumer]):
            made = run.spans[edge.producer][message.source]
            read = run.spans[edge.consumer][message.target]
            if made and read:
                assert made[1] <= read[0]


@settings(deadline=None)
@given(placed_programs())
def test_a_node_holds_at_least_its_largest_phase_and_at_most_all_it_ever_gets(case):
    built, places = case
    run = simulate_program(built, places)
    for n, peak in enumerate(run.peak_bytes):
        made = [a.bytes_per_row * p.rows[n] for a, p in zip(built.asks, places, strict=True)]
        got = sum(
            m.amount
            for e in built.edges
            for m in messages(built, e, places[e.producer], places[e.consumer])
            if m.target == n
        )
        assert max(made) <= peak * (1 + 1e-9) + 1e-9
        assert peak <= (sum(made) + got) * (1 + 1e-9) + 1e-9


@given(compositions(30, 4), compositions(30, 4))
def test_overlaps_of_two_partitions_are_all_rows_and_exact(before, after):
    held, needed = Placement(before).ranges(), Placement(after).ranges()
    found = list(overlaps(held, needed))
    assert sum(rows for _, _, rows in found) == 30
    for a, b, rows in found:
        assert rows == len(set(range(*held[a])) & set(range(*needed[b]))) > 0


@settings(deadline=None)
@given(placed_programs())
def test_what_is_at_home_does_not_travel_and_what_is_not_does(case):
    built, places = case
    for edge in built.edges:
        before, after = places[edge.producer], places[edge.consumer]
        sent = moved_bytes(built, edge, before, after)
        if edge.access in {"aligned", "whole"} and before == after and before.replicated:
            assert sent == 0
        if edge.access == "aligned" and not before.replicated and not after.replicated:
            held, needed = before.ranges(), after.ranges()
            kept = sum(
                len(set(range(*h)) & set(range(*w))) for h, w in zip(held, needed, strict=True)
            )
            total = built.asks[edge.producer].rows
            assert sent == pytest.approx((total - kept) * edge.bytes_per_row)


@given(st.data(), st.lists(st.floats(0.0, 900.0), min_size=3, max_size=3))
def test_no_cap_refuses_what_the_simulator_finds_to_fit(data, memory):
    lies = split(data)
    there = Ask("there", 60, (0.0,) * 3, (0.0,) * 3, pinned=lies)
    reads = Ask("reads", 60, (0.1,) * 3, (0.0,) * 3, bytes_per_row=data.draw(st.floats(0, 8)))
    places = tuple(Node(f"n{k}", m) for k, m in enumerate(memory))
    access = data.draw(st.sampled_from(["aligned", "halo"]))
    edges = (Edge(0, 1, access, 8.0, 1),)
    program = Program(places, Network.uniform(3, 0.01, 1e4), (there, reads), edges)
    placed = data.draw(st.sampled_from([lies, split(data)]))
    line = simulate_program(program, (lies, placed))
    if line.fits(program):
        assert all(n <= cap for n, cap in zip(placed.rows, caps(program, 1), strict=True))
    if placed == lies and access == "aligned":
        assert line.peak_bytes == tuple(n * reads.bytes_per_row for n in placed.rows)
    for n, rows in enumerate(placed.rows):
        if rows > lies.rows[n]:  # received, and put together
            assert line.peak_bytes[n] >= (2 * rows - lies.rows[n]) * 8.0 * 0.999999


def split(data):
    first = data.draw(st.integers(0, 60))
    second = data.draw(st.integers(0, 60 - first))
    return Placement((first, second, 60 - first - second))
