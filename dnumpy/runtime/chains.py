"""Chains: rows that are computed one after the other, each from the last one before it.

Every row is computed where it lies, and two rows travel from each range to the next.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnumpy.ops.scans import followed
from dnumpy.runtime.bind import Operand, Want, bind
from dnumpy.runtime.memory import pool
from dnumpy.runtime.operands import Bindings, Made
from dnumpy.runtime.tasks import noted, partial_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Shape
    from dnumpy.ops.scans import RunParams
    from dnumpy.runtime.graph import Graph, Range
    from dnumpy.runtime.operands import Ref

LEAST_STEP = 2  # rows, from which on what comes before is two rows


class RunJob(NamedTuple):
    """A range of rows, ``step`` at a time, which come after others unless ``first``."""

    params: RunParams
    shape: Shape
    bindings: Bindings
    step: int
    first: bool


def run_on(job: RunJob, *data: Ref) -> Made:
    """Return the running folds of the rows, and as partial output what the next come after."""
    started = time.perf_counter()
    dtype = job.params.dtype
    before = np.empty((0, *job.shape[1:]), dtype) if job.first else data[0]
    (rows,) = job.bindings.values(data if job.first else data[1:])
    out = pool.empty(job.shape, dtype)
    last = [before]

    def compute() -> None:
        for lo in range(0, len(rows), job.step):
            part = slice(lo, lo + job.step)
            last.append(followed(rows[part], last.pop(), job.params, out[part]))

    faults = noted(compute)
    return Made((out,), (last[0],), time.perf_counter() - started, faults)


@dataclass(frozen=True, slots=True, eq=False)
class ChainedRows:
    """Running folds down rows, of a function that does not fold in blocks."""

    params: RunParams
    shape: Shape
    operand: Operand
    grid: int

    def depth(self) -> int:
        """Return the number of stages that led here."""
        return self.operand.depth

    def granule(self) -> int:
        """Return the rows at whose multiples ranges are cut."""
        return max(self.grid, LEAST_STEP)

    def row_outputs(self) -> int:
        """Return how many arrays each task gives rows of."""
        return 1

    def build(self, graph: Graph, ranges: Sequence[Range]) -> list[tuple[Range, Ref]]:
        """Add a task for each range, and for all rows before that are not among the ranges."""
        made: list[tuple[Range, Ref]] = []
        before: Ref = None
        at = 0
        for r in sorted(ranges, key=lambda r: r.lo):
            skipped = graph.nodes.spread(at, r.lo, self.granule()) if at < r.lo else []
            for q in (*skipped, r):
                task = self._task(graph, q, before)
                before = graph.add("pick", q.node, partial_of, task, 0)
            made.append((r, task))
            at = r.hi
        return made

    def _task(self, graph: Graph, r: Range, before: Ref) -> Ref:
        bindings, data = bind(graph, r.node, [Want(self.operand, r.lo, r.hi)])
        shape = (r.hi - r.lo, *self.shape[1:])
        first = r.lo == 0
        job = RunJob(self.params, shape, bindings, self.granule(), first)
        return graph.add("run", r.node, run_on, job, *(() if first else (before,)), *data)
