"""A line is sorted on one node where that is sooner than exchanging it; either way as by NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy.config import config
from dnumpy.cost.links import Link, Links
from dnumpy.expr.expr import Expr, leaf
from dnumpy.ops.sorting import KEYED_BLOCKS, SORT_BLOCKS, record_dtype
from dnumpy.plan.rates import MEMORY_SHARE
from dnumpy.runtime import find, one_node
from dnumpy.runtime.chunked import Chunked, Part, Source
from dnumpy.runtime.dask_cluster import DaskCluster
from dnumpy.runtime.links import SIZES
from dnumpy.runtime.measured import MeasuredNodes
from dnumpy.runtime.one_node import arriving, sorts_sooner_alone
from dnumpy.runtime.settling import Stay
from tests.cost.test_estimate import sample_profile

DOUBLE = np.dtype(np.float64)
BLOCK = 1 << 16


class OnPaper(MeasuredNodes):
    """Nodes of which there is nothing but what was measured; there is a link between any two."""

    def __init__(self, nodes: int, rate: float = 1e8, free_bytes: float = 1e12) -> None:
        names = [f"n{k}" for k in range(nodes)]
        profile = replace(sample_profile(), free_bytes=free_bytes)
        super().__init__({name: profile.named(name) for name in names})
        pairs = [(a, b) for a in names for b in names if a != b]
        times = tuple(size / rate for size in SIZES)
        self.links = Links(SIZES, tuple(Link(a, b, times) for a, b in pairs))
        self._alive = dict.fromkeys(names, 1)

    def _calibrate_soon(self) -> None:
        """Everything is known."""

    def copies(self, owner: Expr) -> list[Any]:  # noqa: ARG002 - there are none
        return []

    def mirrored(self, owner: Expr) -> bool:  # noqa: ARG002 - likewise
        return False


def line_on(cluster: OnPaper, rows: int, *shares: float) -> Expr:
    """Return a line of which each node holds a share."""
    ends = np.round(np.cumsum([0.0, *shares]) * rows).astype(int).tolist()
    ranges = zip(cluster.nodes(), ends[:-1], ends[1:], strict=True)
    parts = tuple(Part(node, lo, hi, None) for node, lo, hi in ranges if hi > lo)
    source = Source((rows,), DOUBLE)
    return leaf(Chunked((rows,), DOUBLE, parts, source, cluster), (rows,), DOUBLE)


def test_what_lies_on_one_node_is_sorted_there_unless_it_is_much_work() -> None:
    cluster = OnPaper(2)
    little = line_on(cluster, 200_000, 1.0, 0.0)
    assert sorts_sooner_alone(cluster, [little], SORT_BLOCKS, DOUBLE, BLOCK)
    fast = OnPaper(8, rate=1e11)
    much = line_on(fast, 100_000_000, *[1 / 8] * 8)
    assert not sorts_sooner_alone(fast, [much], SORT_BLOCKS, DOUBLE, BLOCK)


def test_the_slower_the_answers_the_more_is_sorted_alone() -> None:
    cluster = OnPaper(2)
    decided = []
    for cluster.round_trip in (0.0, 1e-3, find.LONGEST_TRIP):
        line = line_on(cluster, 400_000, 0.5, 0.5)
        decided.append(sorts_sooner_alone(cluster, [line], SORT_BLOCKS, DOUBLE, BLOCK))
    assert decided == sorted(decided)
    assert decided[-1]


def test_a_line_that_is_read_again_and_again_is_worth_moving(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It takes 0.2 s to arrive on one of four nodes, and is sorted there sooner than by all."""
    rows, shares = 2_000_000, [0.4, 0.2, 0.2, 0.2]
    cluster = OnPaper(4, rate=5e7)
    line = line_on(cluster, rows, *shares)

    def alone(nodes: OnPaper = cluster) -> bool:
        return sorts_sooner_alone(nodes, [line], SORT_BLOCKS, DOUBLE, BLOCK)

    def busy(_: Any, __: str, work: Any, count: float) -> float:
        return 0.1 * count / rows if work.rows else 0.0

    monkeypatch.setattr(one_node, "_busy", busy)
    assert not alone()  # the first time says nothing
    line.value.stay = Stay()
    assert alone()
    line.value.stay.moves = 3
    assert not alone()
    line.value.stay.moves = 0
    needed = 24.0 * rows
    profiles = {
        name: replace(profile, free_bytes=1.5 * needed / MEMORY_SHARE)
        for name, profile in cluster.profiles.items()
    }
    monkeypatch.setattr(cluster, "profiles", profiles)
    assert not alone()  # there is room for it, but not to keep it there
    monkeypatch.undo()
    monkeypatch.setattr(one_node, "_busy", busy)
    monkeypatch.setattr(config, "objective", "throughput")
    assert not alone()


