"""The measurements behind a profile: short, best of several, with all threads of the node busy.

Rates are the best of several short runs in CPU time, so that a CPU quota or a busy neighbour does
not hide in them, and so that they take 0.1 s of CPU time wherever they are measured. What the
process really gets is one number, ``speed``: how much of its best rate a loop keeps over two
periods of the kernel's quota (100 ms each), the best of several, of which two agree. Others that
use the CPUs at that moment are left out of it, as they may be gone in the next one: what they cost
is for the online correction to learn.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import log2
from threading import Barrier
from time import perf_counter, thread_time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnumpy.cost.profile import DeviceProfile
from dnumpy.ops.scans import accumulate
from dnumpy.runtime import machine, memory

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

TILE = 32_768  # elements: the default tile of 256 KiB of float64
TILE_SETS = 4
SHORT = 16  # elements of a row over which NumPy begins a loop anew
BEYOND = {"pick": "index", "run": "arith"}  # what such a row takes besides its elements
LEAST_BEYOND_NS = 1.0
SMALLEST_BYTES = 1 << 18  # per thread: inside L2
LARGEST_BYTES, QUICK_BYTES = 5 << 25, 3 << 24  # beyond most caches, and in little time
BANDWIDTH_SIZES = 4
PRIVATE_BYTES = 1 << 22  # more than a core keeps for itself
STREAMED_BYTES = 1 << 30  # all threads together
STREAMED_SHARE = 1 / 8  # of the free memory, likewise
LEAST_TOUCHED = 1 / 4  # of the table
GEMM_SIZE = 256
GATHER_BYTES = 1 << 26
TRANSFORMED = 1 << 12
LAPACK_SIZE = 192
FRESH_BYTES = 1 << 23
LEAST_PAGE_NS = 1e-3
GATHER_COUNT = 1 << 17
WINDOW_SECONDS = 0.2  # two periods of a quota: a share is at most half of itself too much
SPEED_TILES = 8
BUDGET_SECONDS = 2e-3  # of CPU time for one quantity
SHORTEST_SECONDS = 1e-9  # where a clock is so coarse that it did not advance
LEAST_WINDOWS, MOST_WINDOWS = 3, 5
SAME_SHARE = 0.04
LEAST_SPEED = 1e-3
# One loop of a dozen ops through LLVM after the first: known, not measured, as what compiles takes
# longer to start than the whole probe takes.
COMPILE_SECONDS = 0.02
# Before a network has been measured: a local connection.
NETWORK_BYTES_PER_SECOND = 1e9
NETWORK_LATENCY_SECONDS = 1e-3


def best_seconds(
    call: Callable[[], object],
    least: int = 2,
    budget_seconds: float = BUDGET_SECONDS,
    clock: Callable[[], float] = thread_time,
) -> float:
    """Return the shortest of at least ``least`` runs, going on until the budget is used.

    The clock is this thread's CPU time: neither a quota nor a neighbour makes it run, and a budget
    is the same work under any of them. What waits for others is timed by ``perf_counter``.
    """
    best = float("inf")
    started = clock()
    runs = 0
    while runs < least or clock() - started < budget_seconds:
        before = clock()
        call()
        best = min(best, clock() - before)
        runs += 1
    return max(best, SHORTEST_SECONDS)


def all_threads_seconds(
    make: Callable[[], Callable[[], object]], threads: int, budget_seconds: float = BUDGET_SECONDS
) -> float:
    """Return the best seconds of a call while each thread does one that ``make`` gives."""
    if threads == 1:
        return best_seconds(make(), budget_seconds=budget_seconds)
    barrier = Barrier(threads)

    def task() -> float:
        call = make()
        barrier.wait()
        return best_seconds(call, budget_seconds=budget_seconds)

    with ThreadPoolExecutor(threads) as pool:
        try:
            futures = [pool.submit(task) for _ in range(threads)]
        except RuntimeError:  # the process ends: nobody is to wait for those who will not come
            barrier.abort()
            raise
        return max(future.result() for future in futures)


def bandwidth_sizes(
    threads: int, free_bytes: float, most_bytes: float = LARGEST_BYTES
) -> list[int]:
    """Return the bytes that each thread streams, in equal ratios, all threads within the memory."""
    together = min(STREAMED_BYTES, STREAMED_SHARE * free_bytes)
    largest = min(most_bytes, max(2 * SMALLEST_BYTES, together / threads))
    ratio = (largest / SMALLEST_BYTES) ** (1 / (BANDWIDTH_SIZES - 1))
    return [round(SMALLEST_BYTES * ratio**k) for k in range(BANDWIDTH_SIZES)]


def bandwidth(
    threads: int, free_bytes: float, most_bytes: float = LARGEST_BYTES
) -> tuple[tuple[float, float], ...]:
    """Return (bytes, bytes per second of one thread) of ``a + b -> c`` at growing sizes.

    Small arrays are at hand in caches, while those that fit in no private cache are read from
    memory: they are added a piece after the other of as much as is streamed at all.
    """
    sizes = bandwidth_sizes(threads, free_bytes, most_bytes)
    points: list[tuple[float, float]] = []
    for size in sizes:
        # what private caches cannot hold is seldom still in the shared one when it is read again
        streamed = sizes[-1] if size > PRIVATE_BYTES else size
        seconds = all_threads_seconds(partial(adding, size, streamed), threads) * size / streamed
        if points:  # noise must not make more bytes take less time
            seconds = max(seconds, points[-1][0] / points[-1][1])
        points.append((float(size), size / seconds))
    return tuple(points)


def quickest(
    passes: Sequence[tuple[tuple[float, float], ...]],
) -> tuple[tuple[float, float], ...]:
    """Return the best rate at each size that all passes have, more bytes never in less time."""
    best = {size: 0.0 for size, _ in passes[0]}
    for points in passes:
        for size, rate in points:
            if size in best:
                best[size] = max(best[size], rate)
    found: list[tuple[float, float]] = []
    for size, rate in best.items():
        least = found[-1][0] / found[-1][1] if found else 0.0
        found.append((size, min(rate, size / least) if least else rate))
    return tuple(found)


def adding(size: int, streamed: int) -> Callable[[], object]:
    """Return what adds arrays of ``streamed`` bytes together, ``size`` of them at a time."""
    arrays = np.ones((3, streamed // 24))
    step = size // 24
    pieces = [arrays[:, k : k + step] for k in range(0, arrays.shape[1], step)]

    def add() -> None:
        for a, b, c in pieces:
            np.add(a, b, out=c)

    return add


def gemm_rates(
    threads: int,
    dtypes: Sequence[str] = ("float32", "float64"),
    budget_seconds: float = BUDGET_SECONDS,
) -> tuple[tuple[str, float], ...]:
    """Return (dtype, flops per second of one thread) of a square matrix product.

    BLAS is kept to one thread: the tasks of a node are its parallelism.
    """
    from threadpoolctl import threadpool_limits

    rates = []
    for dtype in dtypes:

        def make(dtype: str = dtype) -> Callable[[], object]:
            a = np.full((GEMM_SIZE, GEMM_SIZE), 1.5, dtype)
            out = np.empty_like(a)
            return lambda: np.matmul(a, a, out=out)

        with threadpool_limits(1, user_api="blas"):
            seconds = all_threads_seconds(make, threads, budget_seconds)
            rates.append((dtype, 2.0 * GEMM_SIZE**3 / seconds))
    return tuple(rates)


def tile_calls() -> dict[str, tuple[Callable[[int], object], float]]:
    """Return per op class a call on the k-th set of tiles, and the elements that it does.

    As in a fused kernel with several live values, the sets together do not fit in L2.
    """
    source = np.random.default_rng(0)
    x = source.uniform(0.5, 2.5, (TILE_SETS, TILE))
    y = source.uniform(1.5, 3.5, (TILE_SETS, TILE))
    out, flags = np.ones((TILE_SETS, TILE)), np.ones((TILE_SETS, TILE), bool)
    narrow = np.ones((TILE_SETS, TILE), np.float32)
    chosen = source.random((TILE_SETS, TILE)) < 0.5
    order = source.permuted(np.tile(np.arange(TILE), (TILE_SETS, 1)), axis=1)
    rows, given = (a.reshape(TILE_SETS, -1, SHORT) for a in (y, out))
    columns = x[:, : TILE // SHORT, None]
    square = np.ones((48, 48), np.int64)
    weights = np.full(SHORT, 0.5)
    waves = np.ones((TILE_SETS, TRANSFORMED), complex)
    system = np.eye(LAPACK_SIZE) + np.full((LAPACK_SIZE, LAPACK_SIZE), 0.5 / LAPACK_SIZE)
    return {
        "arith": (lambda k: np.multiply(x[k], y[k], out=out[k]), TILE),
        "div": (lambda k: np.divide(x[k], y[k], out=out[k]), TILE),
        "sqrt": (lambda k: np.sqrt(x[k], out=out[k]), TILE),
        "exp": (lambda k: np.exp(x[k], out=out[k]), TILE),
        "trig": (lambda k: np.sin(x[k], out=out[k]), TILE),
        "pow": (lambda k: np.power(x[k], y[k], out=out[k]), TILE),
        "compare": (lambda k: np.greater(x[k], y[k], out=flags[k]), TILE),
        "select": (lambda k: np.copyto(out[k], x[k], where=chosen[k]), TILE),
        "cast": (lambda k: np.copyto(narrow[k], x[k], casting="same_kind"), TILE),
        "reduce": (lambda k: np.add.reduce(x[k]), TILE),
        "fold": (lambda k: np.add.reduce(x[k].reshape(-1, 2), axis=1), TILE // 2),
        "pick": (lambda k: np.argmin(x[k].reshape(-1, SHORT), axis=1), TILE // SHORT),
        "run": (lambda k: np.subtract(columns[k], rows[k], out=given[k]), TILE // SHORT),
        "index": (lambda k: np.argmin(x[k]), TILE),
        "scan": (lambda k: accumulate("add", x[k], out[k]), TILE),
        "scatter": (lambda k: out[k].put(order[k], x[k], mode="clip"), TILE),
        "sort": (lambda k: np.sort(y[k]), TILE * log2(TILE)),
        "fft": (lambda k: np.fft.fft(waves[k]), TRANSFORMED * log2(TRANSFORMED)),
        "lapack": (lambda _: np.linalg.solve(system, system[0]), LAPACK_SIZE**3 / 3),
        "gather": (lambda k: np.take(x[k], order[k], out=out[k], mode="clip"), TILE),
        "other": (lambda k: np.hypot(x[k], y[k], out=out[k]), TILE),
        "matmul": (lambda _: np.matmul(square, square), 48**3),
        "vector": (lambda k: np.matmul(rows[k], weights), TILE),
    }


def tiled_ns() -> tuple[tuple[str, float], ...]:
    """Return ns per element by op class for the tiled lowering, float64, one thread."""
    from threadpoolctl import threadpool_limits

    table: dict[str, float] = {}
    with threadpool_limits(1, user_api="blas"):
        for op_class, (call, elements) in tile_calls().items():

            def every_set(call: Callable[[int], object] = call) -> None:
                for k in range(TILE_SETS):
                    call(k)

            table[op_class] = best_seconds(every_set) / (elements * TILE_SETS) * 1e9
    for op_class, inside in BEYOND.items():
        table[op_class] = max(LEAST_BEYOND_NS, table[op_class] - SHORT * table[inside])
    return tuple(table.items())


def gather_ns(table_bytes: float = GATHER_BYTES) -> float:
    """Return ns per element read at random from a table larger than the caches."""
    elements = int(table_bytes) // 8
    table = np.ones(elements)  # ones: zeros would all lie in one page
    where = np.random.default_rng(0).integers(0, elements, GATHER_COUNT)
    out = np.empty(GATHER_COUNT)
    return best_seconds(lambda: np.take(table, where, out=out, mode="clip")) / GATHER_COUNT * 1e9


def page_ns(threads: int) -> float:
    """Return ns per byte that memory new to the process costs its first writer, all threads busy.

    The memory is given back each time, so that it is new to nobody else.
    """

    def used() -> Callable[[], object]:
        touched = np.ones(FRESH_BYTES // 8)
        return lambda: touched.fill(1.0)

    def fresh() -> Callable[[], object]:
        return lambda: _fresh_memory().fill(1.0)

    beyond = all_threads_seconds(fresh, threads) - all_threads_seconds(used, threads)
    return max(LEAST_PAGE_NS, beyond / FRESH_BYTES * 1e9)


def first_touch_ns(blocks: int = 3) -> float:
    """Return ns per byte of writing to memory beyond what the process ever held; one thread.

    By the clock on the wall, since a machine that is lent its memory does not see who fetches it;
    the least of several blocks, as a busy neighbour shows in that clock too.
    """
    found = [touched_ns(FRESH_BYTES) for _ in range(blocks)]  # all held until the last is touched
    return min(ns for ns, _ in found)


def touched_ns(size: int, clock: Callable[[], float] = perf_counter) -> tuple[float, np.ndarray]:
    """Return ns per byte of writing to so much new memory beyond writing again, and the memory."""
    touched = _fresh_memory(size)
    started = clock()
    touched.fill(1.0)
    first = clock()
    touched.fill(1.0)
    beyond = 2 * first - started - clock()
    return max(LEAST_PAGE_NS, beyond / size * 1e9), touched


def _fresh_memory(size: int = FRESH_BYTES) -> np.ndarray:
    """Return memory as large arrays have it: from the system, in whole huge pages if any."""
    block = memory.fresh(size)
    return np.frombuffer(block.buffer, np.float64, size // 8)


def launch_seconds() -> float:
    """Return the time from handing a task to a waiting thread to having its result."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        return best_seconds(lambda: pool.submit(int).result(), least=20, clock=perf_counter)


