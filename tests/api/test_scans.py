"""Running folds are NumPy's, wherever the rows lie."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from dnumpy.api import scans
from dnumpy.config import config
from tests.comparison import assert_as_numpy
from tests.gathering import computed, on_nodes, spread_out
from tests.strategies import EXACT, arrays, filled_shapes

pytestmark = pytest.mark.usefixtures("managed")

FOLDS = (
    "add",
    "multiply",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "bitwise_xor",
    "gcd",
    "floor_divide",
    "left_shift",
)


@given(arrays(st.sampled_from(EXACT), filled_shapes), st.sampled_from(FOLDS), st.data())
def test_exact_running_folds_are_numpys(values: np.ndarray, name: str, data: Any) -> None:
    axis = data.draw(st.integers(-values.ndim, values.ndim - 1))
    order = data.draw(st.permutations(range(values.ndim)))
    with np.errstate(all="ignore"):
        assert_as_numpy(
            lambda np_: getattr(np_, name).accumulate(np_.array(values).transpose(order), axis=axis)
        )


@given(arrays(st.sampled_from([np.dtype("f4"), np.dtype("f8"), np.dtype("D")]), filled_shapes))
def test_running_sums_are_numpys_but_for_rounding(values: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        for axis in (None, 0, -1):
            found = dnumpy.cumsum(dnumpy.array(values), axis=axis)
            expected = np.cumsum(values, axis=axis)
            assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
            for part in ("real", "imag"):  # beside an infinity neither hides the other
                ours, theirs = getattr(np.asarray(found), part), getattr(expected, part)
                np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-4)


CALLS = {
    "cumsum": lambda np_, a: np_.cumsum(a),
    "cumsum-rows": lambda np_, a: np_.cumsum(a, axis=0),
    "cumsum-columns": lambda np_, a: np_.cumsum(a, axis=1),
    "cumsum-float32": lambda np_, a: np_.cumsum(a, axis=0, dtype="f4"),
    "cumprod": lambda np_, a: np_.cumprod(a, axis=0),
    "cumulative_sum": lambda np_, a: np_.cumulative_sum(a, axis=0, include_initial=True),
    "cumulative_prod": lambda np_, a: np_.cumulative_prod(a, axis=0),
    "nancumsum": lambda np_, a: np_.nancumsum(np_.where(a > 0.9, np_.nan, a), axis=0),
    "nancumprod": lambda np_, a: np_.nancumprod(np_.where(a > 0.9, np_.nan, a), axis=0),
    "method": lambda _, a: a.cumsum(0) + a.cumprod(1),
    "maximum.accumulate": lambda np_, a: np_.maximum.accumulate(a),
    "logical_and.accumulate": lambda np_, a: np_.logical_and.accumulate(a > 0.1),
    "subtract.accumulate-columns": lambda np_, a: np_.subtract.accumulate(a, axis=1),
    "subtract.accumulate": lambda np_, a: np_.subtract.accumulate(a),
    "logaddexp.accumulate": lambda np_, a: np_.logaddexp.accumulate(a),
    "reduceat": lambda np_, a: np_.add.reduceat(a, [0, 7, 7, 3, 50, 20]),
    "reduceat-columns": lambda np_, a: np_.maximum.reduceat(a, [0, 4, 2], axis=1),
    "transposed": lambda np_, a: np_.cumsum(a.T, axis=0),
    "reversed": lambda np_, a: np_.cumsum(a[::-1], axis=0),
}


@pytest.mark.parametrize("name", sorted(CALLS))
@pytest.mark.filterwarnings("ignore:.*gathers:dnumpy.errors.FallbackWarning")
def test_running_folds_gather_nothing(name: str) -> None:
    values = np.random.default_rng(3).random((60, 7))
    with spread_out() as meter:
        found = computed(CALLS[name](dnumpy, on_nodes(values)))
        assert meter.most() < values.nbytes / 3, meter.gathered
        expected = CALLS[name](np, values)
        np.testing.assert_allclose(
            np.asarray(found), expected, rtol=1e-6 if "32" in name else 1e-12
        )
        assert (found.dtype, found.strides) == (expected.dtype, expected.strides)


@pytest.mark.parametrize("speeds", [(1.0,), (1.0, 1.0), (5.0, 3.0, 2.0), (1, 2, 3, 4, 5, 6, 7)])
def test_running_sums_have_the_same_bits_for_any_cut(speeds: tuple[float, ...]) -> None:
    values = np.random.default_rng(4).standard_normal(500) * 10.0 ** np.arange(500) ** 0.5
    with spread_out():
        here = np.asarray(dnumpy.cumsum(dnumpy.array(values)))
    with spread_out(*speeds):
        assert np.asarray(dnumpy.cumsum(on_nodes(values))).tobytes() == here.tobytes()


def test_running_sums_have_the_same_bits_at_home_and_on_nodes() -> None:
    values = np.random.default_rng(4).standard_normal(500)
    with spread_out():
        there = np.asarray(dnumpy.cumsum(on_nodes(values)))
        config.mode = "lazy"
        assert np.asarray(dnumpy.cumsum(dnumpy.array(values))).tobytes() == there.tobytes()


@given(st.lists(st.floats(0, 1e300), min_size=1, max_size=60))
def test_running_sums_of_what_is_not_negative_never_descend(values: list[float]) -> None:
    with np.errstate(all="ignore"):
        found = np.asarray(dnumpy.cumsum(dnumpy.array(values)))
    assert np.all(found[1:] >= found[:-1])


def test_running_sums_are_at_least_as_accurate_as_numpys() -> None:
    values = np.random.default_rng(5).random(20_000) * 1e3
    kept, config.tile_rows_max = config.tile_rows_max, 200
    found = np.asarray(dnumpy.cumsum(dnumpy.array(values)))
    config.tile_rows_max = kept
    exact = np.array([math.fsum(values[:k]) for k in range(500, 20_001, 500)])
    ours = np.abs(found[499::500] - exact).max()
    assert ours <= np.abs(np.cumsum(values)[499::500] - exact).max()


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_products_that_leave_the_range_of_floats_stay_away() -> None:
    wild = np.array([1e200] * 9 + [1e-200] * 9 + [0.5, -1.0] * 4)
    back = np.array([1e-150, 1e-150, 1e150, 1e150, 2.0, -1.0] * 9)
    gone = np.array([3.0, 0.0, 2.0, np.inf, 5.0] * 5)
    for values in (wild, wild[::-1], back, gone):
        with spread_out():
            found = np.asarray(dnumpy.cumprod(on_nodes(values)))
        np.testing.assert_allclose(found, np.cumprod(values), rtol=1e-13)


@pytest.mark.parametrize("name", ["cumprod", "cumsum"])
@pytest.mark.parametrize(
    "values",
    [
        np.r_[0.0, np.full(39, 2.0)],
        np.r_[np.ones(5), np.inf, np.ones(20), 0, np.ones(10)],
        np.r_[np.full(10, 1e300), np.zeros(10)],
        np.r_[np.zeros(3), np.full(30, 1e300)],
        np.r_[np.full(20, 1e300), np.full(20, 1e-300)],
        np.tile([1e300, 1e-300], 20),
        np.full(40, 1e308),
        np.r_[np.inf, np.ones(20), -np.inf, np.ones(10)],
    ],
)
def test_running_folds_on_nodes_tell_numpys_faults(values: np.ndarray, name: str) -> None:
    def told(xp: Any, given: Any) -> set[str]:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            np.asarray(getattr(xp, name)(given))
        return {str(w.message) for w in seen}

    with spread_out(3.0, 2.0), pytest.MonkeyPatch.context() as patch:
        patch.setattr(scans, "scan_rows", lambda _shape, _itemsize: 5)
        assert told(dnumpy, on_nodes(values)) == told(np, values)


def test_results_go_into_out() -> None:
    def program(np_: Any) -> Any:
        out = np_.empty(40, "i8")
        found = np_.cumsum(np_.arange(40), out=out)
        return found is out, out * 1

    assert_as_numpy(program)


def test_what_numpy_refuses_is_refused() -> None:
    for call in (
        lambda np_: np_.cumsum(np_.arange(40.0), axis=1),
        lambda np_: np_.add.accumulate(np_.arange(40.0), axis=(0,)),
        lambda np_: np_.bitwise_and.accumulate(np_.arange(40.0)),
        lambda np_: np_.cumsum(np_.arange(40.0), out=np_.empty(3)),
    ):
        assert_as_numpy(call)


@given(
    arrays(st.sampled_from(EXACT), filled_shapes),
    st.sampled_from(["add", "maximum", "bitwise_xor"]),
    st.data(),
)
def test_folds_of_slices_are_numpys(values: np.ndarray, name: str, data: Any) -> None:
    axis = data.draw(st.integers(0, values.ndim - 1))
    n = values.shape[axis]
    indices = data.draw(st.lists(st.integers(0, n - 1), min_size=1, max_size=9))
    with np.errstate(all="ignore"):
        assert_as_numpy(
            lambda np_: getattr(np_, name).reduceat(np_.array(values), indices, axis=axis)
        )


@given(st.integers(9, 60), st.data())
def test_changes_by_an_index_come_to_their_rows_in_order(rows: int, data: Any) -> None:
    indices = data.draw(st.lists(st.integers(-rows, rows - 1), min_size=1, max_size=30))
    values = np.arange(len(indices), dtype=float) + 0.1
    expected = np.linspace(1, 2, rows)
    with spread_out() as meter:
        for ufunc, given_ in ((np.add, (values,)), (np.divide, (1.5,)), (np.negative, ())):
            changed = on_nodes(expected)
            getattr(dnumpy, ufunc.__name__).at(changed, indices, *given_)
            computed(changed)
            assert meter.most() < expected.nbytes
            again = expected.copy()
            ufunc.at(again, indices, *given_)
            np.testing.assert_array_equal(np.asarray(changed), again)
            meter.gathered.clear()


def test_changes_by_an_index_on_nodes_are_numpys() -> None:
    rows = np.random.default_rng(0).integers(-40, 40, 3000)
    values = np.random.default_rng(1).random(3000)
    plain = np.zeros(40)
    np.add.at(plain, rows, values)
    with spread_out() as meter:
        ours, where, what = dnumpy.zeros(40), on_nodes(rows), on_nodes(values)
        meter.gathered.clear()
        dnumpy.add.at(ours, where, what)
        computed(ours)
        assert meter.most() <= ours.nbytes
        np.testing.assert_array_equal(np.asarray(ours), plain)


def test_changes_by_an_index_that_numpy_refuses_are_refused() -> None:
    def program(np_: Any, index: Any, value: Any) -> Any:
        a = np_.arange(40) * 2
        np_.add.at(a, index, value)
        return a * 1

    for index, value in (([40], 1), ([0], 1.5), ([0, 1], [1, 2, 3]), ([[1, 1], [2, 3]], 5)):
        assert_as_numpy(lambda np_, i=index, v=value: program(np_, i, v))


@pytest.mark.parametrize(
    "index", [(slice(None), [1, 2, 1]), (0, [1, 2, 1]), ([1, 2, 1], slice(None)), [[0, 1], [2, 0]]]
)
def test_changes_by_several_indices_are_numpys(index: Any) -> None:
    plain = np.arange(9).reshape(3, 3)
    with spread_out():
        ours = on_nodes(plain)
        np.add.at(plain, index, 100)
        dnumpy.add.at(ours, index, 100)
        np.testing.assert_array_equal(np.asarray(ours), plain)
