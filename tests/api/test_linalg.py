"""One matrix on nodes is factored there: never whole in one place, and NumPy's results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from tests.gathering import on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable

_rng = np.random.default_rng(30)
SQUARE = _rng.standard_normal((41, 41))
TURNED = SQUARE + 1j * _rng.standard_normal((41, 41))
DEFINITE = SQUARE @ SQUARE.T + np.eye(41)
HERMITIAN = TURNED @ TURNED.conj().T + np.eye(41)
NARROW = _rng.standard_normal((80, 4))
TALL = _rng.standard_normal((60, 13))
TALL_COMPLEX = TALL + 1j * _rng.standard_normal(TALL.shape)
WIDE = TALL.T.copy()
WIDE_COMPLEX = TALL_COMPLEX.T.copy()
RIGHT = _rng.standard_normal((41, 3))

Call = "Callable[[Any, Any], Any]"
SQUARES = {"real": SQUARE, "complex": TURNED}
DEFINITES = {"real": DEFINITE, "complex": HERMITIAN}
OBLONGS = {
    "narrow": NARROW,
    "tall": TALL,
    "wide": WIDE,
    "tall complex": TALL_COMPLEX,
    "wide complex": WIDE_COMPLEX,
}


def _of_squares() -> dict[str, tuple[np.ndarray, Callable[[Any, Any], Any]]]:
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "solve": lambda xp, a: xp.linalg.solve(a, RIGHT),
        "solve one": lambda xp, a: xp.linalg.solve(a, RIGHT[:, 0]),
        "inv": lambda xp, a: xp.linalg.inv(a),
        "det": lambda xp, a: xp.linalg.det(a),
        "slogdet": lambda xp, a: xp.linalg.slogdet(a),
        "tensorinv": lambda xp, a: xp.linalg.tensorinv(a, ind=1),
        "tensorsolve": lambda xp, a: xp.linalg.tensorsolve(a, RIGHT[:, 1]),
    }
    return {f"{n} {k}": (m, c) for n, c in calls.items() for k, m in SQUARES.items()}


def _of_definites() -> dict[str, tuple[np.ndarray, Callable[[Any, Any], Any]]]:
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "cholesky": lambda xp, a: xp.linalg.cholesky(a),
        "cholesky upper": lambda xp, a: xp.linalg.cholesky(a, upper=True),
    }
    return {f"{n} {k}": (m, c) for n, c in calls.items() for k, m in DEFINITES.items()}


def _both_sides(xp: Any, a: Any) -> Any:
    u, s, vh = xp.linalg.svd(a)
    least = min(a.shape)
    return u[:, :least], s, vh[:least]


def _of_oblongs() -> dict[str, tuple[np.ndarray, Callable[[Any, Any], Any]]]:
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "qr": lambda xp, a: xp.linalg.qr(a),
        "qr complete": lambda xp, a: xp.linalg.qr(a, "complete"),
        "qr r": lambda xp, a: xp.linalg.qr(a, "r"),
        "qr raw": lambda xp, a: xp.linalg.qr(a, "raw"),
        "svd": lambda xp, a: xp.linalg.svd(a, full_matrices=False),
        "svd whole": _both_sides,
        "svdvals": lambda xp, a: xp.linalg.svdvals(a),
        "pinv": lambda xp, a: xp.linalg.pinv(a),
        "matrix_rank": lambda xp, a: xp.linalg.matrix_rank(a),
        "cond": lambda xp, a: xp.linalg.cond(a),
        "norm 2": lambda xp, a: xp.linalg.norm(a, 2),
        "norm -2": lambda xp, a: xp.linalg.norm(a, -2),
        "norm nuc": lambda xp, a: xp.linalg.norm(a, "nuc"),
        "lstsq": lambda xp, a: xp.linalg.lstsq(a, np.arange(a.shape[0] * 2.0).reshape(-1, 2)),
        "lstsq one": lambda xp, a: xp.linalg.lstsq(a, np.arange(a.shape[0] * 1.0)),
    }
    return {f"{n} {k}": (m, c) for n, c in calls.items() for k, m in OBLONGS.items()}


TABLE = {
    **_of_squares(),
    **_of_definites(),
    **_of_oblongs(),
    **{f"qr {k}": (m, lambda xp, a: xp.linalg.qr(a)) for k, m in SQUARES.items()},
    "qr raw square": (SQUARE, lambda xp, a: xp.linalg.qr(a, "raw")),
    "qr identity": (np.eye(41), lambda xp, a: xp.linalg.qr(a)),
    "qr float32": (TALL.astype("f"), lambda xp, a: xp.linalg.qr(a)),
    "qr integers": ((TALL * 9).astype(int), lambda xp, a: xp.linalg.qr(a)),
    "solve float32": (SQUARE.astype("f"), lambda xp, a: xp.linalg.solve(a, RIGHT)),
}


@pytest.mark.parametrize("name", sorted(TABLE))
def test_one_matrix_stays_on_its_nodes_and_gives_what_numpy_gives(name: str) -> None:
    values, call = TABLE[name]
    expected = call(np, values)
    with spread_out() as meter:
        found = call(dnumpy, on_nodes(values))
        written = max(a * a * values.itemsize for a in values.shape) if "whole" in name else 0
        assert meter.most() <= 0.75 * max(values.nbytes, written), (
            f"{name} gathers {meter.gathered}"
        )
        compare(found, expected)


def _parts(found: Any) -> tuple[Any, ...]:
    return tuple(found) if isinstance(found, tuple) else (found,)


def compare(found: Any, expected: Any) -> None:
    """Raise unless both are equal to rounding, and types, dtypes and shapes exactly."""
    assert type(found).__name__ == type(expected).__name__ or not isinstance(expected, tuple)
    for one, other in zip(_parts(found), _parts(expected), strict=True):
        one, other = np.asarray(one), np.asarray(other)  # noqa: PLW2901 - as NumPy's
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        loose = 1e-4 if other.dtype.char in "fF" else 1e-9
        np.testing.assert_allclose(one, other, rtol=loose, atol=loose * 1e-2)


@pytest.mark.parametrize("name", ["solve real", "cholesky complex", "qr tall", "svd wide"])
def test_the_bits_do_not_depend_on_the_partition(name: str) -> None:
    values, call = TABLE[name]
    results = []
    for speeds in [(1.0,), (1.0, 1.0), (5.0, 3.0, 2.0), (1.0, 4.0, 2.0, 1.0, 1.0, 2.0, 3.0)]:
        with spread_out(*speeds):
            results.append([np.asarray(x) for x in _parts(call(dnumpy, on_nodes(values)))])
    for other in results[1:]:
        for x, y in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    ("values", "call"),
    [
        (np.ones((40, 40)), lambda xp, a: xp.linalg.solve(a, a[:, 0])),
        (np.zeros((40, 40)), lambda xp, a: xp.linalg.inv(a)),
        (-np.eye(40), lambda xp, a: xp.linalg.cholesky(a)),
        (np.ones((40, 41)), lambda xp, a: xp.linalg.inv(a)),
        (np.ones((40, 40), np.float16), lambda xp, a: xp.linalg.inv(a)),
        (np.ones((40, 40), np.longdouble), lambda xp, a: xp.linalg.qr(a)),
        (np.ones(40), lambda xp, a: xp.linalg.qr(a)),
        (np.ones((40, 7)), lambda xp, a: xp.linalg.qr(a, "other")),
        (np.ones((40, 40)), lambda xp, a: xp.linalg.solve(a, np.ones(7))),
        (np.full((40, 7), np.nan), lambda xp, a: xp.linalg.svd(a)),
    ],
)
def test_errors_are_numpys_and_raised_at_the_call(
    values: np.ndarray, call: Callable[[Any, Any], Any]
) -> None:
    with pytest.raises((np.linalg.LinAlgError, TypeError, ValueError)) as expected:
        call(np, values)
    with spread_out(), pytest.raises(expected.type) as found:
        call(dnumpy, on_nodes(values))
    assert str(found.value) == str(expected.value)


def test_a_singular_matrix_has_determinant_zero() -> None:
    with spread_out():
        placed = on_nodes(np.ones((30, 30)) * np.arange(30.0))
        assert dnumpy.linalg.det(placed) == 0
        assert [float(x) for x in dnumpy.linalg.slogdet(placed)] == [0.0, -np.inf]


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e-14])
def test_q_is_orthogonal_however_nearly_the_columns_depend(scale: float) -> None:
    values = np.outer(np.arange(60.0), np.ones(13)) + scale * TALL
    with spread_out():
        q, r = (np.asarray(x) for x in dnumpy.linalg.qr(on_nodes(values)))
    np.testing.assert_allclose(q.T @ q, np.eye(13), atol=1e-14)
    np.testing.assert_allclose(q @ r, values, atol=1e-12)


def test_qr_of_a_matrix_of_lower_rank_is_one() -> None:
    values = TALL[:, :3] @ TALL[:3]
    with spread_out():
        q, r = (np.asarray(x) for x in dnumpy.linalg.qr(on_nodes(values)))
        rank = dnumpy.linalg.matrix_rank(on_nodes(values))
        x = np.asarray(dnumpy.linalg.lstsq(on_nodes(values), np.arange(60.0))[0])
    assert rank == 3
    np.testing.assert_allclose(q.T @ q, np.eye(13), atol=1e-14)
    np.testing.assert_allclose(q @ r, values, atol=1e-12)
    np.testing.assert_allclose(x, np.linalg.lstsq(values, np.arange(60.0))[0], atol=1e-9)
