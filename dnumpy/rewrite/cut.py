"""Cut pending expressions into stages."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from dnumpy.expr.expr import Expr
from dnumpy.expr.geometry import Geometry, RowMap, lie_apart, overlaps_itself
from dnumpy.ops import families
from dnumpy.ops.blocked import WRAP
from dnumpy.ops.families import Contraction, Elementwise, Leaf, Random, Reduction
from dnumpy.ops.table import CROSSPROD, LEAF, MATMUL, UPDATE, VIEW, folds_parts
from dnumpy.rewrite.build import build_phase, frame_of
from dnumpy.rewrite.padding import fits_inside
from dnumpy.rewrite.stages import FusedStage, Stage, WholeStage
from dnumpy.rewrite.turns import in_turn

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dnumpy.expr.expr import Const

SAME_ROWS = RowMap(0, 1)
ROUNDING = frozenset({np.add, np.multiply})
WHOLE_BYTES = (
    1 << 19
)  # of a product's second factor, which stays in L2 beside the tiles: half of it
STACK = 1 << 23  # multiply-adds of a stack of products that has no neighbours: half a millisecond
FINER = 4  # tiles of few elements in place of one
REGIONS = 16  # of one array, the most that one phase fills
TALL = 4  # times the columns of a product: fewer rows than that are left to the library


@dataclass(frozen=True, slots=True)
class Grain:
    """Sizes that shape the stages: elements below which nothing is fused, and the tile's bounds.

    What rounds and reads fewer elements than ``numpys_below`` has NumPy's bits: it is NumPy's by
    itself, whether it was recorded or its operands were at hand.
    """

    min_size: int
    tile_bytes: int
    tile_rows_max: int
    numpys_below: int = 0


@dataclass(slots=True)
class _Cut:
    """The working state of one cut; ids of Exprs are keys."""

    order: list[Expr]
    wanted: set[int]
    grain: Grain
    rows: dict[int, int] = field(default_factory=dict)  # Expr -> rows of what is a row-wise op
    space: dict[int, int] = field(default_factory=dict)  # Expr -> rows of its phase
    joins: set[tuple[int, int]] = field(default_factory=set)  # Expr, operand beside it
    between: dict[int, int] = field(default_factory=dict)  # the same of small ones
    level: dict[int, int] = field(default_factory=dict)
    users: dict[int, list[Expr]] = field(default_factory=lambda: defaultdict(list))
    placed: dict[int, Expr] = field(default_factory=dict)  # value -> its UPDATE or WRAP
    beside: dict[int, int] = field(default_factory=dict)  # value -> the last UPDATE of the array
    passed: set[int] = field(default_factory=set)  # UPDATEs before the last one


def cut(order: Sequence[Expr], wanted: Collection[Expr], grain: Grain) -> list[Stage]:
    """Return stages that give ``wanted`` a value; ``order`` has operands before users."""
    state = _Cut(list(order), {id(e) for e in wanted}, grain)
    for expr in state.order:
        for arg in expr.operands():
            state.users[id(arg)].append(expr)
        number = row_space(expr, grain)
        if number is not None:
            state.rows[id(expr)] = number
    state.between = _between(state)
    for expr in state.order:
        _enter(state, expr)
    for expr in reversed(state.order):
        _place(state, expr)
        _sink(state, expr)
    return _stages(state)


def row_space(expr: Expr, grain: Grain) -> int | None:
    """Return the rows of the phase that can compute ``expr``, or None if it is no row-wise op."""
    op = expr.op
    if isinstance(op, Elementwise | Random) or (isinstance(op, Leaf) and op is not LEAF):
        return expr.shape[0] if expr.shape and expr.size >= max(grain.min_size, 1) else None
    if isinstance(op, Reduction):
        operand = expr.args[0]
        assert isinstance(operand, Expr)
        if folds_rows(expr) and not folds_parts(op):
            return None
        if operand.size < grain.numpys_below and rounds(expr):
            return None
        big = operand.shape and operand.size >= max(grain.min_size, 1)
        return operand.shape[0] if big and operand.size and expr.size else None
    return _product_rows(expr, grain) if isinstance(op, Contraction) else None


def rounds(fold: Expr) -> bool:
    """Say whether the bits of a fold depend on its order."""
    op = fold.op
    return isinstance(op, Reduction) and op.ufunc in ROUNDING and fold.dtype.kind in "fc"


def _product_rows(expr: Expr, grain: Grain) -> int | None:
    """Return the rows of a product that can run by rows beside its neighbours.

    Rows of the result of ``a @ b`` need as many rows of ``a``, and all of ``b`` unless both are
    stacks of matrices.
    """
    first, second = expr.operands() if len(expr.operands()) == 2 else (expr, expr)
    if max(first.size, second.size, expr.size) < grain.numpys_below and expr.dtype.kind in "fc":
        return None
    if not expr.size or max(first.size, expr.size) < max(grain.min_size, 1):
        return None
    if expr.op is CROSSPROD:
        return first.shape[0]
    if expr.op is not MATMUL or first.ndim < 2:
        return None
    if is_stack(expr):
        return first.shape[0]
    tall = second.ndim == 1 or first.size >= TALL * expr.shape[-1] * first.shape[-1]
    small = second.ndim <= 2 and second.nbytes <= WHOLE_BYTES and first is not second
    return first.shape[0] if tall and small else None


def is_stack(expr: Expr) -> bool:
    """Say whether a product is of two stacks of as many matrices."""
    first, second = expr.operands()
    return first.ndim == second.ndim > 2 and first.shape[0] == second.shape[0]


def folds_rows(expr: Expr) -> bool:
    """Say whether ``expr`` folds axis 0 of its operands away: its result is no row value."""
    return families.folds_rows(expr.op, expr.params)


def reads_rows(expr: Expr, arg: Expr) -> bool:
    """Say whether row ``i`` of ``expr`` (or of its fold) needs only row ``i`` of ``arg``."""
    if expr.op is VIEW:
        return _inside_rows(expr, arg)
    if isinstance(expr.op, Contraction):
        return arg is expr.args[0] or expr.op.folds or is_stack(expr)
    frame = frame_of(expr)
    return arg.ndim == frame.ndim and arg.shape[0] == frame.shape[0]


def _inside_rows(view: Expr, base: Expr) -> bool:
    geometry = Geometry(*view.params)
    if not view.shape or not base.shape or view.shape[0] != base.shape[0]:
        return False
    return geometry.row_map(base.shape, base.dtype) == SAME_ROWS


def _between(state: _Cut) -> dict[int, int]:
    """Return the rows of small ops that read what a phase computes and are read by one again.

    By themselves they are not worth a phase. But one that is left out, such as the division of a
    row's mean, would end the phase whose values it reads, and these go to memory and back.
    """
    rows = state.rows
    after: dict[int, int] = {}
    for expr in state.order:
        by_rows = isinstance(expr.op, Elementwise) or expr.op is VIEW
        if by_rows and expr.size and expr.shape and id(expr) not in rows:
            known = [
                arg
                for arg in expr.operands()
                if expr.shape[0] in {rows.get(id(arg)), after.get(id(arg))}
            ]
            if any(not folds_rows(arg) and reads_rows(expr, arg) for arg in known):
                after[id(expr)] = expr.shape[0]
    found: dict[int, int] = {}
    for expr in reversed(state.order):
        number = after.get(id(expr))
        if number is not None and any(
            number in {rows.get(id(user)), found.get(id(user))} and reads_rows(user, expr)
            for user in state.users[id(expr)]
        ):
            found[id(expr)] = number
    return found


def _enter(state: _Cut, expr: Expr) -> None:
    rows = state.rows.get(id(expr)) or state.between.get(id(expr))
    if expr.op is VIEW:
        base = expr.operands()[0]
        if id(base) in state.space and not folds_rows(base) and _inside_rows(expr, base):
            rows = state.space[id(base)]
    if rows is not None:
        state.space[id(expr)] = rows
        state.joins |= {
            (id(expr), id(arg)) for arg in expr.operands() if _may_join(state, expr, arg)
        }
    state.level[id(expr)] = max((_after(state, expr, arg) for arg in expr.operands()), default=0)


def _after(state: _Cut, expr: Expr, arg: Expr) -> int:
    """Return the earliest level of ``expr`` as far as ``arg`` is concerned."""
    if arg.value is not None:
        return 0
    level = state.level[id(arg)]
    if _joins(state, expr, arg) or _is_alias(state, arg):
        return level
    return level + 1


def _is_alias(state: _Cut, expr: Expr) -> bool:
    return expr.op is VIEW and id(expr) not in state.space


def _joins(state: _Cut, expr: Expr, arg: Expr) -> bool:
    """Say whether ``expr`` can be computed in the same phase as its pending operand ``arg``."""
    return (id(expr), id(arg)) in state.joins


def _may_join(state: _Cut, expr: Expr, arg: Expr) -> bool:
    same = state.space.get(id(arg)) == state.space[id(expr)]
    return same and not folds_rows(arg) and reads_rows(expr, arg)


def _place(state: _Cut, expr: Expr) -> None:
    """Let a value be computed into the array of which it becomes a part and nobody else reads it.

    That is an updated array, or a copy with margins. Values that become parts of one array, as its
    columns are, one after the other, are computed by one phase, which goes through it once.
    """
    if expr.op is WRAP:
        if fits_inside(expr) and _has_no_other_use(state, expr.args[0]):
            _compute_into(state, expr.operands()[0], expr, 0)
    elif expr.op is UPDATE and id(expr) not in state.passed:
        updates = _updates_until(state, expr)
        if updates:
            base = updates[0].operands()[0]
            ready = 0 if base.value is not None else state.level[id(base)] + 1
            values = [update.operands()[1] for update in updates]
            ready = max(ready, *(state.level[id(value)] for value in values))
            for update, value in zip(updates, values, strict=True):
                _compute_into(state, value, update, ready)
                state.beside[id(value)] = id(expr)
            state.passed.update(id(update) for update in updates[:-1])


def _updates_until(state: _Cut, last: Expr) -> list[Expr]:
    """Return UPDATEs whose values one phase may compute into place: ``last``, and before it others.

    Of those nobody sees the results but the next one.
    """
    found: list[Expr] = []
    update = last
    while len(found) < REGIONS and _fills_region(state, update):
        if found and not _goes_on(state, update, found):
            break
        found.append(update)
        update = update.operands()[0]
    return found[::-1]


def _fills_region(state: _Cut, update: Expr) -> bool:
    """Say whether a phase may compute the value of an UPDATE into its place."""
    return is_update_by_all(update) and _has_no_other_use(state, update.args[1])


def is_update_by_all(update: Expr) -> bool:
    """Say whether this is a pending UPDATE of which each element is one of a pending value's."""
    if update.op is not UPDATE or update.value is not None:
        return False
    value, region = update.args[1], Geometry(*update.params)
    return (
        isinstance(value, Expr)
        and value.value is None
        and (region.shape, region.dtype) == (value.shape, value.dtype)
        and not overlaps_itself(region)  # else an element may be read after it was written
    )


