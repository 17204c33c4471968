"""Which rows stages read of their operands, and what that makes of their work."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from dnumpy.cost.work import Work
from dnumpy.expr.expr import Expr
from dnumpy.expr.geometry import Geometry, contiguous_strides
from dnumpy.expr.walk import base_of
from dnumpy.kernels.blocked import grid_rows
from dnumpy.ops.families import Fold, Indexing, Scan
from dnumpy.ops.gufuncs import GUFUNC
from dnumpy.ops.table import DOT, MATMUL
from dnumpy.plan.work import (
    op_loops,
)
from dnumpy.rewrite.phase import Access
from dnumpy.rewrite.stages import FusedStage
from dnumpy.runtime.bind import Operand
from dnumpy.runtime.producers import (
    BlockedRows,
    contraction_granule,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.rewrite.phase import Phase
    from dnumpy.rewrite.stages import Stage


NEAR = 0.02  # of the rows: what lies no further away is a halo, beyond it other rows are read
PROBED = (0.25, 0.5, 0.75)  # where it is looked which rows are read
MOST_TOGETHER = 32  # folds in one task
LIGHT_STEPS = 1 << 19  # elements of loops and operations of BLAS: half a millisecond at most
LAPACK_SHARE = 2.0  # times the operands: what a call that is one task allocates besides its result
PICKED_SHARE = 2.1  # times the result: what picking by an index or a mask allocates besides it


def is_little(work: Work) -> bool:
    """Say whether work takes microseconds, on any device."""
    steps = sum(elements for _, elements in work.loops) + work.flops
    return work.rows * steps <= LIGHT_STEPS


def by_access(phase: Phase, operands: Sequence[Operand]) -> tuple[list[Operand], list[Operand]]:
    """Return the operands that a phase reads by rows, and those that it reads whole."""
    given = list(zip(operands, phase.inputs, strict=True))
    by_rows = [operand for operand, wanted in given if wanted.access is Access.ROWS]
    return by_rows, [operand for operand, wanted in given if wanted.access is Access.WHOLE]


def goes_along(value: Operand, region: Geometry, rows: int) -> bool:
    """Say whether a value's rows go to about as many rows, nearly all, of what is updated."""
    shape = value.shape
    along = len(shape) == len(region.shape) and shape[:1] == region.shape[:1]
    return value.source is not None and along and abs(shape[0] - rows) <= NEAR * rows


def runs_on(expr: Expr) -> bool:
    """Say whether each block of a scan waits for the one before: none is told what goes before."""
    return isinstance(expr.op, Scan) and expr.op.join is not None and len(expr.args) == 1


def blocked_work(expr: Expr, rows: BlockedRows) -> tuple[Work, list[Operand], list[Operand]]:
    """Return the work of a blocked op, and the operands that are cut.

    First those whose rows the result's rows follow, then all of them.
    """
    count = expr.shape[0]
    wants = rows.wants(0, count)
    by_rows = [w.operand for w in wants if w.lo is not None]
    apart = list({id(o): o for o in by_rows}.values())
    read = sum(prod(o.shape) * o.dtype.itemsize for o in apart) / count
    elements = max([prod(expr.shape[1:]), *(prod(o.shape) / count for o in apart)])
    whole = whole_bytes(rows.operands, apart)
    work = Work(
        count,
        bytes_read=read,
        bytes_written=prod(expr.shape[1:]) * expr.dtype.itemsize,
        loops=op_loops(rows.op, elements, max([expr.shape, *(o.shape for o in apart)], key=prod)),
        workspace_bytes_per_row=workspace(expr, whole),
        fixed_bytes=whole,
    )
    followed = [operand for operand in apart if follows(rows, operand, count)]
    return work, followed, apart


def follows(rows: BlockedRows, operand: Operand, count: int) -> bool:
    """Say whether rows of the result read the operand's rows beside them, away from the ends."""
    held = operand.shape[0]
    near = max(1.0, NEAR * held)
    for part in PROBED:
        lo = int(part * count) // rows.grid * rows.grid
        hi = min(lo + rows.grid, count)
        for want in rows.wants(lo, hi):
            if want.operand is operand and want.lo is not None and want.hi is not None:
                first, stop = lo * held / count, hi * held / count
                if want.lo < first - near or want.hi > stop + near:
                    return False
    return True


