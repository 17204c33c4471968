"""What C does in full for small arrays is NumPy's: joins, rolls, picks, views."""

# ruff: noqa: B023 - what is made in a loop is called in it

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import dnumpy
from tests.native.test_loops import NUMBERS, SHAPES, compare, described, laid_out, told, values

pytestmark = pytest.mark.modeless("they run at once")

TYPES = "?bHlqefdgFD"
BOUNDS = (None, None, 0, 1, -1, 2, -2, 5, -9, 100)


def drawn(seed: int, shape: tuple[int, ...] | None = None) -> tuple[np.random.Generator, Any]:
    draw = np.random.default_rng(seed)
    kind = TYPES[draw.integers(len(TYPES))]
    shape = SHAPES[draw.integers(len(SHAPES))] if shape is None else shape
    return draw, laid_out(draw, values(draw, kind, shape))


@pytest.mark.parametrize("name", ["concatenate", "stack", "vstack", "hstack"])
def test_joining(name: str) -> None:
    for seed in range(300):
        draw, first = drawn(seed)
        shape = first.shape if draw.random() < 0.8 else SHAPES[draw.integers(len(SHAPES))]
        kind = first.dtype if draw.random() < 0.9 else np.dtype("f4")
        rest = [laid_out(draw, values(draw, kind.char, shape)) for _ in range(draw.integers(3))]
        axes = ({}, {}, {"axis": 0}, {"axis": 1}, {"axis": -1}, {"axis": None}, {"axis": 2**70})
        named = axes[draw.integers(len(axes))] if name in {"concatenate", "stack"} else {}
        compare(lambda module, *arrays: getattr(module, name)(arrays, **named), (first, *rest))
        compare(lambda module, *arrays: getattr(module, name)(list(arrays)), (first, *rest))


def test_rolling() -> None:
    shifts = (0, 1, -1, 3, -40, 100, (1, 2), 1.5, 2**70)
    for seed, shift in itertools.product(range(60), shifts):
        draw, x = drawn(seed)
        axis = (None, 0, 1, -1, -2, 5, (0, 1))[draw.integers(7)]
        compare(lambda module, a: module.roll(a, shift, axis=axis), (x,))
        compare(lambda module, a: module.roll(a, shift), (x,))


@pytest.mark.parametrize("name", ["any", "all"])
def test_truth(name: str) -> None:
    for seed in range(200):
        _, x = drawn(seed)
        for array in (x, np.asarray(x != 0)):
            compare(lambda module, a: getattr(module, name)(a), (array,))
            compare(lambda _, a: getattr(a, name)(), (array,))


def test_limits() -> None:
    for seed, least, most in itertools.product(
        range(40), (0, -1, None, 0.5, 300, 1e300, np.nan), (2, None, 0.7, -(2**70))
    ):
        _, x = drawn(seed)
        compare(lambda module, a: module.clip(a, least, most), (x,))
        compare(lambda _, a: a.clip(least, most), (x,))


def test_neighbours_and_pairs() -> None:
    for seed in range(300):
        draw, x = drawn(seed)
        compare(lambda module, a: module.diff(a), (x,))
        compare(lambda module, a, b: module.outer(a, b), (x, drawn(seed + 1)[1]))
        mask = draw.random(x.shape) < 0.5
        compare(lambda module, m, a: module.where(m, a, a[::-1] if a.ndim else a), (mask, x))
        compare(lambda _, a, m: a[m], (x, mask))


def test_picking_by_numbers() -> None:
    for seed in range(400):
        draw, x = drawn(seed, (int(np.random.default_rng(seed).integers(1, 20)),))
        shape = ((3,), (2, 3), (0,), (50,), (1,), ())[draw.integers(6)]
        beyond = int(draw.random() < 0.1)
        index = draw.integers(-len(x) - beyond, len(x) + beyond, shape)
        index = laid_out(draw, index.astype("lliq"[draw.integers(4)]))
        compare(lambda _, a, i: a[i], (x, index))
        new = laid_out(draw, values(draw, x.dtype.char, index.shape))
        number = NUMBERS[draw.integers(len(NUMBERS))]

        def written(module: Any, a: Any, i: Any, v: Any) -> Any:
            target = module.array(a)
            target[i] = v
            return target

        compare(written, (x, index, new))
        compare(written, (x, index, number))


