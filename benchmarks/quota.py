"""Unequal machines out of one: worker processes held to a share of a core by the kernel."""

from __future__ import annotations

import os
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from distributed import Client

CPU_GROUPS = Path("/sys/fs/cgroup/cpu")
PERIOD_US = 100_000
WEIGHT = 100_000  # a process outside any group has 1024: what else runs hardly disturbs


def why_no_quota() -> str:
    """Return why CPU quotas cannot be set here, or an empty string when they can."""
    try:
        with cpu_share(0.5, []):
            return ""
    except OSError as problem:
        return f"no writable cgroup v1 CPU controller at {CPU_GROUPS}: {problem}"


@contextmanager
def cpu_share(share: float, pids: Sequence[int]) -> Iterator[Path]:
    """Give these processes a share of one core: no more (quota), nor, against others, less."""
    group = CPU_GROUPS / f"dnumpy-{os.getpid()}-{'-'.join(map(str, pids))}"
    group.mkdir()
    try:
        (group / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(round(share * PERIOD_US)))
        (group / "cpu.shares").write_text(str(WEIGHT))
        for pid in pids:
            (group / "cgroup.procs").write_text(str(pid))
        yield group
    finally:
        for member in (group / "cgroup.procs").read_text().split():
            (CPU_GROUPS / "cgroup.procs").write_text(member)
        group.rmdir()


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
