"""Phase -> Work: what a stage does, per row and in total."""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from math import log2, prod
from typing import TYPE_CHECKING

from dnumpy.cost.work import OP_CLASSES, Work, merged_loops
from dnumpy.ops.families import (
    Blocked,
    Contraction,
    Elementwise,
    Fold,
    Leaf,
    Movement,
    Op,
    Random,
    Reduction,
    Scan,
    folds_rows,
)
from dnumpy.rewrite.phase import Access, likeness

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from dnumpy.expr.expr import Shape
    from dnumpy.rewrite.phase import Phase, Step

Loops = tuple[tuple[str, float], ...]
LOGARITHMIC = frozenset({"sort", "fft"})
NESTED_CODE, STEP_CODE = 2.0, 0.4  # times what is made of one loop


@lru_cache(maxsize=4096)
def phase_work(phase: Phase) -> Work:
    """Return what the phase does; its fixed bytes are inputs read whole and one tile per step."""
    loops: Loops = ()
    for step in phase.steps:
        loops = merged_loops(loops, _loops(phase, step))
    read = sum(row_bytes(i.shape, i.dtype) for i in phase.inputs if i.access is Access.ROWS)
    whole = sum(
        prod(i.shape) * _itemsize(i.dtype) for i in phase.inputs if i.access is Access.WHOLE
    )
    return Work(
        rows=phase.rows,
        flops=sum(_flops(phase, step) for step in phase.steps),
        bytes_read=read,
        bytes_written=sum(_output_bytes(phase, o.slot, partial=o.partial) for o in phase.outputs),
        loops=loops,
        fixed_bytes=whole + scratch_bytes(phase),
        dtype=_widest(phase),
        bytes_fresh=sum(
            _output_bytes(phase, o.slot, partial=False) for o in phase.outputs if not o.partial
        ),
        calls=_calls(phase),
        program=_program(phase),
        code=_code(phase),
        likeness=likeness(phase),
    )


@lru_cache(maxsize=4096)
def _program(phase: Phase) -> str:
    """Return a digest of the steps, what they read and how wide rows are, not of how many."""
    steps = [
        (step.op.name, step.args, str(step.dtype), step.shape[1:], repr(step.params))
        for step in phase.steps
    ]
    return blake2b(repr(steps).encode(), digest_size=8).hexdigest()


def _code(phase: Phase) -> float:
    """Return how many times as long making machine code of it takes as of one loop.

    Loops in loops, and what folds, are written down for several ways in which memory may lie, and
    vectorised each. Of twelve phases of three to eleven steps, LLVM needed 0.6 to 1.3 of this.
    """
    inner = any(len(step.shape) > 1 for step in phase.steps)
    if not inner and not any(output.partial for output in phase.outputs):
        return 1.0
    return NESTED_CODE + STEP_CODE * len(phase.steps)


def _calls(phase: Phase) -> float:
    """Return the calls per row of a phase whose tiles are run one by one; of others, none.

    Adjacent elementwise ops are one call.
    """
    if not phase.multiplies:
        return 0.0
    single = [isinstance(s.op, Elementwise) for s in phase.steps if not isinstance(s.op, Movement)]
    follows = sum(both == (True, True) for both in pairwise(single))
    return (len(single) - follows) / phase.tile_rows


def partial_bytes(phase: Phase) -> float:
    """Return the bytes that one tile leaves behind of what is folded over rows."""
    sizes = [_output_bytes(phase, o.slot, partial=True) for o in phase.outputs if o.partial]
    return sum(sizes) * phase.tile_rows


@lru_cache(maxsize=4096)
def scratch_bytes(phase: Phase) -> float:
    """Return the bytes of the tiles that a phase works in."""
    return sum(_scratch_bytes(phase, step) for step in phase.steps)


