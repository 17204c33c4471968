"""Rolls of one array by small shifts: views of one padded copy.

``roll(x, s)[i] = x[i - s] = pad(x, h)[i - s + h]``, indices of ``x`` modulo its extents. A roll by
itself is one copy either way. Two or more that row-wise ops read become views of a copy with a
margin, so that one pass reads them all where they lie, as it reads the shifted slices of a stencil.

Where nobody holds the array, whatever else reads it reads the copy's inside instead. So the array
needs no memory of its own: the phase that computes it writes it inside the margin, which alone is
copied.
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from typing import TYPE_CHECKING

from dnumpy.expr.expr import Expr, become, make
from dnumpy.expr.geometry import contiguous_strides
from dnumpy.ops.blocked import WRAP, WrapParams
from dnumpy.ops.families import Elementwise, Reduction
from dnumpy.ops.table import CAST, VIEW

if TYPE_CHECKING:
    from collections.abc import Sequence

Shifts = tuple[int, ...]

LINE = 64  # bytes of a line of a cache
WIDE = 512  # elements of a row at least, for a kernel to write it between margins
MOST = 32  # parts of a row, of which its margins may be one for it to begin with a whole line
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
        if expr.op is WRAP and expr.size >= min_size and _shifts(expr) is not None:
            groups[id(expr.args[0])].append(expr)
    if not groups:
        return False
    readers = _readers(order)
    shared = [[e for e in group if id(e) in readers] for group in groups.values()]
    shared = [group for group in shared if len(group) > 1]
    direct = _direct_readers(order, shared)
    for group in shared:
        _share(group, readers, direct.get(id(group[0].args[0]), ()))
    return bool(shared)


def fits_inside(wrap: Expr) -> bool:
    """Say whether a phase can write the array between the margins of its padded copy.

    Kernels write rows whose elements are adjacent, and short rows only many at a time.
    """
    (array,) = wrap.operands()
    margins = [
        (before, outer - inner - before)
        for before, inner, outer in zip(wrap.params.lead, array.shape, wrap.shape, strict=True)  # type: ignore[attr-defined]
    ]
    if not all(min(m) >= 0 and max(m) <= n for m, n in zip(margins, array.shape, strict=True)):
        return False  # a roll by itself, or one that goes around more than once
    return not any(map(any, margins[1:])) or (array.ndim == 2 and array.shape[1] >= WIDE)


def _shifts(roll: Expr) -> Shifts | None:
    """Return by how much each axis is rolled, None where that is much, or a padded copy."""
    if roll.shape != roll.args[0].shape:  # type: ignore[union-attr]
        return None
    return _small_shifts(roll.params.lead, roll.shape)  # type: ignore[attr-defined]


@lru_cache(maxsize=1024)
def _small_shifts(lead: Shifts, shape: Shifts) -> Shifts | None:
    """Return shifts forward or backward, whichever is less; None if one of them is large."""
    found = tuple([by - n if 2 * by > n else by for by, n in zip(lead, shape, strict=True)])
    small = all(abs(by) <= max(1, n // MARGIN) for by, n in zip(found, shape, strict=True))
    return found if small else None


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


def _direct_readers(
    order: Sequence[Expr], groups: Sequence[Sequence[Expr]]
) -> dict[int, list[Expr]]:
    """Return what else reads each array that is rolled, where all that could read its copy.

    Those are arrays that are yet to be computed, element by element, and that nobody holds.
    """
    found: dict[int, list[Expr]] = {}
    for group in groups:
        (operand,) = group[0].operands()
        if operand.value is None and isinstance(operand.op, Elementwise) and not is_held(operand):
            found[id(operand)] = []
    rolls = {id(roll) for group in groups for roll in group}
    for expr in order:
        for arg in expr.args:
            if id(arg) not in found or id(expr) in rolls:
                continue
            if isinstance(expr.op, Elementwise | Reduction):
                found[id(arg)].append(expr)
            else:
                del found[id(arg)]
    return found


def is_held(expr: Expr) -> bool:
    """Say whether an array shows what this computes, or did before it was written to."""
    return expr.owner is not None and expr.owner() is not None


def _share(rolls: Sequence[Expr], readers: dict[int, list[Expr]], direct: Sequence[Expr]) -> None:
    (operand,) = rolls[0].operands()
    dtype = operand.dtype
    shifts = tuple([_shifts(roll) or () for roll in rolls])
    margin, shape, strides, offsets, own = _lay_out(operand.shape, dtype.itemsize, shifts)
    padded = make(WRAP, (operand,), WrapParams(margin), shape, dtype)
    padded.origin = rolls[0].origin

    def inside(offset: int) -> Expr:
        """Return the view of the padded copy that is the array, or the array rolled."""
        geometry = (offset, operand.shape, strides, dtype)
        return Expr(VIEW, (padded,), geometry, operand.shape, dtype)

    if fits_inside(padded):
        _read(direct, operand, inside(own))
    for roll, offset in zip(rolls, offsets, strict=True):
        view = inside(offset)
        _read(readers[id(roll)], roll, view)
        if is_held(roll):
            become(roll, CAST, (view,), ())


@lru_cache(maxsize=1024)
def _lay_out(
    inner: Shifts, itemsize: int, shifts: tuple[Shifts, ...]
) -> tuple[Shifts, Shifts, Shifts, list[int], int]:
    """Return margins before an array, its padded copy's shape and strides, and where it has what.

    The last are the offsets of the rolls in the padded copy, and of the array itself.
    Long rows of the array begin with a whole line of the caches, in memory that does: so they can
    be written past these.
    """
    margin = [max(map(abs, along)) for along in zip(*shifts, strict=True)]
    shape = [n + 2 * m for n, m in zip(inner, margin, strict=True)]
    per_line, row = max(LINE // itemsize, 1), inner[-1]
    before = -(-margin[-1] // per_line) * per_line
    outer = -(-(before + row + margin[-1]) // per_line) * per_line
    if margin[-1] and row >= max(WIDE, MOST * (outer - row)):
        margin[-1], shape[-1] = before, outer
    strides = contiguous_strides(tuple(shape), itemsize)
    own = sum([m * step for m, step in zip(margin, strides, strict=True)])
    offsets = [own - sum([s * t for s, t in zip(by, strides, strict=True)]) for by in shifts]
    return tuple(margin), tuple(shape), strides, offsets, own


def _read(readers: Sequence[Expr], old: Expr, new: Expr) -> None:
    """Let ``readers`` read another Expr of the same content."""
    for reader in readers:
        args = tuple([new if arg is old else arg for arg in reader.args])
        become(reader, reader.op, args, reader.params)
