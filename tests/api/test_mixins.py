"""The mixin's operators hand our ufuncs to ``__array_ufunc__``."""

from __future__ import annotations

import operator
from typing import Any

import numpy
import pytest

import dnumpy as np


class Told(np.lib.mixins.NDArrayOperatorsMixin):
    """Tells by which name of the namespace it was handed a ufunc."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return [name for name in ("add", ufunc.__name__) if getattr(np, name) is ufunc]


class ToldByNumpy(numpy.lib.mixins.NDArrayOperatorsMixin):
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return [name for name in ("add", ufunc.__name__) if getattr(numpy, name) is ufunc]


_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lshift", "rshift", "and_",
    "or_", "xor", "eq", "ne", "lt", "le", "gt", "ge", "iadd", "imul", "ipow",
)  # fmt: skip


@pytest.mark.parametrize("name", _BINARY)
def test_an_operator_hands_over_our_ufunc(name: str) -> None:
    call = getattr(operator, name)
    expected = call(ToldByNumpy(), 2)
    assert expected
    assert call(Told(), 2) == expected
    assert call(Told(), np.arange(3)) == expected
    if not name.startswith("i"):
        assert call(np.arange(3), Told()) == call(numpy.arange(3), ToldByNumpy())
        assert call(2, Told()) == call(2, ToldByNumpy())


@pytest.mark.parametrize("name", ["neg", "pos", "abs", "invert"])
def test_an_operator_of_one_operand_does_too(name: str) -> None:
    call = getattr(operator, name)
    assert call(Told()) == call(ToldByNumpy()) != []


def test_the_mixin_is_numpys_to_see() -> None:
    ours, theirs = np.lib.mixins.NDArrayOperatorsMixin, numpy.lib.mixins.NDArrayOperatorsMixin
    assert isinstance(Told(), theirs)
    assert ours.__name__ == theirs.__name__
    assert ours.__doc__ == theirs.__doc__
    assert not hasattr(ours(), "__dict__")
