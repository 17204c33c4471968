"""Small arrays that make a large one: it is recorded as one of large arrays is."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import dnumpy as np
from dnumpy.api.scalar import DeferredScalar
from dnumpy.config import config

if TYPE_CHECKING:
    from collections.abc import Callable

N = 1500  # squared, more booleans than run at once
MAKING: dict[str, Callable[[Any, Any, Any], Any]] = {
    "product": lambda np, u, v: u[:, None] * v,
    "difference of vectors": lambda np, u, v: u[:, None, None] - v.reshape(-1, 2)[None],
    "comparison": lambda np, u, v: u[:, None] < v,
    "ufunc": lambda np, u, v: np.hypot(u[:, None], v),
    "outer": lambda np, u, v: np.outer(u, v),
    "outer of a ufunc": lambda np, u, v: np.subtract.outer(u, v),
    "outer of matrices": lambda np, u, v: np.add.outer(u.reshape(2, -1), v.reshape(-1, 2)),
    "where": lambda np, u, v: np.where(u[:, None] < v, u[:, None], v),
    "of two dtypes": lambda np, u, v: u.astype(np.float32)[:, None] + v.astype(np.int64),
}


def operands(lib: Any) -> tuple[Any, Any]:
    source = numpy.random.default_rng(5)
    u, v = source.uniform(-9, 9, N), source.uniform(-9, 9, N)
    return lib.array(u), lib.array(v)


def waits(x: Any) -> bool:
    return x._np is None and x._buf.expr.value is None


@pytest.mark.parametrize("name", MAKING)
def test_what_small_arrays_make_is_recorded_and_is_numpys(name: str) -> None:
    u, v = operands(np)
    MAKING[name](np, u, v)  # what runs once is NumPy's
    made = MAKING[name](np, u, v)
    assert waits(made)
    u[3] = v[5] = 100.0  # which the result does not see
    expected = MAKING[name](numpy, *operands(numpy))
    numpy.testing.assert_array_equal(numpy.asarray(made), expected, strict=True)


@pytest.mark.skipif(config.mode != "default", reason="all arrays wait in the other modes")
@pytest.mark.parametrize("name", MAKING)
def test_few_elements_are_made_at_once(name: str) -> None:
    u, v = operands(np)
    assert MAKING[name](np, u[:20], v[:20])._np is not None


def test_what_is_folded_at_once_never_lies_in_memory_as_a_whole() -> None:
    u, v = operands(np)
    nearest = np.abs(u[:, None] - v).min(axis=1)
    expected = numpy.abs(numpy.subtract.outer(*operands(numpy))).min(axis=1)
    numpy.testing.assert_array_equal(numpy.asarray(nearest), expected, strict=True)
    total = (u[:, None] * v).sum()
    assert isinstance(total, (DeferredScalar, np.float64))
    numpy.testing.assert_allclose(float(total), numpy.outer(*operands(numpy)).sum(), rtol=1e-12)


@pytest.mark.parametrize("make", [operator.mul, operator.lt, np.hypot, np.where])
def test_shapes_that_do_not_fit_are_told_of_where_they_meet(make: Callable[..., Any]) -> None:
    u, v = operands(np)
    given = (u.reshape(-1, 2), v) if make is not np.where else (u.reshape(-1, 2) > 0, u, v[:, None])
    with pytest.raises(ValueError, match="broadcast"):
        make(*given)


def test_faults_are_raised_where_they_are_asked_for() -> None:
    u, _ = operands(np)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        u[:, None] / np.zeros(N)


def test_objects_are_numpys() -> None:
    u = np.array([1, 2.5, "x"] * 200, dtype=object)
    made = u[:, None] == u
    assert made.dtype == bool
    assert made.sum() == 3 * 200 * 200
