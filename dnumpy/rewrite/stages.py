"""What a cut gives: phases bound to the Exprs that they read and give, and whole ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dnumpy.expr.expr import Expr
from dnumpy.expr.walk import base_of
from dnumpy.ops.table import UPDATE
from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dnumpy.expr.expr import Const
    from dnumpy.rewrite.phase import Phase


class FusedStage(NamedTuple):
    """A phase bound to the Exprs it reads and gives.

    ``placed`` maps an output's position to the UPDATE whose region that output fills, or to the
    padded copy whose inside it is: it may be computed straight into that array. Of several UPDATEs
    of one array each is the next one's base, and comes before it. ``steps`` are the Exprs of the
    phase's steps.
    """

    phase: Phase
    inputs: tuple[Expr | Const, ...]
    outputs: tuple[Expr, ...]
    placed: dict[int, Expr]
    steps: tuple[Expr, ...]

    def regions(self) -> list[list[int]]:
        """Return the positions of what fills regions of one array, for each of these arrays."""
        found: dict[int, list[int]] = {}
        for k, whole in self.placed.items():
            if whole.op is UPDATE:
                found[id(whole)] = [*found.pop(id(whole.args[0]), []), k]
        return list(found.values())

    def passes_on(self) -> bool:
        """Say whether several regions of one array are filled: only the last UPDATE is a stage."""
        return any(len(numbers) > 1 for numbers in self.regions())

    def bases(self) -> list[Expr]:
        """Return the arrays of which regions are filled."""
        whole = [self.placed[numbers[0]].args[0] for numbers in self.regions()]
        return [base for base in whole if isinstance(base, Expr)]

    def read_again(self) -> float:
        """Return the bytes of a row that are read from regions which overlap, but for the first.

        They are in caches by then: shifted slices of an array come from memory as one. Regions
        overlap where they have more together than the array that they are of.
        """
        if len(self.inputs) < 2:
            return 0.0
        together: dict[int, int] = {}
        held: dict[int, int] = {}
        for read, arg in zip(self.phase.inputs, self.inputs, strict=True):
            if read.access is Access.ROWS and isinstance(arg, Expr):
                base = base_of(arg)
                together[id(base)] = together.get(id(base), 0) + arg.nbytes
                held[id(base)] = base.nbytes
        beyond = sum(max(0, nbytes - held[key]) for key, nbytes in together.items())
        return beyond / max(self.phase.rows, 1)


class WholeStage(NamedTuple):
    """One op on whole operands."""

    expr: Expr


Stage = FusedStage | WholeStage


def owners_of(stages: Iterable[Stage]) -> list[Expr]:
    """Return the arrays that the stages read, each once: through views, those that own memory."""
    found: dict[int, Expr] = {}
    for stage in stages:
        args = stage.inputs if isinstance(stage, FusedStage) else stage.expr.args
        for arg in args:
            if isinstance(arg, Expr):
                owner = base_of(arg)
                found[id(owner)] = owner
    return list(found.values())
