"""Steps between products are one kernel each, with the bits of the tiled lowering."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnumpy.expr.expr import Const, Expr, make
from dnumpy.kernels.chain import Chain, ChainKernel
from dnumpy.kernels.sections import in_order
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.ops.families import Contraction
from dnumpy.ops.table import CAST, WHERE
from tests.kernels import phases as p
from tests.kernels.multiplied import crossed, product, stored
from tests.kernels.test_chain import Quiet, assert_tiled_bits

many = settings(deadline=None, max_examples=200, suppress_health_check=list(HealthCheck))
UNARY = ("negative", "exp", "square", "sqrt", "tanh", "isnan", "floor", "log")
BINARY = ("add", "subtract", "multiply", "divide", "maximum", "greater", "logical_and", "power")


def cast(x: Expr, dtype: Any) -> Expr:
    return make(CAST, (x,), (), x.shape, np.dtype(dtype))


def where(condition: Expr, x: Expr) -> Expr:
    wanted = condition if condition.dtype == bool else cast(condition, bool)
    return make(WHERE, (wanted, x, x), (), x.shape, x.dtype)


class Maker:
    """Draws values of as many rows as the first one, of one axis beside."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
        self.dtype = np.dtype(draw(st.sampled_from(("f8", "f8", "f4", "c16"))))
        self.rows = draw(st.sampled_from((1, 2, 9, 300, 900)))
        self.pool = [self.filled(self.rows, draw(st.sampled_from((1, 3, 8, 20))))]

    def filled(self, *shape: int) -> Expr:
        plain, apart = self.draw(st.booleans()), self.draw(st.booleans())
        wide = p.filled(self.rng, (*shape[:-1], 2 * shape[-1]), self.dtype, plain=plain)
        return stored(wide[..., ::2] if apart else wide[..., : shape[-1]].copy())

    def product(self, x: Expr) -> Expr | None:
        columns = self.draw(st.sampled_from(((1,), (5,), (16,))))
        return product(x, self.filled(x.shape[1], *columns)) if x.dtype == self.dtype else None

    def unary(self, x: Expr) -> Expr | None:
        return p.apply(self.draw(st.sampled_from(UNARY)), x)

    def binary(self, x: Expr) -> Expr | None:
        ours = [*self.pool, self.filled(x.shape[1]), Const(0.5), Const(2)]
        return p.apply(self.draw(st.sampled_from(BINARY)), x, self.draw(st.sampled_from(ours)))

    def fold(self, x: Expr) -> Expr | None:
        name = self.draw(st.sampled_from(("add", "maximum", "minimum", "logical_or", "argmin")))
        if name != "argmin":
            return p.fold(name, x, (1,), keepdims=True)
        return None if x.dtype.kind == "c" else p.pick(name, x, 1, keepdims=True)

    def cast(self, x: Expr) -> Expr | None:
        kind = self.draw(st.sampled_from(("f4", "f8", "i8")))
        return None if x.dtype.kind == "c" else cast(x, kind)

    def where(self, x: Expr) -> Expr:
        return where(self.draw(st.sampled_from([y for y in self.pool if y.shape == x.shape])), x)

    def step(self) -> None:
        """Put one more value into the pool, or none."""
        kinds = (self.product, self.product, self.unary, self.binary, self.fold)
        kind = self.draw(st.sampled_from((*kinds, self.cast, self.where)))
        made = kind(self.draw(st.sampled_from(self.pool[-3:])))
        if made is not None and made.shape[0] == self.rows and made.ndim == 2:
            self.pool.append(made)


@st.composite
def networks(draw: Any) -> list[Expr]:
    """Draw products of rows with steps before, between and after them, of several widths."""
    maker = Maker(draw)
    for _ in range(draw(st.integers(2, 12))):
        maker.step()
    roots = [e for e in maker.pool if e.value is None][-draw(st.integers(1, 3)) :]
    if draw(st.booleans()):
        ours = st.sampled_from([e for e in maker.pool if e.dtype == maker.dtype])
        roots.append(crossed(draw(ours), draw(ours)))
    if roots and draw(st.booleans()):
        total = p.fold("add", roots[0], draw(st.sampled_from(((0, 1), (0,)))), keepdims=False)
        roots += [total] * (total is not None)
    return list({id(e): e for e in roots}.values())


