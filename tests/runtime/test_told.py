"""What legs tell comes home: along with the end of their tasks, or when it is asked for."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dnumpy.config import config
from dnumpy.runtime import relay, relayed, told
from dnumpy.runtime.dask_cluster import DaskCluster
from dnumpy.runtime.told import REMEMBERED, Awaited, News, Teller
from tests.runtime import programs as p
from tests.runtime.test_cluster_distributed import Uneven, client_of
from tests.runtime.test_relay import chain

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.modeless("how results come home is no matter of the mode"),
]


class Worker:
    """What a worker is to what tells."""

    address = "here"

    def __init__(self) -> None:
        self.events: list[Any] = []

    def log_event(self, topic: str, message: Any) -> None:
        self.events.append((topic, News(*message)))


def test_all_is_told_once_everybody_has() -> None:
    awaited = Awaited("run", ["a", "b"])
    awaited.take(News("run", "a", failed=False, data=b"1"))
    assert not awaited.wait(0.0)
    awaited.take(News("run", "b", failed=False, data=None))
    assert awaited.wait(0.0)
    assert awaited.data == {"a": b"1", "b": None}
    assert Awaited("run", []).wait(0.0)


def test_a_failure_ends_the_waiting_and_is_not_all() -> None:
    awaited = Awaited("run", ["a", "b"])
    awaited.take(News("run", "a", failed=True, data=None))
    began = time.monotonic()
    assert not awaited.wait(60.0)
    assert time.monotonic() - began < 30.0


def test_what_goes_along_with_a_task_is_told_when_that_has_ended() -> None:
    worker = Worker()
    teller = Teller(worker)
    teller.tell("topic", "r1", [1], along="task")
    teller.task_is("other", "memory")
    teller.task_is("task", "executing")
    assert not worker.events
    teller.task_is("task", "memory")
    ((topic, news),) = worker.events
    assert (topic, news.run, news.failed) == ("topic", "r1", False)
    teller.tell("topic", "r2", [1], along="task")
    teller.task_is("task", "error")
    teller.task_is("task", "memory")  # another task of the name
    assert len(worker.events) == 1


def test_a_worker_can_be_asked_for_its_last_runs() -> None:
    teller = Teller(Worker())
    for k in range(REMEMBERED + 1):
        teller.tell("topic", f"r{k}", [k], along=None)
    assert teller.asked("r0") is None
    assert teller.asked("r1") is not None


def test_much_is_not_put_into_an_event() -> None:
    worker = Worker()
    teller = Teller(worker)
    teller.tell("topic", "much", [bytes(told.MOST_TOLD)], along=None)
    teller.tell("topic", "little", [1], along=None)
    assert [news.data is None for _, news in worker.events] == [True, False]
    assert len(teller.asked("much") or b"") > told.MOST_TOLD


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    workers, client = client_of(2)
    yield Uneven(client)
    client.close()
    workers.close()


@pytest.fixture
def nodes(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(DaskCluster, "home_bytes", 0)
    monkeypatch.setattr(relayed, "LONGEST_STEP", float("inf"))  # given speeds are no seconds
    cluster._relays_again = float("-inf")
    cluster.refresh()
    return cluster


def runs_as_numpy_does(nodes: Any) -> None:
    roots = chain()
    p.run(roots, nodes)
    for got, want in zip(p.values(roots), p.meaning(chain()), strict=True):
        np.testing.assert_array_equal(got, want)


def set_most(nbytes: int) -> int:
    before, told.MOST_TOLD = told.MOST_TOLD, nbytes
    return before


@pytest.mark.cluster
def test_what_is_too_much_for_an_event_is_asked_for(nodes: Any) -> None:
    before = nodes.client.run(set_most, -1)
    try:
        runs_as_numpy_does(nodes)
    finally:
        nodes.client.run(set_most, next(iter(before.values())))
    assert nodes._relays_again == float("-inf")


@pytest.mark.cluster
def test_what_got_lost_is_asked_for(nodes: Any) -> None:
    nodes.client.unsubscribe_topic(nodes._listener.topic)
    try:
        runs_as_numpy_does(nodes)
    finally:
        nodes._listener._subscribed = False
    assert nodes._relays_again == float("-inf")


def knows_nothing(run: str) -> None:
    """Answer nothing of a run."""


def forget_all(dask_worker: Any) -> None:
    dask_worker.handlers[told.ASK] = knows_nothing


@pytest.mark.cluster
def test_where_nobody_knows_any_more_the_run_goes_task_by_task(nodes: Any) -> None:
    before = nodes.client.run(set_most, -1)
    nodes.client.run(forget_all)
    try:
        runs_as_numpy_does(nodes)
        assert nodes._relays_again > float("-inf")
    finally:
        nodes.client.run(set_most, next(iter(before.values())))
        nodes.client.run(reopen)


def reopen(dask_worker: Any) -> None:
    dask_worker.handlers[told.ASK] = relay._stations[dask_worker.address].teller.asked


def held_here() -> int:
    """Return how many runs something on this worker still holds."""
    gc.collect()
    return sum(type(one) is relay._Running for one in gc.get_objects())


@pytest.mark.cluster
def test_a_worker_holds_nothing_of_a_run_that_has_ended(nodes: Any) -> None:
    runs_as_numpy_does(nodes)
    until = time.monotonic() + 30
    while any(nodes.client.run(held_here).values()):
        assert time.monotonic() < until
        time.sleep(0.05)
