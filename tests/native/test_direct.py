"""NumPy's functions on small arrays are called past its search for overrides, and say the same."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import dnumpy as np
from dnumpy import native
from dnumpy.api import dispatch

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


LITTLE: dict[str, Any] = {
    "shape": lambda np, table, _line: np.shape(table),
    "ndim": lambda np, table, _line: np.ndim(table),
    "size": lambda np, table, _line: (np.size(table), np.size(table, 1)),
    "iscomplexobj": lambda np, table, _line: np.iscomplexobj(table),
    "searchsorted": lambda np, _table, line: np.searchsorted(line, [5.5, 7]).tolist(),
}


@pytest.mark.modeless("what lies in this process's memory")
@pytest.mark.skipif(not native.built, reason="the module in C looks at what lies here")
@pytest.mark.parametrize("name", LITTLE)
def test_what_reads_little_of_a_large_array_asks_nobody(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = numpy.arange(600_000.0)
    ours = np.array(line.reshape(600, 1_000)), np.array(line)
    assert ours[0][0, 0] == ours[1][0]  # computed, and at hand

    def refused(*_args: object) -> None:
        raise AssertionError

    monkeypatch.setattr(dispatch, "recorded_by", refused)
    assert LITTLE[name](np, *ours) == LITTLE[name](numpy, line.reshape(600, 1_000), line)
