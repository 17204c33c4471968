"""Where the operands of a chain's calls lie, and by which extents and steps products walk them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dnumpy.kernels.layouts import merged_axes

Home = tuple[str, Any]  # a kind of memory, and which


class Unchained(Exception):  # noqa: N818 - an answer, not an error
    """A step is no call of a loop that can be trusted."""


@dataclass(frozen=True, slots=True)
class Lies:
    """Where a value of the tile lies: ``row`` bytes from row to row, ``steps`` within a row.

    ``home`` is what its address is measured from: an input, an output, a scratch buffer. Of what
    has one entry for each tile, these are ``tile`` bytes apart.
    """

    home: Home
    rest: tuple[int, ...]
    steps: tuple[int, ...]
    row: int
    dtype: np.dtype
    by_row: bool = True  # the address moves on from tile to tile
    offset: int = 0
    tile: int = 0

    @property
    def whole(self) -> bool:
        """Whether it is an operand that each tile reads whole."""
        return self.home[0] == "in" and not self.by_row

    def seen(self, rows: int) -> np.ndarray:
        """Return an array that lies as so many rows of it do, whose values nobody may read."""
        shape, strides = (rows, *self.rest), (self.row, *self.steps)
        if self.whole:
            shape, strides = self.rest, self.steps
        elif self.tile:
            shape, strides = (1, *self.rest), (self.tile, *self.steps)
        return as_strided(np.empty(1, self.dtype), shape, strides)


def adjacent(rest: tuple[int, ...], size: int) -> tuple[int, ...]:
    """Return the steps of axes whose elements, of ``size`` bytes, lie side by side."""
    return tuple(size * prod(rest[k + 1 :]) for k in range(len(rest)))


Call = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]  # extents, more a row, steps


def _columns(lies: Lies, axes: int) -> tuple[int, int]:
    """Return extent and step of the last of ``axes`` axes; one column where it is missing."""
    if not axes - 1 <= len(lies.rest) <= axes:
        raise Unchained
    if len(lies.rest) < axes:
        return 1, lies.dtype.itemsize
    return lies.rest[-1], lies.steps[-1]


def tall(left: Lies, right: Lies, out: Lies) -> Call:
    """Return the call for ``(rows, inner) @ (inner, columns)``, the second factor whole."""
    if not right.whole or not right.rest:
        raise Unchained
    inner, along = _columns(left, 1)
    columns, across = _columns(right, 2)
    steps = (0, 0, 0, left.row, along, right.steps[0], across, out.row, _columns(out, 1)[1])
    return (1, 0, inner, columns), (0, 1, 0, 0), steps


def stacked(left: Lies, right: Lies, out: Lies) -> Call:
    """Return the call for a product of matrices in each row, or with one matrix that all share."""
    if len(left.rest) != 2 or len(right.rest) < 1 + (not right.whole):
        raise Unchained
    columns, across = _columns(right, 2)
    steps = (left.row, right.row, out.row, *left.steps, right.steps[0], across, out.steps[0])
    return (0, *left.rest, columns), (1, 0, 0, 0), (*steps, _columns(out, 2)[1])


def folded(left: Lies, right: Lies, out: Lies) -> Call:
    """Return the call for ``(edge, rows) @ (rows, columns)``, rows of both being at hand."""
    if left.whole or right.whole:
        raise Unchained
    (edge, down), (columns, across) = _columns(left, 1), _columns(right, 1)
    size = out.dtype.itemsize
    to = iter(out.steps)
    own = (next(to) if left.rest else size, next(to) if right.rest else size)
    steps = (0, 0, 0, down, left.row, right.row, across, *own)
    return (1, edge, 0, columns), (0, 0, 1, 0), steps


def spread(lies: Lies, rest: tuple[int, ...]) -> Lies:
    """Return a value broadcast to rows of shape ``rest``."""
    shape, steps = lies.rest, lies.steps
    if lies.whole and len(shape) > len(rest):
        shape, steps = shape[1:], steps[1:]  # a leading axis of extent 1
    lead = len(rest) - len(shape)
    if lead < 0 or (lead and not lies.whole):
        raise Unchained
    steps = (0,) * lead + tuple(
        0 if n == 1 and m != 1 else s for n, m, s in zip(shape, rest[lead:], steps, strict=True)
    )
    return replace(lies, rest=rest, steps=steps)


def one_step(lies: Lies) -> int:
    """Return the bytes between neighbours of a row, whose elements must be one run."""
    axes = merged_axes(lies.rest, lies.steps)
    if len(axes) > 1:
        raise Unchained
    return axes[0][1] if axes else lies.dtype.itemsize
