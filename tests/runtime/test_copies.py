"""Copies of home arrays go to several workers at the same time, once."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dnumpy.runtime import copies, dask_runs
from dnumpy.runtime.failures import NodesLost
from tests.runtime import programs as p
from tests.runtime.test_cluster_distributed import profiles, shared

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]
__all__ = ["profiles", "shared"]  # fixtures
LONG = 40_000  # doubles that are too much to go with a task


def scatters(
    nodes: Any, monkeypatch: pytest.MonkeyPatch, before: Callable[[str], object]
) -> list[str]:
    """Let something happen before each copy is sent; return the workers that were sent one."""
    scatter, sent = nodes.client.scatter, []

    def sending(data: Any, workers: list[str], **how: Any) -> Any:
        before(*workers)
        sent.extend(workers)
        return scatter(data, workers=workers, **how)

    nodes.refresh()
    nodes._copies._directly(next(iter(nodes._alive)))
    monkeypatch.setattr(nodes.client, "scatter", sending)
    return sent


def test_all_workers_are_sent_their_copy_at_the_same_time(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared.refresh()
    together = threading.Barrier(len(shared._alive), timeout=30)
    sent = scatters(shared, monkeypatch, lambda _: together.wait())
    x = p.data(np.random.default_rng(1).random(LONG))
    placed = [shared.place(x.value, node, x, "all") for node in shared._alive]
    assert shared._copies.holders(x, shared._alive) == tuple(shared._alive)
    shared._copies.arrive()
    assert sorted(sent) == sorted(shared._alive)
    again = [shared.place(x.value, node, x, "all") for node in shared._alive]
    assert [ref.key for ref in again] == [ref.key for ref in placed]
    held = shared.client.has_what()
    assert all(ref.key in held[node] for ref, node in zip(placed, shared._alive, strict=True))


def test_a_copy_that_does_not_arrive_is_sent_again(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed: list[str] = []

    def fail_once(node: str) -> None:
        if not failed:
            failed.append(node)
            raise OSError(node)

    scatters(shared, monkeypatch, fail_once)
    x = p.data(np.random.default_rng(2).random(LONG))
    node = next(iter(shared._alive))
    first = shared.place(x.value, node, x, "all")
    with pytest.raises(NodesLost) as lost:
        shared._copies.arrive()
    assert lost.value.nodes == {node}
    assert shared.place(x.value, node, x, "all").key != first.key
    shared._copies.arrive()


@pytest.mark.parametrize("kept", [True, False])
def test_a_worker_that_is_gone_is_not_waited_for(
    shared: Any, monkeypatch: pytest.MonkeyPatch, kept: bool
) -> None:
    """A message to it is tried for half a minute."""
    tried, gone = threading.Event(), threading.Event()

    def send(_: str) -> None:
        tried.set()
        assert gone.wait(60)

    scatters(shared, monkeypatch, send)
    node, *others = shared._alive
    monkeypatch.setattr(copies, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(dask_runs, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(shared._members, "workers", lambda: others if tried.is_set() else [node])
    x = p.data(np.random.default_rng(5).random(LONG))

    def sent() -> None:
        shared.place(x.value, node, x if kept else None, "all")
        shared._copies.arrive()

    try:
        with pytest.raises(NodesLost) as lost:
            sent()
    finally:
        gone.set()
    assert lost.value.nodes == {node}
    monkeypatch.undo()
    assert shared._copies.rows(x, shared._alive) == []
    again = shared.place(x.value, node, x, "all")
    shared._copies.arrive()
    assert again.key in shared.client.has_what()[node]


def test_copies_wait_for_no_others_that_are_tried_in_vain(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They go to another worker meanwhile."""
    tried, gone = threading.Event(), threading.Event()
    lost, there = shared._alive

    def send(node: str) -> None:
        if node == lost:
            tried.set()
            assert gone.wait(60)

    scatters(shared, monkeypatch, send)
    monkeypatch.setattr(copies, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(dask_runs, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(shared._members, "workers", lambda: [there])
    arrays = [p.data(np.random.default_rng(k).random(LONG)) for k in range(copies.SENDERS)]
    x = p.data(np.random.default_rng(9).random(LONG))
    try:
        for array in arrays:
            shared.place(array.value, lost, array, "all")
        assert tried.wait(60)
        shared.place(x.value, there, x, "all")  # behind them all
        with pytest.raises(NodesLost):
            shared._copies.arrive()
        again = shared.place(x.value, there, x, "all")
        shared._copies.arrive()
        assert again.key in shared.client.has_what()[there]
    finally:
        gone.set()


def test_an_interrupt_leaves_copies_on_their_way(
    shared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scatters(shared, monkeypatch, lambda _: None)
    x = p.data(np.random.default_rng(4).random(LONG))
    node = next(iter(shared._alive))
    placed = shared.place(x.value, node, x, "all")

    def interrupted(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(copies, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            shared._copies.arrive()
    assert shared.place(x.value, node, x, "all").key == placed.key
    shared._copies.arrive()
    assert placed.key in shared.client.has_what()[node]


def test_a_run_whose_copy_fails_begins_anew(shared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    failed: list[str] = []

    def fail_once(node: str) -> None:
        if not failed:
            failed.append(node)
            raise OSError(node)

    x = p.data(np.random.default_rng(3).random((LONG, 8)))
    scatters(shared, monkeypatch, fail_once)
    roots = [p.call("square", x)]
    p.run(roots, shared)
    assert failed
    np.testing.assert_array_equal(p.values(roots)[0], np.square(x.value))
