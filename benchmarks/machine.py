"""The machine that figures come from: what it is, and what it can do at most."""

from __future__ import annotations

import compileall
import importlib.metadata
import importlib.util
import os
import platform
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.programs import Work

PACKAGES = ("numpy", "dnumpy", "numba", "dask", "jax", "numexpr")
STREAM_ELEMENTS = 1 << 24  # 128 MiB for each of three arrays: more than the caches hold
PRODUCT_EDGE = 2_000
TRIALS = 5


def as_installed() -> None:
    """Write the byte code of dnumpy's sources, as installing them does.

    Where Python may not write it, every fresh process would compile what it imports, which takes
    longer than many programs.
    """
    found = importlib.util.find_spec("dnumpy")
    assert found is not None
    for folder in found.submodule_search_locations or ():
        compileall.compile_dir(folder, quiet=1)


def machine() -> dict[str, Any]:
    """Return where the figures come from: processor, usable cores, versions."""
    versions = {}
    for package in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": versions,
        "mode": os.environ.get("DNUMPY_MODE", "default"),
    }


def processor() -> str:
    """Return the model name of the processor."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that this machine was measured to do, on all its cores."""

    bytes_per_second: float
    flops_per_second: dict[str, float]

    def seconds(self, work: Work) -> float:
        """Return the seconds below which the work cannot be done at these rates."""
        rate = self.flops_per_second[work.dtype]
        return max(work.bytes_moved / self.bytes_per_second, work.flops / rate)


def best(first: Limits, second: Limits) -> Limits:
    """Return the higher of two measurements of each rate: what else ran made the other lower."""
    rates = {
        dtype: max(rate, second.flops_per_second[dtype])
        for dtype, rate in first.flops_per_second.items()
    }
    return Limits(max(first.bytes_per_second, second.bytes_per_second), rates)


def measured_limits(elements: int = STREAM_ELEMENTS, edge: int = PRODUCT_EDGE) -> Limits:
    """Return the rates of a stream of additions and of products of square matrices."""
    rates = {}
    for dtype in ("float64", "float32"):
        square = numpy.ones((edge, edge), dtype)
        out = numpy.empty_like(square)
        seconds = fastest(partial(numpy.matmul, square, square, out=out))
        rates[dtype] = 2.0 * edge**3 / seconds
    return Limits(stream_rate(elements), rates)


def stream_rate(elements: int) -> float:
    """Return bytes a second of ``c = a + b``, each core working on its own part.

    Two arrays are read and one is written. What the processor reads of ``c`` before it writes it is
    not counted: a program that fuses its passes can therefore seem to reach more than all of it.
    """
    cores = len(os.sched_getaffinity(0))
    a, b, c = (numpy.ones(elements) for _ in range(3))
    bounds = [elements * k // cores for k in range(cores + 1)]
    parts = [slice(lo, hi) for lo, hi in pairwise(bounds)]
    with ThreadPoolExecutor(cores) as pool:
        seconds = fastest(
            lambda: list(pool.map(lambda part: numpy.add(a[part], b[part], out=c[part]), parts))
        )
    return 3 * a.nbytes / seconds


def fastest(call: Callable[[], object]) -> float:
    """Return the seconds of the fastest of several calls, after one that is not counted."""
    call()
    found = []
    for _ in range(TRIALS):
        started = time.perf_counter()
        call()
        found.append(time.perf_counter() - started)
    return min(found)
