"""Computed booleans and bytes are NumPy's up to the bytes of other small arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dnumpy
from dnumpy import native
from dnumpy.api.array import BYTES_OF_OTHERS, peek, runs_at_once
from dnumpy.config import EAGER_BELOW, config

pytestmark = pytest.mark.skipif(config.mode != "default", reason="all waits elsewhere")


@pytest.mark.parametrize("dtype", ["?", "u1", "i1"])
def test_what_has_one_byte_is_at_hand_for_longer(dtype: str) -> None:
    some, many = (dnumpy.asarray(np.zeros(n, dtype)) for n in (EAGER_BELOW, 8 * EAGER_BELOW))
    assert BYTES_OF_OTHERS == 8
    assert some._np is None  # managed all the same
    assert peek(some) is not None
    assert peek(many) is None
    assert peek(dnumpy.asarray(np.zeros(EAGER_BELOW, "f4"))) is None


@pytest.mark.skipif(not native.built, reason="the module in C was not built")
def test_what_is_made_of_bytes_at_hand_is_computed() -> None:
    some = dnumpy.asarray(np.arange(2 * EAGER_BELOW).astype("u1"))
    for made in (some + some, some == 3, some[1:] & some[:-1], dnumpy.roll(some, 1), ~some):
        assert made._np is None
        assert made._buf.expr.value is not None


@pytest.mark.parametrize("number", [255, 2.5, np.float32(2), np.int16(3)])
def test_numbers_that_are_made_of_booleans_at_hand_are_recorded(number: Any) -> None:
    """Each takes eight bytes, and what comes after it is best done in the same pass."""
    truths = np.arange(2 * EAGER_BELOW) % 3 > 0
    mask = dnumpy.asarray(truths)
    for made, expected in (
        (mask * number, truths * number),
        (number - mask, number - truths),
        (dnumpy.multiply(mask, number), truths * number),
    ):
        assert made._buf.expr.op.name in {"multiply", "subtract"}  # no leaf of NumPy's making
        assert made.dtype == expected.dtype
        np.testing.assert_array_equal(np.asarray(made), expected)
    assert (mask & True)._buf.expr.op.name == (mask | mask)._buf.expr.op.name == "leaf"


def test_a_mask_at_hand_chooses_from_what_waits() -> None:
    mask = dnumpy.asarray(np.arange(EAGER_BELOW) % 3 > 0)
    values = dnumpy.exp(dnumpy.linspace(0, 1, EAGER_BELOW))
    assert values._buf.expr.value is None
    values[mask] += 1.0
    assert values._buf.expr.value is None
    expected = np.exp(np.linspace(0, 1, EAGER_BELOW)) + (np.arange(EAGER_BELOW) % 3 > 0)
    np.testing.assert_array_equal(np.asarray(values), expected)


def test_what_hangs_on_large_work_is_computed_after_a_few() -> None:
    near = dnumpy.exp(dnumpy.linspace(0, 1, EAGER_BELOW)) > 1.5
    assert near._buf.expr.value is None
    for _ in range(8):
        near = near[::-1] ^ near
    assert near._buf.expr.value is not None


def test_nothing_is_at_hand_where_everything_is_to_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "eager_below", 0)
    assert not runs_at_once(1, 1)


def fire(np: Any, n: int) -> Any:
    """Burn a forest of bytes, by masks and views of booleans."""
    forest = (np.arange(n * n).reshape(n, n) * 7919 % 100 < 60).astype(np.uint8)
    forest[:, 0][forest[:, 0] == 1] = 2
    for _ in range(6):
        burning = forest == 2
        near = np.zeros_like(burning)
        near[1:] |= burning[:-1]
        near[:-1] |= burning[1:]
        near[:, 1:] |= burning[:, :-1]
        catching = (forest == 1) & near
        kept = forest[1:, 2:]
        forest[burning] = 3
        forest[catching] = 2
        forest[3:, 3:][near[3:, 3:]] ^= 0
        forest[0] = kept[0, 0]
    return np.bincount(forest.ravel(), minlength=4), forest[:3, :50], kept.sum()


@pytest.mark.parametrize("n", [510, 520, 1460])
def test_grids_of_bytes_are_numpys_on_both_sides_of_the_limit(n: int) -> None:
    for found, expected in zip(fire(dnumpy, n), fire(np, n), strict=True):
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_writes_to_bytes_at_hand_are_seen_by_views_and_not_by_what_waits() -> None:
    x = dnumpy.asarray(np.ones(EAGER_BELOW, np.uint8))
    waits = dnumpy.asarray(np.zeros(EAGER_BELOW)) + x
    view = x[::2]
    x += 1
    x[:10] = 7
    assert int(view[0]) == 7
    assert int(view[-1]) == 2
    np.testing.assert_array_equal(np.asarray(waits), np.ones(EAGER_BELOW))
