"""Classes that override NumPy's functions meet ours; other libraries' classes meet NumPy's."""

from __future__ import annotations

import operator
from typing import Any

import numpy
import pytest

import dnumpy as np
from dnumpy.api import overrides


class Logged:
    """Answers every function and ufunc with what it was handed; this module imports dnumpy."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func, tuple(types), args, kwargs

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return ufunc, method, inputs, kwargs


class Declining(Logged):
    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return NotImplemented

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return NotImplemented


@pytest.mark.parametrize("name", ["sum", "concatenate", "mean", "where", "linalg.norm"])
def test_a_class_is_handed_our_function(name: str) -> None:
    x = Logged()
    function: Any = np
    for part in name.split("."):
        function = getattr(function, part)
    given = {"concatenate": ([x, x],), "where": (x, 1, 2)}.get(name, (x,))
    func, types, args, kwargs = function(*given)
    assert func is function
    assert types == (Logged,)
    assert args == given
    assert kwargs == {}


@pytest.mark.parametrize("method", ["__call__", "reduce", "accumulate", "outer", "at", "reduceat"])
def test_a_class_is_handed_our_ufunc(method: str) -> None:
    x = Logged()
    given = {"reduce": (x,), "accumulate": (x,), "at": (x, [0], 1), "reduceat": (x, [0])}
    args = given.get(method, (np.arange(3), x))
    ufunc, called, inputs, _ = getattr(np.add, method)(*args)
    assert ufunc is np.add
    assert called == method
    assert any(i is x for i in inputs)


def test_operators_hand_over_our_ufunc_too() -> None:
    x = Logged()
    for found in (np.arange(3) + x, np.arange(3) == x):
        assert found[0] in (np.add, np.equal)
    target = np.arange(3)
    target += x
    assert target[0] is np.add


def test_out_reaches_the_override_as_numpy_normalises_it() -> None:
    x = Logged()
    assert np.add(1, 2, x)[3] == {"out": (x,)}
    assert np.add(1, 2, out=x)[3] == {"out": (x,)}


def test_like_makes_the_array_by_our_function() -> None:
    x = Logged()
    for function in (np.array, np.asarray, np.zeros, np.arange, np.fromiter, np.frombuffer):
        given = (b"12345678",) if function is np.frombuffer else ([1],)
        found = function(*given, dtype=float, like=x)
        assert found[0] is function
        assert "like" not in found[3]


def test_a_subclass_is_asked_before_its_base() -> None:
    class Later(Logged):
        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return "later"

    assert np.concatenate([Logged(), Later()]) == "later"
    assert np.concatenate([Logged(), np.arange(2)])[1] == (Logged, numpy.ndarray)


def test_what_every_class_declines_is_a_type_error() -> None:
    with pytest.raises(TypeError, match=r"no implementation found for 'numpy.sum'"):
        np.sum(Declining())
    with pytest.raises(TypeError, match=r"operand type\(s\) all returned NotImplemented"):
        np.add(Declining(), 1)


def test_a_subclass_of_ndarray_may_call_the_implementation_of_its_base() -> None:
    seen = []

    class Traced(np.ndarray):
        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            seen.append(func)
            return super().__array_function__(func, types, args, kwargs)

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
            seen.append(ufunc)
            plain = [i.view(np.ndarray) if isinstance(i, Traced) else i for i in inputs]
            return super().__array_ufunc__(ufunc, method, *plain, **kwargs)

    x = np.arange(4.0).view(Traced)
    assert np.sum(x.view(Traced)) == 6
    assert list(np.add(x, 1)) == [1, 2, 3, 4]
    assert np.sum in seen
    assert np.add in seen


def test_a_class_of_another_library_meets_numpy() -> None:
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1.0, 2, 3])
    for found in (np.exp(series), np.add(series, np.arange(3.0)), np.arange(3.0) * series):
        assert type(found) is pandas.Series
    assert not overrides.overridden((series,), "__array_ufunc__")
    assert type((series + np.arange(3.0)).to_numpy()) is numpy.ndarray


def test_a_function_that_numpy_does_not_dispatch_meets_the_ufunc_of_the_class() -> None:
    ufunc, _, inputs, _ = np.strings.lstrip(Logged())
    assert type(ufunc) is np.ufunc
    assert type(inputs[0]) is Logged


@pytest.mark.parametrize(
    "call",
    [
        "np.add.reduce(x)",
        "np.add.reduce(x, 0)",
        "np.maximum.reduce(x, axis=0)",
        "np.add.reduce(x, keepdims=True)",
        "np.add.reduce(x, where=True, initial=None)",
        "np.add.reduce(array=x)",
        "np.add.reduce([1, 2], where=x)",
        "np.add.accumulate(x)",
        "np.add.accumulate(x, 0)",
        "np.add.accumulate([1, 2], out=x)",
        "np.add.reduceat(x, [0])",
        "np.add.reduceat([1, 2], x, dtype='f4')",
        "np.add.reduceat(x, indices=[0])",
        "np.add.outer(x, 1, dtype=None)",
    ],
)
def test_a_class_is_handed_the_arguments_that_were_written_and_no_others(call: str) -> None:
    x = Logged()
    ours, theirs = [eval(call, {"np": module, "x": x}) for module in (np, numpy)]  # noqa: S307
    assert ours == theirs


class Told:
    """Says whom NumPy named, and declines."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        told.append((type(self), [t.__name__ for t in types], len(args), sorted(kwargs)))
        return NotImplemented


