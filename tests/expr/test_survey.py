"""What is known of pending Exprs is the same in C and in Python, and what it says."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from hypothesis import given, settings

import dnumpy as dn
from dnumpy import engine, native
from dnumpy.expr import race
from dnumpy.expr.expr import leaf
from dnumpy.expr.survey import _survey, _waiting, survey, waiting
from dnumpy.expr.walk import pending_in_order
from tests.kernels import phases as p

pytestmark = pytest.mark.modeless("nothing here is of a mode")


@settings(deadline=None, derandomize=True, max_examples=60)
@given(p.programs())
def test_both_say_the_same(roots):
    order = pending_in_order(roots)
    assert survey(order) == _survey(order)


@pytest.fixture(autouse=True)
def waits(monkeypatch):
    """Let all operations wait, as those on large arrays do."""
    monkeypatch.setattr(dn.config, "eager_below", 1)
    with race.held():
        yield


def test_what_a_line_recorded_is_surveyed():
    x = dn.array(np.random.default_rng(0).random((240, 60)))
    kept = x[::2] * 2.0
    made = [np.sqrt(kept) + k for k in range(3)]
    order = pending_in_order([m._buf.expr for m in made])
    sites, exprs, nbytes, most, multiplies, apart, home, live = survey(order)
    assert exprs == 1 + 1 + 3  # the view is none, and the root is one for all
    assert len(sites) == 3
    assert nbytes == exprs * 2 * kept.nbytes
    assert most == 2 * kept.nbytes
    assert not multiplies
    assert not apart  # the sum was recorded three times
    assert home
    assert live == [e for e in order if e is kept._buf.expr or e in [m._buf.expr for m in made]]
    assert survey(order) == _survey(order)


def test_products_are_known():
    x = dn.array(np.random.default_rng(0).random((300, 300)))
    y = (x + 1.0) @ x
    order = pending_in_order([y._buf.expr])
    assert survey(order)[4] is True
    assert survey(order) == _survey(order)


def test_a_place_that_recorded_several_large_operations_is_known():
    x = dn.array(np.random.default_rng(0).random((300, 300)))
    mean, variance = (x + 1.0).mean(axis=0), (x + 2.0).var(axis=0)
    for result, apart in ((mean, True), (variance, False)):  # divided by a count: that is little
        order = pending_in_order([result._buf.expr])
        assert survey(order)[5] is apart
        assert survey(order) == _survey(order)


def test_what_lies_elsewhere_is_known():
    away = leaf(object(), (3,), np.dtype("f8"))
    double = p.apply("add", away, away)
    assert survey([double])[6] is False
    assert survey([double]) == _survey([double])


def test_owners_that_live_wait():
    engine.window.drain()
    x = dn.array(np.random.default_rng(0).random((120, 60)))
    kept, dead = x + 1.0, x + 2.0
    scalar = (x * 3.0).sum()
    del dead
    gc.collect()
    owners = engine.window.owners
    found = waiting(owners)
    assert found == _waiting(owners)
    assert kept._buf.expr in found
    float(scalar)
    engine.compute([kept._buf.expr])
    assert waiting(owners) == _waiting(owners) == []


@pytest.mark.skipif(not native.built, reason="the module in C was not built")
@pytest.mark.parametrize("wrong", [None, 3, [3], ["x"]])
def test_other_objects_are_refused(wrong):
    with pytest.raises(TypeError):
        native.survey(wrong)
    with pytest.raises(TypeError):
        native.waiting(wrong)
