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
from dnumpy.errors import ClusterWarning, WorkerLost
from dnumpy.runtime import find
from dnumpy.runtime.chunked import Chunked

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

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


LOOKS: dict[str, Any] = {
    "array": np.asarray,
    "sum": lambda x: float(x.sum()),
    "item": lambda x: x[7],
    "rows": lambda x: np.asarray(x[10:20]),
    "mask": lambda x: np.asarray(x[x > 2.5]),
    "text": repr,
    "list": lambda x: x[:5].tolist(),
    "statement": lambda x: np.asarray((x * 2 + 1)[::1000]),
    "sorted": lambda x: np.asarray(np.sort(x))[:9],
    "equal": lambda x: bool((x == x).all()),
    "iteration": lambda x: [value for value, _ in zip(x, range(3), strict=False)],
}


def in_place(x: Any) -> Any:
    x[3] = 8.0
    x += 1
    return np.asarray(x)


def programs_of(np_: Any, given: np.ndarray) -> dict[str, Any]:
    """Arrays that lie on workers, by what they are made of."""
    drawn = np_.random.default_rng(3).random(COUNT)
    sent = np_.asarray(given) * 2.0
    return {
        "drawn": drawn * 2 + 1,
        "sent": np_.sqrt(sent) + drawn,
        "sorted": np_.sort(drawn),
        "shifted": drawn[1:] + drawn[:-1],
    }


def test_what_lay_on_workers_of_a_closed_client_is_computed_again_here() -> None:
    given = np.random.default_rng(0).random(COUNT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dnumpy.runtime.sending.pays", lambda *_, **__: True)
        with workers(2) as cluster, distributed.Client(cluster):
            lying = programs_of(dnumpy, given)
            looked = {name: drawn_of(dnumpy, k) for k, name in enumerate([*LOOKS, "in place"])}
            for name, x in (*lying.items(), *looked.items()):
                float(x.sum())
                assert type(x._buf.expr.value) is Chunked, name
    for name, x in programs_of(np, given).items():
        np.testing.assert_allclose(np.asarray(lying[name]), x, err_msg=name)
    for k, (name, look) in enumerate(LOOKS.items()):
        found, wanted = look(looked[name]), look(drawn_of(np, k))
        if isinstance(found, str):
            assert found == wanted.replace(f", shape=({COUNT},)", "") or found == wanted
        else:
            np.testing.assert_allclose(found, wanted, err_msg=name)
    np.testing.assert_allclose(in_place(looked["in place"]), in_place(drawn_of(np, len(LOOKS))))


def drawn_of(np_: Any, seed: int) -> Any:
    return np_.random.default_rng(seed).random(COUNT) * 2 + 1


def test_what_is_not_known_to_be_made_of_anything_any_more_is_told_to_be_lost(
    tmp_path: Path,
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dnumpy.runtime.sending.pays", lambda *_, **__: True)
        patch.setattr("dnumpy.runtime.chunked.LONGEST_LINEAGE", 2)
        with workers(1) as cluster, distributed.Client(cluster):
            x = dnumpy.random.default_rng(3).random(COUNT)
            for _ in range(5):
                x = dnumpy.sort(x * 2)
                float(x[0])
            assert type(x._buf.expr.value) is Chunked
    with pytest.raises(WorkerLost, match="no longer known"):
        float(x.sum())
    with pytest.raises(WorkerLost, match="no longer known"):
        dnumpy.save(tmp_path / "x.npy", x)


def test_a_new_client_goes_on_with_what_lay_on_workers_of_an_old_one() -> None:
    with workers(1) as cluster:
        with distributed.Client(cluster):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("dnumpy.runtime.sending.pays", lambda *_, **__: True)
                x = dnumpy.random.default_rng(1).random(COUNT) * 3
                float(x.sum())
            assert type(x._buf.expr.value) is Chunked
        with distributed.Client(cluster):
            expected_values = np.random.default_rng(1).random(COUNT) * 3
            np.testing.assert_allclose(float((x + 1).sum()), (expected_values + 1).sum())
            np.testing.assert_array_equal(np.asarray(x), expected_values)
