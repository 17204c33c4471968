"""Elements that lie apart are read and written where they lie, with NumPy's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from dnumpy.expr.expr import Expr, make
from dnumpy.kernels.emit import CHUNK
from dnumpy.kernels.emit_rolled import CHUNK as ROLLED_CHUNK
from dnumpy.kernels.layouts import step_layout
from dnumpy.kernels.numba import NumbaKernel, Variant
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.ops.table import CAST
from tests.kernels import phases as p
from tests.kernels.test_numba import compiling, only, stored

STEPS = (-5, -2, -1, 2, 3, 4, 7)


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything runs compiled, at once."""
    monkeypatch.setattr(dnumpy.config, "kernels", "numba")
    monkeypatch.setattr(dnumpy.config, "eager_below", 0)


def apart(array: np.ndarray, step: int) -> np.ndarray:
    """Return a copy of ``array`` whose elements are all ``step`` apart."""
    memory = np.zeros(array.size * abs(step), array.dtype)
    view = memory[::step].reshape(array.shape)
    view[...] = array
    return view


def polynomial(x: Expr, y: Expr) -> Expr:
    """Return operations that the compiler has, and one for which NumPy's loop is called."""
    return p.apply("add", p.apply("multiply", x, y), p.apply("sin", p.apply("subtract", x, y)))


@pytest.mark.parametrize("length", [1, 7, 64, CHUNK + 3])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "c16"])
def test_rows_of_elements_that_lie_apart_are_not_gathered(dtype, step, length):
    draw = np.random.default_rng(7)
    dense = [p.filled(draw, (3, length), np.dtype(dtype), plain=True) for _ in range(2)]
    root = polynomial(*map(stored, (apart(dense[0], step), apart(dense[1], step + 4))))
    bound = only(root)
    outs = bound.allocate()
    variant = NumbaKernel(bound.phase).variant_for(bound.values, outs)
    assert type(variant) is Variant
    size = dense[0].itemsize
    assert variant.layouts == tuple(step_layout(s * size, size) for s in (step, step + 4))
    with np.errstate(all="ignore"):
        assert variant.run(bound.values, outs, 0, bound.phase.rows, 0, ())
        (tiled,) = bound.run(TiledKernel(bound.phase))
    assert p.bits(outs[0]) == p.bits(tiled)


@pytest.mark.parametrize("flat", [True, False])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "u1"])
def test_results_go_where_they_lie_apart(dtype, step, flat):
    shape = (5 * CHUNK + 3,) if flat else (4, CHUNK + 3)
    x, y = (p.filled(np.random.default_rng(k), shape, np.dtype(dtype), plain=True) for k in (1, 2))
    root = p.apply("add", p.apply("multiply", stored(x), stored(y)), stored(y))
    bound = only(root)
    out = apart(np.zeros(shape, dtype), step)
    memory = out.base
    memory[...] = 7
    variant = NumbaKernel(bound.phase).variant_for(bound.values, [out])
    assert type(variant) is Variant
    for lo, hi in ((0, 1), (1, bound.phase.rows)):
        assert variant.run(bound.values, [out], lo, hi, 0, ())
    assert np.array_equal(out, x * y + y)
    out[...] = 7
    assert (memory == 7).all()  # and nowhere else


def test_one_kernel_serves_all_steps_that_do_not_stand_in_its_text():
    x = np.random.default_rng(3).random((3, 50))
    given = stored(apart(x, 5))
    bound = only(p.apply("add", given, given))
    kernel, outs = NumbaKernel(bound.phase), bound.allocate()
    seven, five, three = (kernel.variant_for([apart(x, step)], outs) for step in (7, -5, 3))
    assert five is seven
    assert five is not three
    for step in (5, -11, 40, -2):
        assert five.run([apart(x, step)], outs, 0, 3, 0, ())
        assert np.array_equal(outs[0], x * 2.0)


def test_steps_that_are_no_whole_elements_are_read_where_they_lie():
    records = np.zeros(300, [("flag", "u1"), ("value", "f4"), ("weight", "f4")])
    records["value"], records["weight"] = np.random.default_rng(4).random((2, 300))
    records = np.concatenate([records, records])
    x, y = dnumpy.array(records)["value"], dnumpy.array(records)["weight"]
    expected = records["value"] * 2 + records["weight"]
    assert np.array_equal(np.asarray(x * 2 + y), expected)
    assert step_layout(18, 4) == "t"


def columns(np_: Any, points: Any) -> Any:
    x, y, z = points[:, 0], points[:, 1], points[:, 2]
    made = np_.zeros_like(points)
    made[:, 0] = x * 0.5 - y
    made[:, 2] = np_.sqrt(x * x + y * y + z * z)
    made[::-1, 1] = np_.where(x > y, z, x - made[:, 0])
    made[:, 0] += made[:, 1]
    return made


def channels(np_: Any, image: Any) -> Any:
    r, g, b = image[..., 0], image[..., 1], image[..., 2]
    grey = 0.299 * r + 0.587 * g + 0.114 * b
    image = image.copy()
    image[..., 1] = grey
    image[..., 0] = image[..., 2] // 2 + (g > r)
    return image


