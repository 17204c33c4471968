"""Folds of leading axes that leave short rows, as of the pixels of a picture, are NumPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from dnumpy import engine
from dnumpy.api import short_rows
from dnumpy.config import config
from tests.gathering import on_nodes, spread_out

if TYPE_CHECKING:
    from collections.abc import Iterator

AXES = [(0, 1), (1, 0), (-3, -2), (0, 2), (1, 2), 0, (0, 0), (0, 5), None]
SHAPES = [(100, 220, 3), (997, 101, 3), (20, 40, 60, 2), (200_003, 3), (90, 100, 8, 8)]


@pytest.fixture(autouse=True)
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "mode", "lazy")
    monkeypatch.setattr(config, "tile_rows_max", 1 << 62)


def leading(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Return the axes before those of a short row."""
    for count in range(1, len(shape)):
        if np.prod(shape[count:]) <= short_rows.SHORT:
            yield tuple(range(count))


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", ["max", "min", "sum", "mean", "var", "std", "any", "all", "prod"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "i8", "f4", "f8", "?", "c16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_folds_are_numpys(shape: tuple[int, ...], dtype: str, name: str, keepdims: bool) -> None:
    values = np.random.default_rng(1).random(shape) * 200
    values = (values - (0 if dtype in {"u1", "?"} else 100)).astype(dtype)
    if name == "prod" and dtype[0] in "fc":
        values = np.ones_like(values)
    ours = dnumpy.array(values)
    for axes in leading(shape):
        found = getattr(ours, name)(axis=axes, keepdims=keepdims)
        expected = getattr(values, name)(axis=axes, keepdims=keepdims)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        if dtype[0] in "fc" or name in {"var", "std"}:
            loose = 1e-3 if dtype == "f4" else 1e-9
            np.testing.assert_allclose(np.asarray(found), expected, rtol=loose, atol=loose)
        else:
            assert np.array_equal(np.asarray(found), expected)


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x + 1, lambda x: x[::-1], lambda x: x.T])
@pytest.mark.parametrize(
    "axis", [(0, 1), (1, 0), (-3, -2), (0, 2), (1, 2), 0, (0, 0), (0, 5), None]
)
def test_whatever_lies_however_is_folded_along_any_axes(make: Any, axis: Any) -> None:
    values = np.random.default_rng(2).integers(0, 99, (150, 160, 4))
    try:
        expected = make(values).max(axis=axis)
    except (ValueError, np.exceptions.AxisError) as problem:
        with pytest.raises(type(problem), match=str(problem).replace("(", r"\(")[:20]):
            make(dnumpy.array(values)).max(axis=axis)
        return
    assert np.array_equal(np.asarray(make(dnumpy.array(values)).max(axis=axis)), expected)


def rows_of(what: Any) -> list[tuple[int, ...]]:
    """Return the rows, and elements of a row, of the arrays that were folded."""
    engine.history.clear()
    np.asarray(what())
    phases = [r.phase for r in engine.history if r.phase is not None]
    return [p.inputs[0].shape for p in phases]


def test_integers_are_folded_as_longer_rows_and_floats_as_a_matrix() -> None:
    picture = np.random.default_rng(3).integers(0, 256, (500, 400, 3)).astype("u1")
    ours = dnumpy.array(picture)
    floats = dnumpy.array(picture / 255.0)
    assert (160, 3750) in rows_of(lambda: ours.max(axis=(0, 1)))
    assert (160, 3750) in rows_of(lambda: ours.mean(axis=(0, 1)))
    assert (200_000, 3) in rows_of(lambda: floats.mean(axis=(0, 1)))
    assert (200_000, 3) in rows_of(lambda: floats.std(axis=(0, 1)))


def test_where_arrays_lie_on_nodes_they_are_folded_there() -> None:
    picture = np.random.default_rng(4).random((300, 400, 3))
    with spread_out(3.0, 1.0):
        ours = on_nodes(picture)
        np.testing.assert_allclose(np.asarray(ours.mean(axis=(0, 1))), picture.mean(axis=(0, 1)))


@pytest.mark.parametrize("rows", [1, 7, 96, 97, 1_000_000, 999_983])
def test_longer_rows_are_of_as_many_as_fit_and_leave_no_rest_if_that_can_be(rows: int) -> None:
    many = short_rows._how_many(rows, 96)
    assert 48 < many <= 96
    fits = [k for k in range(49, 97) if rows % k == 0]
    assert many == max(fits, default=96)


@pytest.mark.parametrize("dtype", ["i4", "i8", "g", "c16"])
@pytest.mark.parametrize("keepdims", [False, True])
def test_variances_in_any_dtype_are_numpys(dtype: str, keepdims: bool) -> None:
    values = np.random.default_rng(5).random((200, 300, 3)) * 100
    expected = values.var(axis=(0, 1), dtype=dtype, keepdims=keepdims)
    found = dnumpy.array(values).var(axis=(0, 1), dtype=dtype, keepdims=keepdims)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_allclose(np.asarray(found), expected)
