"""A chain of NumPy's loops gives the bits of the tiled lowering, whatever lies where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnumpy.expr.expr import Const, Expr
from dnumpy.kernels.chain import ChainKernel
from dnumpy.kernels.loops import product_loop
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.rewrite.phase import verify
from tests.kernels import phases as p
from tests.kernels.multiplied import product, programs, regression, stored

many = settings(deadline=None, max_examples=200, suppress_health_check=list(HealthCheck))


class Quiet:
    """A chain of whose faults nobody wants to know: it does not run again tiled."""

    def __init__(self, phase: Any) -> None:
        self.kernel = ChainKernel(phase)
        self.chained = 0

    def run(self, values: Any, outs: Any, lo: int, hi: int, origin: int = 0) -> None:
        variant = self.kernel.variant_for(values, outs)
        done = variant is not None and variant.run(values, outs, lo, hi, origin, ())
        self.chained += done
        if not done:
            self.kernel.tiled.run(values, outs, lo, hi, origin)


def assert_tiled_bits(bound: p.Bound, cuts: list[int]) -> None:
    """Check that a chain gives them, run at once and part by part."""
    with np.errstate(all="ignore"):
        tiled = bound.run(TiledKernel(bound.phase))
        for parts in ([], cuts):
            found = bound.run(Quiet(bound.phase), parts)
            assert [p.bits(x) for x in found] == [p.bits(x) for x in tiled], bound.phase


@many
@given(programs(), st.sampled_from((1, 4096, 1 << 18)), st.lists(st.integers(1, 50), max_size=3))
def test_a_chain_has_the_bits_of_the_tiled_lowering_in_any_partition(roots, tile_bytes, cuts):
    for bound in p.bound(roots, tile_bytes):
        verify(bound.phase)
        assert_tiled_bits(bound, cuts)


@many
@given(programs(), st.sampled_from((1, 4096, 1 << 18)))
def test_products_beside_their_neighbours_are_numpys_up_to_rounding(roots, tile_bytes):
    expected = p.expected(roots)
    found = {}
    for bound in p.bound(roots, tile_bytes):
        with np.errstate(all="ignore"):
            outs = bound.settled(bound.run(TiledKernel(bound.phase)))
        found.update(zip(map(id, bound.exprs), outs, strict=True))
    tolerance = 1e-3 if roots[0].dtype == np.float32 else 1e-9
    for root, value in zip(roots, expected, strict=True):
        if id(root) in found:
            scale = np.nanmax(np.abs(np.where(np.isfinite(value), value, 0)), initial=1)
            np.testing.assert_allclose(
                found[id(root)], value, rtol=tolerance, atol=tolerance * float(scale)
            )


def softmax(rows: int) -> Expr:
    """Return a hidden layer and a softmax."""
    rng = np.random.default_rng(rows)
    x, w, b, v, c = (
        stored(rng.normal(size=shape).astype("f4"))
        for shape in ((rows, 30), (30, 50), (50,), (50, 10), (10,))
    )
    hidden = p.apply("maximum", p.apply("add", product(x, w), b), Const(0.0))
    scores = p.apply("add", product(hidden, v), c)
    top = p.fold("maximum", scores, (1,), keepdims=True)
    powers = p.apply("exp", p.apply("subtract", scores, top))
    return p.apply("divide", powers, p.fold("add", powers, (1,), keepdims=True))


@pytest.mark.parametrize("make_root", [lambda n: regression(n)[0], softmax])
def test_the_steps_of_a_learner_are_one_phase_and_one_chain(make_root: Any) -> None:
    (bound,) = p.bound([make_root(500)], 4096)
    quiet = Quiet(bound.phase)
    found = bound.run(quiet)
    assert quiet.chained == 1
    assert [p.bits(x) for x in found] == [p.bits(x) for x in bound.run(TiledKernel(bound.phase))]


def test_faults_are_left_to_numpy_which_names_the_step() -> None:
    x, w = stored(np.full((50, 3), 400.0)), stored(np.ones(3))
    (bound,) = p.bound(
        [p.apply("exp", p.apply("negative", p.apply("negative", product(x, w))))], 99
    )
    faults = ChainKernel(bound.phase).run(bound.values, bound.allocate(), 0, 50)
    assert {kind for _, kind in faults} == {"overflow"}


@pytest.mark.parametrize("char", "fdFD")
def test_the_loop_of_matmul_is_found_and_has_its_bits(char: str) -> None:
    assert product_loop(np.dtype(char)) is not None
    assert product_loop(np.dtype("i8")) is None
