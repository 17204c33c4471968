"""Floating-point faults found while running, given back as NumPy's warnings at the user's line."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

from dnumpy.ops.families import Elementwise, Reduction

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dnumpy.expr.expr import Expr

_SETTING = {
    "divide by zero": "divide",
    "overflow": "over",
    "underflow": "under",
    "invalid value": "invalid",
}


class StepFault(NamedTuple):
    """What happened in which op, recorded where."""

    kind: str
    name: str
    file: str
    line: int


def collect(steps: Sequence[Expr], faults: Iterable[tuple[int, str]]) -> list[StepFault]:
    """Return the faults that the error state at recording asks to warn about."""
    found: list[StepFault] = []
    for number, kind in sorted(faults):
        expr = steps[number]
        origin = expr.origin
        if origin is None or dict(origin.errors).get(_SETTING.get(kind, "")) != "warn":
            continue
        found.append(StepFault(kind, _name(expr), origin.file, origin.line))
    return found


def told_of(steps: Sequence[Expr]) -> frozenset[str]:
    """Return the kinds of faults that any step's error state at recording does not ignore."""
    states = {expr.origin.errors for expr in steps if expr.origin is not None}
    return frozenset(kind for state in states for kind, told in state if told != "ignore")


def _name(expr: Expr) -> str:
    op = expr.op
    if isinstance(op, Reduction):
        return "reduce"
    if isinstance(op, Elementwise) and op.ufunc is not None:
        return op.ufunc.__name__
    return op.name


def warn(faults: Iterable[StepFault]) -> None:
    """Emit each fault once, with NumPy's text, at the line that recorded it."""
    for fault in dict.fromkeys(faults):
        text = f"{fault.kind} encountered in {fault.name}"
        warnings.warn_explicit(text, RuntimeWarning, fault.file, fault.line)
