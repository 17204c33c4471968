"""nansum and its like are NumPy's to the last bit, with what it warns of, whoever adds."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.config import config
from tests.native.told import told

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")
NAMES = ("nansum", "nanmean", "nanvar", "nanstd", "nanmax", "nanmin")
SHAPES = [
    (1,), (5,), (9,), (130,), (1000,), (40, 30), (3, 1000), (1000, 3), (1, 7), (7, 1), (5, 6, 7),
    (0,), (0, 3), (3, 0),
]  # fmt: skip
LARGE = [(1_000_001,), (1200, 1000), (500_000, 3), (3, 500_000), (20, 300, 170)]
KINDS = ("plain", "some missing", "most missing", "zeros", "infinite", "counts", "lines missing")
LAYOUTS = {"rows": lambda x: x, "columns": np.asfortranarray, "every other": lambda x: x[::2]}


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "threads", 3)


def numbers(kind: str, dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    draw = np.random.default_rng(seed)
    x = (draw.standard_normal(shape) * 10.0 ** draw.integers(-3, 4)).astype(dtype)
    if kind in {"some missing", "most missing"}:
        x = np.where(draw.random(shape) < (0.1 if kind == "some missing" else 0.7), np.nan, x)
    if kind == "zeros":
        x = draw.choice([0.0, -0.0, 1.0, -1.0, np.nan], shape)
    if kind == "infinite":
        x = draw.choice([np.inf, -np.inf, 1.0, -1.0, np.nan], shape)
    if kind == "counts":
        x = draw.choice([0.0, 1.0, 2.0, np.nan], shape)
    if kind == "lines missing" and x.size:
        x[0] = np.nan
        x[..., -1] = np.nan
    return x.astype(dtype)


def how(name: str, ndim: int, draw: Any) -> dict[str, Any]:
    named: dict[str, Any] = {"axis": draw(st.sampled_from([None, *range(-ndim, ndim)]))}
    if draw(st.booleans()):
        named["keepdims"] = draw(st.booleans())
    if name in {"nanvar", "nanstd"} and draw(st.booleans()):
        named["ddof"] = draw(st.integers(0, 3))
    return named


@pytest.mark.modeless("NumPy's arrays are given to it")
@settings(deadline=None, max_examples=400)
@given(
    st.data(),
    st.sampled_from(NAMES),
    st.sampled_from(KINDS),
    st.sampled_from(("f8", "f4")),
    st.sampled_from(SHAPES),
    st.sampled_from(sorted(LAYOUTS)),
)
def test_a_fold_is_numpys(data, name, kind, dtype, shape, layout):
    x = LAYOUTS[layout](numbers(kind, dtype, shape, 1))
    named = how(name, x.ndim, data.draw)
    assert told(partial(native.FASTER[name], x, **named)) == told(
        partial(getattr(np, name), x, **named)
    )


@pytest.mark.modeless("NumPy's arrays are given to it")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", LARGE)
@pytest.mark.parametrize("kind", ["some missing", "counts"])
def test_threads_add_in_numpys_order(name, shape, kind):
    x = numbers(kind, "f8", shape, 2)
    for axis in (None, *range(x.ndim)):
        assert told(partial(native.FASTER[name], x, axis=axis)) == told(
            partial(getattr(np, name), x, axis=axis)
        )


@pytest.mark.modeless("NumPy's arrays are given to it")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "given",
    [
        ([[1, 2], [3, 4]],), (np.arange(6).reshape(2, 3), 1), (np.ones((2, 3)), (0, 1)),
        (np.ones((2, 3)), 2), (np.ones((2, 3)), "x"), (np.ones(3, object),), (np.float64(2),),
        (np.ones((2, 3)), None, np.float32), (np.ones((2, 3), "f2"),), (np.ones(3, complex), 0),
    ],
)  # fmt: skip
def test_what_it_does_not_know_is_numpys(name, given):
    assert told(partial(native.FASTER[name], *given)) == told(partial(getattr(np, name), *given))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["some missing", "counts", "lines missing", "plain"])
def test_so_are_those_of_arrays_of_ours(name, kind):
    theirs = numbers(kind, "f8", (700, 900), 3)
    ours = dnumpy.asarray(theirs.copy())
    atol = 1e-14 * float(np.nansum(np.abs(theirs)))  # of a sum of either sign
    for axis in (None, 0, 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = getattr(np, name)(theirs, axis=axis)
            for _ in range(3):
                found = np.asarray(getattr(dnumpy, name)(ours, axis=axis))
                np.testing.assert_allclose(found, expected, rtol=1e-12, atol=atol)
