"""What the tiled lowering takes per element on all threads at once, by op class.

Tables of single calls miss what a phase adds to them: the interpreter that threads wait for
between two calls, and tiles that push each other out of the caches. So phases are run as they will
run, each thread over its share of rows that no cache holds, and what they take beyond memory is
their ops'.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product as product_of
from statistics import median
from threading import Barrier, Thread
from time import perf_counter, thread_time
from typing import TYPE_CHECKING

import numpy as np

from dnumpy.config import config
from dnumpy.cost.estimate import OVERLAP, other_part
from dnumpy.kernels import compile as compiler
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.rewrite.cut import Grain
from dnumpy.runtime import lowerings, machine, measure, works
from dnumpy.runtime.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.expr.expr import Expr
    from dnumpy.rewrite.phase import Phase
    from dnumpy.rewrite.stages import FusedStage

PHASES = "phases"  # the lowering under which a profile has these figures
ROWS_PER_THREAD = 1 << 19
SHARE = 1 / 8  # of the free memory
RUNS, ROUNDS, PASSES = 2, 2, 3
FRESH_INSIDE = ("exp", "sqrt")
FRESH = ("add", "multiply", "maximum", "minimum", "subtract")  # the last ops of new programs
CALLED_ROWS, CALLED_WIDTH, MANY = 1 << 16, 20, 9  # calls of some 20 us, and rounds of them
LEAST_SHARE = 0.1  # of a single call's time: less would be a lucky moment


def phases_ns(profile: DeviceProfile) -> tuple[tuple[str, float], ...]:
    """Return ns per element by op class, float64, of one thread while all others are as busy.

    Waiting for the interpreter counts, and waiting for a processor that others have does not.
    """
    rows = _rows(profile.threads, profile.free_bytes)
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


def _rows(threads: int, free_bytes: float) -> int:
    affordable = SHARE * free_bytes / (4 * 8)
    return int(max(threads << 10, min(threads * ROWS_PER_THREAD, affordable)))


def _share(phase: Phase, threads: int) -> int:
    """Return how many rows each thread does."""
    return max(phase.tile_rows, phase.rows // threads // phase.tile_rows * phase.tile_rows)


def _beyond_memory(
    phase: Phase, op_class: str, took: float, known: dict[str, float], profile: DeviceProfile
) -> tuple[float, float]:
    """Return the ns of a row that are for the ops of a class, and how many there are."""
    work = works.phase_work(phase)
    share = _share(phase, profile.threads)
    moved = share * (work.bytes_read + work.bytes_written)
    loops = dict(work.loops)
    others = sum(n * known[c] for c, n in loops.items() if c != op_class)
    busy = other_part(took, moved / profile.bandwidth_at(moved), OVERLAP["tiled"])
    return busy / share * 1e9 - others, loops[op_class]


def _stage_seconds(stage: FusedStage, threads: int) -> float:
    """Return the seconds of a phase's rows shared out evenly among so many threads."""
    return _all_at_once(_calls(stage, threads))


def _calls(stage: FusedStage, threads: int) -> list[Callable[[], object]]:
    """Return what computes each thread's share of a phase's rows."""
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

    return [partial(run, lo) for lo in starts]


def lowering_seconds(threads: int, free_bytes: float) -> float:
    """Return what a run on all threads takes longer since its kernel is being written meanwhile.

    One of the threads writes the source and another one loads code from disk, as in a first run,
    and the interpreter is theirs in turn with all others. Sources are of programs that nobody has
    lowered yet: the second time much is at hand. The lower quartile counts, as neighbours disturb a
    run of two threads that wait for each other more often than not.
    """
    source = np.random.default_rng(0)
    rows = _rows(threads, free_bytes)
    x, y = (lowerings.stored(source.uniform(0.5, 1.5, rows)) for _ in range(2))
    product = lowerings.applied("multiply", x, y)
    chain, _ = lowerings.programs(x, y, product)["arith"]
    stage = lowerings.stage_of(chain, _grain())
    calls = _calls(stage, threads)
    steady = min(_wall(calls) for _ in range(1 + PASSES))
    found = []
    for name, inside in product_of(FRESH, FRESH_INSIDE):
        fresh = lowerings.applied(name, lowerings.applied(inside, product), x)

        def lower(fresh: Expr = fresh) -> None:
            variant = lowerings.variant_of(fresh)
            Thread(target=partial(compiler.is_cached, variant.source)).start()
            calls[0]()

        found.append(_wall([lower, *calls[1:]]) - steady)
    return max(0.0, sorted(found)[len(found) // 4])


def _wall(calls: list[Callable[[], object]]) -> float:
    """Return the seconds until all calls are done that begin at the same time."""
    with ThreadPoolExecutor(len(calls)) as pool:
        started = perf_counter()
        for future in [pool.submit(call) for call in calls]:
            future.result()
        return perf_counter() - started


def call_seconds(threads: int, free_bytes: float) -> float:
    """Return what a call takes longer while all threads run a phase that has a product.

    Its tiles are run step by step: a thread that comes back from a call waits for the interpreter,
    and longer for the system to wake it.
    """
    if threads == 1:
        return 0.0
    source = np.random.default_rng(0)
    affordable = SHARE * free_bytes / (8 * CALLED_WIDTH)
    count = int(max(threads << 10, min(threads * CALLED_ROWS, affordable)))
    rows = lowerings.stored(source.uniform(0.5, 1.5, (count, CALLED_WIDTH)))
    chances = lowerings.applied("exp", lowerings.by_vector(rows, np.ones(CALLED_WIDTH)))
    stage = lowerings.stage_of(chances, _grain())
    calls = _calls(stage, threads)
    with one_blas_thread():
        alone = _all_at_once(calls[:1], MANY)
        together = _all_at_once(calls, MANY, median)
    made = works.phase_work(stage.phase).calls * _share(stage.phase, threads)
    return max(0.0, together - alone) / made


def _not_waiting() -> float:
    """Return the time, less what this thread waited while others had the processors."""
    return perf_counter() - machine.waited_seconds()


def _all_at_once(
    calls: list[Callable[[], object]],
    count: int = ROUNDS,
    which: Callable[[Iterable[float]], float] = min,
) -> float:
    """Return the seconds of the slowest call while all others run, in the best of several rounds.

    Or, as ``which`` says, in another one.

    The best of each call alone would be one that the others had left alone.
    """
    clock = thread_time if machine.cpu_quota() is not None else _not_waiting
    barrier = Barrier(len(calls))

    def task(call: Callable[[], object]) -> list[float]:
        call()
        found = []
        for _ in range(count):
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
        return max(measure.SHORTEST_SECONDS, which([max(each) for each in rounds]))
