"""Walks over expressions, all iterative."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dnumpy.expr.expr import Expr


def pending_in_order(roots: Iterable[Expr]) -> list[Expr]:
    """Return every pending Expr that the roots need, operands before users, each once."""
    done: set[int] = set()
    order: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(root, False) for root in reversed(list(roots))]
    while stack:
        expr, operands_done = stack.pop()
        if id(expr) in done or expr.value is not None:
            continue
        if operands_done:
            done.add(id(expr))
            order.append(expr)
            continue
        stack.append((expr, True))
        stack.extend((arg, False) for arg in reversed(expr.operands()) if id(arg) not in done)
    return order
