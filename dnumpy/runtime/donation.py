"""Results that are computed into the memory of an operand which dies in the same stage.

``x *= 2`` needs no second array in NumPy, and needs none here: where a row of an output depends on
the same row of an operand that nobody else holds, the rows are computed block by block into scratch
memory that stays in the cache, and each block is then copied over the operand's. Kernels need not
know: until a block is done its operand is whole, so that it can be computed again. One loop of
NumPy's needs no block, since it may write where it reads.

So are regions of an array that are computed from their neighbours, ``u[1:-1] = u[:-2] + u[2:]``:
the last rows of a block, which the next one reads as they were, are written when that one is done,
and those at the ends of what a thread draws when all are. A plate of 128 MB takes 128 MB less so.

A block that is done cannot be computed a second time, which is why interrupts wait until all are.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.expr.expr import Expr
from dnumpy.expr.geometry import Geometry, address_of
from dnumpy.expr.walk import REFERENCES
from dnumpy.kernels.pieces import beginning_at
from dnumpy.kernels.staged import Scratch, block_rows, in_blocks
from dnumpy.kernels.steps import is_plain
from dnumpy.ops.table import VIEW
from dnumpy.rewrite.phase import Access
from dnumpy.runtime.memory import is_private, pool

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from dnumpy.expr.expr import Params, Shape
    from dnumpy.kernels.choose import AdaptiveKernel
    from dnumpy.kernels.joint import Blocks
    from dnumpy.kernels.tiled import Faults
    from dnumpy.rewrite.phase import Phase
    from dnumpy.rewrite.stages import FusedStage

BLOCK_BYTES = 1 << 21  # of an output that is computed before it is copied
SHORT_BLOCK_BYTES = 1 << 19  # likewise in C, where a block costs nothing and half a cache is enough
NEAR_BLOCK_BYTES = 1 << 19  # likewise, where neighbours are read: they are to be in the cache still
TOGETHER_BYTES = 1 << 18  # of several that lie between each other, whose lines are written by each
FEW = 64  # steps, of which NumPy does each on so little without losing much
HELD_BATCHES = 64  # at whose ends rows are held back, about
HELD_SHARE = 0.25  # of all rows, at most
_MOST_REACHES = 1024
LEAST_BYTES = 1 << 22  # of an output: below this a second array is no matter


def donor(stage: FusedStage, k: int) -> Expr | None:
    """Return an operand in whose memory output ``k`` may be computed, None if there is none.

    The output has at least ``LEAST_BYTES``.
    """
    expr = stage.outputs[k]
    if pool.has(expr.nbytes):
        return None
    for number, given in enumerate(stage.phase.inputs):
        by_row = given.access is Access.ROWS and given.shape[0] == expr.shape[0]
        if by_row and _dies(stage, number) and _has_room(stage.inputs[number], expr):
            return stage.inputs[number]  # type: ignore[return-value]
    return None


def _has_room(operand: Any, expr: Expr) -> bool:
    memory = operand.value
    return (
        type(memory) is np.ndarray
        and operand.nbytes == expr.nbytes
        and memory.flags.c_contiguous
        and memory.flags.writeable
        and memory.flags.aligned
    )


def _dies(stage: FusedStage, number: int) -> bool:
    """Say whether nothing but this stage holds one of its operands, nor sees its memory."""
    operand = stage.inputs[number]
    if type(operand) is not Expr or operand.value is None or not _is_only_here(stage, number):
        return False
    return is_private(operand) and _is_closed(stage)


def _is_closed(stage: FusedStage) -> bool:
    """Say whether nobody else holds what the stage computes on the way.

    It would be computed once more, from operands that are no longer there. What shows a result that
    is stored will show that.
    """
    uses = Counter(id(arg) for step in stage.steps for arg in step.args)
    placed = {id(stage.outputs[k]) for k in stage.placed}  # which get no value of their own
    stored = {id(expr) for expr in stage.outputs} - placed
    for k in range(len(stage.steps)):
        step = stage.steps[k]
        held = uses[id(step)] + 2 * (id(step) in placed)  # by the outputs, by the update
        if id(step) not in stored and sys.getrefcount(step) > held + REFERENCES:
            if id(_shown(step)) in stored:
                continue
            return False
    return True


def _shown(expr: Expr) -> Expr:
    """Return what a view shows, through other views."""
    while expr.op is VIEW and expr.value is None:
        expr = expr.operands()[0]
    return expr


def _is_only_here(stage: FusedStage, number: int) -> bool:
    """Say whether only the stage holds one of its operands, and one local name of our caller.

    The operand is no argument: whether that counts depends on the interpreter.
    """
    operand = stage.inputs[number]
    uses = sum([arg is operand for step in stage.steps for arg in step.args])
    return sys.getrefcount(operand) <= uses + 1 + REFERENCES


class Reach(NamedTuple):
    """How many rows above, and below, the one that it writes a stage reads of the same memory."""

    above: int = 0
    below: int = 0

    def joined(self, other: Reach) -> Reach:
        """Return the reach of both."""
        return Reach(max(self.above, other.above), max(self.below, other.below))


def are_passed_on(updates: Sequence[Expr]) -> bool:
    """Say whether nobody holds what each of them gives but the next one, and its stage."""
    names = 2  # of the stage, and of our caller
    return all(sys.getrefcount(updates[k]) < names + REFERENCES for k in range(len(updates) - 1))


def memory_of_base(
    stage: FusedStage, updates: Sequence[Expr]
) -> tuple[np.ndarray, list[Reach]] | None:
    """Return the memory that ``updates`` of it may write in place although the stage reads it.

    They may when nobody else holds it and the stage reads it by rows, those that they write or
    others at a distance of a few: the second of what is returned.
    """
    base = updates[0].args[0]
    assert type(base) is Expr
    held, reaches = 0, [Reach()] * len(updates)  # by views of what is written
    for number, given in enumerate(stage.phase.inputs):
        operand = stage.inputs[number]
        if type(operand) is Expr and _shows(operand, base):
            if operand is base or given.access is not Access.ROWS or operand.args[0] is not base:
                return None
            if not _is_only_here(stage, number):
                return None
            for k, update in enumerate(updates):
                seen = _reach_of(operand, update, base)
                if seen is None:
                    return None
                reaches[k] = reaches[k].joined(seen)
            held += 1
    if not held or sys.getrefcount(base) > held + REFERENCES or not is_private(base):
        return None
    if not _is_closed(stage) or not are_passed_on(updates):
        return None
    if not all(_is_near(stage, u, reach) for u, reach in zip(updates, reaches, strict=True)):
        return None
    memory: np.ndarray = base.value
    return memory, reaches


def _reach_of(view: Expr, update: Expr, base: Expr) -> Reach | None:
    """Return how far from the rows written lie those that a view shows; None if it varies."""
    return _reach(view.params, update.params, base.shape, base.dtype)


@lru_cache(maxsize=_MOST_REACHES)
def _reach(view: Params, update: Params, shape: Shape, dtype: np.dtype) -> Reach | None:
    if view == update:
        return Reach()
    read = Geometry(*view).row_map(shape, dtype)
    written = Geometry(*update).row_map(shape, dtype)
    if read is None or written is None or read.step != written.step or read.step < 0:
        return None
    apart = read.start - written.start
    return Reach(max(-(apart // read.step), 0), max(-(-apart // read.step), 0))


def _is_near(stage: FusedStage, update: Expr, reach: Reach) -> bool:
    """Say whether what has to be held back of what is written is little."""
    if not any(reach):
        return True
    rows = stage.phase.rows
    held = sum(reach) * HELD_BATCHES
    return update.nbytes >= LEAST_BYTES and held <= rows * HELD_SHARE


def _shows(operand: Expr, base: Expr) -> bool:
    return _shown(operand) is base


def room_of(operand: Expr, expr: Expr) -> np.ndarray:
    """Return the memory of ``operand`` as that of ``expr``."""
    return np.ndarray(expr.shape, expr.dtype, operand.value)


def is_one_loop(phase: Phase, values: Sequence[Any], outs: Sequence[np.ndarray]) -> bool:
    """Say whether all there is to do is one loop of NumPy's, which may write where it reads."""
    if len(phase.steps) != 1 or not is_plain(phase.steps[0]):
        return False
    (out,) = outs
    where = (out.shape, out.strides, out.dtype, address_of(out))
    return any(
        type(v) is np.ndarray and (v.shape, v.strides, v.dtype, address_of(v)) == where
        for v in values
    )


