"""Run stages on the threads of this process.

Every thread draws batches of tiles from the stage's one queue, so that a thread that is slowed down
simply draws fewer. What is small runs inline, since waking a thread
costs 0.1 ms.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.config import thread_count, threads_for
from dnumpy.expr.expr import Expr
from dnumpy.expr.geometry import Geometry
from dnumpy.expr.walk import REFERENCES
from dnumpy.kernels import at_hand, reference
from dnumpy.kernels.blocked import (
    compute_rows,
    grid_rows,
    partial_results,
    row_bytes_of,
    shapes_of,
    what_goes_before,
)
from dnumpy.kernels.choose import kernel_for
from dnumpy.kernels.partials import combine, room
from dnumpy.kernels.pieces import beginning_at
from dnumpy.kernels.sharing import Sharing
from dnumpy.ops.blocked import WRAP, fill_margins, inside
from dnumpy.ops.families import Blocked, Contraction, Fold, Scan
from dnumpy.ops.gufuncs import GufuncParams
from dnumpy.ops.table import UPDATE, VIEW
from dnumpy.rewrite.columns import columns_of
from dnumpy.rewrite.stages import FusedStage, Stage
from dnumpy.runtime import chunked, columnwise, donation, stored
from dnumpy.runtime.again import run_again, runs_as_settled
from dnumpy.runtime.bound import settle, value_of, values_of
from dnumpy.runtime.failures import Failure, failure, is_ready
from dnumpy.runtime.faults import StepFault, collect, noting, told_of
from dnumpy.runtime.memory import pool
from dnumpy.runtime.records import HERE, Record, call_of
from dnumpy.runtime.threads import in_threads, one_blas_thread, share_out

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.expr.expr import Params
    from dnumpy.kernels.choose import AdaptiveKernel
    from dnumpy.kernels.tiled import Faults
    from dnumpy.rewrite.columns import Columns
    from dnumpy.rewrite.phase import Phase

    Runner = Callable[[int, int], Faults]

INLINE_BYTES = 4 << 20  # a pass over less than this takes well below a millisecond
LONG = frozenset({"lapack", "fft", "sort"})  # loops that take many steps for an element, so that
LONG_BYTES = 256 << 10  # less is worth a thread
# LAPACK's calls for small matrices take turns at OpenBLAS's memory: two threads took up to twice as
# long for 3 x 3 determinants as one, and half as long for eigenvalues
IN_THE_WAY = frozenset({"lapack"})
TRIED = 8  # of so many parts for each thread one is computed alone, and one by each
INLINE_FLOPS = 2e7  # of products
BATCH_SECONDS = 2e-4  # of one batch at least, beside which taking the next one costs little
SCAN_BYTES = 16 << 20  # of a result from which threads are tried first
BATCHES_PER_THREAD = 8
LOOKED_AT = 2  # tiles that one thread runs first, to see whether several would crowd


def execute(stages: list[Stage]) -> tuple[list[Record], list[StepFault], list[Failure]]:
    """Run ``stages`` in order, emptying the list, and give every output Expr its value.

    What a stage that failed would have given, and what depends on it, stays pending.
    """
    records: list[Record] = []
    faults: list[StepFault] = []
    failures: list[Failure] = []
    if not at_hand.is_imported():
        at_hand.load_ahead(stage.phase for stage in stages if isinstance(stage, FusedStage))
    stages.reverse()
    while stages:
        stage = stages.pop()
        if not isinstance(stage, FusedStage) and stage.expr.value is not None:
            continue  # an update whose region was computed into its place
        if failures and not is_ready(stage):
            continue
        try:
            record, found = _run(stage)
        except Exception as error:  # noqa: BLE001 - whatever it is, the user will see it
            failures.append(failure(stage, error))
            continue
        records.append(record)
        faults += found
    return records, faults, failures


def _run(stage: Stage) -> tuple[Record, list[StepFault]]:
    if type(stage) is FusedStage and (done := run_again(stage)) is not None:
        return done
    started = time.perf_counter()
    if stored.unread:
        _bring(stage)
    if isinstance(stage, FusedStage):
        phase, call = stage.phase, None
        found, kernel = _run_fused(stage)
        what, rows, size, lowering = kernel.title, phase.rows, kernel.traffic, kernel.lowering
        if kernel.again is None:
            kernel.again = stage.read_again()
    else:
        phase, call = None, call_of(stage.expr)
        what, rows, size = stage.expr.op.name, _rows(stage.expr), stage.expr.nbytes
        found, lowering = _run_whole(stage.expr), "numpy"
    seconds = time.perf_counter() - started
    where = ((HERE, rows),)
    record = Record(
        what, where, seconds, size, lowering, (seconds,), phase=phase, started=started, call=call
    )
    return record, found


def _bring(stage: Stage) -> None:
    """Read what the stage reads that is stored and in no memory yet."""
    if isinstance(stage, FusedStage):
        read: Sequence[Any] = (*stage.inputs, *stage.bases())
    else:
        read = stage.expr.args
    for expr in stored.unread_among(read):
        chunked.read(expr)


def _rows(expr: Expr) -> int:
    return expr.shape[0] if expr.shape else 1


def _run_fused(stage: FusedStage) -> tuple[list[StepFault], AdaptiveKernel]:
    phase = stage.phase
    kernel = kernel_for(phase)
    columns = columns_of(phase) if kernel.gives_partials else None
    if columns is not None:
        return _run_columns(stage, kernel, columns)
    outs, targets, staged = _allocate(stage)
    values = values_of(stage.inputs)
    if not staged and runs_as_settled(kernel, stage, values, outs):
        found: Faults = set()
    else:
        found = _computed(kernel, stage, values, outs, staged)
    if len(targets) < len(outs):
        first = len(phase.inputs)
        for expr, given, out in zip(stage.outputs, phase.outputs, outs, strict=True):
            if given.partial:
                number = given.slot - first
                note = noting(found, number)
                settle(expr, combine(phase.steps[number], out, note))
    faults = collect(stage.steps, found) if found else []
    for expr, memory in targets.values():
        if expr.op is WRAP:
            fill_margins(memory, *_place_of(expr))
        settle(expr, memory)  # a placed value has no memory of its own and stays pending
    return faults, kernel


def _computed(
    kernel: AdaptiveKernel,
    stage: FusedStage,
    values: Sequence[Any],
    outs: Sequence[np.ndarray],
    staged: dict[int, donation.Reach],
) -> Faults:
    """Compute all rows of all outputs, those staged by way of scratch memory."""
    phase = stage.phase
    told = told_of(stage.steps)
    if staged:
        near = any(any(reach) for reach in staged.values())
        over = not near and kernel.stays_tiled and donation.is_one_loop(phase, values, outs)
        with donation.uninterrupted():
            if over:
                found = _run_rows(kernel, phase, _runner(kernel, phase, values, outs, told))
            else:
                run = donation.StagedRun(kernel, phase, values, outs, staged, told)
                found = _run_rows(kernel, phase, run)
                run.end()
    elif kernel.multiplies:
        with one_blas_thread():
            found = _run_rows(kernel, phase, _runner(kernel, phase, values, outs, told))
    else:
        found = _run_rows(kernel, phase, _runner(kernel, phase, values, outs, told))
    return found


def _run_columns(
    stage: FusedStage, kernel: AdaptiveKernel, columns: Columns
) -> tuple[list[StepFault], AdaptiveKernel]:
    results, found = columnwise.compute(
        kernel, columns, values_of(stage.inputs), told_of(stage.steps)
    )
    for expr, result in zip(stage.outputs, results, strict=True):
        settle(expr, result)
    return collect(stage.steps, found) if found else [], kernel


def _place_of(wrap: Expr) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return where in its padded copy an array begins along each axis, and its shape."""
    return wrap.params.lead, wrap.operands()[0].shape  # type: ignore[attr-defined]


