"""Walks over expressions, all iterative."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from dnumpy import native
from dnumpy.expr.expr import Expr
from dnumpy.ops.table import VIEW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


def _references(args: tuple[object, ...]) -> int:
    base = args[0]
    return sys.getrefcount(base)


# what sys.getrefcount says of a local variable that a tuple holds, and nobody else: whether the
# call itself counts depends on the interpreter
REFERENCES = _references((object(),))


def _pending_in_order(roots: Iterable[Expr]) -> list[Expr]:
    """Return every pending Expr that the roots need, operands before users, each once."""
    done: dict[int, bool] = {}  # False while its operands are above it on the stack
    order: list[Expr] = []
    stack = [root for root in roots if root.value is None]
    stack.reverse()
    push = stack.append
    while stack:
        expr = stack[-1]
        key = id(expr)
        known = done.get(key)
        if known is None:
            height = len(stack)
            for arg in reversed(expr.args):
                if type(arg) is Expr and arg.value is None and id(arg) not in done:
                    push(arg)
            if len(stack) > height:
                done[key] = False
                continue
        stack.pop()
        if not known:
            done[key] = True
            order.append(expr)
    return order


def stored_operands(roots: Iterable[Expr]) -> dict[int, tuple[Expr, int]]:
    """Map the id of each computed Expr that the roots' pending part reads to it and how often."""
    found: dict[int, tuple[Expr, int]] = {}
    waiting = {id(root): root for root in roots if root.value is None}
    met = set(waiting)
    stack = list(waiting.values())
    push, add = stack.append, met.add
    while stack:
        for arg in stack.pop().args:
            if type(arg) is not Expr:
                continue
            key = id(arg)
            if arg.value is not None:
                known = found.get(key)
                found[key] = (arg, 1 if known is None else known[1] + 1)
            elif key not in met:
                add(key)
                push(arg)
    return found


def _held_bytes(waiting: Sequence[Expr]) -> int:
    """Return the bytes of computed operands that nothing but these pending Exprs holds."""
    operands = stored_operands(waiting)
    held = 0
    for expr, times in operands.values():
        if sys.getrefcount(expr) <= times + REFERENCES:
            held += expr.nbytes
    return held


# which of the two there are makes no difference but in time: see native/walk.c
pending_in_order: Callable[[Iterable[Expr]], list[Expr]] = (
    native.pending_in_order if native.built else _pending_in_order
)
held_bytes: Callable[[Sequence[Expr]], int] = native.held_bytes if native.built else _held_bytes


def base_of(expr: Expr) -> Expr:
    """Return the Expr whose memory ``expr`` is, or is a view of."""
    while expr.op is VIEW and expr.value is None:
        expr = expr.operands()[0]
    return expr


def is_live(expr: Expr) -> bool:
    """Say whether ``expr`` is the content of a live Buffer."""
    if expr.owner is None:
        return False
    buffer = expr.owner()
    return buffer is not None and buffer.expr is expr


def live_among(order: Sequence[Expr]) -> list[Expr]:
    """Return those that are the content of a live Buffer."""
    found = []
    for expr in order:
        owner = expr.owner
        if owner is not None:
            buffer = owner()
            if buffer is not None and buffer.expr is expr:
                found.append(expr)
    return found
