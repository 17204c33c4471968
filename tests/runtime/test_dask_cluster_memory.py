"""What the plan knows of the workers' memory follows what they hold."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.config import EAGER_BELOW, config
from dnumpy.cost.links import Links
from dnumpy.errors import PlanInfeasible
from dnumpy.runtime import dask_cluster as dask_clusters
from dnumpy.runtime import machine
from dnumpy.runtime.links import LARGE, MIDDLE, SIZES
from tests.runtime.programs import data

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.alone,
    pytest.mark.cluster,
    pytest.mark.modeless("the memory of workers is asked for, and nothing computed"),
]
HELD = 300_000_000
LIMIT = 1_000_000_000


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=LIMIT
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


def free_after_heartbeats(
    cluster: dask_clusters.DaskCluster, node: str, *, below: float
) -> list[float]:
    """Return what refreshes found until it was below the bound, or a minute had passed."""
    seen = []
    deadline = time.monotonic() + 60
    while (not seen or seen[-1] >= below) and time.monotonic() < deadline:
        time.sleep(0.2)
        cluster.refresh()
        seen.append(cluster.profiles[node].free_bytes)
    return seen


def test_what_a_worker_holds_is_no_longer_offered_to_plans(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_clusters, "MEMORY_SECONDS", 0.0)
    cluster = dask_clusters.DaskCluster(client)
    cluster.refresh()
    node, other = cluster.nodes()
    assert {link[:2] for link in cluster.links.links} == {(node, other), (other, node)}
    before = cluster.profiles[node].free_bytes
    elsewhere = cluster.profiles[other].free_bytes
    held = client.submit(np.ones, HELD // 8, workers=[node])
    seen = free_after_heartbeats(cluster, node, below=before - HELD * 0.9)
    assert 0 < seen[-1] < before - HELD * 0.9
    assert cluster.profiles[other].free_bytes > elsewhere - HELD / 2
    metrics = client.scheduler_info(n_workers=-1)["workers"][node]["metrics"]
    assert metrics[machine.FREE_METRIC] <= LIMIT
    del held


def test_a_calibrated_cluster_knows_more_of_nodes_and_links(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    measured = []
    monkeypatch.setattr(
        dask_clusters,
        "calibrate_cluster",
        lambda _, profiles: {a: replace(p, calibrated=True) for a, p in profiles.items()},
    )
    monkeypatch.setattr(
        dask_clusters,
        "measure_links",
        lambda _, there, **how: measured.append(how["largest"]) or Links(SIZES),
    )
    cluster = dask_clusters.DaskCluster(client)
    cluster.calibrate()
    assert all(cluster.profiles[node].calibrated for node in cluster.nodes())
    assert measured == [MIDDLE, LARGE]


def test_memory_is_asked_for_again_only_after_a_while(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_clusters, "MEMORY_SECONDS", 1e6)
    cluster = dask_clusters.DaskCluster(client)
    asked = []
    monkeypatch.setattr(
        dask_clusters, "with_free_memory", lambda _, profiles: asked.append(1) or profiles
    )
    cluster.refresh()
    cluster.refresh()
    assert asked == [1]


def test_an_operand_that_each_worker_holds_already_is_not_sent_again(client: Any) -> None:
    cluster = dask_clusters.DaskCluster(client)
    cluster.refresh()
    owner = data(np.ones(dask_clusters.EMBED_BYTES))
    assert cluster.mirrored(data(np.ones(3)))
    for node in cluster.nodes():
        assert not cluster.mirrored(owner)
        cluster.place(owner.value, node, owner, "whole")
    assert cluster.mirrored(owner)


def test_what_the_workers_cannot_hold_is_refused_before_they_are_hurt(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "eager_below", EAGER_BELOW)
    before = set(client.nthreads())
    with client.as_current():
        x = dnumpy.ones((4 * LIMIT // 8_000, 1_000)) * 2.0
        y = dnumpy.cumsum(x, axis=1)
        with pytest.raises(PlanInfeasible, match="Short by") as caught:
            np.asarray(y[:1])
        assert caught.value.options
        assert y._buf.expr.value is None
        del x, y
        z = dnumpy.cumsum(dnumpy.ones((20_000, 500)) * 2.0, axis=1)
        np.testing.assert_array_equal(z[-1], np.arange(1, 501) * 2.0)
    assert set(client.nthreads()) == before
