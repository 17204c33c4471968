"""What workers are told, seen on a real one."""

from __future__ import annotations

import numpy as np
import pytest

import dnumpy
from dnumpy.config import EAGER_BELOW, config
from dnumpy.runtime import find

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(120),
    pytest.mark.modeless("only the default mode asks a client's workers"),
]
LIMIT = 1_000_000_000  # of which Dask lets results take 0.6
ROWS = 9_000_000


def test_arrays_that_one_task_makes_count_once_in_the_workers_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "eager_below", EAGER_BELOW)
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=":0", memory_limit=LIMIT
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        i = dnumpy.arange(ROWS)
        made = [i * 0.5, i - 0.25, i * i, i + 1.5, i * 3.0]  # 360 MB
        totals = [float(x.sum()) for x in made]

        def told(dask_worker: distributed.Worker) -> tuple[int, int]:
            held = sum(dask_worker.state.tasks[key].nbytes or 0 for key in dask_worker.data)
            return held, dask_worker.data.spilled_total.disk

        ((held, spilled),) = client.run(told).values()
        assert held >= len(made) * ROWS * 8  # all of it is there
        assert not spilled
    n = np.arange(ROWS)
    np.testing.assert_allclose(totals[0], (n * 0.5).sum())
    np.testing.assert_allclose(totals[4], (n * 3.0).sum())


def test_an_error_that_the_program_catches_is_not_in_the_workers_logs(
    client: distributed.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "eager_below", EAGER_BELOW)
    monkeypatch.setattr(find, "_is_worth_it", lambda *_, **__: True)
    singular = dnumpy.zeros((1500, 1500)) + dnumpy.arange(1500.0)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        np.asarray(dnumpy.linalg.inv(singular))

    def fail() -> None:
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011 - it is the user's own
        client.submit(fail, key="theirs").result()
    logged = "".join(line for lines in client.get_worker_logs().values() for _, line in lines)
    assert "theirs" in logged
    assert "LinAlgError" not in logged
    assert "Key:       dnp" not in logged
