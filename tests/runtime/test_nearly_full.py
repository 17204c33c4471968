"""Workers that are nearly full compute with what they hold: what stays where it lies needs no room.

Peaks are measured: where rows move, what is read is put together, and that has to fit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.config import EAGER_BELOW, config

if TYPE_CHECKING:
    from collections.abc import Iterator

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.alone,
    pytest.mark.cluster,
    pytest.mark.timeout(120),
    pytest.mark.modeless("the memory of workers is filled, not tiles of five rows"),
]
LIMIT = 700_000_000
FULL = 0.7  # of each worker's limit, with what its process holds besides
BESIDES = 190_000_000
WIDTH = 1_000
HERE = {"distributed.worker.memory." + k: False for k in ("target", "spill", "pause", "terminate")}


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    import dask

    with (
        dask.config.set(HERE),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", memory_limit=LIMIT
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def held(client: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return an array that fills both workers."""
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "eager_below", EAGER_BELOW)
    rows = int((FULL * LIMIT - BESIDES) * 2 / (8 * WIDTH))
    x = dnumpy.ones((rows, WIDTH)) * dnumpy.arange(WIDTH)
    assert float(x[0, 3]) == 3.0
    return x


def test_what_stays_where_it_lies_is_read_although_it_would_not_fit_twice(
    client: Any, held: Any
) -> None:
    before = set(client.nthreads())
    sums = (held * 2.0).sum(axis=1)
    assert np.asarray(sums[:2]).tolist() == [WIDTH * (WIDTH - 1.0)] * 2
    assert float(held.max()) == WIDTH - 1.0
    halves = np.asarray(dnumpy.cumsum(sums)[-1:])
    assert halves[0] == held.shape[0] * WIDTH * (WIDTH - 1.0)
    assert set(client.nthreads()) == before
