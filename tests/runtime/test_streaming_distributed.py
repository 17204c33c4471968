"""Data larger than all memory of a cluster streams through it, block by block."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from benchmarks.nodes import NodeSpec, unequal_nodes, why_no_nodes
from benchmarks.quota import MEMORY_GROUPS
from dnumpy import engine
from dnumpy.config import config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.alone,
    pytest.mark.cluster,
    pytest.mark.modeless("the mode is set here, and the blocks are as large as memory allows"),
    pytest.mark.timeout(180),
]

LIMIT = 320 << 20  # bytes of each node, of which an idle worker with its compilers takes half
NODES = 2
TIMES = 4  # as much data as the cluster may hold
COLUMNS = 8_192
ROWS = TIMES * NODES * LIMIT // (COLUMNS * 8) + 1
PERIOD = 35  # rows, after which they repeat


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file with holes: two columns are not zero, and one of them is never."""
    file = tmp_path_factory.mktemp("large") / "x.npy"
    start = np.lib.format.open_memmap(file, "w+", "f8", (ROWS, COLUMNS)).offset
    with file.open("r+b") as rows:
        for k in range(ROWS):
            pair = np.array([k % 7 + 1.0, k % 5])
            os.pwrite(rows.fileno(), pair.tobytes(), start + (k * COLUMNS + 3) * 8)
    yield file
    file.unlink()


@pytest.fixture(autouse=True)
def by_default() -> Iterator[None]:
    before, config.mode = config.mode, "default"
    yield
    config.mode = before


def normalised_totals(x: Any) -> Any:
    """Return the column sums of the matrix with its rows normalised."""
    return (x / x.sum(axis=1, keepdims=True)).sum(axis=0)


def standardised_totals(x: Any) -> Any:
    """Return the column sums of the matrix with its rows centred and scaled."""
    y = x - x.mean(axis=1, keepdims=True)
    return (y / x.std(axis=1, keepdims=True)).sum(axis=0)


def by_rows(function: Callable[[Any], Any]) -> np.ndarray:
    """Return the sum of what NumPy makes of each row; the rows repeat."""
    total = np.zeros(COLUMNS)
    for k in range(PERIOD):
        row = np.zeros((1, COLUMNS))
        row[0, 3], row[0, 4] = k % 7 + 1, k % 5
        total += function(row) * len(range(k, ROWS, PERIOD))
    return total


@contextmanager
def watching(groups: list[Path]) -> Iterator[list[int]]:
    """Give the most bytes that the processes of each control group hold meanwhile."""
    most = [0] * len(groups)
    done = threading.Event()

    def look() -> None:
        while not done.wait(0.002):
            for k, group in enumerate(groups):
                lines = (group / "memory.stat").read_text().splitlines()
                held = dict(line.split() for line in lines)
                most[k] = max(most[k], int(held["total_rss"]))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield most
    finally:
        done.set()
        watcher.join()


def group_of(pid: int) -> Path:
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, inside = line.split(":", 2)
        if controllers == "memory":
            return MEMORY_GROUPS / inside.lstrip("/")
    raise AssertionError(pid)


def test_four_times_the_memory_of_a_cluster_streams_through_it(path: Path) -> None:
    if reason := why_no_nodes():
        pytest.skip(reason)
    specs = [NodeSpec(1.0, LIMIT), NodeSpec(0.5, LIMIT)]
    x = dnumpy.load(path, mmap_mode="r")
    assert x.nbytes > TIMES * sum(spec.memory_bytes or 0 for spec in specs)
    with unequal_nodes(specs) as nodes, nodes.client.as_current():
        groups = [group_of(pid) for pid in nodes.pids]
        before = [(group / "memory.failcnt").read_text() for group in groups]
        with watching(groups) as most:
            engine.history.clear()
            totals = np.asarray(normalised_totals(x))
            records = list(engine.history)
            standardised = np.asarray(standardised_totals(x))
            means = x.mean(axis=0)
            spreads = np.asarray(((x - means) ** 2).sum(axis=0))  # reads the file a second time
            product = np.asarray(x @ np.ones((COLUMNS, 2)))  # a call, which reads whole blocks
        assert set(nodes.client.nthreads()) == set(nodes.addresses)
        assert all(Path(f"/proc/{pid}").exists() for pid in nodes.pids), before
    assert all(0 < held < LIMIT for held in most), most
    assert {node for node, _ in records[-1].where} == set(nodes.addresses)
    assert max(records[-1].predicted_peak_bytes) < LIMIT
    np.testing.assert_allclose(totals, by_rows(normalised_totals), rtol=1e-12)
    expected = by_rows(standardised_totals)
    np.testing.assert_allclose(standardised, expected, rtol=1e-9, atol=1e-9)
    average = by_rows(lambda rows: rows.sum(axis=0)) / ROWS
    expected = by_rows(lambda rows: ((rows - average) ** 2).sum(axis=0))
    np.testing.assert_allclose(spreads, expected, rtol=1e-9)
    each = np.arange(ROWS)
    np.testing.assert_array_equal(product, np.stack([each % 7 + 1.0 + each % 5] * 2, axis=1))