class Below(Told):
    pass


class Other(Told):
    pass


class Array(numpy.ndarray, Told):  # type: ignore[misc]
    __array_function__ = Told.__array_function__


told: list[Any] = []


@pytest.mark.parametrize(
    "call",
    [
        "np.concatenate([a, Told()])",
        "np.concatenate([Told(), a, Below()])",
        "np.stack([Other(), a, Told(), Below(), a.view(Array)])",
        "np.dot(a, Told())",
        "np.where(a > 0, Told(), 1)",
        "np.append(a, Told())",
        "np.linalg.solve(a, Told())",
        "np.einsum('i,i', a, Told())",
        "np.sum(a, out=Told())",
        "np.copyto(a, Told())",
        "np.copyto(a, Told(), 'no')",
        "np.copyto(a, 1, where=Told())",
    ],
)
@pytest.mark.parametrize("size", [3, 300_000])
def test_classes_are_named_and_asked_in_the_order_of_numpy(call: str, size: int) -> None:
    heard = []
    for module in (np, numpy):
        told.clear()
        names = {**globals(), "np": module, "a": module.ones(size)}
        with pytest.raises(TypeError, match="no implementation found") as caught:
            eval(call, names)  # noqa: S307 - of the list above
        heard.append((str(caught.value), list(told)))
    assert heard[0] == heard[1]


def test_a_ufunc_does_not_ask_the_items_of_a_list() -> None:
    x = Logged()
    assert np.add.reduce([x]) is x
    assert np.maximum([x], [None], where=[False], out=np.zeros(1, object)) == [0]


def test_messages_name_the_class_of_an_operand() -> None:
    with pytest.raises(TypeError, match="'Logged'"):
        np.broadcast_to(np.ones(1), Logged())


class _MethodPriority:
    def __array_priority__(self) -> int:  # no number
        return 1

    def __radd__(self, _other: object) -> str:
        return "ours"


class _TextPriority(_MethodPriority):
    __array_priority__: Any = "3"


class _OwnPriority(_MethodPriority):
    __array_priority__: Any = property(lambda _self: 5)


@pytest.mark.parametrize("kind", [_MethodPriority, _TextPriority, _OwnPriority])
def test_a_priority_is_what_numpy_reads_as_a_number(kind: type) -> None:
    expected = numpy.arange(3) + kind()
    found = np.arange(3) + kind()
    assert type(found) is str if type(expected) is str else found.tolist() == expected.tolist()


class Handled:
    """Answers every function with the function; NumPy's sees it too."""

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return [func]


_DISPATCHING = [
    (module, name)
    for module in ("", "linalg", "fft", "lib.stride_tricks", "strings", "char", "emath")
    for name, f in vars(operator.attrgetter(module)(numpy) if module else numpy).items()
    if isinstance(f, type(numpy.sum)) and not name.startswith("_")
]


@pytest.mark.parametrize(("module", "name"), _DISPATCHING)
def test_the_handler_is_given_the_very_function_of_the_namespace(module: str, name: str) -> None:
    def answered(xp: Any, places: str) -> Any:
        function = getattr(operator.attrgetter(module)(xp) if module else xp, name)
        x, z = Handled(), xp.zeros(3)
        given: list[Any] = [{"x": x, "z": z, "l": [x, x], "n": 0}[place] for place in places]
        try:
            found = function(*given)
        except Exception as error:  # noqa: BLE001 - any, as NumPy's
            return type(error)
        if type(found) is not list or len(found) != 1:
            return type(found).__name__
        if not callable(found[0]):
            return "a list"
        return found[0] is function, {function: 1}.get(found[0])

    for places in ("x", "xx", "xn", "nx", "xxx", "l", "lx", "zx", "znx", "nnx", "zxx", "xnn"):
        assert answered(np, places) == answered(numpy, places), places
