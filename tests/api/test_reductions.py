"""Reductions equal NumPy's: values, dtypes, shapes, errors; and do not depend on the partition."""

from __future__ import annotations

import itertools
import re
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.api.array import concrete, wrap
from dnumpy.config import config
from tests.programs import Program, check, same
from tests.strategies import EXACT, arrays, filled_shapes

pytestmark = pytest.mark.usefixtures("managed")

PROGRAMS = {
    "sum": [
        "a1 = np.arange(60).reshape(3, 4, 5)",
        "a2 = a1.sum(axis=(0, -1))",
        "a3 = np.sum(a1, 1, keepdims=True)",
        "s4 = a1.sum()",
        "s5 = a1.sum(initial=5)",
        "s6 = np.sum(a1, where=a1 > 9)",
        "a7 = a1.sum(0, dtype='f4')",
        "a8 = a1.sum(axis=())",
        "a1.sum(axis=3)",
        "a1.sum(axis=(0, 0))",
        "a1.sum(axis='x')",
        "a1.sum(axis=1.5)",
        "a9 = np.zeros((4, 5), int)",
        "a1.sum(axis=0, out=a9)",
        "a1.sum(axis=0, out=np.zeros(7))",
        "s10 = np.sum(a1.T, where=[True, False, True])",
    ],
    "of booleans": [
        "a1 = np.arange(40) > 20",
        "s2 = a1.sum()",
        "s3 = a1.mean()",
        "s4 = a1.prod()",
        "s5 = a1.max()",
        "s6 = a1.any()",
        "s7 = a1.argmax()",
        "s8 = np.count_nonzero(a1)",
    ],
    "of small integers": [
        "a1 = np.full(40, 100, 'i1')",
        "s2 = a1.sum()",
        "s3 = a1.sum(dtype='i1')",
        "s4 = a1.prod()",
        "s5 = a1.max()",
        "s6 = a1.mean()",
    ],
    "of nothing": [
        "a1 = np.zeros((0, 40))",
        "s2 = a1.sum()",
        "a3 = a1.sum(0)",
        "a1.max()",
        "a4 = a1.max(1)",
        "a1.max(0)",
        "s5 = a1.max(initial=3)",
        "a1.argmax()",
        "s6 = a1.all()",
    ],
    "of one element": [
        "a1 = np.full((1, 1), 5)",
        "s2 = a1.sum()",
        "a3 = a1.max(0)",
        "s4 = a1.argmin()",
        "s5 = a1.std()",
    ],
    "of no axes": [
        "a1 = np.array(5.0)",
        "s2 = a1.sum()",
        "s3 = a1.max(axis=None)",
        "a1.max(axis=0)",
        "s4 = np.sum(3)",
        "s5 = np.mean(a1)",
        "s6 = a1.argmax()",
    ],
    "NaN wins": [
        "a1 = np.arange(40.0)",
        "a1[7] = np.nan",
        "s2 = a1.max()",
        "s3 = a1.min()",
        "s4 = a1.argmax()",
        "s5 = np.fmax.reduce(a1)",
        "s6 = np.nanmax(a1)",
        "s7 = a1.any()",
    ],
    "first of equals": [
        "a1 = np.zeros((7, 9))",
        "s2 = a1.argmax()",
        "a3 = a1.argmin(axis=0)",
        "a4 = a1.argmax(axis=-1, keepdims=True)",
        "a1[3, 5] = a1[5, 3] = 1",
        "s5 = a1.argmax()",
        "s6 = a1.T.argmax()",
        "a1.argmax(axis=2)",
        "a1.argmax(axis=(0, 1))",
    ],
    "any and all": [
        "a1 = np.arange(42).reshape(6, 7)",
        "a2 = a1.any(0)",
        "s3 = a1.all()",
        "a4 = np.all(a1, axis=1, keepdims=True)",
        "s5 = np.any(a1, where=a1 > 50)",
        "s6 = np.all(a1 > -1)",
    ],
    "mean": [
        "a1 = np.arange(42).reshape(6, 7)",
        "a2 = a1.mean(0)",
        "s3 = np.mean(a1)",
        "a4 = a1.mean((0, 1), keepdims=True)",
        "s5 = a1.astype('f2').mean()",
        "a6 = a1.mean(1, dtype='f4')",
        "s7 = a1.mean(where=a1 > 9)",
        "s8 = (a1 * 1j).mean()",
    ],
    "spread": [
        "a1 = np.array([1.0, 3.0] * 32).reshape(8, 8)",
        "s2 = a1.var()",
        "a3 = a1.std(0)",
        "s4 = a1.var(ddof=1)",
        "a5 = np.var(a1, axis=1, ddof=1, keepdims=True)",
        "s6 = np.std(a1, ddof=64)",
        "s7 = a1.astype(int).std()",
        "s8 = np.var(a1 * 1j)",
        "a9 = np.ptp(a1, axis=0)",
        "s10 = np.std(a1, correction=1)",
        "s11 = a1.var(mean=a1.mean(keepdims=True))",
    ],
    "maximum with a start": [
        "a1 = np.arange(42).reshape(6, 7)",
        "a2 = a1.max(0, initial=38)",
        "a3 = a1.min(1, initial=3, where=a1 > 9)",
        "s4 = a1.max(initial=-5, where=a1 < 0)",
        "a1.max(where=a1 > 3)",
        "s5 = a1.max(initial=2.5)",
    ],
    "products": [
        "a1 = np.arange(1, 43).reshape(6, 7)",
        "a2 = a1.prod(0)",
        "s3 = a1.prod()",
        "s4 = np.prod(a1, initial=0)",
        "a5 = np.prod(a1 % 3 + 1.0, axis=1)",
    ],
    "of a transposed array": [
        "a1 = np.arange(60).reshape(3, 4, 5).T",
        "a2 = a1.sum(0)",
        "a3 = a1.max((0, 2))",
        "a4 = a1.sum(1, keepdims=True)",
        "a5 = a1.argmax(0)",
        "s6 = a1.argmax()",
        "a7 = a1.mean(2)",
    ],
    "of a reversed view": [
        "a1 = np.arange(40)",
        "s2 = a1[::-1].argmax()",
        "s3 = a1[::-3].sum()",
        "s4 = a1[5:5].sum()",
    ],
    "others": [
        "a1 = np.arange(42.0).reshape(6, 7)",
        "a2 = np.median(a1, 0)",
        "a3 = np.percentile(a1, [10, 50])",
        "a4 = np.cumsum(a1, 1)",
        "a5 = np.nanmean(a1, 0)",
        "s6 = np.trace(a1)",
        "a7 = np.bincount(np.arange(40) % 7)",
        "s8 = np.linalg.norm(a1 * 0 + 2)",
        "a9 = np.average(a1, 0, np.arange(6))",
    ],
}


