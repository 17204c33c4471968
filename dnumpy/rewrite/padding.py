"""Rolls of one array by small shifts: views of one padded copy.

``roll(x, s)[i] = x[i - s] = pad(x, h)[i - s + h]``, indices of ``x`` modulo its extents. A roll by
itself is one copy either way. Two or more that row-wise ops read become views of a copy with a
margin, so that one pass reads them all where they lie, as it reads the shifted slices of a stencil.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from dnumpy.expr.expr import Expr, become, make
from dnumpy.expr.geometry import Geometry, contiguous_strides
from dnumpy.ops.blocked import WRAP, WrapParams
from dnumpy.ops.families import Elementwise, Reduction
from dnumpy.ops.table import CAST, VIEW

if TYPE_CHECKING:
    from collections.abc import Sequence

Shifts = tuple[int, ...]

MARGIN = 8  # a shift is small up to this part of the extent (and always if it is by one)


def has_rolls(order: Sequence[Expr]) -> bool:
    """Say whether there is anything to share."""
    for expr in order:  # noqa: SIM110 - a loop costs a third of a generator here
        if expr.op is WRAP:
            return True
    return False


def share_padding(order: Sequence[Expr], min_size: int) -> bool:
    """Let rolls of the same array read one padded copy; say whether any does now."""
    groups: dict[int, list[Expr]] = defaultdict(list)
    for expr in order:
        if expr.op is WRAP and expr.size >= min_size and _is_small_roll(expr):
            groups[id(expr.args[0])].append(expr)
    if not groups:
        return False
    readers = _readers(order)
    shared = [[e for e in group if id(e) in readers] for group in groups.values()]
    shared = [group for group in shared if len(group) > 1]
    for group in shared:
        _share(group, readers)
    return bool(shared)


def _is_small_roll(expr: Expr) -> bool:
    if expr.shape != expr.operands()[0].shape:
        return False  # a padded copy
    shifts = zip(_shifts(expr), expr.shape, strict=True)
    return all(abs(by) <= max(1, extent // MARGIN) for by, extent in shifts)


def _shifts(roll: Expr) -> Shifts:
    """Return by how much each axis is rolled, forward or backward, whichever is less."""
    lead = roll.params.lead  # type: ignore[attr-defined]
    return tuple(by - n if 2 * by > n else by for by, n in zip(lead, roll.shape, strict=True))


def _readers(order: Sequence[Expr]) -> dict[int, list[Expr]]:
    """Return what reads each roll that some op reads and only row-wise ops do."""
    readers: dict[int, list[Expr]] = defaultdict(list)
    otherwise: set[int] = set()
    for expr in order:
        by_rows = isinstance(expr.op, Elementwise | Reduction)
        for arg in expr.args:
            if isinstance(arg, Expr) and arg.op is WRAP:
                readers[id(arg)].append(expr)
                if not by_rows:
                    otherwise.add(id(arg))
    return {roll: found for roll, found in readers.items() if roll not in otherwise}


def _share(rolls: Sequence[Expr], readers: dict[int, list[Expr]]) -> None:
    (operand,) = rolls[0].operands()
    shifts = [_shifts(roll) for roll in rolls]
    margin = tuple(max(map(abs, along)) for along in zip(*shifts, strict=True))
    shape = tuple(n + 2 * m for n, m in zip(operand.shape, margin, strict=True))
    padded = make(WRAP, (operand,), WrapParams(margin), shape, operand.dtype)
    padded.origin = rolls[0].origin
    strides = contiguous_strides(shape, operand.dtype.itemsize)
    for roll, by in zip(rolls, shifts, strict=True):
        offset = sum((m - s) * step for m, s, step in zip(margin, by, strides, strict=True))
        geometry = Geometry(offset, roll.shape, strides, roll.dtype)
        view = make(VIEW, (padded,), tuple(geometry), roll.shape, roll.dtype)
        for reader in readers[id(roll)]:
            args = tuple(view if arg is roll else arg for arg in reader.args)
            become(reader, reader.op, args, reader.params)
        become(roll, CAST, (view,), ())  # for whoever holds it
