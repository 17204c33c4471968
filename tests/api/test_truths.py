"""Booleans over memory of others may be any byte: what is not 0 is true, as NumPy has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
import pytest

import dnumpy

if TYPE_CHECKING:
    from collections.abc import Callable

BYTES = (255, 0, 3, 1, 2, 0, 128)


def set_under(np: Any, d: Any) -> Any:
    x = np.zeros(d.size)
    x[d] = 5.0
    return x


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda _, d: d.sum(),
    "sum of rows": lambda _, d: d.reshape(-1, 4).sum(1),
    "mean": lambda _, d: d.mean(),
    "running sum": lambda np, d: np.cumsum(d),
    "running sum of rows": lambda np, d: np.cumsum(d.reshape(-1, 4), axis=1),
    "as numbers": lambda _, d: d.astype("i8"),
    "plus": lambda _, d: d + 1.0,
    "where": lambda np, d: np.where(d, 1, 2),
    "where of a column": lambda np, d: np.where(d[::2], 1.0, 2.0),
    "select": lambda np, d: np.select([d], [1], 2),
    "not": lambda _, d: ~d,
    "picked": lambda np, d: np.arange(d.size)[d],
    "set": set_under,
    "sum where": lambda np, d: np.ones(d.size).sum(where=d),
    "count": lambda np, d: np.count_nonzero(d),
    "nonzero": lambda np, d: np.nonzero(d)[0],
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "repeats",
    [4, 400, pytest.param(120_000, marks=pytest.mark.modeless("tiles of five rows take minutes"))],
)
def test_any_byte_but_0_is_true(name: str, repeats: int) -> None:
    memory = bytes(BYTES) * repeats
    found = CALLS[name](dnumpy, dnumpy.frombuffer(memory, dtype=bool))
    ones = numpy.frombuffer(memory, dtype="u1") != 0
    expected = CALLS[name](numpy, ones)
    numpy.testing.assert_array_equal(numpy.asarray(found), expected)