@pytest.mark.parametrize("lines", PROGRAMS.values(), ids=PROGRAMS)
def test_a_program_of_reductions_equals_numpys(lines: list[str]) -> None:
    check(Program(lines))


@settings(max_examples=150)
@given(arrays(st.sampled_from(EXACT), filled_shapes), st.data())
def test_integer_folds_equal_numpys_over_any_axes(x: np.ndarray, data: st.DataObject) -> None:
    axes = tuple(data.draw(st.sets(st.integers(-x.ndim, x.ndim - 1), max_size=x.ndim)))
    name = data.draw(st.sampled_from(("sum", "prod", "max", "min", "any", "all")))
    keepdims = data.draw(st.booleans())
    given_axis = data.draw(st.sampled_from((axes, None)))
    try:
        expected = getattr(np, name)(x, axis=given_axis, keepdims=keepdims)
    except ValueError as error:
        with pytest.raises(ValueError, match=re.escape(str(error))):
            getattr(dnumpy, name)(wrap(x.copy()), axis=given_axis, keepdims=keepdims)
        return
    found = getattr(dnumpy, name)(wrap(x.copy()), axis=given_axis, keepdims=keepdims)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    assert same(np.asarray(found), np.asarray(expected), None)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "c8", "c16"])
@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1), (0, 2)])
def test_float_sums_are_within_the_rounding_of_their_terms(dtype: str, axis: Any) -> None:
    values = np.random.default_rng(0).standard_normal((60, 7, 3)).astype(dtype)
    exact = values.astype(np.clongdouble if dtype[0] == "c" else np.longdouble)
    eps = float(np.finfo(dtype).eps)
    for name in ("sum", "mean", "var"):
        expected = getattr(np, name)(exact, axis=axis)
        found = getattr(dnumpy, name)(wrap(values.copy()), axis=axis)
        assert found.dtype == getattr(np, name)(values, axis=axis).dtype
        terms = np.abs(exact).sum(axis=axis) * 16
        assert (np.abs(np.asarray(found) - expected) <= 4 * eps * terms + eps).all()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("asked", [None, "f2", "f4"])