def _allocate(
    stage: FusedStage,
) -> tuple[list[np.ndarray], dict[int, tuple[Expr, np.ndarray]], dict[int, donation.Reach]]:
    """Return where each output goes, and the row outputs' Exprs with their whole memory.

    The last is the numbers of those that lie in memory which is read meanwhile, and how far away.
    """
    phase = stage.phase
    first = len(phase.inputs)
    outs: list[np.ndarray] = []
    targets: dict[int, tuple[Expr, np.ndarray]] = {}
    staged: dict[int, donation.Reach] = {}
    regions: dict[int, tuple[Expr, np.ndarray, donation.Reach | None]] = {}
    for k, given in enumerate(phase.outputs):  # no name for an Expr: references are counted
        if given.partial:
            step = phase.steps[given.slot - first]
            outs.append(room(phase, step, phase.tiles))
        elif k in stage.placed and stage.placed[k].op is WRAP:
            wrap = stage.placed[k]
            memory = pool.empty(wrap.shape, wrap.dtype)
            outs.append(inside(memory, *_place_of(wrap)))
            targets[k] = (wrap, memory)
        elif k in stage.placed:
            regions = regions or _regions(stage)
            whole, memory, reach = regions[k]
            if reach is not None:
                staged[k] = reach
            outs.append(Geometry(*stage.placed[k].params).over(memory))
            targets[k] = (whole, memory)
        else:
            if stage.outputs[k].nbytes < donation.LEAST_BYTES:
                memory, read = pool.empty(stage.outputs[k].shape, stage.outputs[k].dtype), False
            else:
                memory, read = _row_memory(stage, k, targets)
            if read:
                staged[k] = donation.Reach()
            outs.append(memory)
            targets[k] = (stage.outputs[k], memory)
    return outs, targets, staged


