"""Which of two classes is asked first: Python and NumPy have rules for subclasses of the array."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Any

import pytest

import dnumpy as np
from dnumpy.api.operators import BINARY, COMPARE
from tests.comparison import assert_as_numpy

if TYPE_CHECKING:
    from collections.abc import Callable

    Log = list[Any]

OPERATORS = sorted({*BINARY, *COMPARE, "pow", "matmul"} - {"divmod"})
SIZES = (6, 300_000)


def subclass(xp: Any, log: Log) -> Any:
    """Return a subclass with an ``__array_ufunc__`` that notes what it is asked for."""

    class Asked(xp.ndarray):  # type: ignore[misc]
        def __array_ufunc__(
            self, ufunc: Any, method: str, *inputs: Any, out: Any = (), **kwargs: Any
        ) -> Any:
            log.append((ufunc.__name__, method, [type(x).__name__ for x in inputs]))
            if out:
                kwargs["out"] = tuple(x.view(xp.ndarray) for x in out)
            return getattr(ufunc, method)(*[x.view(xp.ndarray) for x in inputs], **kwargs)

    return Asked


def with_reflected(base: Any, name: str, log: Log, *, answers: bool) -> Any:
    """Return a subclass that has the reflected operator of its own."""

    def reflected(_self: Any, _other: Any) -> Any:
        log.append(name)
        return "theirs" if answers else NotImplemented

    mirrored = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
    special = f"__{mirrored.get(name, f'r{name}')}__"
    return type("Reflecting", (base,), {special: reflected})


def asked(xp: Any, name: str, size: int, make: Callable[[Log], Any]) -> Any:
    """Return what was noted while an array of ours met one of a class, and what came of it."""
    log: Log = []
    x = xp.arange(1, size + 1) % 7 + 1
    other = x.view(make(log))
    found = getattr(operator, name)(x, other)
    return log, found if isinstance(found, str) else xp.asarray(found)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", OPERATORS)
def test_a_subclass_with_ufuncs_of_its_own_is_asked_as_by_numpy(name: str, size: int) -> None:
    assert_as_numpy(lambda xp: asked(xp, name, size, lambda log: subclass(xp, log)))


@pytest.mark.parametrize("answers", [True, False])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", OPERATORS)
def test_the_reflected_operator_of_a_subclass_goes_first(
    name: str, size: int, answers: bool
) -> None:
    def with_ufuncs(xp: Any) -> Any:
        def make(log: Log) -> Any:
            return with_reflected(subclass(xp, log), name, log, answers=answers)

        return asked(xp, name, size, make)

    def without(xp: Any) -> Any:
        def make(log: Log) -> Any:
            return with_reflected(xp.ndarray, name, log, answers=answers)

        return asked(xp, name, size, make)

    assert_as_numpy(with_ufuncs)
    assert_as_numpy(without)


def classes_with_functions(xp: Any) -> dict[str, Any]:
    class Keeping(xp.ndarray):  # type: ignore[misc]
        pass

    def answer(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return type(self).__name__, func.__name__, sorted(t.__name__ for t in types)

    members = {"__array_function__": answer}
    return {
        "ours": xp.ndarray,
        "keeping": Keeping,
        "overriding": type("Overriding", (xp.ndarray,), members),
        "derived": type("Derived", (Keeping,), members),
        "apart": type("Apart", (), members),
    }


@pytest.mark.parametrize("kinds", list(itertools.permutations(classes_with_functions(np), 3)))
def test_functions_ask_classes_in_numpys_order(kinds: tuple[str, ...]) -> None:
    def program(xp: Any) -> Any:
        known = classes_with_functions(xp)
        x = xp.arange(3)
        given = [known[k]() if k == "apart" else x.view(known[k]) for k in kinds]
        return [(type(r).__name__, r) for r in (xp.concatenate(given), xp.where(*given))]

    assert_as_numpy(program)
