"""Ops on whole arrays by CuPy's libraries: the table, run on NumPy, is the reference."""

from __future__ import annotations

import importlib.util
import operator
from typing import Any

import numpy as np
import pytest

from dnumpy.expr.geometry import Geometry
from dnumpy.kernels import cuda_library, cuda_linalg, reference
from dnumpy.kernels.cuda_library import LIBRARY, apply_on_device
from dnumpy.kernels.cupy import device_count
from dnumpy.kernels.lower import Unsupported
from dnumpy.ops import indexing, scans, sorting
from dnumpy.ops.blocked import CompressParams, CountParams
from dnumpy.ops.counting import BinParams
from dnumpy.ops.einstein import SumParams
from dnumpy.ops.factor import CrossParams
from dnumpy.ops.families import RowParams, lookup, rowwise_of
from dnumpy.ops.gufuncs import GUFUNC, GufuncParams
from dnumpy.ops.products import ProductParams
from dnumpy.ops.table import ARANGE, CROSSPROD, EINSUM, FULL, MATMUL, TENSORDOT, UPDATE, VIEW

pytestmark = pytest.mark.modeless("the table reads no settings")
needs_cupy = pytest.mark.skipif(
    importlib.util.find_spec("cupy") is None, reason="CuPy is not installed"
)
needs_device = pytest.mark.skipif(not device_count(), reason="there is no GPU")

RNG = np.random.default_rng(5)
X = RNG.standard_normal((40, 6))
SQUARE = RNG.standard_normal((5, 4, 4)) + 4 * np.eye(4)
POSITIVE = SQUARE @ SQUARE.swapaxes(1, 2)
INDEX = np.array([3, 0, 39, 3, 7, 3])
MASK = RNG.random(40) < 0.5
F8, I8, B1 = np.dtype("f8"), np.dtype("i8"), np.dtype(bool)
ERRORS = (("invalid", "raise"),)


def gufunc(target: str, values: list[Any], shape: tuple[int, ...], dtype: Any, **kwargs: Any):
    names = np.dtype(dtype).names or ()
    by_rows = tuple(np.ndim(v) > 0 for v in values)
    params = GufuncParams(by_rows, target, tuple(kwargs.items()), False, names, ERRORS)
    return GUFUNC, values, params, shape, np.dtype(dtype)


def linalg(name: str, *values: Any, shape: tuple[int, ...], dtype: Any = F8):
    return gufunc(f"numpy.linalg._umath_linalg.{name}", list(values), shape, dtype)


def fft(name: str, values: np.ndarray, shape: tuple[int, ...], dtype: Any, factor: float):
    axes = [(-1,), (), (-1,)]
    return gufunc(
        f"numpy.fft._pocketfft_umath.{name}", [values, np.float64(factor)], shape, dtype, axes=axes
    )


def row(name: str, values: list[Any], params: Any, shape: tuple[int, ...], dtype: Any = F8):
    return lookup(name), values, params, shape, np.dtype(dtype)