def step_works(phase: Phase) -> list[Work]:
    """Return what each op costs on its own, as NumPy runs it: whole arrays in and out of memory."""
    works = []
    for slot, step in enumerate(phase.steps, start=len(phase.inputs)):
        if isinstance(step.op, Movement):
            continue  # a view
        partial = folds_rows(step.op, step.params)
        read = [phase.shape_of(a) for a in step.args if phase.is_array(a)]
        works.append(
            Work(
                rows=phase.rows,
                flops=_flops(phase, step),
                bytes_read=sum(
                    row_bytes(shape, step.dtype)
                    for shape in read
                    if shape and shape[0] == phase.rows
                ),
                bytes_written=_output_bytes(phase, slot, partial=partial),
                bytes_fresh=0.0 if partial else _output_bytes(phase, slot, partial=False),
                loops=_loops(phase, step),
                dtype=step.dtype.name,
            )
        )
    return works


def copy_work(shape: Shape, dtype: np.dtype) -> Work:
    """Return the work of copying an array row by row."""
    size = row_bytes(shape, dtype)
    return Work(rows=shape[0], bytes_read=size, bytes_written=size, bytes_fresh=size)


def contraction_work(shape: Shape, dtype: np.dtype, first: Shape, other_bytes: float) -> Work:
    """Return the work of a product whose first operand's rows give the rows of the result."""
    width = prod(shape[1:])
    inner = first[-1]
    by_blas = dtype.kind in "fc"
    return Work(
        rows=shape[0],
        flops=2.0 * inner * width if by_blas else 0.0,
        bytes_read=prod(first[1:]) * dtype.itemsize,
        bytes_written=width * dtype.itemsize,
        bytes_fresh=width * dtype.itemsize,
        loops=() if by_blas else (("matmul", float(inner * width)),),
        fixed_bytes=other_bytes,
        dtype=dtype.name,
    )


def op_work(op: Op, shape: Shape, dtype: np.dtype, reads: Sequence[tuple[Shape, np.dtype]]) -> Work:
    """Return what one op on whole operands costs; ``reads`` has their shapes and dtypes."""
    shape = shape or (1,)
    if isinstance(op, Contraction) and reads and reads[0][0]:
        others = sum(_nbytes(*read) for read in reads[1:])
        return contraction_work(shape, dtype, reads[0][0], others)
    if not isinstance(op, Blocked | Fold):
        return copy_work(shape, dtype)
    rows = shape[0] or 1
    largest = max([shape, *(read for read, _ in reads)], key=prod)
    read_bytes = sum(_nbytes(*read) for read in reads) / rows
    written = 0.0 if dtype.hasobject else _nbytes(shape, dtype) / rows
    return Work(
        rows,
        bytes_read=read_bytes,
        bytes_written=written,
        bytes_fresh=written,
        loops=_loops_alone(op, prod(largest) / rows, largest),
    )


def kernel_name(what: str, work: Work, lowering: str) -> str:
    """Return a name for what does this work by this lowering, on any number of rows."""
    amounts = (work.flops, work.bytes_read, work.bytes_written)
    return f"{_kernel_digest(what, work.program, amounts, work.loops, work.dtype)}:{lowering}"


@lru_cache(maxsize=4096)
def _kernel_digest(
    what: str, program: str, amounts: tuple[float, ...], loops: Loops, dtype: str
) -> str:
    """Return a digest of equal amounts, which may be written as whole numbers or not."""
    counted = tuple((op_class, float(count)) for op_class, count in loops)
    told = (what, program, *map(float, amounts), counted, dtype)
    return blake2b(repr(told).encode(), digest_size=8).hexdigest()


def op_loops(op: Blocked | Fold, elements: float, largest: Shape) -> Loops:
    """Return the elements per row of one op by class, in the order of the classes.

    ``elements`` are those that go with a row, and ``largest`` is the shape of all of them: what is
    sorted or transformed is taken to be its last axis. What joins the blocks of a scan is one more
    operation on each element.
    """
    loops = _loops_alone(op, elements, largest)
    if isinstance(op, Scan) and op.join is not None:
        loops = merged_loops(loops, (("arith", elements),))
    return loops


def _loops_alone(op: Blocked | Fold, elements: float, largest: Shape) -> Loops:
    """Return the same of an op that is not done block by block, or joins blocks while in cache."""
    times = op.flops
    if op.loop in LOGARITHMIC:
        times *= max(1.0, log2(max(largest[-1], 2)) if largest else 1.0)
    elif op.loop == "lapack":
        times *= max(1.0, largest[-1] if largest else 1.0)
    return ((_known_class(op.loop), elements * times),)


