"""What is found along one axis is NumPy's bit for bit: extrema, places, truth, 2-norms, pairs."""

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

pytestmark = [
    pytest.mark.skipif(not native.built, reason="the module in C was not built"),
    pytest.mark.modeless("NumPy's arrays are given to it"),
]
NAMES = ("max", "min", "argmax", "argmin", "any", "all")
DTYPES = ("f8", "f4", "i8", "i4", "u1", "?", "i2", "f2", "c16", ">f8", "M8[s]", "O")
SHAPES = [
    (3, 2), (200, 3), (3, 200), (64, 24), (65, 25), (130, 63), (130, 64), (130, 65), (2, 200),
    (1, 7), (7, 1), (0, 4), (4, 0), (4, 5, 6), (70, 2, 3), (2, 70, 3), (5, 4, 3, 2), (900,), (9,),
    (3, 5000),
]  # fmt: skip
LARGE = [(400_000, 3), (3, 400_000), (700, 900), (60_000, 17), (2, 300_000, 2), (30, 40_000)]
SPECIALS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 5e-324, 1e308, 1e-200)
LAYOUTS = {
    "rows": lambda x: x,
    "columns": np.asfortranarray,
    "turned": lambda x: x.T,
    "every other": lambda x: x[::2],
}


@pytest.fixture(autouse=True)
def threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "threads", 3)


def numbers(seed: int, dtype: str, shape: tuple[int, ...], specials: float) -> Any:
    draw = np.random.default_rng(seed)
    x = np.asarray(draw.integers(-3, 3, shape) * draw.choice([0.25, 1.0, 1.5], shape))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "f" in dtype and specials:
            x = np.where(draw.random(shape) < specials, draw.choice(SPECIALS, shape), x)
        return x.astype(dtype)


def alike(found: Any, expected: Any) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


@settings(deadline=None, max_examples=400)
@given(
    name=st.sampled_from(NAMES),
    dtype=st.sampled_from(DTYPES),
    shape=st.sampled_from(SHAPES),
    layout=st.sampled_from(sorted(LAYOUTS)),
    axis=st.integers(-3, 3),
    how=st.sampled_from(
        [{}, {}, {"keepdims": True}, {"out": None}, {"keepdims": 1}, {"where": True}]
    ),
    specials=st.sampled_from([0.0, 0.0, 0.02, 0.5]),
    seed=st.integers(0, 1000),
)
def test_along_an_axis(name, dtype, shape, layout, axis, how, specials, seed):
    x = LAYOUTS[layout](numbers(seed, dtype, shape, specials))
    how = {"axis": axis, **how}
    expected = told(partial(getattr(np, name), x, **how))
    assert told(partial(native.FASTER[name], x, **how)) == expected
    ours, theirs = native.FASTER_OF_ARRAYS[name], getattr(x, name)
    assert told(partial(ours, x, **how)) == told(partial(theirs, **how))


@settings(deadline=None, max_examples=300)
@given(
    name=st.sampled_from(["add", "maximum", "minimum", "multiply", "logical_or"]),
    dtype=st.sampled_from(DTYPES),
    shape=st.sampled_from([*SHAPES, (), (1,), (40,)]),
    layout=st.sampled_from(sorted(LAYOUTS)),
    args=st.sampled_from([(), (0,), (1,), (-1,), (None,), (5,), (0, None), (0, None, None)]),
    how=st.sampled_from([
        {}, {}, {"keepdims": True}, {"axis": -1}, {"axis": None}, {"initial": 3}, {"dtype": "f8"},
        {"axis": None, "keepdims": True}, {"axis": (0, 1)}, {"out": None},
    ]),
    specials=st.sampled_from([0.0, 0.0, 0.05]),
    seed=st.integers(0, 1000),
)  # fmt: skip
def test_a_fold_of_a_ufunc(name, dtype, shape, layout, args, how, specials, seed):
    x = numbers(seed, dtype, shape, specials)
    x = LAYOUTS[layout](x) if x.ndim else x
    theirs = getattr(np, name)
    expected = told(partial(theirs.reduce, x, *args, **how))
    assert told(partial(native.FASTER_OF_UFUNCS["reduce"], theirs, x, *args, **how)) == expected
    found = told(partial(getattr(dnumpy, name).reduce, dnumpy.asarray(x), *args, **how))
    assert found[1:] == expected[1:]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "?"])
