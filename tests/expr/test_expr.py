"""Laws of Exprs, constants, walks and origins."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.expr.expr import Const, Expr, become, count_interned, leaf, make
from dnumpy.expr.origin import here
from dnumpy.expr.walk import pending_in_order, stored_operands
from dnumpy.ops.families import elementwise_of
from tests.strategies import programs

FLOAT = np.dtype(float)
ADD = elementwise_of(np.add)


def stored(rows: int = 3) -> Expr:
    return leaf(np.arange(float(rows)), (rows,), FLOAT)


def plus(x: Expr, y: Expr | Const) -> Expr:
    return make(ADD, (x, y), (), x.shape, x.dtype)


def test_two_pending_exprs_with_equal_meaning_are_one_object() -> None:
    x = stored()
    one = plus(x, Const(1.0))
    assert plus(x, Const(1.0)) is one
    assert plus(plus(x, Const(1.0)), one) is plus(one, one)


def test_an_expr_with_a_value_is_not_found_again() -> None:
    x = stored()
    one = plus(x, Const(1.0))
    one.value = np.arange(1.0, 4.0)
    assert plus(x, Const(1.0)) is not one


def test_what_an_expr_was_is_not_found_in_what_it_became() -> None:
    x, y = stored(), stored()
    one = plus(x, Const(1.0))
    become(one, ADD, (y, Const(1.0)), ())
    other = plus(x, Const(1.0))
    assert other is not one
    become(one, ADD, (y, Const(2.0)), ())  # a second time, and then it dies
    del one
    gc.collect()
    assert plus(x, Const(1.0)) is other
    assert plus(y, Const(1.0)).args[0] is y


def test_one_meaning_with_one_operand_is_one_object() -> None:
    x = stored()
    negative = elementwise_of(np.negative)
    one = make(negative, (x,), (), x.shape, FLOAT)
    assert make(negative, (x,), (), x.shape, FLOAT) is one
    assert make(negative, (Const(1.0),), (), (), FLOAT) is not one
    assert make(negative, (x,), (("k", 1),), x.shape, FLOAT) is not one


def test_leaves_are_never_one_object() -> None:
    values = np.zeros(3)
    assert leaf(values, (3,), FLOAT) is not leaf(values, (3,), FLOAT)


SCALARS: list[Any] = [
    0, 1, True, False, 0.0, -0.0, 1.0, 0j, complex(0.0, -0.0), complex(-0.0, 0.0), 1 + 0j,
    complex(1.0, -0.0), 1j, complex(-0.0, 1.0), np.float32(0), np.float32(-0.0), np.float64(0),
    np.int8(1), np.int64(1), np.bool_(True), np.complex64(1), np.complex64(complex(1, -0.0)),
    np.longdouble(1),
]  # fmt: skip


def test_constants_that_any_op_could_tell_apart_are_apart() -> None:
    keys = [Const(s).key() for s in SCALARS]
    assert len(set(keys)) == len(SCALARS)
    assert keys == [Const(s).key() for s in SCALARS]


def test_nothing_is_remembered_of_exprs_that_died() -> None:
    gc.collect()
    before = count_interned()
    x = stored()
    chain = x
    for _ in range(50):
        chain = plus(chain, Const(1.0))
    assert count_interned() == before + 50
    del chain, x
    gc.collect()
    assert count_interned() <= before


def test_a_repr_says_op_dtype_shape_and_state() -> None:
    x = stored()
    assert repr(x) == "<leaf float64[3] stored>"
    assert repr(plus(x, Const(1))) == "<add float64[3] pending>"
    assert (plus(x, x).ndim, plus(x, x).size, plus(x, x).nbytes) == (1, 3, 24)


@given(programs(), st.data())
def test_a_walk_meets_each_pending_expr_once_and_after_its_operands(
    exprs: list[Expr], data: st.DataObject
) -> None:
    roots = data.draw(st.lists(st.sampled_from(exprs)))
    order = pending_in_order(roots)
    places = {id(e): k for k, e in enumerate(order)}
    assert len(places) == len(order)
    assert all(e.value is None for e in order)
    assert {id(r) for r in roots if r.value is None} <= set(places)
    for e in order:
        for arg in e.operands():
            assert arg.value is not None or places[id(arg)] < places[id(e)]


def test_a_walk_of_a_hundred_thousand_exprs_needs_no_recursion() -> None:
    chain = stored()
    for k in range(100_000):
        chain = plus(chain, Const(float(k)))
    order = pending_in_order([chain])
    assert len(order) == 100_000
    assert order[-1] is chain
    while chain.args:  # let go link by link: the test is about the walk
        (chain, _), chain.args = chain.args, ()


def test_an_origin_is_the_first_line_outside_the_package() -> None:
    origin = here()
    assert origin.file == __file__
    assert (
        origin.line
        == test_an_origin_is_the_first_line_outside_the_package.__code__.co_firstlineno + 1
    )
    with np.errstate(divide="ignore"):
        assert dict(here().errors)["divide"] == "ignore"
    assert dict(here().errors)["divide"] == np.geterr()["divide"]


@given(programs())
def test_stored_operands_are_counted_as_often_as_pending_ones_read_them(made: list[Expr]) -> None:
    roots = made[-3:] * 2
    read = Counter(
        id(arg)
        for expr in pending_in_order(roots)
        for arg in expr.args
        if isinstance(arg, Expr) and arg.value is not None
    )
    found = stored_operands(roots)
    assert {key: times for key, (_, times) in found.items()} == read
    assert all(id(expr) == key for key, (expr, _) in found.items())
