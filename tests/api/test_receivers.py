"""What our class has by NumPy's names, called on arrays of NumPy's class and of its subclasses."""

from __future__ import annotations

import copy
import inspect
import pickle
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy
import pytest

import dnumpy as np
from dnumpy import native

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CALLABLE = (types.WrapperDescriptorType, types.MethodDescriptorType)
MEMBERS = vars(numpy.ndarray)
METHODS = sorted(name for name, x in MEMBERS.items() if isinstance(x, CALLABLE))
GETSETS = [name for name, x in MEMBERS.items() if isinstance(x, types.GetSetDescriptorType)]
ATTRIBUTES = sorted(set(GETSETS) & set(dir(np.ndarray)))
UNTOLD = {"ctypes", "flat", "data", "__array_struct__"}  # objects that only know where they lie


class Plain(np.ndarray):
    """A subclass with nothing of its own."""


class Sig(np.ndarray):
    """A subclass that overrides what it then asks of the class."""

    def __getitem__(self, key: Any) -> Any:
        return np.ndarray.__getitem__(self, key)

    def __add__(self, other: Any) -> Any:
        return np.ndarray.__add__(self, other)

    def sum(self, *args: Any, **kwargs: Any) -> Any:
        return np.ndarray.sum(self, *args, **kwargs)

    def __array_finalize__(self, other: Any) -> None:
        np.ndarray.__array_finalize__(self, other)


RECEIVERS: dict[str, Callable[[], Any]] = {
    "array": lambda: numpy.arange(4),
    "subclass": lambda: numpy.arange(4).view(Plain),
    "floats": lambda: numpy.array([1.5]).view(Plain),
    "masked": lambda: numpy.ma.array([1, 2, 3, 4], mask=[0, 1, 0, 0]),
    "matrix": lambda: numpy.matrix([[1, 2], [3, 4]]),
    "records": lambda: numpy.rec.array([(1, 2.0), (3, 4.0)], dtype="i4,f8"),
}
OTHERS: dict[str, Any] = {
    "integer": 3, "text": "x", "nothing": None, "list": [1], "scalar": numpy.float64(1),
}  # fmt: skip
ARGUMENTS: list[tuple[Any, ...]] = [
    (), (0,), (1, 2), (slice(1, 3),), ([1, 0],), (None,), ("i8",), (numpy.arange(4),), ([0], 7),
]  # fmt: skip


def told(x: Any) -> Any:
    """Return what of a result is to be the same."""
    if isinstance(x, np.ndarray):
        return type(x).__name__, x.dtype.str, x.shape, x.tolist()
    if isinstance(x, tuple):
        return tuple(map(told, x))
    if type(x) in (bool, int, float, complex, str, bytes, list, type(None)) or x is NotImplemented:
        return x
    if isinstance(x, numpy.generic | numpy.dtype):
        return x
    return type(x).__name__


