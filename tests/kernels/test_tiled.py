"""The tiled lowering gives what NumPy gives on whole arrays."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnumpy.config import config
from dnumpy.expr.expr import Const, leaf, make
from dnumpy.kernels import tiled
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.ops.families import elementwise_of
from dnumpy.ops.table import VIEW
from dnumpy.rewrite.phase import Access, Input, Output, Phase, Step, verify
from tests.kernels import phases as p

many = settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))


@many
@given(p.programs(folds=False), st.sampled_from((1, 4096, 1 << 18)))
def test_elementwise_results_have_numpys_bits(roots, tile_bytes):
    for bound in p.bound(roots, tile_bytes):
        with np.errstate(all="ignore"):
            found = bound.run(TiledKernel(bound.phase))
            expected = p.expected(bound.exprs)
        assert [p.bits(x) for x in found] == [p.bits(x) for x in expected], bound.phase


@many
@given(p.programs(), st.sampled_from((1, 4096)), st.lists(st.integers(1, 50), max_size=4))
def test_the_bits_do_not_depend_on_the_partition(roots, tile_bytes, cuts):
    for bound in p.bound(roots, tile_bytes):
        with np.errstate(all="ignore"):
            whole = bound.run(TiledKernel(bound.phase))
            parts = bound.run(TiledKernel(bound.phase), cuts)
        assert [p.bits(x) for x in parts] == [p.bits(x) for x in whole], bound.phase


@many
@given(p.programs(), st.sampled_from((1, 4096)), st.lists(st.integers(1, 50), max_size=2))
def test_the_bits_do_not_depend_on_how_many_tiles_run_at_once(roots, tile_bytes, cuts):
    for bound in p.bound(roots, tile_bytes):
        kernels = {calls: TiledKernel(bound.phase) for calls in (0.0, 1e9)}
        found = {}
        for calls, kernel in kernels.items():
            with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
                patch.setattr(tiled, "LEAST_TILES", 1 << 62)
                patch.setattr(tiled, "CALL_SECONDS", calls)
                found[calls] = [bound.run(kernel, cuts), bound.run(kernel, cuts)]
        assert kernels[0.0].at_once <= 1
        one, many_at_once = ([[p.bits(x) for x in run] for run in found[c]] for c in (0.0, 1e9))
        assert one == many_at_once, bound.phase


@many
@given(
    st.sampled_from(("maximum", "minimum", "logical_or", "logical_and", "add")),
    st.sampled_from(((300,), (40, 3), (9, 600), (5, 2, 3))),
    st.sampled_from(("f8", "f4", "i8", "i4", "u1", "?")),
    st.integers(0, 1 << 30),
    st.booleans(),
)
def test_folds_are_numpys_exactly_where_order_does_not_matter(name, shape, dtype, seed, keepdims):
    array = p.filled(np.random.default_rng(seed), shape, np.dtype(dtype), plain=False)
    if name == "add" and dtype in {"f8", "f4"}:
        array = np.round(np.nan_to_num(array, posinf=1, neginf=1).clip(-9, 9))  # exact sums
    x = leaf(array, array.shape, array.dtype)
    for axis in {(0,), tuple(range(len(shape))), tuple(range(1, len(shape)))} - {()}:
        root = p.fold(name, x, axis, keepdims=keepdims)
        assert root is not None
        (bound,) = p.bound([root], 256)
        with np.errstate(all="ignore"):
            (found,) = bound.settled(bound.run(TiledKernel(bound.phase)))
        expected = np.asarray(getattr(np, name).reduce(array, axis=axis, keepdims=keepdims))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["divmod", "modf", "frexp"])
@pytest.mark.parametrize("use", ["both", "sum", "second"])
def test_two_results_of_one_call_are_computed_by_one_call(name, use, monkeypatch):
    values = np.linspace(-9.7, 12.1, 700).reshape(100, 7)
    x = leaf(values, values.shape, values.dtype)
    ufunc, args = getattr(np, name), (x, Const(2.5)) if name == "divmod" else (x,)
    dtypes = [y.dtype for y in ufunc(*[2.5 for _ in args])]
    op = elementwise_of(ufunc)
    roots = [make(op, args, (("output", k),), x.shape, d) for k, d in enumerate(dtypes)]
    if use == "sum":
        roots = [make(elementwise_of(np.add), tuple(roots), (), x.shape, np.dtype(float))]
    elif use == "second":
        roots = roots[1:]
    (bound,) = p.bound(roots, 1000)
    calls = []
    both = tiled.compute_both
    monkeypatch.setattr(tiled, "compute_both", lambda *given: calls.append(1) or both(*given))
    found = bound.run(TiledKernel(bound.phase), [bound.phase.tiles // 2])
    assert [p.bits(y) for y in found] == [p.bits(y) for y in p.expected(bound.exprs)]
    assert len(calls) <= bound.phase.tiles
    assert bool(calls) == (use != "second")


def test_a_part_may_be_the_last_tile_alone():
    values = np.arange(35.0).reshape(7, 5)
    x = leaf(values, values.shape, values.dtype)
    negated = make(elementwise_of(np.negative), (x,), (), x.shape, x.dtype)
    root = p.fold("add", negated, (0, 1), keepdims=False)
    assert root is not None
    (bound,) = p.bound([root], 120)
    phase = bound.phase
    assert phase.rows % phase.tile_rows
    (found,) = bound.settled(bound.run(TiledKernel(phase), range(1, phase.tiles)))
    assert found == -values.sum()


def test_a_view_of_a_view_inside_a_phase_shows_the_rows_of_that_view():
    rows, eight = 7, np.dtype(float)
    negative = elementwise_of(np.negative)
    phase = Phase(
        rows,
        3,
        (Input(Access.ROWS, (rows, 4, 6), eight),),
        (
            Step(negative, (0,), (), (rows, 4, 6), eight),
            Step(VIEW, (1,), (0, (rows, 6, 4), (192, 8, 48), eight), (rows, 6, 4), eight),
            Step(VIEW, (2,), (8, (rows, 3, 2), (192, 64, 16), eight), (rows, 3, 2), eight),
            Step(VIEW, (3,), (8, (rows, 3), (48, 16), eight), (rows, 3), eight),
            Step(negative, (4,), (), (rows, 3), eight),
        ),
        (Output(5, partial=False),),
    )
    verify(phase)
    with pytest.raises(ValueError, match="%4 leaves the phase and is a view"):
        verify(replace(phase, outputs=(Output(4, partial=False),)))
    values = np.arange(rows * 24.0).reshape(rows, 4, 6)
    out = np.zeros((rows, 3))
    assert not TiledKernel(phase).run([values], [out], 0, rows)
    np.testing.assert_array_equal(out, values.transpose(0, 2, 1)[:, ::2, 3])


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_what_tiles_hold_at_once_is_less_than_numpys_temporaries(monkeypatch, threads):
    monkeypatch.setattr(config, "threads", threads)
    monkeypatch.setattr(tiled, "LEAST_TILES", 1 << 62)
    monkeypatch.setattr(tiled, "CALL_SECONDS", 1e9)  # as many as fit
    monkeypatch.setattr(tiled, "_local", threading.local())
    values = np.arange(120_000.0).reshape(1200, 100)
    x = leaf(values, values.shape, values.dtype)
    root = p.apply("add", p.apply("multiply", x, p.apply("negative", x)), x)
    (bound,) = p.bound([root], 100 * 8)
    kernel = TiledKernel(bound.phase)
    for _ in range(3):
        bound.run(kernel)
    assert kernel.at_once > 1
    assert min(threads, tiled.MOST_SHARES) * len(tiled._local.scratch) <= values.nbytes // 2
