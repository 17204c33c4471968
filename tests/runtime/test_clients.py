"""Clients of every kind: asynchronous ones, several at once, and clusters that adapt."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import engine
from dnumpy.config import config
from dnumpy.errors import ClusterWarning
from dnumpy.runtime import find

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(120),
    pytest.mark.modeless("only the default mode asks a client's workers"),
]
distributed = pytest.importorskip("distributed")
COUNT = 4_000_000


@pytest.fixture(autouse=True)
def default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "cluster", "auto")


def workers(count: int) -> Any:
    return distributed.LocalCluster(
        n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0"
    )


def program(seed: int) -> float:
    x = dnumpy.random.default_rng(seed).random(COUNT)
    return float((x * 2 + dnumpy.sqrt(x)).sum())


def expected(seed: int) -> float:
    x = np.random.default_rng(seed).random(COUNT)
    return float((x * 2 + np.sqrt(x)).sum())


def test_a_cluster_that_starts_workers_for_work_is_given_some() -> None:
    with workers(0) as cluster, distributed.Client(cluster):
        cluster.adapt(minimum=0, maximum=1)
        np.testing.assert_allclose(program(0), expected(0), rtol=1e-12)


def test_an_asynchronous_client_stays_unused_and_a_warning_says_so() -> None:
    async def main() -> float:
        async with (
            distributed.LocalCluster(
                n_workers=1, processes=False, asynchronous=True, dashboard_address=":0"
            ) as cluster,
            distributed.Client(cluster, asynchronous=True),
        ):
            return program(1)

    find._tell_asynchronous.cache_clear()
    with pytest.warns(ClusterWarning, match="asynchronous"):
        found = asyncio.run(main())
    np.testing.assert_allclose(found, expected(1), rtol=1e-12)


def test_each_thread_runs_on_the_workers_of_its_own_client() -> None:
    def run(cluster: Any, seed: int) -> tuple[float, set[str], set[str]]:
        with distributed.Client(cluster, set_as_default=False) as client, client.as_current():
            x = dnumpy.random.default_rng(seed).random(COUNT)
            y = x * 2 + dnumpy.sqrt(x)
            found = float(y.sum())
            lies = {part.node for part in getattr(y._buf.expr.value, "parts", ())}
            np.testing.assert_allclose(np.asarray(y).sum(), found, rtol=1e-9)
            return found, lies, set(client.nthreads())

    with workers(1) as one, workers(1) as other, ThreadPoolExecutor(2) as threads:
        for seed in range(3):
            runs = [threads.submit(run, one, seed), threads.submit(run, other, seed + 100)]
            for number, running in zip((seed, seed + 100), runs, strict=True):
                found, lies, known = running.result()
                np.testing.assert_allclose(found, expected(number), rtol=1e-12)
                assert lies <= known


@pytest.fixture
def lazy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(config, "eager_below", 0)
    yield
    engine.flush()


@pytest.mark.usefixtures("lazy")
def test_a_thread_computes_nothing_that_another_one_recorded() -> None:
    def record() -> Any:
        return dnumpy.arange(100.0) + 1

    with ThreadPoolExecutor(1) as threads:
        theirs = threads.submit(record).result()
        mine = record() * 3
        assert float(mine[1]) == 6
        assert theirs._buf.pending
        threads.submit(engine.flush).result()
        assert not theirs._buf.pending
    assert float(theirs[1]) == 2
