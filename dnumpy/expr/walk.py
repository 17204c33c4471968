"""Walks over expressions, all iterative."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnumpy.expr.expr import Expr

if TYPE_CHECKING:
    from collections.abc import Iterable


def pending_in_order(roots: Iterable[Expr]) -> list[Expr]:
    """Return every pending Expr that the roots need, operands before users, each once."""
    done: set[int] = set()
    order: list[Expr] = []
    stack: list[tuple[Expr, bool]] = [(root, False) for root in reversed(list(roots))]
    push = stack.append
    while stack:
        expr, operands_done = stack.pop()
        key = id(expr)
        if key in done or expr.value is not None:
            continue
        if not operands_done:
            push((expr, True))
            for arg in reversed(expr.args):
                if type(arg) is Expr and arg.value is None and id(arg) not in done:
                    push((arg, False))
            continue
        done.add(key)
        order.append(expr)
    return order
