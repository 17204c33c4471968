"""Operations that the module in C records are those that Python would record."""

from __future__ import annotations

import gc
import operator
import warnings
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import native
from dnumpy.api import quick
from tests.native.waits import lines_wait

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [
    pytest.mark.skipif(not native.built, reason="the module in C was not built"),
    pytest.mark.usefixtures("arrays_wait"),
]

BINARY = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge,
]  # fmt: skip
INPLACE = [operator.iadd, operator.isub, operator.imul]
UNARY = [operator.neg, operator.pos, operator.abs, np.sqrt, np.square, np.exp]
SECONDS: dict[str, Callable[[Any], Any]] = {
    "another": lambda x: x * 0.5 + 1,
    "the same": lambda x: x,
    "a float": lambda x: 2.5,
    "an int": lambda x: 3,
    "zero": lambda x: 0,
    "a bool": lambda x: True,
    "a float32": lambda x: np.float32(1.5),
    "a float64": lambda x: np.float64(-1.5),
    "an int that not every dtype holds": lambda x: 1000,
    "a negative int": lambda x: -3,
    "a small array": lambda x: x[:1, :1] * 2,
    "a small one of floats of half the size": lambda x: (x[0, :1] * 2).astype("f4"),
    "a row": lambda x: x[0] * 2,
    "a column": lambda x: x[:, :1] * 2,
    "a view": lambda x: x[::-1],
    "an axis more": lambda x: x[None],
    "floats of half the size": lambda x: x.astype("f4"),
    "integers": lambda x: x.astype("i4"),
}
ROUNDS = 4  # by the second of which a line is known to wait


