"""Objects of classes that answer with arrays of ours, where NumPy asks them in C."""

from __future__ import annotations

import builtins
import enum
import inspect
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import native

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")


class Measured:
    """Holds an array, as a class of a program does."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """Return the array."""
        return self.values if dtype is None else self.values.astype(dtype)


ASKED: dict[str, Callable[[Any], Any]] = {
    "asarray": np.asarray,
    "a sum": np.sum,
    "a scalar before it": lambda x: np.float64(2) * x,
    "an array before it": lambda x: np.arange(10.0) - x,
    "a comparison": lambda x: np.arange(10.0) == x,
    "an element of a list": lambda x: np.array([x, x]),
    "with a dtype": lambda x: np.asarray(x, dtype="f4"),
    "a method": lambda x: np.arange(10.0).dot(x),
    "assigned": lambda x: np.copyto(np.zeros(10), x),
    "dnumpy's": lambda x: np.asarray(dnumpy.vstack([x, x])),
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("pending", [False, True])
def test_numpy_is_answered_in_its_class(name: str, pending: bool) -> None:
    held = dnumpy.arange(10.0) * 1 if pending else dnumpy.array(np.arange(10.0))
    found = ASKED[name](Measured(held))
    expected = ASKED[name](Measured(np.arange(10.0)))
    assert type(found) is type(expected)
    assert np.array_equal(found, expected)


def test_a_scalar_is_made_of_one() -> None:
    assert np.float32(Measured(dnumpy.array(3.5))) == np.float32(3.5)


def test_what_is_handed_out_is_the_memory_itself() -> None:
    x = Measured(dnumpy.arange(400_000) + 1)
    seen = np.asarray(x)
    seen[3] = 7
    x.values[4] = 9
    assert x.values[3] == 7
    assert seen[4] == 9
    mine = dnumpy.asarray(x)
    mine[5] = 11
    assert x.values[5] == 11


def test_other_classes_are_as_python_makes_them() -> None:
    class Meta(type):
        def __new__(mcs, name: str, bases: Any, namespace: Any, **named: Any) -> Any:
            made = super().__new__(mcs, name, bases, namespace)
            made.where = sys._getframe(1).f_code.co_name  # type: ignore[attr-defined]
            made.named = named  # type: ignore[attr-defined]
            return made

    class Made(metaclass=Meta, flag=3):
        pass

    class Colour(enum.Enum):
        RED = 1

    assert Made.where == "test_other_classes_are_as_python_makes_them"  # type: ignore[attr-defined]
    assert Made.named == {"flag": 3}  # type: ignore[attr-defined]
    assert Colour(1) is Colour.RED
    assert not inspect.isfunction(builtins.__build_class__)
    with pytest.raises(ZeroDivisionError):

        class Failing:
            nothing = 1 / 0

    with pytest.raises(TypeError):

        class Refused(bool):  # type: ignore[misc]
            pass


def test_a_method_is_shown_as_it_was_written() -> None:
    assert Measured.__array__.__name__ == "__array__"
    assert Measured.__array__.__doc__ == "Return the array."
    assert list(inspect.signature(Measured.__array__).parameters) == ["self", "dtype", "copy"]
