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
