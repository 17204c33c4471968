"""Phases whose tiles are computed in C have the bits and the faults of their single calls."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.config import config
from dnumpy.expr import race
from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.expr.geometry import Geometry
from dnumpy.kernels import tiled
from dnumpy.kernels.tile_loop import MISSES
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.ops.families import lookup
from dnumpy.ops.table import CAST, CHOSEN, FULL, VIEW, WHERE
from tests.kernels import multiplied
from tests.kernels import phases as p

if TYPE_CHECKING:
    from collections.abc import Sequence

    Told = set[tuple[int, str]]

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")
many = settings(deadline=None, max_examples=200, suppress_health_check=list(HealthCheck))


def by_calls(bound: p.Bound) -> tuple[list[np.ndarray], Told]:
    """Return what NumPy's single calls give, tile by tile, and what they tell of."""
    outs, rows = bound.allocate(), bound.phase.rows
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiled, "LEAST_TILES", 1 << 62)
        patch.setattr(tiled, "CALL_SECONDS", 0.0)
        faults = TiledKernel(bound.phase).run(bound.values, outs, 0, rows)
    return outs, faults


def in_c(bound: p.Bound, threads: int = 1, batch: int = 1) -> tuple[list[np.ndarray], Told | None]:
    outs = bound.allocate()
    return outs, TiledKernel(bound.phase).run_jointly(bound.values, outs, batch, threads)


def bits(arrays: Sequence[np.ndarray]) -> list[bytes]:
    return [p.bits(x) for x in arrays]


def agrees(bound: p.Bound, threads: int = 1, batch: int = 1) -> bool:
    """Check a run in C; False where there is none."""
    found, faults = in_c(bound, threads, batch)
    if faults is None:
        return False
    expected, told = by_calls(bound)
    assert bits(found) == bits(expected), bound.phase
    assert faults == told, bound.phase
    return True


def stored(array: np.ndarray) -> Any:
    return leaf(array, array.shape, array.dtype)


def only(*roots: Any, tile_bytes: int = 1 << 12) -> p.Bound:
    (bound,) = p.bound(list(roots), tile_bytes)
    assert bound.phase.tiles > 1
    return bound


def random(shape: tuple[int, ...], dtype: str = "f8", seed: int = 0, *, plain: bool = False) -> Any:
    return stored(p.filled(np.random.default_rng(seed), shape, np.dtype(dtype), plain=plain))


