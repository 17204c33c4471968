"""Phase: the program that one kernel runs over a range of rows.

Values are numbered slots: the inputs first, then one per step. A *row value* has one entry along
axis 0 for each row of the phase. Tiles of ``tile_rows`` rows lie on a grid that starts at row 0
and does not depend on the partition, so that partial results, and with them every bit of a
reduction, are the same on one node and on sixteen (the tile is the granule of summation).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from dnumpy.ops.families import (
    Contraction,
    Elementwise,
    Leaf,
    Movement,
    Op,
    Random,
    Reduction,
    folds_rows,
)

if TYPE_CHECKING:
    import numpy as np

    from dnumpy.expr.expr import Params, Shape

_SHOWN = 6  # op names in a title


class Access(Enum):
    """What a phase reads of an input while it computes rows ``lo:hi``."""

    ROWS = "rows"  # entries lo:hi of axis 0
    WHOLE = "whole"  # all of it
    CONST = "const"  # a scalar, as the user wrote it


class ReduceParams(NamedTuple):
    """Parameters of a reduction: ``axis`` normalised, ``initial`` None for NumPy's default."""

    axis: tuple[int, ...]
    keepdims: bool
    dtype: np.dtype | None
    initial: object
    masked: bool


@dataclass(frozen=True, slots=True)
class Input:
    """A value that the phase reads; shape and dtype are those of the whole array."""

    access: Access
    shape: Shape
    dtype: np.dtype | None


@dataclass(frozen=True, slots=True)
class Step:
    """One op over slots; ``shape`` is that of the whole result."""

    op: Op
    args: tuple[int, ...]
    params: Params
    shape: Shape
    dtype: np.dtype


@dataclass(frozen=True, slots=True)
class Output:
    """A slot that leaves the phase: as rows, or ``partial``: one entry per tile, to be folded."""

    slot: int
    partial: bool


@dataclass(frozen=True, slots=True, eq=True)
class Phase:
    """Compute ``outputs`` for any range of ``rows``. Hashable: equal programs are equal phases."""

    rows: int
    tile_rows: int
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    outputs: tuple[Output, ...]
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __hash__(self) -> int:
        """Return the hash, which is computed once: phases are keys of caches."""
        if not self._hash:
            parts = (self.rows, self.tile_rows, self.inputs, self.steps, self.outputs)
            object.__setattr__(self, "_hash", hash(parts))
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the hash, which differs between processes."""
        return Phase, (self.rows, self.tile_rows, self.inputs, self.steps, self.outputs)

    @property
    def tiles(self) -> int:
        """Number of tiles on the grid."""
        return -(-self.rows // self.tile_rows)

    def shape_of(self, slot: int) -> Shape:
        """Return the whole shape of a slot."""
        first = len(self.inputs)
        return self.inputs[slot].shape if slot < first else self.steps[slot - first].shape

    def dtype_of(self, slot: int) -> np.dtype:
        """Return the dtype of a slot; constants have none and raise ValueError."""
        first = len(self.inputs)
        dtype = self.inputs[slot].dtype if slot < first else self.steps[slot - first].dtype
        if dtype is None:
            msg = f"%{slot} is a constant: its dtype depends on what it meets"
            raise ValueError(msg)
        return dtype

    def is_array(self, slot: int) -> bool:
        """Say whether a slot is an array and not a constant."""
        return slot >= len(self.inputs) or self.inputs[slot].access is not Access.CONST

    def traffic_bytes(self) -> int:
        """Return the bytes that one run reads from and writes to main memory."""
        return _traffic_bytes(self)

    def extent_bytes(self) -> int:
        """Return the bytes whose size says how long a run takes: traffic, and what it draws."""
        return _extent_bytes(self)

    @property
    def multiplies(self) -> bool:
        """Whether a step is a product of matrices, which a library computes."""
        return _multiplies(self)

    def flops(self, step: Step) -> float:
        """Return the operations of a product's multiply-adds over all rows."""
        if folds_rows(step.op, step.params):
            return 2.0 * self.rows * prod(step.shape)
        return 2.0 * prod(step.shape) * self.shape_of(step.args[0])[-1]

    def title(self) -> str:
        """Return the names of the ops, a few of them."""
        return _title(self)

    def partial_shape(self, step: Step) -> Shape:
        """Return the shape of one tile's partial result: the operand's other axes, folded to 1."""
        if isinstance(step.op, Contraction):
            return step.shape
        operand = self.shape_of(step.args[0])
        axes = step.params.axis  # type: ignore[attr-defined]
        return tuple(1 if k in axes else n for k, n in enumerate(operand) if k)

    def __str__(self) -> str:
        """Return one line per step."""
        head = f"phase over {self.rows} rows, tiles of {self.tile_rows}"
        first = len(self.inputs)
        reads = [
            f"  %{i} = {x.access.value} {x.dtype}{list(x.shape)}" for i, x in enumerate(self.inputs)
        ]
        does = [
            f"  %{i} = {s.op.name}({', '.join(f'%{a}' for a in s.args)}) {s.dtype}{list(s.shape)}"
            for i, s in enumerate(self.steps, start=first)
        ]
        gives = "  -> " + ", ".join(
            f"%{o.slot}{' partial' if o.partial else ''}" for o in self.outputs
        )
        return "\n".join([head, *reads, *does, gives])


