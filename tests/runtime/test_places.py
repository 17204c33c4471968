"""Elements read by many places are NumPy's, and so is what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.config import config
from dnumpy.runtime import memory, places

TABLES: dict[str, np.ndarray] = {
    "numbers": np.arange(40) * 0.5,
    "rows": np.arange(120).reshape(40, 3),
    "bytes": np.arange(40).astype("u1"),
    "text": np.array([f"no. {k}" for k in range(40)]),
    "rows of nothing": np.empty((40, 0)),
    "big-endian": np.arange(40).astype(">i4"),
}


@pytest.fixture(autouse=True)
def _few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "SMALLEST", 1)
    monkeypatch.setattr(places, "BLOCK", 7)
    monkeypatch.setattr(config, "mode", "default")
    monkeypatch.setattr(config, "cluster", "off")


@pytest.mark.parametrize("name", sorted(TABLES))
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-40, 39), min_size=1, max_size=30),
    st.sampled_from(["i8", "i4", "u2", "i1", ">i8"]),
    st.booleans(),
)
def test_elements_at_places_are_numpys(
    name: str, chosen: list[int], dtype: str, square: bool
) -> None:
    table = TABLES[name]
    at = np.abs(chosen).clip(0, 39) if dtype.startswith("u") else np.array(chosen)
    at = at.astype(dtype)
    at = np.stack([at, at]) if square else at
    assert places.applies(table, at)
    found = places.take(table, at)
    assert found is not None
    assert found.dtype == table.dtype
    assert found.flags.c_contiguous
    np.testing.assert_array_equal(found, table[at])


@pytest.mark.parametrize("eager_below", [0, 1 << 20], ids=["managed", "small"])
@pytest.mark.parametrize("axis", [None, 0])
def test_arrays_are_read_as_numpys_are(
    eager_below: int, axis: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = np.array([3, -1, 0, 39, -40, 7, 7, 2, 1])
    table = TABLES["numbers"]
    monkeypatch.setattr(config, "eager_below", eager_below)
    ours = dnumpy.array(table)
    monkeypatch.setattr(config, "eager_below", 0)
    key = dnumpy.array(at)
    for found in (ours[key], dnumpy.take(ours, key, axis), ours.take(key, axis)):
        assert type(found) is dnumpy.ndarray
        np.testing.assert_array_equal(np.asarray(found), table[at])
    found = ours[key]
    found[0] = 99
    np.testing.assert_array_equal(np.asarray(ours), table)


@pytest.mark.parametrize("bad", [40, -41])
def test_places_out_of_bounds_are_refused_in_numpys_words(
    bad: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = np.array([0] * 20 + [bad])
    table = TABLES["numbers"]
    monkeypatch.setattr(config, "eager_below", 0)
    ours, key = dnumpy.array(table), dnumpy.array(at)
    with pytest.raises(IndexError) as expected:
        table[at]
    with pytest.raises(IndexError) as found:
        ours[key]
    assert str(found.value) == str(expected.value)
    np.testing.assert_array_equal(np.asarray(ours), table)


def test_what_is_no_array_of_places_is_left_to_numpy() -> None:
    table = TABLES["numbers"]
    for key in (np.array([0.5]), np.zeros(1, bool), np.array([1], object), [1], np.array([], int)):
        assert not places.applies(table, key)
    assert not places.applies(table[::2], np.array([1]))
    assert not places.applies(np.empty(0), np.array([1]))
    assert not places.applies(np.array([None] * 3), np.array([1]))


@pytest.mark.parametrize("shape", [(12,), (3, 4)])
@pytest.mark.parametrize("read", ["index", "take"])
@pytest.mark.parametrize("eager_below", [0, 20], ids=["managed", "small"])
def test_what_was_read_owns_its_memory(
    shape: tuple[int, ...], read: str, eager_below: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(config, "eager_below", eager_below)
    monkeypatch.setattr(memory, "SMALLEST", 1)
    table, at = np.arange(40) * 0.5, (np.arange(12) * 7 % 40).reshape(shape)

    def outcome(xp: Any) -> tuple[Any, ...]:
        values, chosen = xp.array(table), xp.array(at)
        found = values[chosen] if read == "index" else values.take(chosen)
        owned = found.base is None, found.flags.owndata
        found.resize((5,), refcheck=False)
        return owned, found.tolist()

    assert outcome(dnumpy) == outcome(np)