@many
@given(
    st.one_of(p.programs(), p.short_folds()),
    st.sampled_from((1, 4096)),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_a_phase_has_the_bits_and_the_faults_of_its_single_calls(
    roots: list[Expr], tile_bytes: int, threads: int, batch: int
) -> None:
    for bound in p.bound(roots, tile_bytes):
        event("in C" if agrees(bound, threads, batch) else "by calls")


@many
@given(p.programs(), st.lists(st.integers(1, 6), max_size=3))
def test_the_bits_do_not_depend_on_where_rows_are_cut(roots: list[Expr], cuts: list[int]) -> None:
    for bound in p.bound(roots, 1):
        whole, _ = by_calls(bound)
        assert bits(bound.run(TiledKernel(bound.phase), cuts)) == bits(whole), bound.phase


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_ufuncs_casts_and_where_go_through_all_tiles(dtype: str, threads: int) -> None:
    x, y, column = random((999, 40), dtype), random((999, 40), "f8", 1), random((999, 1), "f4", 2)
    added = p.apply("add", p.apply("multiply", y, column), random((40,), "f8", 3))
    mask = p.apply("greater", x, Const(0))
    chosen = make(WHERE, (mask, added, Const(0.5)), (), y.shape, y.dtype)
    narrow = make(CAST, (chosen,), (), y.shape, np.dtype("f4"))
    bound = only(narrow, mask, p.apply("sqrt", added))
    assert agrees(bound, threads)


FOLDED = [
    ((999, 40), (0,)),
    ((999, 40), (0, 1)),
    ((999, 40), (1,)),
    ((999, 700), (1,)),
    ((20000,), (0,)),
    ((99, 20, 30), (0,)),
    ((99, 20, 30), (1,)),
    ((99, 20, 30), (2,)),
    ((99, 20, 30), (0, 1)),
    ((99, 20, 30), (0, 2)),
    ((99, 20, 30), (1, 2)),
    ((99, 20, 30), (0, 1, 2)),
    ((999, 1, 30), (0, 2)),
]


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "?"])
@pytest.mark.parametrize("name", ["add", "maximum", "minimum", "logical_or"])
@pytest.mark.parametrize(("shape", "axes"), FOLDED)
def test_folds_go_through_all_tiles(
    shape: tuple[int, ...], axes: tuple[int, ...], name: str, dtype: str, keepdims: bool
) -> None:
    x = random(shape, dtype)
    other = p.apply("add", x, random(shape[-1:], dtype, 1)) if dtype != "?" else x
    folded = p.fold(name, other, axes, keepdims=keepdims)
    if name == "logical_or" and dtype != "?":
        bound = only(folded)
        assert in_c(bound)[1] is None
        return
    assert folded is not None
    bound = only(folded)
    assert agrees(bound, 2), bound.phase


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("axes", [(0, 1, 2), (1, 2), (2,)])
def test_sums_of_complex_numbers_are_numpys(dtype: str, axes: tuple[int, ...]) -> None:
    operand = random((211, 7, 37), dtype)
    made = p.apply("multiply", operand, operand)
    assert agrees(only(p.fold("add", made, axes, keepdims=False), tile_bytes=1 << 14))


@pytest.mark.parametrize("few", [0.0, 1e-4, 0.3, 1.0])
@pytest.mark.parametrize("threads", [1, 2])
def test_what_a_mask_leaves_out_is_not_computed_and_not_told_of(few: float, threads: int) -> None:
    x = np.random.default_rng(5).uniform(1, 2, (400, 900))
    shown = np.random.default_rng(6).random((400, 900)) < few
    x[~shown & (np.arange(900) % 7 == 0)] = 0.0
    given, mask = stored(x), stored(shown)
    quotient = make(lookup("divide"), (given, stored(x - 1), mask), CHOSEN, x.shape, x.dtype)
    filled = make(FULL, (), (0.5,), x.shape, x.dtype)
    kept = make(WHERE, (mask, quotient, filled), (), x.shape, x.dtype)
    total = p.fold("add", kept, (0, 1), keepdims=False)
    assert agrees(only(kept, total), threads)
    (found, _), _ = in_c(only(kept, total), threads)
    assert found[~shown].tolist() == [0.5] * int((~shown).sum())


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?"])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_sums_of_integers_wrap_around_as_numpys(
    dtype: str, axes: tuple[int, ...], order: Any
) -> None:
    array = p.filled(np.random.default_rng(0), (50, 6, 30), np.dtype(dtype), plain=False)
    x = stored(np.array(array, order=order))
    assert agrees(only(p.fold("add", x, axes, keepdims=False)), 2)
    assert agrees(only(p.fold("bitwise_xor", x, axes, keepdims=False)), 2)


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("name", ["add", "maximum", "logical_and"])
def test_any_byte_but_0_is_true(name: str, axes: tuple[int, ...]) -> None:
    array = np.resize(np.array([255, 0, 3, 1, 2, 0, 128], np.uint8), (4000, 8)).view(bool)
    bound = only(p.fold(name, stored(array), axes, keepdims=False))
    found, faults = in_c(bound, 2)
    assert faults == set()
    (settled,) = bound.settled(found)
    assert settled.tolist() == getattr(np, name).reduce(array.view(np.uint8) != 0, axes).tolist()
    (wide,), _ = in_c(only(make(CAST, (stored(array),), (), array.shape, np.dtype("f4"))))
    assert np.array_equal(wide, array.view(np.uint8) != 0)