def _goes_on(state: _Cut, update: Expr, later: Sequence[Expr]) -> bool:
    """Say whether a phase that computes the values of ``later`` may compute one before them."""
    if id(update) in state.wanted or len(state.users[id(update)]) != 1:
        return False
    mine, others = update.operands()[1], later[-1].operands()[1]
    alike = mine.shape == others.shape and state.space[id(mine)] == state.space[id(others)]
    region = Geometry(*update.params)
    return alike and all(lie_apart(region, Geometry(*other.params)) for other in later)


def _has_no_other_use(state: _Cut, value: Expr | Const) -> bool:
    """Say whether a phase computes ``value`` for one user only."""
    return (
        isinstance(value, Expr)
        and value.value is None
        and id(value) in state.space
        and value.op is not VIEW
        and not folds_rows(value)
        and id(value) not in state.wanted
        and len(state.users[id(value)]) == 1
    )


def _compute_into(state: _Cut, value: Expr, whole: Expr, ready: int) -> None:
    """Place ``value``, which is computed from level ``ready`` on, in ``whole``."""
    state.level[id(value)] = max(state.level[id(value)], ready)
    state.level[id(whole)] = max(state.level[id(whole)], state.level[id(value)] + 1)
    state.placed[id(value)] = whole


def _sink(state: _Cut, expr: Expr) -> None:
    """Move ``expr`` to its users' phase when all of them are in one, so that it needs no memory."""
    users = state.users[id(expr)]
    if id(expr) not in state.space or id(expr) in state.wanted or folds_rows(expr) or not users:
        return
    levels = {state.level[id(user)] for user in users}
    if len(levels) == 1 and all(_joins(state, user, expr) for user in users):
        state.level[id(expr)] = max(state.level[id(expr)], *levels)


