"""Relays give what tasks give; and nothing that goes wrong with one makes anybody wait for ever."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from dnumpy.config import config
from dnumpy.runtime import dask_cluster as module
from dnumpy.runtime import received, relay, relayed
from dnumpy.runtime.dask_cluster import DaskCluster
from dnumpy.runtime.relay import Argument, Leg, RelayBroken, Step, run_leg
from tests.runtime import programs as p
from tests.runtime.test_cluster import PROGRAMS
from tests.runtime.test_cluster_distributed import Uneven, client_of

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(120),
    pytest.mark.modeless("how tasks are run is no matter of the mode"),
]


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Any, Any]]:
    """Two clients of the same two workers, of one thread each."""
    from distributed import Client

    cluster, client = client_of(2)
    other = Client(cluster, set_as_default=False)
    yield Uneven(client), Uneven(other)
    other.close()
    client.close()
    cluster.close()


@pytest.fixture
def nodes(pair: tuple[Any, Any]) -> Any:
    pair[0]._relays_again = float("-inf")
    pair[0].refresh()
    return pair[0]


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(DaskCluster, "home_bytes", 0)
    monkeypatch.setattr(relayed, "LONGEST_STEP", float("inf"))  # given speeds are no seconds


@pytest.fixture
def relays(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """All relays from now on, but those that are tried out."""
    seen: list[Any] = []
    cut = module.relayed

    def noted(legs: Any, *args: Any) -> Any:
        found = cut(legs, *args)
        seen.extend([found] * (legs.nodes[0].label != "trial"))
        return found

    monkeypatch.setattr(module, "relayed", noted)
    return seen


def chain(steps: int = 4) -> list[Any]:
    """Steps each of which reads all rows of the one before."""
    x = p.data(np.random.default_rng(0).integers(0, 9, size=(60, 60)))
    rows = p.data(np.random.default_rng(1).integers(0, 9, size=(60, 60)))
    for _ in range(steps):
        x = p.call("remainder", p.matmul(rows, p.call("add", x, 1)), 7)
    return [x, p.total(x, (0,))]


@pytest.mark.parametrize("program", [*PROGRAMS, chain])
def test_a_relay_gives_bit_for_bit_what_tasks_give(
    nodes: Any, program: Any, relays: list[Any]
) -> None:
    by_relay = program()
    p.run(by_relay, nodes)
    assert relays or program is not chain
    nodes._relays_again = float("inf")
    count = len(relays)
    by_tasks = program()
    p.run(by_tasks, nodes)
    assert len(relays) == count
    for one, other in zip(p.values(by_relay), p.values(by_tasks), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_a_chain_is_one_task_a_node_and_what_stays(nodes: Any, relays: list[Any]) -> None:
    roots = chain()
    p.run(roots, nodes)
    (one,) = relays
    assert set(one.tasks) == set(nodes._alive)
    for tasks in one.tasks.values():
        leg, *others = [key.split("-")[1] for key in tasks]
        assert leg == "leg"
        # rows that stay, and what comes home; nothing of what travels
        assert set(others) <= {"rows", "contract", "home"}


def test_a_loop_is_a_relay_however_much_it_makes_if_little_is_held_at_once(
    nodes: Any, relays: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = 60 * 60 * 8  # bytes of a step's result
    monkeypatch.setattr(DaskCluster, "_relay_room", lambda _: 5 * held)
    p.run(chain(12), nodes, alone=True)
    assert len(relays) == 1
    p.run(chain(12), nodes)  # twenty-four results stay
    assert len(relays) == 1


def test_runs_of_two_clients_do_not_wait_for_one_another(
    pair: tuple[Any, Any], relays: list[Any]
) -> None:
    found: list[Any] = []

    def repeat(cluster: Any) -> None:
        for _ in range(5):
            roots = chain()
            p.run(roots, cluster)
            found.append(p.values(roots))

    for cluster in pair:
        cluster.refresh()
        cluster._relays_again = float("-inf")
    threads = [threading.Thread(target=repeat, args=(cluster,)) for cluster in pair]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 10
    assert len(relays) == 10  # none was broken and run again as tasks
    for values in found[1:]:
        for one, other in zip(values, found[0], strict=True):
            np.testing.assert_array_equal(one, other)


def close_station(dask_worker: Any) -> None:
    del dask_worker.handlers[relay.HAND_OVER]
    close_lines(dask_worker)


def close_lines(dask_worker: Any) -> int:
    """Break the connections on which results arrive; return how many there were."""
    lines = [comm for comm, op in dask_worker._comms.items() if op == relay.HAND_OVER]
    for comm in lines:
        dask_worker.loop.add_callback(comm.abort)
    return len(lines)


def test_a_connection_that_broke_is_made_again(nodes: Any, relays: list[Any]) -> None:
    expected = p.meaning(chain())
    for _ in range(3):
        roots = chain()
        p.run(roots, nodes)
        for got, want in zip(p.values(roots), expected, strict=True):
            np.testing.assert_array_equal(got, want)
        assert any(nodes.client.run(close_lines).values())
        time.sleep(0.1)
    assert len(relays) == 3  # none was broken


def test_small_values_are_sent_as_bytes_and_large_ones_beside() -> None:
    small = (np.arange(5), "word", {"a": np.float32(2)}, np.arange(12).reshape(3, 4).T)
    sent = received.sendable(small)
    assert type(sent) is received.Packed
    back = received.sent_value(list(sent))
    assert str(back) == str(small)
    back[0][...] = 1  # it is the reader's own
    large = np.arange(received.SMALL_BYTES)
    assert received.sent_value(received.sendable(large)) is large


def reopen_station(dask_worker: Any) -> None:
    relay.open_station(dask_worker)


def test_where_a_relay_cannot_be_the_run_goes_task_by_task(nodes: Any, relays: list[Any]) -> None:
    expected = p.meaning(chain())
    deaf = next(iter(nodes._alive))
    nodes.client.run(close_station, workers=[deaf])
    try:
        for _ in range(2):
            roots = chain()
            p.run(roots, nodes)
            for got, want in zip(p.values(roots), expected, strict=True):
                np.testing.assert_array_equal(got, want)
    finally:
        nodes.client.run(reopen_station, workers=[deaf])
    assert len(relays) == 1  # the second run did not try


def waiting_leg(run: str) -> Leg:
    """Return a leg that waits for a result that nobody sends."""
    return Leg(run, (Step("own", max, (Argument(key="never"), Argument(1))),), {}, ("own",))


def runs_here(dask_worker: Any) -> int:
    return len(relay._stations[dask_worker.address]._running)


def test_a_leg_that_waits_lets_others_run_and_ends_when_it_is_cancelled(nodes: Any) -> None:
    (address, *_) = nodes._alive
    leg = nodes.client.submit(run_leg, waiting_leg("cancelled"), workers=[address], pure=False)
    assert nodes.client.submit(sum, [1, 2], workers=[address], pure=False).result(30) == 3
    assert nodes.client.run(runs_here, workers=[address])[address] == 1
    nodes.client.cancel([leg], force=True)
    until = time.monotonic() + 30
    while nodes.client.run(runs_here, workers=[address])[address]:
        assert time.monotonic() < until
        time.sleep(0.1)


def be_impatient(seconds: float) -> float:
    before, relay.STALL_SECONDS = relay.STALL_SECONDS, seconds
    return before


def test_a_leg_that_hears_nothing_gives_up(nodes: Any) -> None:
    (address, *_) = nodes._alive
    before = nodes.client.run(be_impatient, 0.5, workers=[address])[address]
    try:
        leg = nodes.client.submit(run_leg, waiting_leg("stalled"), workers=[address], pure=False)
        with pytest.raises(RelayBroken, match="heard nothing"):
            leg.result(60)
        late = nodes.client.submit(run_leg, waiting_leg("stalled"), workers=[address], pure=False)
        with pytest.raises(RelayBroken, match="over"):
            late.result(60)
    finally:
        nodes.client.run(be_impatient, before, workers=[address])


def test_what_arrives_before_its_leg_is_there_when_it_begins() -> None:
    running = relay._Running()
    running.take("never", 5)
    running.take("never", 6)  # a message that was sent again
    leg = waiting_leg("early")
    running.begin(leg, ())
    step = running.next_step()
    assert step is leg.steps[0]
    arguments = running.arguments(step)
    running.end(step, step.function(*arguments))
    assert running.given == {"own": 5}
    assert not running.left
    assert running.can_go_on()
    assert running.next_step() is None


def test_results_are_let_go_by_who_reads_them_last() -> None:
    steps = tuple(Step(f"s{k}", np.copy, (Argument(key="x"),)) for k in range(2))
    running = relay._Running()
    running.begin(Leg("r", steps, {}, ()), ())
    running.take("x", np.ones(3))
    for held in (True, False):
        step = running.next_step()
        assert step is not None
        running.arguments(step)
        assert (running._values["x"] is not None) is held
        running.end(step, None)


def test_workers_of_one_process_hand_over_as_others_do(relays: list[Any]) -> None:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=2, processes=False, dashboard_address=":0"
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        inside = Uneven(client)
        inside.refresh()
        roots = chain()
        p.run(roots, inside)
        found = p.values(roots)
    assert len(relays) == 1
    for got, want in zip(found, p.meaning(chain()), strict=True):
        np.testing.assert_array_equal(got, want)