@pytest.mark.parametrize("kept", [False, True])
def test_parts_of_rows_are_seen_where_they_lie(kept: bool) -> None:
    array = np.random.default_rng(0).random((4000, 6))
    shown = p.apply("negative", stored(array))
    geometry = Geometry(8, (4000, 3), (48, 16), array.dtype)
    again = Geometry(16, (4000, 2), (48, -16), array.dtype)
    view = make(VIEW, (shown,), tuple(geometry), geometry.shape, array.dtype)
    both = p.apply("add", make(VIEW, (view,), tuple(again), again.shape, array.dtype), Const(1.0))
    bound = only(both, *[shown] * kept)
    assert agrees(bound, 2)


@pytest.mark.parametrize("threads", [1, 2])
def test_each_step_tells_of_its_faults(threads: int) -> None:
    array = np.full((4000, 8), 2.0)
    array[3999, 7] = 0.0
    array[7, 1] = -1.0
    x = stored(array)
    bound = only(p.apply("sqrt", x), p.apply("divide", Const(1.0), x), p.apply("negative", x))
    _, faults = in_c(bound, threads)
    ops = [step.op.name for step in bound.phase.steps]
    words = {"sqrt": "invalid value", "divide": "divide by zero"}
    assert faults == {(ops.index(name), word) for name, word in words.items()}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("code", ["i1", "u2", "i4", "i8", "u8"])
def test_what_stands_for_a_float_that_is_no_integer_is_numpys_to_choose(
    code: str, threads: int
) -> None:
    array = np.linspace(0, 100, 4096 * 16).reshape(4096, 16)
    x = stored(array)
    root = p.apply("add", make(CAST, (p.apply("floor", x),), (), x.shape, np.dtype(code)), Const(1))
    bound = only(root)
    assert agrees(bound, threads)
    array[3000, 3], array[4001, 3] = np.nan, 1e30
    assert in_c(bound, threads)[1] is None
    kernel, outs = TiledKernel(bound.phase), bound.allocate()
    expected, told = by_calls(bound)
    assert kernel.run(bound.values, outs, 0, bound.phase.rows) == told
    assert told
    assert bits(outs) == bits(expected)


def test_a_constant_of_which_numpy_tells_something_is_left_to_it() -> None:
    bound = only(p.apply("negative", p.apply("add", random((4000, 8), "u1"), Const(3))))
    assert agrees(bound)
    values = [v if isinstance(v, np.ndarray) else 300 for v in bound.values]
    beyond = replace(bound, values=values)
    assert in_c(beyond)[1] is None
    with pytest.raises(OverflowError, match="300"):
        beyond.run(TiledKernel(bound.phase))


def test_what_shares_memory_with_a_result_is_computed_otherwise() -> None:
    memory = np.arange(5000.0)
    bound = only(p.apply("negative", p.apply("add", stored(memory[:4000]), Const(1.0))))
    kernel = TiledKernel(bound.phase)
    assert kernel.run_jointly(bound.values, [memory[500:4500]], 1, 2) is None
    assert np.array_equal(memory, np.arange(5000.0))


def test_what_can_never_run_is_tried_a_few_times_and_no_more() -> None:
    x = random((4000, 8), plain=True)
    half = make(CAST, (p.apply("negative", x),), (), x.shape, np.dtype("f2"))
    bound = only(half)
    kernel = TiledKernel(bound.phase)
    assert kernel.joins
    for _ in range(MISSES):
        assert kernel.run_jointly(bound.values, bound.allocate(), 1, 2) is None
    assert not kernel.joins
    assert bits(bound.run(kernel)) == bits(p.expected(bound.exprs))


