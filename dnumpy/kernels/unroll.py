"""Phase -> Phase without the short trailing axes that are folded away beside others.

``((points[:, None, :] - centres) ** 2).sum(axis=2)`` folds each run of a few coordinates, and
keeps the axis of the centres. Every value that has the coordinates becomes one value per
coordinate, a *lane*, and the fold becomes arithmetic between lanes: what is left has rows of one
shape. Lanes of stored arrays are views.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.kernels import sums
from dnumpy.ops.families import Elementwise, Leaf, Reduction, lookup
from dnumpy.ops.table import CAST, FULL, WHERE
from dnumpy.rewrite.phase import Access, Input, Output, Phase, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Shape

_MOST_STEPS = 256  # of the unrolled phase: its text is compiled
_FOLDS = frozenset({"add", "multiply", "maximum", "minimum", "logical_or", "logical_and"})

Lane = tuple[int, ...]  # indices along the unrolled axes


class Unrolled(NamedTuple):
    """A phase, and for each of its inputs: which input of the original, and which part of it.

    That is a lane, or the real or imaginary part. ``targets`` says the same of the outputs, where
    they are not those of the original.
    """

    phase: Phase
    sources: tuple[tuple[int, Lane | str | None], ...]
    targets: tuple[tuple[int, str | None], ...] | None = None

    def values(self, given: Sequence[Any]) -> list[Any]:
        """Return what the phase reads, as views of what the original phase is given."""
        return [_part(given[k], lane) for k, lane in self.sources]

    def outs(self, given: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Return where the phase writes, as views of where the original phase does."""
        if self.targets is None:
            return given
        return [_part(given[k], part) for k, part in self.targets]


def _part(value: Any, part: Lane | str | None) -> Any:
    if part is None:
        return value
    if isinstance(part, str):
        return getattr(np.asarray(value), part)[()]
    return value[(..., *part)]


class _Refused(Exception):  # noqa: N818 - an answer, not an error
    """The phase cannot be unrolled."""


def unrolled(phase: Phase) -> Unrolled:
    """Return an equal phase without short folded axes, ``phase`` itself where there are none."""
    same = Unrolled(phase, tuple((k, None) for k in range(len(phase.inputs))))
    tails = {tail for step in phase.steps if (tail := _tail(phase, step))}
    if len(tails) != 1:
        return same
    try:
        return _Unrolling(phase, tails.pop()).run()
    except _Refused:
        return same


def _tail(phase: Phase, step: Step) -> Shape:
    """Return the extents that ``step`` folds, if it is a fold to unroll."""
    if not isinstance(step.op, Reduction) or step.op.ufunc is None:
        return ()
    shape, params = phase.shape_of(step.args[0]), _params(step)
    if params.masked or not sums.folds_short_axes(shape, params.axis):
        return ()
    return shape[-len(params.axis) :]


def _params(step: Step) -> Any:
    return step.params


