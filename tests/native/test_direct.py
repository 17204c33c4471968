"""NumPy's functions on small arrays are called past its search for overrides, and say the same."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import dnumpy as np

WRONG: dict[str, Any] = {
    "too few": lambda np, a: np.dot(a),
    "too many": lambda np, a: np.flip(a, 0, 1, 2),
    "by an unknown name": lambda np, a: np.argsort(a, axes=0),
    "what is no axis": lambda np, a: np.diff(a, axis="x"),
    "what is no number": lambda np, a: np.tile(a, "x"),
    "an axis too far": lambda np, a: np.roll(a, 1, 7),
    "shapes that do not fit": lambda np, a: np.concatenate((a, a.reshape(2, 2))),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_are_refused_in_numpys_words(name: str) -> None:
    with pytest.raises((TypeError, ValueError, IndexError)) as theirs:
        WRONG[name](numpy, numpy.arange(4.0))
    with pytest.raises(theirs.type) as ours:
        WRONG[name](np, np.arange(4.0))
    assert str(ours.value) == str(theirs.value)


def test_a_class_that_overrides_functions_is_still_asked() -> None:
    class Odd:
        def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return func.__name__, len(args), sorted(kwargs)

    a = np.arange(3.0)
    assert np.dot(a, Odd()) == ("dot", 2, [])
    assert np.concatenate([a, Odd()]) == ("concatenate", 1, [])