def _stages(state: _Cut) -> list[Stage]:
    needed = _needed(state)
    groups = _groups(state)
    stages: list[tuple[int, Stage]] = []
    stages += [
        (2 * state.level[id(expr)], WholeStage(expr))
        for expr in state.order
        if id(expr) not in state.space
        and not _is_alias(state, expr)
        and id(expr) not in state.passed
    ]
    for members in groups:
        outputs = [e for e in members if id(e) in needed]
        lone = _lone_product(members)
        if lone is not None:
            stages.append((2 * state.level[id(lone)], WholeStage(lone)))
        elif outputs:
            level = 2 * state.level[id(members[0])] + 1
            stages.append((level, _bind(state, members, outputs)))
    stages.sort(key=lambda item: item[0])
    return in_turn([stage for _, stage in stages], state.order)


def _lone_product(members: list[Expr]) -> Expr | None:
    """Return the product of two matrices that has no neighbours: one call of the library."""
    computed = [e for e in members if e.op is not VIEW]
    if len(computed) != 1 or not isinstance(computed[0].op, Contraction):
        return None
    return None if _is_large_stack(computed[0]) else computed[0]


def _is_large_stack(expr: Expr) -> bool:
    """Say whether products of a stack are worth sharing out among threads."""
    multiply_adds = expr.size * expr.operands()[0].shape[-1]
    return expr.op is MATMUL and is_stack(expr) and multiply_adds >= STACK