def test_callers_at_the_same_time_all_get_their_results() -> None:
    x, y = random((3000, 100), plain=True), random((3000, 100), "f8", 1, plain=True)
    product = p.apply("multiply", p.apply("subtract", x, y), Const(2.0))
    bound = only(product, p.fold("add", product, (0,), keepdims=False), tile_bytes=1 << 14)
    expected, kernel = bits(by_calls(bound)[0]), TiledKernel(bound.phase)
    wrong: list[int] = []

    def call(number: int) -> None:
        for _ in range(30):
            outs = bound.allocate()
            if kernel.run_jointly(bound.values, outs, 1, 3) is None or bits(outs) != expected:
                wrong.append(number)

    callers = [threading.Thread(target=call, args=(k,)) for k in range(4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert wrong == []


@pytest.mark.modeless("a place's runs are shared out by this process alone")
@pytest.mark.parametrize("kernels", ["auto", "tiled"])
def test_a_program_runs_so_before_it_is_compiled(
    kernels: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Any] = []
    run = native.run_tiles
    monkeypatch.setattr(native, "run_tiles", lambda *given: calls.append(given[5]) or run(*given))
    monkeypatch.setattr(config, "threads", 2)
    monkeypatch.setattr(config, "kernels", kernels)
    array = np.random.default_rng(0).random((1300, 1000))
    x = dnumpy.array(array)
    with race.held():
        found = {float(dnumpy.abs(x * 3.0 - 1.0).max()) for _ in range(4)}
    assert found == {np.abs(array * 3.0 - 1.0).max()}
    assert max(calls) == 2


@p.with_timer
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_does_not_wait_for_the_last_tile(threads: int) -> None:
    bound = p.long_work()
    kernel, outs = TiledKernel(bound.phase), bound.allocate()
    untouched = outs[0][-1]
    with p.interrupted():
        kernel.run_jointly(bound.values, outs, 4, threads)
    assert outs[0][-1] == untouched
    assert outs[0][0] != untouched


def test_a_wrong_call_is_refused() -> None:
    records, moves = np.zeros((1, 10), np.int64), np.zeros((0, 2), np.int64)
    with pytest.raises(TypeError, match="list"):
        native.run_tiles((), records, moves, 1, 1, 1)
    with pytest.raises(ValueError, match="expected steps, tiles, and two moves for each value"):
        native.run_tiles([], records, moves, 0, 1, 1)
    with pytest.raises(ValueError, match="expected steps, tiles, and two moves for each value"):
        native.run_tiles([np.zeros(3)], records, moves, 1, 1, 1)


@many
@given(
    multiplied.programs(), st.sampled_from((1, 4096, 1 << 14)), st.integers(1, 4), st.integers(1, 5)
)
def test_products_have_the_bits_of_single_calls(roots, tile_bytes, threads, batch):
    for bound in p.bound(roots, tile_bytes):
        with np.errstate(all="ignore"):
            event(f"in C: {agrees(bound, threads, batch)}")


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_regression_is_computed_in_c(dtype, threads):
    gradient, chance = multiplied.regression(3_001, dtype)
    (bound,) = p.bound([gradient, chance], 1 << 14)
    assert bound.phase.multiplies
    assert agrees(bound, threads, 3)


def test_a_product_that_overflows_is_told_of_at_its_step():
    rows = stored(np.full((900, 7), 1e200))
    weights = stored(np.full(7, 1e200))
    made = multiplied.product(rows, weights)
    (bound,) = p.bound([p.apply("negative", made)], 1 << 12)
    found, faults = in_c(bound, 2)
    assert np.isinf(found[0]).all()
    assert faults == by_calls(bound)[1]
    assert (0, "overflow") in faults


@pytest.mark.parametrize(
    "name", ["exp", "log", "sqrt", "tanh", "power", "divide", "expm1", "square"]
)
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_what_a_loop_raises_is_told_of_whoever_raises_it(name, dtype):
    odd = np.array([1e3, -1e3, 0.0, 1e38, -1.0], dtype)
    for bad in odd:
        rows = np.ones(2_000, dtype)
        rows[1_500] = bad
        x = stored(rows)
        found = p.apply("negative", p.apply("absolute", p.apply("negative", x)) if bad > 0 else x)
        made = p.apply(name, found, x) if name in {"power", "divide"} else p.apply(name, found)
        agrees(only(made), 2)
