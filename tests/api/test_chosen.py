"""Selections by masks: NumPy's values, dtypes, errors and warnings, nothing counted before need."""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from dnumpy.api import chosen
from dnumpy.api.array import ndarray
from dnumpy.config import config

pytestmark = pytest.mark.usefixtures("managed")

DTYPES = ("f8", "f4", "f2", "i8", "i2", "u1", "?", "c16", "c8")
SHAPES = ((12,), (40,), (3, 7), (4, 3, 2))
ARITHMETIC = (operator.add, operator.sub, operator.mul, operator.truediv)


def arrays(seed: int, shape: tuple[int, ...], dtype: str, share: float) -> tuple[Any, Any, Any]:
    """Return two arrays of small numbers and a mask."""
    draw = np.random.default_rng(seed)
    a, b = (draw.integers(0 if dtype in {"u1", "?"} else -9, 10, shape) for _ in range(2))
    if np.dtype(dtype).kind == "c":
        a = a + 1j * b
    return a.astype(dtype), b.astype(dtype), draw.random(shape) < share


def is_deferred(x: Any) -> bool:
    """Say whether ``x`` is a selection that is not made yet."""
    return chosen.chosen_by(x) is not None


CASES = st.tuples(
    st.integers(0, 999),
    st.sampled_from(SHAPES),
    st.sampled_from(DTYPES),
    st.sampled_from((0.0, 0.4, 0.8, 1.0)),
)


