"""Flags raised before a loop that forgets them are told of."""

from __future__ import annotations

import numpy as np
import pytest

from dnumpy.expr.expr import Const
from dnumpy.kernels.chain import ChainKernel
from dnumpy.kernels.flags import ALL_FLAGS, fenv, forgets
from dnumpy.kernels.loops import inner_loop
from dnumpy.kernels.numba import NumbaKernel
from dnumpy.kernels.tiled import TiledKernel
from tests.kernels import phases as p
from tests.kernels.multiplied import product
from tests.kernels.test_numba import only, stored

ONE = ["tanh", "absolute", "negative", "sign", "isnan", "isinf", "isfinite", "signbit", "rint"]
TWO = ["maximum", "minimum", "fmax", "fmin", "less", "equal", "logical_and"]


def test_a_loop_is_known_by_what_it_leaves_of_the_flags() -> None:
    doubles = (np.dtype("f8"), np.dtype("f8"))
    forgetful, faithful = inner_loop(np.tanh, doubles), inner_loop(np.rint, doubles)
    assert forgetful is not None
    assert faithful is not None
    for loop in (forgetful, faithful):
        fenv().feclearexcept(ALL_FLAGS)
        assert forgets(loop) is (loop is forgetful)
        assert not fenv().fetestexcept(ALL_FLAGS)


@pytest.mark.parametrize("code", ["f8", "f4"])
@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_what_was_raised_before_it_is_told_as_tiled(name: str, code: str) -> None:
    x = stored(np.linspace(0.0, 900.0, 5_000).astype(code))
    others = [x] if name in TWO else []
    bound = only(p.apply(name, p.apply("exp", x), *others))
    expected = TiledKernel(bound.phase).run(bound.values, bound.allocate(), 0, 5_000)
    assert (0, "overflow") in expected
    assert NumbaKernel(bound.phase).run(bound.values, bound.allocate(), 0, 5_000) == expected
    tame = only(
        p.apply(
            name, p.apply("exp", stored(np.full(5_000, 0.5, code))), *([x] if name in TWO else [])
        )
    )
    assert NumbaKernel(tame.phase).run(tame.values, tame.allocate(), 0, 5_000) == set()


@pytest.mark.parametrize("name", ["maximum", "tanh", "absolute"])
def test_what_a_product_or_a_loop_raised_in_a_chain_is_told(name: str) -> None:
    x, w = stored(np.full((50, 3), 400.0)), stored(np.ones(3))
    large = p.apply("exp", product(x, w))
    (bound,) = p.bound([p.apply(name, large, *([Const(1.0)] if name == "maximum" else []))], 99)
    expected = TiledKernel(bound.phase).run(bound.values, bound.allocate(), 0, 50)
    assert {kind for _, kind in expected} == {"overflow"}
    assert ChainKernel(bound.phase).run(bound.values, bound.allocate(), 0, 50) == expected