def sums(np_: Any, points: Any) -> Any:
    return np_.stack(
        [(points[:, 0] * points[:, 1]).sum(), points[:, 2].max(), (points[::2, 0] > 0.5).sum()]
    )


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
@pytest.mark.parametrize("width", [3, 4, 9])
@pytest.mark.parametrize("program", [columns, sums])
def test_columns_are_numpys(program, width, dtype):
    if program is columns and dtype == "i4":
        dtype = "i8"
    points = p.filled(np.random.default_rng(5), (2000, width), np.dtype(dtype), plain=True)
    with np.errstate(all="ignore"):
        found = np.asarray(program(dnumpy, dnumpy.array(points)))
        expected = program(np, points)
    assert found.dtype == expected.dtype
    assert p.bits(found) == p.bits(expected) or program is sums
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == "f4" else 1e-12)


def test_channels_of_images_are_numpys():
    image = np.random.default_rng(6).integers(0, 256, (40, 50, 3)).astype(np.uint8)
    found = np.asarray(channels(dnumpy, dnumpy.array(image)))
    assert np.array_equal(found, channels(np, image))


@pytest.mark.parametrize("step", STEPS)
def test_loops_read_and_write_what_lies_apart(step):
    c = p.filled(np.random.default_rng(8), (2 * ROLLED_CHUNK + 5,), np.dtype("f8"), plain=True) / 50

    def program(np_: Any, c: Any, out: Any) -> Any:
        z = np_.zeros_like(c)
        for _ in range(12):
            z = z * z + c
        out[...] = z
        return out

    with np.errstate(all="ignore"):
        expected = program(np, c, np.empty_like(c))
        ours = dnumpy.array(apart(c, step))
        memory = dnumpy.zeros(c.size * abs(step))
        found = program(dnumpy, ours, memory[::step])
        assert np.array_equal(np.asarray(found), expected, equal_nan=True)


@compiling
@given(
    st.lists(st.sampled_from((*STEPS, 1)), min_size=3, max_size=3),
    st.sampled_from(("f8", "f4", "i8", "u1", "?")),
    st.integers(1, 3),
    st.integers(1, 70),
)
def test_any_steps_are_numpys(steps, dtype, rows, length):
    draw = np.random.default_rng(rows * 100 + length)
    x, y = (p.filled(draw, (rows, length), np.dtype(dtype), plain=True) for _ in range(2))
    root = p.apply("multiply", p.apply("add", *map(stored, map(apart, (x, y), steps))), stored(y))
    bound = only(root)
    out = apart(
        np.zeros((rows, length), bound.phase.dtype_of(bound.phase.outputs[0].slot)), steps[2]
    )
    variant = NumbaKernel(bound.phase).variant_for(bound.values, [out])
    assert type(variant) is Variant
    with np.errstate(all="ignore"):
        assert variant.run(bound.values, [out], 0, bound.phase.rows, 0, ())
        assert np.array_equal(out, (x + y) * y)


NUMBERS = np.concatenate(
    [
        np.linspace(-70_000.7, 70_000.7, 5001),
        np.array([0.0, -0.0, 0.9, -0.9, 254.99, 255.0, 256.0, -1.0, -128.5, 127.5, 65535.5]),
        np.linspace(-(2.0**31) + 300, 2.0**31 - 300, 333),
    ]
)


@pytest.mark.parametrize("target", ["u1", "i1", "u2", "i2", "i4", "i8", "u4", "u8"])
@pytest.mark.parametrize("source", ["f8", "f4"])
def test_floats_made_integers_wrap_around_as_numpys_do(source, target):
    x = NUMBERS.astype(source)
    if target in {"u4", "u8"}:
        x = np.abs(x)  # what NumPy makes of negative ones depends on where in the array they are
    with np.errstate(all="raise"):
        found = np.asarray((dnumpy.array(x) * 1).astype(target))
        assert np.array_equal(found, x.astype(target))


@pytest.mark.parametrize("target", ["u1", "i1", "u2", "i2"])
@pytest.mark.parametrize("what", [np.nan, np.inf, -np.inf, 2.0**31, -(2.0**40), 1e300])
def test_floats_that_are_no_integers_are_told_of_as_numpys_are(what, target):
    x = np.linspace(0, 100, 1000)
    x[500] = what
    with pytest.warns(RuntimeWarning, match="invalid value"):
        expected = x.astype(target)
    with pytest.warns(RuntimeWarning, match="invalid value"):
        found = np.asarray((dnumpy.array(x) * 1).astype(target))
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("target", ["u1", "i1", "u2", "i2"])
def test_small_integers_of_floats_are_compiled(target):
    made = make(CAST, (stored(NUMBERS),), (), NUMBERS.shape, np.dtype(target))
    bound = only(p.apply("add", made, stored(NUMBERS.astype("i1"))))
    outs = bound.allocate()
    variant = NumbaKernel(bound.phase).variant_for(bound.values, outs)
    assert type(variant) is Variant
    assert variant.run(bound.values, outs, 0, bound.phase.rows, 0, ())
    assert np.array_equal(outs[0], NUMBERS.astype(target) + NUMBERS.astype("i1"))
