"""Folds over few long rows, computed some columns at a time by the threads of this process.

See :mod:`dnumpy.rewrite.columns`. Where nothing is computed before an array is folded, no kernel is
asked: NumPy's own loops fold what has the same bits in any order, and sums of floats are taken in C
in the order of tiles.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.config import thread_count
from dnumpy.kernels import reference, sums
from dnumpy.kernels.choose import kernel_for
from dnumpy.kernels.partials import combine, room
from dnumpy.rewrite.columns import folds_of, is_exact, part_of
from dnumpy.runtime.faults import noting
from dnumpy.runtime.memory import pool
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from dnumpy.kernels.choose import AdaptiveKernel
    from dnumpy.kernels.tiled import Faults
    from dnumpy.rewrite.columns import Columns
    from dnumpy.rewrite.phase import Phase, Step

LEAST, MOST = 1 << 10, 1 << 16  # elements of a row that are folded at once
PICKED, CAST = 1 << 16, 1 << 18  # the same of all rows, where NumPy, or we, copy them first


def compute(
    kernel: AdaptiveKernel, columns: Columns, values: Sequence[Any], told: Collection[str]
) -> tuple[list[np.ndarray], Faults]:
    """Return the results of a phase that is cut so, and the floating-point faults."""
    run = _Run(kernel.phase, columns, values, told)
    sharing = kernel.sharing(kernel.phase.rows)
    began = time.perf_counter()
    shared = sharing.pays(guess=True)
    width = _direct_width(kernel.phase, columns, values)
    if width and _in_parts(
        lambda start: run.fold(start, width), columns.starts(width), shared=shared
    ):
        kernel.lowering = "numpy"
    else:
        _in_parts(run.compute, columns.starts(columns.width), shared=shared)
        kernel.lowering = (
            "tiled" if "tiled" in run.lowerings else min(run.lowerings, default="numpy")
        )
    sharing.observe(time.perf_counter() - began, shared=shared)
    return run.results, set().union(*run.found)


def _in_parts(work: Callable[[int], bool], starts: range, *, shared: bool) -> bool:
    """Do the work of all parts; say whether all of it was done."""
    done: list[bool] = []
    if shared:
        share_out(lambda start: done.append(work(start)), starts)
    else:
        done += map(work, starts)
    return all(done)


def _direct_width(phase: Phase, columns: Columns, values: Sequence[Any]) -> int:
    """Return the width of parts of what is but folded, 0 where something is computed before."""
    first = len(phase.inputs)
    if any(step.args[0] >= first for step in phase.steps):
        return 0
    if not all(is_exact(step) or _is_plain_sum(step, values) for step in phase.steps):
        return 0
    share = columns.extent * columns.rest // thread_count()
    most = min(_most_elements(step, values) // phase.rows for step in phase.steps)
    elements = min(max(share, LEAST), MOST, max(most, LEAST // 8))
    return min(max(elements // columns.rest, 1), columns.extent)


def _most_elements(step: Step, values: Sequence[Any]) -> int:
    """Return how many elements of all rows to fold at once, whose copies are to lie in a cache."""
    operand = values[step.args[0]]
    if step.op.ufunc is None:  # type: ignore[attr-defined]
        return PICKED
    return MOST * len(operand) if is_exact(step) or operand.dtype == step.dtype else CAST


def _is_plain_sum(step: Step, values: Sequence[Any]) -> bool:
    """Say whether a fold is the sum, in floats, of each column of what lies side by side."""
    params: Any = step.params
    operand = values[step.args[0]]
    return (
        native.built
        and step.op.ufunc is np.add  # type: ignore[attr-defined]
        and params.axis == (0,)
        and params.initial is None
        and not params.masked
        and step.dtype.char in "fdFD"
        and operand.dtype != np.float16  # whose tiles leave sums in single precision
        and np.can_cast(operand.dtype, step.dtype)
        and operand[0].flags.c_contiguous
    )


class _Run:
    """One evaluation of a phase in parts, by several threads."""

    def __init__(
        self, phase: Phase, columns: Columns, values: Sequence[Any], told: Collection[str]
    ) -> None:
        self.phase, self.columns, self.values, self.told = phase, columns, values, told
        self.folds = folds_of(phase)
        self.results = [pool.empty(step.shape, step.dtype) for step in self.folds]
        self.found: list[Faults] = []
        self.lowerings: set[str] = set()

    def fold(self, start: int, width: int) -> bool:
        """Fold a part of what is read; False where somebody has to be told of a fault."""
        values, targets = self._mine(start, start + width)
        faults: list[str] = []
        for step, target in zip(self.folds, targets, strict=True):
            mine = [values[arg] for arg in step.args]
            if is_exact(step):
                with np.errstate(all="call", call=lambda kind, _flag: faults.append(kind)):
                    target[...] = reference.reduce(step.op, mine, step.params)  # type: ignore[arg-type]
                continue
            rows = mine[0].reshape(len(mine[0]), -1).astype(step.dtype, copy=False)
            out = np.empty(rows.shape[1], step.dtype)
            real = np.dtype(step.dtype.char.lower())  # of the parts of complex numbers
            if not sums.sum_columns_up(rows.view(real), self.phase.tile_rows, out.view(real)):
                return False
            target[...] = out.reshape(target.shape)
        return not faults

    def compute(self, start: int) -> bool:
        """Compute and fold a part."""
        values, targets = self._mine(start, start + self.columns.width)
        width = min(self.columns.width, self.columns.extent - start)
        part, numbers, steps = part_of(self.phase, self.columns, width)
        faults: Faults = set()
        outs: list[np.ndarray] = []
        if part is not None:
            kernel = kernel_for(part)
            outs = [_memory_of(part, number) for number in range(len(part.outputs))]
            found = kernel.run(values, outs, 0, part.rows, told=self.told)
            faults = {(steps[number], kind) for number, kind in found}
            self.lowerings.add(kernel.lowering)
        first = len(self.phase.inputs)
        for step, number, target in zip(self.folds, numbers, targets, strict=True):
            if number is None or step.op.ufunc is None:  # type: ignore[attr-defined]
                operand = values[step.args[0]] if number is None else outs[number]
                target[...] = reference.reduce(step.op, [operand], step.params)  # type: ignore[arg-type]
            else:
                assert part is not None
                at = part.outputs[number].slot - first
                target[...] = combine(part.steps[at], outs[number], noting(faults, steps[at]))
        self.found.append(faults)
        return True

    def _mine(self, start: int, stop: int) -> tuple[list[Any], list[np.ndarray]]:
        """Return the part of what is read, and of what is to be written."""
        columns, first = self.columns, len(self.phase.inputs)
        places = [columns.steps[given.slot - first] for given in self.phase.outputs]
        return (
            [_along(v, k, start, stop) for v, k in zip(self.values, columns.inputs, strict=True)],
            [_along(r, k, start, stop) for r, k in zip(self.results, places, strict=True)],
        )


def _along(value: Any, axis: int | None, start: int, stop: int) -> Any:
    return value if axis is None else value[(slice(None),) * axis + (slice(start, stop),)]


def _memory_of(phase: Phase, number: int) -> np.ndarray:
    """Return memory for what a part gives: rows, or what its tiles leave."""
    given = phase.outputs[number]
    step = phase.steps[given.slot - len(phase.inputs)]
    if not given.partial:
        return np.empty(step.shape, step.dtype)
    return room(phase, step, phase.tiles)
