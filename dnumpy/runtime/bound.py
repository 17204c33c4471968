"""What the operands of stages are at home, and how results become theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnumpy import native
from dnumpy.expr.expr import Const, Expr
from dnumpy.expr.geometry import over, typed
from dnumpy.ops.table import VIEW

if TYPE_CHECKING:
    import numpy as np


def value_of(expr: Expr | Const) -> Any:
    """Return the bound value of an operand; a view of a stored base is a strided view."""
    if isinstance(expr, Const):
        return expr.value
    if expr.value is not None:
        return expr.value
    assert expr.op is VIEW, expr
    return over(expr.params, value_of(expr.args[0]))


def values_of(inputs: tuple[Expr | Const, ...]) -> list[Any]:
    """Return the bound values of a stage's operands."""
    if native.built:
        return native.values_of(inputs, value_of)
    return [value_of(e) if type(e) is not Expr or e.value is None else e.value for e in inputs]


def settle(expr: Expr, value: np.ndarray) -> None:
    """Store the result and let go of the operands, so that their memory can be reused."""
    expr.value = typed(value, expr.dtype)
    expr.args = ()
