"""The functions that run on nodes. Each gets a job (plain, picklable data) and pieces of arrays.

None writes to what it was given: Dask may run a task again, or run another reader of the same
piece.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.kernels import reference
from dnumpy.kernels.choose import kernel_for
from dnumpy.kernels.partials import join_neighbours, room
from dnumpy.ops.table import CROSSPROD, EMPTY, MATMUL
from dnumpy.runtime.branches import Branch, Branches, branches_of, put_on
from dnumpy.runtime.memory import pool
from dnumpy.runtime.operands import Bindings, Made
from dnumpy.runtime.pace import EVEN, Pace, paced
from dnumpy.runtime.peaks import Given, Taken, watched
from dnumpy.runtime.stored import StoredRows
from dnumpy.runtime.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.expr.expr import Params, Shape
    from dnumpy.expr.geometry import Geometry
    from dnumpy.ops.families import Blocked, Fold, Op
    from dnumpy.rewrite.phase import Output, Phase
    from dnumpy.runtime.operands import Ref


class RowJob(NamedTuple):
    """Rows ``lo:hi`` of a phase, in runs of tiles that tile them, each with operands of its own."""

    phase: Phase
    lo: int
    hi: int
    runs: tuple[tuple[int, int, Bindings], ...]

    def reads(self) -> tuple[Bindings, ...]:
        """Return where its operands come from."""
        return tuple([bindings for _, _, bindings in self.runs])


class UpdateJob(NamedTuple):
    """A block of rows of an updated array: a copy of the base's rows with ``region`` replaced.

    The operands are the base's rows, unless the region covers the block, and the value, unless the
    region (then None) has no row in the block.
    """

    shape: Shape
    dtype: np.dtype
    region: Geometry | None
    bindings: Bindings

    def reads(self) -> tuple[Bindings, ...]:
        """Return where its operands come from."""
        return (self.bindings,)


class WholeJob(NamedTuple):
    """One op on whole operands; with ``granule``, so many rows of the first at a time."""

    op: Op
    params: Params
    shape: Shape
    dtype: np.dtype
    bindings: Bindings
    granule: int = 0

    def reads(self) -> tuple[Bindings, ...]:
        """Return where its operands come from."""
        return (self.bindings,)


def folded_apart(*, any_order: bool) -> tuple[int, ...]:
    """Return the operands of a fold of products that are read a granule of rows at a time."""
    return () if any_order else (0, 1)


class FoldJob(NamedTuple):
    """A product summed over a block of rows of both operands, ``granule`` rows at a time.

    The block begins with granule ``first`` of ``total``; ``any_order``: they may be added in any.
    The operands are the rows of the matrix whose transpose is multiplied, or its columns themselves
    where it lies ``across``, and the rows of the other factor.
    """

    shape: Shape
    dtype: np.dtype
    bindings: Bindings
    granule: int
    first: int
    total: int
    any_order: bool
    across: bool

    @property
    def apart(self) -> tuple[int, ...]:
        """The operands that are read a granule of rows at a time."""
        return folded_apart(any_order=self.any_order)

    def reads(self) -> tuple[Bindings, ...]:
        """Return where its operands come from."""
        return (self.bindings,)


class BlockJob(NamedTuple):
    """Rows ``lo:hi`` of a blocked op, in blocks that tile them, each with pieces of its own."""

    op: Blocked
    params: Params
    shape: Shape
    dtype: np.dtype
    lo: int
    blocks: tuple[tuple[int, int, Bindings], ...]

    def reads(self) -> tuple[Bindings, ...]:
        """Return where its operands come from."""
        return tuple([bindings for _, _, bindings in self.blocks])


class PartialJob(NamedTuple):
    """What a fold makes of each of some blocks of rows, from block ``first`` on, of ``total``."""

    op: Fold
    params: Params
    blocks: tuple[tuple[int, int, Bindings], ...]
    first: int
    total: int
    shape: Shape  # of the fold's result
    dtype: np.dtype

    def reads(self) -> tuple[Bindings, ...]:
        """Return where its operands come from, windows that blocks have in common once."""
        return tuple({id(bindings.windows): bindings for _, _, bindings in self.blocks}.values())


class Report(NamedTuple):
    """How a task went, without its arrays."""

    seconds: float
    faults: frozenset[tuple[int, str]]
    lowering: str
    nbytes: int
    ended: float
    memory: Taken | None
    pace: Pace = EVEN

    @property
    def steady_seconds(self) -> float:
        """What the task took, or would take over time if that is more."""
        return self.pace.steady(self.seconds)


def saying_how_it_went(run: Callable[..., Made]) -> Callable[..., Made]:
    """Return the task that also says what it took, and how it would go over time.

    See :mod:`~dnumpy.runtime.peaks` and :mod:`~dnumpy.runtime.pace`.
    """

    @wraps(run)
    def task(job: Any, *data: Ref) -> Made:
        seen: list[Taken] = []
        found: list[Pace] = []
        with watched(seen), paced(found):
            made = run(job, *data)
        (pace,) = found
        if any(isinstance(piece, StoredRows) for piece in data):
            pace = pace._replace(paging=0.0)  # the system's time is what it takes to read
        made = made._replace(pace=pace)
        if not seen:
            return made
        jobs = job if type(job) is tuple else (job,)
        reads = [bindings for each in jobs for bindings in each.reads()]
        given = [Given(*piece) for bindings in reads for piece in bindings.given(data)]
        return made.noting(seen[0]._replace(given=tuple(given)))

    return task


@saying_how_it_went
def run_rows(job: RowJob, *data: Ref) -> Made:
    """Compute the job's rows of every output."""
    started = time.perf_counter()
    phase = job.phase
    outs = [allocated(job, output) for output in phase.outputs]
    partials, faults, lowering = fill_rows(job, outs, data)
    rows = tuple([out for out in outs if out is not None])
    return Made(rows, partials, time.perf_counter() - started, faults, lowering)


