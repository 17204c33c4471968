"""Medians and quantiles on nodes are NumPy's, bit for bit, and gather nothing."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.config import config
from tests.api.test_sorting import SPEEDS, values
from tests.comparison import assert_as_numpy
from tests.gathering import on_nodes, spread_out

METHODS = (
    "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf",
    "hazen", "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher",
    "midpoint", "nearest",
)  # fmt: skip
SHAPES = ((200,), (30, 9), (9, 30), (8, 7, 6), (2, 300), (300, 2))


def same(found: Any, expected: Any) -> None:
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    assert np.shape(found) == np.shape(expected)
    np.testing.assert_array_equal(np.asarray(found), expected)


def axes_of(ndim: int) -> list[Any]:
    pairs = [(0, 1), (-1, 0)] if ndim > 1 else [(0,)]
    return [None, *range(-ndim, ndim), *pairs]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=60, deadline=None)
@given(
    st.data(),
    st.sampled_from(SHAPES),
    st.sampled_from(("f8", "f4", "i8", "u2", "f2")),
    st.sampled_from(("quantile", "nanquantile")),
    st.sampled_from(METHODS),
)
def test_quantiles_by_every_method_are_numpys(
    data: st.DataObject, shape: tuple[int, ...], dtype: str, name: str, method: str
) -> None:
    plain = values(data.draw(st.integers(0, 99)), shape, dtype, data.draw(st.integers(1, 300)))
    q = data.draw(st.sampled_from((0.0, 0.3, 1.0, [0.1, 0.5], [1.0])))
    axis = data.draw(st.sampled_from(axes_of(len(shape))))
    options = {"method": method, "axis": axis, "keepdims": data.draw(st.booleans())}
    with spread_out():
        found = getattr(dnumpy, name)(on_nodes(plain), q, **options)
        same(found, getattr(np, name)(plain, q, **options))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@settings(max_examples=40, deadline=None)
@given(
    st.data(),
    st.sampled_from(SHAPES),
    st.sampled_from(("f8", "f4", "i8")),
    st.sampled_from(("median", "nanmedian")),
)
def test_medians_are_numpys(
    data: st.DataObject, shape: tuple[int, ...], dtype: str, name: str
) -> None:
    plain = values(data.draw(st.integers(0, 99)), shape, dtype, data.draw(st.integers(1, 300)))
    axis = data.draw(st.sampled_from(axes_of(len(shape))))
    keepdims = data.draw(st.booleans())
    with spread_out():
        found = getattr(dnumpy, name)(on_nodes(plain), axis=axis, keepdims=keepdims)
        same(found, getattr(np, name)(plain, axis=axis, keepdims=keepdims))


def test_a_result_is_written_to_out() -> None:
    plain = values(3, (40, 6), "f4", 300)
    with spread_out():
        out = on_nodes(np.zeros(6, "f4"))
        assert dnumpy.median(on_nodes(np.nan_to_num(plain)), axis=0, out=out) is out
        same(out, np.median(np.nan_to_num(plain), axis=0))


def test_quantiles_have_the_same_bits_on_any_partition() -> None:
    plain = np.nan_to_num(values(7, (2000,), "f8", 1500))
    found = set()
    for speeds in SPEEDS:
        with spread_out(*speeds):
            ours = on_nodes(plain)
            results = dnumpy.quantile(ours, [0.1, 0.77]), dnumpy.median(ours)
            found.add(b"".join(np.asarray(r).tobytes() for r in results))
    assert len(found) == 1


@pytest.mark.parametrize("name", ["median", "nanmedian"])
@pytest.mark.parametrize(("shape", "axis"), [((600,), None), ((30, 20), 0), ((30, 20), 1)])
def test_operands_stay_on_their_nodes(name: str, shape: tuple[int, ...], axis: int | None) -> None:
    plain = np.nan_to_num(values(1, shape, "f8", 500))
    with spread_out() as meter:
        found = getattr(dnumpy, name)(on_nodes(plain), axis=axis)
        assert meter.most() < plain.nbytes / 2
        same(found, getattr(np, name)(plain, axis=axis))


@pytest.mark.parametrize("q", [1.5, [[[0.5]]]])
def test_errors_are_numpys(q: Any) -> None:
    plain = np.arange(50.0)
    with pytest.raises(ValueError) as expected:  # noqa: PT011 - the text is compared
        np.quantile(plain, q)
    with spread_out(), pytest.raises(ValueError) as found:  # noqa: PT011 - likewise
        dnumpy.quantile(on_nodes(plain), q)
    assert str(found.value) == str(expected.value)


def test_what_is_all_nan_warns() -> None:
    with spread_out(), pytest.warns(RuntimeWarning, match="All-NaN"):
        assert np.isnan(dnumpy.nanmedian(on_nodes(np.full(40, np.nan))))


@pytest.mark.parametrize("axis", [0, 1, 2, None, (0, 2)])
@pytest.mark.parametrize("shape", [(9, 8, 7), (40, 3, 2)])
def test_ranks_of_several_axes_are_numpys(axis: Any, shape: tuple[int, ...]) -> None:
    plain = values(5, shape, "f8", 300)
    q = np.array([[0.2, 0.5, 0.3], [0.7, 0.33, 0.8]])
    for name in ("quantile", "nanquantile"):
        with spread_out():
            asked = on_nodes(q)
            found = getattr(dnumpy, name)(on_nodes(np.nan_to_num(plain)), asked, axis=axis)
            same(found, getattr(np, name)(np.nan_to_num(plain), q, axis=axis))


@pytest.mark.parametrize("name", ["nanmedian", "nanquantile"])
def test_every_lane_without_a_number_warns_as_often_as_numpys(name: str) -> None:
    plain = values(2, (12, 5), "f8", 300)
    plain[[1, 4, 7]] = np.nan
    plain[5, 2:] = np.nan
    rest = (0.4,) if name == "nanquantile" else ()

    def warned(xp: Any, operand: Any) -> tuple[Any, list[str]]:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = np.asarray(getattr(xp, name)(operand, *rest, axis=1))
        return found, [str(w.message) for w in seen]

    expected, theirs = warned(np, plain)
    with spread_out():
        found, ours = warned(dnumpy, on_nodes(plain))
        assert ours == theirs
        np.testing.assert_array_equal(found, expected)


HERE = np.random.default_rng(0).normal(size=(700, 480)).round(2)
CALLS_HERE = {
    "median": lambda xp, a: xp.median(a, axis=0),
    "median of rows": lambda xp, a: xp.median(a, 1, keepdims=True),
    "of a negative axis": lambda xp, a: xp.median(a, axis=-1),
    "overwriting": lambda xp, a: xp.median(a * 1, axis=1, overwrite_input=True),
    "percentiles": lambda xp, a: xp.percentile(a, [25, 50, 75], axis=0),
    "a percentile": lambda xp, a: xp.percentile(a, 30, axis=1),
    "by another method": lambda xp, a: xp.quantile(a, 0.3, axis=0, method="nearest"),
    "a column of ranks": lambda xp, a: xp.quantile(a, [[0.3], [0.4]], axis=1, keepdims=True),
    "several axes": lambda xp, a: xp.median(a.reshape(70, 10, 48, 10), axis=(1, 3)),
    "into": lambda xp, a: xp.median(a, axis=0, out=xp.zeros(480)),
    "into integers": lambda xp, a: xp.median(a, axis=0, out=xp.zeros(480, int)),
    "all": lambda xp, a: xp.median(a),
    "weights": lambda xp, a: xp.quantile(
        a, 0.3, axis=0, weights=xp.ones(700), method="inverted_cdf"
    ),
    "no such axis": lambda xp, a: xp.median(a, axis=2),
    "an axis twice": lambda xp, a: xp.median(a, axis=(0, 0)),
    "no rank": lambda xp, a: xp.quantile(a, 1.5, axis=0),
    "no method": lambda xp, a: xp.quantile(a, 0.5, axis=0, method="no"),
    "no argument": lambda xp, a: xp.median(a, axis=0, no=1),
    "without ranks": lambda xp, a: xp.quantile(a, axis=0),
}


@pytest.mark.modeless("what lies elsewhere is sorted there, which other tests look at")
@pytest.mark.parametrize("dtype", ["f8", "i8", "u2", "f2"])
@pytest.mark.parametrize("name", sorted(CALLS_HERE))
def test_lanes_at_home_are_numpys(name: str, dtype: str) -> None:
    def program(xp: Any) -> Any:
        array = np.tile(HERE, (1 if dtype in {"f8", "i8"} else 4, 1))[:2100].astype(dtype)
        rows = 700 if dtype in {"f8", "i8"} else 2100
        return CALLS_HERE[name](xp, xp.asarray(array)[:rows][:: rows // 700])

    assert_as_numpy(program)
    assert_as_numpy(lambda xp: CALLS_HERE[name](xp, xp.asarray(HERE.astype(dtype)) + 0))


@pytest.mark.modeless("what lies elsewhere is sorted there, which other tests look at")
@pytest.mark.parametrize("where", [(3, 5), (0, slice(None))])
def test_lanes_at_home_with_what_is_no_number_are_numpys(where: Any) -> None:
    array = HERE.copy()
    array[where] = np.nan
    array[9, 9], array[10, 9] = np.inf, -np.inf
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        expected = [np.median(array, axis=k) for k in (0, 1)]
        count = len(seen)
        mine = dnumpy.asarray(array) + 0
        found = [np.asarray(dnumpy.median(mine, axis=k)) for k in (0, 1)]
        assert [str(w.message) for w in seen[:count]] == [str(w.message) for w in seen[count:]]
    for one, other in zip(found, expected, strict=True):
        same(one, other)


@pytest.mark.modeless("what lies elsewhere is sorted there, which other tests look at")
def test_lanes_at_home_are_shared_by_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "threads", 2)
    made = dnumpy.median(dnumpy.asarray(np.tile(HERE, (2, 1))) + 0, axis=1)
    assert made._buf.expr.op.name == "quantile_rows"


@pytest.mark.parametrize("turn", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1)], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_results_lie_in_memory_as_numpys(
    turn: tuple[int, ...], *, keepdims: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "eager_below", 1 << 18)
    plain = np.random.default_rng(4).normal(size=(70, 75, 82))
    turned, ours = plain.transpose(turn), dnumpy.array(plain).transpose(turn)
    for axis in (0, 1, -1, (0, 2)):
        for q in (0.3, [0.2, 0.9]):
            wanted = np.quantile(turned, q, axis=axis, keepdims=keepdims)
            found = dnumpy.quantile(ours, q, axis=axis, keepdims=keepdims)
            same(found, wanted)
            long = [k for k, n in enumerate(wanted.shape) if n > 1]
            assert [found.strides[k] for k in long] == [wanted.strides[k] for k in long]
