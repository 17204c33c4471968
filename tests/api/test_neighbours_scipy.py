from __future__ import annotations

import pickle
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.api import handing

if TYPE_CHECKING:
    import types
    from collections.abc import Callable

ndimage = pytest.importorskip("scipy.ndimage")
sparse = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")
optimize = pytest.importorskip("scipy.optimize")


def written(xp: types.ModuleType, dtype: str, write: Callable[[Any, Any], Any]) -> Any:
    values = xp.sin(xp.arange(40) * 0.3)
    target = xp.zeros((1, 40) if dtype == "i4" else 40, dtype)
    write(values, target)
    return target


@pytest.mark.parametrize(
    ("dtype", "write"),
    [
        ("?", lambda x, o: ndimage.binary_dilation(x > 0, output=o)),
        ("?", lambda x, o: ndimage.binary_erosion(x > 0, output=o, iterations=2)),
        ("f8", lambda x, o: ndimage.morphological_gradient(x, 3, output=o)),
        ("f8", lambda x, o: ndimage.uniform_filter1d(x, 3, output=o)),
        ("f8", lambda x, o: ndimage.distance_transform_edt(x > 0, distances=o)),
        ("i8", lambda x, o: ndimage.label(x > 0, output=o)),
        (
            "i4",
            lambda x, o: ndimage.distance_transform_edt(
                x > 0, return_distances=False, return_indices=True, indices=o
            ),
        ),
    ],
)
def test_filters_write_to_our_arrays(dtype: str, write: Callable[[Any, Any], Any]) -> None:
    ours = written(dnumpy, dtype, write)
    assert type(ours) is dnumpy.ndarray
    assert ours.any()
    np.testing.assert_array_equal(np.asarray(ours), written(np, dtype, write))


def solvable(xp: types.ModuleType) -> Any:
    return xp.eye(6) * 4 + xp.arange(36.0).reshape(6, 6) / 36


def symmetric(xp: types.ModuleType) -> Any:
    return solvable(xp) + solvable(xp).T


SOLVED: dict[str, Callable[[types.ModuleType], Any]] = {
    "cg": lambda xp: linalg.cg(symmetric(xp), xp.arange(6.0))[0],
    "gmres": lambda xp: linalg.gmres(solvable(xp), xp.arange(6.0))[0],
    "minres": lambda xp: linalg.minres(symmetric(xp), xp.arange(6.0))[0],
    "lsqr": lambda xp: linalg.lsqr(solvable(xp), xp.arange(6.0))[0],
    "eigsh": lambda xp: linalg.eigsh(symmetric(xp), k=2, v0=xp.ones(6))[0],
    "eigs": lambda xp: abs(linalg.eigs(solvable(xp), k=1, v0=xp.ones(6))[0]),
    "svds": lambda xp: linalg.svds(solvable(xp), k=2, v0=xp.ones(6))[1],
    "onenormest": lambda xp: linalg.onenormest(solvable(xp)),
    "an operator": lambda xp: linalg.aslinearoperator(solvable(xp)) @ xp.arange(6.0),
    "an operator by a function": lambda xp: linalg.cg(
        linalg.LinearOperator((6, 6), matvec=lambda v: symmetric(xp) @ v, dtype=float),
        xp.arange(6.0),
    )[0],
    "factors": lambda xp: linalg.splu(sparse.csc_array(solvable(xp))).solve(xp.arange(6.0)),
    "a solver": lambda xp: linalg.factorized(sparse.csc_array(solvable(xp)))(xp.arange(6.0)),
    "slopes": lambda xp: (
        optimize.least_squares(
            lambda p: p**2 - xp.array([1, 4.0]), xp.ones(2), jac=lambda p: xp.diag(2 * p)
        ).x
    ),
    "a bracket": lambda xp: optimize.root_scalar(lambda v: v - 0.5, bracket=xp.array([0, 1])).root,
}


