"""A roll is a fresh array with NumPy's content, however it is computed."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy as np
from dnumpy import engine

pytestmark = pytest.mark.usefixtures("managed")

DTYPES = ["?", "u1", "i2", "i8", "f4", "f8", "c16"]
SHAPES = [(11,), (1,), (3, 7), (9, 4), (5, 1, 6)]


def values_of(shape: tuple[int, ...], dtype: str) -> numpy.ndarray:
    count = int(numpy.prod(shape))
    return (numpy.arange(count).reshape(shape) * 37 % 11).astype(dtype)


@st.composite
def rolls(draw: st.DrawFn) -> tuple[numpy.ndarray, list[tuple[Any, Any]]]:
    shape = draw(st.sampled_from(SHAPES))
    values = values_of(shape, draw(st.sampled_from(DTYPES)))
    axes = st.integers(-len(shape), len(shape) - 1)
    shifts = st.integers(-13, 13)
    one = st.one_of(
        st.tuples(shifts, st.none()),
        st.tuples(shifts, axes),
        st.lists(st.tuples(shifts, axes), min_size=1, max_size=3).map(
            lambda pairs: tuple(zip(*pairs, strict=True))
        ),
    )
    return values, draw(st.lists(one, min_size=1, max_size=5))


@given(rolls())
def test_rolls_read_together_are_numpys(case: tuple[numpy.ndarray, list[tuple[Any, Any]]]) -> None:
    values, moves = case

    def total(xp: Any, a: Any) -> Any:
        found = a
        for shift, axis in moves:
            found = found + xp.roll(a, shift, axis)
        return found

    found, expected = total(np, np.array(values) + np.array(values)), total(numpy, values + values)
    assert found.dtype == expected.dtype
    assert numpy.array_equal(numpy.asarray(found), expected)


@given(rolls())
def test_rolls_that_are_held_are_numpys(case: tuple[numpy.ndarray, list[tuple[Any, Any]]]) -> None:
    values, moves = case
    array = np.array(values)
    held = [np.roll(array, *move) for move in moves]
    summed = sum(held[1:], start=held[0])
    assert numpy.array_equal(
        numpy.asarray(summed),
        sum((numpy.roll(values, *m) for m in moves[1:]), start=numpy.roll(values, *moves[0])),
    )
    for roll, move in zip(held, moves, strict=True):
        expected = numpy.roll(values, *move)
        assert (roll.strides, roll.shape) == (expected.strides, expected.shape)
        assert numpy.array_equal(numpy.asarray(roll), expected)


@given(rolls(), st.integers(0, 3))
def test_rolls_of_rolls_are_rolls_of_the_array(
    case: tuple[numpy.ndarray, list[tuple[Any, Any]]], copied: int
) -> None:
    values, moves = case
    ours, expected = np.array(values), values
    for k, move in enumerate(moves):
        ours, expected = np.roll(ours, *move), numpy.roll(expected, *move)
        if k == copied:
            ours, expected = ours.copy(), expected.copy()
    assert ours.strides == expected.strides
    assert numpy.array_equal(numpy.asarray(ours), expected)


def test_rolls_of_neighbours_share_one_padded_copy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(np.config, "mode", "default")
    monkeypatch.setattr(np.config, "eager_below", 64)
    values = numpy.arange(64 * 64.0).reshape(64, 64)

    def around(xp: Any, x: Any) -> Any:
        moves = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
        return sum(xp.roll(xp.roll(x, i, 0), j, 1) for i, j in moves)

    found = around(np, np.array(values))
    if np.config.cluster != "off" and np.engine.has_workers():
        pytest.skip("stages of workers are others")
    stages = np.explain(found).to_dict()["stages"]
    assert numpy.array_equal(numpy.asarray(found), around(numpy, values))
    assert [stage["what"] for stage in stages].count("wrap") <= 1


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_a_roll_has_memory_of_its_own(axis: int | None) -> None:
    for xp in (np, numpy):
        array = xp.array(values_of((6, 5), "f8"))
        up, down = xp.roll(array, 1, axis), xp.roll(array, -1, axis)
        array[0] = 50.0
        both = up + down
        up[1] = 7.0
        down *= 2
        assert (up.base is None) == (axis is not None)
        assert up.flags.writeable
        assert up.flags.c_contiguous
        state = [numpy.asarray(x).copy() for x in (array, up, down, both)]
        if xp is np:
            found = state
    for ours, theirs in zip(found, state, strict=True):
        assert numpy.array_equal(ours, theirs)


def test_a_roll_after_one_that_was_read_is_of_the_new_content() -> None:
    array = np.array(values_of((8, 8), "i8")) + 0
    first = np.roll(array, 1, 0) + np.roll(array, 1, 1)
    array[2] += 1
    second = np.roll(array, 1, 0) + np.roll(array, 1, 1)
    before = values_of((8, 8), "i8")
    after = before.copy()
    after[2] += 1
    assert numpy.array_equal(
        numpy.asarray(second), numpy.roll(after, 1, 0) + numpy.roll(after, 1, 1)
    )
    assert numpy.array_equal(
        numpy.asarray(first), numpy.roll(before, 1, 0) + numpy.roll(before, 1, 1)
    )


def test_rolls_of_a_transposed_array_keep_its_order() -> None:
    values = values_of((5, 8), "f8")
    found = np.roll(np.array(values).T, 1, 0)
    expected = numpy.roll(values.T, 1, 0)
    assert found.strides == expected.strides
    assert numpy.array_equal(numpy.asarray(found), expected)


def generation(xp: Any, board: Any) -> Any:
    around = xp.zeros_like(board)
    for shift in [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]:
        around += xp.roll(board, shift, axis=(0, 1))
    return ((around == 3) | ((board == 1) & (around == 2))).astype(board.dtype)


def test_a_generation_is_one_padded_copy_and_one_phase() -> None:
    board = (values_of((40, 30), "u1") > 6).astype("u1")
    expected = generation(numpy, generation(numpy, board))
    ours = np.array(board)
    engine.history.clear()  # which keeps the latest runs alone
    found = numpy.asarray(generation(np, generation(np, ours)))
    assert numpy.array_equal(found, expected)
    done = [record.what for record in engine.history]
    assert [what == "wrap" for what in done] == [True, False, True, False]


LONG = [(1300,), (7, 600), (1, 513), (3, 4, 5), (40, 3)]


@given(
    st.sampled_from(LONG),
    st.sampled_from(["u1", "i8", "f4", "c16"]),
    st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1, max_size=4),
    st.sampled_from(["nothing", "itself", "a view", "a sum", "a sum over rows", "what is held"]),
)
def test_what_else_reads_an_array_reads_the_inside_of_its_padded_copy(
    shape: tuple[int, ...], dtype: str, moves: list[list[int]], also: str
) -> None:
    values = values_of(shape, dtype)
    axes = tuple(range(len(shape)))

    def step(xp: Any, a: Any) -> tuple[Any, Any]:
        x = a + a
        total = xp.zeros_like(x)
        for move in moves:
            total = total + xp.roll(x, move[: len(shape)], axes)
        if also == "itself":
            total = total * x + x
        if also == "a view":
            total = total + x[..., ::-1]
        if also == "a sum":
            total = total - x.sum(axis=-1, keepdims=True)
        if also == "a sum over rows":
            total = total - x.sum(axis=0)
        return total, x if also == "what is held" else None

    ours, theirs = np.array(values), values
    for _ in range(3):
        (ours, held), (theirs, expected) = step(np, ours), step(numpy, theirs)
    assert numpy.asarray(ours).dtype == theirs.dtype
    assert numpy.array_equal(numpy.asarray(ours), theirs)
    assert held is None or numpy.array_equal(numpy.asarray(held), expected)


@pytest.mark.parametrize("shape", [(5000,), (20, 600)])
def test_generations_are_computed_between_the_margins_of_their_copies(
    shape: tuple[int, ...],
) -> None:
    values = values_of(shape, "f8")

    def steps(xp: Any, u: Any) -> Any:
        for _ in range(4):
            u = u + 0.25 * (xp.roll(u, 1, 0) - 2 * u + xp.roll(u, -1, -1))
        return u

    ours = np.array(values)
    engine.history.clear()
    found = numpy.asarray(steps(np, ours))
    assert numpy.array_equal(found, steps(numpy, values))
    copies = [record.what for record in engine.history].count("wrap")
    assert copies == (4 if np.config.mode == "split" else 1)  # nodes exchange their margins


def test_zeros_that_were_written_to_are_zeros_no_longer() -> None:
    for write in (
        lambda a: a.__setitem__(3, 1.0),
        lambda a: a.__setitem__(slice(2, 4), 1.0),
        lambda a: a[3:5].__iadd__(2.0),
        lambda a: numpy.asarray(a).__setitem__(3, 1.0),
        lambda a: a.fill(4.0),
        lambda a: a.__setitem__(a == 0, 3.0),
        lambda a: a.sort(),
        lambda a: a.put([1, 2], [5.0, 6.0]),
    ):
        ours, theirs = np.zeros(40), numpy.zeros(40)
        before, after = ours + 1, theirs + 1
        write(ours)
        write(theirs)
        assert numpy.array_equal(numpy.asarray(ours + 1), theirs + 1)
        assert numpy.array_equal(numpy.asarray(before), after)
        ours += 1
        assert numpy.array_equal(numpy.asarray(ours), theirs + 1)
