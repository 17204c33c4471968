"""Laws of plans over groups of equal nodes: legal for the nodes, better than an even split."""

from __future__ import annotations

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