@pytest.mark.parametrize("shape", LARGE, ids=str)
def test_so_it_is_of_what_threads_share(name, dtype, shape):
    for seed, specials in enumerate((0.0, 1e-6, 1e-6)):
        x = numbers(seed, dtype, shape, specials)
        for axis in range(x.ndim):
            ours = getattr(dnumpy, name)(dnumpy.asarray(x), axis=axis)
            alike(np.asarray(ours), getattr(np, name)(x, axis=axis))
            alike(native.FASTER[name](x, axis), getattr(np, name)(x, axis))


@pytest.mark.parametrize("name", ["any", "all"])
def test_any_byte_but_zero_is_true(name):
    x = np.arange(600, dtype="u1").reshape(200, 3).view("?")
    for axis in (0, 1):
        found = native.FASTER[name](x, axis=axis)
        alike(found, getattr(np, name)(x, axis=axis))
        assert set(found.view("u1").tolist()) <= {0, 1}


@settings(deadline=None, max_examples=200)
@given(
    dtype=st.sampled_from(("f8", "f4", "i8", "f2", "c16", "?")),
    shape=st.sampled_from(SHAPES),
    layout=st.sampled_from(sorted(LAYOUTS)),
    how=st.sampled_from(
        [
            {"axis": 0},
            {"axis": 1},
            {"axis": -1},
            {"axis": 5},
            {"axis": -1, "keepdims": True},
            {"axis": (0, 1)},
            {"axis": 1, "ord": 2},
            {"axis": None},
            {"axis": 1.5},
            {"keepdims": True},
        ]
    ),
    specials=st.sampled_from([0.0, 0.0, 0.05]),
    seed=st.integers(0, 1000),
)
def test_norms_along_an_axis(dtype, shape, layout, how, specials, seed):
    x = LAYOUTS[layout](numbers(seed, dtype, shape, specials))
    found = told(partial(native.FASTER["linalg.norm"], x, **how))
    assert found == told(partial(np.linalg.norm, x, **how))


@settings(deadline=None, max_examples=300)
@given(
    name=st.sampled_from(["add", "multiply", "minimum", "less", "bitwise_and", "divide", "power",
                          "arctan2", "matmul", "negative", "divmod", "logical_or"]),
    kinds=st.tuples(*[st.sampled_from(["f8", "f4", "i8", "u1", "?", "c16", ">f8", "O", "S2"])] * 2),
    shapes=st.tuples(*[st.sampled_from([(), (0,), (3,), (40,), (2, 3), (2, 1, 2), (1,) * 5])] * 2),
    layout=st.sampled_from(["rows", "every other", "turned"]),
    seed=st.integers(0, 1000),
)  # fmt: skip
def test_a_ufunc_of_all_pairs(name, kinds, shapes, layout, seed):
    a, b = (numbers(seed + k, kinds[k], shapes[k], 0.05) for k in (0, 1))
    a = a if a.ndim == 0 else LAYOUTS[layout](a)
    ours, theirs = getattr(dnumpy, name), getattr(np, name)
    expected = told(partial(theirs.outer, a, b))
    assert told(partial(native.FASTER_OF_UFUNCS["outer"], theirs, a, b)) == expected
    assert told(partial(ours.outer, dnumpy.asarray(a), dnumpy.asarray(b))) == expected


@pytest.mark.parametrize("name", ["add", "multiply"])
def test_pairs_of_parts_of_what_waits(name):
    """In a loop whose operations wait, pairs of rows and columns wait, too."""

    def run(np: Any, times: int) -> Any:
        x = np.fromfunction(lambda i, j: (i * j) % 7 + 1.0, (400, 400))
        for k in range(times):
            pairs = getattr(np, name).outer(x[:, k % 400], x[k % 400, :])
            x[:] = np.minimum(x[:], pairs + 1.0) * 0.5 + x * 0.5
        return np.asarray(x)

    expected = run(np, 300)
    assert run(dnumpy, 300).tobytes() == expected.tobytes()
