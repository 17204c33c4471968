"""Nodes of one kind of processor have the rates of the least disturbed."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from dnumpy.cost.alike import SINGLE, levelled
from tests.plan.test_rates import PROFILE

NODE = replace(PROFILE, processor="a processor", sort_ns=3.0, page_ns_per_byte=0.1)
factors = st.floats(1.0, 20.0)


def disturbed(name: str, by: float, speed: float) -> object:
    tables = tuple((low, tuple((c, ns * by) for c, ns in t)) for low, t in NODE.ns_per_element)
    singles = {each: getattr(NODE, each) * by for each in SINGLE}
    return replace(NODE, name=name, speed=speed, ns_per_element=tables, **singles)


@given(st.lists(st.tuples(factors, st.floats(0.1, 1.0)), min_size=1, max_size=5))
def test_nodes_that_are_alike_get_the_least_times_and_keep_their_speeds(
    found: list[tuple[float, float]],
) -> None:
    nodes = [disturbed(f"node-{k}", by, speed) for k, (by, speed) in enumerate(found)]
    least = min(by for by, _ in found)
    for before, after in zip(nodes, levelled(nodes), strict=True):
        assert (after.name, after.speed) == (before.name, before.speed)
        assert after.bandwidth == before.bandwidth
        assert after.sort_ns == NODE.sort_ns * least
        assert dict(after.ns_table("tiled"))["exp"] == dict(NODE.ns_table("tiled"))["exp"] * least


def test_nodes_of_other_processors_or_none_that_is_known_keep_their_own() -> None:
    nodes = [
        NODE,
        replace(disturbed("b", 2.0, 1.0), processor="another"),
        replace(disturbed("c", 3.0, 1.0), processor=""),
        replace(disturbed("d", 4.0, 1.0), processor=""),
    ]
    assert levelled(nodes) == nodes


def test_what_was_not_measured_stays_so_unless_a_node_alike_knows() -> None:
    quick = replace(NODE, name="quick", sort_ns=0.0)
    assert [node.sort_ns for node in levelled([quick, NODE])] == [3.0, 3.0]
    assert [node.sort_ns for node in levelled([quick, quick])] == [0.0, 0.0]
