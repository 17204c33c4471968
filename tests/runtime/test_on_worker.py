"""Workers with a GPU, which here is one on paper: tasks run there, and results stay there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dnumpy.config import config
from dnumpy.runtime import on_worker
from dnumpy.runtime.dask_cluster import DaskCluster
from dnumpy.runtime.on_worker import OnWorker, Resident
from dnumpy.runtime.operands import Made
from tests.plan.test_rates import PROFILE
from tests.runtime import programs as p
from tests.runtime.paper_device import PaperDevice
from tests.runtime.test_cluster import PROGRAMS

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(120),
    pytest.mark.modeless("the nodes are given"),
]


def set_up(names: tuple[str, ...], dask_worker: Any) -> None:
    lacks = ("greater",)
    on_worker.set_up(PaperDevice(lacks=lacks) if dask_worker.name in names else None)


def used() -> tuple[int, int] | None:
    device: Any = on_worker.device()
    return None if device is None else (device.phases + device.applied, len(device.fetched))


@pytest.fixture(scope="module")
def nodes():
    cluster = distributed.LocalCluster(
        n_workers=3, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    client = distributed.Client(cluster, set_as_default=False)
    found = DaskCluster(client)
    found.joint = False
    found.refresh()  # sets the workers up
    workers = client.scheduler_info(n_workers=-1)["workers"]
    with_gpu = tuple(info["name"] for info in list(workers.values())[:2])
    client.run(set_up, with_gpu)
    for address, info in workers.items():
        kind = "gpu" if info["name"] in with_gpu else "cpu"
        found.profiles[address] = replace(PROFILE, name=address, kind=kind, bandwidth=((1.0, 1e3),))
    yield found
    client.close()
    cluster.close()


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(DaskCluster, "home_bytes", 0)


@pytest.mark.parametrize("program", PROGRAMS)
def test_workers_with_and_without_a_gpu_give_what_the_reference_gives(nodes, program):
    expected = p.meaning(program())
    roots = program()
    before = nodes.client.run(used)
    p.run(roots, nodes)
    for got, want in zip(p.values(roots), expected, strict=True):
        assert type(got) is np.ndarray
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    after = nodes.client.run(used)
    assert any(after[w] != before[w] for w in after if after[w] is not None)


def test_results_stay_on_the_device_and_leave_it_once_somebody_looks(nodes):
    x = p.call("negative", p.data(np.arange(4000.0)))
    p.run([x], nodes)
    before = nodes.client.run(used)
    y = p.call("multiply", x, 2.0)
    p.run([y], nodes)
    after = nodes.client.run(used)
    mine = [w for w in after if after[w] is not None]
    assert all(after[w][1] == before[w][1] for w in mine)  # nothing was fetched
    assert any(after[w][0] > before[w][0] for w in mine)
    np.testing.assert_array_equal(p.values([y])[0], np.arange(4000.0) * -2)


def test_what_leaves_a_worker_is_numpys_and_what_comes_again_was_copied_once():
    import pickle

    device = PaperDevice()
    runner = OnWorker(device)
    array = np.arange(1 << 18) * 1.0

    def make(given: Any) -> Made:
        assert type(given) is np.ndarray  # the host's own functions read NumPy's arrays
        return Made((given * 2,), (), 0.0, frozenset())

    assert type(runner(make, array).rows[0]) is np.ndarray
    runner(make, array)
    assert device.sent == [array.nbytes]
    there = Resident(device.put(array), device)
    back = pickle.loads(pickle.dumps(there))
    assert type(back) is np.ndarray
    np.testing.assert_array_equal(back, array)
    del array
    assert not runner._copies