TURNED = Geometry(8, (6, 39), (8, 48), F8)
BLOCK = (True, True)
PAIRS = np.dtype([("f0", "f8", (4,)), ("f1", "f8", (4, 4))])
CASES = {
    "matmul": (MATMUL, [X, X.T.copy()], (), (40, 40), F8),
    "crossprod": (CROSSPROD, [X, X], (), (6, 6), F8),
    "tensordot": (TENSORDOT, [X, X], (("axes", ((0,), (0,))),), (6, 6), F8),
    "einsum": (EINSUM, [X, X], (("subscripts", "ij,kj->ik"), ("optimize", True)), (40, 40), F8),
    "view": (VIEW, [X], tuple(TURNED), TURNED.shape, F8),
    "update": (UPDATE, [X, np.float64(3.0)], tuple(TURNED), X.shape, F8),
    "full": (FULL, [], (2.5,), (7,), F8),
    "arange": (ARANGE, [], (1, 3), (7,), I8),
    "take": row("take", [X, INDEX], indexing.TakeParams(1), (6, 6)),
    "take of two axes": row("take", [X, INDEX], indexing.TakeParams(2), (6,)),
    "take inside": row("take_inside", [X, INDEX[:2]], indexing.TakeParams(1), (40, 2)),
    "put": row("put", [X, INDEX, X[:6] * 2], indexing.PutParams(1, full=True), X.shape),
    "put rows": row("put", [X, INDEX, X[0]], indexing.PutParams(1, full=False), X.shape),
    "put inside": row(
        "put_inside",
        [X, np.array([1, 2, 1]), X[:, :3] * 3],
        indexing.PutParams(1, full=True),
        X.shape,
    ),
    "put by a mask": row(
        "put_mask",
        [X, MASK, X[: MASK.sum()] * 2],
        indexing.MaskParams(40, (0, int(MASK.sum()))),
        X.shape,
    ),
    "nonzero": row(
        "nonzero", [MASK], indexing.MaskParams(40, (0, int(MASK.sum()))), (int(MASK.sum()), 1), I8
    ),
    "compress": row(
        "compress", [X, MASK], CompressParams(40, (0, int(MASK.sum()))), (int(MASK.sum()), 6)
    ),
    "running sums": row("scan", [X], scans.ScanParams((True,), "add", F8, 40), X.shape),
    "running products": row(
        "scan.products", [X], scans.ScanParams((True,), "multiply", F8, 40), X.shape
    ),
    "sums along": row("scan.along", [X], scans.AlongParams((True,), "add", F8, 1), X.shape),
    "sorted rows": row("sort_rows", [X], RowParams((True,), (("axis", -1),)), X.shape),
    "sorted blocks": row("sort_blocks", [X[:, 0].copy()], sorting.BlockParams((True,), 16), (40,)),
    "order": (
        rowwise_of("numpy.argsort"),
        [np.round(X)],
        RowParams((True,), (("axis", 1), ("kind", "stable"))),
        X.shape,
        I8,
    ),
    "found": row(
        "find", [np.sort(X[:, 0]), X[:, 1]], sorting.FindParams((False, True), "right"), (40,), I8
    ),
    "is in": row(
        "isin_rows",
        [INDEX, np.array([0, 3, 9])],
        RowParams((True, False), (("invert", True),)),
        (6,),
        B1,
    ),
    "bincount": row("bincount", [INDEX], BinParams((True,), 50, (), False, 6), (50,), I8),
    "count of one block": row("counts", [MASK], CountParams((True,), 40), (1,), I8),
    "product": row("product", [X, X], ProductParams(BLOCK, False, 40), (6, 6)),
    "dot": row("product", [X[:, 0], X[:, 1]], ProductParams(BLOCK, False, 40), ()),
    "rows of a product": row(
        "product.rows", [X, X.T.copy()], ProductParams(BLOCK, False, 40), (40, 40)
    ),
    "rows of an Einstein sum": row(
        "einstein.rows", [X, X[0]], SumParams((True, False), "ij,j->i", F8), (40,)
    ),
    "Einstein sum": row("einstein.fold", [X, X], SumParams(BLOCK, "ij,ij->", F8), ()),
    "cross": row("factor.cross", [X, X], CrossParams(), (6, 6)),
    "inverse": linalg("inv", SQUARE, shape=(5, 4, 4)),
    "determinant": linalg("det", SQUARE, shape=(5,)),
    "solution": linalg("solve", SQUARE, SQUARE, shape=(5, 4, 4)),
    "solution of one": linalg("solve1", SQUARE, X[:5, :4].copy(), shape=(5, 4)),
    "cholesky": linalg("cholesky_lo", POSITIVE, shape=(5, 4, 4)),
    "upper cholesky": linalg("cholesky_up", POSITIVE, shape=(5, 4, 4)),
    "eigenvalues": linalg("eigvalsh_lo", POSITIVE, shape=(5, 4)),
    "singular values": linalg("svd", SQUARE, shape=(5, 4)),
    "eigenvectors": linalg("eigh_lo", POSITIVE, shape=(5,), dtype=PAIRS),
    "fft": fft("fft", X.astype(complex), (40, 6), "c16", 1.0),
    "inverse fft": fft("ifft", X.astype(complex), (40, 8), "c16", 0.125),
    "real fft": fft("rfft_n_even", X, (40, 4), "c16", 0.5),
    "real fft of odd length": fft("rfft_n_odd", X[:, :5].copy(), (40, 3), "c16", 1.0),
    "inverse real fft": fft("irfft", X.astype(complex), (40, 9), "f8", 1 / 9),
}  # fmt: skip


def close(found: Any, expected: np.ndarray) -> None:
    if expected.dtype.names:
        for name in expected.dtype.names:
            np.testing.assert_allclose(np.abs(found[name]), np.abs(expected[name]), rtol=1e-9)
    else:
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_table_run_on_numpy_is_the_reference(name):
    op, values, params, shape, dtype = CASES[name]
    expected = reference.apply(op, values, params, shape, dtype)
    close(apply_on_device(op, values, params, shape, dtype, np), expected)


def test_every_row_of_the_table_is_a_row_of_ops():
    for name in LIBRARY:
        if not name.startswith("numpy."):
            assert lookup(name).name == name


REFUSED = {
    "running maximum": row("scan", [X], scans.ScanParams((True,), "maximum", F8, 40), X.shape),
    "numpy's own order": (
        rowwise_of("numpy.argsort"), [X], RowParams((True,), (("axis", 1),)), X.shape, I8
    ),
    "sums of halves": row(
        "einstein.rows",
        [X.astype("f2"), X.astype("f2")],
        SumParams(BLOCK, "ij,ij->i", np.dtype("f2")),
        (40,),
        "f2",
    ),
    "counts of two blocks": row("counts", [MASK], CountParams((True,), 20), (2,), I8),
    "no table entry": row("lexsort_rows", [X], RowParams((True,), ()), (6,), I8),
    "singular": linalg("inv", np.zeros((2, 3, 3)), shape=(2, 3, 3)),
    "strings": row("take", [np.array(["a", "b"]), INDEX[1:2]], indexing.TakeParams(1), (1,), "U1"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_the_libraries_do_otherwise_is_refused(name):
    with pytest.raises(Unsupported):
        apply_on_device(*REFUSED[name], np)


@needs_cupy
def test_cupy_has_the_names_that_the_table_uses():
    import cupy

    for name in (*cuda_library.NAMES, *cuda_linalg.NAMES):
        assert callable(operator.attrgetter(name)(cupy))


@pytest.mark.gpu
@needs_device
@pytest.mark.parametrize("name", CASES)
def test_the_table_on_a_device_is_the_reference(name):
    import cupy

    op, values, params, shape, dtype = CASES[name]
    given = [cupy.asarray(v) if isinstance(v, np.ndarray) else v for v in values]
    found = apply_on_device(op, given, params, shape, dtype)
    expected = reference.apply(op, values, params, shape, dtype)
    close(found if dtype.names else found.get(), expected)
