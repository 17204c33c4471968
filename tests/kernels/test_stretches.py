"""Steps that the module in C runs in one go give NumPy's bits, and tell of NumPy's faults."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnumpy import native
from dnumpy.expr.expr import Const, leaf, make
from dnumpy.kernels import tiled
from dnumpy.kernels.loops import inner_loop, kinds_of
from dnumpy.kernels.stretches import run_stretch, stretches_of
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.ops.families import elementwise_of, lookup
from dnumpy.ops.table import CAST, CHOSEN, WHERE
from tests.kernels import phases as p

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")
many = settings(deadline=None, max_examples=200, suppress_health_check=list(HealthCheck))

DTYPES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
LAYOUTS = ("plain", "columns", "steps", "reversed", "one", "row", "scalar", "unaligned", "swapped")


def content(dtype: Any, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind in "fc":
        special = rng.random(shape) < 0.2
        found = np.where(special, rng.choice(p.SPECIALS, shape), rng.normal(size=shape))
        with np.errstate(all="ignore"):
            return found.astype(dtype)
    return rng.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)


def laid_out(array: np.ndarray, layout: str) -> np.ndarray:
    """Return an array of the same content, or of a part of it that is broadcast."""
    match layout:
        case "columns":
            return np.asfortranarray(array)
        case "steps":
            wide = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)
            wide[..., ::2] = array
            return wide[..., ::2]
        case "reversed":
            return array[::-1].copy()[::-1]
        case "one":
            return array[:, :1]
        case "row":
            return array[0]
        case "scalar":
            return array[0, 0]
        case "unaligned":
            room = np.zeros(array.nbytes + 1, np.uint8)
            found = np.ndarray(array.shape, array.dtype, room, 1)
            found[...] = array
            return found
        case "swapped":
            return array.astype(array.dtype.newbyteorder())
    return array


def ran(records: list[list[int]], arrays: list[Any], begin: int = 0) -> Any:
    return native.run_stretch(list(arrays), np.array(records, np.int64), begin)


def record_of(
    loop: Any, count: int, *, matters: bool = False, stops: bool = False, mask: int = -1
) -> list[int]:
    slots = [*range(count), *[0] * (4 - count)]
    return [loop[0], loop[1], count, *slots, matters, stops, mask]


@many
@given(
    st.sampled_from(("add", "multiply", "divide", "maximum", "greater", "arctan2", "exp", "sqrt")),
    st.sampled_from(("f8", "f4", "i8", "u1")),
    st.lists(st.sampled_from(LAYOUTS), min_size=3, max_size=3),
    st.sampled_from(((5, 7), (1, 4), (3, 1), (40, 3), (0, 4))),
)
def test_a_loop_walks_over_arrays_as_numpy_does(name, dtype, layouts, shape):
    ufunc = getattr(np, name)
    layouts = [x if 0 not in shape or x not in {"row", "scalar"} else "plain" for x in layouts]
    operands = [laid_out(content(dtype, shape, k), x) for k, x in enumerate(layouts[: ufunc.nin])]
    types = ufunc.resolve_dtypes((*[np.dtype(dtype)] * ufunc.nin, None))
    out_layout = layouts[-1] if layouts[-1] not in {"one", "row", "scalar"} else "plain"
    out = laid_out(np.zeros(shape, types[-1]), out_layout)
    loop = inner_loop(ufunc, types)
    if loop is None or any(t != np.dtype(dtype) for t in types[:-1]):
        return
    with np.errstate(all="ignore"):
        expected = ufunc(*operands, out=np.zeros(shape, types[-1]))
    arrays = [x if isinstance(x, np.ndarray) else np.asarray(x) for x in (*operands, out)]
    done = ran([record_of(loop, len(arrays))], arrays)
    behaved = all(x.flags.aligned and x.dtype.isnative for x in arrays)
    assert bool(done if type(done) is int else done[0]) == behaved
    if behaved:
        assert p.bits(out) == p.bits(expected)


@pytest.mark.parametrize("given_code", DTYPES)
@pytest.mark.parametrize("code", DTYPES)
@pytest.mark.parametrize("layout", ["plain", "steps"])
def test_a_cast_gives_what_numpys_gives(given_code, code, layout):
    address = native.own_loops()[f"{given_code} {code}"]
    operand = content(given_code, (9, 33))
    if given_code[0] == "f" and code[0] in "iu":
        operand = np.where(np.isfinite(operand), operand, 0).clip(-100, 100)
        operand = abs(operand) if code[0] == "u" else operand
    if given_code[0] == "i":
        operand = -operand
    out = laid_out(np.zeros(operand.shape, code), layout)
    found = ran([record_of((address, 0), 2)], [laid_out(operand, layout), out])
    faults: list[str] = []
    with np.errstate(all="call", call=lambda kind, _flag: faults.append(kind)):
        expected = operand.astype(code)
    assert p.bits(out) == p.bits(expected)
    assert (type(found) is int) == (not faults)


@pytest.mark.parametrize("given_code", [*DTYPES, "c8", "c16"])
@pytest.mark.parametrize("code", ["c8", "c16", "b1", "f4", "f8"])
@pytest.mark.parametrize("layout", ["plain", "steps"])
def test_a_cast_of_or_to_complex_numbers_gives_what_numpys_gives(given_code, code, layout):
    operand = content(given_code, (9, 33))
    if given_code[0] == "c":
        with np.errstate(all="ignore"):
            operand = (operand + 1j * operand.real[::-1]).astype(given_code)
    out = laid_out(np.zeros(operand.shape, code), layout)
    with np.errstate(all="ignore"):
        expected = (operand.real if code[0] == "f" else operand).astype(code)
    address = native.own_loops()[f"{given_code} {code}"]
    ran([record_of((address, 0), 2)], [laid_out(operand, layout), out])
    assert p.bits(out) == p.bits(expected)


MASKS = ("none", "all", "runs", "few", "row", "column", "steps", "scalar")


def mask_of(kind: str, shape: tuple[int, int]) -> np.ndarray:
    rows, columns = shape
    if kind in {"none", "all"}:
        return np.full(shape, kind == "all")
    if kind == "scalar":
        return np.array(False)
    if kind == "row":
        return np.arange(columns) // 700 % 2 == 1
    if kind == "column":
        return np.arange(rows)[:, None] % 2 == 1
    if kind == "runs":
        return np.arange(rows * columns).reshape(shape) // 1100 % 2 == 0
    few = np.random.default_rng(3).random(shape) < 1e-3
    return laid_out(few, "steps") if kind == "steps" else few


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("code", ["i8", "f4", "f8", "c16"])
@pytest.mark.parametrize("to", ["plain", "steps"])
def test_under_a_mask_what_it_shows_is_numpys_and_few_others_are_computed(kind, code, to):
    shape, dtype = (5, 2003), np.dtype(code)
    x, y = (content(code, shape, k) for k in (1, 2))
    mask, out = mask_of(kind, shape), laid_out(np.full(shape, 7, code), to)
    with np.errstate(all="ignore"):
        expected = x * y
        record = record_of(inner_loop(np.multiply, (dtype,) * 3), 3, stops=False, mask=3)
        ran([record], [x, y, out, mask])
    shown = np.broadcast_to(mask, shape)
    assert p.bits(out[shown]) == p.bits(expected[shown])
    computed = np.array(
        [p.bits(a) == p.bits(b) for a, b in zip(out.flat, expected.flat, strict=True)]
    )
    assert not out[~computed.reshape(shape)].any()  # cleared
    if kind == "none":
        assert not out.any()


def test_a_mask_over_memory_that_is_written_to_is_not_looked_at():
    x = np.arange(600.0)
    out = np.zeros(600)
    loop = inner_loop(np.add, (np.dtype(float),) * 3)
    ran([record_of(loop, 3, mask=3)], [x, x, out, out.view(bool)[::8]])
    assert out.tolist() == (x + x).tolist()


@pytest.mark.parametrize("code", ["u1", "i2", "f4", "f8", "c16"])
@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("to", ["plain", "first", "second"])
def test_where_of_long_rows_gives_what_numpys_gives(code, kind, to):
    shape = (5, 2003)
    mask = np.broadcast_to(mask_of(kind, shape), shape)
    mask = mask if kind in {"row", "column"} else mask.copy()
    x, y = content(code, shape, 1), content(code, shape, 2)
    expected = np.where(mask, x, y)
    out = {"first": x, "second": y}.get(to, np.zeros(shape, code))
    address = native.own_loops()[f"where {out.itemsize}"]
    assert ran([record_of((address, 0), 4)], [mask, x, y, out]) == 1
    assert p.bits(out) == p.bits(expected)


def test_bytes_of_a_mask_that_are_neither_0_nor_1_are_true():
    mask = np.random.default_rng(4).choice(np.array([0, 1, 2, 255], np.uint8), 3000).view(bool)
    mask[:600] = np.full(600, 3, np.uint8).view(bool)
    x, y, out = np.arange(3000.0), -np.arange(3000.0), np.zeros(3000)
    address = native.own_loops()["where 8"]
    assert ran([record_of((address, 0), 4)], [mask, x, y, out]) == 1
    assert out.tolist() == np.where(mask.view(np.uint8) != 0, x, y).tolist()


@pytest.mark.parametrize("given_code", ["f4", "f8"])
@pytest.mark.parametrize("code", [code for code in DTYPES if code[0] in "iu"])
def test_a_float_that_is_no_such_integer_gives_numpys_or_is_told_of(given_code, code):
    beyond = [
        -1,
        -2.5,
        300,
        65535.9,
        -65536,
        2**31,
        2**32 - 1,
        3e9,
        9e18,
        1e19,
        -1e19,
        np.nan,
        np.inf,
    ]
    address = native.own_loops()[f"{given_code} {code}"]
    for number in (*beyond, *np.linspace(-300, 300, 41)):
        for count in (1, 7, 64):  # vectors and what is left
            operand, out = np.full(count, number, given_code), np.zeros(count, code)
            with np.errstate(all="ignore"):
                expected = operand.astype(code)
            if ran([record_of((address, 0), 2, stops=True)], [operand, out]) == 1:
                assert out.tolist() == expected.tolist()


@pytest.mark.parametrize("code", ["u1", "i2", "f4", "f8", "c16"])
@pytest.mark.parametrize("first", ["plain", "steps", "scalar", "row"])
@pytest.mark.parametrize("second", ["plain", "steps", "scalar", "one"])
@pytest.mark.parametrize("to", ["plain", "steps", "second"])
def test_where_gives_what_numpys_gives(code, first, second, to):
    shape = (6, 21)
    mask = content("b1", shape, 3)
    chosen = np.asarray(laid_out(content(code, shape, 1), first))
    other = np.asarray(laid_out(content(code, shape, 2), second))
    expected = np.where(mask, chosen, other)
    out = other if to == "second" else laid_out(np.zeros(shape, code), to)
    if out.shape != shape:
        return
    address = native.own_loops()[f"where {out.itemsize}"]
    assert ran([record_of((address, 0), 4)], [mask, chosen, other, out]) == 1
    assert out.tobytes() == expected.tobytes()


def test_what_would_be_read_after_it_was_written_is_left_to_numpy():
    loop = inner_loop(np.add, (np.dtype(float),) * 3)
    x = np.arange(10.0)
    record = record_of(loop, 3)
    assert ran([record], [x[:-1], x[1:], x[1:]]) == 0
    assert ran([record], [x[:4], x[6:], x[5:9]]) == 0
    assert ran([record], [x[::2], x[::2], x[::-2]]) == 0
    assert x.tolist() == list(range(10))
    assert ran([record_of(loop, 3, stops=True)], [x, x, x]) == 0
    assert ran([record], [x, x, x]) == 1
    assert x.tolist() == list(range(0, 20, 2))
    assert ran([record, record_of(loop, 3)], [x, x, x], 1) == 2


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_elements_are_walked_over_by_the_same_steps(count):
    """By steps of 0 a loop takes a result for a fold, whose bits may be others."""
    loop = inner_loop(np.multiply, (np.dtype(complex),) * 3)
    x, y, out = (np.full(count, 1e308 * (1 + 1j)) for _ in range(3))
    with np.errstate(all="ignore"):
        expected = x * y
        ran([record_of(loop, 3)], [x, y, out])
    assert p.bits(out) == p.bits(expected)


def test_loops_whose_bits_depend_on_steps_get_adjacent_elements():
    loop = inner_loop(np.sin, (np.dtype(float),) * 2)
    x = np.arange(20.0)
    assert ran([record_of(loop, 2, matters=True)], [x[::2], np.zeros(10)]) == 0
    assert ran([record_of(loop, 2, matters=False)], [x[::2], np.zeros(10)]) == 1
    assert ran([record_of(loop, 2, matters=True)], [x[:10], np.zeros(10)]) == 1


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "negative", "square"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_what_lies_backwards_has_the_bits_of_numpys_ufuncs(name: str, dtype: str) -> None:
    array = np.random.default_rng(3).random((4000, 6)).astype(dtype) + np.float32(0.1)
    x = array[:, ::-1]
    root = p.apply("add", p.apply(name, leaf(x, x.shape, x.dtype)), Const(0))
    (bound,) = p.bound([root], 1 << 12)
    expected = [p.bits(getattr(np, name)(x) + 0)]
    assert stretched(bound, at_all=True)[0] == stretched(bound, at_all=False)[0] == expected
    kernel, outs = TiledKernel(bound.phase), bound.allocate()
    if kernel.run_jointly(bound.values, outs, 1, 2) is not None:
        assert [p.bits(out) for out in outs] == expected
    assert [p.bits(out) for out in bound.run(kernel)] == expected


def test_faults_are_told_by_step_and_a_step_under_a_mask_waits_for_numpy():
    add, divide = (inner_loop(f, (np.dtype(float),) * 3) for f in (np.add, np.divide))
    x, y, out = np.ones(5), np.zeros(5), np.zeros(5)
    steps = [record_of(add, 3), record_of(divide, 3), record_of(add, 3)]
    stop, raised = ran(steps, [x, y, out])
    assert stop == 3
    assert [number for number, _ in raised] == [1]
    steps[1] = record_of(divide, 3, stops=True)
    assert ran(steps, [x, y, out]) == 1
    assert ran(steps, [x, x, out]) == 3


def test_a_wrong_call_is_refused():
    with pytest.raises(TypeError, match="list of arrays"):
        native.run_stretch((), np.zeros(0), 0)
    with pytest.raises(ValueError, match="number of a record"):
        native.run_stretch([], np.zeros((2, 9), np.int64), 3)


# ---------------------------------------------------------------- phases


def stretched(bound: p.Bound, *, at_all: bool) -> tuple[list[bytes], set[tuple[int, str]]]:
    """Return the bits and the faults of a phase, all of whose tiles are run in stretches or not."""
    kernel = TiledKernel(bound.phase)
    faults: set[tuple[int, str]] = set()
    run = kernel.run
    kernel.run = lambda *args: faults.update(run(*args))  # type: ignore[method-assign, func-returns-value]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiled, "LEAST_TILES", 1 << 62)
        patch.setattr(tiled, "CALL_SECONDS", 1e9 if at_all else 0.0)
        bound.run(kernel)  # the calls are known to be short after this one
        faults.clear()
        outs = bound.run(kernel)
    return [p.bits(x) for x in outs], faults


@many
@given(p.programs(), st.sampled_from((1, 4096)))
def test_a_phase_has_the_bits_and_the_faults_of_its_single_calls(roots, tile_bytes):
    for bound in p.bound(roots, tile_bytes):
        assert stretched(bound, at_all=True) == stretched(bound, at_all=False), bound.phase


def filled(dtype: str = "f8", rows: int = 4096) -> Any:
    array = content(dtype, (rows, 16))
    return leaf(array, array.shape, array.dtype)


def parts_of(*roots: Any) -> list[tuple[int, int, bool]]:
    """Return the stretches of the phase that computes these, and whether they are run in C."""
    (bound,) = p.bound(list(roots), 1 << 16)
    first = len(bound.phase.inputs)
    slots = {first + k for k in range(len(bound.phase.steps))}
    rows = {o.slot for o in bound.phase.outputs if not o.partial}
    found = stretches_of(bound.phase, kinds_of(bound.phase, bound.values), slots - rows, rows)
    return [] if found is None else [(x.first, x.stop, x.records is not None) for x in found.parts]


def test_ufuncs_casts_and_where_are_one_stretch():
    x, y = filled(), filled("f4")
    mask = p.apply("greater", x, Const(0.5))
    wide = make(CAST, (y,), (), y.shape, x.dtype)
    both = p.apply("multiply", x, wide)
    root = make(WHERE, (mask, both, Const(0)), (), x.shape, x.dtype)
    assert parts_of(root) == [(0, 4, True)]


def test_what_only_numpy_runs_parts_stretches():
    x = filled()
    both = p.apply("square", x)
    half = make(CAST, (both,), (), x.shape, np.dtype("f2"))
    root = p.apply("add", p.apply("negative", half), Const(1))
    assert parts_of(root) == [(0, 1, True), (1, 2, False), (2, 4, True)]


@pytest.mark.parametrize("beyond", [False, True])
@pytest.mark.parametrize("code", ["i1", "u2", "i4", "i8", "u8"])
def test_what_stands_for_a_float_that_is_no_integer_is_numpys_to_choose(code, beyond):
    array = np.linspace(0, 100, 4096 * 16).reshape(4096, 16)
    array[7, 3] = np.nan if beyond else 2.5
    array[9, 3] = 1e30 if beyond else 3.5
    x = leaf(array, array.shape, array.dtype)
    whole = make(CAST, (p.apply("floor", x),), (), x.shape, np.dtype(code))
    root = p.apply("add", whole, Const(1))
    assert parts_of(root) == [(0, 3, True)]
    (bound,) = p.bound([root], 1 << 14)
    assert stretched(bound, at_all=True) == stretched(bound, at_all=False)


def test_a_ufunc_of_the_users_own_is_numpys_to_call():
    x = filled()
    own = elementwise_of(np.frompyfunc(abs, 1, 1))  # of which nobody knows what its loop needs
    assert own.name.startswith("foreign.")
    foreign = make(replace(own, ufunc=np.absolute), (x,), (), x.shape, x.dtype)
    root = p.apply("negative", p.apply("square", foreign))
    assert parts_of(root) == [(0, 1, False), (1, 3, True)]


@pytest.mark.parametrize("beyond", [False, True])
def test_what_a_mask_leaves_out_tells_nothing(beyond):
    x, y = filled(), content("f8", (4096, 16), 1)
    mask = y != 0
    mask[100, 3] = beyond
    y[100, 3] = 0.0
    y, mask = (leaf(a, a.shape, a.dtype) for a in (y, mask))
    divide = lookup("divide")
    masked = make(divide, (p.apply("add", x, Const(1.0)), y, mask), CHOSEN, x.shape, x.dtype)
    assert parts_of(p.apply("negative", masked)) == [(0, 3, True)]
    (bound,) = p.bound([p.apply("negative", masked)], 1 << 16)
    (found, faults), (expected, told) = (stretched(bound, at_all=a) for a in (True, False))
    assert found == expected
    assert faults == told
    assert ((1, "divide by zero") in faults) == beyond


def test_short_calls_become_stretches_while_a_phase_runs(monkeypatch):
    (bound,) = p.bound([p.apply("negative", p.apply("square", filled()))], 1 << 14)
    kernel = TiledKernel(bound.phase)
    called: list[int] = []
    monkeypatch.setattr(
        tiled, "run_stretch", lambda *given: called.append(1) or run_stretch(*given)
    )
    monkeypatch.setattr(tiled, "LEAST_TILES", 1 << 62)
    monkeypatch.setattr(tiled, "CALL_SECONDS", 1e9)
    outs = bound.run(kernel)
    assert called
    assert [p.bits(x) for x in outs] == [p.bits(x) for x in p.expected(bound.exprs)]


def test_an_integer_beyond_a_dtype_is_numpys_error(monkeypatch):
    monkeypatch.setattr(tiled, "LEAST_TILES", 1 << 62)
    monkeypatch.setattr(tiled, "CALL_SECONDS", 1e9)
    x = filled("u1")
    (bound,) = p.bound([p.apply("negative", p.apply("add", x, Const(3)))], 1 << 12)
    kernel = TiledKernel(bound.phase)
    bound.run(kernel)
    values = [v if isinstance(v, np.ndarray) else 300 for v in bound.values]
    with pytest.raises(OverflowError, match="300"):
        replace(bound, values=values).run(kernel)


def test_what_a_constant_loses_in_its_loop_is_told_of_at_the_step_that_reads_it():
    (bound,) = p.bound([p.apply("add", p.apply("negative", filled("f4")), Const(10**60))], 1 << 14)
    single = stretched(bound, at_all=False)
    assert (1, "overflow") in single[1]
    assert stretched(bound, at_all=True) == single
