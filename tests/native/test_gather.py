"""What arrays of whole numbers pick along the first axes is what NumPy's indexing gives."""

from __future__ import annotations

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

DTYPES = ["f8", "f4", "i8", "u1", "?", "c16", "f2", ">f8", "M8[s]", "S5", "U3"]


@pytest.fixture(scope="module", autouse=True)
def _as_programs_run() -> Iterator[None]:
    kept = config.threads, config.mode, config.eager_below
    config.threads, config.mode, config.eager_below = 3, "default", 1 << 18
    yield
    config.threads, config.mode, config.eager_below = kept


def laid_out(xp: Any, values: np.ndarray, layout: str) -> Any:
    array = xp.array(values)
    if layout == "F":
        return xp.asfortranarray(array)
    if layout == "turned":
        return array[::-1]
    return array.T if layout == "T" else array


def outcome(xp: Any, values: np.ndarray, layout: str, key: Any) -> Any:
    """Return all that can be seen of what indexing gives, or of the error."""
    ours = xp is dnumpy
    parts = key if type(key) is tuple else (key,)
    given_parts = tuple(xp.array(p) if ours and type(p) is np.ndarray else p for p in parts)
    try:
        found = laid_out(xp, values, layout)[given_parts if type(key) is tuple else given_parts[0]]
    except IndexError as error:
        return str(error)
    plain = np.asarray(found)
    steps = [s for s, n in zip(plain.strides, plain.shape, strict=True) if n > 1]
    return plain.dtype, plain.shape, steps, plain.tobytes(), found.flags.writeable


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, str, Any]:
    shape = tuple(draw(st.lists(st.integers(1, 7), min_size=1, max_size=4)))
    values = np.arange(np.prod(shape)).reshape(shape) * 7 % 199
    values = values.astype(draw(st.sampled_from(DTYPES)))
    layout = draw(st.sampled_from(["C", "F", "T", "turned"]))
    extents = shape[::-1] if layout == "T" else shape
    full = tuple(draw(st.lists(st.integers(1, 40), min_size=1, max_size=3)))
    if draw(st.integers(0, 9)) == 0:
        full = (draw(st.integers(40_000, 90_000)),)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    parts: list[Any] = []
    for extent in extents[: draw(st.integers(1, len(extents)))]:
        kind = draw(st.sampled_from("nnnnnsbrF"))
        own = tuple(n if kind != "b" or rng.random() < 0.5 else 1 for n in full)
        numbers = rng.integers(-extent, extent, own)
        if rng.random() < 0.03:
            numbers.flat[rng.integers(numbers.size)] = extent + 1
        if kind == "s":
            parts.append(int(numbers.flat[0]))
        elif kind == "r":
            parts.append(numbers[::-1])
        elif kind == "F":
            parts.append(np.asfortranarray(numbers))
        else:
            parts.append(numbers)
    single = len(parts) == 1 and type(parts[0]) is np.ndarray and draw(st.booleans())
    return values, layout, parts[0] if single else tuple(parts)


@settings(max_examples=400, deadline=None)
@given(cases())
def test_indices_give_what_numpys_give(case: tuple[np.ndarray, str, Any]) -> None:
    values, layout, key = case
    assert outcome(dnumpy, values, layout, key) == outcome(np, values, layout, key)


def made(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.empty(shape, dtype)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_share_many(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "threads", threads)
    rng = np.random.default_rng(0)
    table = rng.random((30, 40, 3))
    i, j = rng.integers(-30, 30, (300, 400)), rng.integers(0, 40, (300, 400))
    for key in ((i, j), (i,), (i[:, :1], j[:1]), (2, j), (i, 5), i):
        found = native.gather(table, key, made)
        assert found is not None
        assert np.array_equal(found, table[key])


def test_a_place_that_there_is_not_is_numpys_to_tell() -> None:
    table = np.arange(12.0).reshape(3, 4)
    places = np.zeros(100_000, np.intp)
    places[77_777] = 3
    assert native.gather(table, (places, places), made) is None
    with pytest.raises(IndexError, match="index 3 is out of bounds for axis 0 with size 3"):
        dnumpy.array(table)[dnumpy.array(places), dnumpy.array(places)]
    places[77_777] = -4
    with pytest.raises(IndexError, match="index -4 is out of bounds"):
        dnumpy.array(table)[dnumpy.array(places)]


@pytest.mark.parametrize("key", [np.array([True] * 3), [0] * 20, None, slice(1), (slice(1), 2)])
def test_other_indices_are_numpys(key: Any) -> None:
    assert native.gather(np.zeros((3, 4)), key, made) is None


def test_memory_has_to_fit() -> None:
    places = np.zeros(20, np.intp)
    with pytest.raises(TypeError, match="memory of this shape"):
        native.gather(np.zeros(3), places, lambda shape, _dtype: np.empty(shape, "f4"))
    with pytest.raises(TypeError, match="memory of this shape"):
        native.gather(np.zeros(3), places, lambda _shape, dtype: np.empty(21, dtype))


def test_a_large_index_of_what_waits_picks_from_a_little_table() -> None:
    rng = np.random.default_rng(1)
    table, i, j = rng.random((9, 9)), rng.integers(0, 8, 300_000), rng.integers(0, 8, 300_000)
    ours = dnumpy.array(table)
    found = ours[dnumpy.array(i) + 1, dnumpy.array(j)]
    assert np.array_equal(np.asarray(found), table[i + 1, j])
    found[0] = 5  # memory of its own
    assert np.array_equal(np.asarray(ours), table)