def test_a_line_that_fits_no_node_is_not_sorted_there() -> None:
    tight = OnPaper(2, free_bytes=1e6)
    line = line_on(tight, 200_000, 1.0, 0.0)
    records = record_dtype([DOUBLE])
    assert not sorts_sooner_alone(tight, [line], SORT_BLOCKS, DOUBLE, BLOCK)
    assert not sorts_sooner_alone(tight, [line], KEYED_BLOCKS, records, BLOCK)


def test_all_that_arrives_comes_through_one_door() -> None:
    cluster = OnPaper(4, rate=1e8)
    held = {"n0": 5e8, "n1": 1e8, "n2": 1e8, "n3": 2e8}
    assert arriving(cluster, "n0", held) == pytest.approx(4.0)
    assert arriving(cluster, "n0", {"n0": 5e8}) == 0.0


def test_one_run_that_waited_for_something_else_hardly_changes_the_round_trip() -> None:
    cluster = OnPaper(2)
    before = cluster.round_trip
    cluster.learn_round_trip(100 * before)
    assert before < cluster.round_trip < 2 * before
    for _ in range(30):
        cluster.learn_round_trip(10 * before)
    assert cluster.round_trip > 9 * before  # what happens each time is believed


rng = np.random.default_rng(5)
VALUES = np.concatenate([rng.normal(size=400), rng.integers(-9, 9, 400), [np.nan, np.inf, 0.0]])
CALLS = {
    "sort": lambda xp, a: xp.sort(a),
    "sort stably": lambda xp, a: xp.sort(a, kind="stable"),
    "argsort": lambda xp, a: xp.argsort(a, kind="stable"),
    "lexsort": lambda xp, a: xp.lexsort((a, -a)),
    "partition": lambda xp, a: xp.partition(a, 40)[40],
    "median": lambda xp, a: xp.nanmedian(a),
    "unique": lambda xp, a: xp.unique(a),
    "unique with all": lambda xp, a: xp.concatenate(
        [x.astype(float) for x in xp.unique(a, True, True, True)]
    ),
}


@pytest.fixture
def small_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "tile_rows_max", 50)
    monkeypatch.setattr(find, "LEAST_BYTES", 0)
    monkeypatch.setattr(DaskCluster, "home_bytes", 0)


def placed(values: np.ndarray) -> dnumpy.ndarray:
    """Return an array that lies on both workers."""
    found = dnumpy.array(values) * 1.0
    dnumpy.engine.compute([found._buf.expr])
    assert isinstance(found._buf.expr.value, Chunked)
    return found


@pytest.mark.usefixtures("client", "small_is_large")
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_line_sorted_on_one_worker_is_numpys(
    name: str, alone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(one_node, "sorts_sooner_alone", lambda *_: alone)
    found = CALLS[name](dnumpy, placed(VALUES))
    np.testing.assert_array_equal(np.asarray(found), CALLS[name](np, VALUES))


@pytest.mark.usefixtures("client", "small_is_large")
@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_one_worker_sorts_in_one_run_of_which_nothing_comes_home(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = placed(VALUES)
    dnumpy.engine.history.clear()
    results = {}
    for alone in (True, False):
        monkeypatch.setattr(one_node, "sorts_sooner_alone", lambda *_, alone=alone: alone)
        found = CALLS[name](dnumpy, ours)
        recorded = len(dnumpy.engine.history)
        assert (recorded == 0) is alone  # nothing is looked at while it is recorded
        dnumpy.engine.compute([found._buf.expr])
        value = found._buf.expr.value
        assert isinstance(value, Chunked)
        results[alone] = {node for node, _ in value.rows_per_node()}
    assert len(results[True]) == 1


@pytest.mark.usefixtures("client", "small_is_large")
def test_what_is_little_is_sorted_on_one_worker_of_its_own_accord() -> None:
    ours = placed(VALUES)
    dnumpy.engine.history.clear()
    found = dnumpy.sort(ours)
    assert not dnumpy.engine.history
    assert float(found.predict()) > 0
    np.testing.assert_array_equal(np.asarray(found), np.sort(VALUES))
