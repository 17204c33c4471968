"""The Numba lowering gives the bits of the tiled one, whatever lies where."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.expr.geometry import overlap
from dnumpy.kernels import numba as lowering
from dnumpy.kernels.emit import CHUNK
from dnumpy.kernels.numba import NumbaKernel, supports
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.ops.families import lookup
from dnumpy.ops.table import ARANGE, CAST, FULL
from dnumpy.rewrite import phase as program
from dnumpy.rewrite.phase import Access, Input, Output, ReduceParams, Step
from tests.kernels import phases as p

compiling = settings(
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],  # shrinking would compile hundreds of kernels
    suppress_health_check=list(HealthCheck),
)


class Quiet:
    """A Numba kernel of whose faults nobody wants to know: it does not run again tiled."""

    def __init__(self, phase: Any) -> None:
        self.kernel = NumbaKernel(phase)
        self.compiled = 0

    def run(self, values: Any, outs: Any, lo: int, hi: int, origin: int = 0) -> None:
        variant = self.kernel.variant_for(values, outs)
        done = variant is not None and variant.run(values, outs, lo, hi, origin, ())
        self.compiled += done
        if not done:
            self.kernel.tiled.run(values, outs, lo, hi, origin)


def stored(array: Any) -> Expr:
    array = np.asarray(array)
    return leaf(array, array.shape, array.dtype)


def chain(x: Expr, scale: float) -> Expr:
    """Return exp(x * scale) + x."""
    return p.apply("add", p.apply("exp", p.apply("multiply", x, Const(scale))), x)


def only(root: Expr, tile_bytes: int = 1 << 18) -> p.Bound:
    (found,) = p.bound([root], tile_bytes)
    return found


@settings(compiling, max_examples=60)
@given(p.programs(), st.sampled_from((1, 4096, 1 << 18)), st.lists(st.integers(1, 50), max_size=3))
def test_a_compiled_phase_has_the_bits_of_the_tiled_one_in_any_partition(roots, tile_bytes, cuts):
    for bound in p.bound(roots, tile_bytes):
        with np.errstate(all="ignore"):
            tiled = bound.run(TiledKernel(bound.phase))
            for parts in ([], cuts):
                found = bound.run(Quiet(bound.phase), parts)
                assert [p.bits(x) for x in found] == [p.bits(x) for x in tiled], bound.phase


@settings(compiling, max_examples=60)
@given(p.short_folds(), st.sampled_from((1, 1 << 18)), st.lists(st.integers(1, 50), max_size=3))
def test_folds_of_a_few_last_entries_have_the_bits_of_the_tiled_ones(roots, tile_bytes, cuts):
    for bound in p.bound(roots, tile_bytes):
        with np.errstate(all="ignore"):
            tiled = bound.run(TiledKernel(bound.phase))
            found = bound.run(Quiet(bound.phase), cuts)
        assert [p.bits(x) for x in found] == [p.bits(x) for x in tiled], bound.phase


@settings(compiling, max_examples=30)
@given(p.programs(folds=False))
def test_elementwise_results_have_numpys_bits(roots):
    for bound in p.bound(roots, 4096):
        with np.errstate(all="ignore"):
            found = bound.run(Quiet(bound.phase))
            expected = p.expected(bound.exprs)
        assert [p.bits(x) for x in found] == [p.bits(x) for x in expected], bound.phase


@pytest.mark.parametrize("name", [*p.UNARY, *(n for n in p.BINARY if "bitwise" not in n)])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_special_values_meet_every_op_as_in_numpy(name, dtype):
    pairs = np.array(list(itertools.product(p.SPECIALS, repeat=2)) * 3)
    with np.errstate(all="ignore"):
        a, b = (stored(pairs[:, k].astype(dtype)) for k in (0, 1))
    result = p.apply(name, a) if name in p.UNARY else p.apply(name, a, b)
    bound = only(result)
    quiet = Quiet(bound.phase)
    with np.errstate(all="ignore"):
        (found,) = bound.run(quiet)
        (expected,) = p.expected([result])
    assert p.bits(found) == p.bits(expected)
    assert quiet.compiled == 1


@pytest.mark.parametrize("rest", [(), (4,), (700,), (1100,)])
@pytest.mark.parametrize("name", ["add", "maximum", "multiply", "logical_or"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "?"])
def test_folds_have_the_bits_of_the_tiled_ones(rest, name, dtype):
    array = p.filled(np.random.default_rng(5), (40, *rest), np.dtype(dtype), plain=True)
    x = stored(array)
    for axis in [(0,), tuple(range(array.ndim))] + [(1,)] * bool(rest):
        bound = only(p.fold(name, x, axis, keepdims=False), 7 * 8 * max(1, int(np.prod(rest))))
        quiet = Quiet(bound.phase)
        found, expected = bound.run(quiet), bound.run(TiledKernel(bound.phase))
        assert [p.bits(o) for o in found] == [p.bits(o) for o in expected]
        assert quiet.compiled == 1


def test_scattered_operands_of_numpys_loops_are_read_as_numpy_reads_them():
    array = np.random.default_rng(8).standard_normal((90, 120)).T
    power = p.apply("power", Const(1.5), stored(array))
    bound = only(p.apply("add", power, Const(1.0)))
    (found,) = bound.run(Quiet(bound.phase))
    np.testing.assert_array_equal(found, np.power(1.5, array) + 1.0)


@pytest.mark.parametrize("wanted", ["f8", "f4", "i8"])
@pytest.mark.parametrize("axis", [(0, 1), (1,)])
def test_a_fold_works_in_the_dtype_that_was_asked_for(wanted, axis):
    array = (
        np.random.default_rng(9).integers(-5, 5, (40, 700)).astype("f4" if wanted != "i8" else "i4")
    )
    shape = tuple(n for k, n in enumerate(array.shape) if k not in axis)
    params = ReduceParams(axis, False, np.dtype(wanted), None, masked=False)
    bound = only(make(lookup("add.reduce"), (stored(array),), params, shape, np.dtype(wanted)))
    quiet = Quiet(bound.phase)
    (found,) = bound.settled(bound.run(quiet))
    np.testing.assert_array_equal(found, array.sum(axis=axis, dtype=wanted))
    assert quiet.compiled == 1


def test_arithmetic_of_booleans_is_logical_all_the_way():
    truth = np.array([True, False] * 30)
    x = stored(truth)
    both = p.apply("add", p.apply("multiply", x, x), x)
    bound = only(p.apply("subtract", both, p.apply("multiply", Const(0.5), x)))
    quiet = Quiet(bound.phase)
    (found,) = bound.run(quiet)
    np.testing.assert_array_equal(found, (truth * truth + truth) - 0.5 * truth)
    assert quiet.compiled == 1


def nearest(points: np.ndarray, centres: np.ndarray) -> tuple[Expr, Expr]:
    """Return the squared distances and the index of the nearest centre."""
    x, c = stored(points[:, None, :]), stored(centres[None])
    squares = p.apply("square", p.apply("subtract", x, c))
    distances = p.fold("add", squares, (2,), keepdims=False)
    return distances, p.pick("argmin", distances, 1, keepdims=False)


@pytest.mark.parametrize("count", [2, 3, 7, 8, 12, 16])
@pytest.mark.parametrize("tile_bytes", [1, 1 << 18])
def test_nearest_centres_are_found_in_one_kernel_with_numpys_bits(count, tile_bytes):
    rng = np.random.default_rng(count)
    points, centres = rng.standard_normal((3000, count)), rng.standard_normal((11, count))
    distances = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2)
    for chosen in ((0,), (1,), (0, 1)):
        roots = nearest(points, centres)
        (bound,) = p.bound([roots[k] for k in chosen], tile_bytes)
        quiet = Quiet(bound.phase)
        found = bound.run(quiet)
        assert quiet.compiled == 1
        for k, array in zip(chosen, found, strict=True):
            assert p.bits(array) == p.bits((distances, distances.argmin(axis=1))[k])


@pytest.mark.parametrize("name", ["maximum", "minimum", "multiply", "logical_or", "add"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "?"])
def test_folds_of_a_few_last_entries_are_numpys(name, dtype):
    pixels = p.filled(np.random.default_rng(6), (40, 30, 3), np.dtype(dtype), plain=True)
    x = stored(pixels)
    doubled = x if dtype == "?" else p.apply("add", x, x)
    result = p.fold(name, doubled, (2,), keepdims=True)
    bound = only(result)
    quiet = Quiet(bound.phase)
    (found,) = bound.run(quiet)
    assert quiet.compiled == 1
    assert p.bits(found) == p.bits(p.expected([result])[0])


@pytest.mark.parametrize("name", ["argmin", "argmax"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u8", "?"])
@pytest.mark.parametrize("width", [2, 5, 16, 37, 1500])
def test_the_first_of_equals_and_the_first_nan_are_picked_as_in_numpy(name, dtype, width):
    rng = np.random.default_rng(width)
    array = rng.integers(0, 4, (300, width)).astype(dtype)
    if np.dtype(dtype).kind == "f":
        array[rng.random(array.shape) < 1 / width] = np.nan
        array[::7] = np.inf
        array[1::7] = -0.0
        array[1::7, ::3] = 0.0
    x = stored(array)
    same = x if dtype == "?" else p.apply("multiply", x, Const(1))
    bound = only(p.pick(name, same, 1, keepdims=False))
    quiet = Quiet(bound.phase)
    (found,) = bound.run(quiet)
    np.testing.assert_array_equal(found, getattr(array, name)(axis=1))
    assert quiet.compiled == 1


@pytest.mark.parametrize("name", ["multiply", "add", "subtract"])
@pytest.mark.parametrize("dtype", ["i8", "i4", "i2"])
def test_integers_that_wrap_around_are_compared_as_what_they_became(name, dtype):
    x = stored(p.filled(np.random.default_rng(8), (500,), np.dtype(dtype), plain=False))
    wrapped = p.apply(name, p.apply("square", x), x)
    result = p.apply("minimum", wrapped, p.apply(name, wrapped, p.apply("negative", x)))
    bound = only(p.apply("less", p.apply("square", x), result))
    quiet = Quiet(bound.phase)
    (found,) = bound.run(quiet)
    assert p.bits(found) == p.bits(p.expected(bound.exprs)[0])
    assert quiet.compiled == 1


def test_softmax_runs_as_one_kernel():
    x = stored(np.random.default_rng(1).standard_normal((50, 900)))
    top = p.fold("maximum", x, (1,), keepdims=True)
    grown = p.apply("exp", p.apply("subtract", x, top))
    result = p.apply("divide", grown, p.fold("add", grown, (1,), keepdims=True))
    bound, array = only(result), x.value
    quiet = Quiet(bound.phase)
    (found,) = bound.run(quiet)
    e = np.exp(array - array.max(1, keepdims=True))
    np.testing.assert_allclose(found, e / e.sum(1, keepdims=True), rtol=1e-13)
    assert quiet.compiled == 1


def test_other_extents_and_constants_need_no_other_machine_code():
    sources = set()
    for rows, scale in ((1000, 2.0), (77, -0.0), (200_000, 1.0)):
        bound = only(chain(stored(np.ones(rows)), scale))
        sources.add(NumbaKernel(bound.phase).variant_for(bound.values, bound.allocate()).source)
    assert len(sources) == 1


def test_outputs_may_lie_in_a_region_of_a_larger_array():
    x = stored(np.random.default_rng(2).random((60, 700)))
    bound = only(chain(x, 0.5))
    memory = np.full((62, 702), 7.0)
    quiet = Quiet(bound.phase)
    quiet.run(bound.values, [memory[1:-1, 1:-1]], 0, 60)
    assert quiet.compiled == 1
    np.testing.assert_array_equal(memory[1:-1, 1:-1], np.exp(x.value * 0.5) + x.value)
    memory[1:-1, 1:-1] = 7.0
    assert (memory == 7.0).all()


def aligned(shape: tuple[int, ...], dtype: Any, offset: int = 0) -> np.ndarray:
    """Return memory that begins ``offset`` bytes after a line of the caches."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 128, np.uint8)
    start = -memory.ctypes.data % 64 + offset
    return memory[start : start + size].view(dtype).reshape(shape)


