"""Weighted quantiles of lanes on nodes are NumPy's, and gather nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.api import installed
from tests.api.test_quantiles import SHAPES, axes_of, same
from tests.api.test_sorting import values
from tests.comparison import assert_as_numpy
from tests.gathering import computed, on_nodes, spread_out

FUNCTIONS = ("quantile", "percentile", "nanquantile", "nanpercentile")
ASKED: tuple[Any, ...] = (
    0.0, 0.3, 1, [0.1, 0.5], [1.0], np.float32(0.25), [], [[0.2, 0.3]],
)  # fmt: skip
_rng = np.random.default_rng(12)
X = _rng.random((60, 12))
W = _rng.random((60, 12))
CUBES = _rng.random((10, 11, 12)), _rng.random((10, 11, 12))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=80, deadline=None)
@given(
    st.data(),
    st.sampled_from([s for s in SHAPES if len(s) > 1]),
    st.sampled_from(("f8", "f4", "i8", "u2", "f2")),
    st.sampled_from(FUNCTIONS),
)
def test_weighted_quantiles_are_numpys(
    data: st.DataObject, shape: tuple[int, ...], dtype: str, name: str
) -> None:
    plain = values(data.draw(st.integers(0, 99)), shape, dtype, data.draw(st.integers(1, 300)))
    q = data.draw(
        st.sampled_from((0.0, 0.3, 1, [0.1, 0.5], [1.0], np.float32(0.25), [], [[0.2, 0.3]]))
    )
    axis = data.draw(st.sampled_from([a for a in axes_of(len(shape)) if a is not None]))
    # whole numbers, so that their sums are exact in any order
    weights = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, 4, shape)
    if not name.startswith("nan") and data.draw(st.booleans()):
        axes = (axis,) if isinstance(axis, int) else axis
        weights = np.ones([shape[k] for k in axes]) + np.arange(shape[axes[-1]])
    options: dict[str, Any] = {"axis": axis, "keepdims": data.draw(st.booleans())}
    options["method"] = "inverted_cdf"
    given_weights = data.draw(st.sampled_from((on_nodes, np.asarray)))

    def outcome(np_: Any, a: Any, w: Any) -> Any:
        try:
            return getattr(np_, name)(a, q, weights=w, **options)
        except (ValueError, IndexError) as error:
            return str(error)

    with spread_out():
        found = outcome(dnumpy, on_nodes(plain), given_weights(weights))
        expected = outcome(np, plain, weights)
        if isinstance(expected, str):
            assert found == expected
        else:
            same(found, expected)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("axis", [0, 1, (1, 0)])
def test_weighted_quantiles_gather_nothing(name: str, axis: Any) -> None:
    if axis == (1, 0) and not installed.weighs_over_axes():
        pytest.skip("NumPy gives elements the weights of others, and is left to do it")
    for values_, weights in [CUBES] if axis == (1, 0) else [(X, W), CUBES]:
        with spread_out() as meter:
            a, w = on_nodes(values_), on_nodes(weights)
            options = {"axis": axis, "method": "inverted_cdf"}
            found = computed(getattr(dnumpy, name)(a, [0.2, 0.9], weights=w, **options))
            assert meter.most() < values_.nbytes / 2, meter.gathered
            expected = getattr(np, name)(values_, [0.2, 0.9], weights=weights, **options)
            same(found, expected)


@pytest.mark.parametrize("name", ["nanquantile", "nanpercentile"])
def test_lanes_without_a_number_are_warned_of_and_gather_nothing(name: str) -> None:
    holes = X.copy()
    holes[[0, 3]] = np.nan
    holes[1, 1] = np.nan
    options = {"axis": 1, "method": "inverted_cdf"}
    with spread_out() as meter:
        a, w = on_nodes(holes), on_nodes(W)
        with pytest.warns(RuntimeWarning, match="All-NaN slice") as seen:
            found = computed(getattr(dnumpy, name)(a, [0.2, 0.9], weights=w, **options))
        assert meter.most() < X.nbytes / 2, meter.gathered
    with pytest.warns(RuntimeWarning) as expected:
        same(found, getattr(np, name)(holes, [0.2, 0.9], weights=W, **options))
    assert [str(one.message) for one in seen] == [str(one.message) for one in expected]
    assert {one.filename for one in seen} == {__file__}


@pytest.mark.parametrize("name", ["quantile", "percentile"])
def test_a_block_of_quantiles_goes_where_it_is_to(name: str) -> None:
    q = [[0.1, 0.2], [0.4, 0.5]]
    options: dict[str, Any] = {"axis": 1, "method": "inverted_cdf"}
    with spread_out() as meter:
        a, w, out = on_nodes(X), on_nodes(W), on_nodes(np.zeros((2, 2, 60)))
        found = getattr(dnumpy, name)(a, q, out=out, weights=w, **options)
        assert found is out
        computed(out)
        assert meter.most() < X.nbytes / 2, meter.gathered
        same(out, getattr(np, name)(X, q, weights=W, **options))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_few_long_lanes_stay_on_all_nodes(name: str) -> None:
    long = _rng.permutation(4000).reshape(2000, 2) / 7
    weights = _rng.integers(1, 5, (2000, 2))
    with spread_out() as meter:
        a, w = on_nodes(long), on_nodes(weights)
        options = {"axis": 0, "method": "inverted_cdf", "keepdims": True}
        found = computed(getattr(dnumpy, name)(a, [0.2, 0.9], weights=w, **options))
        assert meter.most() < long.nbytes / 4, meter.gathered
        same(found, getattr(np, name)(long, [0.2, 0.9], weights=weights, **options))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_helper_that_a_namespace_shows_is_still_run_on_nodes(name: str) -> None:
    assert dnumpy.ma.extras._ureduce is not None  # whose like the functions call
    test_a_few_long_lanes_stay_on_all_nodes(name)


@pytest.mark.usefixtures("managed")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's ComplexWarning is one
@pytest.mark.parametrize(
    "options",
    [
        {"weights": -W},
        {"weights": np.where(W > 0.5, np.nan, W)},
        {"weights": np.zeros((60, 12))},
        {"weights": W[:, 0]},
        {"weights": W, "method": "linear"},
        {"weights": W, "axis": 2},
        {"weights": W, "q": 1.5},
        {"weights": W * 1j},
        {"weights": W.tolist()},
        {"weights": W, "q": [[0.2, 0.3]]},
    ],
)
def test_what_numpy_refuses_is_refused(options: dict[str, Any]) -> None:
    given_options = {"axis": 1, "method": "inverted_cdf", "q": 0.4, **options}
    assert_as_numpy(lambda np_: np_.quantile(np_.array(X), **given_options))


def test_a_result_is_written_to_out() -> None:
    with spread_out():
        out = on_nodes(np.zeros(12))
        options = {"axis": 0, "weights": on_nodes(W), "method": "inverted_cdf"}
        assert dnumpy.quantile(on_nodes(X), 0.4, out=out, **options) is out
        same(out, np.quantile(X, 0.4, axis=0, weights=W, method="inverted_cdf"))
