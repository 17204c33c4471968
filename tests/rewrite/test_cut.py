"""Cutting into stages changes nothing that anyone can see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy.config import config
from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.expr.walk import pending_in_order
from dnumpy.kernels import reference
from dnumpy.ops.families import elementwise_of, reduction_of
from dnumpy.ops.table import FULL, MATMUL, UPDATE
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.rewrite.phase import ReduceParams, verify
from dnumpy.rewrite.stages import FusedStage, WholeStage
from dnumpy.runtime import bound, local
from tests.strategies import programs

grains = st.builds(
    Grain, st.sampled_from((1, 8, 1 << 40)), st.sampled_from((16, 64, 1 << 18)), st.integers(1, 7)
)


def reference_value(expr: Expr, known: dict[int, np.ndarray]) -> np.ndarray:
    """Return what ``expr`` denotes, one op at a time on whole arrays."""
    for e in [*pending_in_order([expr])]:
        args = [_value(a, known) for a in e.args]
        known[id(e)] = reference.apply(e.op, args, e.params, e.shape, e.dtype)
    return _value(expr, known)


def _value(arg: Any, known: dict[int, np.ndarray]) -> Any:
    if isinstance(arg, Const):
        return arg.value
    return arg.value if arg.value is not None else known[id(arg)]


@settings(max_examples=200)
@given(programs(), st.data(), grains)
def test_executed_stages_equal_the_reference(
    exprs: list[Expr], data: st.DataObject, grain: Grain
) -> None:
    pending = [e for e in exprs if e.value is None]
    wanted = data.draw(st.lists(st.sampled_from(exprs), min_size=1, max_size=4, unique_by=id))
    kept = [(e, e.value, e.value.copy()) for e in exprs if e.value is not None]
    known: dict[int, np.ndarray] = {}
    expected = {id(e): reference_value(e, known).copy() for e in wanted}
    order = pending_in_order(wanted)
    wanted_pending = [e for e in wanted if e.value is None]
    stages = cut(order, wanted_pending, grain)
    for stage in stages:
        if isinstance(stage, FusedStage):
            verify(stage.phase)
    local.execute(stages)
    for e in wanted:
        got = bound.value_of(e)
        assert got.dtype == e.dtype
        assert got.shape == e.shape
        np.testing.assert_array_equal(got, expected[id(e)])
    for e, memory, before in kept:
        assert e.value is memory
        np.testing.assert_array_equal(memory, before)
    assert pending == [e for e in pending if isinstance(e, Expr)]


@settings(max_examples=200)
@given(programs(), st.data(), grains)
def test_every_operand_is_there_before_its_user_and_every_output_is_given_once(
    exprs: list[Expr], data: st.DataObject, grain: Grain
) -> None:
    wanted = data.draw(st.lists(st.sampled_from(exprs), min_size=1, unique_by=id))
    wanted = [e for e in wanted if e.value is None]
    given_so_far: set[int] = set()
    for stage in cut(pending_in_order(wanted), wanted, grain):
        outputs = stage.outputs if isinstance(stage, FusedStage) else (stage.expr,)
        reads = stage.inputs if isinstance(stage, FusedStage) else stage.expr.args
        placed = [] if isinstance(stage, WholeStage) else [*stage.placed.values()]
        for read in [*reads, *[u.args[0] for u in placed]]:
            assert isinstance(read, Const) or _is_there(read, given_so_far)
        for out in outputs:
            assert id(out) not in given_so_far
        given_so_far.update(id(e) for e in outputs)
    for e in wanted:
        assert _is_there(e, given_so_far)


def _is_there(expr: Expr, given_so_far: set[int]) -> bool:
    while expr.value is None and id(expr) not in given_so_far and expr.op.name == "view":
        expr = expr.operands()[0]
    return expr.value is not None or id(expr) in given_so_far


def _shared_chain(rows: int) -> tuple[Expr, Expr, Expr]:
    values = np.arange(rows, dtype=np.float64)
    x = leaf(values, values.shape, values.dtype)
    root = make(elementwise_of(np.sqrt), (x,), (), x.shape, x.dtype)
    twice = make(elementwise_of(np.multiply), (root, Const(2.0)), (), x.shape, x.dtype)
    params = ReduceParams((0,), keepdims=False, dtype=None, initial=None, masked=False)
    total = make(reduction_of(np.add), (twice,), params, (), x.dtype)
    return root, twice, total


def test_an_elementwise_chain_and_its_sum_are_one_phase() -> None:
    _, twice, total = _shared_chain(1000)
    stages = cut(pending_in_order([total, twice]), [total, twice], Grain(1, 512, 1 << 40))
    assert len(stages) == 1
    (stage,) = stages
    assert isinstance(stage, FusedStage)
    assert {e.op.name for e in stage.steps} == {"sqrt", "multiply", "add.reduce"}
    assert stage.phase.tiles > 1


def _centred(shape: tuple[int, int], *, read_again: bool) -> tuple[list[Expr], np.ndarray]:
    """Return rows minus their means, or just the square roots of the means."""
    values = np.random.default_rng(2).random(shape)
    x = leaf(values, shape, values.dtype)
    column, params = (shape[0], 1), ReduceParams((1,), True, None, None, masked=False)
    total = make(reduction_of(np.add), (x,), params, column, x.dtype)
    mean = make(elementwise_of(np.divide), (total, Const(shape[1])), (), column, x.dtype)
    if read_again:
        found = make(elementwise_of(np.subtract), (x, mean), (), shape, x.dtype)
        return [found], values - values.sum(1, keepdims=True) / shape[1]
    found = make(elementwise_of(np.sqrt), (mean,), (), column, x.dtype)
    return [found], np.sqrt(values.sum(1, keepdims=True) / shape[1])


@pytest.mark.parametrize("read_again", [True, False])
def test_a_small_op_is_in_a_phase_only_between_what_it_computes_and_what_reads_that(
    *, read_again: bool
) -> None:
    wanted, expected = _centred((40, 300), read_again=read_again)
    stages = cut(pending_in_order(wanted), wanted, Grain(1000, 1 << 14, 1 << 40))
    names = [
        [e.op.name for e in s.steps] if isinstance(s, FusedStage) else s.expr.op.name
        for s in stages
    ]
    together = [["add.reduce", "divide", "subtract"]]
    assert names == (together if read_again else [["add.reduce"], "divide", "sqrt"])
    local.execute(stages)
    np.testing.assert_allclose(wanted[0].value, expected, rtol=1e-12)


def test_what_nobody_wants_gets_no_memory() -> None:
    root, twice, total = _shared_chain(1000)
    stages = cut(pending_in_order([total]), [total], Grain(1, 512, 1 << 40))
    local.execute(stages)
    assert total.value is not None
    assert root.value is None
    assert twice.value is None


def test_a_value_is_computed_into_the_region_that_it_replaces() -> None:
    base = leaf(np.zeros(100), (100,), np.dtype(float))
    source = leaf(np.arange(50.0), (50,), np.dtype(float))
    value = make(elementwise_of(np.square), (source,), (), (50,), np.dtype(float))
    region = (200, (50,), (8,), np.dtype(float))
    update = make(UPDATE, (base, value), region, (100,), np.dtype(float))
    stages = cut(pending_in_order([update]), [update], Grain(1, 512, 1 << 40))
    fused = [s for s in stages if isinstance(s, FusedStage)]
    assert [list(s.placed.values()) for s in fused] == [[update]]
    del fused
    local.execute(stages)
    np.testing.assert_array_equal(update.value[25:75], np.arange(50.0) ** 2)
    assert not update.value[:25].any()
    assert not update.value[75:].any()


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "c8", "g"])
@pytest.mark.parametrize("shape", [(1000,), (300, 7)])
def test_any_number_of_threads_gives_the_same_bits(
    dtype: str, shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "INLINE_BYTES", 0)
    values = (np.random.default_rng(0).standard_normal(shape) * 100).astype(dtype)
    found = set()
    for threads in (1, 2, 3, 5):
        monkeypatch.setattr(config, "threads", threads)
        for axes in ((0,), tuple(range(values.ndim))):
            x = leaf(values, shape, values.dtype)
            squares = make(elementwise_of(np.multiply), (x, x), (), shape, values.dtype)
            params = ReduceParams(axes, keepdims=False, dtype=None, initial=None, masked=False)
            left = shape[1:] if len(axes) < values.ndim else ()
            total = make(reduction_of(np.add), (squares,), params, left, values.dtype)
            local.execute(cut(pending_in_order([total]), [total], Grain(1, 256, 1 << 40)))
            found.add((axes, tuple(map(repr, total.value.ravel()))))  # bytes would show padding
    assert len(found) == len({axes for axes, _ in found})


@pytest.mark.parametrize("name", ["subtract", "divide", "power", "arctan2", "hypot", "remainder"])
@pytest.mark.parametrize("axis", [(0,), (1,)])
def test_folds_that_depend_on_the_order_are_not_cut_by_rows(
    name: str, axis: tuple[int, ...]
) -> None:
    values = np.linspace(1.0, 2.0, 60).reshape(12, 5)
    ufunc = getattr(np, name)
    params = ReduceParams(axis, False, None, None, masked=False)
    stored = leaf(values, values.shape, values.dtype)
    expected = ufunc.reduce(values, axis=axis)
    made = make(reduction_of(ufunc), (stored,), params, expected.shape, expected.dtype)
    stages = cut([made], [made], Grain(1, 64, 3))
    assert isinstance(stages[0], WholeStage) == (axis == (0,))
    local.execute(stages)
    np.testing.assert_array_equal(made.value, expected)


def _product(rows: int, columns: int) -> tuple[Expr, Expr]:
    rng = np.random.default_rng(rows)
    a, b = rng.random((rows, 8)), rng.random((8, columns))
    left, right = (leaf(x, x.shape, x.dtype) for x in (a, b))
    product = make(MATMUL, (left, right), (), (rows, columns), a.dtype)
    return product, make(elementwise_of(np.sqrt), (product,), (), product.shape, a.dtype)


def test_a_tall_product_joins_the_phase_of_its_neighbour_and_a_square_one_does_not() -> None:
    for columns, phases in ((3, 1), (100, 2)):
        product, root = _product(100, columns)
        stages = cut(pending_in_order([root]), [root], Grain(1, 512, 1 << 40))
        assert len(stages) == phases
        assert isinstance(stages[0], FusedStage) == (phases == 1)
        expected = np.sqrt(product.args[0].value @ product.args[1].value)
        local.execute(stages)
        np.testing.assert_allclose(root.value, expected)


def test_a_product_without_neighbours_is_one_call() -> None:
    product, _ = _product(100, 3)
    (stage,) = cut(pending_in_order([product]), [product], Grain(1, 512, 1 << 40))
    assert isinstance(stage, WholeStage)


def _sum_from_zeros(array: np.ndarray, *, then: str) -> tuple[Expr, FusedStage]:
    """Return an array added to zeros and doubled, and its stage."""
    x = leaf(array, array.shape, array.dtype)
    zeros = make(FULL, (), (array.dtype.type(0),), array.shape, array.dtype)
    total = make(elementwise_of(np.add), (zeros, x), (), array.shape, array.dtype)
    root = make(elementwise_of(getattr(np, then)), (total, total), (), array.shape, array.dtype)
    (stage,) = cut(pending_in_order([root]), [root], Grain(1, 64, 1 << 20))
    assert isinstance(stage, FusedStage)
    verify(stage.phase)
    return root, stage


@pytest.mark.parametrize(("dtype", "steps"), [("u1", 1), ("i8", 1), ("f8", 3), ("?", 3)])
def test_integers_to_which_nothing_is_added_stay_what_they_are(dtype: str, steps: int) -> None:
    array = (np.arange(2000) % 5 - 2.0).reshape(100, 20).astype(dtype)
    array[3] = np.negative(0.0).astype(dtype)
    root, stage = _sum_from_zeros(array, then="maximum")
    assert len(stage.phase.steps) == steps
    local.execute([stage])
    assert root.value is not None
    assert root.value.tobytes() == (np.zeros_like(array) + array).tobytes()


def test_a_sum_with_zeros_that_somebody_wants_is_an_array_of_its_own() -> None:
    array = np.arange(2000)
    x = leaf(array, array.shape, array.dtype)
    zeros = make(FULL, (), (0,), array.shape, array.dtype)
    total = make(elementwise_of(np.add), (zeros, x), (), array.shape, array.dtype)
    twice = make(elementwise_of(np.add), (total, total), (), array.shape, array.dtype)
    stages = cut(pending_in_order([twice]), [twice, total], Grain(1, 64, 1 << 20))
    local.execute(stages)
    assert total.value is not None
    assert not np.shares_memory(total.value, array)
    np.testing.assert_array_equal(total.value, array)
    np.testing.assert_array_equal(twice.value, 2 * array)  # type: ignore[arg-type]
