"""What lies on workers comes home where that pays; a wrong guess costs at most as much again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from dnumpy import engine
from dnumpy.config import config
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.dask_cluster import dask_cluster
from dnumpy.runtime.returning import PATIENCE_SECONDS, Account

if TYPE_CHECKING:
    from collections.abc import Iterator

    from distributed import Client

SECONDS = st.floats(0.0, 10.0)


@pytest.fixture(scope="module", autouse=True)
def data_may_come_home(data_stays_on_workers: None) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dnumpy.runtime.returning.PATIENCE_SECONDS", PATIENCE_SECONDS)
        yield


@given(st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=40), SECONDS)
def test_all_takes_at_most_twice_what_it_would_for_who_knew(
    runs: list[tuple[float, float]], bringing: float
) -> None:
    account, is_here, taken = Account(), False, 0.0
    for here, there in runs:
        if not is_here and account.returns(there - here, bringing):
            is_here, taken = True, taken + bringing
        taken += here if is_here else there
    never = sum(there for _, there in runs)
    if is_here and all(there >= here for here, there in runs):
        at_first = bringing + sum(here for here, _ in runs)
        longest = max(there - here for here, there in runs)
        assert taken <= 2 * min(never, at_first) + PATIENCE_SECONDS + longest + 1e-9
    elif not is_here:
        assert taken == pytest.approx(never)


def test_what_workers_gain_counts_against_what_they_lose() -> None:
    account = Account()
    seen = [account.returns(lost, 2.0) for lost in (1.0, 0.9, -1.0, 0.9, 0.1, 0.3)]
    assert [Account().returns(lost, 0.0) for lost in (1.9, 2.1)] == [False, True]  # with patience
    assert seen == [False, False, False, False, False, True]
    assert account.seconds == 0.0


def test_what_takes_longer_than_expected_is_lost_too() -> None:
    account = Account()
    assert not account.returns(0.1, 2.0)
    for seconds in (0.85, 0.5, 7.0):  # of which one second means little
        account.expected = 0.8
        account.took(seconds)
        account.took(9.0)  # of another one, of which nothing was expected
    assert account.seconds == pytest.approx(0.1 + 0.05 + 0.1)


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


def made_there(rows: int) -> dnumpy.ndarray:
    """Return sines on the workers."""
    made = dnumpy.sin(dnumpy.arange(float(rows)))
    engine.compute([made._buf.expr])
    assert type(made._buf.expr.value) is Chunked
    return made


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.modeless("only the default mode asks a client's workers")
def test_what_is_looked_at_again_and_again_comes_home(client: Client) -> None:
    expected = np.sin(np.arange(12e6))
    made = made_there(12_000_000)
    for k in range(1000):
        found = float((made[: 300_000 + k] * 2.0).sum())
        assert found == pytest.approx(float((expected[: 300_000 + k] * 2.0).sum()))
        if type(made._buf.expr.value) is np.ndarray:
            break
    np.testing.assert_array_equal(made._buf.expr.value, expected)
    engine.history.clear()
    assert float((made[:300_000] * 2.0).sum()) == pytest.approx(2 * float(expected[:300_000].sum()))
    assert {node for record in engine.history for node, _ in record.where} <= {"local"}
    np.testing.assert_array_equal(np.asarray(made), expected)
    assert client.status == "running"


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.modeless("only the default mode asks a client's workers")
def test_a_prediction_knows_where_it_will_be_done(client: Client) -> None:
    made = made_there(12_000_000)
    told, ran = [], []
    for k in range(1000):
        asked = (made[: 300_000 + k] * 2.0).sum()
        told.append(set(asked.predict().bytes) == {"local"})
        float(asked)
        ran.append(type(made._buf.expr.value) is np.ndarray)
        if ran[-1]:
            break
    assert told == [False] * (len(told) - 1) + [True]
    assert told == ran
    assert client.status == "running"


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.modeless("only the default mode asks a client's workers")
def test_what_is_large_stays_there(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dnumpy.runtime.returning.MUCH_BYTES", 1 << 20)
    made = made_there(12_000_000)
    for k in range(20):
        float((made[: 300_000 + k] * 2.0).sum())
    assert type(made._buf.expr.value) is Chunked
    assert client.status == "running"


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.modeless("only the default mode asks a client's workers")
def test_a_long_line_of_little_operations_is_not_looked_through_each_time(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    there = engine.cluster_for

    def noted(stages: list[object], *args: object, **kwargs: object) -> object:
        asked.append(len(stages))
        return there(stages, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(engine, "cluster_for", noted)
    matrix = np.random.default_rng(0).random((1000, 1000))
    a, v, expected = dnumpy.array(matrix), dnumpy.ones(1000), np.ones(1000)
    a, matrix = a + a.T, matrix + matrix.T
    for _ in range(60):
        v, expected = a @ v, matrix @ expected
        v /= dnumpy.linalg.norm(v)
        expected /= np.linalg.norm(expected)
    np.testing.assert_allclose(np.asarray(v), expected)
    assert sum(asked) < 60 * 20, asked
    assert client.status == "running"
