"""The same bits on 1, 2, 3 and 7 nodes of unequal rows; reductions at least as good as NumPy's."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy.config import config
from tests.gathering import on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODES = ((1.0,), (3.0, 1.0), (5.0, 3.0, 2.0), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0))
_rng = np.random.default_rng(11)
ILL = _rng.standard_normal((211, 9)) * 10.0 ** _rng.integers(-12, 13, (211, 9))
F32 = ILL.astype(np.float32)
CPLX = ILL + 1j * ILL[::-1]

ALWAYS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda a: a.sum(),
    "sum-rows": lambda a: a.sum(axis=0),
    "sum-columns": lambda a: a.sum(axis=1),
    "mean": lambda a: a.mean(axis=0),
    "var": lambda a: a.var(),
    "std": lambda a: a.std(axis=0),
    "prod": lambda a: dnumpy.prod(dnumpy.sign(a) * dnumpy.abs(a) ** 0.1),
    "norm": dnumpy.linalg.norm,
    "average": lambda a: dnumpy.average(a, weights=dnumpy.abs(a)),
    "cumsum": dnumpy.cumsum,
    "cumsum-rows": lambda a: dnumpy.cumsum(a, axis=0),
    "cumprod": lambda a: dnumpy.cumprod(dnumpy.sign(a) * dnumpy.abs(a) ** 0.1, axis=0),
    "logaddexp": lambda a: dnumpy.logaddexp.accumulate(a.real),
    "sort": lambda a: dnumpy.sort(a, axis=0),
    "argsort": lambda a: dnumpy.argsort(a.ravel(), kind="stable"),
    "median": lambda a: dnumpy.median(a.real),
    "quantile": lambda a: dnumpy.quantile(a.real, [0.1, 0.5, 0.93]),
    "percentile": lambda a: dnumpy.percentile(a.real, 37.5, axis=0),
    "unique": dnumpy.unique,
    "histogram": lambda a: dnumpy.histogram(dnumpy.arctan(a.real), 9, weights=abs(a.real))[0],
    "bincount": lambda a: dnumpy.bincount((abs(a.real) > 1).ravel().astype("i8"), a.real.ravel()),
    "convolve": lambda a: dnumpy.convolve(a.ravel(), a.ravel()[:13]),
    "vdot": lambda a: dnumpy.vdot(a, a),
    "dot": lambda a: dnumpy.dot(a.ravel(), a.ravel()),
}
ON_REQUEST: dict[str, Callable[[Any], Any]] = {
    "matmul": lambda a: a @ a[:9],
    "matmul-vector": lambda a: a @ a[0],
    "vector-matmul": lambda a: a[:, 0] @ a,
    "tall": lambda a: a.T @ a,
    "tall-wide": lambda a: a[:, :4].T @ a[:, 4:],
    "dot": lambda a: dnumpy.dot(a, a.T),
    "inner": lambda a: dnumpy.inner(a[:, 0], a[:, 1]),
    "tensordot": lambda a: dnumpy.tensordot(a, a, axes=([0], [0])),
    "einsum": lambda a: dnumpy.einsum("ij,kj->ik", a, a),
    "cov": lambda a: dnumpy.cov(a.real, rowvar=False),
}


@pytest.fixture
def reproducible() -> Iterator[None]:
    config.reproducible = True
    yield
    config.reproducible = False


def bits(call: Callable[[Any], Any], values: np.ndarray, speeds: tuple[float, ...]) -> bytes:
    """Return the bits that nodes of these speeds compute; without speeds, this process."""
    with spread_out(*speeds):
        if not speeds:
            config.mode = "lazy"
        return np.asarray(call(on_nodes(values))).tobytes()


@pytest.mark.parametrize("values", [ILL, F32, CPLX], ids=["float64", "float32", "complex"])
@pytest.mark.parametrize("name", sorted(ALWAYS))
@pytest.mark.filterwarnings("ignore")
def test_bits_do_not_depend_on_the_nodes(name: str, values: np.ndarray) -> None:
    if values.dtype.kind == "c" and name in {"sort", "argsort", "unique", "bincount", "prod"}:
        values = values.real.copy()
    found = {bits(ALWAYS[name], values, speeds) for speeds in NODES}
    assert len(found) == 1


@pytest.mark.parametrize("values", [ILL, F32, CPLX], ids=["float64", "float32", "complex"])
@pytest.mark.parametrize("name", sorted(ON_REQUEST))
@pytest.mark.usefixtures("reproducible")
@pytest.mark.filterwarnings("ignore")
def test_bits_of_products_do_not_depend_on_the_nodes_where_asked(
    name: str, values: np.ndarray
) -> None:
    found = {bits(ON_REQUEST[name], values, speeds) for speeds in ((), *NODES)}
    assert len(found) == 1


@pytest.mark.usefixtures("reproducible")
def test_products_in_fixed_blocks_are_products() -> None:
    for name, call in ON_REQUEST.items():
        with spread_out():
            found = np.asarray(call(on_nodes(_TAME)))
        expected = np.asarray(_with_numpy(call, _TAME))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=name)


_TAME = np.random.default_rng(3).standard_normal((60, 9))


def _with_numpy(call: Callable[[Any], Any], values: np.ndarray) -> Any:
    kept, config.mode, config.eager_below = (config.mode, config.eager_below), "default", 1 << 40
    try:
        return call(dnumpy.array(values))
    finally:
        config.mode, config.eager_below = kept


# ---------------------------------------------------------------- accuracy

LONG = np.random.default_rng(5).standard_normal(6000) * 10.0 ** (np.arange(6000) % 16)
SHIFTED = 1e9 + np.random.default_rng(6).random(6000)


def _exact_variance(values: np.ndarray) -> float:
    parts = [Fraction(float(v)) for v in values]
    centre = sum(parts) / len(parts)
    return float(sum((p - centre) ** 2 for p in parts) / len(parts))


def _exact_dot(values: np.ndarray) -> float:
    return float(sum(Fraction(float(v)) ** 2 for v in values))


def _exact_product(values: np.ndarray) -> float:
    product = Fraction(1)
    for v in 1 + values[:400] * 1e-18:
        product *= Fraction(float(v))
    return float(product)


EXACT: dict[str, tuple[np.ndarray, Callable[[Any, Any], Any], Callable[[np.ndarray], float]]] = {
    "sum": (LONG, lambda _, a: a.sum(), math.fsum),
    "sum-of-ones": (np.full(6000, 0.1), lambda _, a: a.sum(), math.fsum),
    "mean": (LONG, lambda _, a: a.mean(), lambda v: math.fsum(v) / len(v)),
    "var": (SHIFTED, lambda _, a: a.var(), _exact_variance),
    "std": (SHIFTED, lambda _, a: a.std(), lambda v: math.sqrt(_exact_variance(v))),
    "prod": (LONG, lambda _, a: (1 + a[:400] * 1e-18).prod(), _exact_product),
    "dot": (LONG, lambda np_, a: np_.dot(a, a), _exact_dot),
    "norm": (LONG, lambda np_, a: np_.linalg.norm(a), lambda v: math.sqrt(_exact_dot(v))),
    "cumsum": (LONG, lambda np_, a: np_.cumsum(a)[-1], math.fsum),
}


@pytest.mark.parametrize("name", sorted(EXACT))
def test_reductions_are_at_least_as_accurate_as_numpys(name: str) -> None:
    values, call, exactly = EXACT[name]
    exact = exactly(values)
    last_place = np.spacing(abs(exact))
    rng = np.random.default_rng(12)
    ours, theirs = [], []
    for _ in range(60):  # orders of the same numbers: one sum alone may be right by chance
        shuffled = rng.permutation(values)
        with spread_out():
            config.tile_rows_max = 500
            ours.append(abs(float(call(dnumpy, on_nodes(shuffled))) - exact))
        theirs.append(abs(float(call(np, shuffled)) - exact))
    found, expected = np.mean(ours) / last_place, np.mean(theirs) / last_place
    assert found <= max(1.25 * expected, 1.0), (found, expected)
