"""What the installed NumPy does where its versions differ, as it says itself when it is asked.

What is recorded to be computed later must come out as NumPy's own would. Where a later NumPy does
otherwise than an earlier one, no version is compared: NumPy is given the smallest case that tells,
once, when the answer is first needed.
"""

from __future__ import annotations

import inspect
import warnings
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.origin import told_as

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


def telling_as_dot() -> AbstractContextManager[Any]:
    """Return a context in which what is recorded tells of faults as NumPy's ``dot`` does."""
    return told_as("dot") if _dot_tells() else np.errstate(all="ignore")


@cache
def _dot_tells() -> bool:
    """Say whether ``dot`` tells of faults in its products, as ``matmul`` always does."""
    try:
        with np.errstate(invalid="raise"):
            np.dot(np.array([np.inf]), np.array([0.0]))
    except FloatingPointError:
        return True
    return False


@cache
def name_of_squares() -> str:
    """Return the name under which a variance tells that its squares overflow."""
    try:
        with np.errstate(over="raise"):
            np.var(np.array([1e200, -1e200]))
    except FloatingPointError as error:
        return str(error).rpartition(" ")[2]
    return "square"


@cache
def order_of_rounded() -> str:
    """Return the memory order in which complex numbers are rounded: "C", or "K" for their own."""
    return "K" if np.round(np.ones((2, 2), complex).T).flags.f_contiguous else "C"


@cache
def whole_is_rounded() -> bool:
    """Say whether integers, which are round already, are given back as the same array."""
    whole = np.ones(1, int)
    return np.round(whole) is whole


@cache
def counts_are_ints() -> bool:
    """Say whether ``count_nonzero`` of a whole array gives Python's int, and no scalar."""
    return type(np.count_nonzero(np.ones(1))) is int


@cache
def looks_at_places_of_nothing() -> bool:
    """Say whether an index out of bounds is refused where nothing is picked by it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy says that it will be refused
        try:
            np.empty((1, 0))[np.array([1])]
        except IndexError:
            return True
    return False


@cache
def weighs_over_axes() -> bool:
    """Say whether a quantile over several axes gives each element its own weight."""
    values = np.arange(8.0).reshape(2, 2, 2)
    weights = np.zeros((2, 2, 2))
    weights[0, 1] = 1  # all of it on one place of the two axes
    found = np.quantile(values, 0.5, axis=(0, 1), weights=weights, method="inverted_cdf")
    return found.tolist() == values[0, 1].tolist()


@cache
def takes(function: Any, parameter: str) -> bool:
    """Say whether a function of NumPy's has the parameter."""
    return parameter in inspect.signature(function).parameters
