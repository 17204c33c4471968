"""Copies into what lies the other way round are NumPy's, whoever shares them out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy import native

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")

DTYPES = ("u1", "?", "i2", "f4", "f8", "M8[ns]", "c8", "c16", "S4", "i4")


def numbered(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    count = int(np.prod(shape))
    item = np.dtype(dtype).itemsize
    bits = np.random.default_rng(count).integers(0, 2 if dtype == "?" else 256, count * item)
    return bits.astype(np.uint8).view(dtype).reshape(shape)


@st.composite
def pairs(draw: Any) -> tuple[np.ndarray, np.ndarray]:
    """Draw an array, and one to copy it into, each with axes, steps and gaps of its own."""
    shape = draw(st.lists(st.sampled_from((1, 2, 3, 7, 8, 9, 33, 70)), min_size=2, max_size=4))
    while np.prod(shape) > 40_000:
        shape[np.argmax(shape)] = 3
    dtype, laid = draw(st.sampled_from(DTYPES)), []
    for _ in range(2):
        order = draw(st.permutations(range(len(shape))))
        steps = draw(st.lists(st.sampled_from((1, 1, 1, -1, 2)), min_size=4, max_size=4))
        wide = [shape[k] * abs(step) for k, step in zip(order, steps, strict=False)]
        seen = numbered(tuple(wide), dtype)[tuple(slice(None, None, s) for s in steps[: len(wide)])]
        laid.append(seen.transpose(np.argsort(order)))
    return laid[0], laid[1]


@settings(deadline=None, max_examples=300)
@given(pairs(), st.integers(1, 3))
def test_a_copy_has_every_element_and_writes_nothing_else(
    pair: tuple[np.ndarray, np.ndarray], threads: int
) -> None:
    x, out = pair
    assert x.shape == out.shape
    memory = out.base if out.base is not None else out
    while memory.base is not None:
        memory = memory.base
    before = memory.copy()
    if not native._module.copy_array(x, out, threads):
        assert memory.tobytes() == before.tobytes()
        return
    assert out.tobytes() == x.tobytes()
    out[...] = np.zeros((), x.dtype)
    again = before.reshape(memory.shape)
    np.copyto(memory, again)
    np.copyto(out, x)
    expected = memory.tobytes()
    np.copyto(memory, again)
    assert native._module.copy_array(x, out, threads)
    assert memory.tobytes() == expected


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [1, 2, 5])
def test_matrices_are_turned(dtype: str, threads: int) -> None:
    x = numbered((517, 2300), dtype)
    out = np.zeros(x.T.shape, x.dtype)
    alone = x.dtype.itemsize <= 2
    assert native.copied(x.T, out, threads) == (threads > 1 or alone)
    assert not out.view(np.uint8).any() or out.tobytes() == x.T.tobytes()
    assert native.copied(x.T, out, max(threads, 2))
    assert out.tobytes() == x.T.tobytes()


def test_what_numpy_copies_as_well_is_left_to_it() -> None:
    x, out = np.arange(40_000.0).reshape(200, 200), np.zeros((200, 200))
    assert not native.copied(x, out)
    assert not native.copied(x.ravel(), out.ravel())
    assert not native.copied(x.T, out.T)
    assert not native.copied(x[::-1], out)
    assert not native.copied(x.T, out.astype("f4"))
    assert not native.copied(x.T, out.astype(">f8"))
    assert not native.copied(x.T[:30, :30], out[:30, :30])
    assert not native.copied(x.astype(object).T, out.astype(object))
    assert not out.any()
    assert not native.copied(x.T, x)
    assert x[0, 1] == 1
    out.flags.writeable = False
    assert not native.copied(x.T, out)


@pytest.mark.parametrize("dtype", ["u1", "f4", "f8", "c16"])
def test_threads_share_what_lies_the_same_way_round(dtype: str) -> None:
    x = numbered((90, 500, 70), dtype)
    for seen in (x, x.reshape(-1), x[:, ::2], x[..., :3], x[..., ::2], x[::-1, :, ::-1], x.T):
        out = np.zeros(seen.shape, x.dtype)
        assert native.copied(seen, out, 3)
        assert out.tobytes() == seen.tobytes()
        into = np.zeros((*seen.shape[:-1], 2 * seen.shape[-1]), x.dtype)
        assert native.copied(seen, into[..., ::2], 2)
        assert into[..., ::2].tobytes() == seen.tobytes()
        assert not into[..., 1::2].any()


@pytest.mark.parametrize("dtype", ["u1", "f8", "c16"])
def test_transposed_arrays_are_copied_as_numpys(dtype: str) -> None:
    x = numbered((300, 400, 3), dtype)
    mine = dnumpy.array(x)
    for axes in ((2, 0, 1), (1, 0, 2), (2, 1, 0)):
        expected = x.transpose(axes).copy()
        found = mine.transpose(axes).copy()
        assert found.flags.c_contiguous
        assert np.asarray(found).tobytes() == expected.tobytes()
    flat = np.asarray(mine.transpose(2, 0, 1).reshape(-1))
    assert flat.tobytes() == x.transpose(2, 0, 1).tobytes()