def test_numbers_that_lie_in_the_array_itself() -> None:
    expected, found = np.arange(5)[::-1].copy(), dnumpy.arange(5)[::-1].copy()
    expected[expected] = expected[::-1]
    found[found] = found[::-1]
    assert found.tolist() == expected.tolist()


def part(draw: np.random.Generator) -> Any:
    kind = draw.integers(6)
    if kind < 3:
        start, stop = (BOUNDS[draw.integers(len(BOUNDS))] for _ in range(2))
        return slice(start, stop, (None, None, 1, 2, -1, -3)[draw.integers(6)])
    return int(draw.integers(-3, 4)) if kind == 3 else (None, Ellipsis)[kind - 4]


def test_views() -> None:
    for seed in range(3000):
        draw, x = drawn(seed)
        parts = tuple(part(draw) for _ in range(draw.integers(4)))
        key = parts[0] if len(parts) == 1 and draw.random() < 0.7 else parts
        ours = dnumpy.asarray(x)
        expected, found = told(lambda: x[key]), told(lambda: ours[key])
        assert described(found[0]) == described(expected[0])
        if isinstance(expected[0], np.ndarray):
            assert np.shares_memory(x, expected[0]) == dnumpy.shares_memory(ours, found[0])
            for flag in ("C", "F", "ALIGNED", "WRITEABLE", "OWNDATA"):
                assert found[0].flags[flag] == expected[0].flags[flag], flag


def test_views_of_views_end_without_recursion() -> None:
    x = dnumpy.arange(3)
    for _ in range(100_000):
        x = x[:]
    del x


def test_what_is_written_to_a_view_is_seen() -> None:
    x = dnumpy.zeros((4, 4))
    x[1:3, ::2][:, 0] = 7.0
    assert x[:, 0].tolist() == [0, 7, 7, 0]
    frozen = dnumpy.arange(4)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        frozen[1:][0] = 1


def test_copies_and_other_shapes() -> None:
    shapes = ((-1,), (-1, 1), (2, -1), (1, -1, 1), ((-1, -1),), ((3, 4),), ([12],), (4, 3),
              (0, -1), (np.int64(-1),), (2**70,), ())  # fmt: skip
    for seed in range(150):
        _, x = drawn(seed)
        compare(lambda _, a: a.copy(), (x,))
        for wanted in shapes:
            compare(lambda _, a: a.reshape(*wanted), (x,))
        for dtype in (float, int, bool, complex, "f4", np.float32, "i2", str, np.dtype(">f8")):
            compare(lambda _, a: a.astype(dtype), (x,))


EXTENTS = (0, 3, (), (3,), (2, 3), (0, 2), -1, (2, -1), 2.0, True, np.int64(3), [2, 3], 2**70,
           (2**40, 2**40), "x", None, (100, 100))  # fmt: skip
DTYPES = (None, float, int, bool, np.float64, np.float32, "f4", np.dtype("i2"), complex)


@pytest.mark.parametrize("name", ["zeros", "ones"])
def test_arrays_of_a_shape(name: str) -> None:
    for shape, dtype in itertools.product(EXTENTS, DTYPES):
        compare(lambda module: getattr(module, name)(shape), ())
        compare(lambda module: getattr(module, name)(shape, dtype), ())
        compare(lambda module: getattr(module, name)(shape=shape, dtype=dtype), ())
        compare(lambda module: getattr(module, name)(shape, dtype=dtype, order="F"), ())


def test_arrays_of_one_number() -> None:
    numbers = (0, 1.5, -3, 2**70, True, np.float32(2), 1j, "a", [1, 2, 3], float("nan"))
    for shape, number in itertools.product(EXTENTS, numbers):
        compare(lambda module: module.full(shape, number), ())
        compare(lambda module: module.full(shape, number, float), ())