def same(found: Any, expected: Any) -> None:
    """Assert that dtype, shape and values agree, NaN included."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(found, expected)


@given(CASES, st.sampled_from(ARITHMETIC), st.sampled_from((2, 0.5, 3)))
def test_arithmetic_on_one_mask_gives_what_numpy_gives(case: Any, op: Any, scalar: Any) -> None:
    a, b, mask = arrays(*case)
    x, y, m = map(dnumpy.array, (a, b, mask))
    with np.errstate(all="ignore"):
        if case[2] == "?" and op is operator.sub:
            return
        kept = op(x[m], y[m])
        expected = op(op(a[mask], b[mask]), scalar)
        same(op(kept, scalar), expected)
        same(op(scalar, x[m]), op(scalar, a[mask]))


@given(CASES)
def test_a_selection_keeps_what_it_showed_whatever_is_written_later(case: Any) -> None:
    a, b, mask = arrays(*case)
    x, y, m = map(dnumpy.array, (a, b, mask))
    kept, product = x[m], x[m] * y[m]
    x[...] = 0
    y[m] = 0
    m[...] = ~m
    same(product, a[mask] * b[mask])
    same(kept, a[mask])


@given(CASES)
def test_storing_by_the_same_mask_is_a_choice(case: Any) -> None:
    a, b, mask = arrays(*case)
    if a.dtype == bool:
        return  # NumPy refuses to add 1 in place
    x, y, m = map(dnumpy.array, (a, b, mask))
    with np.errstate(all="ignore"):
        for left, right, where in ((x, y, m), (a, b, mask)):
            kept = where
            left[kept] = left[kept] * right[kept]
            left[kept] += 1
            right[kept] = left[kept]
            kept &= left != 1
            left[kept] *= 2
    for found, expected in ((x, a), (y, b), (m, mask)):
        same(found, expected)


@given(CASES, st.sampled_from(("sum", "prod", "min", "max", "any", "all", "mean", "var", "std")))
def test_folds_are_numpys_errors_and_warnings_too(case: Any, name: str) -> None:
    a, _, mask = arrays(*case)
    x, m = dnumpy.array(a), dnumpy.array(mask)

    def outcome(function: Any) -> Any:
        with warnings.catch_warnings(record=True) as told, np.errstate(all="ignore"):
            warnings.simplefilter("always", UserWarning)
            try:
                return np.asarray(function()), [str(w.message) for w in told]
            except ValueError as error:
                return str(error), []

    found, expected = (outcome(getattr(k, name)) for k in (x[m], a[mask]))
    assert type(found[0]) is type(expected[0])
    if isinstance(found[0], str):
        assert found == expected
        return
    assert found[0].dtype == expected[0].dtype
    rough = name in {"mean", "var", "std"} or (name in {"prod", "sum"} and case[2][0] in "fc")
    tolerance = {"f2": 2e-3, "f4": 1e-5, "c8": 1e-5}.get(case[2], 1e-12) if rough else 0
    np.testing.assert_allclose(found[0], expected[0], rtol=tolerance, atol=tolerance)


def test_nothing_is_made_of_a_selection_that_is_stored_back() -> None:
    x, m = dnumpy.array(np.arange(40.0)), dnumpy.array(np.arange(40)) % 3 > 0
    kept = x[m]
    assert is_deferred(kept)
    scaled = kept * 2 + x[m]
    assert is_deferred(scaled)
    x[m] = scaled
    assert is_deferred(scaled)
    assert is_deferred(kept)
    scaled -= 1
    assert is_deferred(scaled)
    assert float(scaled.sum()) == 3 * sum(k for k in range(40) if k % 3) - 26
    assert is_deferred(scaled)
    assert scaled.dtype == np.float64
    assert is_deferred(scaled)


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda k: k[0], id="an item"),
        pytest.param(lambda k: k + k[::-1], id="a view of it"),
        pytest.param(np.asarray, id="NumPy's array"),
        pytest.param(dnumpy.exp, id="a dear function"),
        pytest.param(lambda k: k + np.ones(26), id="an array of its length"),
    ],
)
def test_what_needs_the_elements_makes_the_selection_once(use: Any) -> None:
    a, mask = np.arange(40.0), np.arange(40) % 3 > 0
    kept = dnumpy.array(a)[dnumpy.array(mask)]
    same(use(kept), np.asarray(use(a[mask])))
    assert not is_deferred(kept)
    same(kept, a[mask])


def test_the_length_is_known_without_the_elements() -> None:
    x = dnumpy.array(np.arange(40.0))
    kept = x[x > 7]
    assert (len(kept), kept.shape, kept.size, kept.ndim, kept.nbytes) == (32, (32,), 32, 1, 256)
    assert is_deferred(kept)


def test_what_keeps_few_elements_is_made_at_once() -> None:
    x, m = dnumpy.array(np.arange(40.0)), dnumpy.array(np.arange(40) < 3)
    bool(m[0])
    kept = x[m]
    assert not is_deferred(kept)
    same(kept, np.arange(3.0))


def test_a_selection_folded_often_is_made() -> None:
    x = dnumpy.array(np.arange(1.0, 41.0))
    kept = x[x > 7]
    assert [float(f()) for f in (kept.sum, kept.max, kept.min, kept.prod)][1:3] == [40.0, 8.0]
    assert not is_deferred(kept)


@pytest.mark.parametrize("kernels", ["tiled", "numba"])
@pytest.mark.parametrize(("shape", "number"), [((40,), 20), ((8, 5), 3)])
def test_what_is_left_out_is_not_told_of(
    kernels: str, shape: tuple[int, ...], number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "kernels", kernels)
    a = np.arange(-number, 40.0 - number).reshape(shape)
    a[0] = 1e308
    x = dnumpy.array(a)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("default")
            config_at_once = chosen.told_at_once()
        nonzero, positive, small = x != 0, (x > 0) & (x < 99), x < 99
        inverse, roots, tens = 1 / x[nonzero], np.sqrt(a[a > 0]), x[small] * 10
        total = float((dnumpy.sqrt(x[positive]) / x[positive]).sum())
        same(inverse, 1 / a[a != 0])
        same(tens, a[a < 99] * 10)
    assert not told
    assert roots.size
    assert isinstance(config_at_once, bool)
    chosen_ones = a[(a > 0) & (a < 99)]
    np.testing.assert_allclose(total, (np.sqrt(chosen_ones) / chosen_ones).sum())


def warnings_of(function: Any) -> list[str]:
    """Return what a function warns of."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        function()
    return [str(w.message) for w in told]