@pytest.fixture
def by_python(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the rows of what Python records."""
    found: list[Any] = []
    recorded = quick._recorded

    def noted(row: Any, *args: Any) -> Any:
        found.append(row)
        return recorded(row, *args)

    monkeypatch.setattr(quick, "_recorded", noted)
    return found


def data() -> np.ndarray:
    return np.random.default_rng(3).uniform(0.5, 5.5, size=(300, 400))


def forget(by_python: list[Any]) -> None:
    """Let all lines that are known be known to wait, and nothing have been recorded."""
    by_python.clear()
    lines_wait()


@pytest.mark.parametrize("second", SECONDS)
@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_two_operands(function: Any, second: str, by_python: list[Any]) -> None:
    values = data()
    x = dnumpy.array(values)
    expected = function(values, SECONDS[second](values))
    for _ in range(ROUNDS):
        y = SECONDS[second](x)
        forget(by_python)
        found = function(x, y)
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        again = found + found
        np.testing.assert_array_equal(again, expected + expected)
        np.testing.assert_array_equal(found, expected)
        del found, again
    assert not by_python or second in {"a row", "a column", "the same"}  # little, or known


@pytest.mark.parametrize("scalar", [2.5, np.float64(2.5)], ids=["Python's", "NumPy's"])
@pytest.mark.parametrize("function", [*BINARY[:6], dnumpy.hypot], ids=lambda f: f.__name__)
def test_a_scalar_first(function: Any, scalar: float, by_python: list[Any]) -> None:
    values = data()
    x = dnumpy.array(values)
    numpys = np.hypot if function is dnumpy.hypot else function
    for _ in range(ROUNDS):
        forget(by_python)
        found = function(scalar, x)
        np.testing.assert_array_equal(found + 1, numpys(scalar, values) + 1)
        del found  # which would wait still, had it not been read so far, and be found again
    assert not by_python


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_one_operand(function: Any, by_python: list[Any]) -> None:
    values = abs(data())
    x = dnumpy.array(values)
    ours = getattr(dnumpy, function.__name__, function) if function in UNARY[3:] else function
    for _ in range(ROUNDS):
        forget(by_python)
        found = ours(x)
        np.testing.assert_array_equal(found + 1, function(values) + 1)
        del found  # as above
    assert not by_python


@pytest.mark.parametrize("function", INPLACE, ids=lambda f: f.__name__)
def test_into_an_operand(function: Any, by_python: list[Any]) -> None:
    values = data()
    x, expected, shown = dnumpy.array(values), values.copy(), None
    for k in range(ROUNDS):
        y = x[::-1] + 1  # of what x is before
        flipped = expected[::-1] + 1
        shown, old = x + 0, expected + 0
        forget(by_python)
        same = x
        x = function(x, y)
        assert x is same
        expected = function(expected, flipped)
        x = function(x, 0.5)
        expected = function(expected, 0.5)
        assert not by_python or k < 2
        np.testing.assert_array_equal(x, expected)
        np.testing.assert_array_equal(shown, old)


def test_a_small_operand_is_what_it_was_when_it_was_recorded() -> None:
    values = data()
    x = dnumpy.array(values)
    for _ in range(ROUNDS):
        small = dnumpy.array([2.0])
        found = x * small
        small[0] = 5.0
        np.testing.assert_array_equal(found + small, values * 2.0 + 5.0)


def test_into_what_cannot_take_it_raises_as_numpy_does() -> None:
    whole = np.arange(1000)
    x = dnumpy.array(whole)
    for _ in range(ROUNDS):
        x = x + x - x  # waits
        with pytest.raises(np._core._exceptions._UFuncOutputCastingError):
            x += 0.5
        with pytest.raises(ValueError, match="non-broadcastable output"):
            x += dnumpy.ones((3, 1000), dtype=int)
        np.testing.assert_array_equal(x, whole)


def test_operands_that_do_not_fit_raise_as_numpy_does() -> None:
    x, y = dnumpy.array(np.ones(1000)), dnumpy.array(np.ones(1001))
    for _ in range(ROUNDS):
        waiting = x * 2
        with pytest.raises(ValueError, match=r"shapes \(1000,\) \(1001,\)"):
            waiting + y
        np.testing.assert_array_equal(waiting + 1, np.full(1000, 3.0))


def test_a_line_under_another_error_state_tells_at_once() -> None:
    x = dnumpy.array(np.zeros(1000))

    def divided() -> Any:
        return 1.0 / (x * 2.0)

    with np.errstate(divide="ignore"):
        for _ in range(ROUNDS):
            assert np.isinf(np.asarray(divided() + 1)).all()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        divided()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        divided()
        assert [str(w.message) for w in told] == ["divide by zero encountered in divide"]


def test_nothing_is_kept_of_what_was_recorded() -> None:
    values = data()
    x = dnumpy.array(values)
    for _ in range(ROUNDS):
        y = (x + 1.0) * 2.0
        np.asarray(y)
    gc.collect()
    before = dnumpy.expr.expr.count_interned()
    kept = [(x + float(k)) * 2.0 for k in range(2, 30)]
    died = [weakref.ref(one._buf.expr) for one in kept]
    assert dnumpy.expr.expr.count_interned() == before + 2 * len(kept)
    del kept
    assert not any(ref() is not None for ref in died)
    assert dnumpy.expr.expr.count_interned() == before


def test_equal_operations_are_one_while_they_wait() -> None:
    values = data()
    x = dnumpy.array(values)
    for _ in range(ROUNDS):
        one, two, zero, other = x * 2.0, x * 2.0, x * 0.0, x * -0.0
        np.testing.assert_array_equal(one + two, values * 4.0)
        assert not np.signbit(zero + 0.0).any()
        assert np.signbit(other + -0.0).all()
        del one, two, zero, other


def test_a_long_chain_dies_without_recursion() -> None:
    x = dnumpy.array(data())
    for _ in range(ROUNDS):
        y = x
        for _ in range(3):
            y = y + 1.0
        np.asarray(y)
    y = x
    for _ in range(2000):
        y = y + x
    del y
    np.testing.assert_array_equal(x + 1, data() + 1)