def fill_rows(
    job: RowJob, rows: Sequence[np.ndarray | None], data: Sequence[Ref]
) -> tuple[tuple[Any, ...], frozenset[tuple[int, str]], str]:
    """Compute the job's rows into ``rows``; return partial outputs, faults and the lowering."""
    phase = job.phase
    kernel = kernel_for(phase)
    faults: set[tuple[int, str]] = set()
    folds = {k: TileFold(phase, o) for k, o in enumerate(phase.outputs) if o.partial}
    with one_blas_thread() if phase.multiplies else nullcontext():
        for lo, hi, bindings in job.runs:
            values = bindings.values(data)
            outs = [
                folds[k].room(lo, hi) if out is None else out[lo - job.lo :]
                for k, out in enumerate(rows)
            ]
            faults |= kernel.run(values, outs, lo, hi, lo)
            del values  # what was read from a file, before more of it is read
            for k, fold in folds.items():
                faults |= fold.take_in(outs[k], lo)
    left = tuple([fold.left() for fold in folds.values()])
    return left, frozenset(faults), kernel.lowering


class TileFold:
    """What the tiles of one partial output leave behind, folded run by run as far as it may be."""

    def __init__(self, phase: Phase, output: Output) -> None:
        self.phase = phase
        self.number = output.slot - len(phase.inputs)
        self.step = phase.steps[self.number]
        self.branches: list[Branch] = []

    def room(self, lo: int, hi: int) -> np.ndarray:
        """Return memory for what the tiles of rows ``lo:hi`` leave behind."""
        tiles = -(-(hi - lo) // self.phase.tile_rows)
        return room(self.phase, self.step, tiles)

    def take_in(self, tiles: np.ndarray, lo: int) -> set[tuple[int, str]]:
        """Fold what the tiles from row ``lo`` on left behind; return the faults met."""
        faults: set[tuple[int, str]] = set()

        def note(kind: str, _flag: int) -> None:
            faults.add((self.number, kind))

        with np.errstate(all="call", call=note):
            join = partial(join_neighbours, self.step)
            first = lo // self.phase.tile_rows
            for level, number, value in branches_of(join, tiles, first, self.phase.tiles).branches:
                own = value if value.base is None else value.copy()  # a view would keep all tiles
                put_on(join, self.phase.tiles, self.branches, Branch(level, number, own))
        return faults

    def left(self) -> Branches:
        """Return what is left behind."""
        return Branches(self.phase.tiles, tuple(self.branches))


def allocated(job: RowJob, output: Output) -> np.ndarray | None:
    """Return memory for the rows of an output, None for one that is folded."""
    if output.partial:
        return None
    step = job.phase.steps[output.slot - len(job.phase.inputs)]
    shape = (job.hi - job.lo, *step.shape[1:])
    if step.op is EMPTY:  # nobody may write to it: the pool would count pages that are not there
        return np.empty(shape, step.dtype)
    return pool.empty(shape, step.dtype)


@saying_how_it_went
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


@saying_how_it_went
def run_whole(job: WholeJob, *data: Ref) -> Made:
    """Return the op's result."""
    started = time.perf_counter()
    values = job.bindings.values(data, apart=(0,) if job.granule else ())
    made: list[np.ndarray] = []
    faults = noted(lambda: made.append(_applied(job, values)))
    return Made((made[0],), (), time.perf_counter() - started, faults)


def _applied(job: WholeJob, values: Sequence[Any]) -> np.ndarray:
    if not job.granule:
        return reference.apply(job.op, values, job.params, job.shape, job.dtype)
    first, *rest = values
    out = pool.empty(job.shape, job.dtype)
    for lo in range(0, job.shape[0], job.granule):
        rows = slice(lo, lo + job.granule)
        reference.contract_into(job.op, [first[rows], *rest], job.params, out[rows])
    return out


@saying_how_it_went
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


@saying_how_it_went
def run_partials(job: PartialJob, *data: Ref) -> Made:
    """Return what the fold makes of the blocks, as one partial output."""
    return _folded((job,), data)


@saying_how_it_went
def run_partials_together(jobs: tuple[PartialJob, ...], *data: Ref) -> Made:
    """Return what each fold makes of the blocks, a partial output for each; faults by fold."""
    return _folded(jobs, data)


def _folded(jobs: Sequence[PartialJob], data: Sequence[Ref]) -> Made:
    """Fold block by block, all of a block before the next: the rows lie in the cache by then."""
    started = time.perf_counter()
    folds = [BlocksFold(job) for job in jobs]
    faults: set[tuple[int, str]] = set()
    number = 0

    def note(kind: str, _flag: int) -> None:
        faults.add((number, kind))

    with np.errstate(all="call", call=note):
        for block in range(max(len(job.blocks) for job in jobs)):
            for number in range(len(folds)):
                if block < len(jobs[number].blocks):
                    folds[number].take_in(block, data)
    partials = tuple([fold.left() for fold in folds])
    return Made((), partials, time.perf_counter() - started, frozenset(faults))


class BlocksFold:
    """What a fold has made of its blocks so far."""

    def __init__(self, job: PartialJob) -> None:
        self.job = job
        self._found: list[Any] = []
        self._branches: list[Branch] = []

    def take_in(self, block: int, data: Sequence[Ref]) -> None:
        """Fold one more of the job's blocks, the next."""
        job = self.job
        lo, hi, bindings = job.blocks[block]
        self.add(block, job.op.call(bindings.values(data), job.params, lo, hi))

    def add(self, block: int, one: Any) -> None:
        """Take in what the fold has made of the job's next block."""
        job = self.job
        if job.op.adds and np.asarray(one).dtype.kind in EXACT:
            add_to(self._found, one)
        elif job.op.adds:
            put_on(add_each, job.total, self._branches, Branch(0, job.first + block, [one]))
        else:
            self._found.append(one)

    def left(self) -> Any:
        """Return what is left once all blocks are folded."""
        return Branches(self.job.total, tuple(self._branches)) if self._branches else self._found


EXACT = "iub"  # kinds whose sums have the same bits in any order


def add_to(total: list[Any], block: Any) -> None:
    """Add a block to a total, a list that begins without elements and then has one."""
    total[:] = [total[0] + block] if total else [block]


def added_up(blocks: Sequence[Any]) -> Any:
    """Return the sum of blocks, one after the other."""
    total: list[Any] = []
    for block in blocks:
        add_to(total, block)
    return total[0]


def add_each(left: Sequence[Any], right: Sequence[Any]) -> list[Any]:
    """Return the sums of two lists, element by element."""
    return [x + y for x, y in zip(left, right, strict=True)]


@saying_how_it_went
def run_fold(job: FoldJob, *data: Ref) -> Made:
    """Return the products of the block's granules, added up as far as they may be."""
    started = time.perf_counter()
    left, right = job.bindings.values(data, apart=job.apart)
    op = MATMUL if job.across else CROSSPROD
    found: list[Branch] = []
    total: list[Any] = []

    def fold() -> None:
        if job.any_order:  # also that of the library
            total.append(reference.apply(op, (left, right), (), job.shape, job.dtype))
            return
        for k, lo in enumerate(range(0, right.shape[0], job.granule)):
            rows = slice(lo, lo + job.granule)
            block = (left[:, rows] if job.across else left[rows], right[rows])
            product = reference.apply(op, block, (), job.shape, job.dtype)
            put_on(np.add, job.total, found, Branch(0, job.first + k, product[None]))

    faults = noted(fold)
    products = total if job.any_order else Branches(job.total, tuple(found))
    return Made((), (products,), time.perf_counter() - started, faults)


def noted(call: Callable[[], None]) -> frozenset[tuple[int, str]]:
    """Run ``call`` and return the floating-point faults that it met, as those of step 0."""
    faults: set[tuple[int, str]] = set()

    def note(kind: str, _flag: int) -> None:
        faults.add((0, kind))

    with np.errstate(all="call", call=note):
        call()
    return frozenset(faults)


def report_of(made: Made) -> Report:
    """Return how the task went."""
    went = made.seconds, made.faults, made.lowering, made.nbytes, made.ended
    return Report(*went, made.memory, made.pace)


def rows_of(made: Made, position: int) -> np.ndarray:
    """Return one row output."""
    return made.rows[position]


def partial_of(made: Made, position: int) -> Any:
    """Return one partial output."""
    return made.partials[position]
