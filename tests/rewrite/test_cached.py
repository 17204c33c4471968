"""Stages found again are those that cutting would give."""

from __future__ import annotations

import numpy as np

from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.ops.families import elementwise_of
from dnumpy.rewrite.cached import structure

DTYPE = np.dtype(float)


def subtract(*args: Expr | Const) -> tuple[object, ...]:
    expr = make(elementwise_of(np.subtract), args, (), (3,), DTYPE)
    return structure([expr], [expr])


def test_two_programs_are_alike_only_with_their_constants_in_the_same_places() -> None:
    x = leaf(np.arange(3.0), (3,), DTYPE)
    y = leaf(np.ones(3), (3,), DTYPE)
    assert subtract(x, Const(2.0)) == subtract(y, Const(3.0))
    assert subtract(x, Const(2.0)) != subtract(Const(2.0), x)
    assert subtract(x, y) != subtract(x, x)
