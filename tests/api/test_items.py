"""Reading and writing items of small arrays, and of little parts of large ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy

if TYPE_CHECKING:
    from collections.abc import Callable

_rng = np.random.default_rng(32)
FEW = np.array([3, 1, 3, 0, -1])


def on(xp: Any, values: np.ndarray) -> Any:
    """Return the values as an array of this library."""
    return xp.array(values)


KEYS: dict[str, Callable[[Any], Any]] = {
    "list-and-int": lambda xp: ([0, 2, 2], 1),
    "array-and-slice": lambda xp: (on(xp, FEW), slice(1, 3)),
    "two-arrays": lambda xp: (on(xp, FEW), on(xp, FEW[::-1])),
    "mask-and-int": lambda xp: (on(xp, np.arange(6) % 2 == 0), 0),
    "zero-dimensional-int": lambda xp: (on(xp, np.array(2)), slice(None)),
    "zero-dimensional-bool": lambda xp: (on(xp, np.array(True)), 1),
    "scalar-of-a-reduction": lambda xp: (on(xp, FEW).max(), -1),
    "list-of-scalars": lambda xp: ([on(xp, FEW)[0], on(xp, FEW)[1]], 2),
    "newaxis-and-ellipsis": lambda xp: (None, ..., 1),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_tuple_with_arrays_of_ours_indexes_a_small_array(key: Callable[[Any], Any]) -> None:
    values = np.arange(30.0).reshape(6, 5)
    read = on(dnumpy, values)[key(dnumpy)]
    expected = values[key(np)]
    assert np.shape(read) == expected.shape
    assert np.array_equal(np.asarray(read), expected)
    ours, plain = on(dnumpy, values.copy()), values.copy()
    ours[key(dnumpy)] = 7
    plain[key(np)] = 7
    assert np.array_equal(np.asarray(ours), plain)


def test_rows_of_a_pending_array_are_read_and_written_as_they_stand() -> None:
    values = _rng.random((600, 600))
    ours, plain = dnumpy.array(values) * 2, values * 2
    for i in range(2, 60):
        ours[i] = 0.5 * ours[i - 1] + ours[i - 2] * ours[i, 0]
        plain[i] = 0.5 * plain[i - 1] + plain[i - 2] * plain[i, 0]
        ours[:, i] -= 1
        plain[:, i] -= 1
    assert np.array_equal(np.asarray(ours), plain)


def test_a_pending_reader_keeps_what_a_small_write_replaces() -> None:
    values = _rng.random(400_000)
    ours = dnumpy.array(values)
    doubled = ours * 2
    ours[10:200_000] = values[:199_990]
    ours[:5] = 0
    assert np.array_equal(np.asarray(doubled), values * 2)
    plain = values.copy()
    plain[10:200_000] = values[:199_990]
    plain[:5] = 0
    assert np.array_equal(np.asarray(ours), plain)


def test_an_output_given_by_position_is_written_though_it_is_a_view() -> None:
    values = _rng.random((600, 600))
    ours, x = dnumpy.array(values), dnumpy.arange(600.0)
    waits = ours + 1
    dnumpy.fix(x / 7, ours[3])
    dnumpy.clip(x, 1, 9, ours[4])
    plain, y = values.copy(), np.arange(600.0)
    np.fix(y / 7, plain[3])
    np.clip(y, 1, 9, plain[4])
    assert np.array_equal(np.asarray(ours), plain)
    assert np.array_equal(np.asarray(waits), values + 1)
