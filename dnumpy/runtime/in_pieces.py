"""Tasks that a device has no memory for at once: piece by piece, each of which comes home.

A piece takes memory for its rows alone. What does not suffice for one is tried with its halves, as
long as they are no less than a share of the task. What the tiles of reductions leave behind is
folded in the order of the whole task: it has the same bits.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Protocol

from dnumpy.runtime import tasks
from dnumpy.runtime.halves import halves
from dnumpy.runtime.memory import pool
from dnumpy.runtime.operands import Made

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from dnumpy.kernels.device import Device
    from dnumpy.kernels.kernel import Kernel
    from dnumpy.runtime.halves import Run
    from dnumpy.runtime.operands import Bindings, Ref

MOST_PIECES = 64  # of a task's rows: what they wait for one another is little of what they take


class Runner(Protocol):
    """What runs tasks on a device."""

    device: Device

    def values(self, bindings: Bindings, data: Sequence[Ref]) -> list[Any]:
        """Return a task's operands in order, arrays in the device's memory."""
        ...

    def room(self, job: tasks.RowJob, number: int) -> Any:
        """Return memory for the rows of an output, None for one that is folded."""
        ...

    def computed(
        self, kernel: Kernel, job: tasks.RowJob, run: Run, outs: Sequence[Any], data: Sequence[Ref]
    ) -> tuple[dict[int, np.ndarray], set[tuple[int, str]]]:
        """Compute a run's rows into ``outs``; return what its tiles leave behind, and faults.

        That is here, for each output that is None.
        """
        ...


def rows_in_pieces(runner: Runner, job: tasks.RowJob, *data: Ref) -> Made:
    """Compute the job's rows; raises what the device does where a small piece does not fit."""
    started = time.perf_counter()
    phase = job.phase
    kernel = runner.device.kernel(phase)
    outs = [tasks.allocated(job, output) for output in phase.outputs]
    folds = {k: tasks.TileFold(phase, o) for k, o in enumerate(phase.outputs) if o.partial}
    least = -(-(job.hi - job.lo) // MOST_PIECES)
    faults: set[tuple[int, str]] = set()
    waiting = list(job.runs)
    if len(waiting) == 1:  # which is what did not fit
        waiting = list(halves(waiting[0], phase, least, data)) or waiting
    while waiting:
        run = waiting.pop(0)
        try:
            found, met = _piece(runner, kernel, job, run, data)
        except runner.device.exhausted:
            fewer = halves(run, phase, least, data)
            if not fewer:
                raise
        else:
            fewer = ()
            faults |= met
            lo, hi, _ = run
            for k, (out, values) in enumerate(zip(outs, found, strict=True)):
                if out is None:
                    faults |= folds[k].take_in(values, lo)
                else:
                    out[lo - job.lo : hi - job.lo] = values
        if fewer:  # here, where nothing holds the arrays of what failed
            runner.device.trim()
            waiting = [*fewer, *waiting]
    rows = tuple([out for out in outs if out is not None])
    left = tuple([fold.left() for fold in folds.values()])
    return Made(rows, left, time.perf_counter() - started, frozenset(faults), kernel.lowering)


def _piece(
    runner: Runner, kernel: Kernel, job: tasks.RowJob, run: Run, data: Sequence[Ref]
) -> tuple[list[np.ndarray], set[tuple[int, str]]]:
    """Return what a run gives of each output, here, and faults."""
    lo, hi, bindings = run
    part = job._replace(lo=lo, hi=hi, runs=(run,))
    outs = [runner.room(part, number) for number in range(len(job.phase.outputs))]
    tiles, faults = runner.computed(kernel, part, (lo, hi, bindings), outs, data)
    found = [tiles[k] if out is None else runner.device.get(out) for k, out in enumerate(outs)]
    return found, faults


def blocks_in_pieces(runner: Runner, job: tasks.BlockJob, *data: Ref) -> Made:
    """Compute the job's blocks, one after the other; raises where one does not fit."""
    started = time.perf_counter()
    out = pool.empty(job.shape, job.dtype)
    for lo, hi, bindings in job.blocks:
        values = runner.values(bindings, data)
        shape = (hi - lo, *job.shape[1:])
        found = runner.device.apply(job.op, values, job.params, shape, job.dtype)
        out[lo - job.lo : hi - job.lo] = runner.device.get(found)
    return Made((out,), (), time.perf_counter() - started, frozenset(), "cuda")
