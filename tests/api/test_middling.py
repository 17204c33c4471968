"""Functions of some thousands of elements that go another way than NumPy give what NumPy gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy as np
from dnumpy import native
from dnumpy.api import middling

if TYPE_CHECKING:
    from collections.abc import Iterator

DTYPES = ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "?", "f8", "f4", ">i4", "M8[s]"]


@pytest.fixture(scope="module", autouse=True)
def _as_programs_run() -> Iterator[None]:
    kept = np.config.threads, np.config.mode, np.config.eager_below
    np.config.threads, np.config.mode, np.config.eager_below = 2, "default", 1 << 18
    yield
    np.config.threads, np.config.mode, np.config.eager_below = kept


def seen(x: Any) -> Any:
    if isinstance(x, tuple | list):
        return type(x).__name__, [seen(part) for part in x]
    plain = numpy.asarray(x)
    return plain.dtype, plain.shape, plain.tobytes()


def outcome(name: str, xp: Any, args: Any, options: dict[str, Any]) -> Any:
    ours = [xp.array(a) if type(a) is numpy.ndarray else a for a in args]
    try:
        return seen(getattr(xp, name)(*ours, **options))
    except (TypeError, ValueError) as error:
        return type(error), str(error)


def drawn(seed: int, size: int, spread: int, dtype: str) -> numpy.ndarray:
    rng = numpy.random.default_rng(seed)
    whole = rng.integers(-spread // 3, spread, size)
    return whole.astype("i8" if dtype.startswith("M") else dtype).astype(dtype)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1000, 5000), st.sampled_from([1, 5, 100, 400, 1 << 40]),
    st.sampled_from(DTYPES),
    st.sampled_from([(), (True,), (False, True), (False, True, True), (True, True, True)]),
    st.sampled_from([None, "axis", "2-D", "sorted", "counts", "equal_nan"]),
)  # fmt: skip
def test_unique_values(
    seed: int, size: int, spread: int, dtype: str, wanted: Any, more: str | None
) -> None:
    values = drawn(seed, size // 4 * 4, spread, dtype)
    options: dict[str, Any] = {}
    if more == "axis":
        options["axis"] = 0
    elif more == "sorted":
        options["sorted"] = True
    elif more == "counts":
        options["return_counts"] = True
        wanted = wanted[:2]
    elif more == "equal_nan":
        options["equal_nan"] = False
    if more == "2-D":
        values = values.reshape(4, -1).T
    given_args = (values, *wanted)
    assert outcome("unique", np, given_args, options) == (
        outcome("unique", numpy, given_args, options)
    )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(0, 3000), st.integers(1000, 3000),
    st.sampled_from([1, 5, 100, 1 << 40]), st.sampled_from(DTYPES), st.sampled_from(DTYPES[:9]),
    st.sampled_from([(), (), (True,), (False, True)]),
)  # fmt: skip
def test_sets(
    seed: int, size: int, others: int, spread: int, dtype: str, another: str, more: Any
) -> None:
    one, other = drawn(seed, size, spread, dtype), drawn(seed + 1, others, spread, another)
    for name in ("union1d", "intersect1d", "setdiff1d", "setxor1d"):
        args = (one, other, *more)
        assert outcome(name, np, args, {}) == outcome(name, numpy, args, {})


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1000, 90_000), st.integers(0, 3000),
    st.sampled_from(["f8", "f4", "i8", "u2", "M8[s]"]),
    st.sampled_from(["left", "right", "middle", 3]), st.booleans(),
)  # fmt: skip
def test_places_in_a_line(
    seed: int, size: int, length: int, dtype: str, side: Any, missing: bool
) -> None:
    values, line = drawn(seed, size, 500, dtype), numpy.sort(drawn(seed + 1, length, 500, dtype))
    if missing and dtype[0] == "f":
        values[::7] = numpy.nan
    assert outcome("searchsorted", np, (line, values), {"side": side}) == (
        outcome("searchsorted", numpy, (line, values), {"side": side})
    )
    for bins in (line, line[::-1], numpy.unique(line)):
        for right in (False, True):
            assert outcome("digitize", np, (values, bins, right), {}) == (
                outcome("digitize", numpy, (values, bins, right), {})
            )


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(1000, 40_000), st.integers(2, 900),
    st.sampled_from([(0.0, 1.0), (-3.0, 1e-3), (1e6, 1e6 + 1e-3), (-1e308, 1e308), (0.0, 5e-322)]),
    st.sampled_from(["even", "integers", "nearly", "repeated", "falling", "missing"]),
    st.sampled_from(["left", "right"]),
)  # fmt: skip
def test_places_in_an_even_line(
    seed: int, size: int, length: int, ends: tuple[float, float], kind: str, side: str
) -> None:
    rng = numpy.random.default_rng(seed)
    with numpy.errstate(all="ignore"):
        line = numpy.linspace(*ends, length)
        values = ends[0] / 2 + rng.random(size) * (ends[1] - ends[0] / 2) * 1.2
    if kind == "integers":
        line, values = numpy.arange(length) * 1.0, rng.integers(-5, length + 5, size) * 1.0
    elif kind == "nearly":
        line = numpy.sort(line + rng.normal(size=length) * (line[1] - line[0]) / 2)
    elif kind == "repeated":
        line = numpy.repeat(line, 3)
    elif kind == "falling":
        line = line[::-1].copy()
    elif kind == "missing":
        line[-1] = numpy.nan
    values[: len(line)] = line[: len(values)]
    values[-3:] = numpy.nan, numpy.inf, -numpy.inf
    values[-50:-3] = numpy.nextafter(rng.choice(line, 47), rng.choice([-1, 1], 47) * numpy.inf)
    args = (line, values)
    assert outcome("searchsorted", np, args, {"side": side}) == (
        outcome("searchsorted", numpy, args, {"side": side})
    )
    assert outcome("digitize", np, args[::-1], {}) == outcome("digitize", numpy, args[::-1], {})


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bins": 20},
        {"bins": [5, 40], "density": True},
        {"bins": [numpy.linspace(0, 9, 12), 4], "range": [[0, 9], [-2, 5]]},
        {"bins": [numpy.array([0, 1, 5.0, 5.5]), numpy.arange(9.0)]},
        {"bins": numpy.linspace(-3, 9, 40)},
        {"bins": 3, "range": [[0, 1], [2, 1]]},
        {"bins": [3, 0]},
        {"bins": 2.5},
        {"bins": [numpy.array([1.0, 0.5]), 3]},
    ],
)
def test_counts_on_a_grid(dtype: str, options: dict[str, Any]) -> None:
    rng = numpy.random.default_rng(5)
    x, y = (rng.normal(3, 4, (2, 3000)) * 4 // 1 / 4).astype(dtype)
    weights = rng.integers(0, 9, 3000) / 4
    for more in ({}, {"weights": weights}):
        given_options = {**options, **more}
        assert outcome("histogram2d", np, (x, y), given_options) == (
            outcome("histogram2d", numpy, (x, y), given_options)
        )
        sample = numpy.stack([x, y], axis=1)
        assert outcome("histogramdd", np, (sample,), given_options) == (
            outcome("histogramdd", numpy, (sample,), given_options)
        )
    assert outcome("histogram2d", np, (x, y[:-1]), options) == (
        outcome("histogram2d", numpy, (x, y[:-1]), options)
    )


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
@pytest.mark.parametrize("density", [None, True])
@pytest.mark.parametrize(
    "edges",
    [
        numpy.linspace(-2, 5, 15),
        numpy.arange(9.0),
        numpy.array([0, 1, 5.0, 5.5]),
        numpy.repeat(numpy.arange(12.0), 2),
        numpy.linspace(3, 1, 9),
        numpy.arange(9),
        numpy.linspace(0, 8, 12).reshape(3, 4),
    ],
)
def test_counts_between_edges(dtype: str, density: Any, edges: numpy.ndarray) -> None:
    values = (numpy.random.default_rng(5).normal(3, 4, 3000) * 4 // 1 / 4).astype(dtype)
    if dtype[0] == "f":
        values[[5, 6, 7]] = numpy.nan, numpy.inf, -numpy.inf
    for line in (values, values.reshape(-1, 3), values.reshape(3, -1).T):
        for more in ({}, {"weights": line}, {"range": (0, 3)}):
            options = {"density": density, **more}
            assert outcome("histogram", np, (line, edges), options) == (
                outcome("histogram", numpy, (line, edges), options)
            )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from([1000, 3000, 40_000]),
    st.sampled_from([1, 5, 100, 900, 30_000, 1 << 40]), st.sampled_from(DTYPES),
    st.sampled_from([{"kind": "stable"}, {"stable": True}, {"kind": "mergesort"}, {"axis": 0}]),
)  # fmt: skip
def test_stable_orders(
    seed: int, size: int, spread: int, dtype: str, options: dict[str, Any]
) -> None:
    values = drawn(seed, size, spread, dtype)
    options = {"kind": "stable", **options} if "axis" in options else options
    assert outcome("argsort", np, (values,), options) == (
        outcome("argsort", numpy, (values,), options)
    )
    keys = [drawn(seed + k, size, few, "i4") for k, few in enumerate((4, 9))]
    for more in ([values], [values[::-1]], [values, keys[0]], []):
        lines = (*keys, *more)
        ours = tuple(np.array(line) for line in lines)
        assert seen(np.lexsort(ours)) == seen(numpy.lexsort(lines))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_count_shares(threads: int) -> None:
    if not native.built:
        pytest.skip("the module in C counts")
    values = numpy.random.default_rng(0).integers(-7, 900, 100_001)
    found = native.order_by_counting(values, -7, 907, threads)
    assert numpy.array_equal(found, values.argsort(kind="stable"))
    assert native.order_by_counting(values, -7, 906, threads) is None
    assert native.order_by_counting(values, -6, 907, threads) is None
    for wrong in (values.astype("f8"), values.astype("u8"), values.reshape(1, -1), values[::2]):
        with pytest.raises(TypeError, match="a line of whole numbers"):
            native.order_by_counting(wrong, 0, 10, threads)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u4", "i2"])
@pytest.mark.parametrize("options", [{}, {"kind": "stable"}, {"stable": True}, {"kind": "wrong"}])
@pytest.mark.parametrize("repeats", [False, True])
def test_places_in_order(dtype: str, options: dict[str, Any], repeats: bool) -> None:
    size = 70_000
    rng = numpy.random.default_rng(3)
    values = rng.permutation(size).astype(dtype) if not repeats else rng.integers(0, 99, size)
    for _ in range(3):  # one way, the other, and the faster one
        assert outcome("argsort", np, (values,), options) == (
            outcome("argsort", numpy, (values,), options)
        )


@pytest.mark.skipif(not native.built, reason="the module in C asks")
def test_they_are_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    values = numpy.arange(70_000) % 1000
    line = numpy.arange(1000)
    assert middling.unique(values) is not NotImplemented
    assert middling.searchsorted(line, values) is not NotImplemented
    assert middling.digitize(values, line) is not NotImplemented
    assert middling.argsort(values.astype("f8"), stable=True) is not NotImplemented
    asked = []
    monkeypatch.setattr(middling.buckets, "by_counting", asked.append)
    np.argsort(np.array(values), kind="stable")
    assert len(asked) == 2  # and once more by buckets
