"""Data of this process are sent where that pays; a wrong guess costs at most as much again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from dnumpy import engine
from dnumpy.config import config
from dnumpy.expr.expr import Expr, leaf
from dnumpy.runtime.dask_cluster import dask_cluster
from dnumpy.runtime.sending import Compared

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributed import Client

SECONDS = st.floats(0.0, 10.0)


def operand() -> Expr:
    values = np.zeros(3)
    return leaf(values, values.shape, values.dtype)


@given(st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=40), SECONDS)
def test_all_takes_at_most_twice_what_it_would_for_who_knew(
    runs: list[tuple[float, float]], sending: float
) -> None:
    array, is_there, taken = operand(), False, 0.0
    for here, there in runs:
        left = 0.0 if is_there else sending
        compared = Compared(here, there, left, array)
        goes = compared.pays(counts=True)
        taken += left + there if goes else here
        is_there = is_there or goes
    never = sum(here for here, _ in runs)
    at_first = sending + sum(min(run) for run in runs)
    longest = max(here for here, _ in runs)
    assert taken <= 2 * min(never, at_first) + longest + 1e-9


def test_a_forecast_changes_nothing() -> None:
    array = operand()
    for _ in range(9):
        assert not Compared(1.0, 0.5, 2.0, array).pays(counts=False)
    seen = [Compared(1.0, 0.5, 2.0, array).pays(counts=True) for _ in range(6)]
    assert seen == [False, False, False, False, True, True]


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[Client]:
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "cluster", "auto")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as found,
    ):
        dask_cluster(found).refresh()
        yield found


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.modeless("only the default mode asks a client's workers")
def test_an_array_without_axes_goes_with_its_task(client: Client) -> None:
    number = np.array(3.0)
    assert dask_cluster(client).has(leaf(number, number.shape, number.dtype))
    with np.errstate(all="call"):  # which is answered at once, operation by operation
        spread_out = dnumpy.linspace(0.0, 10.0, 9_000_000)
    np.testing.assert_array_equal(
        spread_out[::1_000_000], np.linspace(0.0, 10.0, 9_000_000)[::1_000_000]
    )


def nodes_of_last_run() -> set[str]:
    return {node for record in engine.history for node, _ in record.where}


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.modeless("only the default mode asks a client's workers")
def test_a_pass_over_data_here_stays_here_and_what_workers_make_stays_there(
    client: Client,
) -> None:
    home = np.random.default_rng(0).random(12_000_000)  # ten times as long to send as to add up
    lazy = dnumpy.array(home)
    for _ in range(3):
        engine.history.clear()
        got = np.asarray(dnumpy.cumsum(lazy))
        assert nodes_of_last_run() <= {"local"}
        np.testing.assert_allclose(got, np.cumsum(home))
    engine.history.clear()
    made = dnumpy.arange(12_000_000.0)
    assert float((dnumpy.sin(made) * dnumpy.exp(-made / 1e7)).sum()) == pytest.approx(
        float((np.sin(np.asarray(made)) * np.exp(-np.arange(12e6) / 1e7)).sum())
    )
    assert nodes_of_last_run() & set(client.nthreads())
