"""Eigenvalues of matrices without symmetry that no node can hold: right to rounding, in pieces."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.api import spectral, subspaces
from tests.gathering import computed, on_nodes
from tests.gathering import spread_out as spread_in_tiles

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.modeless("every test here sets the mode itself")

spread_out = partial(spread_in_tiles, tile_rows=12)  # enough to be three tiles, and few stages
EPS = float(np.finfo(np.float64).eps)
SIZE = 34  # above the least that is factored on nodes, and above what one takes
BOUND = 8.0  # times size, rounding and norm: what an error may be
_rng = np.random.default_rng(37)
GENERAL = _rng.standard_normal((SIZE, SIZE))
COMPLEX = GENERAL + 1j * _rng.standard_normal((SIZE, SIZE))
BASIS = np.linalg.qr(GENERAL)[0]

DIVIDED: dict[str, np.ndarray] = {
    "real": GENERAL,
    "complex": COMPLEX,
    "symmetric": GENERAL + GENERAL.T,
    "all on the imaginary axis": GENERAL - GENERAL.T,
    "all on a tilted line": np.exp(0.7j) * (GENERAL + GENERAL.T),
    "orthogonal": BASIS,
    "stochastic": np.abs(GENERAL) / np.abs(GENERAL).sum(axis=0),
    "cyclic": np.roll(np.eye(SIZE), 1, axis=0),
    "companion": np.eye(SIZE, k=-1) + np.outer(np.eye(SIZE)[0], GENERAL[0]),
    "rank one": np.outer(GENERAL[0], GENERAL[1]),
    "two values, many times": (BASIS * np.repeat([1.0, 3.0], [20, 14])) @ BASIS.T,
    "zero": np.zeros((SIZE, SIZE)),
    "identity": 3.0 * np.eye(SIZE),
    "diagonal": np.diag(COMPLEX[0]),
    "huge": GENERAL * 1e300,
    "tiny": GENERAL * 1e-300,
    "integers": np.rint(GENERAL * 4).astype(int),
    "single": GENERAL.astype("f4"),
}


@pytest.fixture(autouse=True, scope="module")
def one_node_takes_two_panels() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spectral, "LEAF_PANELS", 2)
        yield


def norm_of(values: np.ndarray) -> float:
    return float(np.linalg.norm(values.astype(complex), 2)) or 1.0


def assert_eigen(values: np.ndarray, w: Any, v: Any, rounding: float = EPS) -> None:
    """Raise unless these are eigenvalues and independent vectors of length one, as LAPACK's."""
    w, v = np.asarray(w), np.asarray(v)
    expected = np.linalg.eig(values)
    allowed = BOUND * len(values) * rounding
    if np.min(np.abs(np.diff(np.sort(expected[0])))) > allowed:  # else rounding makes pairs of them
        assert (w.dtype, v.dtype) == (expected[0].dtype, expected[1].dtype)
    residual = values / norm_of(values) @ v - v * (w / norm_of(values))
    assert np.linalg.norm(residual, 2) <= allowed
    np.testing.assert_allclose(np.linalg.norm(v, axis=0), 1.0, rtol=allowed)
    largest = np.abs(v) >= np.abs(v).max(axis=0) - allowed
    assert np.all(np.min(np.where(largest, np.abs(v.imag), 1.0), axis=0) <= allowed)
    apart = np.abs(w[:, None] - w) + np.diag(np.full(len(w), np.inf))
    coincide = apart.min() <= allowed * norm_of(
        values
    )  # to rounding: any vectors of theirs will do
    assert np.linalg.cond(v) <= 1.01 * np.linalg.cond(expected[1]) or coincide


def assert_same_values(w: Any, expected: np.ndarray, allowed: float) -> None:
    """Raise unless two sets of numbers can be paired so that all pairs are near."""
    left = list(np.asarray(w))
    for value in expected:
        nearest = int(np.argmin(np.abs(np.array(left) - value)))
        assert abs(left.pop(nearest) - value) <= allowed
    assert not left


@pytest.mark.parametrize("name", sorted(DIVIDED))
def test_a_matrix_without_symmetry_is_diagonalised_to_rounding(name: str) -> None:
    values = DIVIDED[name]
    single = values.dtype == np.float32
    with spread_out():
        found = computed(dnumpy.linalg.eig(on_nodes(values)))
        alone = dnumpy.linalg.eigvals(on_nodes(values))
        assert_eigen(values, *found, rounding=float(np.finfo("f4").eps) if single else EPS)
    condition = min(np.linalg.cond(np.linalg.eig(values)[1]), 1e6)
    allowed = BOUND * SIZE * (2e-7 if single else EPS) * norm_of(values) * condition
    assert_same_values(alone, np.linalg.eigvals(values), allowed)


def test_no_matrix_comes_together_and_no_complex_number_is_taken_for_real_ones() -> None:
    size = 60
    values = _rng.standard_normal((size, size))
    with spread_in_tiles(tile_rows=10) as meter:
        computed(dnumpy.linalg.eig(on_nodes(values)))
    assert meter.most() < 0.7 * values.nbytes, meter.gathered


@settings(max_examples=3, deadline=None)
@given(
    st.lists(
        st.floats(-1.0, 1.0) | st.sampled_from([-1.0, 0.0, 1e-8, 1.0]),
        min_size=SIZE,
        max_size=SIZE,
    )
)
def test_any_spectrum_of_a_normal_matrix_is_found(spectrum: list[float]) -> None:
    turns = np.exp(2j * np.pi * np.array(spectrum)) * np.repeat([1.0, 0.5], SIZE // 2)
    values = (BASIS * turns) @ BASIS.T
    with spread_out():
        w = dnumpy.linalg.eigvals(on_nodes(values))
    assert_same_values(w, turns, BOUND * SIZE * EPS)


@pytest.mark.parametrize(
    "values",
    [np.eye(SIZE) + np.eye(SIZE, k=1), np.triu(GENERAL), np.eye(SIZE, k=-1)],
    ids=["Jordan block", "triangular", "nilpotent"],
)
def test_what_no_line_divides_is_lapacks(values: np.ndarray) -> None:
    with spread_out():
        for found, expected in zip(
            dnumpy.linalg.eig(on_nodes(values)), np.linalg.eig(values), strict=True
        ):
            assert np.array_equal(np.asarray(found), expected)
        alone = np.asarray(dnumpy.linalg.eigvals(on_nodes(values)))
    assert np.array_equal(np.sort(alone), np.sort(np.linalg.eigvals(values)))


@pytest.mark.parametrize("values", [GENERAL, COMPLEX], ids=["real", "complex"])
def test_the_sign_squares_to_the_identity_and_commutes(values: np.ndarray) -> None:
    with spread_out():
        sign = np.asarray(subspaces.matrix_sign(on_nodes(values)))
    size = np.linalg.norm(sign, 2)
    np.testing.assert_allclose(sign @ sign, np.eye(SIZE), atol=1e-12 * size**2)
    np.testing.assert_allclose(sign @ values, values @ sign, atol=1e-11 * size)
    counted = np.count_nonzero(np.linalg.eigvals(values).real > 0)
    assert round((SIZE + np.trace(sign).real) / 2) == counted


def test_numbers_that_are_not_finite_raise_what_numpy_raises() -> None:
    values = GENERAL.copy()
    values[3, 4] = np.nan
    with spread_out(), pytest.raises(np.linalg.LinAlgError, match="infs or NaNs"):
        dnumpy.linalg.eig(on_nodes(values))
