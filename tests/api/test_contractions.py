"""Which products wait to be fused, and which are NumPy's at once."""

from __future__ import annotations

import numpy as np
import pytest

import dnumpy as dnp
from dnumpy import native
from dnumpy.config import config
from dnumpy.runtime.direct import FEW, LITTLE_BYTES

pytestmark = pytest.mark.skipif(config.mode != "default", reason="all else waits elsewhere")

N = 600  # of a matrix that is large enough to be managed


def matrix(rows: int = N, columns: int = N) -> np.ndarray:
    return np.random.default_rng(0).random((rows, columns))


def test_a_product_with_few_elements_of_computed_operands_does_not_wait() -> None:
    a, v = matrix(), np.ones(N)
    theirs, ours = v, dnp.array(v)
    large = dnp.array(a)
    for _ in range(5):
        theirs = a @ theirs
        ours = large @ ours
        assert ours._np is not None
        theirs = theirs / np.sqrt((theirs * theirs).sum())
        ours = ours / dnp.sqrt((ours * ours).sum())
    np.testing.assert_array_equal(np.asarray(ours), theirs)
    np.testing.assert_array_equal(np.asarray(dnp.dot(large.T, ours)), np.dot(a.T, theirs))


def test_products_wait_where_something_may_be_fused_with_them() -> None:
    rows = LITTLE_BYTES // (8 * N) + 1
    pending = dnp.exp(dnp.array(matrix(rows))) @ np.ones(N)
    assert pending._np is None
    little = dnp.exp(dnp.array(matrix())) @ np.ones(N)  # nothing is won by fusing so few bytes
    assert little._np is not None
    many = dnp.array(matrix(FEW + 1, 80)) @ np.ones(80)  # more than is multiplied at once
    assert many._np is None
    few = dnp.array(matrix(FEW + 1, 20)) @ np.ones(20)
    assert few._np is not None or not few._buf.pending or not native.built
    expected = np.exp(matrix(rows)) @ np.ones(N)
    np.testing.assert_allclose(np.asarray(pending), expected, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(little), np.exp(matrix()) @ np.ones(N), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(many), matrix(FEW + 1, 80) @ np.ones(80), rtol=1e-12)
    np.testing.assert_allclose(np.asarray(few), matrix(FEW + 1, 20) @ np.ones(20), rtol=1e-12)


def test_where_a_limit_is_set_large_operands_are_the_engines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "memory_limit", 1 << 30)
    found = dnp.array(matrix()) @ np.ones(N)
    assert found._np is None


@pytest.mark.parametrize(
    "subscripts", ["ij,ij->i", "ij,j", "ij->j", "ij,ij->", "ji,ji->i", "ij,kj"]
)
def test_an_einstein_sum_met_again_is_numpys_loop_over_what_lies_here(subscripts):
    rng = np.random.default_rng(8)
    rows = config.eager_below // 90 + 20 if config.mode == "default" else 30
    theirs = rng.random((rows, 90)), rng.random((rows, 90)), rng.random(90), rng.random((3, 90))
    x, y, row, few = (dnp.array(a) for a in theirs)
    for k in range(6):
        if k == 3:  # what is written to meanwhile, and what is yet to be computed
            x[5:, 3] = theirs[0][5:, 3] = 0.25
        if k == 4:
            x, y = x * 2.0, y - 0.5
            theirs = theirs[0] * 2.0, theirs[1] - 0.5, *theirs[2:]
        if k == 5:
            x, y, theirs = x[::-1], y[1:-1:2], (theirs[0][::-1], theirs[1][1:-1:2], *theirs[2:])
            x, theirs = x[: len(y)], (theirs[0][: len(theirs[1])], *theirs[1:])
        a, b, line, short = theirs
        given = {
            "ij,j": ((x, row), (a, line)),
            "ij->j": ((x,), (a,)),
            "ji,ji->i": ((x.T, y.T), (a.T, b.T)),
            "ij,kj": ((x, few), (a, short)),
        }
        mine, numpys = given.get(subscripts, ((x, y), (a, b)))
        found, expected = dnp.einsum(subscripts, *mine), np.einsum(subscripts, *numpys)
        assert np.shape(found) == expected.shape
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-12)
        with pytest.raises(ValueError, match=r"einstein|operand|broadcast|dimension"):
            dnp.einsum(subscripts, *(m[..., :-1] if k else m for k, m in enumerate(mine)), mine[0])


def test_norms_are_numpys():
    rng = np.random.default_rng(9)
    size = config.eager_below + 10 if config.mode == "default" else 60
    for theirs in (
        rng.random(size),
        rng.random((size // 6, 6)).astype("f4"),
        rng.random((6, size)).T,
    ):
        x = dnp.array(theirs)
        for shown, numpys in ((x, theirs), (x[::2], theirs[::2]), (x + 1.0, theirs + 1.0)):
            for given in (
                {},
                {"ord": None},
                {"axis": 0},
                {"ord": 1, "axis": 0},
                {"keepdims": True},
            ):
                found, expected = (
                    m.linalg.norm(a, **given) for m, a in ((dnp, shown), (np, numpys))
                )
                assert np.shape(found) == np.shape(expected)
                assert found.dtype == expected.dtype
                np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5)
    with pytest.raises(ValueError, match="Invalid norm order"):
        dnp.linalg.norm(dnp.array(rng.random((size // 6, 6))), "such")