def _speed_call() -> Callable[[], object]:
    """Return the call that tells how fast a thread is: mostly computing, so that it is steady.

    Long enough that threads seldom wait for each other to get the interpreter.
    """
    x, out = np.linspace(0.5, 2.5, SPEED_TILES * TILE), np.empty(SPEED_TILES * TILE)
    return lambda: np.exp(x, out=out)


def exp_ns() -> float:
    """Return ns per element of the class ``exp`` in 10 ms: whether a kept table still holds."""
    x, out = np.linspace(0.5, 2.5, TILE), np.empty(TILE)
    return best_seconds(lambda: np.exp(x, out=out), budget_seconds=0.01) / TILE * 1e9


class Window(NamedTuple):
    """What the threads of a node did meanwhile."""

    calls: float  # by each of them
    seconds: float  # less those in which others had the CPU, if that cannot be a quota's doing
    quickest: float  # of the calls


def delivered_share(threads: int) -> float:
    """Return which share of its best rate each of the busy threads keeps, at most 1.

    A quota leaves the same to every window, a busy neighbour less to some of them: so the best
    one counts, once a second one says the same, and no single moment decides.
    """
    windows = _windows(threads, LEAST_WINDOWS)
    while len(windows) < MOST_WINDOWS and not _agreed(windows):
        windows += _windows(threads, 2)
    return _kept(windows)


