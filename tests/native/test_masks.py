"""Masks over whole arrays and over rows give what NumPy gives, in C and without the module."""

from __future__ import annotations

import threading
import warnings
from operator import getitem, setitem
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy
from dnumpy import native
from dnumpy.runtime import masks

pytestmark = pytest.mark.modeless("they run at once, or in threads that share a call")

SIZES = (0, 1, 40, 47, 48, 63, 64, 65, 1000, 1023, 1024, 1025, 1032, 5000, 20_000)
DTYPES = ("?", "i1", "u1", "i2", "f2", "i4", "f4", "i8", "u8", "f8", "c8", "c16", "M8[s]", "S3",
          "S16", ">f8", ">i4", "g", "O", "i4,f4")  # fmt: skip
SHARES = (0.0, 0.02, 0.5, 0.97, 1.0)

CASES = st.tuples(
    st.integers(0, 99), st.sampled_from(SIZES), st.sampled_from(DTYPES), st.sampled_from(SHARES)
)


def drawn(case: tuple[int, int, str, float]) -> tuple[np.ndarray, np.ndarray]:
    """Return an array of a dtype, and a mask of which such a share is set: in runs, or anywhere."""
    seed, size, dtype, share = case
    draw = np.random.default_rng(seed)
    values = draw.integers(0, 100, size).astype(dtype)
    if seed % 2 == 0 or share in {0.0, 1.0}:
        return values, draw.random(size) < share
    lengths = draw.integers(1, 300, size // 50 + 9) * np.resize([share, 1 - share], size // 50 + 9)
    runs = np.repeat(np.resize([True, False], len(lengths)), 1 + lengths.astype(int))
    return values, np.resize(runs, size).copy()


def told(function: Any, *args: Any) -> Any:
    """Return what a call gives, or what it raises."""
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - whatever NumPy raises
        return type(error), str(error)


def same(found: Any, expected: Any) -> None:
    """Assert that two results are one to the last byte, and lie alike."""
    if not isinstance(expected, np.ndarray):
        assert found == expected
        return
    assert type(found) is dnumpy.ndarray
    assert (found.dtype, found.shape, found.strides) == (
        expected.dtype, expected.shape, expected.strides,
    )  # fmt: skip
    assert (found.base is None) == (expected.base is None)
    assert found.flags.writeable == expected.flags.writeable
    plain = np.asarray(found)
    if expected.dtype.hasobject or expected.dtype.char in "gG":  # of which bytes are left over
        np.testing.assert_array_equal(plain, expected)
    else:
        assert plain.tobytes() == expected.tobytes()


@given(CASES)
def test_what_a_mask_shows(case: Any) -> None:
    x, mask = drawn(case)
    same(dnumpy.array(x)[dnumpy.array(mask)], x[mask])
    same(dnumpy.array(x)[mask], x[mask])


@given(CASES)
def test_bytes_that_somebody_calls_booleans(case: Any) -> None:
    x, mask = drawn(case)
    odd = (mask * np.arange(1, len(mask) + 1).astype("u1")).view(bool)
    same(dnumpy.array(x)[dnumpy.array(odd)], x[odd])
    if x.dtype == float and len(x):
        same(dnumpy.where(dnumpy.array(odd), dnumpy.array(x), 1.5), np.where(odd, x, 1.5))


@given(CASES, st.sampled_from(((-1,), (2, -1), (-1, 4), (2, 2, -1))))
def test_masks_of_several_axes(case: Any, shape: tuple[int, ...]) -> None:
    x, mask = drawn(case)
    if not len(x) or len(x) % 4:
        return
    x, mask = x.reshape(shape), mask.reshape(shape)
    for a, m in ((x, mask), (x.T, mask.T), (x[::2], mask[::2]), (x, mask[0])):
        same(told(getitem, dnumpy.array(a), dnumpy.array(m)), told(getitem, a, m))


@given(CASES, st.integers(1, 9))
def test_rows_by_masks_and_by_numbers(case: Any, width: int) -> None:
    x, mask = drawn(case)
    rows = np.repeat(x[:, None], width, 1)
    numbers = np.random.default_rng(1).integers(-len(x), max(len(x), 1), 100)
    for index in (mask, numbers, numbers.reshape(4, 25), numbers.reshape(4, 25).T,
                  numbers.astype("i4"), numbers[::2], numbers + len(x), numbers[:0]):  # fmt: skip
        for plain in (rows, rows.T, rows[:, None], rows[:, :0]):
            theirs = np.array(plain, order="K")  # whose steps are those of its extents
            ours = dnumpy.array(theirs, order="K")
            same(told(getitem, ours, dnumpy.array(index)), told(getitem, theirs, index))


VALUES = (0, 1, 7, -1, 300, 2**70, 2.5, 1e300, float("nan"), float("inf"), True, None, 1j, "x",
          b"ab", np.float32(1.5), np.int8(3), [1], [1, 2])  # fmt: skip


@given(CASES, st.sampled_from(VALUES))
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore:Casting complex")
def test_one_value_where_a_mask_says(case: Any, value: Any) -> None:
    x, mask = drawn(case)
    ours = dnumpy.array(x)
    same(told(setitem, ours, dnumpy.array(mask), value), told(setitem, x, mask, value))
    same(ours, x)


@given(CASES, st.sampled_from(DTYPES), st.sampled_from((0, 1, -1)))
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore:Casting complex")
def test_an_array_where_a_mask_says(case: Any, dtype: str, more: int) -> None:
    x, mask = drawn(case)
    count = max(np.count_nonzero(mask) + more, 0)
    new = np.arange(count).astype("u1").astype(dtype)
    ours = dnumpy.array(x)
    same(told(setitem, ours, dnumpy.array(mask), dnumpy.array(new)), told(setitem, x, mask, new))
    same(ours, x)


@pytest.mark.parametrize("start", [0, 1, 500])
def test_what_is_written_may_be_what_is_read(start: int) -> None:
    x, mask = drawn((3, 2000, "f8", 0.5))
    ours = dnumpy.array(x)
    count = np.count_nonzero(mask)
    ours[dnumpy.array(mask)] = ours[start : start + count]
    x[mask] = x[start : start + count]
    same(ours, x)
    flags, own = mask.copy(), dnumpy.array(mask)
    flags[flags] = False
    own[own] = False
    same(own, flags)
    own = dnumpy.array(mask)
    own[1:][own[:-1]] = True
    mask[1:][mask[:-1]] = True
    same(own, mask)


def test_what_is_not_to_be_written_is_not() -> None:
    x, mask = drawn((3, 2000, "f8", 0.5))
    ours = dnumpy.array(x)
    ours.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ours[dnumpy.array(mask)] = 1.0
    same(ours[:], x[:]) if ours[:].flags.writeable else None
    np.testing.assert_array_equal(np.asarray(ours), x)


@given(CASES, st.sampled_from(VALUES[:-2]), st.sampled_from(DTYPES))
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
def test_where(case: Any, value: Any, dtype: str) -> None:
    x, mask = drawn(case)
    y = x[::-1].astype("u1").astype(dtype) if x.dtype.kind in "biufc" else x[::-1].copy()
    a, b, m = dnumpy.array(x), dnumpy.array(y), dnumpy.array(mask)
    same(told(dnumpy.where, m, a, b), told(np.where, mask, x, y))
    same(told(dnumpy.where, m, a, a[::-1]), told(np.where, mask, x, x[::-1]))
    same(told(dnumpy.where, m, a, value), told(np.where, mask, x, value))
    same(told(dnumpy.where, m, value, b), told(np.where, mask, value, y))
    rows = told(np.where, mask[:99], x[:99, None], y[:99])
    same(told(dnumpy.where, m[:99], a[:99, None], b[:99]), rows)


@pytest.mark.skipif(not native.built, reason="the module in C was not built")
@pytest.mark.parametrize("size", [1000, 1 << 15, (1 << 15) + 1, 200_000])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 1.0])
@pytest.mark.parametrize("dtype", ["f8", "i4", "u1", "c16"])
@pytest.mark.parametrize("seed", [0, 1])
def test_blocks_that_threads_draw(size: int, share: float, dtype: str, seed: int) -> None:
    x, mask = drawn((seed, size, dtype, share))
    expected = x[mask]
    for threads in (1, 2, 5):
        taken = native.take_by_mask(x, mask, lambda n: np.empty(n, x.dtype), threads)
        if not native.built:
            assert taken is None
            continue
        assert taken.tobytes() == expected.tobytes()
        written, filled = x.copy(), x.copy()
        assert native.put_by_mask(written, ~mask, x[~mask], threads)
        assert written.tobytes() == x.tobytes()
        assert not native.put_by_mask(written, mask, np.ones(len(expected) + 1, x.dtype), threads)
        assert written.tobytes() == x.tobytes()
        if dtype in "f8 i4":
            assert native.put_by_mask(filled, mask, 7.0 if dtype == "f8" else 7, threads)
            x_filled = x.copy()
            x_filled[mask] = 7
            assert filled.tobytes() == x_filled.tobytes()


