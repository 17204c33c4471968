"""What tiles leave behind is folded to the same bits however it is done."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.kernels.partials import MOST_NUMBERS, combine, fold_tiles
from dnumpy.ops.families import reduction_of

UFUNCS = [np.add, np.maximum, np.minimum, np.multiply, np.fmax, np.logical_or, np.bitwise_and]
SPECIAL = [0.0, -0.0, np.nan, np.inf, -np.inf, 1e308, -1e308, 1.5, -2.25, 1e-308]


def step_of(ufunc: np.ufunc, shape: tuple[int, ...], dtype: np.dtype, initial: Any = None) -> Any:
    params = SimpleNamespace(axis=(0,), initial=initial)
    return SimpleNamespace(op=reduction_of(ufunc), params=params, shape=shape, dtype=dtype)


@given(
    st.sampled_from(UFUNCS),
    st.sampled_from(["f8", "f4", "i8", "u1", "?"]),
    st.lists(st.sampled_from(SPECIAL) | st.floats(-100, 100), min_size=1, max_size=20),
    st.sampled_from([(), (1,), (1, 1)]),
)
def test_a_number_of_each_tile_is_folded_to_the_bits_of_the_tree(
    ufunc: np.ufunc, code: str, numbers: list[float], shape: tuple[int, ...]
) -> None:
    dtype = np.dtype(code)
    if dtype.kind == "f" and ufunc is np.bitwise_and:
        return
    with np.errstate(all="ignore"):
        partials = np.array(numbers).astype(dtype).reshape(-1, *shape)
        step = step_of(ufunc, shape, ufunc.reduce(partials[:1]).dtype)
        expected = fold_tiles(step, partials)
        found = combine(step, partials)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.tobytes() == expected.tobytes()


def test_faults_of_sums_are_noted() -> None:
    noted: list[str] = []
    step = step_of(np.add, (), np.dtype("f8"))
    found = combine(step, np.array([1e308, 1e308]), lambda kind, _flag: noted.append(kind))
    assert (found, noted) == (np.inf, ["overflow"])


@pytest.mark.parametrize("count", [MOST_NUMBERS, MOST_NUMBERS + 1])
def test_many_numbers_and_a_beginning_are_folded_too(count: int) -> None:
    numbers = np.random.default_rng(0).permutation(count) / 4
    assert combine(step_of(np.maximum, (), np.dtype("f8")), numbers) == (count - 1) / 4
    begun = step_of(np.maximum, (), np.dtype("f8"), initial=(1e6,))
    assert combine(begun, numbers) == 1e6