# looked at whenever a phase runs again

_MOST = 4096


@lru_cache(maxsize=_MOST)
def _multiplies(phase: Phase) -> bool:
    return any(isinstance(step.op, Contraction) for step in phase.steps)


@lru_cache(maxsize=_MOST)
def _traffic_bytes(phase: Phase) -> int:
    total = 0
    for given in phase.inputs:
        if given.dtype is not None:
            total += prod(given.shape) * given.dtype.itemsize
    for output in phase.outputs:
        if not output.partial:
            total += prod(phase.shape_of(output.slot)) * phase.dtype_of(output.slot).itemsize
    return total


@lru_cache(maxsize=_MOST)
def _extent_bytes(phase: Phase) -> int:
    given = {output.slot for output in phase.outputs}
    drawn = [
        prod(step.shape) * step.dtype.itemsize
        for slot, step in enumerate(phase.steps, start=len(phase.inputs))
        if isinstance(step.op, Random) and slot not in given
    ]
    return phase.traffic_bytes() + sum(drawn)


@lru_cache(maxsize=_MOST)
def _title(phase: Phase) -> str:
    names = [s.op.name for s in phase.steps]
    if len(names) > _SHOWN:
        names = [*names[: _SHOWN - 1], f"{len(names) - _SHOWN + 1} more"]
    return "+".join(names)


@lru_cache(maxsize=_MOST)
def likeness(phase: Phase) -> str:
    """Return a name that phases share which differ in extents alone, the same in every process."""
    inputs = [f"{given.access.value} {given.dtype} {len(given.shape)}" for given in phase.inputs]
    steps = [f"{step.op.name} {step.args} {step.dtype} {len(step.shape)}" for step in phase.steps]
    outputs = [f"{output.slot} {output.partial}" for output in phase.outputs]
    text = "\n".join((*inputs, *steps, *outputs))
    from hashlib import blake2b  # 2 ms to load

    return blake2b(text.encode(), digest_size=16).hexdigest()


def verify(phase: Phase) -> None:
    """Raise ValueError naming the first invariant that ``phase`` breaks."""
    first = len(phase.inputs)
    if phase.rows < 1 or phase.tile_rows < 1:
        raise _broken(phase, "a phase has at least one row and one row per tile")
    for slot, step in enumerate(phase.steps, start=first):
        if any(arg >= slot for arg in step.args):
            raise _broken(phase, f"%{slot} reads a slot that is not yet computed")
        if not isinstance(step.op, (Elementwise, Reduction, Movement, Leaf, Random, Contraction)):
            raise _broken(phase, f"%{slot}: {step.op!r} cannot run by rows")
        if isinstance(step.op, Contraction) and not _contracts_rows(phase, step):
            raise _broken(phase, f"%{slot}: a product needs rows of its first operand")
    partial = {o.slot for o in phase.outputs if o.partial}
    for slot, step in enumerate(phase.steps, start=first):
        folds = folds_rows(step.op, step.params)
        if folds != (slot in partial):
            raise _broken(
                phase, f"%{slot}: a reduction over rows, and nothing else, is a partial output"
            )
        if not folds and step.shape[0] != phase.rows:
            raise _broken(phase, f"%{slot} is no row value: shape {step.shape}")
        if partial.intersection(step.args):
            raise _broken(phase, f"%{slot} reads a partial result inside the phase")
    _verify_outputs(phase)


def _verify_outputs(phase: Phase) -> None:
    first = len(phase.inputs)
    for slot in {o.slot for o in phase.outputs if o.slot >= first}:
        if isinstance(phase.steps[slot - first].op, Movement):
            raise _broken(phase, f"%{slot} leaves the phase and is a view: nobody writes it")


def _contracts_rows(phase: Phase, step: Step) -> bool:
    """Say whether a product reads rows of the operands whose rows it must have."""
    by_rows = [_has_rows(phase, arg) for arg in step.args]
    return all(by_rows) if folds_rows(step.op, step.params) else by_rows[0]


def _has_rows(phase: Phase, slot: int) -> bool:
    first = len(phase.inputs)
    return slot >= first or phase.inputs[slot].access is Access.ROWS


def _broken(phase: Phase, what: str) -> ValueError:
    return ValueError(f"invalid phase: {what}\n{phase}")
