"""NumPy's public objects that are no plain functions."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy
import pytest

import dnumpy
from tests.api.test_signatures import signature_of
from tests.comparison import assert_as_numpy


def test_builtin_functions_do_not_become_methods() -> None:
    class Maker:
        array = dnumpy.array
        zeros = dnumpy.zeros

    assert Maker().array([1, 2]).tolist() == [1, 2]
    assert Maker().zeros(2).tolist() == [0, 0]


@pytest.mark.parametrize(
    "name",
    [
        "array", "zeros", "sum", "concatenate", "concat", "linalg.norm", "fft.fft", "add", "ma.sum",
        "ma.add", "ma.zeros",
    ],
)  # fmt: skip
def test_public_functions_pickle_by_name_and_equal_their_copies(name: str) -> None:
    function: Any = dnumpy
    for part in name.split("."):
        function = getattr(function, part)
    assert pickle.loads(pickle.dumps(function)) is function
    assert copy.copy(function) is function
    assert copy.deepcopy(function) == function


def test_two_names_of_one_function_are_one_object() -> None:
    for name in numpy.__all__:
        for other in ("concatenate", "absolute", "arccos", "transpose", "bitwise_invert"):
            if getattr(numpy, name) is getattr(numpy, other):
                assert getattr(dnumpy, name) is getattr(dnumpy, other)


def test_signatures_are_numpys() -> None:
    for name in (
        "sum",
        "array",
        "concatenate",
        "mean",
        "linspace",
        "where",
        "full",
        "pad",
        "zeros",
    ):
        ours, theirs = getattr(dnumpy, name), getattr(numpy, name)
        assert signature_of(ours) == signature_of(theirs)
    for name in (
        "sum",
        "reshape",
        "astype",
        "sort",
        "view",
        "transpose",
        "copy",
        "conj",
        "fill",
        "__array__",
    ):
        ours, theirs = getattr(dnumpy.ndarray, name), getattr(numpy.ndarray, name)
        assert signature_of(ours) == signature_of(theirs)


def test_masked_functions_keep_their_methods() -> None:
    def program(xp: Any) -> Any:
        a = xp.array([[3, 1], [2, 5]])
        return [
            xp.ma.minimum.reduce(a, axis=0).tolist(),
            xp.ma.add.outer(a[0], a[1]).tolist(),
            xp.ma.maximum(a, 2).tolist(),
            xp.ma.atleast_2d.__doc__.partition("Notes")[0].strip(),
        ]

    assert_as_numpy(program)


def test_index_tricks_give_our_arrays() -> None:
    def program(xp: Any) -> Any:
        tail = xp.array([7, 8])
        return xp.r_[0:3, tail], xp.c_[tail, tail], xp.mgrid[:2, :3], xp.ogrid[:2, :3], xp.s_[::2]

    assert_as_numpy(program)
    assert type(dnumpy.r_[0:3]) is dnumpy.ndarray
    assert type(dnumpy.mgrid[:2]) is dnumpy.ndarray


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_names_in_a_block_matrix_are_the_callers() -> None:
    def program(xp: Any) -> Any:
        left = xp.matrix([[1]])
        right = xp.matrix([[2]])
        return left * 0, xp.bmat("left, right; right, left"), xp.bmat([[left, right]])

    assert_as_numpy(program)