@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_averages_of_float16_overflow_as_numpys_do(name: str, asked: Any) -> None:
    values = (np.arange(140_000) % 100).astype("f2")
    for part in (values, values[:125], values[:50]):
        expected = getattr(np, name)(part, dtype=asked)
        x = wrap(part.copy())
        for found in (getattr(dnumpy, name)(x, dtype=asked), getattr(x[x >= 0], name)(dtype=asked)):
            assert found.dtype == expected.dtype
            assert same(np.asarray(found), np.asarray(expected), None)
    table = values.reshape(-1, 4)
    expected = getattr(np, name)(table, axis=0, dtype=asked)
    found = getattr(dnumpy, name)(wrap(table.copy()), axis=0, dtype=asked)
    assert same(np.asarray(found), expected, None)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8"])
def test_sums_have_the_same_bits_on_any_number_of_threads(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(0).standard_normal((500, 3)).astype(dtype)
    found = set()
    for threads, mode in itertools.product((1, 2, 3), range(2)):
        monkeypatch.setattr(config, "threads", threads)
        x = wrap(values.copy()) * 2
        total = x.sum() if mode else (x + 0).sum(axis=0).sum()
        found.add((mode, complex(total)))
    assert len(found) == 2


def test_a_full_reduction_is_a_scalar_and_not_computed() -> None:
    x = dnumpy.arange(40.0)
    total = x.sum()
    assert isinstance(total, np.float64)
    assert total.shape == ()
    assert total.expr is not None
    assert total == 780


def test_where_numpy_warns_of_an_empty_slice_so_do_we() -> None:
    def told(xp: Any) -> list[str]:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            assert np.isnan(xp.zeros((0, 40)).mean())
            assert np.isnan(xp.zeros(40).var(ddof=40))
        return [str(w.message) for w in seen]

    texts = told(dnumpy)
    assert texts == told(np)
    assert any(t.startswith("Mean of empty slice") for t in texts)
    assert any(t.startswith("Degrees of freedom <= 0") for t in texts)


def test_a_sum_of_a_temporary_needs_no_array_of_its_size() -> None:
    x = dnumpy.arange(4000.0)
    y = x * 2
    expr = y._buf.expr
    total = y.sum()
    del y
    float(total)
    assert expr.value is None


def test_the_result_of_a_method_is_ours() -> None:
    x = dnumpy.arange(60.0).reshape(6, 10)
    assert type(x.sum(axis=0)) is dnumpy.ndarray
    assert type(np.sum(x, axis=0)) is dnumpy.ndarray
    assert type(concrete(x.sum(axis=0))) is np.ndarray


@pytest.mark.parametrize("count", [400, 60_000, 300_000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_a_product_that_overflows_meets_a_zero_where_numpys_does(count, dtype):
    def products(numpy_or_ours):
        found, xp = [], numpy_or_ours
        rising = xp.arange(count).astype(dtype)
        rows = rising.reshape(-1, 4)
        late = xp.full(count, 2, dtype)
        late[count // 2] = 0
        mixed = xp.concatenate([xp.full(count, 0.5, dtype), xp.full(count, 2, dtype)])
        with np.errstate(all="ignore"):
            found += [x.prod() for x in (rising, late, mixed, 1 + rising, (1 + rising)[::-1])]
            found += [rows.prod(axis=0), xp.prod(rows, axis=1), xp.multiply.reduce(rows, axis=0)]
            return [np.array(x) for x in found]

    for got, expected in zip(products(dnumpy), products(np), strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_product_that_is_zero_raises_nothing():
    with np.errstate(all="raise", under="ignore"):
        assert dnumpy.arange(300_000.0).prod() == 0