def given(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return told(function(*args)), told(args[0]) if args else None
    except Exception as error:  # noqa: BLE001 - it is compared
        return type(error), str(error)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("receiver", RECEIVERS)
@pytest.mark.parametrize("name", METHODS)
def test_a_method_of_the_class_does_to_arrays_of_numpys_what_theirs_does(
    name: str, receiver: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    if name == "resize" and not native.built:
        pytest.skip("a frame of Python's holds the array, too")
    make = RECEIVERS[receiver]
    ours, theirs = getattr(np.ndarray, name), getattr(numpy.ndarray, name)
    results = []
    for args in ARGUMENTS:
        found, expected = given(ours, make(), *args), given(theirs, make(), *args)
        assert found == expected or str(found) == str(expected), args  # nan
        results.append(expected)
    assert results


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("receiver", OTHERS)
def test_a_method_of_the_class_refuses_what_numpys_refuses(name: str, receiver: str) -> None:
    ours, theirs = getattr(np.ndarray, name), getattr(numpy.ndarray, name)
    assert given(ours) == given(theirs)
    assert given(ours, OTHERS[receiver], 1) == given(theirs, OTHERS[receiver], 1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("receiver", RECEIVERS)
@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_of_the_class_is_that_of_arrays_of_numpys(name: str, receiver: str) -> None:
    make = RECEIVERS[receiver]
    found, expected = (given(getattr(c, name).__get__, make()) for c in (np.ndarray, numpy.ndarray))
    assert found == expected or name in UNTOLD
    if name == "data":
        return
    for value in ((2, 2), 5, [1], "i2", numpy.arange(4)):
        x, y = make(), make()
        found = given(getattr(np.ndarray, name).__set__, x, value)
        assert found == given(getattr(numpy.ndarray, name).__set__, y, value)
        assert given(numpy.array, x) == given(numpy.array, y)


@pytest.mark.parametrize("name", ATTRIBUTES)
@pytest.mark.parametrize("receiver", OTHERS)
def test_an_attribute_of_the_class_refuses_what_numpys_refuses(name: str, receiver: str) -> None:
    x = OTHERS[receiver]
    if x is None:
        return  # of which Python takes the class for the object
    ours, theirs = getattr(np.ndarray, name), getattr(numpy.ndarray, name)
    assert given(ours.__get__, x) == given(theirs.__get__, x)
    assert given(ours.__set__, x, 1) == given(theirs.__set__, x, 1)
    assert given(ours.__delete__, x) == given(theirs.__delete__, x)


def test_the_class_has_all_that_numpys_has() -> None:
    missing = set(dir(numpy.ndarray)) - set(dir(np.ndarray))
    asks_for_memory_first = native.built or sys.version_info >= (3, 12)  # see api/addresses.py
    assert missing == (set() if asks_for_memory_first else {"__array_struct__"})


def test_memory_is_found_by_what_forwards_the_array_struct() -> None:
    class Forwarding:
        def __init__(self, array: Any) -> None:
            self.array = array

        @property
        def __array_struct__(self) -> Any:
            return self.array.__array_struct__

    if "__array_struct__" not in dir(np.ndarray):
        pytest.skip("NumPy would ask for it each time")
    x = np.arange(3.0)
    seen = np.asarray(Forwarding(x))
    assert seen.dtype == x.dtype
    seen[0] = 7
    assert x[0] == 7


def test_results_that_are_plain_arrays_are_ours() -> None:
    x = numpy.arange(6.0)
    assert type(np.ndarray.reshape(x, (2, 3))) is np.ndarray
    assert type(np.ndarray.__getitem__(x, slice(2))) is np.ndarray
    seen = np.ndarray.__getitem__(x, slice(2))
    seen[0] = 9
    assert x[0] == 9
    assert type(np.ndarray.view(x.view(Plain), np.ndarray)) is np.ndarray
    assert np.ndarray.__iadd__(x, 1) is x
    assert type(np.ndarray.__array__(x.view(Plain))) is numpy.ndarray


def test_arrays_of_ours_are_operands_and_outputs() -> None:
    x, y, out = numpy.arange(3.0).view(Plain), np.arange(3.0), np.zeros(())
    assert type(np.ndarray.__add__(x, y)) is Plain
    assert np.ndarray.__getitem__(x, np.array([2, 0])).tolist() == [2, 0]
    np.ndarray.__setitem__(x, slice(None), y + 1)
    assert x.tolist() == [1, 2, 3]
    np.ndarray.sum(x, out=out)
    assert out == 6
    assert np.ndarray.dot(x, y) == 8
    wrapped = np.ndarray.__array_wrap__(x, y)
    assert type(wrapped) is Plain
    wrapped[0] = 5
    assert y[0] == 5


def test_a_subclass_may_ask_the_class_for_what_it_overrides() -> None:
    x = np.arange(10.0).view(Sig)
    assert x[2] == 2
    assert x[1:3].tolist() == [1, 2]
    assert repr(x).startswith("Sig([0., 1.")
    assert (x + 1).tolist() == list(range(1, 11))
    assert type(x + 1) is Sig
    assert x.sum() == 45
    assert next(map(np.ndarray.flatten, [x])).tolist() == x.tolist()


@pytest.mark.parametrize("name", METHODS)
def test_what_tells_of_a_method_is_what_tells_of_numpys(name: str) -> None:
    ours, theirs = getattr(np.ndarray, name), getattr(numpy.ndarray, name)
    assert ours.__name__ == theirs.__name__
    assert ours.__qualname__ == theirs.__qualname__
    assert ours.__get__(np.arange(3)).__self__.tolist() == [0, 1, 2]
    assert pickle.loads(pickle.dumps(ours)) is ours
    assert getattr(np.ndarray, name) is ours
    try:
        expected = inspect.signature(theirs)
    except ValueError:  # of what is not told
        return
    assert inspect.signature(ours) == expected


def test_operators_of_arrays_keep_their_slots() -> None:
    x = np.arange(3)
    assert (x + 1).tolist() == x.__add__(1).tolist() == np.ndarray.__add__(x, 1).tolist()
    assert x[1] == x.__getitem__(1) == np.ndarray.__getitem__(x, 1)
    assert len(x) == x.__len__() == np.ndarray.__len__(x)


def test_an_array_takes_the_state_of_one_of_numpys() -> None:
    source = numpy.arange(6.0).reshape(2, 3)
    state = source.__reduce__()[2]
    x = np.zeros(2)
    x.__setstate__(state)
    assert x.tolist() == source.tolist()
    with pytest.raises(TypeError):
        x.__setstate__((1,))


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_and_subclasses_are_pickled(protocol: int) -> None:
    for x in (np.arange(5.0), np.arange(5.0).view(Plain)):
        for made in (pickle.loads(pickle.dumps(x, protocol)), copy.copy(x), copy.deepcopy(x)):
            assert type(made) is type(x)
            assert made.tolist() == x.tolist()
    assert type(np.arange(2).__reduce_ex__(protocol)) is tuple
