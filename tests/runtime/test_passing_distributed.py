"""Rows pass through workers that hold a part of them, and no worker is killed by its limit."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.config import config

if TYPE_CHECKING:
    from pathlib import Path

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.alone,
    pytest.mark.cluster,
    pytest.mark.modeless("the mode is set here, and the blocks are as large as memory allows"),
    pytest.mark.timeout(180),
]

LIMIT = 320 << 20  # bytes of each worker, of which an idle one with its compilers takes half
NODES, COLUMNS = 2, 256
ROWS = 4 * NODES * LIMIT // (8 * COLUMNS)


def centred_products(_: Any, m: Any) -> Any:
    """Return the products of centred columns: half a megabyte of each few hundred rows."""
    c = m - m.mean(axis=0)
    return c.T @ c


def tells_what_passes(told: Any) -> bool:
    """Say whether a forecast has stages whose rows pass, and seconds and bytes of each worker."""
    makers = [stage for stage in told.stages if stage["passes"]]
    readers = [stage for stage in told.stages if stage["blocks"]]
    assert makers
    assert max(stage["blocks"] for stage in readers) > NODES
    for stage in readers:
        assert len(stage["where"]) == len(stage["predicted_bytes"]) == NODES
        assert sum(rows for _, rows in stage["where"]) == ROWS
        assert 0 < max(stage["predicted_bytes"]) < LIMIT
        assert min(stage["predicted_node_seconds"]) > 0
    assert "rows pass" in str(told)
    return told.predicted_seconds > 0


def test_what_blocks_leave_behind_is_never_held_all_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "mode", "default")
    file = tmp_path / "m.npy"
    np.lib.format.open_memmap(file, "w+", "f8", (ROWS, COLUMNS))[::64, 3] = 1.0  # else holes
    m = dnumpy.load(file, mmap_mode="r")
    options = {"n_workers": NODES, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(memory_limit=LIMIT, **options) as nodes,
        distributed.Client(nodes) as client,
    ):
        told = dnumpy.explain((m - m.mean(axis=0)).std(axis=0))
        assert tells_what_passes(told)
        before = client.run(os.getpid)
        products = np.asarray(centred_products(dnumpy, m))
        spread = np.asarray((m - m.mean(axis=0)).std(axis=0))
        assert client.run(os.getpid) == before  # none was started again
    file.unlink()
    mean = 1 / 64
    assert products[3, 3] == pytest.approx(ROWS * mean * (1 - mean))
    assert np.count_nonzero(products) == 1
    assert spread[3] == pytest.approx((mean * (1 - mean)) ** 0.5)