@pytest.mark.parametrize("shape", [(5003,), (9, 1000), (9, 1001), (9, 1640), (300, 24), (3, 8, 90)])
@pytest.mark.parametrize("offset", [0, 8])
def test_outputs_written_past_the_caches_are_the_same(monkeypatch, shape, offset):
    x = stored(np.random.default_rng(6).standard_normal(shape))
    y = p.apply("add", p.apply("multiply", x, Const(3.0)), x)
    single = make(CAST, (y,), (), shape, np.dtype("f4"))
    roots = [p.apply("exp", y), y, single, p.apply("greater", y, Const(0.5))]
    (bound,) = p.bound(roots, 1 << 13)
    monkeypatch.setattr(lowering, "streamed_bytes", lambda: 1)
    quiet = Quiet(bound.phase)
    expected = bound.run(TiledKernel(bound.phase))
    outs = [aligned(out.shape, out.dtype, offset) for out in bound.allocate()]
    quiet.run(bound.values, outs, 0, bound.phase.rows)
    assert quiet.compiled == 1
    assert [p.bits(out) for out in outs] == [p.bits(e) for e in expected]


@pytest.mark.parametrize("shape", [(9, 1000), (9, 1001), (40, 131), (3, 40_000), (7, 2, 300)])
@pytest.mark.parametrize("offset", [0, 8])
def test_units_walked_several_times_write_past_the_caches_too(monkeypatch, shape, offset):
    x = stored(np.random.default_rng(9).standard_normal(shape))
    axes = tuple(range(1, len(shape)))
    centred = p.apply("subtract", x, p.fold("maximum", x, axes, keepdims=True))
    shares = p.apply("divide", centred, p.fold("add", centred, axes, keepdims=True))
    single = make(CAST, (shares,), (), shape, np.dtype("f4"))
    (bound,) = p.bound([shares, single], 1 << 13)
    monkeypatch.setattr(lowering, "streamed_bytes", lambda: 1)
    quiet = Quiet(bound.phase)
    variant = NumbaKernel(bound.phase).variant_for(bound.values, bound.allocate())
    assert "prefetch" in variant.source
    expected = bound.run(TiledKernel(bound.phase))
    outs = [aligned(out.shape, out.dtype, offset) for out in bound.allocate()]
    quiet.run(bound.values, outs, 0, bound.phase.rows)
    assert quiet.compiled >= 1
    assert [p.bits(out) for out in outs] == [p.bits(e) for e in expected]


