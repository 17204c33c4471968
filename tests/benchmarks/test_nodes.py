"""A cluster of unequal nodes: what each may use really holds, and nothing of it is left."""

from __future__ import annotations

import io
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy
import pytest
from rich.console import Console

from benchmarks import contest, netns, nodes, quota
from benchmarks.nodes import NodeSpec, StartError, unequal_nodes, why_no_nodes
from dnumpy.engine import profile_here
from dnumpy.runtime import find

ROOT = Path(__file__).parents[2]
FAST = NodeSpec.parse("cpu=0.8,mem=1G,net=1gbit")
SLOW = NodeSpec.parse("cpu=0.2,mem=384M,net=20mbit")
SPARE = 1.25  # what a burst, or one more period of the quota, adds to a short measurement
REASON = why_no_nodes()

cluster = [
    pytest.mark.alone,
    pytest.mark.cluster,
    pytest.mark.timeout(120),
    pytest.mark.modeless("quotas and networks are the system's"),
    pytest.mark.skipif(bool(REASON), reason=REASON or "nodes can be made"),
]


def marked(test):
    """Mark a test as one that needs a cluster."""
    for mark in cluster:
        test = mark(test)
    return test


# what is asked for -----------------------------------------------------------------------------


def test_a_node_is_read_from_what_it_may_use():
    assert NodeSpec.parse("cpu=0.25,mem=1G,net=100mbit") == NodeSpec(0.25, 1 << 30, 1e8)
    assert NodeSpec.parse("net=1.5gbit,mem=512MiB") == NodeSpec(1.0, 512 << 20, 1.5e9)
    assert NodeSpec.parse("cpu=0.5") == NodeSpec.parse("0.5") == NodeSpec(0.5)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "cpu=",
        "cpu=0",
        "cpu=fast",
        "gpu=1",
        "cpu=1,cpu=1",
        "mem=1",
        "mem=2X",
        "net=100",
        "0.5,1",
    ],
)
def test_a_node_that_makes_no_sense_is_refused(text):
    with pytest.raises(ValueError, match=r"expected|needs"):
        NodeSpec.parse(text)


@pytest.mark.parametrize("spec", [FAST, SLOW, NodeSpec(0.5), NodeSpec(1.0, 300 << 20)])
def test_a_node_is_printed_as_it_is_read(spec):
    assert NodeSpec.parse(str(spec)) == spec


def test_without_the_tools_it_is_said_which_are_missing(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    netns.why_no_network.cache_clear()
    try:
        assert netns.why_no_network() == (
            "no ip, tc, nsenter, setpriv (packages iproute2 and util-linux)"
        )
        assert "iproute2" in why_no_nodes()
    finally:
        netns.why_no_network.cache_clear()


def test_who_is_not_root_is_told_so(monkeypatch):
    monkeypatch.setattr(netns, "TOOLS", ())
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    netns.why_no_network.cache_clear()
    try:
        assert netns.why_no_network() == "only root may make network namespaces"
    finally:
        netns.why_no_network.cache_clear()


def test_without_control_groups_it_is_said_so(monkeypatch, tmp_path):
    monkeypatch.setattr(quota, "CPU_GROUPS", tmp_path / "cpu")
    monkeypatch.setattr(quota, "MEMORY_GROUPS", tmp_path / "memory")
    assert "no writable cgroup v1 CPU controller" in quota.why_no_quota()
    assert "no writable cgroup v1 memory controller" in quota.why_no_memory_limit()


# what holds inside -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running():
    """Two nodes; the last test that uses them is followed by a look at what is left."""
    with unequal_nodes([FAST, SLOW]) as made:
        yield made
        pids = made.pids
    assert own_leftovers() == []
    assert not [pid for pid in pids if quota.alive(pid)]


def own_leftovers() -> list[str]:
    """Return what carries this process's number."""
    return leftovers_of(os.getpid())


def leftovers_of(pid: int) -> list[str]:
    groups = [
        *quota.CPU_GROUPS.glob(f"dnumpy-{pid}-*"),
        *quota.MEMORY_GROUPS.glob(f"dnumpy-{pid}-*"),
    ]
    named = [
        n for n in netns.devices() + netns.namespaces() if int(netns.OURS.fullmatch(n)[1]) == pid
    ]
    return [group.name for group in groups] + named


def share_of_a_core(seconds: float) -> float:
    """Return the CPU time that a busy loop gets, per second."""
    started, busy = time.perf_counter(), time.process_time()
    while time.perf_counter() - started < seconds:
        pass
    return (time.process_time() - busy) / (time.perf_counter() - started)


@marked
@pytest.mark.parametrize("share", [0.01, 0.09, 0.1, 0.55, 1.0])
def test_the_kernel_takes_every_share_that_a_node_may_ask_for(share):
    with quota.cpu_share(share, []) as group:
        period, allowed = (
            int((group / f"cpu.cfs_{name}_us").read_text()) for name in ("period", "quota")
        )
    assert allowed / period == pytest.approx(share, rel=0.01)


@marked
def test_no_node_gets_more_of_a_core_than_its_share(running):
    got = running.client.run(share_of_a_core, 0.6)
    for spec, address in zip(running.specs, running.addresses, strict=True):
        assert 0 < got[address] <= spec.cpu * SPARE
    throttled = (
        quota.CPU_GROUPS / f"dnumpy-{os.getpid()}-{running.pids[1]}" / "cpu.stat"
    ).read_text()
    assert int(dict(line.split() for line in throttled.splitlines())["nr_throttled"]) > 0


HOARD = """
import sys
held = []
while len(held) < {most}:
    held.append(bytearray(b"x") * (16 << 20))
    print(len(held), flush=True)
"""


def hoarded(most_bytes: int) -> tuple[int, int]:
    """Return how many bytes a process started by the worker came to hold, and its status."""
    program = HOARD.format(most=most_bytes >> 24)
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True
    )
    return int(done.stdout.split()[-1]) << 24, done.returncode


