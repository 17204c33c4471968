"""What is known of the values of integers before they are computed: a least and a greatest bound.

Rules of interval arithmetic over the ops that make indices and labels; what no rule knows is
bounded by its dtype. Ends that were computed are remembered as long as their Expr lives and is
pending or on nodes.
"""

from __future__ import annotations

from functools import reduce
from math import prod
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from dnumpy.expr.expr import Const, Expr

if TYPE_CHECKING:
    from collections.abc import Callable

DEEPEST = 16  # steps of an expression that are looked through


class Bounds(NamedTuple):
    """``low <= value <= high`` for every value."""

    low: int
    high: int


_found: WeakKeyDictionary[Expr, Bounds] = WeakKeyDictionary()


def note(expr: Expr, low: int, high: int) -> None:
    """Remember the least and the greatest value of what the Expr denotes."""
    _found[expr] = Bounds(low, high)


def noted(expr: Expr) -> Bounds | None:
    """Return the ends that were computed, if they were and still hold.

    What lies in this process may have been written to since.
    """
    return None if isinstance(expr.value, np.ndarray) else _found.get(expr)


def bounds(expr: Expr | Const, depth: int = 0) -> Bounds | None:
    """Return bounds of integers or bools; None for other dtypes, and for what wraps around."""
    if isinstance(expr, Const):
        value = expr.value
        whole = isinstance(value, int | np.integer | np.bool_)
        return Bounds(int(value), int(value)) if whole else None
    known = noted(expr)
    if known is not None:
        return known
    limits = _limits(expr.dtype)
    rule = _RULES.get(expr.op.name)
    if limits is None or rule is None or not expr.args or depth >= DEEPEST:
        return limits
    found = rule(expr, depth + 1)
    if found is None or found.low < limits.low or found.high > limits.high:
        return limits
    return found


def _limits(dtype: np.dtype) -> Bounds | None:
    if dtype.kind == "b":
        return Bounds(0, 1)
    if dtype.kind not in "iu":
        return None
    info = np.iinfo(dtype)
    return Bounds(int(info.min), int(info.max))


def _each(expr: Expr, depth: int) -> list[Bounds] | None:
    found = [bounds(arg, depth) for arg in expr.args]
    return [b for b in found if b is not None] if None not in found else None


def _position(expr: Expr, _depth: int) -> Bounds | None:
    shape, axes = expr.operands()[0].shape, expr.params.axis  # type: ignore[attr-defined]
    return Bounds(0, prod(shape[k] for k in axes) - 1)


def _same(expr: Expr, depth: int) -> Bounds | None:
    base = expr.operands()[0]
    same_kind = expr.op.name != "view" or base.dtype == expr.dtype
    return bounds(base, depth) if same_kind else None


def _by_pairs(join: Callable[[Bounds, Bounds], Bounds | None]) -> Callable[..., Bounds | None]:
    def rule(expr: Expr, depth: int) -> Bounds | None:
        found = _each(expr, depth)
        return None if found is None else join(*found)

    return rule


def _products(a: Bounds, b: Bounds) -> Bounds:
    ends = [x * y for x in a for y in b]
    return Bounds(min(ends), max(ends))


def _remainder(a: Bounds, b: Bounds) -> Bounds | None:
    if b.low <= 0:
        return None
    inside = a.low >= 0 and a.high < b.low
    return a if inside else Bounds(0, b.high - 1)


def _quotient(a: Bounds, b: Bounds) -> Bounds | None:
    if b.low <= 0:
        return None
    ends = [x // y for x in a for y in b]
    return Bounds(min(ends), max(ends))


def _one_of(expr: Expr, depth: int) -> Bounds | None:
    found = [bounds(arg, depth) for arg in expr.args[1:]]
    known = [b for b in found if b is not None]
    if len(known) < len(found):
        return None
    return reduce(lambda a, b: Bounds(min(a.low, b.low), max(a.high, b.high)), known)


def _clipped(expr: Expr, depth: int) -> Bounds | None:
    found = _each(expr, depth)
    if found is None or len(found) != len(expr.args) or len(found) != 3:
        return None
    x, low, high = found
    ends = [min(max(end, low.low), high.high) for end in x]
    return Bounds(min(ends[0], high.low), max(ends[1], low.high))


_RULES: dict[str, Callable[[Expr, int], Bounds | None]] = {
    "argmin": _position,
    "argmax": _position,
    "cast": _same,
    "copy": _same,
    "view": _same,
    "where": _one_of,
    "clip": _clipped,
    "add": _by_pairs(lambda a, b: Bounds(a.low + b.low, a.high + b.high)),
    "subtract": _by_pairs(lambda a, b: Bounds(a.low - b.high, a.high - b.low)),
    "multiply": _by_pairs(_products),
    "minimum": _by_pairs(lambda a, b: Bounds(min(a.low, b.low), min(a.high, b.high))),
    "maximum": _by_pairs(lambda a, b: Bounds(max(a.low, b.low), max(a.high, b.high))),
    "remainder": _by_pairs(_remainder),
    "floor_divide": _by_pairs(_quotient),
}