def test_only_large_outputs_in_large_units_are_written_past_the_caches(monkeypatch):
    x = stored(np.random.default_rng(7).standard_normal((40, 1000)))
    bound = only(p.apply("add", p.apply("multiply", x, Const(3.0)), x))
    variant = NumbaKernel(bound.phase).variant_for(bound.values, bound.allocate())
    assert not variant._streams([aligned((40, 1000), "f8")])
    monkeypatch.setattr(lowering, "streamed_bytes", lambda: 1)
    assert variant._streams([aligned((40, 1000), "f8")])
    assert variant._streams([aligned((40, 1001), "f8")[:, 1:]])  # rows begin anywhere
    narrow = stored(np.random.default_rng(7).standard_normal((40, 8)))
    few = p.apply("divide", narrow, p.fold("add", narrow, (1,), keepdims=True))
    bound = only(few)
    variant = NumbaKernel(bound.phase).variant_for(bound.values, bound.allocate())
    assert not variant._streams([aligned((40, 8), "f8")])  # of which each row is a line


def test_an_output_over_an_input_is_left_to_numpy():
    array = np.random.default_rng(3).random(5000)
    before = array.copy()
    bound = only(chain(stored(array), 2.0))
    variant = NumbaKernel(bound.phase).variant_for(bound.values, [array])
    assert variant.run(bound.values, [array.copy()], 0, 5000, 0, ())
    assert not variant.run(bound.values, [array], 0, 5000, 0, ())
    np.testing.assert_array_equal(array, before)


