"""Results that are computed into the memory of an operand which dies in the same stage.

``x *= 2`` needs no second array in NumPy, and needs none here: where a row of an output depends on
the same row of an operand that nobody else holds, the rows are computed block by block into scratch
memory that stays in the cache, and each block is then copied over the operand's. Kernels need not
know: until a block is done its operand is whole, so that it can be computed again. One loop of
NumPy's needs no block, since it may write where it reads.

A block that is done cannot be computed a second time, which is why interrupts wait until all are.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.expr import Expr
from dnumpy.expr.geometry import address_of
from dnumpy.expr.walk import REFERENCES
from dnumpy.kernels.staged import Scratch, block_rows, in_blocks
from dnumpy.kernels.steps import is_plain
from dnumpy.ops.table import VIEW
from dnumpy.rewrite.phase import Access
from dnumpy.runtime.memory import is_private, pool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dnumpy.kernels.choose import AdaptiveKernel
    from dnumpy.kernels.tiled import Faults
    from dnumpy.rewrite.phase import Phase
    from dnumpy.rewrite.stages import FusedStage

BLOCK_BYTES = 1 << 21  # of an output that is computed before it is copied
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

    It would be computed once more, from operands that are no longer there.
    """
    uses = Counter(id(arg) for step in stage.steps for arg in step.args)
    placed = {id(stage.outputs[k]) for k in stage.placed}  # which get no value of their own
    stored = {id(expr) for expr in stage.outputs} - placed
    for k in range(len(stage.steps)):
        step = stage.steps[k]
        held = uses[id(step)] + 2 * (id(step) in placed)  # by the outputs, by the update
        if id(step) not in stored and sys.getrefcount(step) > held + REFERENCES:
            return False
    return True


def _is_only_here(stage: FusedStage, number: int) -> bool:
    """Say whether only the stage holds one of its operands, and one local name of our caller.

    The operand is no argument: whether that counts depends on the interpreter.
    """
    operand = stage.inputs[number]
    uses = sum([arg is operand for step in stage.steps for arg in step.args])
    return sys.getrefcount(operand) <= uses + 1 + REFERENCES


def memory_of_base(stage: FusedStage, update: Expr) -> np.ndarray | None:
    """Return the memory that ``update`` may write in place although the stage reads it.

    It may when the stage reads there only what it writes, row by row, and nobody else holds it.
    """
    base = update.args[0]
    assert type(base) is Expr
    held = 0  # by views of what is written
    for number, given in enumerate(stage.phase.inputs):
        operand = stage.inputs[number]
        if type(operand) is Expr and _shows(operand, base):
            same = operand.params == update.params and given.access is Access.ROWS
            if operand is base or not same or operand.args[0] is not base:
                return None
            if not _is_only_here(stage, number):
                return None
            held += 1
    if not held or sys.getrefcount(base) > held + REFERENCES or not is_private(base):
        return None
    if not _is_closed(stage):
        return None
    memory: np.ndarray = base.value
    return memory


def _shows(operand: Expr, base: Expr) -> bool:
    while operand.value is None and operand.op is VIEW:
        operand = operand.operands()[0]
    return operand is base


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


def run_staged(
    kernel: AdaptiveKernel,
    phase: Phase,
    values: Sequence[Any],
    outs: Sequence[np.ndarray],
    staged: Sequence[int],
    told: frozenset[str],
) -> Callable[[int, int], Faults]:
    """Return what computes rows ``lo:hi`` of all outputs, those ``staged`` by way of scratch."""
    size = block_rows(phase, outs, staged, BLOCK_BYTES)
    scratch = Scratch(outs, dict.fromkeys(staged, min(size, phase.rows)))

    def compute(lo: int, hi: int) -> Faults:
        faults: Faults = set()
        number = lo // phase.tile_rows
        mine = [o[number:] if g.partial else o for o, g in zip(outs, phase.outputs, strict=True)]
        for b in in_blocks(phase, values, mine, scratch.held, (lo, hi, 0), size):
            faults |= kernel.run(b.values, b.outs, b.lo, b.hi, b.lo, told=told)
        return faults

    return compute


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