@pytest.mark.skipif(not native.built, reason="NumPy's are left to NumPy")
def test_a_result_that_does_not_fit_is_left_to_numpy() -> None:
    x, mask = drawn((0, 1000, "f8", 0.5))
    for make in (lambda n: np.empty(n + 1), lambda n: np.empty(n, "f4"), lambda n: x[:n]):
        assert native.take_by_mask(x, mask, make, 2) is None
    with pytest.raises(ZeroDivisionError):
        native.take_by_mask(x, mask, lambda n: n // 0, 2)


def test_large_ones_on_threads() -> None:
    draw = np.random.default_rng(0)
    x, mask = draw.random(masks.SMALLEST * 2 + 7), draw.random(masks.SMALLEST * 2 + 7) < 0.3
    ours, shown = dnumpy.array(x), dnumpy.array(mask)
    same(ours[shown], x[mask])
    ours[shown] = ours[shown] * 2
    x[mask] *= 2
    ours[~shown] = 0.5
    x[~mask] = 0.5
    np.testing.assert_array_equal(np.asarray(ours), x)
    same(dnumpy.where(shown, ours, 0.0), np.where(mask, x, 0.0))


@pytest.mark.skipif(not native.built, reason="NumPy writes beyond the end then")
def test_a_mask_that_another_thread_writes_to() -> None:
    x, mask = dnumpy.arange(100_000.0), dnumpy.zeros(100_000, bool)
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            mask[...] = True
            mask[...] = False

    writer = threading.Thread(target=write)
    writer.start()
    for _ in range(300):
        assert x[mask].size <= x.size
        x[mask] = 1.0
    done.set()
    writer.join()


@pytest.mark.parametrize("code", ["?", "i1", "u2", "i4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("of", ["?", "i1", "i8", "u8", "f4", "f8", "c16"])
def test_scalars_of_numpys_are_written_and_chosen_as_numpy_does(code, of):
    for number in (0, 1, 100, -3, 2.5, np.nan, 1e300):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = np.array(number).astype(of)[()]
            x, mask = np.arange(5000).astype(code), np.arange(5000) % 7 < 2
            ours, shown = dnumpy.array(x), dnumpy.array(mask)
            try:
                x[mask] = value
            except (TypeError, OverflowError) as error:
                with pytest.raises(type(error)):
                    ours[shown] = value
                continue
            ours[shown] = value
            assert np.asarray(ours).tobytes() == x.tobytes()
            for args in ((value, x), (x, value)):
                expected = np.where(mask, *args)
                mine = [ours if a is x else a for a in args]
                found = np.asarray(dnumpy.where(shown, *mine))
                assert (found.dtype, found.tobytes()) == (expected.dtype, expected.tobytes())
