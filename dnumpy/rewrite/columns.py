"""A phase that folds rows away, cut along its rows: each part computes some columns of the result.

What a tile leaves is as wide as a row. Where rows are long, as those of a stack of pictures are, a
tile is one row, and all tiles together leave as much as is folded, in memory that nobody asked for.
Cut along the rows, the same program leaves little at a time, in the same tiles and so of the same
bits; folds that have these in any order need no tiles. That goes where every step is elementwise up
to the folds.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.ops.families import Elementwise, Reduction
from dnumpy.rewrite.phase import Output, Phase

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Shape
    from dnumpy.rewrite.phase import Step

PART_BYTES = 1 << 20  # that a part leaves, and from which on there are parts
LEAST = 512  # elements of a row of a part: less is not worth being called for
EVEN = 64  # elements of which the rows of a part have a multiple
_MOST = 1024
_ROUNDED = (np.add, np.multiply)  # the same in any order on integers alone


class Columns(NamedTuple):
    """How to cut a phase: its rows along one axis of an ``extent``, into parts of a ``width``.

    ``inputs`` are the axes along which to cut what it reads, None for what each part reads whole;
    ``steps`` those of what it computes, results included. ``rest`` is the elements of a row for
    each index of the axis.
    """

    extent: int
    width: int
    rest: int
    inputs: tuple[int | None, ...]
    steps: tuple[int | None, ...]

    def starts(self, width: int) -> range:
        """Return where parts of such a width begin."""
        return range(0, self.extent, width)


class Part(NamedTuple):
    """A phase that computes a part, and for each output of the whole the number of its own.

    Instead of a fold that picks places, the phase gives what is picked from; None where the whole
    picks from what it reads. ``steps`` are the numbers in the whole of the phase's steps.
    """

    phase: Phase | None
    outputs: tuple[int | None, ...]
    steps: tuple[int, ...] = ()


def is_exact(step: Step) -> bool:
    """Say whether a fold has the same bits in any order."""
    return step.op.ufunc not in _ROUNDED or step.dtype.kind in "iub"  # type: ignore[attr-defined]


@lru_cache(maxsize=_MOST)
def columns_of(phase: Phase) -> Columns | None:
    """Return how to cut the phase, None where that cannot be or gains nothing."""
    if phase.tiles == 1 or not all(given.partial for given in phase.outputs):
        return None
    folds = folds_of(phase)
    if not all(isinstance(step.op, Reduction) and _is_by_columns(step) for step in folds):
        return None
    row = sum(prod(phase.partial_shape(step)) * step.dtype.itemsize for step in folds)
    if row * phase.tiles <= PART_BYTES:
        return None
    frame = phase.shape_of(folds[0].args[0])
    held = row * (phase.rows if all(map(is_exact, folds)) else phase.tiles)
    parts = min(-(-held // PART_BYTES), prod(frame[1:]) // LEAST)
    axis = _axis(frame, {k for step in folds for k in step.params.axis}, parts)  # type: ignore[attr-defined]
    if parts < 2 or axis is None:
        return None
    width = -(-frame[axis] // parts)
    if width > EVEN:
        width = -(-width // EVEN) * EVEN
    if frame[axis] % width * prod(frame[axis + 1 :]) == 1:
        width += 1  # rows of one element are summed as a run
    return _columns(phase, frame, axis, width) if width < frame[axis] else None


def _is_by_columns(step: Step) -> bool:
    """Say whether each column's fold has the same bits, however many columns are folded."""
    params: Any = step.params
    return is_exact(step) or params.axis == (0,)


def folds_of(phase: Phase) -> list[Step]:
    """Return the steps that are the outputs of a phase with no other outputs."""
    return [phase.steps[given.slot - len(phase.inputs)] for given in phase.outputs]


@lru_cache(maxsize=_MOST)
def part_of(phase: Phase, columns: Columns, width: int) -> Part:
    """Return what computes a part of such a width."""
    first = len(phase.inputs)

    def cut(shape: Shape, axis: int | None) -> Shape:
        return shape if axis is None else (*shape[:axis], width, *shape[axis + 1 :])

    inputs = tuple(
        replace(given, shape=cut(given.shape, axis))
        for given, axis in zip(phase.inputs, columns.inputs, strict=True)
    )
    slots = list(range(first))  # of the part, by those of the whole
    steps: list[Step] = []
    kept = tuple([k for k, step in enumerate(phase.steps) if not _picks(step)])
    for step, axis in zip(phase.steps, columns.steps, strict=True):
        slots.append(first + len(steps))
        if not _picks(step):
            args = tuple([slots[arg] for arg in step.args])
            steps.append(replace(step, args=args, shape=cut(step.shape, axis)))
    outputs: list[Output] = []
    numbers: list[int | None] = []
    for given, step in zip(phase.outputs, folds_of(phase), strict=True):
        slot = step.args[0] if _picks(step) else given.slot
        mine = Output(slots[slot], partial=not _picks(step))
        if slot >= first and mine not in outputs:  # several may pick from the same
            outputs.append(mine)
        numbers.append(outputs.index(mine) if slot >= first else None)
    if not outputs:
        return Part(None, tuple(numbers))
    tile_rows = phase.rows if all(map(is_exact, folds_of(phase))) else phase.tile_rows
    part = Phase(phase.rows, tile_rows, inputs, tuple(steps), tuple(outputs))
    return Part(part, tuple(numbers), kept)


def _picks(step: Step) -> bool:
    return isinstance(step.op, Reduction) and step.op.ufunc is None


def _axis(frame: Shape, folded: set[int], parts: int) -> int | None:
    """Return the first axis that can be cut into so many parts, or else the longest one."""
    kept = [k for k in range(1, len(frame)) if k not in folded]
    return next(
        (k for k in kept if frame[k] >= parts), max(kept, key=lambda k: frame[k], default=None)
    )


def _columns(phase: Phase, frame: Shape, axis: int, width: int) -> Columns | None:
    """Return how the phase is cut along an axis of its frame, None where a step has another one."""
    first = len(phase.inputs)
    results = {given.slot - first for given in phase.outputs}
    steps: list[int | None] = []
    for k, step in enumerate(phase.steps):
        if k in results:
            if phase.shape_of(step.args[0]) != frame:
                return None
            steps.append(_place_in_result(step, axis))
        elif isinstance(step.op, Elementwise) and _lies_in(step.shape, frame):
            steps.append(_place(step.shape, frame, axis))
        else:
            return None
    for given in phase.inputs:
        if given.shape and not _lies_in(given.shape, frame[-len(given.shape) :]):
            return None
    inputs = tuple([_place(given.shape, frame, axis) for given in phase.inputs])
    return Columns(frame[axis], width, prod(frame[axis + 1 :]), inputs, tuple(steps))


def _lies_in(shape: Sequence[int], frame: Sequence[int]) -> bool:
    """Say whether an operand has the axes of the frame, some of them perhaps of extent 1."""
    return len(shape) == len(frame) and all(n in {1, m} for n, m in zip(shape, frame, strict=True))


def _place(shape: Shape, frame: Shape, axis: int) -> int | None:
    """Return which axis of an operand of the frame is cut, None where it has but one element."""
    mine = axis - (len(frame) - len(shape))
    return mine if mine >= 0 and shape[mine] == frame[axis] else None


def _place_in_result(step: Step, axis: int) -> int:
    """Return which axis of a fold's result is one of what it folds."""
    params: Any = step.params
    gone = [] if params.keepdims else [k for k in params.axis if k < axis]
    return axis - len(gone)
