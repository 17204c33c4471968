"""Laws of options: each makes the program fit, and none is offered where it fits already."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy.errors import PlanInfeasible
from dnumpy.plan.dag import Ask, Edge, Network, Node, Placement, Program
from dnumpy.plan.joint import clear_program_cache, plan_program
from dnumpy.plan.refusal import crowded, refusal
from dnumpy.plan.relief import (
    halved,
    nearest,
    one_block,
    options,
    streamable,
    with_more,
    without,
)

SHORT = 0.03  # seconds of search
ROWS, ROW = 64, 8.0


def chain(memory, access="aligned", kept=True, pinned=None):
    asks = tuple(
        Ask(f"p{v}", ROWS, (0.01, 0.02), (0.0, 0.0), bytes_per_row=ROW, kept=kept,
            pinned=pinned if v == 0 else None)
        for v in range(3)
    )  # fmt: skip
    edges = (Edge(0, 1, access, ROW, 1), Edge(1, 2, access, ROW, 1))
    places = (Node("a", memory), Node("b", memory))
    return Program(places, Network.uniform(2, 0.001, 1e6), asks, edges)


def fits(program):
    clear_program_cache()
    plan_program(program, 0.5).verify(program)


@settings(deadline=None, max_examples=5)
@given(st.floats(ROW, ROWS * ROW * 1.4), st.sampled_from(["aligned", "halo", "whole"]))
def test_every_option_makes_the_program_fit(memory, access):
    program = chain(memory, access)
    found = options(program, SHORT, doubles=True)
    for option in found:
        assert option.predicted_seconds > 0
        if option.kind == "memory":
            more = dict(option.more_bytes)
            nodes = tuple(
                replace(n, memory_bytes=n.memory_bytes + more.get(n.name, 0.0))
                for n in program.nodes
            )
            assert not nearest(replace(program, nodes=nodes), SHORT).score[0]
            assert min(more.values()) > 0
        elif option.kind == "nodes":
            names = [node.name for node in program.nodes]
            fits(with_more(program, names.index(option.like), option.count))
        elif option.kind == "fewer":
            assert 1 <= len(option.let_go) < len(program.asks)
            fits(without(program, set(range(len(option.let_go)))))
        elif option.kind == "narrower":
            fits(halved(program))
        else:
            block = one_block(program, streamable(program), option.blocks)
            clear_program_cache()
            plan_program(block, 0.5).verify(block)
    assert [o.predicted_seconds for o in found] == sorted(o.predicted_seconds for o in found)


def test_a_program_that_fits_needs_nothing():
    assert options(chain(3 * ROWS * ROW), SHORT) == ()


def test_a_program_that_does_not_fit_is_offered_memory_nodes_and_blocks():
    program = chain(1.1 * ROWS * ROW)
    with pytest.raises(PlanInfeasible):
        fits(program)
    found = {option.kind: option for option in options(program, SHORT, doubles=True)}
    assert set(found) == {"memory", "nodes", "blocks", "fewer", "narrower"}
    short = sum(b for _, b in found["memory"].more_bytes)
    # three results are kept, and two nodes hold 1.1 each
    assert short == pytest.approx(0.8 * ROWS * ROW, rel=0.05)
    assert found["nodes"].count == 1
    assert found["blocks"].written_bytes == 3 * ROWS * ROW
    for option in found.values():
        assert f"{option.predicted_seconds:.3g} s" in str(option)


def test_a_refusal_names_phase_live_arrays_needs_offers_shortfall_and_options():
    program = chain(1.1 * ROWS * ROW)
    error = refusal(program, SHORT)
    text = str(error)
    assert isinstance(error, MemoryError)
    assert "phase p2 needs 1.5 kB, with p0 512 B, p1 512 B, p2 512 B alive" in text
    assert "the nodes offer 1.1 kB" in text
    assert re.search(r"a would hold \S+ k?B of 563 B; b would hold \S+ k?B of 563 B", text)
    assert re.search(r"Short by [0-9.]+ k?B", text)
    assert "memory" in {option.kind for option in error.options}
    for option in error.options:
        assert str(option) in text


def test_what_is_let_go_of_before_the_crowd_is_not_named():
    program = chain(1.1 * ROWS * ROW, kept=False)
    at = crowded(program)
    assert at.phase == "p1"
    assert [name for name, _ in at.live] == ["p0", "p1"]


def test_what_needs_all_rows_or_neighbours_is_not_streamed():
    assert streamable(chain(1.0)) == {0, 1, 2}
    assert streamable(chain(1.0, "whole")) == {2}
    assert streamable(chain(1.0, "halo")) == set()


def test_what_reads_a_fold_of_streamed_rows_is_not_streamed():
    program = chain(1.0)
    fold = Edge(1, 2, "fold", partial_bytes=ROW)
    apart = replace(program, edges=(program.edges[0], fold))
    assert streamable(apart) == {0, 1}
    together = replace(program, edges=(*program.edges, fold))  # a second pass over the rows
    assert streamable(together) == set()


def test_pinned_rows_stay_in_memory_while_blocks_pass():
    lies = Placement((ROWS, 0))
    block = one_block(chain(ROWS * ROW, pinned=lies), {0, 1, 2}, 4)
    assert block is not None
    assert block.asks[0].pinned == Placement((ROWS // 4, 0))
    assert block.nodes[0].memory_bytes == ROWS * ROW / 4
    assert one_block(chain(ROW, pinned=lies), {0, 1, 2}, 4) is None