def test_faults_are_those_of_the_tiled_lowering():
    x = stored(np.array([1.0, 0.0, -1.0, 1e308] * 100))
    bound = only(p.apply("log", p.apply("divide", Const(1.0), p.apply("multiply", x, Const(10.0)))))
    expected = TiledKernel(bound.phase).run(bound.values, bound.allocate(), 0, 400)
    assert {kind for _, kind in expected} == {"overflow", "divide by zero", "invalid value"}
    assert NumbaKernel(bound.phase).run(bound.values, bound.allocate(), 0, 400) == expected
    tame = only(chain(stored(np.ones(400)), 1.0))
    assert NumbaKernel(tame.phase).run(tame.values, tame.allocate(), 0, 400) == set()


def test_what_does_not_fit_an_integer_is_cast_as_numpy_casts_it():
    array = np.array([np.nan, np.inf, -np.inf, 1e300, -1e300, 3.7, -3.7, 2.0**31] * 20)
    for code in ("i4", "i8", "u1", "f4"):
        moved = p.apply("add", stored(array), Const(0.5))
        bound = only(make(CAST, (moved,), (), array.shape, np.dtype(code)))
        with np.errstate(all="ignore"):
            assert p.bits(bound.run(Quiet(bound.phase))[0]) == p.bits((array + 0.5).astype(code))


def test_generated_rows_depend_on_their_number_alone():
    index = make(ARANGE, (), (3, 2), (5000,), np.dtype("i8"))
    flat = make(FULL, (), (0.25,), (5000,), np.dtype("f8"))
    bound = only(p.apply("multiply", index, flat), tile_bytes=800)
    quiet = Quiet(bound.phase)
    for cuts in ([], [1, 7, 30]):
        (found,) = bound.run(quiet, cuts)
        np.testing.assert_array_equal(found, np.arange(3, 10003, 2) * 0.25)
    assert quiet.compiled == 5


