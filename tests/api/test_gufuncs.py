"""Generalised ufuncs, NumPy's and users' own, run by rows of their loop as NumPy runs them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numba import guvectorize

import dnumpy
from tests.gathering import on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable

_rng = np.random.default_rng(33)
ROWS = _rng.standard_normal((40, 6))
STACK = _rng.standard_normal((30, 6, 4))


@guvectorize(["void(float64[:], float64[:], float64[:])"], "(n),()->(n)", cache=False)
def scaled(x: Any, by: Any, out: Any) -> None:
    """Multiply a vector by a number."""
    for k in range(len(x)):
        out[k] = x[k] * by[0]


@guvectorize(["void(float64[:], float64[:])"], "(n)->()", cache=False)
def spread_of(x: Any, out: Any) -> None:
    """Return the largest less the smallest."""
    out[0] = x.max() - x.min()


CALLS: dict[str, tuple[np.ndarray, Callable[[Any], Any]]] = {
    "a user's own": (ROWS, lambda a: scaled(a, 2.0)),
    "broadcast over its loop": (ROWS, lambda a: scaled(a, a[:, 0])),
    "over a loop of two axes": (STACK, lambda a: scaled(a, a[0, :, 0])),
    "of columns": (STACK, lambda a: spread_of(a, axis=1)),
    "with axes": (STACK, lambda a: scaled(a, 3.0, axes=[(1,), (), (1,)])),
    "keeping dimensions": (STACK, lambda a: spread_of(a, axis=1, keepdims=True)),
    "of one row each": (ROWS, spread_of),
    "matrices by vectors": (STACK, lambda a: np.matvec(a, a[0, 0])),
    "vectors by matrices": (STACK, lambda a: np.vecmat(a[:, :, 0], a)),
    "stacks by stacks": (STACK, lambda a: np.matmul(a.swapaxes(1, 2), a)),
}


@pytest.mark.parametrize("name", sorted(CALLS))
def test_a_call_gives_what_numpy_gives_and_gathers_nothing(name: str) -> None:
    values, call = CALLS[name]
    expected = call(values)
    with spread_out() as meter:
        found = call(on_nodes(values))
        assert meter.most() < values.nbytes, meter.gathered
        assert type(found) is dnumpy.ndarray
        found = np.asarray(found)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


def test_results_are_written_where_they_are_wanted() -> None:
    with spread_out():
        out = on_nodes(np.zeros(ROWS.shape))
        assert scaled(on_nodes(ROWS), 2.0, out=out) is out
        np.testing.assert_array_equal(np.asarray(out), ROWS * 2)
        into = on_nodes(np.zeros(30))
        dnumpy.vecdot(on_nodes(STACK)[:, :, 0], on_nodes(STACK)[:, :, 1], out=into)
        np.testing.assert_allclose(np.asarray(into), np.vecdot(STACK[:, :, 0], STACK[:, :, 1]))


@pytest.mark.parametrize(
    "call",
    [
        lambda xp, a: xp.vecdot(a, a[:, :3]),
        lambda xp, a: xp.matvec(a, a[0][None, :2]),
        lambda xp, a: xp.vecdot(a, a, axis=5),
        lambda xp, a: xp.matvec(a, a[0], keepdims=True),
        lambda xp, a: xp.vecdot(a, a, axis=0, axes=[(0,), (0,), ()]),
        lambda xp, a: xp.matmul(a[:, :, None], a[:3, :, None]),
    ],
)
def test_errors_are_numpys_and_raised_at_the_call(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011 - whatever NumPy raises
        call(np, ROWS)
    with spread_out(), pytest.raises(expected.type) as found:
        call(dnumpy, on_nodes(ROWS))
    assert str(found.value) == str(expected.value)
