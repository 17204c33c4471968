"""Laws of exchanges by value: what is looked up meets the table where the table lies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.api import sorting
from dnumpy.config import config
from dnumpy.expr.expr import make
from dnumpy.ops.sorting import FIND, FindParams
from dnumpy.runtime import dask_cluster as module
from dnumpy.runtime.dask_cluster import DaskCluster
from tests.api.test_sorting import DTYPES, SPEEDS, values
from tests.gathering import computed, on_nodes, spread_out
from tests.runtime import programs as p
from tests.runtime.test_cluster_distributed import Uneven, client_of, kill, stay_dead

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(autouse=True, scope="module")
def all_is_many() -> Iterator[None]:
    kept, sorting.FEW_VALUES = sorting.FEW_VALUES, 0
    yield
    sorting.FEW_VALUES = kept


def same(found: Any, expected: np.ndarray) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(np.asarray(found), expected)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 99),
    st.sampled_from(SPEEDS),
    st.integers(1, 300),
    st.sampled_from([(0,), (1,), (3,), (90,), (300,), (30, 7), (1, 40)]),
    st.sampled_from(DTYPES),
    st.sampled_from(DTYPES),
    st.integers(1, 60),
)
def test_places_and_membership_are_numpys(
    seed: int,
    speeds: tuple[float, ...],
    length: int,
    shape: tuple[int, ...],
    one: str,
    other: str,
    distinct: int,
) -> None:
    table = np.sort(values(seed, (length,), one, distinct))
    wanted = values(seed + 1, shape, other, distinct)
    with spread_out(*speeds):
        held, asked = on_nodes(table), on_nodes(wanted)
        for side in ("left", "right"):
            same(dnumpy.searchsorted(held, asked, side), np.searchsorted(table, wanted, side))
        for invert in (False, True):
            members = held[::-1]  # in another order
            same(dnumpy.isin(asked, members, invert=invert), np.isin(wanted, table, invert=invert))


def test_views_of_tables_are_searched() -> None:
    table = np.arange(0, 400, 2.0)
    wanted = np.linspace(-5, 405, 211)
    with spread_out():
        for view in (lambda a: a[::3], lambda a: a[7:], lambda a: a.reshape(20, 10)[:, 3]):
            for turn in (lambda a: a, lambda a: a[::-2]):
                held, asked = view(on_nodes(table)), turn(on_nodes(wanted))
                same(dnumpy.searchsorted(held, asked), np.searchsorted(view(table), turn(wanted)))
        descending = -table
        same(
            dnumpy.searchsorted(on_nodes(descending)[::-1], on_nodes(-wanted), "right"),
            np.searchsorted(descending[::-1], -wanted, "right"),
        )


_rng = np.random.default_rng(6)
A = _rng.permutation(600)
B = _rng.permutation(900)[:600]
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "searchsorted": lambda np_, a, b: np_.searchsorted(np_.sort(a), b),
    "searchsorted-method": lambda np_, a, b: np_.sort(a).searchsorted(b, side="right"),
    "searchsorted-few": lambda np_, a, b: np_.searchsorted(np_.sort(a), b[:80]),
    "digitize": lambda np_, a, b: np_.digitize(a, np_.sort(b)),
    "isin": lambda np_, a, b: np_.isin(a, b),
    "isin-few": lambda np_, a, b: np_.isin(a[:80], b),
    "isin-invert": lambda np_, a, b: np_.isin(a, b, invert=True),
    "intersect1d": lambda np_, a, b: np_.intersect1d(a, b),
    "intersect1d-indices": lambda np_, a, b: np_.intersect1d(a, b, return_indices=True)[1],
    "setdiff1d": lambda np_, a, b: np_.setdiff1d(a, b),
    "setxor1d": lambda np_, a, b: np_.setxor1d(a, b),
    "union1d": lambda np_, a, b: np_.union1d(a, b),
}


@pytest.mark.parametrize("name", sorted(CALLS))
@pytest.mark.filterwarnings("ignore:.*gathers:dnumpy.errors.FallbackWarning")
def test_neither_of_two_large_operands_is_gathered(name: str) -> None:
    with spread_out(2.0, 1.0, 3.0, 2.0, 1.0) as meter:  # no node has a third of the rows
        found = computed(CALLS[name](dnumpy, on_nodes(A), on_nodes(B)))
        assert meter.most() < A.nbytes / 2, meter.gathered
        same(found, CALLS[name](np, A, B))


@pytest.mark.parametrize(
    "bins",
    [
        np.arange(90),
        np.repeat(np.arange(30.0), 3)[::-1].copy(),
        np.zeros(80),
        A,
        np.where(np.arange(90) == 70, np.nan, np.arange(90)),
        np.where(np.arange(90) == 0, np.nan, np.arange(90)),
    ],
)
def test_bins_on_nodes_are_told_to_rise_or_fall(bins: np.ndarray) -> None:
    def outcome(np_: Any, edges: Any) -> Any:
        try:
            return np.asarray(np_.digitize([-1.0, 5.0, 29.5, 70.0, 900.0], edges)).tolist()
        except ValueError as error:
            return str(error)

    with spread_out():
        assert outcome(dnumpy, on_nodes(bins)) == outcome(np, bins)


@pytest.mark.cluster
@pytest.mark.timeout(120)
def test_what_was_found_is_found_again_when_a_worker_is_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(module, "HOME_BYTES", 0)
    monkeypatch.setattr(DaskCluster, "home_bytes", 0)
    cluster, client = client_of(3)
    try:
        for nanny in cluster.workers.values():
            nanny.instantiate = stay_dead
        nodes = Uneven(client)
        table, wanted = np.arange(0.0, 600, 2), np.linspace(-5, 605, 300)
        leaves = [p.call("positive", p.data(v)) for v in (table, wanted)]
        p.run(leaves, nodes)
        params = FindParams((False, True), "left")
        found = make(FIND, tuple(leaves), params, wanted.shape, np.dtype(np.intp))
        p.run([found], nodes)
        kill(nodes, found.value.parts[1].node)
        again = p.call("add", found, 1)
        p.run([again], nodes)
        np.testing.assert_array_equal(p.values([again])[0], np.searchsorted(table, wanted) + 1)
    finally:
        client.close()
        cluster.close()