@pytest.mark.parametrize("kernels", ["tiled", "numba"])
@pytest.mark.parametrize("bound", [0.5, -0.5])
def test_what_is_kept_is_told_of(
    kernels: str, bound: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "kernels", kernels)
    a = np.arange(40.0)
    monkeypatch.setattr(chosen, "told_at_once", lambda: False)
    monkeypatch.setattr("dnumpy.engine.told_at_once", lambda: False)
    x = dnumpy.array(a)

    def run() -> None:
        kept = x[x > bound]
        quotient = 1 / kept
        assert is_deferred(quotient)
        np.asarray(quotient)

    expected = [] if bound > 0 else ["divide by zero encountered in divide"]
    assert warnings_of(run) == expected


def test_errors_are_numpys_at_the_call() -> None:
    x = dnumpy.array(np.arange(40))
    with pytest.raises(TypeError, match="same_kind"):
        x[x > 7] += 0.5
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        x[x > 99].max()
    with pytest.raises(ValueError, match="could not be broadcast"):
        x[x > 7] + np.ones(3)
    with pytest.raises(ValueError, match="cannot assign 32 input values"):
        x[x > 8] = x[x > 7]
    assert float(x[x > 99].sum()) == 0.0
    assert len(x[x > 99]) == 0


def test_a_mask_over_a_view_and_a_view_of_a_selection() -> None:
    a = np.arange(60.0).reshape(6, 10)
    x = dnumpy.array(a)
    same(x.T[x.T > 7] * 2, a.T[a.T > 7] * 2)
    kept = x[:, ::2][x[:, ::2] > 7]
    view = kept[1:]
    kept += 1
    view *= 2
    expected = a[:, ::2][a[:, ::2] > 7] + 1
    expected[1:] *= 2
    same(kept, expected)
    same(view, expected[1:])


def test_masks_of_no_axes_and_of_nothing_are_left_to_numpy() -> None:
    scalar = dnumpy.array(3.0)
    same(scalar[dnumpy.array(True)], np.array([3.0]))
    empty = dnumpy.zeros((0, 3))
    same(empty[empty > 0], np.zeros(0))


def test_a_small_selection_runs_at_once_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "eager_below", 8)
    x = dnumpy.array(np.arange(9.0))
    kept = x[x > 3]
    assert len(kept) == 5
    assert is_deferred(kept)
    same(kept, np.arange(4.0, 9.0))
    made = kept + 1
    assert type(made) is ndarray
    assert made._np is not None or config.mode == "split"
    kept[0] = 7
    kept += 1
    same(kept, [8.0, 6.0, 7.0, 8.0, 9.0])


@given(CASES, st.sampled_from(("sum", "prod", "any", "all")), st.booleans())
def test_folds_where_a_mask_says_are_numpys(case: Any, name: str, lines: bool) -> None:
    a, _, mask = arrays(*case)
    axis = 0 if lines else None
    found = getattr(dnumpy, name)(dnumpy.array(a), axis=axis, where=dnumpy.array(mask))
    expected = getattr(np, name)(a, axis=axis, where=mask)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    tolerance = {"f2": 2e-2, "f4": 1e-5, "c8": 1e-5}.get(case[2], 1e-12)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=tolerance)


def test_the_largest_where_a_mask_says_starts_at_the_initial_value() -> None:
    a, mask = np.arange(40.0), np.arange(40) < 7
    x, m = dnumpy.array(a), dnumpy.array(mask)
    assert float(np.max(x, where=m, initial=3)) == 6.0
    assert float(dnumpy.max(x, where=m, initial=9)) == 9.0
    assert float(dnumpy.min(x, where=~m, initial=99)) == 7.0
    with pytest.raises(ValueError, match="one has to specify"):
        dnumpy.max(x, where=m)