@pytest.mark.parametrize("solve", SOLVED.values(), ids=list(SOLVED))
def test_solvers_take_our_arrays(solve: Callable[[types.ModuleType], Any]) -> None:
    numpys, ours = solve(np), solve(dnumpy)
    assert isinstance(ours, type(numpys))
    np.testing.assert_allclose(ours, numpys, rtol=1e-6)


def test_factors_are_of_scipys_class() -> None:
    factors = linalg.splu(sparse.csc_array(np.eye(3)))
    assert isinstance(factors, linalg.SuperLU)
    assert factors.shape == (3, 3)
    assert factors.L.nnz == 3


def test_more_of_scipy_takes_our_arrays() -> None:
    program = (
        "import dnumpy as np\n"
        "import scipy.linalg.interpolative as low, scipy.signal, scipy.special, scipy.stats\n"
        "x = np.sin(np.arange(60) * 0.3)\n"
        "assert len(scipy.signal.find_peaks(x, height=np.full(60, 0.5))[0]) == 3\n"
        "assert scipy.special.factorial(np.array(5), exact=True) == 120\n"
        "assert low.interp_decomp(np.outer(x, x), 1)[0].shape == (60,)\n"
        "rows = np.random.default_rng(0).random((16, 3))\n"
        "scipy.stats.multiscale_graphcorr(rows[:8], rows[8:], reps=1, random_state=0)\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


MATRIX = [[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 2.0]]


def minimised(xp: types.ModuleType, method: str, *, together: bool) -> Any:
    """Minimise a quartic with a gradient that is computed by ``xp``."""
    matrix, start, target = xp.array(MATRIX), xp.zeros(3), xp.array([1.0, 2.0, 3.0])

    def function(x: Any) -> Any:
        return 0.5 * x @ matrix @ x - target @ x + xp.sum(x**4)

    def gradient(x: Any) -> Any:
        return matrix @ x - target + 4 * x**3

    if together:
        return optimize.minimize(
            lambda x: (function(x), gradient(x)), start, method=method, jac=True
        ).x
    return optimize.minimize(function, start, method=method, jac=gradient).x


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("method", ["BFGS", "CG", "L-BFGS-B", "SLSQP", "TNC", "trust-constr"])
def test_gradients_may_be_computed_by_us(method: str, together: bool) -> None:
    ours = minimised(dnumpy, method, together=together)
    np.testing.assert_allclose(ours, minimised(np, method, together=together), rtol=1e-6)


def total(x: Any) -> Any:
    return dnumpy.sum(x**2)


def test_functions_given_to_scipy_keep_their_signature_and_can_be_pickled() -> None:
    given = dnumpy.arange(5.0)
    found, _ = optimize.curve_fit(lambda x, slope, offset: slope * x + offset, given, given * 2 + 1)
    np.testing.assert_allclose(found, [2.0, 1.0])
    asked = pickle.loads(pickle.dumps(handing.answering(total)))
    assert type(asked(dnumpy.ones(3))) is np.float64
    assert asked.__name__ == "total"


def test_lapack_copies_what_it_is_not_told_to_overwrite() -> None:
    lapack = pytest.importorskip("scipy.linalg.lapack")
    matrix, right = dnumpy.array(MATRIX), dnumpy.array([1.0, 2.0, 3.0])
    assert "dgesv" in lapack.dgesv.__doc__
    *_, found, info = lapack.dgesv(matrix, right)
    assert info == 0
    np.testing.assert_allclose(np.asarray(MATRIX) @ found, [1.0, 2.0, 3.0])
    assert right.tolist() == [1.0, 2.0, 3.0]
    assert matrix.tolist() == MATRIX


def test_a_function_of_a_matrix_may_be_ours() -> None:
    funm = pytest.importorskip("scipy.linalg").funm
    np.testing.assert_allclose(
        funm(dnumpy.array(MATRIX), dnumpy.exp), funm(np.array(MATRIX), np.exp)
    )
