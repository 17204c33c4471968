"""Operators and ufuncs of small arrays with lists and tuples of numbers give what NumPy gives."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest

import dnumpy

SEQUENCES = [
    (1, 0, 1), [1.5, 2, 3], [[1, 2, 3], [4, 5, 6]], (1,), [], [2**70, 1, 2], [True, False, True],
    [1, "a", 2], [1, 2], ((1, 2, 3), [4, 5, 6]), [1, None, 2], [1j, 2, 3], [float("nan"), 1, 2],
    [[[1, 2, 3]]], [2**64 - 1, 1, 2], [-1, 2, 3], [1] * 40,
]  # fmt: skip
OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
    operator.pow, operator.and_, operator.or_, operator.lshift, operator.lt, operator.eq,
    operator.ne, operator.ge, operator.matmul,
]  # fmt: skip
UFUNCS = ["bitwise_and", "add", "maximum", "arctan2", "equal"]


def told(function: Any, *args: Any) -> Any:
    try:
        found = function(*args)
    except Exception as error:  # noqa: BLE001 - whatever NumPy raises
        return type(error), str(error)
    plain = np.asarray(found)
    return plain.dtype, plain.shape, repr(plain.tolist())


@pytest.mark.parametrize("dtype", ["f8", "i8", "u1", "?", "c16", "f4", "O", "M8[s]", "S2"])
def test_a_sequence_beside_an_array_is_read_as_numpy_reads_it(dtype: str) -> None:
    plain = np.array(["a", "b", "c"] if dtype == "S2" else [1, 2, 3]).astype(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in SEQUENCES:
            ours = dnumpy.array(plain)
            for call in OPERATORS:
                assert told(call, ours, given) == told(call, plain, given), (call, given)
                assert told(call, given, ours) == told(call, given, plain), (call, given)
            for name in UFUNCS:
                mine, theirs = getattr(dnumpy, name), getattr(np, name)
                assert told(mine, ours, given) == told(theirs, plain, given), (name, given)
                assert told(mine, given, ours) == told(theirs, given, plain), (name, given)


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, a: xp.pad(a, ((1, 1), (2, 0), (0, 0))),
        lambda xp, a: xp.pad(
            a, [[1, 1], [2, 0], [0, 1]], constant_values=((0, 1.5), (2, 3), (4, 5))
        ),
        lambda xp, a: xp.pad(a, ((1, 1), (2, 0))),
        lambda xp, a: xp.pad(a, ((1, -1), (2, 0), (0, 0))),
        lambda xp, a: xp.pad(a, ((1, "a"), (2, 0), (0, 0))),
        lambda xp, a: xp.quantile(a, [0.1, 0.5, 0.9]),
        lambda xp, a: xp.quantile(a, [0.1, 1.5]),
        lambda xp, a: xp.percentile(a, [[10, 50.0], [20, 90]], axis=1),
        lambda xp, a: xp.moveaxis(a, [0, 1.5], [1, 0]),
        lambda xp, a: xp.average(a, axis=2, weights=[0.25, 1.0, 2.0]),
        lambda xp, a: xp.histogram(a, bins=[0.0, 2.5, 7.0, 30.0])[0],
        lambda xp, a: xp.interp(a, [0.0, 10.0, 30.0], [1.0, 0.5, 2]),
        lambda xp, a: xp.choose([[0, 1, 0], [1, 0, 1]], a),
    ],
)
@pytest.mark.parametrize("shape", [(2, 2, 3), (20, 20, 3)])
def test_functions_are_given_sequences_as_numpys_are(call: Any, shape: tuple[int, ...]) -> None:
    plain = np.arange(float(np.prod(shape))).reshape(shape)
    assert told(call, dnumpy, dnumpy.array(plain)) == told(call, np, plain)


def test_a_sequence_that_is_changed_is_read_as_it_is() -> None:
    given = [1.0, 2.0, 3.0]
    x = dnumpy.zeros(3)
    found = x + given
    given[0] = 100.0
    assert found.tolist() == [1.0, 2.0, 3.0]


def test_one_that_makes_a_large_result_is_not_made_at_once() -> None:
    x = dnumpy.zeros((5_000, 1)) + [1.0] * 30
    assert x.shape == (5_000, 30)
    assert float(x.sum()) == 150_000.0
