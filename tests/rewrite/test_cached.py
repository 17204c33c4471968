"""Stages that are found again compute what fresh ones would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.expr import walk
from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.expr.walk import pending_in_order
from dnumpy.ops.blocked import WRAP
from dnumpy.ops.families import elementwise_of
from dnumpy.rewrite import cached
from dnumpy.rewrite.cached import cut_again
from dnumpy.rewrite.cached import structure as structure_and_nodes
from dnumpy.rewrite.cut import Grain
from dnumpy.runtime import bound, local
from tests.rewrite.test_cut import reference_value
from tests.strategies import programs

GRAIN = Grain(1, 64, 3)
DTYPE = np.dtype(float)


def structure(order: list[Expr], wanted: list[Expr]) -> tuple[Any, ...]:
    return structure_and_nodes(order, wanted, None)[0]


@settings(max_examples=150)
@given(programs(), st.data())
def test_stages_found_again_equal_the_reference(exprs: list[Expr], data: st.DataObject) -> None:
    wanted = data.draw(st.lists(st.sampled_from(exprs), min_size=1, max_size=4, unique_by=id))
    known: dict[int, np.ndarray] = {}
    expected = {id(e): reference_value(e, known).copy() for e in wanted}
    pending = [e for e in wanted if e.value is None]
    order = pending_in_order(pending)
    cut_again(order, pending, GRAIN)  # remembered from here on
    local.execute(cut_again(order, pending, GRAIN))
    for e in wanted:
        np.testing.assert_array_equal(bound.value_of(e), expected[id(e)])


def test_which_operand_is_the_constant_is_part_of_the_structure() -> None:
    values = np.arange(1.0, 51.0)
    subtract = elementwise_of(np.subtract)
    for args, expected in (
        (lambda x: (Const(1.0), x), 1.0 - values),
        (lambda x: (x, Const(2.0)), values - 2.0),
        (lambda x: (x, x), values - values),
        (lambda x: (Const(5.0), x), 5.0 - values),
    ):
        x = leaf(values, values.shape, values.dtype)
        made = make(subtract, args(x), (), x.shape, x.dtype)
        local.execute(cut_again([made], [made], GRAIN))
        np.testing.assert_array_equal(made.value, expected)


def test_the_same_body_over_other_data_has_the_same_structure() -> None:
    def body(seed: int) -> list[Expr]:
        values = np.full(20, float(seed))
        x = leaf(values, values.shape, values.dtype)
        twice = make(elementwise_of(np.multiply), (x, Const(float(seed))), (), x.shape, x.dtype)
        return [twice, make(elementwise_of(np.sqrt), (twice,), (), x.shape, x.dtype)]

    one, two = body(1), body(2)
    assert structure(one, one[1:]) == structure(two, two[1:])
    assert structure(one, one) != structure(two, two[1:])


def subtract(*args: Expr | Const) -> tuple[object, ...]:
    expr = make(elementwise_of(np.subtract), args, (), (3,), DTYPE)
    return structure([expr], [expr])


def test_two_programs_are_alike_only_with_their_constants_in_the_same_places() -> None:
    x = leaf(np.arange(3.0), (3,), DTYPE)
    y = leaf(np.ones(3), (3,), DTYPE)
    assert subtract(x, Const(2.0)) == subtract(y, Const(3.0))
    assert subtract(x, Const(2.0)) != subtract(Const(2.0), x)
    assert subtract(x, y) != subtract(x, x)


def _nested(order: list[Expr], wanted: list[Expr]) -> list[object]:
    """Return what ``structure`` says of two evaluations, an entry for each operand and op."""
    numbers: dict[int, int] = {}
    lines: list[object] = []
    for expr in order:
        for arg in expr.args:
            if id(arg) not in numbers:
                numbers[id(arg)] = len(numbers)
                stored = isinstance(arg, Expr)
                lines.append((arg.shape, arg.dtype, arg.dtype.num) if stored else None)
        args = tuple(numbers[id(arg)] for arg in expr.args)
        numbers[id(expr)] = len(numbers)
        kind = (expr.shape, expr.dtype, expr.dtype.num)
        lines.append((expr.op, args, expr.params, kind, any(e is expr for e in wanted)))
    return lines


@settings(max_examples=60)
@given(st.lists(programs(), min_size=2, max_size=2), st.data())
def test_structures_are_equal_where_every_operation_is(
    both: list[list[Expr]], data: st.DataObject
) -> None:
    seen = []
    for exprs in both:
        pending = [e for e in exprs if e.value is None][:3]
        wanted = data.draw(st.lists(st.sampled_from(pending), unique_by=id)) if pending else []
        order = pending_in_order(pending)
        seen.append((structure(order, wanted), _nested(order, wanted)))
    (one, nested), (two, other) = seen
    assert (one == two) == (nested == other)
    assert len({one, two}) == 2 - (nested == other)


@pytest.mark.skipif(not native.built, reason="there is one of each without the module in C")
@settings(max_examples=100)
@given(programs(), st.data())
def test_walks_in_c_are_those_in_python(exprs: list[Expr], data: st.DataObject) -> None:
    roots = data.draw(st.lists(st.sampled_from(exprs), max_size=4))
    order = pending_in_order(roots)
    assert list(map(id, order)) == list(map(id, walk._pending_in_order(roots)))
    wanted = [e for e in roots if e.value is None]
    for op in (WRAP, *{e.op for e in order[-1:]}):
        one, other = (f(order, wanted, op) for f in (native.structure, cached._structure))
        assert one[0] == other[0]
        assert list(map(id, one[1])) == list(map(id, other[1]))
    del exprs, one, other
    assert native.held_bytes(wanted) == walk._held_bytes(wanted)


def rolls(np_: Any, board: Any, held: list[Any]) -> Any:
    """Return what takes rolls of one array, of computed ones, and of arrays that are kept."""
    for k in range(3):
        around = np_.roll(board, 1, axis=0) + np_.roll(board, -1, axis=0)
        kept = np_.roll(board, (1, -1), axis=(0, 1))
        around += kept + np_.roll(board, 1, axis=1)
        if k == 1:
            held += [kept, board]
        board = (around == 2) | ((board == 1) & (around == 3))
        board = board.astype("u1")
    return board


@pytest.mark.parametrize("build", ["C", "Python"])
def test_what_was_rewritten_is_rewritten_again(build: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if build == "Python":
        monkeypatch.setattr(cached, "structure", cached._structure)
        monkeypatch.setattr(cached, "rebuild", cached._rebuild)
    monkeypatch.setattr(cached, "_remembered", {})
    monkeypatch.setattr(dnumpy.config, "eager_below", 1)
    generator = np.random.default_rng(5)
    for run in range(4):
        board = generator.integers(0, 2, (60, 70 + run // 3)).astype("u1")
        held: tuple[list[Any], list[Any]] = ([], [])
        given = dnumpy.array(board)
        found = rolls(dnumpy, given, held[0])
        expected = rolls(np, board, held[1])
        np.testing.assert_array_equal(np.asarray(found), expected)
        for one, other in zip(*held, strict=True):
            np.testing.assert_array_equal(np.asarray(one), other)
        del found, given
    assert any(r.made and r.changed for r in cached._remembered.values())
