"""A set of Exprs that forgets those that die."""

from __future__ import annotations

import weakref

from dnumpy.expr.expr import Expr


class Living(dict[int, weakref.ref[Expr]]):
    """Exprs by their ids, for as long as each lives.

    Whether there is any is asked before every evaluation: a ``WeakSet`` takes a microsecond to say.
    """

    def add(self, expr: Expr) -> None:
        """Take in one that lives."""
        key = id(expr)
        self[key] = weakref.ref(expr, lambda _: self.pop(key, None))

    def discard(self, expr: Expr) -> None:
        """Leave one out, if it is here."""
        self.pop(id(expr), None)

    def has(self, expr: Expr) -> bool:
        """Say whether one is here."""
        return id(expr) in self
