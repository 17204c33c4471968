"""The measurements behind a profile: short, best of several, with all threads of the node busy.

Rates are the best of several short runs, so that a CPU quota or a busy neighbour does not hide in
them. What the process really gets is one number, ``speed``: how much of its best rate a loop keeps
over several periods of the kernel's quota (100 ms each).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from statistics import median
from threading import Barrier
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

import numpy as np

from dnumpy.cost.profile import DeviceProfile
from dnumpy.runtime import machine

if TYPE_CHECKING:
    from collections.abc import Callable

TILE = 32_768  # elements: the default tile of 256 KiB of float64
BANDWIDTH_BYTES = (1 << 18, 1 << 22, 1 << 25, 5 << 25)  # L2, LLC of a slice, LLC, memory
GEMM_SIZE = 384
GATHER_TABLE = 1 << 23
GATHER_COUNT = 1 << 18
QUOTA_PERIOD_SECONDS = 0.1
SPEED_PERIODS = 4
QUICK_SECONDS = 0.05
LEAST_SPEED = 1e-3
# A dozen fused ops through LLVM after the first: known, not measured, as Numba takes longer to
# import than the whole probe takes.
COMPILE_SECONDS = 0.12
# Before a network has been measured: a local connection.
NETWORK_BYTES_PER_SECOND = 1e9
NETWORK_LATENCY_SECONDS = 1e-3


def best_seconds(
    call: Callable[[], object], least: int = 3, budget_seconds: float = 0.010
) -> float:
    """Return the shortest of at least ``least`` runs, going on until the budget is used."""
    best = float("inf")
    started = perf_counter()
    runs = 0
    while runs < least or perf_counter() - started < budget_seconds:
        before = perf_counter()
        call()
        best = min(best, perf_counter() - before)
        runs += 1
    return best


def all_threads_seconds(make: Callable[[], Callable[[], object]], threads: int) -> float:
    """Return the best seconds of a call while each thread does one that ``make`` gives."""
    if threads == 1:
        return best_seconds(make())
    barrier = Barrier(threads)

    def task() -> float:
        call = make()
        barrier.wait()
        return best_seconds(call, budget_seconds=0.03)

    with ThreadPoolExecutor(threads) as pool:
        return max(future.result() for future in [pool.submit(task) for _ in range(threads)])


def bandwidth(threads: int) -> tuple[tuple[float, float], ...]:
    """Return (bytes, bytes per second of one thread) of ``a + b -> c`` at growing sizes."""
    points: list[tuple[float, float]] = []
    for size in BANDWIDTH_BYTES:

        def make(size: int = size) -> Callable[[], object]:
            a, b, c = np.ones((3, size // 24))
            return lambda: np.add(a, b, out=c)

        seconds = all_threads_seconds(make, threads)
        if points:  # noise must not make more bytes take less time
            seconds = max(seconds, points[-1][0] / points[-1][1])
        points.append((float(size), size / seconds))
    return tuple(points)


def gemm_rates(threads: int) -> tuple[tuple[str, float], ...]:
    """Return (dtype, flops per second of one thread) of a square matrix product.

    BLAS is kept to one thread: the tasks of a node are its parallelism.
    """
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    rates = []
    for dtype in ("float32", "float64"):

        def make(dtype: str = dtype) -> Callable[[], object]:
            a = np.full((GEMM_SIZE, GEMM_SIZE), 1.5, dtype)
            out = np.empty_like(a)
            return lambda: np.matmul(a, a, out=out)

        with threadpool_limits(1, user_api="blas"):
            rates.append((dtype, 2.0 * GEMM_SIZE**3 / all_threads_seconds(make, threads)))
    return tuple(rates)


def tile_calls() -> dict[str, tuple[Callable[[], object], int]]:
    """Return per op class a call on one tile in reused buffers, and the elements that it does."""
    x = np.linspace(0.5, 2.5, TILE)
    y = np.linspace(1.5, 3.5, TILE)
    out, flags, narrow = np.empty(TILE), np.empty(TILE, bool), np.empty(TILE, np.float32)
    order = np.random.default_rng(0).permutation(TILE)
    square = np.ones((48, 48), np.int64)
    return {
        "arith": (lambda: np.multiply(x, y, out=out), TILE),
        "div": (lambda: np.divide(x, y, out=out), TILE),
        "sqrt": (lambda: np.sqrt(x, out=out), TILE),
        "exp": (lambda: np.exp(x, out=out), TILE),
        "trig": (lambda: np.sin(x, out=out), TILE),
        "pow": (lambda: np.power(x, y, out=out), TILE),
        "compare": (lambda: np.greater(x, y, out=flags), TILE),
        "cast": (lambda: np.copyto(narrow, x, casting="same_kind"), TILE),
        "reduce": (lambda: np.add.reduce(x), TILE),
        "gather": (lambda: np.take(x, order, out=out, mode="clip"), TILE),
        "other": (lambda: np.hypot(x, y, out=out), TILE),
        "matmul": (lambda: np.matmul(square, square), 48**3),
    }


def tiled_ns() -> tuple[tuple[str, float], ...]:
    """Return ns per element by op class for the tiled lowering, float64, one thread."""
    return tuple(
        (op_class, best_seconds(call) / elements * 1e9)
        for op_class, (call, elements) in tile_calls().items()
    )


def gather_ns() -> float:
    """Return ns per element read at random from a table larger than the caches."""
    table = np.ones(GATHER_TABLE)  # ones: zeros would all lie in one page
    where = np.random.default_rng(0).integers(0, GATHER_TABLE, GATHER_COUNT)
    out = np.empty(GATHER_COUNT)
    return best_seconds(lambda: np.take(table, where, out=out, mode="clip")) / GATHER_COUNT * 1e9


def launch_seconds() -> float:
    """Return the time from handing a task to a waiting thread to having its result."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        return best_seconds(lambda: pool.submit(int).result(), least=20)


