"""Spectra of matrices that no node can hold: NumPy's to rounding, and nothing comes together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.api import factors, spectral
from dnumpy.api import polar as polars
from dnumpy.config import config
from tests.gathering import computed, on_nodes
from tests.gathering import spread_out as spread_in_tiles

pytestmark = pytest.mark.modeless("every test here sets the mode itself")

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

spread_out = partial(spread_in_tiles, tile_rows=12)  # enough to be three tiles, and few stages
EPS = float(np.finfo(np.float64).eps)
SIZE = 34  # above the least that is factored on nodes, and above what one takes
BOUND = 8.0  # times size, rounding and norm: what an error may be
_rng = np.random.default_rng(31)
GENERAL = _rng.standard_normal((SIZE, SIZE))
TURNED = GENERAL + 1j * _rng.standard_normal((SIZE, SIZE))
BASIS = np.linalg.qr(GENERAL)[0]
SYMMETRIC = GENERAL + GENERAL.T
HERMITIAN = TURNED + TURNED.conj().T
VECTOR = _rng.standard_normal(SIZE)


def with_spectrum(values: np.ndarray, basis: np.ndarray = BASIS) -> np.ndarray:
    made: np.ndarray = (basis * values) @ basis.conj().T
    return (made + made.conj().T) / 2


@pytest.fixture(autouse=True, scope="module")
def one_node_takes_two_panels() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(spectral, "LEAF_PANELS", 2)
        yield


def norm_of(values: np.ndarray) -> float:
    return float(np.linalg.norm(values, 2)) or 1.0


def assert_eigen(values: np.ndarray, w: Any, v: Any, rounding: float = EPS) -> None:
    """Raise unless ``w`` and ``v`` are eigenvalues and vectors, to a multiple of the rounding."""
    w, v = np.asarray(w), np.asarray(v)
    size = len(values)
    allowed = BOUND * size * rounding * norm_of(values)
    assert np.all(np.diff(w) >= 0)
    assert np.linalg.norm(values @ v - v * w, 2) <= allowed
    assert np.linalg.norm(v.conj().T @ v - np.eye(size), 2) <= BOUND * size * rounding
    assert np.max(np.abs(w - np.linalg.eigvalsh(values))) <= allowed


def assert_singular(values: np.ndarray, u: Any, s: Any, vh: Any) -> None:
    """Raise unless the factors are those of a singular value decomposition."""
    u, s, vh = np.asarray(u), np.asarray(s), np.asarray(vh)
    count, allowed = len(s), BOUND * max(values.shape) * EPS
    assert np.all(np.diff(s) <= 0)
    assert np.all(s >= 0)
    assert np.linalg.norm((u[:, :count] * s) @ vh[:count] - values, 2) <= allowed * norm_of(values)
    for q in (u.conj().T @ u, vh @ vh.conj().T):
        assert np.linalg.norm(q - np.eye(len(q)), 2) <= allowed
    exact = np.linalg.svd(values, compute_uv=False)
    assert np.max(np.abs(s - exact)) <= allowed * norm_of(values)


SPECIAL: dict[str, np.ndarray] = {
    "real": SYMMETRIC,
    "complex": HERMITIAN,
    "zero": np.zeros((SIZE, SIZE)),
    "identity": 3.0 * np.eye(SIZE),
    "diagonal": np.diag(VECTOR),
    "rank one": np.outer(VECTOR, VECTOR),
    "ones": np.ones((SIZE, SIZE)),
    "projector": with_spectrum(np.repeat([0.0, 1.0], [20, 14])),
    "its shift is an eigenvalue": 2 * np.eye(35) - np.eye(35, k=1) - np.eye(35, k=-1),
    "clusters": with_spectrum(np.repeat([1.0, 1.0 + 1e-13, 1.0 + 1e-9, 5.0], [9, 9, 9, 7])),
    "one outlier": with_spectrum(np.repeat([1.0, -1e6], [SIZE - 1, 1])),
    "graded": with_spectrum(np.geomspace(1e-17, 1.0, SIZE)),
    "huge": SYMMETRIC * 1e305,
    "tiny": SYMMETRIC * 1e-305,
    "negative": -SYMMETRIC @ SYMMETRIC,
    "integers": np.rint(SYMMETRIC * 3).astype(int),
}


@pytest.mark.parametrize("name", sorted(SPECIAL))
def test_a_hermitian_matrix_is_diagonalised_to_rounding(name: str) -> None:
    values = SPECIAL[name]
    with spread_out() as meter:
        w, v = computed(dnumpy.linalg.eigh(on_nodes(values)))
        assert meter.most() < values.nbytes / 2, meter.gathered
        assert_eigen(values, w, v)


@settings(max_examples=8, deadline=None)
@given(
    st.lists(
        st.floats(-1.0, 1.0) | st.sampled_from([-1.0, 0.0, 1e-16, 1e-8, 1.0]),
        min_size=SIZE,
        max_size=SIZE,
    )
)
def test_any_spectrum_is_found(spectrum: list[float]) -> None:
    values = with_spectrum(np.array(spectrum))
    with spread_out():
        assert_eigen(values, *dnumpy.linalg.eigh(on_nodes(values)))


@settings(max_examples=6, deadline=None)
@given(
    st.lists(
        st.floats(0.0, 1.0) | st.sampled_from([0.0, 1e-300, 1e-16, 1e-8, 1.0]),
        min_size=SIZE,
        max_size=SIZE,
    )
)
def test_any_singular_values_are_found(spectrum: list[float]) -> None:
    values = (BASIS * np.array(spectrum)) @ np.linalg.qr(TURNED.imag)[0]
    with spread_out():
        assert_singular(values, *dnumpy.linalg.svd(on_nodes(values)))


@pytest.mark.parametrize("uplo", ["L", "U"])
@pytest.mark.parametrize("values", [SYMMETRIC, HERMITIAN], ids=["real", "complex"])
def test_only_the_triangle_that_is_named_is_read(values: np.ndarray, uplo: Any) -> None:
    kept = np.tril(np.ones(values.shape, bool))
    half = np.where(kept if uplo == "L" else kept.T, values, np.nan)
    if half.dtype.kind == "c":
        half[np.diag_indices(SIZE)] += 7j  # which NumPy does not read
    with spread_out():
        w, v = dnumpy.linalg.eigh(on_nodes(half), uplo)
        assert_eigen(values, w, v)
        alone = np.asarray(dnumpy.linalg.eigvalsh(on_nodes(half), uplo))
    np.testing.assert_allclose(alone, np.asarray(w), atol=SIZE * EPS * norm_of(values))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16", "i4", ">f8", "?"])
def test_dtypes_are_numpys(dtype: str) -> None:
    values = (HERMITIAN if dtype.startswith("c") else SYMMETRIC * 4).astype(dtype)
    expected = np.linalg.eigh(values)
    exact = values.astype(expected.eigenvectors.dtype.char.upper() if "c" in dtype else "d")
    with spread_out():
        found = dnumpy.linalg.eigh(on_nodes(values))
        assert [np.asarray(x).dtype for x in found] == [x.dtype for x in expected]
        rounding = float(np.finfo(expected.eigenvalues.dtype).eps)
        assert_eigen(exact, *found, rounding=rounding)
        factors_of = dnumpy.linalg.svd(on_nodes(values))
        assert [np.asarray(x).dtype for x in factors_of] == [x.dtype for x in np.linalg.svd(values)]


WIDE = _rng.standard_normal((34, 44)) + 1j * _rng.standard_normal((34, 44))
BLANKED = GENERAL.copy()
BLANKED[:, 5] = 0
BLANKED[7] = 0
SQUARES: dict[str, np.ndarray] = {
    "real": GENERAL,
    "complex": TURNED,
    "zero": np.zeros((SIZE, SIZE)),
    "orthogonal": BASIS,
    "rank one": np.outer(VECTOR, VECTOR[::-1]),
    "a row and a column of zeros": BLANKED,
    "nilpotent": np.eye(SIZE, k=1),
    "tiny": GENERAL * 1e-305,
    "nearly square": _rng.standard_normal((44, 34)),
    "nearly square, wide": WIDE,
}


@pytest.mark.parametrize("name", sorted(SQUARES))
def test_a_nearly_square_matrix_has_its_singular_values_to_rounding(name: str) -> None:
    values = SQUARES[name]
    with spread_out() as meter:
        found = computed(dnumpy.linalg.svd(on_nodes(values), full_matrices=False))
        assert meter.most() < 0.75 * values.nbytes, meter.gathered
        assert_singular(values, *found)


@pytest.mark.parametrize("name", ["real", "nearly square", "nearly square, wide"])
def test_full_matrices_complete_both_bases(name: str) -> None:
    values = SQUARES[name]
    with spread_out():
        u, s, vh = dnumpy.linalg.svd(on_nodes(values))
        assert_singular(values, u, s, vh)
        assert (u.shape, vh.shape) == tuple((n, n) for n in values.shape)


CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "svdvals": lambda xp, a: xp.linalg.svdvals(a),
    "pinv": lambda xp, a: xp.linalg.pinv(a),
    "matrix_rank": lambda xp, a: xp.linalg.matrix_rank(a),
    "norm 2": lambda xp, a: xp.linalg.norm(a, 2),
    "norm nuc": lambda xp, a: xp.linalg.norm(a, "nuc"),
    "cond": lambda xp, a: xp.linalg.cond(a + 40 * xp.eye(*a.shape)),
    "lstsq": lambda xp, a: xp.linalg.lstsq(a, np.arange(2.0 * len(a)).reshape(-1, 2)),
    "lstsq one": lambda xp, a: xp.linalg.lstsq(a, np.arange(1.0 * len(a)), rcond=-1)[2:],
    "lstsq coarse": lambda xp, a: xp.linalg.lstsq(a, np.arange(1.0 * len(a)), rcond=0.2),
}


@pytest.mark.parametrize("call", sorted(CALLS))
@pytest.mark.parametrize("name", ["a row and a column of zeros", "nearly square", "zero"])
def test_what_is_made_of_singular_values_is_numpys(name: str, call: str) -> None:
    values = SQUARES[name]
    expected = CALLS[call](np, values)
    with spread_out() as meter:
        found = computed(CALLS[call](dnumpy, on_nodes(values)))
        assert meter.most() < 0.75 * values.nbytes, meter.gathered
        pairs = (
            zip(found, expected, strict=True) if type(expected) is tuple else [(found, expected)]
        )
        for x, y in pairs:
            mine, numpys = np.asarray(x), np.asarray(y)
            assert (mine.dtype, mine.shape) == (numpys.dtype, numpys.shape)
            np.testing.assert_allclose(
                mine, numpys, atol=1e-9 * max(np.max(np.abs(numpys), initial=0), 1)
            )


VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "transposed": lambda xp, a: xp.linalg.eigvalsh(a.T),
    "reversed": lambda xp, a: xp.linalg.eigvalsh(a[::-1, ::-1]),
    "transposed, its values": lambda xp, a: xp.linalg.svdvals(a[:, ::-1].T),
    "as a Hermitian one": lambda xp, a: xp.linalg.pinv(a, hermitian=True),
    "its rank as a Hermitian one's": lambda xp, a: xp.linalg.matrix_rank(a, hermitian=True),
}


@pytest.mark.parametrize("name", sorted(VIEWS))
def test_a_view_of_a_matrix_stays_on_its_nodes_too(name: str) -> None:
    expected = np.asarray(VIEWS[name](np, SYMMETRIC))
    with spread_out() as meter:
        found = computed(VIEWS[name](dnumpy, on_nodes(SYMMETRIC)))
        assert meter.most() < SYMMETRIC.nbytes / 2, meter.gathered
        np.testing.assert_allclose(np.asarray(found), expected, atol=1e-10)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["eigh", "eigvalsh", "svd", "svdvals", "pinv"])
def test_what_is_not_finite_has_no_spectrum(name: str, bad: float) -> None:
    values = SYMMETRIC.copy()
    values[9, 3] = bad
    with spread_out(), pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        getattr(dnumpy.linalg, name)(on_nodes(values))


def test_the_bits_do_not_depend_on_the_partition() -> None:
    results = []
    for speeds in [(1.0,), (5.0, 3.0, 2.0), (1.0, 4.0, 2.0, 1.0, 1.0, 2.0, 3.0)]:
        with spread_out(*speeds):
            results.append([np.asarray(x) for x in dnumpy.linalg.eigh(on_nodes(SYMMETRIC))])
    for other in results[1:]:
        for x, y in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("least", [1.0, 1e-3, 1e-9, 1e-15])
@pytest.mark.parametrize("basis", [BASIS, np.linalg.qr(TURNED)[0]], ids=["real", "complex"])
def test_the_unitary_polar_factor_is_unitary_and_leaves_a_hermitian_one(
    least: float, basis: np.ndarray
) -> None:
    values = (basis * np.geomspace(least, 1.0, SIZE)) @ basis[::-1]
    with spread_out(), np.errstate(all="ignore"):
        found = polars.polar(on_nodes(values))
        u = np.asarray(found.unitary)
    h = u.conj().T @ values
    assert abs(found.missing) < polars.MISSING
    assert np.linalg.norm(u.conj().T @ u - np.eye(SIZE)) <= BOUND * SIZE * EPS
    assert np.linalg.norm(h - h.conj().T) <= BOUND * SIZE * EPS
    assert np.linalg.eigvalsh((h + h.conj().T) / 2)[0] >= -BOUND * SIZE * EPS


def test_what_is_zero_is_missing_in_the_polar_factor() -> None:
    with spread_out(), np.errstate(all="ignore"):
        found = polars.polar(on_nodes(np.diag(np.repeat([0.0, 2.0], [3, SIZE - 3]))))
    assert found.missing == pytest.approx(3.0)


def test_lapack_takes_what_fits_a_node_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "mode", "default")
    matrix = dnumpy.ones((100, 100))
    needed = spectral.WORKSPACE * matrix.nbytes
    for room, fits in [(needed, True), (needed - 1, False)]:
        monkeypatch.setattr(spectral.engine, "room", lambda _expr, room=room: room)
        assert spectral.fits_one_node(matrix) is fits
    monkeypatch.setattr(config, "memory_limit", int(needed) - 1)
    monkeypatch.setattr(spectral.engine, "room", lambda _expr: float("inf"))
    assert not spectral.fits_one_node(matrix)


def test_a_matrix_in_the_split_mode_is_divided_above_a_few_panels() -> None:
    with spread_out():
        most = spectral.LEAF_PANELS * factors.panel_width()
        assert spectral.fits_one_node(dnumpy.ones((most, most)))
        assert not spectral.fits_one_node(dnumpy.ones((most + 1, most + 1)))


def test_a_matrix_that_no_shift_divides_has_no_eigenvalues(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectral, "_shifts", lambda _matrix: iter([1e9, -1e9]))
    with spread_out(), pytest.raises(np.linalg.LinAlgError, match="did not converge"):
        dnumpy.linalg.eigh(on_nodes(SYMMETRIC))
