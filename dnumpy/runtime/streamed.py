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
    from dnumpy.rewrite.cut import FusedStage
    from dnumpy.rewrite.phase import Phase

PHASES = "phases"  # the lowering under which a profile has these figures
ROWS_PER_THREAD = 1 << 19
SHARE = 1 / 8  # of the free memory
RUNS, ROUNDS, PASSES = 2, 2, 3
CALLS = 64  # of some 30 us
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
    phases = {
        op_class: lowerings.stage_of(program, _grain())
        for op_class, (program, _) in lowerings.programs(x, y, product).items()
    }
    took = dict.fromkeys(phases, float("inf"))
    for _ in range(PASSES):  # a neighbour seldom disturbs the same phase every time
        for op_class, stage in phases.items():
            took[op_class] = min(took[op_class], _stage_seconds(stage, profile.threads))
    found: dict[str, float] = {}
    for op_class, stage in phases.items():
        beyond, count = _beyond_memory(
            stage.phase, op_class, took[op_class], {**table, **found}, profile
        )
        found[op_class] = max(LEAST_SHARE * table[op_class], beyond / count)
    return tuple(found.items())


def _grain() -> Grain:
    return Grain(1, config.tile_bytes, config.tile_rows_max)


def _rows(threads: int) -> int:
    affordable = SHARE * machine.free_bytes() / (4 * 8)
    return int(max(threads << 10, min(threads * ROWS_PER_THREAD, affordable)))


def _share(phase: Phase, threads: int) -> int:
    """Return how many rows each thread does."""
    return max(phase.tile_rows, phase.rows // threads // phase.tile_rows * phase.tile_rows)


def _beyond_memory(
    phase: Phase, op_class: str, took: float, known: dict[str, float], profile: DeviceProfile
) -> tuple[float, float]:
    """Return the ns of a row that are for the ops of a class, and how many there are."""
    work = phase_work(phase)
    share = _share(phase, profile.threads)
    moved = share * (work.bytes_read + work.bytes_written)
    loops = dict(work.loops)
    others = sum(n * known[c] for c, n in loops.items() if c != op_class)
    return (took - moved / profile.bandwidth_at(moved)) / share * 1e9 - others, loops[op_class]


def _stage_seconds(stage: FusedStage, threads: int) -> float:
    """Return the seconds of a phase's rows shared out evenly among so many threads."""
    kernel = TiledKernel(stage.phase)
    values = [arg.value for arg in stage.inputs]
    outs = lowerings.outputs_of(stage.phase)
    rows, size = stage.phase.rows, stage.phase.tile_rows
    share = _share(stage.phase, threads)
    starts = range(0, share * threads, share)

    def run(lo: int) -> None:
        if lo >= rows:
            return
        number = lo // size
        mine = [
            o[number:] if g.partial else o for o, g in zip(outs, stage.phase.outputs, strict=True)
        ]
        kernel.run(values, mine, lo, min(lo + share, rows))

    return _all_at_once([partial(run, lo) for lo in starts])


def call_seconds(threads: int) -> float:
    """Return what a short call of NumPy's takes longer while all threads make such calls."""
    if threads == 1:
        return 0.0

    def calls() -> Callable[[], object]:
        x, out = np.linspace(0.5, 2.5, measure.TILE), np.empty(measure.TILE)

        def run() -> None:
            for _ in range(CALLS):
                np.exp(x, out=out)

        return run

    alone = _all_at_once([calls()])
    together = _all_at_once([calls() for _ in range(threads)])
    return max(0.0, together - alone) / CALLS


def _not_waiting() -> float:
    """Return the time, less what this thread waited while others had the processors."""
    return perf_counter() - machine.waited_seconds()


def _all_at_once(calls: list[Callable[[], object]]) -> float:
    """Return the seconds of the slowest call while all others run, in the best of several rounds.

    The best of each call alone would be one that the others had left alone.
    """
    clock = thread_time if machine.cpu_quota() is not None else _not_waiting
    barrier = Barrier(len(calls))

    def task(call: Callable[[], object]) -> list[float]:
        call()
        found = []
        for _ in range(ROUNDS):
            barrier.wait()
            started = clock()
            for _ in range(RUNS):
                call()
            found.append((clock() - started) / RUNS)
        return found

    with ThreadPoolExecutor(len(calls)) as pool:
        try:
            futures = [pool.submit(task, call) for call in calls]
        except RuntimeError:  # the process ends: nobody is to wait for those who will not come
            barrier.abort()
            raise
        rounds = zip(*[future.result() for future in futures], strict=True)
        return max(measure.SHORTEST_SECONDS, min(max(each) for each in rounds))
