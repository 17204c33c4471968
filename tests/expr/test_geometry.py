"""Geometries say where a view lies, as NumPy's own views do."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.expr.geometry import (
    Geometry,
    address_of,
    contiguous_strides,
    copies_over_itself,
)
from tests.strategies import filled_shapes, keys, managed_dtypes, shapes


def view_and_geometry(draw: Any, base: np.ndarray) -> tuple[np.ndarray, Geometry]:
    view: Any = base
    for _ in range(draw(st.integers(0, 2))):
        picked = view[draw(keys(view.shape))]
        view = picked if isinstance(picked, np.ndarray) else view
    if draw(st.booleans()):
        view = view.T
    offset = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    return view, Geometry(offset, view.shape, view.strides, view.dtype)


@given(st.data(), filled_shapes, managed_dtypes)
def test_the_address_is_that_of_the_first_element(
    data: st.DataObject, shape: tuple[int, ...], dtype: np.dtype
) -> None:
    view, _ = view_and_geometry(data.draw, np.zeros(shape, dtype))
    assert address_of(view) == view.__array_interface__["data"][0]


@given(shapes, managed_dtypes)
def test_contiguous_strides_are_numpys(shape: tuple[int, ...], dtype: np.dtype) -> None:
    made = np.empty(shape, dtype)
    assert contiguous_strides(shape, dtype.itemsize) == made.strides
    assert Geometry(0, shape, made.strides, dtype).is_whole(shape, dtype)


@given(st.data(), shapes)
def test_a_geometry_over_the_base_is_the_view(data: st.DataObject, shape: tuple[int, ...]) -> None:
    base = np.arange(int(np.prod(shape))).reshape(shape)
    view, geometry = view_and_geometry(data.draw, base)
    np.testing.assert_array_equal(geometry.over(base), view)
    if view.size:
        assert geometry.over(base).__array_interface__["data"] == view.__array_interface__["data"]


@given(st.data(), filled_shapes)
def test_a_row_map_says_which_row_of_the_base_each_row_lies_in(
    data: st.DataObject, shape: tuple[int, ...]
) -> None:
    base = np.arange(int(np.prod(shape))).reshape(shape)
    view, geometry = view_and_geometry(data.draw, base)
    found = geometry.row_map(base.shape, base.dtype)
    if not view.ndim or not view.size:
        assert found is None
        return
    rows = [set((row.ravel() // (base.size // shape[0])).tolist()) for row in view]
    inside = all(len(r) == 1 for r in rows)
    if found is not None:
        assert rows == [{found.start + found.step * k} for k in range(len(view))]
    elif inside:  # the only reason left: rows do not step evenly, or do not step at all
        steps = np.diff([r.pop() for r in rows])
        assert steps.size
        assert (steps == 0).any() or geometry.strides[0] % (base.nbytes // shape[0])


@given(st.data(), filled_shapes)
def test_a_box_is_exactly_what_the_view_shows(data: st.DataObject, shape: tuple[int, ...]) -> None:
    base = np.arange(int(np.prod(shape))).reshape(shape)
    view, geometry = view_and_geometry(data.draw, base)
    box = geometry.box_in(base.shape, base.dtype)
    if box is not None:
        region = base[tuple(slice(lo, hi) for lo, hi in box)]
        assert sorted(region.ravel()) == sorted(view.ravel())


def test_an_axis_aligned_slice_is_a_box() -> None:
    base = np.zeros((6, 7))
    view = base[2:5, 3:]
    offset = view.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    geometry = Geometry(offset, view.shape, view.strides, view.dtype)
    assert geometry.box_in(base.shape, base.dtype) == ((2, 5), (3, 7))


_lines = st.tuples(st.integers(0, 20), st.sampled_from([1, 2, 3, -1, -2])).filter(
    lambda line: line[0] + 7 * line[1] >= 0
)


@given(_lines, _lines)
def test_a_copy_not_said_to_go_over_itself_is_one_by_way_of_a_temporary(
    target: tuple[int, int], source: tuple[int, int]
) -> None:
    count = 8
    into, out_of = (
        Geometry(8 * start, (count,), (8 * step,), np.dtype(int))
        for start, step in (target, source)
    )
    once, at_once = np.arange(64), np.arange(64)
    into.over(once)[...] = out_of.over(once)
    into.over(at_once)[...] = out_of.over(at_once).copy()
    assert copies_over_itself(into, out_of) or np.array_equal(once, at_once)
