"""A phase that fills regions of another array is computed where they go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy as dnp
from dnumpy import engine
from dnumpy.config import config
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.cluster import _Run
from dnumpy.runtime.graph import Range
from dnumpy.runtime.placed import PlacedRows

if TYPE_CHECKING:
    from collections.abc import Iterator

SPLITS = [(1.0,), (1.0, 1.0), (3.0, 1.0, 2.0), (1.0, 5.0, 1.0, 1.0)]


@pytest.fixture(autouse=True)
def split() -> Iterator[None]:
    kept = config.mode, config.eager_below, config.split_rows, config.tile_rows_max
    config.mode, config.eager_below, config.tile_rows_max = "split", 0, 7
    yield
    config.mode, config.eager_below, config.split_rows, config.tile_rows_max = kept


def sweep(np_: Any, u: Any, edge: tuple[int, int], columns: tuple[int, int]) -> Any:
    """Replace the inside of a grid by a mean of its neighbours."""
    (top, bottom), (left, right) = edge, columns
    rows, width = u.shape
    inner = slice(top, rows - bottom), slice(left, width - right)
    up = slice(top - 1, rows - bottom - 1), inner[1]
    down = slice(top + 1, rows - bottom + 1) if bottom else slice(top, rows), inner[1]
    below = u[down]
    u[inner] = 0.5 * (u[up] + np_.sqrt(np_.abs(below)))
    return u


@settings(max_examples=40, deadline=None)
@given(
    st.integers(100, 400),
    st.integers(2, 6),
    st.tuples(st.integers(1, 2), st.integers(0, 2)),
    st.tuples(st.integers(0, 1), st.integers(0, 1)),
    st.sampled_from(SPLITS),
    st.integers(1, 3),
)
def test_a_grid_updated_inside_is_numpys_for_any_edges_and_nodes(
    rows: int,
    width: int,
    edge: tuple[int, int],
    columns: tuple[int, int],
    speeds: tuple[float, ...],
    sweeps: int,
) -> None:
    config.split_rows = speeds
    start = np.random.default_rng(rows).random((rows, width))
    theirs, ours = start.copy(), dnp.array(start)
    for _ in range(sweeps):
        theirs, ours = sweep(np, theirs, edge, columns), sweep(dnp, ours, edge, columns)
    assert np.array_equal(np.asarray(ours), theirs)


def test_a_sweep_is_one_stage_without_an_update() -> None:
    config.split_rows = (2.0, 1.0)
    start = np.random.default_rng(1).random((300, 5))
    theirs, ours = start.copy(), dnp.array(start)
    engine.history.clear()
    for _ in range(3):
        ours = sweep(dnp, ours, (1, 1), (1, 1))
        theirs = sweep(np, theirs, (1, 1), (1, 1))
    engine.compute([ours._buf.expr])
    assert len(engine.history) == 3
    assert all(record.phase is not None for record in engine.history)
    assert np.array_equal(np.asarray(ours), theirs)


@pytest.mark.parametrize("lost", [(0, 3), (50, 80), (7, 9), (290, 300)])
def test_any_rows_are_computed_again_alike(lost: tuple[int, int]) -> None:
    config.split_rows = (2.0, 1.0)
    start = np.random.default_rng(1).random((300, 5))
    x = dnp.array(start)
    x[1:-1] = np.float64(0.5) * (x[:-2] + x[2:])
    engine.compute([x._buf.expr])
    value = x._buf.expr.value
    assert isinstance(value, Chunked)
    producer = value.source.producer
    assert isinstance(producer, PlacedRows)
    run = _Run(value.home)
    ((_, ref),) = producer.build(run.graph, [Range("node-0", *lost)])
    made = value.home.run(run.graph, [ref], [])[ref.key]
    expected = start.copy()
    expected[1:-1] = 0.5 * (start[:-2] + start[2:])
    assert np.array_equal(made.rows[0], expected[slice(*lost)])


def turn(u: Any, top: int, bottom: int) -> Any:
    """Turn points where they lie, but some at the ends, and count in the third column."""
    inner = slice(top, len(u) - bottom)
    x, y = u[inner, 0], u[inner, 1]
    u[inner, 0], u[inner, 1], u[inner, 2] = x * 0.5 - y, x + y * 0.5, u[inner, 2] + 1.0
    return u


@settings(max_examples=40, deadline=None)
@given(
    st.integers(60, 400),
    st.integers(3, 6),
    st.tuples(st.integers(0, 9), st.integers(0, 9)),
    st.sampled_from(SPLITS),
    st.integers(1, 3),
)
def test_columns_filled_in_turn_are_numpys_for_any_edges_and_nodes(
    rows: int, width: int, edge: tuple[int, int], speeds: tuple[float, ...], turns: int
) -> None:
    config.split_rows = speeds
    start = np.random.default_rng(rows).random((rows, width))
    theirs, ours = start.copy(), dnp.array(start)
    engine.history.clear()
    for _ in range(turns):
        theirs, ours = turn(theirs, *edge), turn(ours, *edge)
    engine.compute([ours._buf.expr])
    assert len(engine.history) <= 4 * turns  # what only a small part is placed in comes by itself
    assert np.array_equal(np.asarray(ours), theirs)


@pytest.mark.parametrize("lost", [(0, 3), (50, 80), (7, 9), (290, 300)])
def test_any_rows_of_columns_are_computed_again_alike(lost: tuple[int, int]) -> None:
    config.split_rows = (2.0, 1.0)
    start = np.random.default_rng(1).random((300, 5))
    x = turn(dnp.array(start), 1, 4)
    engine.compute([x._buf.expr])
    value = x._buf.expr.value
    assert isinstance(value, Chunked)
    producer = value.source.producer
    assert isinstance(producer, PlacedRows)
    assert len(producer.regions) == 3
    run = _Run(value.home)
    ((_, ref),) = producer.build(run.graph, [Range("node-0", *lost)])
    made = value.home.run(run.graph, [ref], [])[ref.key]
    assert np.array_equal(made.rows[0], turn(start.copy(), 1, 4)[slice(*lost)])
