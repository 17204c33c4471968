"""Running folds are NumPy's bit for bit, whoever makes them, and in however many threads."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.ops import scans

pytestmark = [
    pytest.mark.modeless("the loops themselves"),
    pytest.mark.skipif(not native.built, reason="the module in C was not built"),
]

UFUNCS = ("add", "multiply", "maximum", "minimum")
DTYPES = ("f8", "f4", "i8", "u8", "i4", "u1", "?", "f2", "c16")
SPECIALS = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308, -1e308, 5e-324, 1e-300, 3e38, 1e-45)


def numbers(draw: np.random.Generator, shape: tuple[int, ...], dtype: str, specials: float) -> Any:
    """Return numbers of both signs; of floats some are what arithmetic treats specially."""
    x = draw.integers(-5, 6, shape) + 0.25 * draw.integers(0, 4, shape)
    chosen = draw.random(shape) < specials
    with np.errstate(all="ignore"):
        if dtype[0] in "fc":
            return np.where(chosen, draw.choice(SPECIALS, shape), x).astype(dtype)
        return np.where(chosen, 2**62 + 7, x.astype(int)).astype(dtype)


def told(run: Any) -> tuple[list[str], Any]:
    """Return the faults that were told, and what was returned."""
    faults: list[str] = []
    with np.errstate(all="call", call=lambda kind, _flag: faults.append(kind)):
        found = run()
    return sorted(set(faults)), found


CASES = {
    "ufunc": st.sampled_from(UFUNCS),
    "dtype": st.sampled_from(DTYPES),
    "shape": st.sampled_from([(1,), (2,), (700,), (9, 5), (5, 9), (1, 40), (40, 1), (3, 4, 5)]),
    "specials": st.sampled_from([0.0, 0.02, 0.5]),
    "seed": st.integers(0, 1000),
}


@given(**CASES, data=st.data())
def test_public_running_folds(
    ufunc: str, dtype: str, shape: tuple[int, ...], specials: float, seed: int, data: Any
) -> None:
    x = numbers(np.random.default_rng(seed), shape, dtype, specials)
    axis = data.draw(st.sampled_from([None, *range(-len(shape), len(shape))]))
    calls = {
        "add": (lambda m, a: m.cumsum(a, axis), lambda m, a: a.cumsum(axis=axis)),
        "multiply": (lambda m, a: m.cumprod(a, axis=axis), lambda m, a: a.cumprod(axis)),
    }.get(ufunc, ())
    if axis is not None:
        calls = (*calls, lambda m, a: getattr(m, ufunc).accumulate(a, axis))
    for call in calls:
        faults, expected = told(lambda call=call: call(np, x))
        ours, found = told(lambda call=call: call(dnumpy, dnumpy.array(x)))
        assert found.dtype == expected.dtype
        assert found.shape == expected.shape
        assert found.tobytes() == expected.tobytes()
        assert ours == faults


@given(**CASES)
def test_rows_joined_with_what_goes_before(
    ufunc: str, dtype: str, shape: tuple[int, ...], specials: float, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    x = numbers(draw, shape, dtype, specials)
    before = numbers(draw, (1, *shape[1:]), dtype, specials)
    function = getattr(np, ufunc)
    expected = function.accumulate(x[:1], axis=0).dtype.type(0)
    out = np.empty(shape, expected.dtype)
    with np.errstate(all="ignore"):
        own = function.accumulate(x, axis=0)
        before = before.astype(out.dtype)
        joined = function(before, own)
        if native.scan(ufunc, x, out, 0, before) < 0:
            return  # no loop for these
    same = (out == joined) | ((out != out) & (joined != joined))
    assert same.all()


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("shape", [(10_000,), (3000, 7), (5,)])
@pytest.mark.parametrize("ufunc", UFUNCS)
def test_threads_together_make_what_one_makes(
    ufunc: str, shape: tuple[int, ...], threads: int
) -> None:
    x = numbers(np.random.default_rng(3), shape, "f8", 0.001)
    block = 64
    found, expected = np.empty_like(x), np.empty_like(x)
    state = np.zeros(-(-len(x) // block) + 1, np.int64)
    params = scans.ScanParams((True,), ufunc, x.dtype, block)
    with np.errstate(all="ignore"):
        for lo in range(0, len(x), block):
            before = (expected[lo - 1 : lo],) if lo else ()
            rows = x[lo : lo + block]
            scans.SCAN.call((rows, *before), params, lo, lo + len(rows), expected[lo : lo + block])
        work = [
            threading.Thread(target=native.scan_jointly, args=(ufunc, x, found, block, state))
            for _ in range(threads)
        ]
        for thread in work:
            thread.start()
        for thread in work:
            thread.join()
    assert found.tobytes() == expected.tobytes()


def test_what_has_no_loop_is_left_alone() -> None:
    x, out = np.ones(8), np.zeros(8)
    no = -1
    assert native.scan("hypot", x, out, 0) == no
    assert native.scan("add", x[::2], out[:4], 0) == no
    assert native.scan("add", x, out, 1) == no
    assert native.scan("add", x, out[:4], 0) == no
    assert native.scan("add", x, x, 0) == no
    assert native.scan("add", x, out, 0, np.ones(2)) == no
    assert native.scan("add", x.astype(">f8"), out, 0) == no
    assert native.scan_jointly("add", x, out, 4, np.zeros(2, np.int64)) == no
    assert not out.any()


def test_only_the_ufuncs_themselves_have_these_loops() -> None:
    add = dnumpy.frompyfunc(lambda a, b: a - b, 2, 1)
    x = dnumpy.arange(5.0)
    assert add.accumulate(x, dtype=object).tolist() == [0.0, -1.0, -3.0, -6.0, -10.0]
