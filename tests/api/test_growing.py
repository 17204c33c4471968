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


WIDENING: dict[str, Callable[[Any, Any, Any], Any]] = {
    "bytes by a float": lambda np, a, b: 0.5 * a,
    "bytes and a float": lambda np, a, b: a + 0.25,
    "bytes by bytes": lambda np, a, b: a / b,
    "bytes by a NumPy scalar": lambda np, a, b: numpy.float32(0.5) * a,
    "bytes beside larger integers": lambda np, a, b: a + np.arange(a.size),
    "root": lambda np, a, b: np.sqrt(a),
    "channel": lambda np, a, b: a.reshape(-1, 2)[:, 0] * 0.5 + b.reshape(-1, 2)[:, 1] * 2.0,
    "compared with a float": lambda np, a, b: a > 0.5,
    "compared by a ufunc": lambda np, a, b: np.less(a, 0.5),
}
BYTEWISE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sum": lambda np, a, b: a + b,
    "bytes and a number": lambda np, a, b: a + 3,
    "bytes and a byte": lambda np, a, b: a * numpy.uint8(3),
    "compared": lambda np, a, b: a > b,
    "compared with a number": lambda np, a, b: a > 100,
    "larger of two": lambda np, a, b: np.maximum(a, b),
    "complement": lambda np, a, b: ~a,
}


def bytes_of(lib: Any, count: int) -> tuple[Any, Any]:
    source = numpy.random.default_rng(6)
    return tuple(lib.array(source.integers(1, 255, count).astype("u1")) for _ in range(2))


@pytest.mark.parametrize("name", WIDENING)
def test_many_bytes_that_are_made_larger_are_recorded(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "memory_limit", 1 << 34)  # nothing is NumPy's for being faster
    a, b = bytes_of(np, 800_000)
    WIDENING[name](np, a, b)  # what runs once is NumPy's
    made = WIDENING[name](np, a, b)
    assert waits(made)
    a[3] = b[5] = 0  # which the result does not see
    expected = WIDENING[name](numpy, *bytes_of(numpy, 800_000))
    numpy.testing.assert_array_equal(numpy.asarray(made), expected, strict=True)


@pytest.mark.skipif(config.mode != "default", reason="all arrays wait in the other modes")
@pytest.mark.parametrize("name", BYTEWISE)
def test_bytes_of_bytes_are_numpys_at_once(name: str) -> None:
    a, b = bytes_of(np, 400_000)
    BYTEWISE[name](np, a, b)
    made = BYTEWISE[name](np, a, b)
    assert made._np is not None or made._buf.expr.value is not None
    expected = BYTEWISE[name](numpy, *bytes_of(numpy, 400_000))
    numpy.testing.assert_array_equal(numpy.asarray(made), expected, strict=True)


@pytest.mark.skipif(config.mode != "default", reason="all arrays wait in the other modes")
@pytest.mark.parametrize("name", WIDENING)
def test_few_bytes_are_made_larger_at_once(name: str) -> None:
    a, b = bytes_of(np, 4_000)
    assert WIDENING[name](np, a, b)._np is not None


@pytest.mark.parametrize("kind", ["S1", "V1", "O"])
def test_bytes_that_are_no_numbers_are_compared_as_numpys_are(kind: str) -> None:
    a, theirs = (
        bytes_of(lib, 400_000)[0].view(kind if kind != "O" else "u1") for lib in (np, numpy)
    )
    if kind == "O":
        a, theirs = a.astype(object), theirs.astype(object)
    other = theirs[:1].copy()
    numpy.testing.assert_array_equal(numpy.asarray(a == other), theirs == other, strict=True)
