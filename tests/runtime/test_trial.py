"""What a run takes besides its tasks is tried out on real workers."""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.cost.links import Link, Links
from dnumpy.runtime.trial import BESIDE, STEPS, circles_of, idle_legs, trial
from tests.runtime.test_cluster_distributed import Uneven, client_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    workers, client = client_of(3)
    yield Uneven(client)
    client.close()
    workers.close()


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_each_step_waits_for_those_beside_it(count: int) -> None:
    nodes = [f"node-{k}" for k in range(count)]
    for k, leg in enumerate(idle_legs([nodes], 3).nodes):
        opened = leg.sealed.opened()
        beside = {nodes[(k - 1) % count], nodes[k], nodes[(k + 1) % count]}
        for step, one in enumerate(opened.steps):
            wanted = {f"trial-{other}-{step - 1}" for other in beside} if step else set()
            assert {argument.key for argument in one.arguments} == wanted
        to = beside - {nodes[k]}
        assert all(set(others) == to for others in opened.sends.values())
        assert leg.coming == (f"trial-{nodes[k]}-0", f"trial-{nodes[k]}-2")


@given(st.integers(1, 40))
def test_every_node_is_tried_beside_those_about_as_fast(count: int) -> None:
    nodes = [f"node-{k}" for k in range(count)]
    tried = set()
    for circles in circles_of(nodes):
        flat = [node for circle in circles for node in circle]
        assert len(set(flat)) == len(flat)  # at the same time, each in one circle
        for circle in circles:
            first = nodes.index(circle[0])
            assert list(circle) == nodes[first : first + min(BESIDE, count)]
        tried |= set(flat)
    assert tried == set(nodes)
    assert len(circles_of(nodes)) <= BESIDE


def test_a_slow_node_makes_no_others_wait() -> None:
    class Played:
        def play(self, legs: Any, _run: str, _external: Any) -> dict[str, Any]:
            slow = {"d"}
            found = {}
            for leg in legs.nodes:
                own = leg.sealed.opened()
                circle = {leg.node, *(n for to in own.sends.values() for n in to)}
                hop = 0.5 if circle & slow else 0.25
                found |= {key: hop * int(key.rsplit("-", 1)[1]) for key in leg.coming}
            return found

    tried = trial(Played(), ["a", "b", "c", "d"])
    assert tried.hops == {"a": 0.25, "b": 0.25, "c": 0.25, "d": 0.5}
    links = Links((1.0, 2.0), tuple(Link(a, b, (0.1, 0.2)) for a, b in permutations("abcd", 2)))
    later = links.later_by(tried.hops)
    assert later.latency_seconds("a", "b") == pytest.approx(0.25)
    assert later.latency_seconds("a", "d") == later.latency_seconds("d", "c") == pytest.approx(0.5)


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.modeless("the same in every mode: workers are asked")
def test_a_first_look_finds_the_way_and_the_hop(cluster: Any) -> None:
    cluster.refresh()
    assert cluster._trial.trip > 0
    assert 0 < cluster.round_trip <= cluster._trial.trip
    found = trial(cluster, cluster.nodes())
    assert found.trip > 0
    assert set(found.hops) == set(cluster.nodes())
    assert all(0 <= hop < 60 for hop in found.hops.values())
    relayed, plain = cluster._relay_links, cluster.links
    assert len(relayed.links) == len(plain.links)
    for one, other in zip(relayed.links, plain.links, strict=True):
        hop = max(cluster._trial.hops[node] for node in (one.source, one.target))
        assert one.seconds[0] >= max(other.seconds[0], hop) * (1 - 1e-9)
    assert STEPS > 1
