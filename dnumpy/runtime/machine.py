"""What this machine says about itself: processor, quota, memory, versions."""

from __future__ import annotations

import os
import platform
import sys
from functools import lru_cache
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")
NO_LIMIT = 1 << 60  # bytes: version 1 writes "unlimited" as a number near 2**63
FREE_METRIC = "dnumpy_free_bytes"  # what a worker's heartbeat calls its free memory
COMPILERS_BYTES = 100_000_000  # that a process holds more once it has compiled a kernel
MEASURES = 2  # changes with what figures of a profile mean
PACKAGES = ("numpy", "numba", "dnumpy")


def text_of(path: Path) -> str | None:
    """Return the file's text without surrounding space, or None where it cannot be read."""
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return None


def groups_of(controller: str) -> list[Path]:
    """Return this process's directories of the controller, its own first, up to the root.

    Both layouts: one hierarchy per controller (version 1) and the unified one (version 2).
    """
    paths = []
    for line in (text_of(Path("/proc/self/cgroup")) or "").splitlines():
        _, controllers, inside = line.split(":", 2)
        if controller in controllers.split(","):
            paths.append((CGROUPS / controller, inside))
        elif not controllers:
            paths.append((CGROUPS, inside))
    found = []
    for root, inside in paths:
        group = root / inside.lstrip("/")
        found += [g for g in (group, *group.parents) if g.is_relative_to(root) and g.is_dir()]
    return found


def _quota_of(group: Path) -> float | None:
    """Return the CPUs that one control group allows, None for no limit."""
    unified = text_of(group / "cpu.max")
    quota, period = (
        unified.split()
        if unified
        else (text_of(group / "cpu.cfs_quota_us"), text_of(group / "cpu.cfs_period_us"))
    )
    if quota is None or period is None or quota in {"max", "-1"}:
        return None
    return int(quota) / int(period)


def cpu_quota() -> float | None:
    """Return how many CPUs the control groups let this process use, None for no limit."""
    quotas = [q for q in map(_quota_of, groups_of("cpu")) if q is not None]
    return min(quotas, default=None)


def quota_is_known() -> bool:
    """Say whether :func:`cpu_quota` could see a quota if there were one."""
    return bool(groups_of("cpu"))


def waited_seconds() -> float:
    """Return how long this thread has been ready to run while others had the CPUs, 0 if unknown."""
    fields = (text_of(Path("/proc/thread-self/schedstat")) or "").split()
    return int(fields[1]) * 1e-9 if len(fields) > 1 else 0.0


def held_before() -> float:
    """Return the bytes that this process held at its most, beyond those that it holds now."""
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    return max(0.0, most - resident_bytes())


def usable_cpus() -> int:
    """Return on how many CPUs this process may run."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_limit() -> float | None:
    """Return the bytes that the control groups let this process hold, None for no limit."""
    files = ("memory.max", "memory.limit_in_bytes")
    texts = [text_of(group / name) for group in groups_of("memory") for name in files]
    limits = [int(text) for text in texts if text and text.isdigit()]
    return min((limit for limit in limits if limit < NO_LIMIT), default=None)


def resident_bytes() -> float:
    """Return the bytes of memory that this process holds."""
    import psutil

    return float(psutil.Process().memory_info().rss)


def free_bytes(worker_limit: float | None = None) -> float:
    """Return the bytes that new arrays may take in this process now.

    ``worker_limit`` is what a distributed worker was told to keep to.
    """
    import psutil

    held = resident_bytes()
    limits = [limit for limit in (worker_limit, memory_limit()) if limit]
    inside = [max(0.0, limit - held) for limit in limits]
    return min([float(psutil.virtual_memory().available), *inside])


@lru_cache(maxsize=1)
def cpu_model() -> str:
    """Return the processor's name."""
    for line in (text_of(Path("/proc/cpuinfo")) or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in {"model name", "Hardware"}:
            return value.strip()
    return platform.processor() or platform.machine()


@lru_cache(maxsize=1)
def versions() -> tuple[tuple[str, str], ...]:
    """Return the versions that the measured rates depend on."""
    from importlib.metadata import PackageNotFoundError, version

    found = [("python", platform.python_version())]
    for package in PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:  # run from a source tree, or an optional part is not there
            found.append((package, "unknown"))
    return tuple(found)


def machine_key(threads: int) -> tuple[str, ...]:
    """Return what identifies a measurement: host, processor, threads, quota, versions."""
    quota = cpu_quota()
    return (
        platform.node(),
        cpu_model(),
        str(os.cpu_count()),
        f"measures={MEASURES}",
        f"threads={threads}",
        f"quota={quota:.3f}" if quota is not None else "quota=none",
        sys.byteorder,
        *(f"{name}={number}" for name, number in versions()),
    )