def _bind(state: _Cut, members: list[Expr], outputs: list[Expr]) -> FusedStage:
    tile_bytes = _tile_bytes(members, state.grain)
    phase, inputs, steps = build_phase(
        members, outputs, tile_bytes, state.grain.tile_rows_max, reads_rows
    )
    placed = {k: state.placed[id(e)] for k, e in enumerate(outputs) if id(e) in state.placed}
    if len(placed) > 1:
        placed = dict(sorted(placed.items(), key=lambda item: state.level[id(item[1])]))
    return FusedStage(phase, tuple(inputs), tuple(outputs), placed, tuple(steps))


def _tile_bytes(members: list[Expr], grain: Grain) -> int:
    """Return the bytes of a tile, fewer where an array has few: several threads are to share it.

    What is folded there has the same bits in any tiles.
    """
    few = all(
        e.size < grain.numpys_below and all(arg.size < grain.numpys_below for arg in e.operands())
        for e in members
    )
    return grain.tile_bytes // FINER if few else grain.tile_bytes


def _needed(state: _Cut) -> set[int]:
    """Return the Exprs that must have a value of their own after their stage."""
    needed = set(state.wanted)
    for expr in reversed(state.order):
        fused = id(expr) in state.space
        if expr.op is VIEW and id(expr) in needed:
            needed.add(id(expr.operands()[0]))
        for arg in expr.operands():
            same_phase = (
                fused and _joins(state, expr, arg) and state.level[id(arg)] == state.level[id(expr)]
            )
            if not same_phase and not _is_alias(state, expr):
                needed.add(id(arg))
        if folds_rows(expr) and fused:
            needed.add(id(expr))
    return _through_views(state, needed)


def _through_views(state: _Cut, needed: set[int]) -> set[int]:
    """A view needs no memory: what is needed of it is needed of its base."""
    for expr in reversed(state.order):
        if expr.op is VIEW and id(expr) in needed:
            needed.discard(id(expr))
            needed.add(id(expr.operands()[0]))
    return needed


def _groups(state: _Cut) -> list[list[Expr]]:
    """Return the members of each phase: connected by joins or by reading the same array."""
    parent: dict[object, object] = {}

    def find(x: object) -> object:
        while parent.setdefault(x, x) != x:
            parent[x] = parent[parent[x]]
            x = parent[x]
        return x

    fused = [e for e in state.order if id(e) in state.space]
    for expr in fused:
        level = state.level[id(expr)]
        frame = frame_of(expr)
        for arg in expr.operands():
            joined = _joins(state, expr, arg) and state.level[id(arg)] == level
            shared = ("reads", id(arg), frame.shape, level)
            parent[find(id(expr))] = find(id(arg) if joined else shared)
        if id(expr) in state.beside:
            parent[find(id(expr))] = find(("beside", state.beside[id(expr)]))
        find(id(expr))
    groups: dict[object, list[Expr]] = defaultdict(list)
    for expr in fused:
        groups[find(id(expr))].append(expr)
    return list(groups.values())
