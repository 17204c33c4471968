"""A function of the user's along an axis runs where the lines lie, and gives what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import dnumpy
from tests.gathering import computed, on_nodes, spread_out

X = np.random.default_rng(9).random((40, 6, 5))

FUNCTIONS: dict[str, Any] = {
    "scalar": lambda v: v.max() - v.min(),
    "vector": lambda v: np.sort(v)[::-1],
    "other-length": lambda v: v[:2] * 3,
    "matrix": lambda v: np.outer(v[:3], v[:2]),
    "integer": lambda v: int(v.argmax()),
}


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_lines_stay_on_their_nodes(name: str, axis: int) -> None:
    expected = np.apply_along_axis(FUNCTIONS[name], axis, X)
    with spread_out() as meter:
        found = computed(dnumpy.apply_along_axis(FUNCTIONS[name], axis, on_nodes(X)))
        assert meter.most() < X.nbytes / 2, meter.gathered
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        np.testing.assert_array_equal(np.asarray(found), expected)


def test_what_the_function_raises_is_raised_by_the_call() -> None:
    def fussy(line: np.ndarray) -> float:
        if line[0] == X[20, 3, 0]:
            msg = "not this line"
            raise LookupError(msg)
        return float(line[0])

    with spread_out():
        operand = on_nodes(X)
        with pytest.raises(LookupError, match="not this line"):
            dnumpy.apply_along_axis(fussy, 2, operand)
        np.testing.assert_array_equal(np.asarray(operand), X)


def test_further_arguments_are_passed_on() -> None:
    with spread_out():
        found = dnumpy.apply_along_axis(np.percentile, 1, on_nodes(X), 30.0, method="lower")
        expected = np.apply_along_axis(np.percentile, 1, X, 30.0, method="lower")
        np.testing.assert_array_equal(np.asarray(found), expected)


class Marked(dnumpy.ndarray):  # type: ignore[misc]
    """A class of the program's own."""


def test_a_function_that_returns_an_array_of_its_own_class_keeps_the_class() -> None:
    def products(line: Any) -> Any:
        return (line[::-1] * line[1:, None]).view(Marked)

    values = np.arange(18).reshape(6, 3)
    with spread_out():
        for axis in (0, 1):
            found = dnumpy.apply_along_axis(products, axis, on_nodes(values))
            assert type(found) is Marked
            expected = np.apply_along_axis(lambda x: x[::-1] * x[1:, None], axis, values)
            np.testing.assert_array_equal(np.asarray(found), expected)


def test_masked_arrays_are_kept() -> None:
    def masked(line: Any) -> Any:
        return np.ma.masked_greater(np.asarray(line), 5)

    values = np.arange(12).reshape(4, 3)
    with spread_out():
        found = dnumpy.apply_along_axis(masked, 0, on_nodes(values))
        np.testing.assert_array_equal(found.mask, values > 5)
