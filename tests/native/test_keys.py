"""Arrays of ours in keys of arrays of NumPy's class, and of classes that derive from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import native

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")


class Numpys(np.ndarray):
    """A class that does not know of dnumpy."""


class Programs(dnumpy.ndarray):
    """A class of a program."""


class Asking(dnumpy.ndarray):
    """One that has a method of its own for what is asked."""

    def __getitem__(self, key: Any) -> Any:
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)


MAKERS: dict[str, Callable[[np.ndarray], Any]] = {
    "array": np.array,
    "a class of NumPy's": lambda a: a.copy().view(Numpys),
    "a class of a program": lambda a: a.copy().view(Programs),
    "with methods of its own": lambda a: a.copy().view(Asking),
    "masked": np.ma.array,
    "records": lambda a: a.copy().view(np.recarray),
    "memory-mapped": lambda a: a.copy().view(np.memmap),
    "text": lambda a: a.astype("U3").view(np.char.chararray),
}
SHAPES = [(0, 3), (2, 0), (2, 0, 3), (0,), (3, 2)]


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_mask_of_ours_chooses_as_numpys_does(name: str, shape: tuple[int, ...]) -> None:
    made = np.arange(np.prod(shape), dtype=float).reshape(shape)
    for covered in range(1, len(shape) + 1):
        mask = np.arange(np.prod(shape[:covered])).reshape(shape[:covered]) % 2 > 0
        last = shape[-covered:]
        behind = (..., np.arange(np.prod(last)).reshape(last) % 2 > 0)
        for key in (mask, behind):
            ours = (..., dnumpy.array(key[1])) if type(key) is tuple else dnumpy.array(key)
            mine, theirs = MAKERS[name](made), MAKERS[name](made)
            found, expected = mine[ours], theirs[key]
            assert type(found) is type(expected)
            assert found.shape == expected.shape
            assert np.array_equal(np.asarray(found), np.asarray(expected))
            mine[ours] = 7
            theirs[key] = 7
            assert np.array_equal(np.asarray(mine), np.asarray(theirs))


@pytest.mark.parametrize("name", MAKERS)
def test_what_is_no_index_is_refused_even_without_elements(name: str) -> None:
    made = MAKERS[name](np.zeros((0, 3)))
    for key in (np.zeros((0, 3)), (slice(None), np.zeros(0, complex))):
        ours = (key[0], dnumpy.array(key[1])) if type(key) is tuple else dnumpy.array(key)
        with pytest.raises(IndexError) as expected:
            made[key]
        with pytest.raises(IndexError) as found:
            made[ours]
        assert str(found.value) == str(expected.value)
        with pytest.raises(IndexError) as found:
            made[ours] = 3
        assert str(found.value) == str(expected.value)


def test_numpys_own_keys_are_as_before() -> None:
    made = np.arange(12.0).reshape(3, 4)
    assert made[1, 2] == 6
    assert np.array_equal(made[[0, 2]], made[np.array([0, 2])])
    with pytest.raises(ValueError, match="cannot delete array elements"):
        del made[0]
    with pytest.raises(IndexError, match="only integers"):
        made["x"]
