"""Recipe: an expression as flat plain data, so that it can travel to another process.

Pickling nested operands would recurse as deep as the expression; a recipe is a list.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dnumpy.expr.expr import Const, Expr
from dnumpy.expr.walk import pending_in_order

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np

    from dnumpy.expr.expr import Params, Shape
    from dnumpy.ops.families import Op


@dataclass(frozen=True, slots=True)
class Line:
    """One Expr; operands are constants or numbers of earlier lines, ``value`` a leaf's data."""

    op: Op
    args: tuple[int | Const, ...]
    params: Params
    shape: Shape
    dtype: np.dtype
    value: np.ndarray | None


@dataclass(frozen=True, slots=True)
class Recipe:
    """The lines of an expression, operands before users; the last one is the result."""

    lines: tuple[Line, ...]

    def follow(self) -> Expr:
        """Return the expression in this process."""
        made: list[Expr] = []
        for line in self.lines:
            args = tuple(made[a] if isinstance(a, int) else a for a in line.args)
            expr = Expr(line.op, args, line.params, line.shape, line.dtype)
            expr.value = line.value
            made.append(expr)
        return made[-1]


def write_down(root: Expr, at_home: Callable[[Any], np.ndarray]) -> Recipe:
    """Return the recipe of ``root``; ``at_home`` brings stored values into this process."""
    numbers: dict[int, int] = {}
    lines: list[Line] = []

    def enter(expr: Expr, value: np.ndarray | None) -> None:
        args = () if value is not None else expr.args
        known = tuple(a if isinstance(a, Const) else numbers[id(a)] for a in args)
        numbers[id(expr)] = len(lines)
        lines.append(Line(expr.op, known, expr.params, expr.shape, expr.dtype, value))

    if root.value is not None:
        enter(root, at_home(root.value))
    for expr in pending_in_order([root]):
        for arg in expr.operands():
            if arg.value is not None and id(arg) not in numbers:
                enter(arg, at_home(arg.value))
        enter(expr, None)
    return Recipe(tuple(lines))
