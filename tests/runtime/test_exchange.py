"""Laws of exchanges by index: values follow their indices, on virtual nodes and on real workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import engine
from dnumpy.config import config
from dnumpy.expr.expr import Expr, make
from dnumpy.ops.indexing import AT, PUT, TAKE, PutParams, TakeParams
from dnumpy.runtime import chunked, find
from dnumpy.runtime import dask_cluster as module
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.dask_cluster import DaskCluster
from dnumpy.runtime.virtual import VirtualCluster
from tests.api.test_indexing import READS, WRITES, same, written
from tests.runtime import programs as p
from tests.runtime.test_cluster_distributed import LOST, Uneven, client_of, kill, stay_dead

if TYPE_CHECKING:
    from collections.abc import Iterator

SET_HERE = pytest.mark.modeless("the mode is set here")
SPEEDS = [(1.0,), (1.0, 3.0), (5.0, 3.0, 2.0), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)]


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(module, "HOME_BYTES", 0)
    monkeypatch.setattr(DaskCluster, "home_bytes", 0)


def spread_leaf(values: np.ndarray, cluster: Any) -> Expr:
    """Return an Expr whose value lies on the cluster's nodes."""
    expr = p.call("positive", p.data(values))
    p.run([expr], cluster)
    return expr


def taken(table: Expr, index: Expr, lead: int = 1) -> Expr:
    shape = (*index.shape, *table.shape[lead:])
    return make(TAKE, (table, index), TakeParams(lead), shape, table.dtype)


def scattered(base: Expr, index: Expr, values: Expr, lead: int = 1) -> Expr:
    return make(PUT, (base, index, values), PutParams(lead, full=True), base.shape, base.dtype)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.sampled_from(SPEEDS),
    st.integers(1, 40),
    st.integers(1, 4),
    st.integers(1, 60),
    st.integers(1, 2),
    st.integers(0, 99),
)
def test_rows_follow_their_indices_whatever_the_partition(
    speeds: tuple[float, ...], rows: int, columns: int, count: int, lead: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    cluster = VirtualCluster(speeds)
    table = rng.random((rows, columns, 2))
    index = rng.integers(0, rows * columns if lead == 2 else rows, count)
    flat = table.reshape(-1, 2) if lead == 2 else table
    read = taken(spread_leaf(table, cluster), spread_leaf(index, cluster), lead)
    values = rng.random((count, *flat.shape[1:]))
    laid = [spread_leaf(x, cluster) for x in (table, index, values)]
    new = scattered(*laid, lead)
    changes = PutParams(lead, full=True, ufunc="subtract")
    changed = make(AT, tuple(laid), changes, table.shape, table.dtype)
    p.run([read, new, changed], cluster)
    less = table.copy()
    np.subtract.at(less.reshape(flat.shape), index, values)
    flat[index], before = values, flat[index]
    np.testing.assert_array_equal(p.values([read])[0], before)
    np.testing.assert_array_equal(p.values([new])[0], table)
    np.testing.assert_array_equal(p.values([changed])[0], less)


def test_a_table_on_nodes_is_brought_to_no_node(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = VirtualCluster((2.0, 1.0, 1.0))
    table = spread_leaf(np.arange(4000.0).reshape(400, 10), cluster)
    index = spread_leaf(np.arange(399, -1, -4), cluster)
    met: list[int] = []
    monkeypatch.setattr("dnumpy.runtime.bind.refuse_above_limit", lambda n, _what: met.append(n))
    read = taken(table, index)
    p.run([read], cluster)
    assert met == []
    assert isinstance(read.value, Chunked)
    assert len(read.value.rows_per_node()) == 3


pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    cluster, made = client_of(2)
    yield made
    made.close()
    cluster.close()


@LOST
@pytest.mark.cluster
@pytest.mark.timeout(120)
def test_rows_of_a_gather_lost_with_their_worker_are_computed_again() -> None:
    cluster, client = client_of(3)
    try:
        for nanny in cluster.workers.values():
            nanny.instantiate = stay_dead
        nodes = Uneven(client)
        table = np.arange(300.0).reshape(100, 3)
        index = np.arange(99, -1, -1)
        read = taken(spread_leaf(table, nodes), spread_leaf(index, nodes))
        p.run([read], nodes)
        kill(nodes, read.value.parts[1].node)
        again = p.call("add", read, 1.0)
        p.run([again], nodes)
        np.testing.assert_array_equal(p.values([again])[0], table[::-1] + 1)
    finally:
        client.close()
        cluster.close()


@pytest.fixture
def everything_on_workers(client: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Send all that is computed to the workers, and meter what is brought home."""
    met: list[int] = []

    def note(nbytes: int, _what: str) -> None:
        met.append(nbytes)

    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(find, "LEAST_BYTES", 0)
    monkeypatch.setattr(find, "users_cluster", lambda: nodes)
    monkeypatch.setattr(chunked, "refuse_above_limit", note)
    nodes = Uneven(client)
    with client.as_current():
        yield met


def on_workers(values: np.ndarray) -> Any:
    placed = dnumpy.array(values).copy()
    engine.compute([placed._buf.expr])
    assert isinstance(placed._buf.expr.value, Chunked)
    return placed


def looked_up(found: Any) -> Any:
    return tuple(map(np.asarray, found)) if isinstance(found, tuple | list) else np.asarray(found)


@SET_HERE
@pytest.mark.cluster
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore:.*gathers:dnumpy.errors.FallbackWarning")
def test_workers_read_by_index_as_numpy_does(everything_on_workers: list[int]) -> None:
    for name in sorted(READS)[::4]:
        operands, call = READS[name]
        if name == "take-out":  # its target is made elsewhere
            continue
        everything_on_workers.clear()
        found = call(dnumpy, *map(on_workers, operands))
        engine.flush()
        limit = max(operands[0].nbytes * 0.8, 200)
        assert max(everything_on_workers, default=0) <= limit, name
        same(looked_up(found), call(np, *[x.copy() for x in operands]))


@SET_HERE
@pytest.mark.cluster
@pytest.mark.timeout(300)
@pytest.mark.filterwarnings("ignore:.*gathers:dnumpy.errors.FallbackWarning")
def test_workers_write_by_index_as_numpy_does(everything_on_workers: list[int]) -> None:
    for name in sorted(WRITES)[::4]:
        operands, change = WRITES[name]
        everything_on_workers.clear()
        found = written(change)(dnumpy, *map(on_workers, operands))
        engine.flush()
        limit = max(operands[0].nbytes * 0.8, 200)
        assert max(everything_on_workers, default=0) <= limit, name
        same(np.asarray(found), written(change)(np, *operands))
