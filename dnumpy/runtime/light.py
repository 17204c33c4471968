"""Light stages: those that read little that is in this process are not worth a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dnumpy.expr.expr import Expr
from dnumpy.expr.walk import base_of
from dnumpy.plan.work import op_work
from dnumpy.rewrite.stages import FusedStage
from dnumpy.runtime import local, works
from dnumpy.runtime.reading import is_little

if TYPE_CHECKING:
    from dnumpy.cost.work import Work
    from dnumpy.rewrite.stages import Stage
    from dnumpy.runtime.failures import Failure
    from dnumpy.runtime.faults import StepFault
    from dnumpy.runtime.records import Record


def light_ones_at_home(
    stages: list[Stage], most_bytes: int
) -> tuple[list[Record], list[StepFault], list[Failure]]:
    """Run here, and take out of the list, what reads little that is here, and gives little.

    That is at most ``most_bytes`` together.
    """
    records: list[Record] = []
    faults: list[StepFault] = []
    failures: list[Failure] = []
    away: list[Stage] = []
    for stage in stages:
        if not _is_light_here(stage, most_bytes):
            away.append(stage)
            continue
        done, found, failed = local.execute([stage])
        records += done
        faults += found
        failures += failed
    stages[:] = away
    return records, faults, failures


def _is_light_here(stage: Stage, most_bytes: int) -> bool:
    """Say whether all that a stage reads is in this process, and that and what it gives little."""
    if isinstance(stage, FusedStage):
        read = (*stage.inputs, *stage.bases())
        given = [*stage.outputs, *stage.placed.values()]
    else:
        read, given = stage.expr.args, [stage.expr]
    bases = [base_of(arg) for arg in read if isinstance(arg, Expr)]
    if sum(expr.nbytes for expr in (*bases, *given)) > most_bytes:
        return False
    return all(isinstance(base.value, np.ndarray) for base in bases) and is_little(_work_of(stage))


def _work_of(stage: Stage) -> Work:
    if isinstance(stage, FusedStage):
        return works.phase_work(stage.phase)
    expr = stage.expr
    reads = [(arg.shape, arg.dtype) for arg in expr.operands()]
    return op_work(expr.op, expr.shape, expr.dtype, reads)
