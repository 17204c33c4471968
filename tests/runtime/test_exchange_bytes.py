"""What gathers and scatters send: indices and items, or blocks where those are fewer bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy.runtime.exchange import asked_for, blocks_are_denser, distinct, last_of_each
from tests.gathering import computed, on_nodes
from tests.traffic import metered_nodes

INDICES = {
    "sparse": lambda rng, rows: rng.integers(0, rows, rows // 40),
    "dense": lambda rng, rows: rng.integers(0, rows, 3 * rows),
    "all, in no order": lambda rng, rows: rng.permutation(rows),
    "one row": lambda rng, rows: np.full(rows // 3, rng.integers(rows)),
    "few rows": lambda rng, rows: rng.integers(0, rows, 30)[rng.integers(0, 30, rows // 5)],
}


@pytest.mark.parametrize("speeds", [(1.0, 1.0), (5.0, 3.0, 2.0), (1.0, 2.0, 3.0, 4.0)])
@pytest.mark.parametrize("kind", sorted(INDICES))
@pytest.mark.parametrize("columns", [1, 9])
def test_a_gather_sends_no_more_than_indices_and_items_or_blocks(
    kind: str, speeds: tuple[float, ...], columns: int
) -> None:
    rng = np.random.default_rng(7)
    rows, nodes = 20_000, len(speeds)
    table, index = rng.random((rows, columns)), INDICES[kind](rng, rows)
    with metered_nodes(*speeds, tile_rows=16) as traffic:
        held, asked = on_nodes(table), on_nodes(index)
        traffic.clear()
        found = np.asarray(computed(held[asked]))
    np.testing.assert_array_equal(found, table[index])
    moved = sum(traffic.sent[word] for word in ("pick", "take"))
    far = _far(index, rows, speeds)
    listed = far * (2 + 8 * columns)  # rows of an owner are told apart by two bytes
    blocks = (nodes - 1) * table.nbytes
    assert moved <= 1.1 * min(listed, blocks) + 500 * nodes**2
    if kind in ("one row", "few rows"):
        assert moved <= 2000 * nodes**2 * columns


def _far(index: np.ndarray, rows: int, speeds: tuple[float, ...]) -> int:
    """Return how many elements of an index name rows of another node; shares are of 16 rows."""
    ends = np.cumsum(speeds) / sum(speeds)
    asking = np.searchsorted(ends, (np.arange(len(index)) + 0.5) / len(index))
    owning = np.searchsorted(ends, (index + 0.5) / rows)
    return int(np.count_nonzero(asking != owning)) + 16 * len(speeds) ** 2


@pytest.mark.parametrize("kind", sorted(INDICES))
def test_a_scatter_sends_no_more_than_indices_and_items(kind: str) -> None:
    rng = np.random.default_rng(8)
    rows, speeds = 20_000, (5.0, 3.0, 2.0)
    table, index = rng.random((rows, 4)), INDICES[kind](rng, rows)
    values = rng.random((len(index), 4))
    expected = table.copy()
    expected[index] = values
    with metered_nodes(*speeds, tile_rows=16) as traffic:
        held, asked, given_ = on_nodes(table), on_nodes(index), on_nodes(values)
        copy = held.copy()
        traffic.clear()
        copy[asked] = given_
        computed(copy)
        np.testing.assert_array_equal(np.asarray(copy), expected)
    assert traffic.sent["pick"] <= 1.1 * _far(index, rows, speeds) * (2 + 32) + 4000
    if kind == "dense":  # of equal indices the last alone has to travel
        assert traffic.sent["pick"] <= 0.8 * _far(index, rows, speeds) * (2 + 32)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 3000), st.integers(0, 400), st.integers(1, 300), st.integers(1, 64))
def test_what_is_asked_for_gives_every_element(rows: int, count: int, of: int, item: int) -> None:
    rng = np.random.default_rng(count)
    table = rng.random((rows, item))
    index = rng.integers(0, min(of, rows), count)
    asked, back = asked_for(index, rows, table.itemsize * item)
    answer = table if asked is None else table[asked]
    np.testing.assert_array_equal(answer if back is None else answer[back], table[index])
    sent = answer.nbytes + (0 if asked is None else asked.nbytes)
    small = np.min_scalar_type(rows - 1).itemsize
    assert sent <= min(count * (small + table.itemsize * item), table.nbytes)


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 3000), st.integers(0, 400), st.integers(1, 300))
def test_of_repeated_indices_the_last_is_kept(rows: int, count: int, of: int) -> None:
    index = np.random.default_rng(count).integers(0, min(of, rows), count)
    kept = last_of_each(index, rows)
    if kept is None:
        told: Any = distinct(index, rows)
        assert told is None or count * 64 < rows
        return
    expected = {int(v): k for k, v in enumerate(index)}
    assert sorted(expected.values()) == kept.tolist()


def test_blocks_are_sent_from_where_they_are_fewer_bytes() -> None:
    for item in (1, 8, 400):
        for index in (1, 2, 4):
            rows = 1000
            turn = next(n for n in range(rows + 1) if blocks_are_denser(n, index, rows, item))
            assert turn == -(-rows * item // (index + item))
            assert all(blocks_are_denser(n, index, rows, item) for n in range(turn, rows + 1))