def test_threads_share_a_kernel_without_sharing_its_scratch():
    x = stored(np.random.default_rng(4).random((400, 600)))
    bound = only(p.fold("add", chain(x, 0.1), (1,), keepdims=False), 50 * 4800)
    assert bound.phase.tiles == 8
    kernel, outs = NumbaKernel(bound.phase), bound.allocate()
    (expected,) = bound.run(TiledKernel(bound.phase))

    def part(lo: int) -> None:
        for _ in range(20):
            kernel.run(bound.values, outs, lo, lo + 50)

    threads = [threading.Thread(target=part, args=(lo,)) for lo in range(0, 400, 50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert p.bits(outs[0]) == p.bits(expected)


def test_units_are_walked_in_one_go_where_nothing_waits_in_a_buffer():
    values = np.random.default_rng(5).random((3, 3 * CHUNK + 7))
    x, inside, apart = map(stored, (values, values[:, 1 : CHUNK + 2], values[:, ::2]))
    crossed = stored(np.random.default_rng(6).random((5, CHUNK, 7)).transpose(0, 2, 1))
    product = p.apply("multiply", x, x)
    for root, whole in (
        (p.apply("add", product, Const(1.0)), True),
        (p.apply("multiply", inside, p.apply("add", inside, inside)), True),
        (p.apply("multiply", p.apply("add", product, x), p.apply("exp", product)), False),
        (p.apply("multiply", apart, p.apply("add", apart, apart)), True),
        (p.apply("multiply", crossed, p.apply("add", crossed, crossed)), False),
        (p.fold("add", product, (1,), keepdims=False), False),
    ):
        found = only(root)
        kernel, outs = NumbaKernel(found.phase), found.allocate()
        source = kernel.variant_for(found.values, outs).source
        assert (f"n > {CHUNK}" not in source) == whole
        (result,) = found.run(kernel)
        (expected,) = found.run(TiledKernel(found.phase))
        assert p.bits(result) == p.bits(expected)


def test_what_has_no_numba_lowering_says_so():
    fine = only(chain(stored(np.ones(10)), 1.0))
    assert supports(fine.phase, fine.values)
    halves = only(p.apply("add", stored(np.ones(10, "f2")), Const(1.0)))
    assert not supports(halves.phase, halves.values)


def test_overlap_is_seen_through_strides():
    base = np.zeros((10, 10))
    backwards = base[:, ::-1]
    assert overlap([backwards], [base[3:4]])
    assert not overlap([base[:5]], [base[5:]])


_PROGRAM = """
import sys
import numpy as np
from dnumpy.kernels.compile import compiled
source = '''def kernel(p, n, out):
    for i in range(n):
        store_f8(out, i, load_f8(p, i, 0, 2) * 2.0, 1, 2)
'''
a, out = np.arange(5.0), np.zeros(5)
code = compiled(source)
code(a.ctypes.data, 5, out.ctypes.data)
assert (out == 2 * a).all()
print(code.from_disk, "numba" in sys.modules)
"""


def test_a_fresh_process_makes_and_loads_machine_code_without_numba(tmp_path):
    env = {**os.environ, "DNUMPY_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}

    def said() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", _PROGRAM], env=env, capture_output=True, text=True, check=True
        )
        return done.stdout.split()

    assert said() == ["False", "False"]
    assert said() == ["True", "False"]
    (file,) = (tmp_path / "kernels").glob("*.o")
    file.write_bytes(file.read_bytes()[:-40])  # a file cut short is compiled anew
    assert said() == ["False", "False"]


@pytest.mark.parametrize("fold", ["add", "maximum"])
@pytest.mark.parametrize("width", [5, 40, 600])
def test_a_stored_column_is_folded_beside_wider_rows(width, fold):
    rng = np.random.default_rng(width)
    column, wide = rng.normal(size=(300, 1)), rng.normal(size=(300, width))
    ours = tuple(Input(Access.ROWS, x.shape, x.dtype) for x in (column, wide))
    add = Step(lookup("add"), (1, 0), (), wide.shape, wide.dtype)
    params = ReduceParams((0, 1), keepdims=False, dtype=None, initial=None, masked=False)
    folded = Step(lookup(f"{fold}.reduce"), (0,), params, (), wide.dtype)
    phase = program.Phase(300, 128, ours, (add, folded), (Output(2, False), Output(3, True)))
    bound = p.Bound(phase, [column, wide], ())
    kernel = NumbaKernel(phase)
    found = bound.run(kernel)
    assert kernel.latest is not None
    assert [p.bits(x) for x in found] == [p.bits(x) for x in bound.run(TiledKernel(phase))]