def _lie_between(outs: Sequence[np.ndarray], staged: Collection[int]) -> bool:
    """Say whether several outputs lie with gaps, in which others may lie."""
    return len(staged) > 1 and not any(outs[k].flags.c_contiguous for k in staged)


class StagedRun:
    """Computes rows of all outputs, those ``staged`` by way of scratch.

    A row that others are still to read as it was is held back: within a batch until the next block
    is done, and at a batch's ends, beside which other threads may be at work, until all are.
    """

    def __init__(
        self,
        kernel: AdaptiveKernel,
        phase: Phase,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        staged: Mapping[int, Reach],
        told: frozenset[str],
    ) -> None:
        self._kernel, self._phase, self._values, self._outs = kernel, phase, values, outs
        self._told = told
        self._staged = staged
        farthest = max(max(reach) for reach in staged.values())
        nbytes = NEAR_BLOCK_BYTES if farthest else BLOCK_BYTES
        tiles = -(-farthest // phase.tile_rows) * phase.tile_rows
        self._size = max(block_rows(phase, outs, list(staged), nbytes), tiles)
        partial = any(output.partial for output in phase.outputs)
        if not partial and len(phase.steps) <= FEW and _lie_between(outs, staged):
            row = sum(outs[k][:1].nbytes for k in staged)
            self._size = max(TOGETHER_BYTES // max(row, 1), farthest, 1)
        short = block_rows(phase, outs, list(staged), SHORT_BLOCK_BYTES)
        self._short = min(max(short, tiles), self._size)
        self._scratch = Scratch(outs, dict.fromkeys(staged, min(self._size, phase.rows)))
        self._blocks: Blocks | None = None
        self._binding = threading.Lock()
        self._held: list[tuple[np.ndarray, np.ndarray]] = []  # rows, and what belongs there

    def __call__(self, lo: int, hi: int) -> Faults:
        """Compute rows ``lo:hi``, a batch."""
        faults: Faults = set()
        phase, size = self._phase, self._size
        edges = {k: self._edges(k, lo, hi) for k in self._staged}
        done = self._in_c(edges, lo, hi)
        waiting = [rows for edge in edges.values() for rows in edge.left(lo, done, self._short)]
        scratch, mine = self._scratch.held, beginning_at(done, phase, self._outs)
        rows = done, hi, 0
        for b in in_blocks(phase, self._values, mine, scratch, rows, size, write=False):
            faults |= self._kernel.run(b.values, b.outs, b.lo, b.hi, b.lo, told=self._told)
            for target, made in waiting:
                target[...] = made
            waiting = [
                held
                for k, edge in edges.items()
                for held in edge.write(b.outs[k], lo, (b.lo, b.hi), last=b.hi == hi)
            ]
        for edge in edges.values():
            self._held += edge.held(lo, hi)
        return faults

    def _edges(self, k: int, lo: int, hi: int) -> _Edges:
        out, (above, below) = self._outs[k], self._staged[k]
        head = min(lo + below, hi) if lo else lo
        tail = max(hi - above, head) if hi < self._phase.rows else hi
        shape = out.shape[1:]
        first, last, waiting = (
            np.empty((n, *shape), out.dtype) for n in (head - lo, hi - tail, above)
        )
        return _Edges(out, first, last, waiting, head, tail)

    def _in_c(self, edges: Mapping[int, _Edges], lo: int, hi: int) -> int:
        """Compute rows without the interpreter's lock; return the row at which it is to go on."""
        held, tile = self._scratch.held, self._phase.tile_rows
        outs = [held.get(k, o) for k, o in enumerate(beginning_at(lo, self._phase, self._outs))]
        with self._binding:
            if self._blocks is None:
                self._blocks = self._kernel.blocks(list(self._values), outs, self._told)
        if self._blocks is None:
            return lo
        targets = [edges[k].given() if k in edges else None for k in range(len(outs))]
        started = time.perf_counter()
        done = self._blocks.run(outs, targets, (lo, hi, self._short, tile))
        if done > lo:
            self._kernel.ran_in_blocks(time.perf_counter() - started, done - lo)
        return done

    def end(self) -> None:
        """Write what was held back, when all rows are done."""
        for rows, made in self._held:
            rows[...] = made
        self._held.clear()
        if self._blocks is not None:
            self._blocks.end()


class _Edges(NamedTuple):
    """What is held back of an output in a batch: until its end, and from block to block.

    Others read the rows before ``head_end`` and from ``tail_start`` on as they were.
    """

    out: np.ndarray
    head: np.ndarray
    tail: np.ndarray
    waiting: np.ndarray
    head_end: int
    tail_start: int

    def given(self) -> tuple[np.ndarray, ...]:
        """Return what the module in C takes."""
        return self.out, self.head, self.tail, self.waiting

    def _written(self, block: tuple[int, int], *, last: bool) -> tuple[int, int, int]:
        """Return the rows of a block: from the first to the second at once, to the third later."""
        start, stop = block
        first = min(max(self.head_end, start), stop)
        beyond = min(max(self.tail_start, first), stop)
        above = 0 if last else len(self.waiting)
        return first, beyond if last else min(max(stop - above, first), beyond), beyond

    def write(
        self, made: np.ndarray, lo: int, block: tuple[int, int], *, last: bool
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Write what may be written of a block; give the rows that wait for the next one."""
        start, stop = block
        first, until, beyond = self._written(block, last=last)
        self.head[start - lo : first - lo] = made[: first - start]
        self.out[first:until] = made[first - start : until - start]
        if beyond < stop:
            self.tail[beyond - self.tail_start : stop - self.tail_start] = made[beyond - start :]
        if until < beyond:
            yield self.out[until:beyond], made[until - start : beyond - start].copy()

    def left(self, lo: int, done: int, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the rows that wait where the module in C stopped before a block."""
        if done > lo and done < self.tail_start + len(self.tail):
            _, until, beyond = self._written((done - size, done), last=False)
            if until < beyond:
                yield self.out[until:beyond], self.waiting[: beyond - until]

    def held(self, lo: int, hi: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Give the rows that wait for the end of all batches."""
        if lo < self.head_end:
            yield self.out[lo : self.head_end], self.head
        if self.tail_start < hi:
            yield self.out[self.tail_start : hi], self.tail


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let an interrupt of the user wait until the end of the block."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    if signal.getsignal(signal.SIGINT) is None:  # somebody else's, which Python cannot restore
        yield
        return
    waiting: list[tuple[int, Any]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: waiting.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if waiting and callable(before):
            before(*waiting[0])
