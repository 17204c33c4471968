"""What the tiled lowering takes per element on all threads at once, by op class.

Tables of single calls miss what a phase adds to them: the interpreter that threads wait for
between two calls, and tiles that push each other out of the caches. So phases are run as they will
run, each thread over its share of rows that no cache holds, and what they take beyond memory is
their ops'.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

import numpy as np

from dnumpy.config import config
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.plan.work import phase_work
from dnumpy.rewrite.cut import Grain
from dnumpy.runtime import lowerings, machine, measure

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.expr.expr import Expr

PHASES = "phases"  # the lowering under which a profile has these figures
ROWS_PER_THREAD = 1 << 19
SHARE = 1 / 8  # of the free memory
RUNS, ROUNDS = 2, 3
LEAST_SHARE = 0.1  # of a single call's time: less would be a lucky moment


def phases_ns(profile: DeviceProfile) -> tuple[tuple[str, float], ...]:
    """Return ns per element by op class, float64, of one thread while all others are as busy.

    Waiting for the interpreter counts, and waiting for a processor that others have does not.
    """
    rows = _rows(profile.threads)
    source = np.random.default_rng(0)
    x, y = (lowerings.stored(source.uniform(0.5, 1.5, rows)) for _ in range(2))
    product = lowerings.applied("multiply", x, y)
    table = dict(dict(profile.ns_per_element)["tiled"])
    found: dict[str, float] = {}
    for op_class, (program, _) in lowerings.programs(x, y, product).items():
        beyond, count = _beyond_memory(program, op_class, {**table, **found}, profile)
        found[op_class] = max(LEAST_SHARE * table[op_class], beyond / count)
    return tuple(found.items())


def _rows(threads: int) -> int:
    affordable = SHARE * machine.free_bytes() / (4 * 8)
    return int(max(threads << 10, min(threads * ROWS_PER_THREAD, affordable)))


def _beyond_memory(
    program: Expr, op_class: str, known: dict[str, float], profile: DeviceProfile
) -> tuple[float, float]:
    """Return the ns of a row that are for the ops of a class, and how many there are."""
    grain = Grain(1, config.tile_bytes, config.tile_rows_max)
    stage = lowerings.stage_of(program, grain)
    work = phase_work(stage.phase)
    kernel = TiledKernel(stage.phase)
    values = [arg.value for arg in stage.inputs]
    outs = lowerings.outputs_of(stage.phase)
    rows, size = stage.phase.rows, stage.phase.tile_rows
    share = max(size, rows // profile.threads // size * size)
    starts = range(0, share * profile.threads, share)

    def run(lo: int) -> None:
        if lo >= rows:
            return
        number = lo // size
        mine = [
            o[number:] if g.partial else o for o, g in zip(outs, stage.phase.outputs, strict=True)
        ]
        kernel.run(values, mine, lo, min(lo + share, rows))

    took = _all_at_once([partial(run, lo) for lo in starts])
    moved = share * (work.bytes_read + work.bytes_written)
    loops = dict(work.loops)
    others = sum(n * known[c] for c, n in loops.items() if c != op_class)
    return (took - moved / profile.bandwidth_at(moved)) / share * 1e9 - others, loops[op_class]


def _not_waiting() -> float:
    """Return the time, less what this thread waited while others had the processors."""
    return perf_counter() - machine.waited_seconds()


def _all_at_once(calls: list[Callable[[], object]]) -> float:
    """Return the seconds of a call while all others run, the best of several rounds."""
    clock = thread_time if machine.cpu_quota() is not None else _not_waiting
    barrier = Barrier(len(calls))

    def task(call: Callable[[], object]) -> float:
        call()
        best = float("inf")
        for _ in range(ROUNDS):
            barrier.wait()
            started = clock()
            for _ in range(RUNS):
                call()
            best = min(best, (clock() - started) / RUNS)
        return best

    with ThreadPoolExecutor(len(calls)) as pool:
        try:
            futures = [pool.submit(task, call) for call in calls]
        except RuntimeError:  # the process ends: nobody is to wait for those who will not come
            barrier.abort()
            raise
        return max(measure.SHORTEST_SECONDS, *[future.result() for future in futures])
