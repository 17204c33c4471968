"""What a cut gives: phases bound to the Exprs that they read and give, and whole ops."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dnumpy.expr.expr import Expr
from dnumpy.expr.walk import base_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dnumpy.expr.expr import Const
    from dnumpy.rewrite.phase import Phase


class FusedStage(NamedTuple):
    """A phase bound to the Exprs it reads and gives.

    ``placed`` maps an output's position to the UPDATE whose region that output fills, or to the
    padded copy whose inside it is: it may be computed straight into that array. ``steps`` are the
    Exprs of the phase's steps.
    """

    phase: Phase
    inputs: tuple[Expr | Const, ...]
    outputs: tuple[Expr, ...]
    placed: dict[int, Expr]
    steps: tuple[Expr, ...]


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