@marked
def test_a_node_cannot_hold_more_bytes_than_its_limit(running):
    fast, slow = running.addresses
    limit = SLOW.memory_bytes
    held, status = running.client.run(hoarded, limit + (64 << 20), workers=[slow])[slow]
    assert status == -signal.SIGKILL
    assert 0 < held < limit
    held, status = running.client.run(hoarded, limit + (64 << 20), workers=[fast])[fast]
    assert (held, status) == (
        limit + (64 << 20),
        0,
    )  # the same is allowed where the limit is higher
    assert set(running.client.nthreads()) == {fast, slow}


def sent(address: str, port: int, nbytes: int) -> None:
    with socket.create_connection((address, port)) as connection:
        connection.sendall(bytes(nbytes))


def received(address: str, port: int) -> float:
    """Return the bytes per second at which the bytes of a connection come, until it is closed."""
    with socket.create_connection((address, port)) as connection:
        return rate_of(connection)


def rate_of(connection: socket.socket) -> float:
    """Return the rate after the first 256 kB, which fit in the bursts."""
    before = 0
    while before < 256 << 10 and (got := len(connection.recv(1 << 16))):
        before += got
    started, nbytes = time.perf_counter(), 0
    while got := len(connection.recv(1 << 20)):
        nbytes += got
    return nbytes / (time.perf_counter() - started)


def rates_through(running, address: str, nbytes: int) -> tuple[float, float]:
    """Return bytes per second to this machine from a node, and back."""
    rates = []
    with socket.create_server((running.here, 0)) as server:
        port = server.getsockname()[1]
        for theirs, ours in ((sent, rate_of), (received, lambda c: c.sendall(bytes(nbytes)))):

            def serve(act=ours):
                connection, _ = server.accept()
                with connection:
                    rates.append(act(connection))

            thread = threading.Thread(target=serve)
            thread.start()
            more = (nbytes,) if theirs is sent else ()
            got = running.client.run(theirs, running.here, port, *more, workers=[address])
            thread.join(60)
            rates.append(got[address])
    outward, _, _, inward = rates
    return outward, inward


@marked
def test_no_node_sends_or_receives_faster_than_its_link(running):
    limit = SLOW.bits_per_second / 8
    for rate in rates_through(running, running.addresses[1], 3 << 20):
        assert 0 < rate <= limit * SPARE
    faster = rates_through(running, running.addresses[0], 16 << 20)
    assert max(faster) > 2 * limit  # so it is the link of the slow node that limits it
    assert max(faster) <= FAST.bits_per_second / 8 * SPARE


@marked
def test_between_two_nodes_the_slower_link_counts(running):
    fast, slow = running.addresses
    host = slow.removeprefix("tcp://").rpartition(":")[0]
    port = running.client.run(listen, workers=[slow])[slow]
    future = running.client.submit(served, workers=[slow], pure=False)
    running.client.run(sent, host, port, 3 << 20, workers=[fast])
    assert 0 < future.result(60) <= SLOW.bits_per_second / 8 * SPARE


def listen(dask_worker) -> int:
    dask_worker.server_of_the_test = socket.create_server(("0.0.0.0", 0))  # noqa: S104 - inside its namespace
    return dask_worker.server_of_the_test.getsockname()[1]


def served() -> float:
    from distributed import get_worker

    with get_worker().server_of_the_test as server:
        connection, _ = server.accept()
        with connection:
            return rate_of(connection)


@pytest.fixture(scope="module")
def profiles(running):
    """This machine's profile for both nodes: how well they are measured is tested elsewhere."""
    return {address: profile_here().named(address) for address in running.addresses}


