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


def _classes(xp: Any, log: list[Any]) -> dict[str, Any]:
    """Return subclasses of ``xp.ndarray`` that note whether a ufunc is the namespace's."""

    def note(ufunc: Any, *more: Any) -> None:
        log.append((ufunc.__name__, getattr(xp, ufunc.__name__) is ufunc, *more))

    def plain(x: Any) -> Any:
        return x.view(xp.ndarray) if isinstance(x, xp.ndarray) else x

    class ByMethod(xp.ndarray):  # type: ignore[misc]
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            note(ufunc, method)
            outs = kwargs.pop("out", ())
            kwargs |= {"out": tuple(map(plain, outs))} if outs else {}
            found = getattr(ufunc, method)(*map(plain, inputs), **kwargs)
            return found.view(ByMethod) if isinstance(found, xp.ndarray) else found

    class Further(ByMethod):
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            note(ufunc, "further")
            return super().__array_ufunc__(ufunc, method, *inputs, **kwargs)

    class Beside:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            note(ufunc, method)
            base: Any = super()
            return base.__array_ufunc__(ufunc, method, *map(plain, inputs), **kwargs)

    class BySuper(Beside, xp.ndarray):  # type: ignore[misc]
        pass

    class Wrapping(xp.ndarray):  # type: ignore[misc]
        def __array_wrap__(
            self, array: Any, context: Any = None, return_scalar: bool = False
        ) -> Any:
            if context is not None:
                note(context[0], len(context[1]), context[2])
            return super().__array_wrap__(array, context, return_scalar)

    return {c.__name__: c for c in (ByMethod, Further, BySuper, Wrapping)}


_OF_SUBCLASS = (
    "x + 1", "1 + x", "x.sum()", "np.sum(x)", "np.add(x, 1)", "x @ x", "x.cumsum()", "x.max()",
    "x == 1", "-x", "np.add.reduce(x)", "x.mean()", "np.arange(4) + x", "np.float64(1) + x",
    "np.multiply.outer(x, x)", "abs(x)", "x ** 2", "divmod(x, 3)", "np.modf(x)", "x.clip(1, 2)",
)  # fmt: skip


@pytest.mark.parametrize("code", _OF_SUBCLASS)
@pytest.mark.parametrize("name", ["ByMethod", "Further", "BySuper", "Wrapping"])
def test_an_override_of_a_subclass_is_handed_our_ufunc(name: str, code: str) -> None:
    told = []
    for xp in (numpy, np):
        log: list[Any] = []
        x = xp.arange(4.0).view(_classes(xp, log)[name])
        found = eval(code, {"np": xp, "x": x})  # noqa: S307
        scalar = isinstance(found, numpy.float64)  # which may wait
        told.append(("float64" if scalar else type(found).__name__, str(found), log))
    assert told[1] == told[0]


def test_what_wraps_the_result_of_an_object_is_handed_ours() -> None:
    log: list[Any] = []

    class Box:
        def __init__(self, held: Any) -> None:
            self.held = held

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
            return np.array(self.held, dtype=dtype)

        def __array_wrap__(
            self, array: Any, context: Any = None, return_scalar: bool = False
        ) -> Any:
            log.append((context[0], context[1][0], type(array)))
            return Box(array)

    box = Box([1, 2])
    found = np.add(box, 1)
    assert type(found) is Box
    assert log == [(np.add, box, np.ndarray)]
    assert log[0][0] is np.add
