"""The functions that run on nodes. Each gets a job (plain, picklable data) and pieces of arrays.

None writes to what it was given: Dask may run a task again, or run another reader of the same
piece.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.kernels import reference
from dnumpy.kernels.choose import kernel_for
from dnumpy.kernels.partials import combine, partial_dtype
from dnumpy.ops.table import CROSSPROD
from dnumpy.runtime.memory import pool
from dnumpy.runtime.operands import Bindings, Inner, Made, Take, taken
from dnumpy.runtime.peaks import Given, Taken, watched
from dnumpy.runtime.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dnumpy.expr.expr import Params, Shape
    from dnumpy.expr.geometry import Geometry
    from dnumpy.ops.families import Blocked, Fold, Op
    from dnumpy.rewrite.phase import Output, Phase, Step
    from dnumpy.runtime.operands import Ref


class RowJob(NamedTuple):
    """Rows ``lo:hi`` of a phase, in runs of tiles that tile them, each with operands of its own."""

    phase: Phase
    lo: int
    hi: int
    runs: tuple[tuple[int, int, Bindings], ...]


class UpdateJob(NamedTuple):
    """A block of rows of an updated array: a copy of the base's rows with ``region`` replaced.

    The operands are the base's rows, unless the region covers the block, and the value, unless the
    region (then None) has no row in the block.
    """

    shape: Shape
    dtype: np.dtype
    region: Geometry | None
    bindings: Bindings


class WholeJob(NamedTuple):
    """One op on whole operands; with ``granule``, so many rows of the first at a time."""

    op: Op
    params: Params
    shape: Shape
    dtype: np.dtype
    bindings: Bindings
    granule: int = 0


class FoldJob(NamedTuple):
    """A product summed over a block of rows of both operands, ``granule`` rows at a time.

    The operands are the rows of the matrix whose transpose is multiplied, and of the other factor.
    """

    shape: Shape
    dtype: np.dtype
    bindings: Bindings
    granule: int


class BlockJob(NamedTuple):
    """Rows ``lo:hi`` of a blocked op, in blocks that tile them, each with pieces of its own."""

    op: Blocked
    params: Params
    shape: Shape
    dtype: np.dtype
    lo: int
    blocks: tuple[tuple[int, int, Bindings], ...]


class PartialJob(NamedTuple):
    """What a fold makes of each of some blocks of rows."""

    op: Fold
    params: Params
    blocks: tuple[tuple[int, int, Bindings], ...]


class Report(NamedTuple):
    """How a task went, without its arrays."""

    seconds: float
    faults: frozenset[tuple[int, str]]
    lowering: str
    nbytes: int
    ended: float
    memory: Taken | None


def noting_memory(run: Callable[..., Made]) -> Callable[..., Made]:
    """Return the task that also says what it took, where this process is watched."""

    @wraps(run)
    def task(job: Any, *data: Ref) -> Made:
        seen: list[Taken] = []
        with watched(seen):
            made = run(job, *data)
        if not seen:
            return made
        given = [Given(*piece) for b in _bindings_of(job) for piece in b.given(data)]
        return made.noting(seen[0]._replace(given=tuple(given)))

    return task


def _bindings_of(job: Any) -> Iterator[Bindings]:
    if isinstance(job, RowJob):
        yield from (bindings for _, _, bindings in job.runs)
    elif isinstance(job, (BlockJob, PartialJob)):
        yield from (bindings for _, _, bindings in job.blocks)
    else:
        yield job.bindings


@noting_memory
def run_rows(job: RowJob, *data: Ref) -> Made:
    """Compute the job's rows of every output."""
    started = time.perf_counter()
    phase = job.phase
    outs = [_allocated(job, output) for output in phase.outputs]
    kernel = kernel_for(phase)
    faults: set[tuple[int, str]] = set()
    with one_blas_thread() if phase.multiplies else nullcontext():
        for lo, hi, bindings in job.runs:
            values = bindings.values(data)
            faults |= kernel.run(values, _rows_from(job, outs, lo), lo, hi, lo)
            del values  # what was read from a file, before more of it is read
    given = list(zip(phase.outputs, outs, strict=True))
    return Made(
        tuple(out for output, out in given if not output.partial),
        tuple(out for output, out in given if output.partial),
        time.perf_counter() - started,
        frozenset(faults),
        kernel.lowering,
    )


def _rows_from(job: RowJob, outs: Sequence[np.ndarray], lo: int) -> list[np.ndarray]:
    """Return the outputs without the rows and tiles before row ``lo``."""
    tiles = (lo - job.lo) // job.phase.tile_rows
    given = zip(job.phase.outputs, outs, strict=True)
    return [out[tiles:] if output.partial else out[lo - job.lo :] for output, out in given]