def read_by_all(rows: BlockedRows, operand: Operand, count: int) -> Operand | None:
    """Return the rows of an operand that every row of the result reads; None where these differ."""
    spans = [(0, count)]
    spans += [(lo, min(lo + rows.grid, count)) for lo in (0, (count - 1) // rows.grid * rows.grid)]
    read = {(w.lo, w.hi) for ends in spans for w in rows.wants(*ends) if w.operand is operand}
    lo, hi = next(iter(read))
    if len(read) > 1 or lo is None or hi is None:
        return None
    shape = operand.shape
    strides = contiguous_strides(shape, operand.dtype.itemsize)
    part = Geometry(lo * strides[0], (hi - lo, *shape[1:]), strides, operand.dtype)
    return operand._replace(views=(*operand.views, part))


def workspace(expr: Expr, whole: float) -> float:
    """Return the bytes per row that a blocked op allocates besides its result."""
    if is_one_call(expr):
        return LAPACK_SHARE * whole
    picks = isinstance(expr.op, Indexing)
    return PICKED_SHARE * prod(expr.shape[1:]) * expr.dtype.itemsize if picks else 0.0


def is_one_call(expr: Expr) -> bool:
    """Say whether a generalised ufunc has nothing to cut: one call does it all."""
    return expr.op is GUFUNC and bool(expr.params.single)  # type: ignore[attr-defined]


def grid_of_fold(expr: Expr) -> int:
    """Return the rows of the blocks that a fold takes one by one."""
    shapes = tuple(arg.shape if isinstance(arg, Expr) else () for arg in expr.args)
    first = expr.operands()[0]
    row_bytes = prod(first.shape[1:]) * first.dtype.itemsize
    return grid_rows(expr.op, shapes, expr.params, first.shape[0], row_bytes)  # type: ignore[arg-type]


def folds_together(stages: Sequence[Stage]) -> list[tuple[int, tuple[Stage, ...]]]:
    """Return the stages in an order in which they may run, each with its number.

    Folds of the same rows, in the same blocks, that wait for nothing in between are one entry.
    """
    made: set[int] = set()
    taken: set[int] = set()
    found: list[tuple[int, tuple[Stage, ...]]] = []
    for number, stage in enumerate(stages):
        if number in taken:
            continue
        group = [stage]
        if _is_fold(stage):
            for later, other in enumerate(stages[number + 1 :], number + 1):
                if len(group) < MOST_TOGETHER and later not in taken and _joins(stage, other, made):
                    group.append(other)
                    taken.add(later)
        found.append((number, tuple(group)))
        for each in group:
            made |= {id(expr) for expr in _given(each)}
    return found


def _given(stage: Stage) -> list[Expr]:
    if isinstance(stage, FusedStage):
        return [*stage.outputs, *stage.placed.values()]
    return [stage.expr]


def _is_fold(stage: Stage) -> bool:
    if isinstance(stage, FusedStage) or not isinstance(stage.expr.op, Fold):
        return False
    first = stage.expr.args[0]
    return isinstance(first, Expr) and bool(first.shape and first.shape[0])


def _joins(stage: Stage, other: Stage, made: set[int]) -> bool:
    """Say whether a fold folds the same rows as another, and could run when that does."""
    if not _is_fold(other) or isinstance(other, FusedStage) or isinstance(stage, FusedStage):
        return False
    ours, theirs = stage.expr.args[0], other.expr.args[0]
    if ours is not theirs or grid_of_fold(stage.expr) != grid_of_fold(other.expr):
        return False
    bases = [base_of(arg) for arg in other.expr.operands()]
    return all(base.value is not None or id(base) in made for base in bases)


def whole_bytes(operands: Sequence[Operand], by_rows: Sequence[Operand]) -> float:
    """Return the bytes of the operands that every node must hold whole."""
    whole = [o for o in operands if o.source is not None and not any(o is x for x in by_rows)]
    return float(sum(prod(o.shape) * o.dtype.itemsize for o in whole))


def widest_row(expr: Expr, operands: Sequence[Operand]) -> int:
    """Return the bytes of the longest row that an op reads or gives."""
    arrays = [(o.shape, o.dtype) for o in operands if o.source is not None and o.shape]
    return max(prod(s[1:]) * d.itemsize for s, d in [*arrays, (expr.shape, expr.dtype)])


def transposed_rows(expr: Expr, operands: Sequence[Operand]) -> Operand | None:
    """Return ``x`` if the expression is ``x.T @ y`` and sums over enough rows to be cut."""
    if expr.op not in (MATMUL, DOT) or len(operands) != 2 or expr.dtype.kind not in "iufc":
        return None
    first, second = operands
    if first.source is None or second.source is None or len(first.views) != 1:
        return None
    source, view = first.source, first.views[0]
    strides = contiguous_strides(source.shape, source.dtype.itemsize)
    transposed = Geometry(0, source.shape[::-1], strides[::-1], source.dtype)
    long = len(source.shape) == 2 and source.shape[0] > 2 * source.shape[1]
    if view != transposed or not long or not prod(source.shape) or not prod(expr.shape):
        return None
    return Operand(source)


def contracts_rows(expr: Expr, operands: Sequence[Operand]) -> bool:
    """Say whether row ``i`` of the result needs only row ``i`` of the first operand."""
    if expr.op not in (MATMUL, DOT) or len(operands) != 2 or not expr.shape or 0 in expr.shape:
        return False
    first, second = operands
    two_dimensional = len(first.shape) == 2 and len(second.shape) in (1, 2)
    if not two_dimensional or first.source is None:
        return False
    columns = prod(expr.shape[1:])
    return expr.shape[0] > contraction_granule(first.shape, first.dtype.itemsize, columns)