def _regions(
    stage: FusedStage,
) -> dict[int, tuple[Expr, np.ndarray, donation.Reach | None]]:
    """Return for each output that fills a region of an array that in the end, and its memory.

    Where that is read meanwhile, the last is how far away.
    """
    found = {}
    for numbers in stage.regions():
        updates = [stage.placed[k] for k in numbers]
        given = donation.memory_of_base(stage, updates)
        if given is None:
            memory = _updated_memory(updates, [b for b in stage.inputs if isinstance(b, Expr)])
            reaches: Sequence[donation.Reach | None] = [None] * len(numbers)
        else:
            memory, reaches = given
        for k, reach in zip(numbers, reaches, strict=True):
            found[k] = updates[-1], memory, reach
    return found


def _row_memory(
    stage: FusedStage, k: int, taken: dict[int, tuple[Expr, np.ndarray]]
) -> tuple[np.ndarray, bool]:
    """Return memory for a large output, and whether the stage reads it."""
    expr = stage.outputs[k]
    found = donation.donor(stage, k)
    if found is not None:
        shared = any(np.may_share_memory(found.value, m) for _, m in taken.values())
        if not shared and not stage.phase.multiplies:
            return donation.room_of(found, expr), True
    return pool.empty(expr.shape, expr.dtype), False


def _runner(
    kernel: AdaptiveKernel,
    phase: Phase,
    values: Sequence[Any],
    outs: Sequence[np.ndarray],
    told: frozenset[str],
) -> Runner:
    """Return what computes rows ``lo:hi``."""
    return _PlainRun(kernel, phase, values, outs, told)