def _kept(windows: Sequence[Window]) -> float:
    best = min(w.quickest for w in windows)
    return min(1.0, max(w.calls / w.seconds for w in windows) * best)


def _agreed(windows: Sequence[Window]) -> bool:
    """Say whether the two best windows are so close that a third one would say the same."""
    second, first = sorted(w.calls / w.seconds for w in windows)[-2:]
    return second >= (1 - SAME_SHARE) * first


def _windows(threads: int, count: int) -> list[Window]:
    """Return so many windows of all threads computing, after one call that is not counted."""
    barrier = Barrier(threads)

    def task() -> list[Window]:
        call = _speed_call()
        barrier.wait()
        call()
        return [_window(call) for _ in range(count)]

    with ThreadPoolExecutor(threads) as pool:
        found = [future.result() for future in [pool.submit(task) for _ in range(threads)]]
    return [_together(windows) for windows in zip(*found, strict=True)]


def _window(call: Callable[[], object]) -> Window:
    calls, quickest = 0, float("inf")
    waited = machine.waited_seconds()
    started = before = perf_counter()
    while before - started < WINDOW_SECONDS:
        call()
        after = perf_counter()
        quickest = min(quickest, after - before)
        before = after
        calls += 1
    seconds = before - started
    if machine.quota_is_known():
        seconds = max(seconds - (machine.waited_seconds() - waited), calls * quickest)
    return Window(calls, seconds, quickest)


