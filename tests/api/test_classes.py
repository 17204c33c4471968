"""What the classes themselves are: their names, attributes and constructors are NumPy's."""

from __future__ import annotations

import copy
import functools
import pickle
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from tests.api.test_signatures import signature_of
from tests.comparison import assert_as_numpy, outcome

if TYPE_CHECKING:
    from collections.abc import Callable


def change(what: str, name: str, value: Any = None) -> Callable[[Any], Any]:
    def program(xp: Any) -> Any:
        owner = xp.zeros(3) if what == "array" else xp.add
        if value is None:
            delattr(owner, name)
        else:
            setattr(owner, name, value)
        return getattr(owner, name)

    return program


MISTAKES: dict[str, Callable[[Any], Any]] = {
    "an attribute of an array": lambda xp: xp.zeros(3).nonsense,
    "an attribute of a ufunc": lambda xp: xp.add.nonsense,
    "an array called": lambda xp: xp.zeros(3)(),
    "an array hashed": lambda xp: hash(xp.zeros(3)),
    "an array awaited": lambda xp: next(xp.zeros(3)),
    "an array entered": lambda xp: xp.zeros(3).__enter__(),
    "a ufunc indexed": lambda xp: xp.add[0],
    "an attribute of the class": lambda xp: xp.ndarray.nonsense,
    "an attribute set": change("array", "nonsense", 1),
    "an attribute deleted": change("array", "nonsense"),
    "nin set": change("ufunc", "nin", 3),
    "zeros of too much": lambda xp: xp.zeros(3, int, "C", None),
    "zeros with a strange word": lambda xp: xp.zeros(3, nonsense=1),
    "zeros in two orders": lambda xp: xp.zeros(3, int, "C", order="F"),
    "empty of too much": lambda xp: xp.empty(3, int, "C", None),
    "array of too much": lambda xp: xp.array([1], int, True),
    "array with a strange word": lambda xp: xp.array([1], nonsense=1),
    "asarray of too much": lambda xp: xp.asarray([1], int, "C", None),
    "asarray with a strange word": lambda xp: xp.asarray([1], nonsense=1),
    "ndarray of nothing": lambda xp: xp.ndarray(),
    "sin of nothing": lambda xp: xp.sin(),
    "sin of much": lambda xp: xp.sin(xp.zeros(3), xp.zeros(3), xp.zeros(3)),
    "add of one": lambda xp: xp.add(xp.zeros(3)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_told_in_numpys_words(mistake: str) -> None:
    kind, text = outcome(MISTAKES[mistake], np)
    assert issubclass(kind, Exception)
    assert outcome(MISTAKES[mistake], dnumpy) == (kind, text)


def test_an_attribute_error_tells_whose_attribute_is_missing() -> None:
    x = dnumpy.zeros(3)
    with pytest.raises(AttributeError) as raised:
        x.nonsense  # noqa: B018 - the look is what is tested
    assert (raised.value.name, raised.value.obj is x) == ("nonsense", True)


def test_the_classes_go_by_their_short_names() -> None:
    for xp in (np, dnumpy):
        assert [xp.ndarray.__name__, xp.ufunc.__name__] == ["ndarray", "ufunc"]
        assert [xp.ndarray.__qualname__, xp.ufunc.__qualname__] == ["ndarray", "ufunc"]


@pytest.mark.parametrize("name", ["add", "sin", "matmul", "modf"])
def test_a_ufunc_tells_what_numpys_does(name: str) -> None:
    ours, theirs = getattr(dnumpy, name), getattr(np, name)
    for attribute in ("nin", "nout", "nargs", "ntypes", "types", "identity", "signature"):
        assert getattr(ours, attribute) == getattr(theirs, attribute)
    assert ours.__qualname__ == theirs.__qualname__
    assert signature_of(ours) == signature_of(theirs)
    assert hasattr(ours, "__signature__") == hasattr(theirs, "__signature__")
    kinds = (np.dtype("f4"),) * theirs.nin + (None,) * theirs.nout
    assert ours.resolve_dtypes(kinds) == theirs.resolve_dtypes(kinds)


def test_an_array_is_made_by_the_class_or_by_its_new() -> None:
    def program(xp: Any) -> Any:
        class Derived(xp.ndarray):
            pass

        data = xp.arange(4.0)
        made = [xp.ndarray((2,), float, data, 8), xp.ndarray(shape=2, dtype=float, buffer=data)]
        made.append(xp.ndarray.__new__(xp.ndarray, (2,), float, data))
        data[1] = 7.0
        derived = xp.ndarray.__new__(Derived, (3,), int)
        kinds = [type(m) is xp.ndarray for m in made] + [type(derived) is Derived]
        return [*map(np.array, made), kinds, derived.shape, issubclass(Derived, xp.ndarray)]

    assert_as_numpy(program)


@pytest.mark.parametrize("name", ["zeros", "array", "asarray", "arange", "frombuffer"])
def test_built_in_functions_keep_their_face(name: str) -> None:
    ours, theirs = getattr(dnumpy, name), getattr(np, name)
    assert ours.__name__ == theirs.__name__
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert copy.copy(ours) is ours
    assert repr(ours) == f"<bound method {name} of <module 'dnumpy'>>"
    with pytest.raises(AttributeError):
        ours.__self__.nonsense  # noqa: B018 - the look is what is tested


@pytest.mark.parametrize(
    "call",
    [
        lambda xp: xp.zeros(3),
        lambda xp: xp.zeros(3, "i2"),
        lambda xp: xp.zeros((2, 3), int, "F").strides,
        lambda xp: xp.zeros((2, 3), order="F").strides,
        lambda xp: xp.zeros(shape=3, dtype=bool),
        lambda xp: xp.zeros(True),
        lambda xp: xp.zeros(2, device="cpu"),
        lambda xp: xp.empty(3, "i2").shape,
        lambda xp: xp.empty((2, 3), order="F").strides,
        lambda xp: xp.arange(3),
        lambda xp: xp.arange(-3),
        lambda xp: xp.arange(3, dtype="f4"),
        lambda xp: xp.array([1, 2, 3]),
        lambda xp: xp.array([1, 2.5], "f4"),
        lambda xp: xp.array([1, 2], ndmin=2),
        lambda xp: xp.array([]),
        lambda xp: xp.array([[1, 2], [3, 4]], order="F").strides,
        lambda xp: xp.asarray([1, 2], order="F"),
        lambda xp: xp.asarray(xp.arange(3), "f4"),
        lambda xp: xp.asanyarray(xp.arange(3)),
        lambda xp: (-xp.arange(3), abs(xp.arange(-3, 0)), ~xp.arange(3), -xp.array(2.0)),
        lambda xp: xp.modf(xp.array([1.5, -2.5])),
        lambda xp: xp.modf(xp.array(1.5)),
        lambda xp: xp.divmod(xp.array([7, 8]), 3),
        lambda xp: xp.sin(xp.array(1.0)),
        lambda xp: xp.add(xp.arange(3)[:, None], xp.arange(4)),
        lambda xp: xp.dot(xp.arange(3), xp.arange(3)),
        lambda xp: xp.positive(xp.arange(3.0)),
    ],
)
def test_the_short_ways_give_what_the_long_ones_do(call: Callable[[Any], Any]) -> None:
    assert_as_numpy(call)


def test_what_numpy_returns_as_it_is_stays_the_same_object() -> None:
    x, out = dnumpy.arange(3.0), dnumpy.zeros(3)
    assert dnumpy.asarray(x) is x
    assert dnumpy.asanyarray(x) is x
    assert dnumpy.sin(x, out) is out
    assert dnumpy.add(x, x, out) is out
    assert x[1:].base is x
    assert x.T.base is x
    assert x[x > 0].base is None


def test_a_result_larger_than_its_small_operands_is_managed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dnumpy.config, "eager_below", 100)
    rows, columns = dnumpy.arange(40.0)[:, None], dnumpy.arange(40.0)
    for found in (rows + columns, rows < columns, dnumpy.add(rows, columns)):
        assert found._np is None
    small = dnumpy.arange(9.0)
    for few in (small + small, small < small, dnumpy.add(small, small), -small, small * 2.0):
        assert few._np is not None


@pytest.mark.parametrize("numpys", [False, True])
def test_asanyarray_keeps_the_class_that_an_object_gives(numpys: bool) -> None:
    xp: Any = np if numpys else dnumpy

    class Proxy:
        def __init__(self, given: Any) -> None:
            self.given = given

        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self.given if dtype is None else self.given.astype(dtype)

    class Derived(xp.ndarray):  # type: ignore[misc]
        pass

    given = np.arange(6.0).reshape(2, 3)
    for made in (given.view(np.matrix), np.ma.array(given), xp.array(given).view(Derived)):
        for dtype in (None, "f4"):
            found = dnumpy.asanyarray(Proxy(made), dtype)
            assert type(found) is type(made)
            assert np.array_equal(np.asarray(found), given)
        assert type(dnumpy.asarray(Proxy(made))) is dnumpy.ndarray
    mine = xp.arange(3)
    assert type(dnumpy.asanyarray(Proxy(mine))) is dnumpy.ndarray


@pytest.mark.parametrize("count", [3, 300_000])
def test_arrays_are_instances_of_numpys_class_too(count: int) -> None:
    x = dnumpy.arange(float(count)) * 2
    assert isinstance(x, np.ndarray)
    assert isinstance(x, dnumpy.ndarray)
    assert not isinstance(x, np.ma.MaskedArray | np.matrix | np.generic)

    @functools.singledispatch
    def told(x: Any) -> str:
        return "something else"

    told.register(np.ndarray)(lambda x: "NumPy's")
    assert told(x) == "NumPy's"
    told.register(dnumpy.ndarray)(lambda x: "ours")
    assert told(x) == "ours"


def test_what_an_array_shows_as_its_class_stands_for_it() -> None:
    x = dnumpy.arange(3)
    shown = x.__class__
    assert shown == dnumpy.ndarray
    assert np.ndarray == dnumpy.ndarray
    assert np.matrix != dnumpy.ndarray
    assert type(np.ones(2)) in (list, dnumpy.ndarray)
    assert {np.ndarray: 1, dnumpy.ndarray: 2}[type(x)] == 2
    assert dnumpy.ndarray == shown
    assert shown != np.matrix
    assert {dnumpy.ndarray: 1}[shown] == 1
    assert shown.__name__ == shown.__qualname__ == "ndarray"
    assert shown.__module__ == "numpy"
    assert repr(shown) == "<class 'numpy.ndarray'>"
    assert type(shown((2, 3))) is dnumpy.ndarray
    assert isinstance(np.ones(2), shown)
    assert isinstance(x, shown)
    assert issubclass(shown, np.ndarray)
    assert issubclass(np.matrix, shown)
    assert pickle.loads(pickle.dumps(shown)) is dnumpy.ndarray
    assert type(copy.deepcopy(x)) is type(pickle.loads(pickle.dumps(x))) is dnumpy.ndarray

    class Own(shown):  # type: ignore[misc, valid-type]
        pass

    assert isinstance(np.ones(2).view(Own), dnumpy.ndarray)
