"""Functions run where the data lie: no operand is brought to one place, and results are NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from tests.gathering import on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable

_rng = np.random.default_rng(20)
X = _rng.random((40, 12))
V = _rng.random(200)
I = _rng.integers(0, 9, 200)  # noqa: E741 - the integers of the table
C = X + 1j * X[::-1]
M = _rng.random((30, 4, 4)) + 4 * np.eye(4)
SPD = M @ M.swapaxes(-1, -2)

# name -> (operand, the call); the operand lies on three nodes and must not be gathered
TABLE: dict[str, tuple[np.ndarray, Callable[[Any, Any], Any]]] = {
    "angle": (C, lambda xp, a: xp.angle(a)),
    "append": (V, lambda xp, a: xp.append(a, a)),
    "array_split": (X, lambda xp, a: xp.array_split(a, 3)),
    "average": (X, lambda xp, a: xp.average(a, axis=1)),
    "block": (X, lambda xp, a: xp.block([[a, a], [a, a]])),
    "corrcoef": (X.T.copy(), lambda xp, a: xp.corrcoef(a)),
    "cov": (X.T.copy(), lambda xp, a: xp.cov(a)),
    "cross": (X[:, :3].copy(), lambda xp, a: xp.cross(a, a[:, ::-1])),
    "dstack": (X, lambda xp, a: xp.dstack([a, a])),
    "ediff1d": (V, lambda xp, a: xp.ediff1d(a)),
    "gradient": (X, lambda xp, a: xp.gradient(a)),
    "isclose": (X, lambda xp, a: xp.isclose(a, a)),
    "kron": (X, lambda xp, a: xp.kron(a, a[:2, :2])),
    "nan_to_num": (X, lambda xp, a: xp.nan_to_num(a)),
    "nanmean": (X, lambda xp, a: xp.nanmean(a, axis=1)),
    "nanstd": (X, lambda xp, a: xp.nanstd(a)),
    "nansum": (X, lambda xp, a: xp.nansum(a)),
    "pad-reflect": (X, lambda xp, a: xp.pad(a, 2, "reflect")),
    "sinc": (X, lambda xp, a: xp.sinc(a)),
    "split": (X, lambda xp, a: xp.split(a, [3, 5])),
    "tile": (X, lambda xp, a: xp.tile(a, (2, 3))),
    "trapezoid": (X, lambda xp, a: xp.trapezoid(a)),
    "tril": (X, lambda xp, a: xp.tril(a)),
    "unwrap": (V, lambda xp, a: xp.unwrap(a * 9)),
    "sliding_window_view": (
        V,
        lambda xp, a: xp.lib.stride_tricks.sliding_window_view(a, 5).max(axis=1),
    ),
    "linalg.inv": (M, lambda xp, a: xp.linalg.inv(a)),
    "linalg.solve": (M, lambda xp, a: xp.linalg.solve(a, a[:, ::-1])),
    "linalg.cholesky": (SPD, lambda xp, a: xp.linalg.cholesky(a)),
    "linalg.det": (M, lambda xp, a: xp.linalg.det(a)),
    "linalg.eigh": (SPD, lambda xp, a: xp.linalg.eigh(a)[0]),
    "linalg.svd": (M, lambda xp, a: xp.linalg.svd(a)[1]),
    "linalg.qr": (M, lambda xp, a: xp.linalg.qr(a)),
    "linalg.norm": (X, lambda xp, a: xp.linalg.norm(a)),
    "linalg.pinv": (M, lambda xp, a: xp.linalg.pinv(a)),
    "fft.fft-rows": (X, lambda xp, a: xp.fft.fft(a, axis=1)),
    "fft.fft-columns": (X, lambda xp, a: xp.fft.fft(a, axis=0)),
    "fft.fft2": (X, lambda xp, a: xp.fft.fft2(a)),
    "fft.irfftn": (C, lambda xp, a: xp.fft.irfftn(a)),
}


@pytest.mark.parametrize("name", sorted(TABLE))
@pytest.mark.filterwarnings("ignore:.*gathers:dnumpy.errors.FallbackWarning")
def test_operands_stay_on_their_nodes(name: str) -> None:
    values, call = TABLE[name]
    with spread_out() as meter:
        operand = on_nodes(values)
        found = call(dnumpy, operand)
        assert meter.most() < values.nbytes / 2, f"{name} gathers {meter.gathered}"
        compare(found, call(np, values))


def compare(found: Any, expected: Any) -> None:
    """Raise unless both are equal to rounding, dtypes and shapes exactly."""
    if isinstance(expected, tuple | list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            compare(one, other)
        return
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
