"""Write the members of one phase down as a position-independent program."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from dnumpy.expr.expr import Const, Expr
from dnumpy.ops.families import Contraction, Elementwise, Reduction, folds_rows, lookup
from dnumpy.ops.table import FULL, VIEW
from dnumpy.rewrite.phase import Access, Input, Output, Phase, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


ADD = lookup("add")
PRODUCT_ROWS = 128  # of a tile at least, since the library lays the other factor out for each


def build_phase(
    members: Sequence[Expr],
    outputs: Sequence[Expr],
    tile_bytes: int,
    tile_rows_max: int,
    reads_rows: Callable[[Expr, Expr], bool],
) -> tuple[Phase, list[Expr | Const], list[Expr]]:
    """Return the phase that computes ``outputs``, what to bind to its inputs, and its steps' Exprs.

    A view whose base is outside the phase is itself an input.
    """
    inside = {id(e) for e in members}
    steps_of = [e for e in members if not (e.op is VIEW and id(e.operands()[0]) not in inside)]
    same = _same(steps_of, outputs)
    if same:
        steps_of = _without(steps_of, same, outputs)
    inside = {id(e) for e in steps_of}
    bound: dict[object, int] = {}
    inputs: list[Expr | Const] = []
    described: list[Input] = []
    for expr in steps_of:
        for given in expr.args:
            arg = same.get(id(given), given)
            if id(arg) in inside:
                continue
            by_rows = isinstance(arg, Expr) and reads_rows(expr, arg)
            key = (id(arg), by_rows)
            if key not in bound:
                bound[key] = len(inputs)
                inputs.append(arg)
                described.append(_describe(arg, rows=by_rows))
    slots = {id(e): len(inputs) + k for k, e in enumerate(steps_of)}

    def slot_of(expr: Expr, arg: Expr | Const) -> int:
        if id(arg) in slots:
            return slots[id(arg)]
        return bound[(id(arg), isinstance(arg, Expr) and reads_rows(expr, arg))]

    steps = tuple(
        Step(
            e.op,
            tuple(slot_of(e, same.get(id(a), a)) for a in e.args),
            e.params,
            e.shape,
            e.dtype,
        )
        for e in steps_of
    )
    gives = tuple(Output(slots[id(e)], folds_rows(e.op, e.params)) for e in outputs)
    rows = _rows(steps_of[-1])
    tile_rows = _tile_rows(steps, described, rows, tile_bytes, tile_rows_max)
    return Phase(rows, tile_rows, tuple(described), steps, gives), inputs, steps_of


def _same(members: Sequence[Expr], outputs: Sequence[Expr]) -> dict[int, Expr]:
    """Return what integers equal to which nothing is added: x + 0 = x."""
    kept = {id(e) for e in outputs}
    kept |= {id(a) for e in members if not isinstance(e.op, Elementwise) for a in e.operands()}
    inside = {id(e) for e in members}
    same: dict[int, Expr] = {}
    for expr in members:
        if expr.op is not ADD or expr.dtype.kind not in "iu" or expr.params or id(expr) in kept:
            continue
        for nothing, other in (expr.args, expr.args[::-1]):
            if not (id(nothing) in inside and _is_zero(nothing) and isinstance(other, Expr)):
                continue
            if (other.shape, other.dtype.num) == (expr.shape, expr.dtype.num):
                same[id(expr)] = same.get(id(other), other)
                break
    return same


def _is_zero(expr: Expr | Const) -> bool:
    return isinstance(expr, Expr) and expr.op is FULL and not expr.params[0]


def _without(members: Sequence[Expr], same: dict[int, Expr], outputs: Sequence[Expr]) -> list[Expr]:
    """Leave out what something else equals, and the zeros that nothing else reads."""
    left = [e for e in members if id(e) not in same]
    read = {id(same.get(id(a), a)) for e in left for a in e.args} | {id(e) for e in outputs}
    return [e for e in left if e.op is not FULL or id(e) in read]


def _describe(arg: Expr | Const, *, rows: bool) -> Input:
    if isinstance(arg, Const):
        return Input(Access.CONST, (), None)
    return Input(Access.ROWS if rows else Access.WHOLE, arg.shape, arg.dtype)


def frame_of(expr: Expr) -> Expr:
    """Return the Expr whose rows a phase walks to compute ``expr``: itself, or what it folds."""
    frame = expr.args[0] if isinstance(expr.op, Reduction | Contraction) else expr
    assert isinstance(frame, Expr)
    return frame


def _rows(expr: Expr) -> int:
    return frame_of(expr).shape[0]


def _tile_rows(
    steps: Sequence[Step], inputs: Sequence[Input], rows: int, tile_bytes: int, most: int
) -> int:
    """Return rows per tile: the widest row value fills ``tile_bytes``."""
    widest = max(
        [prod(s.shape[1:]) * s.dtype.itemsize for s in steps if s.shape and s.shape[0] == rows]
        + [
            prod(i.shape[1:]) * i.dtype.itemsize
            for i in inputs
            if i.access is Access.ROWS and i.dtype is not None
        ],
        default=8,
    )
    fitting = tile_bytes // max(widest, 1)
    return max(1, min(rows, most, max([fitting, *map(_least_rows, steps)])))


def _least_rows(step: Step) -> int:
    """Return the rows of a tile that one product with a matrix read whole is worth."""
    if not isinstance(step.op, Contraction) or step.op.folds or not step.shape:
        return 1
    return -(-PRODUCT_ROWS // max(prod(step.shape[1:-1]), 1))
