"""Unequal machines out of one: processes held by the kernel to a share of a core, and to bytes."""

from __future__ import annotations

import errno
import os
import re
import signal
import time
from contextlib import ExitStack, contextmanager, suppress
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from distributed import Client

CPU_GROUPS = Path("/sys/fs/cgroup/cpu")
MEMORY_GROUPS = Path("/sys/fs/cgroup/memory")
PERIOD_US = 10_000  # short, so that a task of some milliseconds is held to the share too
LEAST_QUOTA_US = 1_000  # the kernel refuses less
WEIGHT = 100_000  # a process outside any group has 1024: what else runs hardly disturbs
OURS = re.compile(r"dnumpy-(\d+)-.*")  # the process that made the group, then a label
EMPTY_SECONDS = 5.0  # how long a killed process may take to leave its group


def why_no_quota() -> str:
    """Return why CPU quotas cannot be set here, or an empty string when they can."""
    try:
        with cpu_share(0.5, []):
            return ""
    except OSError as problem:
        return f"no writable cgroup v1 CPU controller at {CPU_GROUPS}: {problem.strerror}"


def why_no_memory_limit() -> str:
    """Return why memory cannot be limited here, or an empty string when it can."""
    try:
        with memory_limit(1 << 30, "probe"):
            return ""
    except OSError as problem:
        return f"no writable cgroup v1 memory controller at {MEMORY_GROUPS}: {problem.strerror}"


@contextmanager
def cpu_share(share: float, pids: Sequence[int]) -> Iterator[Path]:
    """Give these processes a share of one core: no more (quota), nor, against others, less."""
    period = max(PERIOD_US, ceil(LEAST_QUOTA_US / share))
    settings = {
        "cpu.cfs_period_us": period,
        "cpu.cfs_quota_us": max(round(share * period), LEAST_QUOTA_US),
        "cpu.shares": WEIGHT,
    }
    with _group(CPU_GROUPS, "-".join(map(str, pids)), settings) as group:
        for pid in pids:
            (group / "cgroup.procs").write_text(str(pid))
        yield group


@contextmanager
def memory_limit(nbytes: int, label: str) -> Iterator[Path]:
    """Make an empty group whose processes, when they enter it, hold at most so many bytes.

    The kernel ends the largest of them when they need more.
    """
    with _group(MEMORY_GROUPS, label, {"memory.limit_in_bytes": nbytes}) as group:
        yield group


@contextmanager
def _group(root: Path, label: str, settings: Mapping[str, int]) -> Iterator[Path]:
    """Make a control group; at the end its processes are let out, and it is removed."""
    group = root / f"dnumpy-{os.getpid()}-{label}"
    group.mkdir()
    try:
        for name, value in settings.items():
            (group / name).write_text(str(value))
        yield group
    finally:
        _removed(root, group)


def _removed(root: Path, group: Path) -> None:
    """Let all processes out of a group and remove it, which waits for those that are ending."""
    until = time.monotonic() + EMPTY_SECONDS
    while True:
        for member in _members(group):
            with suppress(ProcessLookupError):  # it has just ended
                (root / "cgroup.procs").write_text(str(member))
        try:
            return group.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > until:
                raise
        time.sleep(EMPTY_SECONDS / 100)


def _members(group: Path) -> list[int]:
    return [int(pid) for pid in (group / "cgroup.procs").read_text().split()]


def alive(pid: int) -> bool:
    """Return whether there is such a process."""
    return Path(f"/proc/{pid}").exists()


def left_groups() -> list[Path]:
    """Return the control groups that are called after a process which is no more."""
    found = []
    for root in (CPU_GROUPS, MEMORY_GROUPS):
        for group in root.glob("dnumpy-*-*"):
            name = OURS.fullmatch(group.name)
            if name and not alive(int(name[1])):
                found.append(group)
    return found


def reap_groups() -> list[str]:
    """Remove the groups that killed runs left, and end what still runs in them.

    Returns
    -------
    list of str
        The names of the groups.
    """
    reaped = []
    for group in left_groups():
        with suppress(FileNotFoundError):  # another run reaps at the same time
            _empty(group)
            group.rmdir()
            reaped.append(group.name)
    return reaped


def _empty(group: Path) -> None:
    deadline = time.monotonic() + EMPTY_SECONDS
    while members := _members(group):
        for pid in members:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            msg = f"processes {members} do not end, so {group} stays"
            raise TimeoutError(msg)
        time.sleep(0.01)


@contextmanager
def unequal_workers(shares: Sequence[float]) -> Iterator[Client]:
    """Give a client of one worker process of one thread for each share of a core (at most 1)."""
    from distributed import Client, LocalCluster

    with ExitStack() as stack:
        cluster = stack.enter_context(
            LocalCluster(  # type: ignore[no-untyped-call]
                n_workers=len(shares),
                threads_per_worker=1,
                processes=True,
                dashboard_address=":0",
            )
        )
        client = stack.enter_context(
            Client(cluster, set_as_default=False)  # type: ignore[no-untyped-call]
        )
        pids = client.run(os.getpid)
        for share, address in zip(shares, sorted(pids), strict=True):
            stack.enter_context(cpu_share(share, [pids[address]]))
        yield client
