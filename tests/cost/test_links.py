"""Laws of what messages between nodes take."""

from __future__ import annotations

from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.cost.links import Link, Links

SIZES = (1e3, 1e6, 64e6)
NODES = "abc"


@st.composite
def all_links(draw: st.DrawFn) -> Links:
    """Draw links between some pairs of three nodes, with growing times."""
    found = []
    for source, target in draw(st.sets(st.sampled_from(list(permutations(NODES, 2))), min_size=1)):
        times = draw(st.lists(st.floats(1e-6, 10.0), min_size=1, max_size=3))
        found.append(Link(source, target, tuple(sorted(times))))
    links = Links(SIZES, tuple(found), draw(st.floats(0, 1e10)))
    links.verify()
    return links


@given(all_links())
def test_links_are_the_same_after_json(links: Links) -> None:
    assert Links.from_json(links.to_json()) == links


@given(all_links(), st.floats(1, 1e12), st.floats(1, 1e12))
def test_more_bytes_never_take_less_time(links: Links, a: float, b: float) -> None:
    less, more = sorted((a, b))
    for source, target in permutations(NODES, 2):
        slow = links.seconds(source, target, more)
        assert 0 < links.seconds(source, target, less) <= slow * (1 + 1e-9)


@given(all_links())
def test_measured_sizes_take_what_was_measured(links: Links) -> None:
    for link in links.links:
        for size, took in zip(SIZES, link.seconds, strict=False):
            assert links.seconds(link.source, link.target, size) == pytest.approx(took)
        assert links.latency_seconds(link.source, link.target) == link.seconds[0]


@given(all_links())
def test_a_pair_that_was_not_measured_is_no_faster_than_what_its_nodes_showed(links: Links) -> None:
    for source, target in permutations(NODES, 2):
        near = [k for k in links.links if k.source == source or k.target == target]
        times = links.between(source, target).seconds
        assert times in {k.seconds for k in links.links}
        if (source, target) not in {(k.source, k.target) for k in links.links}:
            assert all(times >= k.seconds for k in near)


def test_what_stays_on_its_node_takes_no_time() -> None:
    links = Links(SIZES)
    assert links.seconds("a", "a", 1e9) == links.latency_seconds("a", "a") == 0.0
    with pytest.raises(KeyError):
        links.seconds("a", "b", 1.0)


def test_a_newer_measurement_takes_the_place_of_the_older_one() -> None:
    old = Links(SIZES, (Link("a", "b", (1.0,)), Link("b", "a", (1.0,))), 1.0)
    new = Links(SIZES, (Link("a", "b", (0.5, 0.6)),), 2.0)
    both = old.merged(new)
    assert both.between("a", "b").seconds == (0.5, 0.6)
    assert both.between("b", "a").seconds == (1.0,)
    assert both.measured_at == 2.0


@pytest.mark.parametrize(
    "links",
    [
        Links(()),
        Links((2.0, 1.0)),
        Links(SIZES, (Link("a", "a", (1.0,)),)),
        Links(SIZES, (Link("a", "b", (1.0,)), Link("a", "b", (2.0,)))),
        Links(SIZES, (Link("a", "b", ()),)),
        Links(SIZES, (Link("a", "b", (0.0,)),)),
        Links(SIZES, (Link("a", "b", (2.0, 1.0)),)),
        Links(SIZES, (Link("a", "b", (1.0, float("inf"))),)),
        Links(SIZES, (Link("a", "b", (1.0, 2.0, 3.0, 4.0)),)),
    ],
)
def test_impossible_links_are_refused(links: Links) -> None:
    with pytest.raises(ValueError, match="link"):
        links.verify()


@given(all_links(), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_links_that_are_later_are_as_fast_for_what_is_large(
    links: Links, latency: float, other: float
) -> None:
    nodes = sorted({node for link in links.links for node in (link.source, link.target)})
    hops = {node: other if k % 2 else latency for k, node in enumerate(nodes)}
    later = links.later_by(hops)
    later.verify()
    for link in links.links:
        new = later.between(link.source, link.target).seconds
        slower = max(hops[link.source], hops[link.target])
        assert new[0] == pytest.approx(max(link.seconds[0], slower))
        steps = [b - a for a, b in pairwise(link.seconds)]
        assert [b - a for a, b in pairwise(new)] == pytest.approx(steps, abs=1e-9)