def _together(windows: Sequence[Window]) -> Window:
    return Window(
        sum(w.calls for w in windows) / len(windows),
        sum(w.seconds for w in windows) / len(windows),
        min(w.quickest for w in windows),
    )


def allowed_share(threads: int) -> float:
    """Return the share of a CPU that the quota and the affinity leave to each thread."""
    quota = machine.cpu_quota()
    allowed = machine.usable_cpus()
    return min(1.0, (allowed if quota is None else min(quota, allowed)) / threads)


def speed(threads: int) -> float:
    """Return the share of the rates that each thread gets: measured, and no more than the quota."""
    return max(LEAST_SPEED, min(allowed_share(threads), delivered_share(threads)))


def quick_table(threads: int) -> float:
    """Return the bytes of a table to read from: its first touch is slow on little of a CPU."""
    return GATHER_BYTES * max(LEAST_TOUCHED, min(1.0, 2 * allowed_share(threads)))


def measure(
    name: str, threads: int = 1, worker_limit: float | None = None, now: float = 0.0
) -> DeviceProfile:
    """Return the profile of this machine as a task on one of ``threads`` busy threads sees it.

    What plans need before the first run, in 0.1 s of CPU time a thread, but for its speed, which is
    what the quota allows; :mod:`~dnumpy.runtime.calibrate` measures the rest.
    """
    free_bytes = machine.free_bytes(worker_limit)
    first_touch = first_touch_ns()  # before anything else is given back
    ns = tiled_ns()
    profile = DeviceProfile(
        name=name,
        kind="cpu",
        threads=threads,
        bandwidth=bandwidth(threads, free_bytes, QUICK_BYTES),
        gemm_flops_per_second=gemm_rates(threads),
        ns_per_element=(("tiled", ns),),
        gather_ns=gather_ns(quick_table(threads)),
        page_ns_per_byte=page_ns(threads),
        first_touch_ns_per_byte=first_touch,
        launch_seconds=launch_seconds(),
        compile_seconds=COMPILE_SECONDS,
        free_bytes=free_bytes,
        idle_bytes=machine.resident_bytes(),
        network_bytes_per_second=NETWORK_BYTES_PER_SECOND,
        network_latency_seconds=NETWORK_LATENCY_SECONDS,
        speed=max(LEAST_SPEED, allowed_share(threads)),
        versions=machine.versions(),
        measured_at=now,
        processor=machine.cpu_model(),
    )
    profile.verify()
    return profile
