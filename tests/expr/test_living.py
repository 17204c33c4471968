"""A set of Exprs forgets what dies."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from dnumpy.expr.expr import leaf
from dnumpy.expr.living import Living

pytestmark = pytest.mark.modeless("nothing here is of a mode")


def test_what_dies_is_forgotten_and_what_is_left_out_stays_out():
    found = Living()
    values = [np.zeros(3) for _ in range(4)]
    exprs = [leaf(v, v.shape, v.dtype) for v in values]
    assert not found
    for expr in (*exprs, exprs[0]):
        found.add(expr)
    assert len(found) == 4
    found.discard(exprs[1])
    found.discard(exprs[1])
    assert [found.has(e) for e in exprs] == [True, False, True, True]
    found.add(exprs[1])
    del exprs[1:]
    expr = None
    gc.collect()
    assert len(found) == 1
    assert found.has(exprs[0])
    assert expr is None
