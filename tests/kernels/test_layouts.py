"""Compiled kernels read and write views of any layout, with NumPy's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from dnumpy.expr.expr import Const, Expr
from dnumpy.kernels.layouts import line_step
from dnumpy.kernels.numba import NumbaKernel, Variant
from dnumpy.kernels.staged import Staged
from dnumpy.kernels.tiled import TiledKernel
from tests.kernels import phases as p
from tests.kernels.test_numba import compiling, only, stored


def sixth(array: Any, shift: int) -> Any:
    """Return an array that lies as the inner part of a larger one does, moved along its axes."""
    return array[1 + shift : 7 + shift, 1:-1, 1 + shift : shift - 1 or None]


def stencil(views: list[Any]) -> Expr:
    total = stored(views[0])
    for view in views[1:]:
        total = p.apply("add", total, p.apply("exp", stored(view)))
    return p.apply("multiply", total, Const(0.25))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_the_inside_of_a_volume_is_walked_line_by_line(dtype):
    whole = p.filled(np.random.default_rng(1), (9, 14, 40), np.dtype(dtype), plain=True)
    bound = only(stencil([sixth(whole, 0), sixth(whole, 1), whole[2:8, :12, 2:]]))
    memory = np.zeros((8, 20, 50), dtype)
    out = memory[1:7, 4:16, 5:43]
    variant = NumbaKernel(bound.phase).variant_for(bound.values, [out])
    assert type(variant) is Variant
    assert "g" not in variant.layouts
    with np.errstate(all="ignore"):
        (expected,) = bound.run(TiledKernel(bound.phase))
        assert variant.run(bound.values, [out], 0, bound.phase.rows, 0, ())
    assert p.bits(out) == p.bits(expected)
    memory[1:7, 4:16, 5:43] = 0
    assert not memory.any()


@pytest.mark.parametrize(
    "where", [np.s_[::2, ::3], np.s_[:30, 20:0:-1], np.s_[::-2, ::-1], np.s_[1:31, 1:41:2]]
)
def test_what_goes_to_scattered_rows_is_computed_beside_them_first(where):
    memory = np.zeros((60, 60))
    out = memory[where]
    x, y = p.filled(np.random.default_rng(2), (2, *out.shape), np.dtype("f8"), plain=True)
    bound = only(stencil([x, y]), 4096)
    variant = NumbaKernel(bound.phase).variant_for(bound.values, [out])
    assert type(variant) is Staged
    with np.errstate(all="ignore"):
        (expected,) = bound.run(TiledKernel(bound.phase))
        tile = bound.phase.tile_rows
        middle = min(tile * 2, bound.phase.rows)
        for lo, hi in ((0, middle), (middle, bound.phase.rows)):
            assert variant.run(bound.values, [out], lo, hi, 0, ())
    assert p.bits(out) == p.bits(expected)
    out[...] = 0
    assert not memory.any()


def test_results_that_are_read_from_the_same_memory_are_left_to_numpy():
    memory = np.arange(4000.0).reshape(40, 100)
    bound = only(stencil([memory[:, :50], memory[:, 50:]]))
    out = memory[:, ::2]
    variant = NumbaKernel(bound.phase).variant_for(bound.values, [out])
    assert type(variant) is Staged
    assert not variant.run(bound.values, [out], 0, bound.phase.rows, 0, ())
    assert memory[0, 0] == 0


@st.composite
def parts(draw: st.DrawFn) -> tuple[tuple[int, ...], list[tuple[slice, ...]], tuple[slice, ...]]:
    """Return a shape, what is read of arrays of that shape, and what is written of another."""
    inside = draw(st.lists(st.integers(1, 5), min_size=2, max_size=3))
    inside[-1] = draw(st.sampled_from((3, 17, 40)))
    steps = [draw(st.sampled_from((1, 1, 1, 2))) for _ in inside]
    margins = [draw(st.integers(0, 2)) for _ in inside]
    shape = tuple(n * s + 2 * m for n, s, m in zip(inside, steps, margins, strict=True))

    def part() -> tuple[slice, ...]:
        starts = [draw(st.integers(0, 2 * m)) for m in margins]
        return tuple(slice(a, a + n * s, s) for a, n, s in zip(starts, inside, steps, strict=True))

    return shape, [part() for _ in range(3)], part()


@compiling
@given(parts(), st.sampled_from(("f8", "f4", "i8")))
def test_stencils_over_any_parts_are_numpys(given_parts, dtype):
    shape, read, written = given_parts

    def program(np_: Any) -> Any:
        x = np_.asarray(np.arange(np.prod(shape)).reshape(shape) % 97).astype(dtype)
        u = x + 1
        v = np_.zeros(shape, dtype)
        v[written] = u[read[0]] * 3 + u[read[1]] - u[read[2]]
        v[written] += v[read[0]]
        return v

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dnumpy.config, "kernels", "numba")
        patch.setattr(dnumpy.config, "eager_below", 0)
        found = np.asarray(program(dnumpy))
    expected = program(np)
    assert found.dtype == expected.dtype
    assert np.array_equal(found, expected)


def test_steps_from_line_to_line_are_those_of_the_memory():
    whole = np.zeros((4, 5, 6))
    assert line_step(whole, (5, 6)) == 48
    assert line_step(whole[:, :, 1:-1], (5, 4)) == 48
    assert line_step(whole[:, ::2, 1:-1], (3, 4)) == 96
    assert line_step(whole[:, :1], (5, 6)) == 0
    assert line_step(whole[..., :1], (5, 6)) is None
    assert line_step(whole[..., ::2], (5, 3)) is None
    deep = np.zeros((2, 3, 4, 5))
    assert line_step(deep[:, :, :, 1:], (3, 4, 4)) == 40
    assert line_step(deep[:, :, 1:, 1:], (3, 3, 4)) is None
