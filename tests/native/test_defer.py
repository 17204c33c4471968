"""Operators between NumPy's scalars and arrays, and ours: who computes them, and what they give."""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import native

if TYPE_CHECKING:
    from collections.abc import Callable

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda x, y: x + y,
    "-": lambda x, y: x - y,
    "*": lambda x, y: x * y,
    "/": lambda x, y: x / y,
    "//": lambda x, y: x // y,
    "%": lambda x, y: x % y,
    "**": lambda x, y: x**y,
    "@": lambda x, y: x @ y,
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "&": lambda x, y: x & y,
    "|": lambda x, y: x | y,
    "^": lambda x, y: x ^ y,
    "<<": lambda x, y: x << y,
    ">>": lambda x, y: x >> y,
    "divmod": divmod,
    "called": operator.mul,
}
FIRST = {
    "float64": np.float64(2.5),
    "float32": np.float32(2.5),
    "float16": np.float16(2.5),
    "longdouble": np.longdouble(2.5),
    "complex64": np.complex64(2.5 + 1j),
    "int8": np.int8(3),
    "int64": np.int64(3),
    "uint64": np.uint64(3),
    "bool": np.True_,
    "a text": np.str_("3"),
    "a time": np.timedelta64(3, "s"),
    "no axes": np.array(3.0),
    "an array": np.array([3, 1, 2]),
    "a column": np.array([[3.0], [1.0]]),
    "objects": np.array([3, 2.5, None], dtype=object),
    "another length": np.array([1.0, 2.0]),
}
SECOND = {
    "doubles": np.array([1.5, 2.0, 0.25]),
    "integers": np.array([3, 2, 1]),
    "bytes": np.array([3, 2, 1], np.uint8),
    "truths": np.array([True, False, True]),
    "large": np.arange(1.0, 3 * 8_000 + 1).reshape(-1, 3),
}


def shown(x: np.ndarray) -> Any:
    has_holes = x.dtype.char in "gGO"
    return str(x.dtype), x.shape, repr(x.tolist()) if has_holes else x.tobytes()


def outcome(function: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Return the values and dtypes of a result, or what was raised."""
    with np.errstate(all="ignore"):
        try:
            found = function(x, y)
        except (TypeError, ValueError, ZeroDivisionError, AttributeError) as error:
            return type(error).__name__, str(error).replace("dnumpy", "numpy")
        parts = found if isinstance(found, tuple) else (found,)
        return [shown(np.asarray(p)) for p in parts]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_first_operand_of_numpys(name: str, first: str, second: str) -> None:
    x, y = FIRST[first], SECOND[second]
    expected = outcome(OPERATORS[name], x, y)
    for _ in range(2):
        assert outcome(OPERATORS[name], x, dnumpy.array(y)) == expected


@pytest.mark.parametrize("first", ["float64", "an array"])
def test_the_result_is_ours(first: str) -> None:
    y = dnumpy.array([1.5, 2.0, 0.25])
    for function in (OPERATORS["+"], OPERATORS["<"], operator.add, np.add):
        assert type(function(FIRST[first], y)) is dnumpy.ndarray


def test_into_an_array_of_numpys() -> None:
    x, y = np.array([1.0, 2.0]), dnumpy.array([3.0, 4.0])
    held = x
    x += y
    assert x is held
    assert x.tolist() == [4.0, 6.0]
    x *= np.float64(2.0)
    x **= y
    assert x.tolist() == [8.0**3, 12.0**4]


def test_who_asks_for_the_protocol_finds_it() -> None:
    kind = dnumpy.ndarray
    assert callable(kind.__array_ufunc__)
    assert callable(getattr(kind, "__array_ufunc__", None))
    y = dnumpy.array([3.0, 4.0])
    found = y.__array_ufunc__(np.add, "__call__", y, 1.0)
    assert found.tolist() == [4.0, 5.0]
    assert "__array_ufunc__" in dir(kind)


class Asking(type):
    """A class whose operators look at the other operand's class, as code in C does."""

    def __add__(cls, other: Any) -> Any:
        return type(other).__array_ufunc__


def test_python_that_an_operator_runs_finds_the_protocol() -> None:
    class Asks(metaclass=Asking):
        pass

    assert callable(Asks + dnumpy.array([1.0]))


def test_ufuncs_that_an_operator_calls_within_python() -> None:
    class Wraps:
        def __mul__(self, other: Any) -> Any:
            return np.multiply(2.0, other)

    assert (Wraps() * dnumpy.array([1.0, 2.0])).tolist() == [2.0, 4.0]


def test_elements_that_are_arrays_of_ours() -> None:
    inner = dnumpy.array([1.0, 2.0])
    x = np.empty(2, object)
    x[:] = [np.float64(2.0), np.array([1.0, 1.0])]
    y = np.empty(2, object)
    y[:] = [inner, inner]
    found = x * y
    assert [f.tolist() for f in found] == [[2.0, 4.0], [1.0, 2.0]]


@pytest.mark.skipif(not native.built, reason="the module in C was not built")
def test_an_operator_is_not_put_off_to_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which is what costs half a microsecond."""
    monkeypatch.setattr(dnumpy.config, "mode", "default")
    monkeypatch.setattr(dnumpy.config, "eager_below", 1 << 14)
    y = dnumpy.array([1.5, 2.0, 0.25])
    asked = []

    def profile(frame: Any, event: str, called: Any) -> None:
        if event == "c_call":
            asked.append(called)
        elif event == "call":
            asked.append(frame.f_code.co_name)

    sys.setprofile(profile)
    try:
        found = FIRST["float64"] * y
    finally:
        sys.setprofile(None)
    assert found.tolist() == [3.75, 5.0, 0.625]
    assert not [a for a in asked if a != sys.setprofile]


def test_many_places_of_a_program() -> None:
    """More than are remembered, and code that is gone: each is looked at as what it is."""
    y = dnumpy.array([1.0, 2.0])
    for k in range(3000):
        space = {"x": np.float64(k), "y": y, "multiply": np.multiply}
        text = "r = x * y" if k % 2 else "r = multiply(x, y)"
        exec(compile(text, f"<{k}>", "exec"), space)
        assert space["r"].tolist() == [k, 2.0 * k]
        assert type(space["r"]) is dnumpy.ndarray