class _Unrolling:
    def __init__(self, phase: Phase, tail: Shape) -> None:
        self.phase = phase
        self.tail = tail
        self.first = len(phase.inputs)
        self.lanes = list(np.ndindex(*tail))
        self.inputs: list[Input] = []
        self.sources: list[tuple[int, Lane | None]] = []
        self.steps: list[Step] = []
        self.slots: dict[tuple[int, Lane | None], int] = {}  # of inputs, then of steps
        self.within = self._within()
        self._check_axes()

    def run(self) -> Unrolled:
        """Return the unrolled phase; new inputs are numbered from -1 down until all are known."""
        for slot, step in enumerate(self.phase.steps, start=self.first):
            if _tail(self.phase, step):
                self._fold(slot, step)
            elif slot in self.within:
                self._spread(slot, step)
            else:
                self._keep(slot, step)
            if len(self.steps) > _MOST_STEPS:
                raise _Refused
        count = len(self.inputs)
        steps = tuple(
            replace(s, args=tuple(count + a if a >= 0 else -1 - a for a in s.args))
            for s in self.steps
        )
        outputs = []
        for output in self.phase.outputs:
            if (output.slot, None) not in self.slots:
                raise _Refused
            outputs.append(Output(count + self.slots[output.slot, None], output.partial))
        phase = Phase(
            self.phase.rows, self.phase.tile_rows, tuple(self.inputs), steps, tuple(outputs)
        )
        return Unrolled(phase, tuple(self.sources))

    def _within(self) -> set[int]:
        """Return the slots of steps that have the unrolled axes, be it with extent 1."""
        found: set[int] = set()
        before = -1
        while len(found) != before:
            before = len(found)
            for slot, step in enumerate(self.phase.steps, start=self.first):
                if _tail(self.phase, step):
                    found.add(step.args[0])
                    if _params(step).keepdims:
                        found.add(slot)
                elif isinstance(step.op, Elementwise) and not found.isdisjoint((slot, *step.args)):
                    found.update(a for a in (slot, *step.args) if a >= self.first)
                    found.add(slot)
            found = {slot for slot in found if slot >= self.first}
        return found

    def _check_axes(self) -> None:
        """Refuse values with other axes among those with the unrolled ones."""
        folds = {k: s for k, s in enumerate(self.phase.steps, self.first) if _tail(self.phase, s)}
        axes = {len(self.phase.shape_of(s.args[0])) for s in folds.values()}
        axes |= {len(self.phase.shape_of(slot)) for slot in self.within}
        if len(axes) > 1 or any(
            k in self.within and not _params(s).keepdims for k, s in folds.items()
        ):
            raise _Refused

    def _has_lanes(self, shape: Shape) -> bool:
        last = shape[-len(self.tail) :]
        if last == self.tail:
            return True
        if prod(last) != 1:
            raise _Refused
        return False

    def _without(self, shape: Shape) -> Shape:
        return shape[: -len(self.tail)]

    def _input(self, k: int, lane: Lane | None, shape: Shape) -> int:
        key = (k, lane)
        if key not in self.slots:
            given = self.phase.inputs[k]
            self.inputs.append(replace(given, shape=shape))
            self.sources.append(key)
            self.slots[key] = -len(self.inputs)
        return self.slots[key]

    def _plain(self, slot: int) -> int:
        """Return a value outside of the unrolled axes."""
        if slot < self.first:
            return self._input(slot, None, self.phase.inputs[slot].shape)
        if slot in self.within:
            raise _Refused
        return self.slots[slot, None]

    def _lane_of(self, slot: int, lane: Lane) -> int:
        """Return one lane of a value with the unrolled axes."""
        if slot >= self.first:
            if slot not in self.within:
                raise _Refused
            has = self._has_lanes(self.phase.shape_of(slot))
            return self.slots[slot, lane if has else None]
        given = self.phase.inputs[slot]
        if given.access is Access.CONST or not given.shape:
            return self._input(slot, None, given.shape)
        if given.access is Access.ROWS and len(given.shape) <= len(self.tail):
            raise _Refused
        if not self._has_lanes(given.shape):
            lane = (0,) * min(len(self.tail), len(given.shape))
        return self._input(slot, lane, self._without(given.shape))

    def _add(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1

    def _keep(self, slot: int, step: Step) -> None:
        args = tuple(self._plain(a) for a in step.args)
        self.slots[slot, None] = self._add(replace(step, args=args))

    def _spread(self, slot: int, step: Step) -> None:
        """Compute a step once per lane, or once if it is the same in all."""
        if step.op is FULL:
            shape = self._without(step.shape)
            at = self._add(replace(step, shape=shape))
            for lane in (*self.lanes, None):
                self.slots[slot, lane] = at
            return
        if isinstance(step.op, Leaf) or not isinstance(step.op, Elementwise):
            raise _Refused
        self._check_call(step, step.op)
        has = self._has_lanes(step.shape)
        for lane in self.lanes if has else self.lanes[:1]:
            args = tuple(self._lane_of(a, lane) for a in step.args)
            made = replace(step, args=args, shape=self._without(step.shape))
            self.slots[slot, lane if has else None] = self._add(made)

    def _check_call(self, step: Step, op: Elementwise) -> None:
        """Refuse calls of NumPy's loops with operands that NumPy would broadcast inside a row."""
        in_registers = bool(op.scalar) or op is CAST or op is WHERE
        if not in_registers and any(
            a < self.first or self.phase.shape_of(a) != step.shape for a in step.args
        ):
            raise _Refused

    def _fold(self, slot: int, step: Step) -> None:
        """Fold the lanes of an operand, in the order that ``sums`` prescribes."""
        assert isinstance(step.op, Reduction)
        ufunc: Any = step.op.ufunc
        name = ufunc.__name__
        dtype = self._fold_dtype(step, ufunc)
        shape = self._without(self.phase.shape_of(step.args[0]))
        if name not in _FOLDS or _params(step).initial is not None:
            raise _Refused
        cast = self._dtype(step.args[0]) != dtype
        parts = [self._lane_of(step.args[0], lane) for lane in self.lanes]
        parts = [  # an input too is copied: lanes do not lie as NumPy's loops would read them
            self._add(Step(CAST, (p,), (), shape, dtype)) if cast or p < 0 else p for p in parts
        ]

        def both(a: int, b: int) -> int:
            return self._add(Step(lookup(name), (a, b), (), shape, dtype))

        if name == "add" and dtype.kind == "f":
            ones = (self.phase.rows, *[1] * (len(shape) - 1))
            zero = self._add(Step(FULL, (), (0.0,), ones, dtype))
            self.slots[slot, None] = both(sums.fold_short(parts, both), zero)
        else:
            self.slots[slot, None] = sums.fold_in_turn(parts, both)

    def _dtype(self, slot: int) -> np.dtype:
        try:
            return self.phase.dtype_of(slot)
        except ValueError:
            raise _Refused from None

    def _fold_dtype(self, step: Step, ufunc: np.ufunc) -> np.dtype:
        """Return the one dtype in which NumPy folds."""
        wanted = _params(step).dtype
        signature: Any = {} if wanted is None else {"signature": (wanted, None, None)}
        operand = self._dtype(step.args[0])
        found = ufunc.resolve_dtypes((None, operand, None), reduction=True, **signature)
        logical = ufunc in {np.logical_or, np.logical_and} and step.dtype == np.dtype(bool)
        if not logical and not found[0] == found[1] == found[2] == step.dtype:
            raise _Refused
        return step.dtype
