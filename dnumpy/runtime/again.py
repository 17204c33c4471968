"""A stage that runs as it ran before, in few steps: see :mod:`dnumpy.kernels.settled`.

All that the latest runs of its kernel had in common is left out. The rest is left to
:mod:`dnumpy.runtime.local`, before anything is done: regions of arrays that are written in place,
memory of operands that die, columns, and faults of which somebody is to be told.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.kernels.choose import kernel_for
from dnumpy.kernels.partials import combine
from dnumpy.runtime import stored
from dnumpy.runtime.bound import settle, values_of
from dnumpy.runtime.donation import LEAST_BYTES
from dnumpy.runtime.faults import StepFault, collect, noting, told_of
from dnumpy.runtime.memory import pool
from dnumpy.runtime.records import HERE, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.kernels.choose import AdaptiveKernel
    from dnumpy.rewrite.stages import FusedStage

_new: Callable[..., Record] = tuple.__new__  # what the class does takes three times as long


def run_again(stage: FusedStage) -> tuple[Record, list[StepFault]] | None:
    """Run a stage as most of its runs go; None where that is not known, and nothing was given."""
    kernel = kernel_for(stage.phase)
    if kernel.settled is None or stage.placed or stored.unread:
        return None
    started = time.perf_counter()
    outs = _memory(stage, kernel)
    if outs is None:
        return None
    if not runs_as_settled(kernel, stage, values_of(stage.inputs), outs):
        return None
    found: list[StepFault] = []
    if kernel.gives_partials:
        found = _give_partials(stage, outs)
    else:
        for expr, out in zip(stage.outputs, outs, strict=True):
            expr.value, expr.args = out, ()
    seconds = time.perf_counter() - started
    return _record(kernel, started, seconds), found


def runs_as_settled(
    kernel: AdaptiveKernel, stage: FusedStage, values: Sequence[Any], outs: Sequence[np.ndarray]
) -> bool:
    """Compute all rows as most runs go; False where they are to be computed as if nothing had been.

    So they are where somebody is to be told of a fault.
    """
    settled = kernel.settled
    if settled is None:
        return False
    raised = settled.run(values, outs)
    if raised == 0 or (raised > 0 and not settled.are_told(raised, told_of(stage.steps))):
        return True
    kernel.settled = None
    return False


def _memory(stage: FusedStage, kernel: AdaptiveKernel) -> list[np.ndarray] | None:
    """Return where each output goes; None where that is to be looked at."""
    outs = []
    for expr, room in zip(stage.outputs, kernel.rooms, strict=True):
        if room is not None:
            outs.append(np.empty(*room))
            continue
        nbytes = expr.nbytes
        out = pool.again(nbytes, expr.shape, expr.dtype)
        if out is None:
            if nbytes >= LEAST_BYTES and not pool.has(nbytes):
                return None
            out = pool.empty(expr.shape, expr.dtype)
        outs.append(out)
    return outs


def _give_partials(stage: FusedStage, outs: list[np.ndarray]) -> list[StepFault]:
    """Give every output its value, some of which are what the tiles left behind."""
    found: set[tuple[int, str]] = set()
    phase, first = stage.phase, len(stage.phase.inputs)
    for expr, given, out in zip(stage.outputs, phase.outputs, outs, strict=True):
        value = out
        if given.partial:
            number = given.slot - first
            value = combine(phase.steps[number], out, noting(found, number))
        settle(expr, value)
    return collect(stage.steps, found) if found else []


def _record(kernel: AdaptiveKernel, started: float, seconds: float) -> Record:
    phase = kernel.phase
    fields: tuple[Any, ...] = (
        kernel.title, ((HERE, phase.rows),), seconds, kernel.traffic, kernel.lowering, (seconds,),
        None, (), (), phase, started, (), None, (), (), 0, 0.0,
    )  # fmt: skip
    return _new(Record, fields)
