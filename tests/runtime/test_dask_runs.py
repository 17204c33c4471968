"""What is given up on workers takes nothing else with it."""

from __future__ import annotations

import operator
import threading
import time
from typing import Any

import pytest
from dask._task_spec import Task, TaskRef
from distributed import Event, wait

from dnumpy.runtime import dask_cluster as module
from dnumpy.runtime import dask_runs
from dnumpy.runtime.dask_cluster import DaskCluster
from tests.runtime.test_cluster_distributed import profiles, shared

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]
__all__ = ["profiles", "shared"]  # fixtures


def refuse() -> None:
    msg = "as it was told to"
    raise ArithmeticError(msg)


def wait_until_set(_: object, name: str) -> None:
    Event(name).wait(60)


@pytest.mark.parametrize("way", ["results", "wait_for"])
def test_a_run_that_fails_takes_nothing_else_with_it(shared: Any, way: str) -> None:
    """Though a task that nobody waits for reads what is given up."""
    shared.refresh()
    client, runs = shared.client, shared._runs
    node = next(iter(shared._alive))
    kept = client.submit(operator.add, 1, 2, workers=[node], pure=False)
    first, between, last = (f"{name}-{way}" for name in ("first", "between", "last"))
    with client.as_current():
        wait([kept])
        go_on = Event(way, client)
        tasks = {
            first: Task(first, int),
            between: Task(between, wait_until_set, TaskRef(first), way),
            last: Task(last, operator.not_, TaskRef(between)),
        }
        if way == "results":
            tasks["bad"] = Task("bad", refuse)
            with pytest.raises(ArithmeticError, match="as it was told to"):
                runs.results({node: tasks}, [], [first, last, "bad"], frozenset({node}), retries=0)
        else:
            futures = runs.beside({node: tasks}, [first, last])
            runs.wait_for([*futures.values()], frozenset({node, "one that is gone"}))
        go_on.set()
    deadline = time.monotonic() + 30
    while {first, last} & set(client.futures) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not {first, last} & set(client.futures)
    assert client.submit(operator.add, 2, 3, pure=False).result(timeout=30) == 5
    assert client.status == "running"
    assert kept.status == "finished"
    assert client.who_has([kept])[kept.key] == (node,)
    assert kept.result(timeout=30) == 3


def test_who_is_gone_is_not_asked_for_half_a_minute(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.refresh()
    members, node = shared._members, next(iter(shared._alive))
    monkeypatch.setattr(dask_runs, "WATCH_SECONDS", 0.01)
    assert members.watched([node], lambda: 3) == 3
    assert members.ask(operator.add, 1, 2, workers=[node]) == {node: 3}
    with pytest.raises(ZeroDivisionError):
        members.watched([node], lambda: 1 // 0)
    never = threading.Event()
    with pytest.raises(ConnectionError, match=r"went away before they answered: .*nobody"):
        members.watched([node, "nobody"], lambda: never.wait(60))
    never.set()


def test_a_worker_that_goes_while_it_is_measured_is_no_error(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = DaskCluster(shared.client, {})
    measured: list[Any] = []
    probe = module.probe_cluster

    def goes_at_first(client: Any, workers: list[str]) -> Any:
        measured.append(workers)
        if len(measured) == 1:
            raise ConnectionError
        return probe(client, workers=workers)

    monkeypatch.setattr(module, "probe_cluster", goes_at_first)
    cluster.refresh()
    assert len(measured) == 2
    assert set(cluster.nodes()) == set(shared.client.nthreads())


def test_who_has_fallen_silent_is_not_waited_for(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.refresh()
    members, node = shared._members, next(iter(shared._alive))
    monkeypatch.setattr(dask_runs, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(members, "mute", set())
    monkeypatch.setattr(members, "silent", lambda: {node, "another"})
    never = threading.Event()
    with pytest.raises(ConnectionError, match=r"went away before they answered"):
        members.watched([node], lambda: never.wait(60))
    assert members.mute == {node}
    assert members.watched([node], lambda: 3) == 3
    never.set()