def _nbytes(shape: Shape, dtype: np.dtype) -> int:
    return prod(shape) * dtype.itemsize


def row_bytes(shape: Shape, dtype: np.dtype | None) -> float:
    """Return the bytes of one row."""
    return float(prod(shape[1:]) * _itemsize(dtype))


def _itemsize(dtype: np.dtype | None) -> int:
    return dtype.itemsize if dtype is not None else 0


def _flops(phase: Phase, step: Step) -> float:
    """Return the operations per row that the library does."""
    if not isinstance(step.op, Contraction) or step.dtype.kind not in "fc":
        return 0.0
    return phase.flops(step) / phase.rows


def _loops(phase: Phase, step: Step) -> Loops:
    op = step.op
    if isinstance(op, Movement):
        return ()
    if isinstance(op, Leaf):
        return (("arith", float(prod(step.shape[1:]))),)
    if isinstance(op, Random):
        return ((_known_class(op.loop), float(prod(step.shape[1:]))),)
    if isinstance(op, Reduction):
        return _fold_loops(op, step, phase.shape_of(step.args[0]))
    if isinstance(op, Contraction):
        return _product_loops(phase, step)
    assert isinstance(op, Elementwise)
    loops: Loops = ((_known_class(op.loop), float(prod(step.shape[1:]))),)
    return (
        merged_loops(loops, (("run", prod(step.shape[1:-1])),)) if _restarts(phase, step) else loops
    )


def _product_loops(phase: Phase, step: Step) -> Loops:
    """Return the multiply-adds that BLAS does not do, or does of a matrix and a vector."""
    done = phase.flops(step) / 2 / phase.rows
    if step.dtype.kind not in "fc":
        return (("matmul", done),)
    return (("vector", done),) if _is_by_vector(phase, step) else ()


def _is_by_vector(phase: Phase, step: Step) -> bool:
    if len(step.args) != 2:
        return False
    left, right = map(phase.shape_of, step.args)
    if folds_rows(step.op, step.params):
        return 1 in (prod(left[1:]), prod(right[1:]))
    return len(right) == 1 or right[-1] == 1


def _restarts(phase: Phase, step: Step) -> bool:
    """Say whether an operand is broadcast, so that one loop cannot go through a whole tile."""
    shapes = [phase.shape_of(a) for a in step.args if phase.is_array(a)]
    return len(step.shape) > 1 and any(prod(s) > 1 and s != step.shape for s in shapes)


def _fold_loops(op: Reduction, step: Step, operand: Shape) -> Loops:
    """Return the elements that a reduction reads, and its results where each is its own run."""
    elements = float(prod(operand[1:]))
    axes: tuple[int, ...] = step.params.axis  # type: ignore[attr-defined]
    runs = float(prod(step.shape[1:])) if 0 not in axes and len(operand) - 1 in axes else 0.0
    loops: Loops = ((_known_class(op.loop), elements),)
    each = "pick" if op.loop == "index" else "fold"
    return merged_loops(loops, ((each, runs),)) if runs else loops


def _known_class(loop: str) -> str:
    return loop if loop in OP_CLASSES else "other"


def _output_bytes(phase: Phase, slot: int, *, partial: bool) -> float:
    step = phase.steps[slot - len(phase.inputs)]
    if partial:
        return prod(phase.partial_shape(step)) * step.dtype.itemsize / phase.tile_rows
    return row_bytes(step.shape, step.dtype)


def _scratch_bytes(phase: Phase, step: Step) -> float:
    if isinstance(step.op, Movement) or not step.shape or step.shape[0] != phase.rows:
        return 0.0
    return phase.tile_rows * row_bytes(step.shape, step.dtype)


def _widest(phase: Phase) -> str:
    dtypes = [step.dtype for step in phase.steps]
    numeric = [dtype for dtype in dtypes if dtype.kind in "fc"] or dtypes
    return max(numeric, key=lambda dtype: dtype.itemsize).name
