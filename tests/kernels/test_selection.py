"""However a mask looks, ``where`` has NumPy's bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy.kernels.selection import RUNS, choose_into

DTYPES = ("?", "i1", "u2", "i4", ">i4", "f2", "f4", "f8", ">f8", "c8", "c16", "g", "M8[s]", "S3")


def mask_of(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    count = int(np.prod(shape))
    if kind == "random":
        flat = rng.random(count) < 0.5
    elif kind == "runs":
        flat = np.arange(count) // (2 * max(RUNS.values())) % 2 == 0
    else:
        flat = np.full(count, kind == "all")
    return flat.reshape(shape)


def filled(dtype: np.dtype, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    count = int(np.prod(shape))
    if dtype.char == "g":
        return rng.random(shape).astype(dtype)
    words = rng.integers(0, 256, count * dtype.itemsize, np.uint8)  # NaNs of all kinds, too
    return words.view(dtype).reshape(shape)


@settings(deadline=None, max_examples=300)
@given(
    st.sampled_from(DTYPES),
    st.sampled_from(("random", "runs", "all", "none")),
    st.sampled_from(((0,), (1,), (2100,), (3, 700), (2, 3, 70))),
    st.sampled_from(("arrays", "no other", "other", "chosen", "both", "row")),
    st.booleans(),
    st.integers(0, 1 << 30),
)
def test_where_has_numpys_bits(code, kind, shape, scalars, in_place, seed):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(code)
    mask = mask_of(kind, shape, rng)
    chosen, other = filled(dtype, shape, rng), filled(dtype, shape, rng)
    if shape[-1] and scalars in {"chosen", "both"}:
        chosen = chosen.flat[0]
    if shape[-1] and scalars in {"other", "both"}:
        other = other.flat[0]
    if scalars == "no other":
        other = np.zeros((), dtype)[()]
    if scalars == "row":
        other = other[:1]
    expected = np.empty(shape, dtype)
    expected[...] = np.where(mask, chosen, other)
    out = other if in_place and np.shape(other) == shape else np.empty(shape, dtype)
    choose_into((mask, chosen, other), out)
    if dtype.char == "g":  # NumPy copies the padding of long doubles or does not
        np.testing.assert_array_equal(out, expected)
    else:
        assert out.tobytes() == expected.tobytes()


@pytest.mark.parametrize("condition", [True, False, np.True_])
def test_a_single_condition_chooses_everything(condition):
    out = np.empty(5)
    choose_into((condition, np.arange(5.0), 7), out)
    np.testing.assert_array_equal(out, np.where(condition, np.arange(5.0), 7))


def test_operands_of_other_dtypes_are_cast():
    mask = np.arange(900) % 2 == 0
    out = np.empty(900, np.float32)
    choose_into((mask, np.arange(900), np.full(900, 0.1)), out)
    expected = np.where(mask, np.arange(900).astype("f4"), np.float32(0.1))
    np.testing.assert_array_equal(out, expected)


def test_masks_that_are_not_adjacent_choose_alike():
    mask = (np.arange(1800) % 3 == 0)[::2]
    values = np.arange(900.0)
    out = np.empty(900)
    choose_into((mask, values, -values), out)
    np.testing.assert_array_equal(out, np.where(mask, values, -values))
