"""Unique elements and set operations on nodes are NumPy's and gather nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.api import sets
from dnumpy.config import config
from dnumpy.ops.row_keys import keys
from tests.api.test_sorting import DTYPES, values
from tests.gathering import computed, on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Callable


def same(found: Any, expected: Any) -> None:
    if isinstance(expected, tuple):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            same(one, other)
        return
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(np.asarray(found), expected)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 99),
    st.sampled_from(((0,), (1,), (300,), (20, 9))),
    st.sampled_from(DTYPES),
    st.integers(1, 300),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.booleans(),
)
def test_unique_gives_numpys_outputs(
    seed: int,
    shape: tuple[int, ...],
    dtype: str,
    distinct: int,
    wanted: tuple[bool, bool, bool],
    equal_nan: bool,
) -> None:
    plain = values(seed, shape, dtype, distinct)
    index, inverse, counts = wanted
    if not equal_nan and plain.dtype.kind in "fc":
        index = inverse = False  # NumPy leaves open which NaN is which
    with spread_out():
        given_to = (index, inverse, counts)
        found = dnumpy.unique(on_nodes(plain), *given_to, equal_nan=equal_nan)
        same(found, np.unique(plain, *given_to, equal_nan=equal_nan))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 99),
    st.integers(0, 200),
    st.integers(0, 200),
    st.sampled_from(("i8", "f8", "u2", "?")),
    st.sampled_from(("i8", "f8", "u2", "?")),
    st.booleans(),
    st.sampled_from((None, "sort", "table")),
)
def test_isin_is_numpys(
    seed: int, count: int, members: int, one: str, other: str, invert: bool, kind: str | None
) -> None:
    plain, test = values(seed, (count,), one, 40), values(seed + 1, (members,), other, 40)
    if kind == "table" and "f8" in (one, other):
        kind = None
    with spread_out():
        found = dnumpy.isin(on_nodes(plain), on_nodes(test), invert=invert, kind=kind)
        same(found, np.isin(plain, test, invert=invert, kind=kind))


A = np.random.default_rng(5).integers(0, 90, 400)
B = A[:150] + 40
# name -> the call; its first operand lies on nodes and must not be gathered
TABLE: dict[str, Callable[[Any, Any, Any], Any]] = {
    "unique": lambda xp, a, _: xp.unique(a),
    "unique-all": lambda xp, a, _: tuple(xp.unique_all(a)),
    "unique-counts": lambda xp, a, _: tuple(xp.unique_counts(a)),
    "unique-inverse": lambda xp, a, _: tuple(xp.unique_inverse(a)),
    "unique-values": lambda xp, a, _: xp.sort(xp.unique_values(a)),
    "isin": lambda xp, a, _: xp.isin(a, [3, 4, 60]),
    "isin-few": lambda xp, a, _: xp.isin(xp.asarray([3, 4, 600]), a),
    "intersect1d": lambda xp, a, b: xp.intersect1d(a, b),
    "union1d": lambda xp, a, b: xp.union1d(a, b),
    "setdiff1d": lambda xp, a, b: xp.setdiff1d(a, b),
    "setxor1d": lambda xp, a, b: xp.setxor1d(a, b),
}


@pytest.mark.parametrize("name", sorted(TABLE))
def test_operands_stay_on_their_nodes(name: str) -> None:
    with spread_out() as meter:
        found = TABLE[name](dnumpy, on_nodes(A), on_nodes(B))
        assert meter.most() < A.nbytes / 2, f"{name} gathers {meter.gathered}"
        same(found, TABLE[name](np, A, B))


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 99),
    st.sampled_from(((40, 3), (3, 40), (9, 4, 2))),
    st.integers(-2, 1),
    st.sampled_from(("i8", "f8", "?")),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_unique_subarrays_are_numpys(
    seed: int, shape: tuple[int, ...], axis: int, dtype: str, wanted: tuple[bool, bool, bool]
) -> None:
    plain = np.nan_to_num(values(seed, shape, dtype, 2)).astype(dtype)
    with spread_out():
        found = dnumpy.unique(on_nodes(plain), *wanted, axis=axis)
        same(found, np.unique(plain, *wanted, axis=axis))


@settings(max_examples=60, deadline=None)
@given(
    st.data(),
    st.sampled_from(((40, 9), (50, 40), (1, 70), (12, 7, 8), (70, 2, 30), (40, 3))),
    st.sampled_from(("i8", "f8", "?", "u2", "f4", "i1", "f2", "D", "g")),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_unique_subarrays_of_many_elements_are_numpys(
    data: st.DataObject, shape: tuple[int, ...], dtype: str, wanted: tuple[bool, bool, bool]
) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    plain = np.ones(shape)
    changed = rng.integers(0, plain.size, data.draw(st.integers(0, 9)))
    plain.reshape(-1)[changed] = rng.choice([-1, 0, 2, 1.5], len(changed))
    plain = plain.astype(dtype)
    if plain.dtype.kind in "fc" and data.draw(st.booleans()):
        special = [np.nan, np.inf, -np.inf, -np.nan]
        plain.reshape(-1)[changed[::2]] = rng.choice(special, len(changed[::2]))
    if dtype == "D":
        plain.imag = rng.integers(0, 2, shape)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    with spread_out():
        found = dnumpy.unique(on_nodes(plain), *wanted, axis=axis)
        same(found, np.unique(plain, *wanted, axis=axis))


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["f8", "i4", "D"])
def test_unique_subarrays_of_many_elements_gather_nothing(axis: int, dtype: str) -> None:
    plain = np.random.default_rng(4).integers(0, 2, (240, 230)).astype(dtype)
    plain[::3] = plain[1]
    with spread_out() as meter:
        found = computed(dnumpy.unique(on_nodes(plain), True, True, True, axis=axis))
        assert meter.most() < plain.nbytes / 2, meter.gathered
        same(found, np.unique(plain, True, True, True, axis=axis))


@given(st.lists(st.lists(st.floats(width=32), min_size=3, max_size=3), min_size=2, max_size=30))
def test_keys_of_rows_have_the_order_of_the_rows(lines: list[list[float]]) -> None:
    for table in (
        np.array(lines, "f4"),
        np.nan_to_num(np.array(lines)).clip(-9e8, 9e8).astype("i4"),
    ):
        order = np.argsort(keys(table), kind="stable")
        np.testing.assert_array_equal(order, np.lexsort(table.T[::-1]))


@pytest.mark.parametrize("dtype", ["f8", "i8", "u2"])
@pytest.mark.parametrize("distinct", [3, 20_000])
def test_unique_at_home_is_numpys(dtype: str, distinct: int) -> None:
    plain = values(3, (30_000,), dtype, distinct)
    with spread_out():
        config.mode = "lazy"
        for equal_nan in (False, True):
            found = dnumpy.unique(dnumpy.array(plain), equal_nan=equal_nan)
            same(found, np.unique(plain, equal_nan=equal_nan))


@pytest.mark.parametrize(("one", "other"), [("u8", "f8"), ("i8", "f4"), ("i4", "f4"), ("f8", "u8")])
def test_membership_across_dtypes_is_numpys_even_where_floats_merge_integers(
    one: str, other: str
) -> None:
    large = np.array([0, 2**62 + 1, 2**62 + 2, 2**62 + 3, 5, 6], "u8")
    with np.errstate(all="ignore"):
        left, right = large.astype(one), np.arange(7).astype(other)
    with spread_out():
        found = dnumpy.isin(on_nodes(left), on_nodes(right))
        same(found, np.isin(left, right))


@pytest.mark.parametrize("ways", [10, 20_000, 200_000, 1 << 40])
def test_unique_of_many_integers_is_numpys_however_many_differ(ways):
    values = np.random.default_rng(ways).integers(-ways, ways, sets.MANY + 77)
    found = dnumpy.unique(dnumpy.array(values))
    expected = np.unique(values)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(found), expected)


LARGE = sets.MANY + 77
WANTED = [(), (True,), (False, True), (False, False, True), (True, True, True)]


def large_line(dtype: str, what: str) -> np.ndarray:
    """Return many numbers, of which few or most differ, near the end of their type or around 0."""
    rng = np.random.default_rng(19)
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.random(LARGE) < 0.3
    if kind.kind == "f":
        line = rng.integers(-50, 50, LARGE).astype(dtype) if what == "few" else rng.random(LARGE)
        line = line.astype(dtype)
        line[::1000] = np.nan
        return line
    info = np.iinfo(kind)
    least = max(int(info.min), -100)
    line = rng.integers(least, least + 201 if what != "most" else 1 << 30, LARGE)
    line = line.clip(least, info.max).astype(kind)
    if what == "far":
        line = line - kind.type(least) if least else line
        line = kind.type(info.max) - line
    return line


@pytest.mark.modeless("numbers at home")
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"])
@pytest.mark.parametrize("what", ["few", "far", "most"])
def test_unique_of_many_numbers_here_has_all_outputs_of_numpys(dtype: str, what: str) -> None:
    line = large_line(dtype, what)
    for wanted in WANTED:
        for equal_nan in (True, False):
            if line.dtype.kind != "f" and not equal_nan:
                continue
            found = dnumpy.unique(dnumpy.array(line), *wanted, equal_nan=equal_nan)
            same(found, np.unique(line, *wanted, equal_nan=equal_nan))


@pytest.fixture
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sets, "MANY", 1_000)
    monkeypatch.setattr(config, "eager_below", 0)


@pytest.mark.modeless("numbers at home")
@pytest.mark.usefixtures("_few_are_many")
@pytest.mark.parametrize("axis", [None, 0, 1])
def test_unique_of_a_picture_here_is_in_numpys_shape(axis: int | None) -> None:
    picture = np.random.default_rng(4).integers(-3, 90, (60, 50)).astype("i4")
    picture[5:] = picture[0]
    wanted = (True, True, True)
    found = dnumpy.unique(dnumpy.array(picture), *wanted, axis=axis)
    same(found, np.unique(picture, *wanted, axis=axis))
    columns = np.asfortranarray(picture)
    same(dnumpy.unique(dnumpy.array(columns), False, True), np.unique(columns, False, True))


@pytest.mark.modeless("numbers at home")
@pytest.mark.usefixtures("_few_are_many")
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "u8"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((3, 700), 1), ((600, 2, 2), 0), ((1500, 1), -2), ((2, 300, 3), 1)]
)
def test_unique_subarrays_of_a_few_integers_here_are_numpys(
    dtype: str, shape: tuple[int, ...], axis: int
) -> None:
    least = 0 if dtype[0] in "?u" else -4
    plain = np.random.default_rng(8).integers(least, 2 if dtype == "?" else 5, shape).astype(dtype)
    far = plain.copy()
    far.flat[7] = np.iinfo(dtype).max if dtype != "?" else True
    for table in (plain, far):
        for wanted in WANTED:
            found = dnumpy.unique(dnumpy.array(table), *wanted, axis=axis)
            same(found, np.unique(table, *wanted, axis=axis))