class _PlainRun:
    """Computes rows of all outputs into where they belong."""

    __slots__ = ("kernel", "outs", "phase", "told", "values")

    def __init__(
        self,
        kernel: AdaptiveKernel,
        phase: Phase,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        told: frozenset[str],
    ) -> None:
        self.kernel, self.phase, self.told = kernel, phase, told
        self.values, self.outs = values, outs

    def __call__(self, lo: int, hi: int) -> Faults:
        kernel, outs = self.kernel, self.outs
        if kernel.gives_partials and lo:
            outs = beginning_at(lo, self.phase, outs)
        return kernel.run(self.values, outs, lo, hi, told=self.told)

    def jointly(self, threads: int) -> Faults | None:
        """Compute all rows with threads that need no interpreter; None where that cannot be."""
        batch = self._batch(threads)
        return self.kernel.run_jointly(self.values, self.outs, batch, threads, self.told)

    def settles(self, threads: int) -> None:
        """Let the next runs go as this one did, on so many threads."""
        batch = self.phase.tiles if threads == 1 else self._batch(threads)
        self.kernel.settles(self.values, self.outs, batch, threads)

    def _batch(self, threads: int) -> int:
        return -(-self.phase.tiles // (threads * BATCHES_PER_THREAD))


def _run_rows(kernel: AdaptiveKernel, phase: Phase, compute: Runner) -> Faults:
    threads = 1 if kernel.tiles == 1 or kernel.crowded else min(thread_count(), kernel.tiles)
    if threads == 1:
        found = compute(0, phase.rows)
        if type(compute) is _PlainRun and not kernel.crowded:
            compute.settles(1)
        return found
    sharing = kernel.sharing(phase.rows)
    shared = sharing.pays(guess=not _takes_little(phase))
    started = time.perf_counter()
    if shared:
        found = _run_shared(kernel, phase, compute, (threads, _batches(sharing, threads)))
    else:
        found = compute(0, phase.rows)
    sharing.observe(time.perf_counter() - started, shared=shared)
    if type(compute) is _PlainRun and sharing.has_chosen(shared=shared):
        compute.settles(threads if shared else 1)
    return found


def _run_shared(
    kernel: AdaptiveKernel, phase: Phase, compute: Runner, shares: tuple[int, int]
) -> Faults:
    """Let threads draw batches of tiles from one queue, the caller alone where they crowd."""
    threads, batches = shares
    if type(compute) is _PlainRun and kernel.joins:
        joined = compute.jointly(threads)
        if joined is not None:
            return joined
    looked = 0 if kernel.at_once else min(LOOKED_AT * phase.tile_rows, phase.rows)
    found: Faults = compute(0, looked) if looked else set()
    batch = max(-(-phase.tiles // batches), kernel.at_once) * phase.tile_rows
    queue = iter(range(looked, phase.rows, batch))

    def drain(*, alone: bool) -> Faults:
        faults: Faults = set()
        while alone or not kernel.crowded:
            lo = next(queue, None)
            if lo is None:
                break
            faults |= compute(lo, min(lo + batch, phase.rows))
        return faults

    others = [lambda: drain(alone=False)] * (threads - 1)
    return found.union(*in_threads([lambda: drain(alone=True), *others]))


def _takes_little(phase: Phase) -> bool:
    """Say whether one thread takes less than a millisecond."""
    if phase.extent_bytes() >= INLINE_BYTES:
        return False
    products = (step for step in phase.steps if isinstance(step.op, Contraction))
    return sum(phase.flops(step) for step in products) < INLINE_FLOPS


def _run_whole(expr: Expr) -> list[StepFault]:
    if expr.op is UPDATE:
        _run_update(expr)
        return []
    args = [value_of(a) for a in expr.args]
    faults: set[tuple[int, str]] = set()

    def note(kind: str, _flag: int) -> None:
        faults.add((0, kind))

    with np.errstate(all="call", call=note):
        if isinstance(expr.op, Blocked):
            value = _blocked(expr, expr.op, args)
        elif isinstance(expr.op, Fold):
            value = _folded(expr, expr.op, args)
        elif isinstance(expr.op, Contraction) and expr.op.writes:
            value = pool.empty(expr.shape, expr.dtype)
            reference.contract_into(expr.op, args, expr.params, value)
        else:
            value = reference.apply(expr.op, args, expr.params, expr.shape, expr.dtype)
    settle(expr, value)
    return collect((expr,), faults)


def _blocked(expr: Expr, op: Blocked, args: Sequence[Any]) -> np.ndarray:
    """Return a blocked op's result, its blocks shared out among the threads."""
    out = pool.empty(expr.shape, expr.dtype)
    rows = expr.shape[0]
    grid = grid_rows(op, shapes_of(args), expr.params, rows, row_bytes_of(args, out))
    if op.shares or _inline(args, out, LONG_BYTES if op.loop in LONG else INLINE_BYTES):
        compute_rows(op, args, expr.params, out, (0, rows, grid))
        return out
    if isinstance(op, Scan) and op.join is not None and len(args) == 1:
        sharing = _sharing_of(op, expr.params, out)
        shared = sharing.pays(guess=out.nbytes >= SCAN_BYTES)
        started = time.perf_counter()
        if shared:
            _scanned(op, args[0], expr.params, out, grid)
        else:
            compute_rows(op, args, expr.params, out, (0, rows, grid))
        sharing.observe(time.perf_counter() - started, shared=shared)
        return out
    sharing = _sharing_of(op, expr.params, out)
    first = 0
    if op.loop in IN_THE_WAY and sharing.first is None:
        first = _tried(op, args, expr.params, out, (1 if op.rows is None else grid, sharing))
    shared = sharing.pays(guess=True)
    batch = -(-rows // (grid * _batches(sharing, thread_count()))) * grid if shared else rows

    def compute(lo: int) -> None:
        hi = min(lo + batch, rows)
        compute_rows(op, args, expr.params, out[lo:hi], (lo, hi, grid))

    started = time.perf_counter()
    if shared:
        share_out(compute, range(first, rows, batch))
    else:
        compute(first)
    if not first:
        sharing.observe(time.perf_counter() - started, shared=shared)
    return out


def _tried(
    op: Blocked, args: Sequence[Any], params: Params, out: np.ndarray, known: tuple[int, Sharing]
) -> int:
    """Compute the first rows alone, the next ones shared out, and note what all would take so.

    Returns how many rows that was: none of what is too short to be cut up.
    """
    grid, sharing = known
    rows, threads = len(out), thread_count()
    part = rows // (TRIED * threads * grid) * grid

    def compute(lo: int) -> None:
        compute_rows(op, args, params, out[lo : lo + part], (lo, lo + part, grid))

    if not part:
        return 0
    started = time.perf_counter()
    compute(0)
    between = time.perf_counter()
    share_out(compute, range(part, (1 + threads) * part, part))
    ended = time.perf_counter()
    sharing.observe((between - started) * rows / part, shared=False)
    sharing.observe((ended - between) * rows / (threads * part), shared=True)
    return (1 + threads) * part


_MOST_KNOWN = 1024
_sharings: dict[tuple[Any, tuple[int, ...], np.dtype], Sharing] = {}


def _sharing_of(op: Blocked, params: Params, out: np.ndarray) -> Sharing:
    """Return what is known of threads for a blocked op with results of this kind."""
    if len(_sharings) >= _MOST_KNOWN:
        _sharings.clear()
    what = params.target if isinstance(params, GufuncParams) else op
    return _sharings.setdefault((what, out.shape, out.dtype), Sharing())


def _batches(sharing: Sharing, threads: int) -> int:
    """Return into how many batches to cut a run, so that each is worth being drawn."""
    most = threads * BATCHES_PER_THREAD
    alone = sharing.alone.value
    return most if alone is None else max(threads, min(most, int(alone / BATCH_SECONDS)))


def _scanned(op: Scan, rows: np.ndarray, params: Params, out: np.ndarray, grid: int) -> None:
    """Compute running folds, the threads jointly; or every block's own, then each one joined."""
    state = np.zeros(-(-len(out) // grid) + 1, np.int64)
    done: list[bool] = []
    share_out(
        lambda _: done.append(op.jointly(rows, params, out, grid, state)), range(thread_count())
    )
    if all(done):
        return

    def alone(lo: int) -> None:
        block = out[lo : lo + grid]
        op.call((rows[lo : lo + grid],), params, 0, len(block), block)

    share_out(alone, range(0, len(rows), grid))
    before = what_goes_before(op, params, out, grid)

    def join(lo: int) -> None:
        assert op.join is not None
        op.join(before[lo // grid - 1], params, out[lo : lo + grid])

    share_out(join, range(grid, len(rows), grid))


def _folded(expr: Expr, op: Fold, args: Sequence[Any]) -> np.ndarray:
    """Return a fold's result, its blocks shared out among the threads."""
    rows = args[0].shape[0]
    grid = grid_rows(op, shapes_of(args), expr.params, rows, row_bytes_of(args))
    partials: list[Any] = [None] * -(-rows // grid)

    def compute(lo: int) -> None:
        block = (lo, min(lo + grid, rows), grid)
        (partials[lo // grid],) = partial_results(op, args, expr.params, block)

    if _inline(args, None):
        for lo in range(0, rows, grid):
            compute(lo)
    else:
        share_out(compute, range(0, rows, grid))
    return reference.result_of_merge(op.merge(partials, expr.params), expr.shape, expr.dtype)


def _inline(args: Sequence[Any], out: np.ndarray | None, least: int = INLINE_BYTES) -> bool:
    """Say whether a call is so small that waking threads costs more than it gains."""
    size = sum(a.nbytes for a in (*args, out) if isinstance(a, np.ndarray))
    return thread_count() == 1 or size < least


def _run_update(expr: Expr) -> None:
    value = value_of(expr.args[1])
    readers = [expr.args[1]] if isinstance(expr.args[1], Expr) else []
    memory = _updated_memory([expr], readers)
    region = Geometry(*expr.params).over(memory)
    given = type(value) is np.ndarray
    if not given or not native.copied(value, region, threads_for(region.nbytes)):
        region[...] = value
    settle(expr, memory)


def _updated_memory(updates: Sequence[Expr], readers: Sequence[Expr]) -> np.ndarray:
    """Return memory that holds the base of the first of ``updates``, their regions not yet written.

    The base's own memory when nobody else can see it and nobody reads it while the region is
    written; otherwise a copy, in which a box region is left out because it is about to be
    overwritten.
    """
    base = updates[0].args[0]
    assert isinstance(base, Expr)
    memory: np.ndarray = value_of(base)
    stored = base.value is not None
    mine = stored and sys.getrefcount(base) <= REFERENCES and not _reads(readers, base)
    if mine and donation.are_passed_on(updates):
        return memory
    fresh = pool.empty(base.shape, base.dtype)
    region = Geometry(*updates[0].params)
    for box in _outside(region, base):
        fresh[box] = memory[box]
    return fresh


def _reads(readers: Sequence[Expr], base: Expr) -> bool:
    for reader in readers:
        expr = reader
        while expr.value is None and expr.op is VIEW:
            expr = expr.operands()[0]
        if expr is base:
            return True
    return False


def _outside(region: Geometry, base: Expr) -> list[tuple[slice, ...]]:
    """Return boxes that cover what of ``base`` lies outside a box region (all, if it is no box)."""
    box = region.box_in(base.shape, base.dtype)
    if box is None:
        return [tuple(slice(None) for _ in base.shape)]
    boxes: list[tuple[slice, ...]] = []
    inner: list[slice] = []
    for (lo, hi), extent in zip(box, base.shape, strict=True):
        for part in (slice(0, lo), slice(hi, extent)):
            if part.start < part.stop:
                rest = [slice(None)] * (len(box) - len(inner) - 1)
                boxes.append((*inner, part, *rest))
        inner.append(slice(lo, hi))
    return boxes
