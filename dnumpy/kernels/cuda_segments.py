"""A phase cut where a library computes a step: runs of steps for one kernel each, and lone steps.

A product of matrices is cuBLAS's to compute, and inverse functions of complex numbers are CuPy's;
what lies between them stays fused. Values that go from one part to another are arrays of as many
rows as are computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.kernels.cuda_lower import lower
from dnumpy.kernels.loops import resolved
from dnumpy.kernels.lower import Unsupported
from dnumpy.ops.families import ROWS, Contraction, Elementwise, Movement, folds_rows
from dnumpy.ops.table import MATMUL
from dnumpy.rewrite.phase import Access, Input, Output, Phase, Step

if TYPE_CHECKING:
    from collections.abc import Sequence

# elementwise ops that CuPy has for complex numbers, and kernels have not
BY_LIBRARY = frozenset({
    "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "exp2", "expm1", "log1p",
    "power", "float_power", "sign",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Segment:
    """Steps for one kernel: its phase, the slots that its inputs are, and what its outputs are.

    ``numbers`` are the steps' numbers in the whole phase.
    """

    phase: Phase
    reads: tuple[int, ...]
    gives: tuple[int, ...]
    numbers: tuple[int, ...]
    kinds: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Lone:
    """A step for the library: its slot, and how it looks."""

    slot: int
    step: Step


def segments(phase: Phase, kinds: tuple[Any, ...]) -> tuple[Segment | Lone, ...]:
    """Return the parts of a phase in order; raises Unsupported where a step is nobody's."""
    return _Cutter(phase, kinds).run()


class _Cutter:
    def __init__(self, phase: Phase, kinds: tuple[Any, ...]) -> None:
        self.phase, self.kinds = phase, kinds
        self.first = len(phase.inputs)
        self.partial = {o.slot for o in phase.outputs if o.partial}
        self.wanted = {o.slot for o in phase.outputs}

    def run(self) -> tuple[Segment | Lone, ...]:
        parts: list[list[int] | int] = []
        for slot, step in enumerate(self.phase.steps, start=self.first):
            if self._is_lone(slot, step):
                parts.append(slot)
            elif parts and isinstance(parts[-1], list):
                parts[-1].append(slot)
            else:
                parts.append([slot])
        found: list[Segment | Lone] = []
        for part in parts:
            if isinstance(part, int):
                found.append(Lone(part, self.phase.steps[part - self.first]))
            elif (made := self._segment(part)) is not None:
                lower(made.phase, made.kinds)
                found.append(made)
        return tuple(found)

    def _is_lone(self, slot: int, step: Step) -> bool:
        if isinstance(step.op, Contraction):
            if step.op is not MATMUL and not step.op.folds:
                msg = f"{step.op!r} inside a phase"
                raise Unsupported(msg)
            return True
        if isinstance(step.op, Movement):
            return False
        alone = self._segment([slot], alone=True)
        assert alone is not None
        try:
            lower(alone.phase, alone.kinds)
        except Unsupported:
            if self._has_library(step):
                return True
            raise
        return False

    def _has_library(self, step: Step) -> bool:
        op = step.op
        if not isinstance(op, Elementwise) or step.params or ROWS.get(op.name) is not op:
            return False
        return op.name in BY_LIBRARY and step.dtype.kind == "c"

    def _kind_of(self, slot: int) -> Any:
        return self.kinds[slot] if slot < self.first else self.phase.dtype_of(slot)

    def _read_later(self, slots: set[int]) -> set[int]:
        """Return which of some slots other steps read."""
        read = {
            arg
            for slot, step in enumerate(self.phase.steps, start=self.first)
            if slot not in slots
            for arg in step.args
        }
        return slots & read

    def _segment(self, slots: list[int], *, alone: bool = False) -> Segment | None:
        """Return the phase of some steps; None where nobody wants what they give."""
        phase, inside = self.phase, set(slots)
        reads = sorted(
            {a for s in slots for a in phase.steps[s - self.first].args if a not in inside}
        )
        place = {slot: k for k, slot in enumerate([*reads, *slots])}
        gives = slots if alone else sorted((inside & self.wanted) | self._read_later(inside))
        if not gives:
            return None
        steps = tuple(
            Step(s.op, tuple(place[a] for a in s.args), s.params, s.shape, s.dtype)
            for s in (phase.steps[slot - self.first] for slot in slots)
        )
        made = Phase(
            phase.rows,
            phase.tile_rows,
            tuple(map(self._input, reads)),
            steps,
            tuple(Output(place[s], self._folds(s)) for s in gives),
        )
        numbers = tuple(s - self.first for s in slots)
        kinds = tuple(map(self._kind_of, reads))
        return Segment(made, tuple(reads), tuple(gives), numbers, kinds)

    def _folds(self, slot: int) -> bool:
        step = self.phase.steps[slot - self.first]
        return folds_rows(step.op, step.params)

    def _input(self, slot: int) -> Input:
        if slot < self.first:
            return self.phase.inputs[slot]
        return Input(Access.ROWS, self.phase.shape_of(slot), self.phase.dtype_of(slot))


def compute(xp: Any, part: Lone, values: Sequence[Any], kinds: Sequence[Any], phase: Phase) -> Any:
    """Return what a lone step makes of rows, by the library ``xp``: for folds an entry per tile."""
    op: Any = part.step.op
    if isinstance(op, Contraction):
        left, right = values
        if not op.folds:
            return xp.matmul(left, right)
        return _tile_products(xp, left, right, phase.tile_rows)
    types = resolved(op.ufunc, tuple(kinds))
    assert types is not None
    given = [
        v.astype(t, copy=False) if hasattr(v, "astype") else xp.asarray(v, t)
        for v, t in zip(values, types, strict=False)
    ]
    with np.errstate(all="ignore"):
        return getattr(xp, op.ufunc.__name__)(*given).astype(part.step.dtype, copy=False)


def _tile_products(xp: Any, left: Any, right: Any, tile: int) -> Any:
    """Return ``left.T @ right`` of each tile of rows."""
    full, rest = divmod(len(left), tile)
    parts = []
    if full:
        stacks = [x[: full * tile].reshape(full, tile, *x.shape[1:]) for x in (left, right)]
        parts.append(xp.matmul(stacks[0].swapaxes(1, 2), stacks[1]))
    if rest:
        parts.append(xp.matmul(left[full * tile :].T, right[full * tile :])[None])
    return parts[0] if len(parts) == 1 else xp.concatenate(parts)
