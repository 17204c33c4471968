"""The reference is NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from dnumpy.kernels import reference
from dnumpy.ops.families import lookup
from dnumpy.ops.table import ARANGE, CAST, CROSSPROD, DOT, FULL, MATMUL, WHERE
from dnumpy.rewrite.phase import ReduceParams


@pytest.mark.parametrize("name", ["add", "divide", "arctan2", "maximum"])
def test_a_ufunc_is_applied_with_broadcasting(name):
    a, b = np.arange(1.0, 7.0).reshape(2, 3), np.array([[2.0], [3.0]])
    found = reference.apply(lookup(name), [a, b], (), (2, 3), np.dtype("f8"))
    np.testing.assert_array_equal(found, getattr(np, name)(a, b))


def test_a_cast_is_astype_and_where_is_where():
    a = np.array([1.7, -2.2, 300.9])
    np.testing.assert_array_equal(
        reference.apply(CAST, [a], (), (3,), np.dtype("i4")), a.astype("i4")
    )
    chosen = reference.apply(WHERE, [a > 0, a, np.array(1.0)], (), (3,), np.dtype("f8"))
    np.testing.assert_array_equal(chosen, np.where(a > 0, a, 1.0))


@pytest.mark.parametrize("axis", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_a_fold_is_the_ufuncs_reduce(axis, keepdims):
    a = np.random.default_rng(0).random((4, 5))
    expected = np.asarray(np.add.reduce(a, axis=axis, keepdims=keepdims))
    params = ReduceParams(axis, keepdims, None, None, masked=False)
    found = reference.apply(lookup("add.reduce"), [a], params, expected.shape, a.dtype)
    np.testing.assert_array_equal(found, expected)


def test_generated_rows_are_numpys():
    counted = reference.apply(ARANGE, [], (1.5, 0.25), (9,), np.dtype("f8"))
    np.testing.assert_array_equal(counted, np.arange(1.5, 1.5 + 9 * 0.25, 0.25))
    assert (reference.apply(FULL, [], (7,), (2, 2), np.dtype("i2")) == 7).all()


@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64", "object"])
@pytest.mark.parametrize("op", [MATMUL, DOT, CROSSPROD])
def test_a_contraction_is_the_same_wherever_it_is_written(op, dtype):
    rng = np.random.default_rng(7)
    left, right = (rng.integers(-9, 9, (6, 6)).astype(dtype) for _ in range(2))
    expected = reference.apply(op, (left, right), (), (6, 6), np.dtype(dtype))
    out = np.empty((6, 6), dtype)
    reference.contract_into(op, (left, right), (), out)
    np.testing.assert_array_equal(out, expected, strict=True)
    wider = np.empty((6, 6), np.result_type(dtype, "float64"))  # of another dtype than both
    reference.contract_into(op, (left, right), (), wider)
    np.testing.assert_array_equal(wider, expected.astype(wider.dtype))