@many
@given(networks(), st.sampled_from((1, 4096, 1 << 18)), st.lists(st.integers(1, 50), max_size=3))
def test_sections_have_the_bits_of_the_tiled_lowering_in_any_partition(roots, tile_bytes, cuts):
    for bound in p.bound(roots, tile_bytes):
        if bound.phase.multiplies:
            assert_tiled_bits(bound, cuts)


@many
@given(networks())
def test_products_come_after_what_they_read_and_before_what_reads_them(roots):
    for bound in p.bound(roots, 4096):
        phase, first = bound.phase, len(bound.phase.inputs)
        done = set(range(first))
        for found in in_order(phase):
            slots = (found,) if isinstance(found, int) else found
            for slot in slots:
                assert done.issuperset(phase.steps[slot - first].args)
                done.add(slot)
                is_product = isinstance(phase.steps[slot - first].op, Contraction)
                assert is_product == isinstance(found, int)
        assert len(done) == first + len(phase.steps)


def nearest(rows: int) -> Expr:
    """Return the index of the nearest of some centres, by products."""
    rng = np.random.default_rng(rows)
    x, centres = (stored(rng.normal(size=shape)) for shape in ((rows, 8), (8, 16)))
    lengths = p.fold("add", p.apply("multiply", x, x), (1,), keepdims=True)
    twice = p.apply("multiply", Const(2.0), product(x, centres))
    return p.pick("argmin", p.apply("subtract", lengths, twice), 1, keepdims=False)


def layers(rows: int) -> Expr:
    """Return the class that two layers find, the first of which has its bias."""
    rng = np.random.default_rng(rows)
    x, w, b, v = (stored(rng.normal(size=s)) for s in ((rows, 30), (30, 50), (50,), (50, 10)))
    hidden = p.apply("maximum", p.apply("add", product(x, w), b), Const(0))
    return p.pick("argmax", product(hidden, v), 1, keepdims=False)


@pytest.mark.parametrize(("make_root", "sections"), [(nearest, 2), (layers, 2)])
def test_what_no_loop_of_numpys_computes_is_compiled(make_root: Any, sections: int) -> None:
    (bound,) = p.bound([make_root(500)], 4096)
    kernel = ChainKernel(bound.phase)
    chain = kernel.variant_for(bound.values, bound.allocate())
    assert isinstance(chain, Chain)
    assert len(chain._table.sections) == sections
    quiet = Quiet(bound.phase)
    found = bound.run(quiet)
    assert quiet.chained == 1
    assert [p.bits(x) for x in found] == [p.bits(x) for x in bound.run(TiledKernel(bound.phase))]


def test_one_call_for_all_rows_is_left_to_numpys_loop() -> None:
    x, w = stored(np.ones((90, 3))), stored(np.ones((3, 4)))
    (bound,) = p.bound([p.apply("exp", product(x, w))], 4096)
    chain = ChainKernel(bound.phase).variant_for(bound.values, bound.allocate())
    assert chain is not None
    assert not chain._table.sections
    assert chain.helpers == ()


def test_faults_in_a_section_are_left_to_numpy_which_names_the_step() -> None:
    x, w = stored(np.full((50, 3), 400.0)), stored(np.ones((3, 4)))
    doubled = p.apply("negative", p.apply("negative", product(x, w)))
    root = p.pick("argmax", p.apply("exp", doubled), 1, keepdims=False)
    (bound,) = p.bound([root], 99)
    faults = ChainKernel(bound.phase).run(bound.values, bound.allocate(), 0, 50)
    assert {kind for _, kind in faults} == {"overflow"}


def test_integers_of_what_does_not_fit_are_numpys() -> None:
    x, w = stored(np.full((50, 3), 1e300)), stored(np.ones((3, 4)))
    (bound,) = p.bound([cast(p.apply("square", product(x, w)), "i4")], 99)
    with np.errstate(all="ignore"):
        found = bound.run(ChainKernel(bound.phase))
        (expected,) = p.expected([bound.exprs[0]])
    assert np.array_equal(found[0], expected)