@marked
def test_a_program_on_the_nodes_gives_what_numpy_gives(running, profiles, monkeypatch):
    monkeypatch.setattr(find, "SURELY", 0)  # so little would be done at home
    program = next(program for program in contest.PROGRAMS if program.name == "fma_sum")
    (result,) = contest.compete(running.client, [program], scale=0.25, runs=1, profiles=profiles)
    first, second = result.even.rows  # compete has compared the sums with NumPy's
    assert first + second == 2_000_000
    assert 0.4 < first / second < 2.5
    assert sum(result.planned.rows) == 2_000_000
    assert len(result.planned.seconds) == len(result.even.seconds) == 1
    table = Console(width=160, file=(text := io.StringIO()))
    table.print(contest.table(running.specs, [result]))
    assert all(str(spec) in text.getvalue() for spec in running.specs)
    assert f"{first:,}" in text.getvalue()


@marked
def test_a_program_that_differs_from_numpy_is_not_timed(running, profiles):
    wrong = contest.Program("wrong", "wrong", 1, lambda np, _: 1.0 if np is numpy else 2.0)
    with pytest.raises(AssertionError, match=r"wrong: 2.0 instead of NumPy's 1.0"):
        contest.compete(running.client, [wrong], runs=1, profiles=profiles)


# what is left afterwards -----------------------------------------------------------------------


PROGRAM = """
import os, sys, time
from benchmarks.nodes import NodeSpec, unequal_nodes
with unequal_nodes([NodeSpec.parse(text) for text in sys.argv[2:]]) as made:
    print(os.getpid(), *made.pids, flush=True)
    {"fails": lambda: 1 / 0, "waits": lambda: time.sleep(100)}[sys.argv[1]]()
"""


def started(what: str) -> tuple[subprocess.Popen, list[int]]:
    """Return a process that runs a cluster of two nodes, its number, and the workers'."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, what, str(FAST), str(SLOW)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    return process, [int(word) for word in process.stdout.readline().split()]


def all_gone(pids: list[int]) -> bool:
    """Wait a while for the processes to end."""
    deadline = time.monotonic() + 20
    while any(quota.alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.02)
    return not any(quota.alive(pid) for pid in pids)


@marked
def test_nothing_is_left_after_a_failure():
    process, pids = started("fails")
    _, errors = process.communicate(timeout=60)
    assert "ZeroDivisionError" in errors
    assert len(pids) == 3
    assert leftovers_of(process.pid) == []
    assert all_gone(pids)


@marked
def test_what_a_killed_run_leaves_is_removed_by_the_next():
    process, pids = started("waits")
    assert len(pids) == 3
    made = leftovers_of(process.pid)
    assert len(made) == 4 + 5  # a CPU and a memory group for each node; a bridge, links, namespaces
    assert not set(made) & set(nodes.left_behind())  # it is still running
    process.kill()
    process.communicate()
    assert all_gone(pids)
    assert set(made) <= set(nodes.left_behind())
    assert set(made) <= set(nodes.reap())
    assert leftovers_of(process.pid) == []


@pytest.fixture
def dead():
    """The number of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.fixture
def sleeper():
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"]) as process:
        yield process
        process.kill()


@marked
def test_what_still_runs_in_a_group_of_a_killed_run_is_ended(dead, sleeper):
    group = quota.CPU_GROUPS / f"dnumpy-{dead}-{sleeper.pid}"
    group.mkdir()
    (group / "cgroup.procs").write_text(str(sleeper.pid))
    assert group in quota.left_groups()
    assert group.name in nodes.reap()
    assert not group.exists()
    assert sleeper.wait(10) == -signal.SIGKILL


@marked
def test_what_still_runs_in_a_namespace_of_a_killed_run_is_ended(dead):
    name = f"dn{dead}an0"
    netns.call("ip", "netns", "add", name)
    inside = netns.Link(name, "", "").inside(["sleep", "100"])
    with subprocess.Popen(inside) as sleeper:
        while not netns.call("ip", "netns", "pids", name):
            time.sleep(0.01)
        assert name in netns.left()
        assert name in nodes.reap()
        assert sleeper.wait(10) == -signal.SIGKILL
    assert name not in netns.namespaces()


@marked
def test_a_command_that_is_ended_politely_leaves_nothing():
    words = ["-m", "benchmarks.cluster", "sort", *(f"--node={spec}" for spec in (FAST, SLOW))]
    process = subprocess.Popen([sys.executable, *words], cwd=ROOT)
    deadline = time.monotonic() + 60
    while len(leftovers_of(process.pid)) < 4 + 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(leftovers_of(process.pid)) == 4 + 5
    process.terminate()
    assert process.wait(60) == 128 + signal.SIGTERM
    assert leftovers_of(process.pid) == []


@marked
def test_a_worker_that_does_not_start_is_named_with_what_it_wrote(monkeypatch):
    words = [sys.executable, "-c", "import sys; sys.exit('no such luck')"]
    monkeypatch.setattr(nodes, "_worker", lambda *_: words)
    before = own_leftovers()
    with pytest.raises(StartError, match=r"node 0 ended with status 1:\nno such luck"):
        stack_of([NodeSpec(0.5, 512 << 20)])
    assert own_leftovers() == before


def stack_of(specs) -> None:
    with unequal_nodes(specs):
        pass
