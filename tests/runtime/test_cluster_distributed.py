"""Laws of running stages on real workers in processes of their own."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest

from dnumpy.config import config
from dnumpy.cost import Work
from dnumpy.cost.estimate import seconds
from dnumpy.errors import GatherTooLarge, WorkerLost
from dnumpy.plan.model import NodeRate
from dnumpy.plan.program import plan_rows
from dnumpy.plan.rates import phase_spec
from dnumpy.plan.work import kernel_name
from dnumpy.runtime import copies, dask_runs
from dnumpy.runtime import dask_cluster as module
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.dask_cluster import DaskCluster
from dnumpy.runtime.graph import Range
from dnumpy.runtime.stage_runs import Ran
from tests.runtime import programs as p
from tests.runtime.test_cluster import PROGRAMS

distributed = pytest.importorskip("distributed")
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

LOST = pytest.mark.modeless("workers are lost, and what they held is computed again, alike")
SPEEDS = (3.0, 1.0, 2.0, 1.0)


class Uneven(DaskCluster):
    """The rows follow given speeds, whatever was measured, so that small data is cut too."""

    joint = False

    def plan(self, name, work, granule, *_where_it_lies):
        rates = [NodeRate(a, 1.0 / s) for a, s in zip(self._alive, SPEEDS, strict=False)]
        return plan_rows(phase_spec(name, work), rates, granule, solver_below_seconds=float("inf"))


def client_of(workers: int, **options):
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0", **options
    )
    return cluster, distributed.Client(cluster, set_as_default=False)


@pytest.fixture(scope="module")
def shared():
    cluster, client = client_of(2)
    yield Uneven(client)
    client.close()
    cluster.close()


@pytest.fixture(scope="module")
def profiles(shared):
    shared.refresh()
    return list(shared.profiles.values())


async def stay_dead() -> None:
    """Stand in for the nanny's restart of a worker."""


@pytest.fixture
def mortal(profiles):
    """Three workers of which a test may kill some; none comes back by itself."""
    cluster, client = client_of(3)
    addresses = list(client.nthreads())
    known = {a: profiles[0].named(a) for a in addresses}
    for nanny in cluster.workers.values():
        nanny.instantiate = stay_dead
    yield Uneven(client, known)
    client.close()
    cluster.close()


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(config, "tile_rows_max", 5)
    monkeypatch.setattr(module, "HOME_BYTES", 0)
    monkeypatch.setattr(DaskCluster, "home_bytes", 0)


def kill(cluster: DaskCluster, address: str) -> None:
    pids = cluster.client.run(os.getpid, workers=[address])
    os.kill(pids[address], signal.SIGKILL)