def _speed_call() -> Callable[[], object]:
    x, out = np.linspace(0.5, 2.5, TILE), np.empty(TILE)
    return lambda: np.exp(x, out=out)


def quick_check() -> tuple[float, float]:
    """Return ns per element of the class ``exp``, and the share of that rate kept, in 50 ms."""
    call = _speed_call()
    best = best_seconds(call, budget_seconds=QUICK_SECONDS / 2)
    cpu_share, usual = _busy_for(call, QUICK_SECONDS / 2)
    return best / TILE * 1e9, min(1.0, cpu_share * min(1.0, best / usual))


def delivered_share(threads: int, best: float) -> float:
    """Return which share of its best rate each of the busy threads keeps, at most 1.

    ``best`` is the shortest time of one tile. Two factors, as each is steadier than the bare count
    of tiles on a shared machine: the CPU time that the threads got over whole quota periods, and
    how the usual tile compares with the best one.
    """
    barrier = Barrier(threads)

    def task() -> float:
        call = _speed_call()
        barrier.wait()
        _busy_for(call, QUOTA_PERIOD_SECONDS)  # ends where a period of the quota ends
        cpu_share, usual = _busy_for(call, SPEED_PERIODS * QUOTA_PERIOD_SECONDS)
        return cpu_share * min(1.0, best / usual)

    with ThreadPoolExecutor(threads) as pool:
        shares = [future.result() for future in [pool.submit(task) for _ in range(threads)]]
    return min(1.0, sum(shares) / threads)


def _busy_for(call: Callable[[], object], seconds: float) -> tuple[float, float]:
    """Return the share of the wall time that this thread ran, and the median time of a call."""
    times = []
    cpu_before, started = thread_time(), perf_counter()
    before = started
    while before - started < seconds:
        call()
        after = perf_counter()
        times.append(after - before)
        before = after
    return (thread_time() - cpu_before) / (before - started), median(times)


def allowed_share(threads: int) -> float:
    """Return the share of a CPU that the quota leaves to each thread."""
    quota = machine.cpu_quota()
    return min(1.0, quota / threads) if quota is not None else 1.0


def speed(threads: int, best: float) -> float:
    """Return the share of the rates that each thread gets: measured, and no more than the quota."""
    return max(LEAST_SPEED, min(allowed_share(threads), delivered_share(threads, best)))


def measure(
    name: str, threads: int = 1, worker_limit: float | None = None, now: float = 0.0
) -> DeviceProfile:
    """Return the profile of this machine as a task on one of ``threads`` busy threads sees it."""
    ns = tiled_ns()
    profile = DeviceProfile(
        name=name,
        kind="cpu",
        threads=threads,
        bandwidth=bandwidth(threads),
        gemm_flops_per_second=gemm_rates(threads),
        ns_per_element=(("tiled", ns),),
        gather_ns=gather_ns(),
        launch_seconds=launch_seconds(),
        compile_seconds=COMPILE_SECONDS,
        free_bytes=machine.free_bytes(worker_limit),
        network_bytes_per_second=NETWORK_BYTES_PER_SECOND,
        network_latency_seconds=NETWORK_LATENCY_SECONDS,
        speed=speed(threads, dict(ns)["exp"] * TILE * 1e-9),
        versions=machine.versions(),
        measured_at=now,
    )
    profile.verify()
    return profile
