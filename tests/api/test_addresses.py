"""Who was told where an array lies may read and write there for as long as the array lives."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
import pytest

import dnumpy

pytestmark = pytest.mark.usefixtures("managed")


def at(address: int) -> Any:
    return ctypes.c_double.from_address(address)


def test_an_address_stays_that_of_the_array_while_it_is_written_to() -> None:
    a = dnumpy.arange(100_000.0)
    address = a.ctypes.data
    a += 1
    doubled = a * 2
    a[5] = 77
    assert at(address).value == 1.0
    assert at(address + 5 * 8).value == 77
    at(address).value = 5
    assert a[0] == 5
    assert a[:2].tolist() == [5, 2]
    a[:] = doubled
    assert at(address).value == 2.0
    assert doubled.tolist()[5] == 12.0


@pytest.mark.parametrize("pick", [lambda a: a, lambda a: a[10::2], lambda a: a.T, lambda a: a[:0]])
def test_the_interface_is_numpys(pick: Any) -> None:
    ours, theirs = dnumpy.arange(100.0).reshape(50, 2), np.arange(100.0).reshape(50, 2)
    found, expected = (pick(a).__array_interface__ for a in (ours, theirs))
    assert found.pop("data")[1] == expected.pop("data")[1]
    assert found == expected
    if sys.version_info >= (3, 12):
        assert type(pick(ours).__array_struct__) is type(pick(theirs).__array_struct__)
    assert pick(ours).ctypes.shape[:] == pick(theirs).ctypes.shape[:]


def test_an_address_from_the_interface_is_one_of_the_memory() -> None:
    a = dnumpy.arange(100.0)
    b = a[3:]
    address, readonly = b.__array_interface__["data"]
    assert not readonly
    a *= 2
    assert at(address).value == 6.0
    at(address).value = -1
    assert (a + 0)[3] == -1
    a.flags.writeable = False
    assert a.__array_interface__["data"] == (address - 24, True)


def test_who_wraps_the_interface_shares_the_memory() -> None:
    class Wrapped:
        def __init__(self, array: Any) -> None:
            self.__array_interface__ = dict(array.__array_interface__)
            self.array = array

    a = dnumpy.zeros(100)
    seen = np.asarray(Wrapped(a))
    a[2:] += 4
    seen[0] = 3
    assert seen.tolist() == a.tolist() == [3, 0] + [4] * 98


def test_numpy_itself_asks_for_the_array_and_lets_go_of_it() -> None:
    a = dnumpy.zeros(100)
    seen = np.asarray(a)
    assert np.shares_memory(seen, np.asarray(a))
    del seen
    if a._np is None:
        assert not a._buf.shared


def test_pillow_makes_pictures_of_our_arrays() -> None:
    image = pytest.importorskip("PIL.Image")
    a = (dnumpy.arange(300) % 256).astype("u1").reshape(10, 10, 3)
    picture = image.fromarray(a)
    assert np.array_equal(np.asarray(picture), a)
    assert np.array_equal(dnumpy.asarray(picture.convert("L")), np.asarray(picture.convert("L")))
