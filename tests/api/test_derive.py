"""Subclasses of ndarray in programs: NumPy's memory and protocol, with plain views of ours."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import dnumpy as np
from tests.comparison import assert_as_numpy


class Tagged(np.ndarray):
    """An array with a tag, as NumPy's guide to subclassing writes it."""

    tag: str | None

    def __new__(cls, values: Any, tag: str | None = None) -> Any:
        made = np.asarray(values).view(cls)
        made.tag = tag
        return made

    def __array_finalize__(self, other: Any) -> None:
        self.tag = getattr(other, "tag", None)


class Doubling(np.ndarray):
    def __array_ufunc__(
        self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        plain = [x.view(np.ndarray) if isinstance(x, Doubling) else x for x in inputs]
        if out:
            kwargs["out"] = tuple(x.view(np.ndarray) if isinstance(x, Doubling) else x for x in out)
        found = super().__array_ufunc__(ufunc, method, *plain, **kwargs)
        return found if out or found is NotImplemented else (2 * found).view(Doubling)


def test_attributes_travel_with_views_and_operations() -> None:
    x = Tagged(np.arange(4.0), "a")
    assert isinstance(x, np.ndarray)
    assert isinstance(x, numpy.ndarray)
    assert (x[1:] + 1).tag == "a"
    assert type(np.sin(x)) is Tagged


def test_a_plain_view_is_ours_and_shares_memory() -> None:
    x = Tagged(np.arange(4.0))
    plain = x.view(np.ndarray)
    assert type(plain) is np.ndarray
    plain[0] = 9
    assert x[0] == 9


def test_an_overriding_subclass_calls_the_ufunc_of_its_base() -> None:
    x = np.arange(3.0).view(Doubling)
    assert (x + 1).tolist() == [2, 4, 6]
    assert type(np.add(x, np.ones(3))) is Doubling
    total = np.zeros(3)
    np.add(x, 1, out=total)
    assert total.tolist() == [1, 2, 3]


def test_a_subclass_is_made_over_memory_of_ours() -> None:
    memory = np.arange(4.0)
    x = Tagged.__base__.__new__(Tagged, (2,), dtype=float, buffer=memory)
    x[0] = 7
    assert memory[0] == 7
    assert_as_numpy(lambda xp: xp.ndarray((2, 2), float, xp.arange(4.0)))


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
@pytest.mark.parametrize("swap", [False, True])
def test_operators_of_numpys_subclasses_win(swap: bool) -> None:
    def program(xp: Any) -> Any:
        a = xp.arange(4.0).reshape(2, 2)
        pairs = [(a, xp.matrix(a)), (a, xp.ma.array(a, mask=a > 2))]
        return [
            (type(r).__name__, xp.asarray(r))
            for x, y in (p[::-1] if swap else p for p in pairs)
            for r in (x * y, x + y, x == y, x - y)
        ]

    assert_as_numpy(program)