def test_ranges() -> None:
    bounds = (0, 1, 5, -3, 10, 2.5, True, np.int64(4), np.int8(3), 9000, None)
    for count in (1, 2, 3):
        for given in itertools.product(bounds, repeat=count):
            compare(lambda module: module.arange(*given), ())


LISTS = (
    [], [1, 2], [1.0, 2.0], [1, 2.0], [True, False], [True, 1], [2**63], [2**62, -1], [-1],
    [[1, 2], [3, 4]], [[1.0, 2.0], [3.0, 4.0]], [[1, 2], [3.0, 4]], [[1, 2], [3]], [[], []],
    (1, 2), ((1.0, 2.0), (3.0, 4.0)), [(1, 2), [3, 4]], [[1, 2], 3], ["a", "b"], [1, "a"], [1j],
    [[[1, 2]]], [np.float64(1), 2.0], [-(2**63)], [-(2**63) - 1], [[1, 2**64], [1, 2]],
)  # fmt: skip


@pytest.mark.parametrize("numbers", LISTS)
def test_lists_of_numbers(numbers: Any) -> None:
    compare(lambda module: module.array(numbers), ())
    compare(lambda module: module.array(numbers, float), ())
    compare(lambda module: module.asarray(numbers), ())


def test_regions_are_written_to() -> None:
    for seed in range(2000):
        draw, x = drawn(seed)
        parts = tuple(part(draw) for _ in range(draw.integers(4)))
        key = parts[0] if len(parts) == 1 and draw.random() < 0.7 else parts
        way = draw.integers(4)
        shape = SHAPES[draw.integers(len(SHAPES))] if way == 0 else told(lambda: x[key].shape)[0]
        fits = isinstance(shape, tuple) and way < 3
        kind = x.dtype.char if draw.random() < 0.8 else "d"
        new = (
            laid_out(draw, values(draw, kind, shape))
            if fits
            else NUMBERS[draw.integers(len(NUMBERS))]
        )

        def written(module: Any, a: Any, v: Any) -> Any:
            target = module.array(a)
            target[key] = v
            return target

        compare(written, (x, new))


def test_regions_that_overlap() -> None:
    keys = ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None)),
            (slice(None, None, -1), slice(None)), (slice(1, -1), slice(1, -1)),
            (slice(0, 3), slice(2, 5)), (slice(2, 5), slice(0, 5, 2)),
            (slice(0, 5, 2), slice(0, 3)), (slice(4, 1, -1), slice(1, 4)))  # fmt: skip
    for shape, (to, read) in itertools.product(((7,), (7, 6), (5, 2, 3)), keys):
        whole = np.arange(np.prod(shape), dtype=float).reshape(shape)

        def shifted(module: Any, a: Any) -> Any:
            target = module.array(a)
            target[to] = target[read]
            target[..., :1] = target[..., -1:]
            target[to] += target[read]
            return target

        compare(shifted, (whole,))


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_places_of_extremes(name: str) -> None:
    for seed in range(400):
        draw, x = drawn(seed)
        if x.dtype.kind == "f" and x.size and draw.random() < 0.3:
            x.flat[draw.integers(x.size)] = np.nan
        compare(lambda module, a: getattr(module, name)(a), (x,))
        compare(lambda _, a: getattr(a, name)(), (x,))
        compare(lambda _, a: getattr(a, name)(axis=-1), (x,))


def test_lengths_of_vectors() -> None:
    for seed in range(200):
        _, x = drawn(seed)
        compare(lambda module, a: module.linalg.norm(a), (x,))
        compare(lambda module, a: module.linalg.norm(a, axis=0), (x,))
    huge = np.full(4, 1e200)
    compare(lambda module, a: module.linalg.norm(a), (huge,))


def test_shapes_of_lists_of_views() -> None:
    x = np.arange(12.0)
    compare(lambda module, a: module.concatenate(module.split(a, 3)[::-1]), (x,))
    ours = dnumpy.array(x)
    first, _ = dnumpy.split(ours, 2)
    first[0] = 99
    assert ours[0] == 99
    assert first.base is ours