def _allocated(job: RowJob, output: Output) -> np.ndarray:
    phase = job.phase
    step = phase.steps[output.slot - len(phase.inputs)]
    if output.partial:
        tiles = -(-(job.hi - job.lo) // phase.tile_rows)
        dtype = partial_dtype(step, phase.dtype_of(step.args[0]))
        return np.empty((tiles, *phase.partial_shape(step)), dtype)
    return pool.empty((job.hi - job.lo, *step.shape[1:]), step.dtype)


@noting_memory
def run_update(job: UpdateJob, *data: Ref) -> Made:
    """Return the block with its part of the region replaced."""
    started = time.perf_counter()
    *base, value = job.bindings.values(data)
    if job.region is None:
        return Made((value,), (), time.perf_counter() - started, frozenset())
    out = pool.empty(job.shape, job.dtype)
    if base:
        np.copyto(out, base[0])
    target = job.region.over(out)
    faults = noted(lambda: _assign(target, value))
    return Made((out,), (), time.perf_counter() - started, faults)


def _assign(target: np.ndarray, value: object) -> None:
    target[...] = value


@noting_memory
def run_whole(job: WholeJob, *data: Ref) -> Made:
    """Return the op's result."""
    started = time.perf_counter()
    values = job.bindings.values(data)
    made: list[np.ndarray] = []
    faults = noted(lambda: made.append(_applied(job, values)))
    return Made((made[0],), (), time.perf_counter() - started, faults)


def _applied(job: WholeJob, values: Sequence[Any]) -> np.ndarray:
    if not job.granule:
        return reference.apply(job.op, values, job.params, job.shape, job.dtype)
    first, *rest = values
    out = pool.empty(job.shape, job.dtype)
    for lo in range(0, job.shape[0], job.granule):
        block = first[lo : lo + job.granule]
        shape = (block.shape[0], *job.shape[1:])
        out[lo : lo + job.granule] = reference.apply(
            job.op, [block, *rest], job.params, shape, job.dtype
        )
    return out


@noting_memory
def run_blocks(job: BlockJob, *data: Ref) -> Made:
    """Compute the job's rows, block by block."""
    started = time.perf_counter()
    out = pool.empty(job.shape, job.dtype)

    def compute() -> None:
        for lo, hi, bindings in job.blocks:
            rows = out[lo - job.lo : hi - job.lo]
            job.op.call(bindings.values(data), job.params, lo, hi, rows)

    faults = noted(compute)
    return Made((out,), (), time.perf_counter() - started, faults)


@noting_memory
def run_partials(job: PartialJob, *data: Ref) -> Made:
    """Return what the fold makes of each block, as one partial output: a list."""
    started = time.perf_counter()
    found: list[Any] = []

    def compute() -> None:
        for lo, hi, bindings in job.blocks:
            found.append(job.op.call(bindings.values(data), job.params, lo, hi))

    faults = noted(compute)
    return Made((), (found,), time.perf_counter() - started, faults)


def merged(op: Fold, params: Params, shape: Shape, dtype: np.dtype, *partials: list[Any]) -> Made:
    """Return a fold's result from what all nodes made of their blocks, in the order of rows."""
    started = time.perf_counter()
    made: list[np.ndarray] = []

    def merge() -> None:
        every = [one for part in partials for one in part]
        made.append(reference.result_of_merge(op.merge(every, params), shape, dtype))

    faults = noted(merge)
    return Made((made[0],), (), time.perf_counter() - started, faults)


@noting_memory
def run_fold(job: FoldJob, *data: Ref) -> Made:
    """Return the products of all granules of the block, stacked, as a partial output."""
    started = time.perf_counter()
    left, right = job.bindings.values(data)
    starts = range(0, left.shape[0], job.granule)
    stack = np.empty((len(starts), *job.shape), job.dtype)

    def fold() -> None:
        for k, lo in enumerate(starts):
            block = (left[lo : lo + job.granule], right[lo : lo + job.granule])
            stack[k] = reference.apply(CROSSPROD, block, (), job.shape, job.dtype)

    faults = noted(fold)
    return Made((), (stack,), time.perf_counter() - started, faults)


def summed(*stacks: np.ndarray) -> Made:
    """Return the sum of all granules' products, up a binary tree over the granules."""
    started = time.perf_counter()
    level = [joined(*stacks)]

    def add_up() -> None:
        while len(level[0]) > 1:
            paired = level[0][0:-1:2] + level[0][1::2]
            odd = len(level[0]) % 2
            level[0] = np.concatenate([paired, level[0][-1:]]) if odd else paired

    faults = noted(add_up)
    return Made((level[0][0],), (), time.perf_counter() - started, faults)


def noted(call: Callable[[], None]) -> frozenset[tuple[int, str]]:
    """Run ``call`` and return the floating-point faults that it met, as those of step 0."""
    faults: set[tuple[int, str]] = set()

    def note(kind: str, _flag: int) -> None:
        faults.add((0, kind))

    with np.errstate(all="call", call=note):
        call()
    return frozenset(faults)


def slice_rows(piece: Ref, item: int | None, rows: slice | None, inner: Inner = ()) -> np.ndarray:
    """Return a fresh array of these rows, to be sent to another node."""
    return np.ascontiguousarray(taken(Take(0, item, rows, inner), (piece,)))


def joined(*pieces: np.ndarray) -> np.ndarray:
    """Return the pieces in one array."""
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def report_of(made: Made) -> Report:
    """Return how the task went."""
    return Report(made.seconds, made.faults, made.lowering, made.nbytes, made.ended, made.memory)


def rows_of(made: Made, position: int) -> np.ndarray:
    """Return one row output."""
    return made.rows[position]


def partial_of(made: Made, position: int) -> np.ndarray:
    """Return one partial output."""
    return made.partials[position]


def combined(step: Step, number: int, *partials: np.ndarray) -> Made:
    """Return the result of a reduction over rows from the nodes' partial results, in row order.

    Faults met on the way are those of step ``number``.
    """
    started = time.perf_counter()
    faults: set[tuple[int, str]] = set()

    def note(kind: str, _flag: int) -> None:
        faults.add((number, kind))

    result = combine(step, joined(*partials), note)
    return Made((result,), (), time.perf_counter() - started, frozenset(faults))
