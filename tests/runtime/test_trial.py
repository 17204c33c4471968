"""What a run takes besides its tasks is tried out on real workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dnumpy.runtime.trial import STEPS, idle_legs, trial
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
    for k, leg in enumerate(idle_legs(nodes, 3).nodes):
        opened = leg.sealed.opened()
        beside = {(k - 1) % count, k, (k + 1) % count}
        for step, one in enumerate(opened.steps):
            wanted = {f"trial-{other}-{step - 1}" for other in beside} if step else set()
            assert {argument.key for argument in one.arguments} == wanted
        to = {nodes[other] for other in beside - {k}}
        assert all(set(others) == to for others in opened.sends.values())
        assert leg.coming == (f"trial-{k}-2",)


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.modeless("the same in every mode: workers are asked")
def test_a_first_look_finds_the_way_and_the_hop(cluster: Any) -> None:
    cluster.refresh()
    assert cluster._trial.trip > 0
    assert 0 < cluster.round_trip <= cluster._trial.trip
    found = trial(cluster, cluster.nodes())
    assert found.trip > 0
    assert found.hop >= 0
    relayed, plain = cluster._relay_links, cluster.links
    assert len(relayed.links) == len(plain.links)
    for one, other in zip(relayed.links, plain.links, strict=True):
        assert one.seconds[0] >= max(other.seconds[0], cluster._trial.hop) * (1 - 1e-9)
    assert STEPS > 1
