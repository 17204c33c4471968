"""NumPy's loops that threads share give NumPy's bits, faults and errors."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.config import config

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")

ONE = [
    "sin",
    "cos",
    "exp",
    "log",
    "sqrt",
    "tanh",
    "cbrt",
    "absolute",
    "reciprocal",
    "square",
    "isnan",
    "rint",
]
TWO = [
    "arctan2",
    "power",
    "hypot",
    "add",
    "multiply",
    "divide",
    "maximum",
    "less",
    "fmod",
    "copysign",
    "nextafter",
]
COMPLEX = frozenset(
    [
        "sin",
        "cos",
        "exp",
        "log",
        "sqrt",
        "tanh",
        "absolute",
        "reciprocal",
        "square",
        "isnan",
        "power",
        "add",
        "multiply",
        "divide",
    ]
)
ODD = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, -1e-310]


@pytest.fixture(scope="module", autouse=True)
def _all_are_shared() -> Iterator[None]:
    kept = config.threads, config.mode, config.eager_below
    config.threads, config.mode, config.eager_below = 3, "default", 1 << 18
    before = native.share_loops(0.0)
    yield
    native.share_loops(before)
    config.threads, config.mode, config.eager_below = kept


def drawn(rng: np.random.Generator, size: int, dtype: str) -> np.ndarray:
    values = rng.normal(size=size) * 10.0 ** rng.integers(-3, 4)
    values[rng.integers(0, size, size // 50)] = rng.choice(ODD, size // 50)
    with np.errstate(all="ignore"):
        if dtype[0] == "c":
            return (values + 1j * values[::-1]).astype(dtype)
        return values.astype(dtype)


def told(function: Any, *args: Any, **kwargs: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = np.asarray(function(*args, **kwargs))
    return (result.dtype, result.shape, result.tobytes()), sorted(str(w.message) for w in found)


@pytest.mark.parametrize("dtype", ["e", "f", "d", "F", "D"])
@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(ONE + TWO), st.integers(600, 9000), st.sampled_from([1, 1, 2, -1]),
    st.integers(0, 3), st.integers(0, 2**32 - 1), st.booleans(),
)  # fmt: skip
def test_shared_loops_give_numpys_bits_and_faults(
    dtype: str, name: str, size: int, step: int, skipped: int, seed: int, into: bool
) -> None:
    if dtype in "FD" and name not in COMPLEX:
        name = "multiply"
    rng = np.random.default_rng(seed)
    count = 1 if name in ONE else 2
    given_arrays = [drawn(rng, size * abs(step) + skipped, dtype) for _ in range(count)]
    ours = [dnumpy.array(a)[skipped:][::step] for a in given_arrays]
    theirs = [a[skipped:][::step] for a in given_arrays]
    for _ in range(2):  # the second is by a loop that is trusted
        expected = told(getattr(np, name), *theirs)
        assert told(getattr(dnumpy, name), *ours) == expected
    if into:
        out, plain = (xp.empty(size, expected[0][0]) for xp in (dnumpy, np))
        assert told(getattr(dnumpy, name), *ours, out=out) == (
            told(getattr(np, name), *theirs, out=plain)
        )


def test_each_kind_of_fault_is_told_once_whichever_thread_meets_it() -> None:
    x = np.ones(50_000)
    x[[3, 20_000, 49_999]] = [0, -1, 1e-320]
    ours = dnumpy.array(x)
    for name in ("log", "reciprocal", "sqrt", "log2"):
        for _ in range(3):
            expected = told(getattr(np, name), x)
            assert told(getattr(dnumpy, name), ours) == expected
    with dnumpy.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="invalid"):
        dnumpy.sqrt(ours)
    assert told(dnumpy.sqrt, ours) == told(np.sqrt, x)


def test_integers_raise_what_numpy_raises() -> None:
    x = dnumpy.arange(5000)
    for _ in range(3):
        with pytest.raises(ValueError, match="Integers to negative integer powers"):
            dnumpy.power(x, -x - 1)
    assert np.array_equal(np.asarray(dnumpy.power(x, 2)), np.arange(5000) ** 2)


def test_arrays_that_other_threads_compute_meanwhile_are_numpys() -> None:
    from concurrent.futures import ThreadPoolExecutor

    x = np.linspace(0, 9, 30_000)
    ours = dnumpy.array(x)
    expected = np.sin(x).tobytes()
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: np.asarray(dnumpy.sin(ours)).tobytes(), range(200)))
    assert set(found) == {expected}