@pytest.mark.parametrize("program", PROGRAMS)
def test_workers_give_what_the_reference_gives(shared, program):
    expected = p.meaning(program())
    roots = program()
    p.run(roots, shared)
    for got, want in zip(p.values(roots), expected, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.modeless("what is learnt is no matter of the mode")
def test_a_run_that_may_have_compiled_its_kernel_teaches_nothing(profiles, shared):
    first = DaskCluster(shared.client, {profile.name: profile for profile in profiles})
    first.refresh()
    work, rows = Work(1000, loops=(("arith", 50.0),)), Range(first.nodes()[0], 0, 1000)
    kernel = kernel_name("made up", work, "numba")
    first.learn("made up", work, [Ran(rows, 9.0, "numba")])
    assert not [name for name, _ in first.correction.kernels if name == kernel]
    first.learn("made up", work, [Ran(rows, 0.01, "numba")])
    assert [name for name, _ in first.correction.kernels if name == kernel]


@pytest.mark.modeless("what is learnt is no matter of the mode")
def test_pages_that_were_new_to_a_worker_do_not_make_it_slow(profiles, shared):
    def learnt(*, longer: float, paging: float) -> float:
        """Times are in those that are predicted."""
        cluster = DaskCluster(shared.client, {profile.name: profile for profile in profiles})
        cluster.refresh()
        work, rows = Work(1000, loops=(("arith", 1e5),)), Range(cluster.nodes()[0], 0, 1000)
        profile = cluster.profiles[rows.node]
        predicted = seconds(work, profile, 1000) - profile.launch_seconds
        ran = Ran(rows, longer * predicted, "tiled", paging * predicted)
        cluster.learn("made up", work, [ran])
        return cluster.correction.kernels[
            kernel_name("made up", work, "tiled"), cluster.label(rows.node)
        ].value

    slower = learnt(longer=1.4, paging=0.0)
    assert learnt(longer=1.8, paging=0.0) > slower > 0.0
    assert learnt(longer=1.8, paging=0.4) == pytest.approx(slower)
    assert learnt(longer=1.8, paging=1.5) == pytest.approx(0.0)  # as predicted, and no faster
    assert learnt(longer=0.8, paging=0.4) == pytest.approx(learnt(longer=0.8, paging=0.0))


def test_rows_lie_on_the_planned_workers(shared):
    x = p.call("negative", p.data(np.arange(400.0)))
    p.run([x], shared)
    assert isinstance(x.value, Chunked)
    holders = shared.client.who_has([part.data for part in x.value.parts])
    for part in x.value.parts:
        assert holders[part.data.key] == (part.node,)
    first, second = dict(x.value.rows_per_node()).values()
    assert 2.8 < first / second < 3.2


def test_results_on_workers_are_read_where_they_are(shared):
    x = p.call("negative", p.data(np.arange(400.0)))
    p.run([x], shared)
    y = p.call("multiply", x, 3.0)
    before = shared.client.run(received_bytes)
    p.run([y], shared)
    after = shared.client.run(received_bytes)
    assert before == after
    np.testing.assert_array_equal(p.values([y])[0], np.arange(400.0) * -3)


def test_only_the_rows_of_the_halo_travel(shared):
    x = p.call("negative", p.data(np.arange(4000.0).reshape(400, 10)))
    p.run([x], shared)
    y = p.call("add", p.view(x, lambda a: a[:-2]), p.view(x, lambda a: a[2:]))
    before = sum(shared.client.run(received_bytes).values())
    p.run([y], shared)
    moved = sum(shared.client.run(received_bytes).values()) - before
    assert 0 < moved <= 10 * 80  # two rows of halo, and at most a tile by which the cuts differ
    want = -(np.arange(4000.0).reshape(400, 10))
    np.testing.assert_array_equal(p.values([y])[0], want[:-2] + want[2:])


def received_bytes(dask_worker) -> int:
    return sum(row["total"] for row in dask_worker.transfer_incoming_log)


def test_a_home_array_is_sent_once_to_be_read_twice(shared):
    x = p.data(np.random.default_rng(0).normal(size=(40_000, 8)))  # too much to go with a task
    p.run([p.call("negative", x)], shared)
    assert [lo for lo, _ in sorted((s.start, s.stop) for s in shared.copies(x))] == [0, 30_000]
    copies = dict(shared._copies.of[id(x)][1])
    assert len(copies) == 2
    roots = [p.call("square", x)]
    p.run(roots, shared)
    assert shared._copies.of[id(x)][1] == copies
    np.testing.assert_array_equal(p.values(roots)[0], np.square(x.value))
    key = id(x)
    del x, roots
    shared.refresh()
    assert key not in shared._copies.of


def test_what_stays_does_not_come_home_with_a_part_that_might(shared, monkeypatch):
    grid = np.arange(240.0).reshape(40, 6)
    for limit in (0, 5 * 40 * 8, 6 * 40 * 8):  # below, between and above the region and the whole
        monkeypatch.setattr(DaskCluster, "home_bytes", limit)
        x = p.data(grid)
        value = p.call("add", p.view(x, lambda a: a[:, :-1]), 1.0)
        y = p.update(x, lambda a: a[:, :-1], value)
        p.run([y], shared)
        z = p.call("multiply", y, 2.0)
        p.run([z], shared)
        want = grid * 2
        want[:, :-1] += 2
        np.testing.assert_array_equal(p.values([z])[0], want)


def test_the_users_own_error_comes_back_unchanged(shared):
    x = p.call("negative", p.data(np.arange(40.0)))
    bad = p.matmul(p.call("add", p.data(np.ones((6, 4))), 1.0), p.data(np.ones((4, 2))))
    object.__setattr__(bad.args[1], "shape", (5, 2))
    bad.args[1].value = np.ones((5, 2))
    with pytest.raises(ValueError, match="matmul"):
        p.run([x, bad], shared)


def test_what_does_not_fit_at_home_is_not_gathered(shared, monkeypatch):
    x = p.call("negative", p.data(np.arange(4000.0)))
    p.run([x], shared)
    monkeypatch.setattr(config, "memory_limit", 1000)
    with pytest.raises(GatherTooLarge, match="32000 bytes"):
        p.values([x])


@LOST
def test_lost_rows_are_computed_again_for_a_later_run(mortal):
    x = p.call("negative", p.data(np.arange(600.0).reshape(200, 3)))
    p.run([x], mortal)
    y = p.call("add", x, 1.0)
    p.run([y], mortal)
    kill(mortal, y.value.parts[0].node)
    del x
    z = p.call("multiply", y, 2.0)
    p.run([z], mortal)
    want = -np.arange(600.0).reshape(200, 3) + 1
    np.testing.assert_array_equal(p.values([z])[0], want * 2)
    np.testing.assert_array_equal(p.values([y])[0], want)
    assert len({part.node for part in y.value.parts}) <= 2


@LOST
def test_lost_rows_are_computed_again_when_they_are_looked_at(mortal):
    roots = PROGRAMS[0]()
    expected = p.meaning(roots)
    p.run(roots, mortal)
    kill(mortal, roots[0].value.parts[1].node)
    time.sleep(0.2)
    np.testing.assert_allclose(p.values(roots)[0], expected[0], rtol=1e-12)


@LOST
@pytest.mark.parametrize("victims", [1, 2])
def test_killing_workers_during_a_run_gives_the_right_answer(mortal, victims, monkeypatch):
    grid = np.random.default_rng(1).integers(0, 9, size=(200, 200))

    def program():
        x = p.data(grid)
        for _ in range(12):
            x = p.call("remainder", p.matmul(p.call("add", x, 1), p.data(grid)), 7)
        return [x, p.total(x, (0,))]

    expected = p.meaning(program())
    mortal.refresh()
    doomed = list(mortal._alive)[:victims]
    lost = []
    wait, recover = mortal._runs._wait, mortal.recover

    def wait_and_kill(futures, nodes):
        if doomed:
            kill(mortal, doomed.pop())
        wait(futures, nodes)

    def recover_and_note(attempt, problem):
        lost.append(problem.nodes)
        recover(attempt, problem)

    monkeypatch.setattr(mortal._runs, "_wait", wait_and_kill)
    monkeypatch.setattr(mortal, "recover", recover_and_note)
    roots = program()
    p.run(roots, mortal)
    assert len(lost) >= victims
    for got, want in zip(p.values(roots), expected, strict=True):
        np.testing.assert_array_equal(got, want)


@LOST
def test_a_worker_that_falls_silent_is_worked_around(mortal, monkeypatch):
    monkeypatch.setattr(dask_runs, "SILENT_SECONDS", 3.0)
    monkeypatch.setattr(dask_runs, "WATCH_SECONDS", 0.1)
    x = p.call("negative", p.data(np.arange(600.0).reshape(200, 3)))
    p.run([x], mortal)
    silent = x.value.parts[0].node
    pid = mortal.client.run(os.getpid, workers=[silent])[silent]
    os.kill(pid, signal.SIGSTOP)
    try:
        y = p.call("add", x, 1.0)
        p.run([y], mortal)
        np.testing.assert_array_equal(p.values([y])[0], 1 - np.arange(600.0).reshape(200, 3))
        assert silent not in dict(y.value.rows_per_node())
    finally:
        os.kill(pid, signal.SIGCONT)


@LOST
@pytest.mark.parametrize("way", ["sent", "asked"])
def test_a_worker_that_falls_silent_is_not_waited_for_while_it_is_(mortal, monkeypatch, way):
    monkeypatch.setattr(dask_runs, "SILENT_SECONDS", 3.0)
    monkeypatch.setattr(dask_runs, "WATCH_SECONDS", 0.1)
    monkeypatch.setattr(copies, "WATCH_SECONDS", 0.1)
    mortal.refresh()
    mortal._copies._directly(next(iter(mortal._alive)))
    silent = next(iter(mortal._alive))
    pid = mortal.client.run(os.getpid, workers=[silent])[silent]
    os.kill(pid, signal.SIGSTOP)
    try:
        if way == "asked":
            with pytest.raises(ConnectionError, match="went away"):
                mortal._members.ask(os.getpid, workers=list(mortal._alive))
        else:
            x = p.data(np.arange(120_000.0))  # more than goes with a task
            y = p.call("negative", x)
            p.run([y], mortal)
            np.testing.assert_array_equal(p.values([y])[0], -np.arange(120_000.0))
            assert silent not in dict(y.value.rows_per_node())
        assert silent in mortal._members.mute
    finally:
        os.kill(pid, signal.SIGCONT)


@LOST
def test_when_no_worker_is_left_the_error_says_so(mortal, monkeypatch):
    monkeypatch.setattr(dask_runs, "NEW_WORKER_SECONDS", 2.0)
    x = p.call("negative", p.data(np.arange(60.0)))
    p.run([x], mortal)
    for address in list(mortal._alive):
        kill(mortal, address)
    with pytest.raises(WorkerLost, match="no worker left"):
        p.values([x])


@LOST
def test_what_cannot_be_computed_again_is_named(mortal):
    x = p.call("negative", p.data(np.arange(600.0).reshape(200, 3)))
    p.run([x], mortal)
    x.value.source.producer = None  # as for an array older than the lineage that is kept
    kill(mortal, x.value.parts[0].node)
    time.sleep(0.2)
    with pytest.raises(WorkerLost, match=r"shape \(200, 3\) were lost"):
        p.values([x])


@LOST
def test_a_closed_client_runs_nothing_and_what_lay_there_is_computed_again_here(profiles):
    cluster, client = client_of(2)
    try:
        here = Uneven(client, {a: profiles[0].named(a) for a in client.nthreads()})
        x = p.call("negative", p.data(np.arange(600.0).reshape(200, 3)))
        p.run([x], here)
        client.close()
        with pytest.raises(WorkerLost, match=r"the client is closed.* connect a new Client"):
            p.run([p.call("add", x, 1.0)], here)
        (values,) = p.values([x])
        np.testing.assert_array_equal(values, -np.arange(600.0).reshape(200, 3))
    finally:
        client.close()
        cluster.close()


def test_what_each_worker_reads_whole_is_its_own_and_stays(shared):
    left = p.call("negative", p.data(np.random.default_rng(0).normal(size=(400, 300))))
    p.run([left], shared)
    right = p.data(np.random.default_rng(1).normal(size=(300, 300)))
    expected = -np.random.default_rng(0).normal(size=(400, 300)) @ right.value
    moved = []
    for _ in range(3):
        found = p.matmul(left, right)
        p.run([found], shared)
        np.testing.assert_allclose(p.values([found])[0], expected)
        moved.append(sum(shared.client.run(received_bytes).values()))
        shared.client.amm.run_once()  # drops all but one copy of what workers sent one another
    assert len(set(moved)) == 1
    assert shared.mirrored(right)
    assert shared.holders(right) == tuple(shared.nodes())
