"""Sums keep one order and lose little."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy import native
from dnumpy.kernels import sums
from dnumpy.kernels.codes import machine_code
from dnumpy.kernels.helpers import STATE_BYTES, helper_source
from dnumpy.kernels.partials import _up_the_tree
from dnumpy.kernels.sums import BLOCK, SHORT, fold_short_axes, sum_runs, sum_tile, sum_tiles


@settings(deadline=None)
@given(st.integers(1, 5000), st.integers(0, 1 << 30), st.sampled_from(("f8", "f4")))
def test_the_error_is_that_of_29_additions_and_a_tree_over_blocks(length, seed, dtype):
    run = (np.random.default_rng(seed).standard_normal(length) * 1e3).astype(dtype)
    exact = math.fsum(run.tolist())
    steps = 30 + math.ceil(math.log2(-(-length // BLOCK)))
    bound = steps * float(np.finfo(dtype).eps) * math.fsum(np.abs(run).tolist())
    assert abs(float(sum_runs(run[None])[0]) - exact) <= bound


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 1300), st.integers(0, 1 << 30))
def test_whole_numbers_are_summed_exactly(rows, length, seed):
    array = np.random.default_rng(seed).integers(-1000, 1000, (rows, length)).astype("f8")
    np.testing.assert_array_equal(sum_runs(array), array.sum(axis=1))
    assert sum_tile(array) == array.sum()


@settings(deadline=None)
@given(st.integers(2, SHORT), st.integers(0, 1 << 30), st.sampled_from(("f8", "f4")))
def test_a_few_last_entries_are_summed_as_numpy_sums_adjacent_ones(count, seed, dtype):
    array = np.random.default_rng(seed).standard_normal((5, 7, count)).astype(dtype)
    array[0, 0] = -0.0
    expected = np.add.reduce(array, axis=2)
    for given_array in (array, np.asfortranarray(array)):
        found = fold_short_axes(np.add, given_array, 1, array.dtype)
        assert found.tobytes() == expected.tobytes()


def test_a_run_no_longer_than_a_block_has_numpys_own_bits():
    for length in (1, 7, 8, 127, 129, 500, BLOCK):
        array = np.random.default_rng(length).random((6, length)).astype("f4")
        assert sum_runs(array).tobytes() == array.sum(axis=1).tobytes()


def test_several_tiles_are_summed_as_each_alone():
    for width in (1, 300, BLOCK, BLOCK + 3):
        rows = np.random.default_rng(width).random((12, width))
        alone = [sum_tile(rows[k : k + 4]) for k in (0, 4, 8)]
        assert sum_tiles(rows, 4).tobytes() == np.array(alone).tobytes()


def test_a_run_does_not_depend_on_its_neighbours():
    array = np.random.default_rng(0).random((7, 3 * BLOCK + 5))
    alone = np.concatenate([sum_runs(array[k : k + 1]) for k in range(7)])
    assert sum_runs(array).tobytes() == alone.tobytes()


@pytest.mark.parametrize("code", ["f4", "f8"])
def test_compiled_sums_add_in_numpys_order_at_every_length(code):
    add, finish = (machine_code(helper_source(name, code)) for name in ("sum", "finish"))
    rng = np.random.default_rng(0)
    for length in [*range(1, 2 * BLOCK + 20), 9 * BLOCK, 50 * BLOCK + 77]:
        run = (rng.standard_normal(length) * 10.0 ** rng.uniform(-5, 5, length)).astype(code)
        state, total = np.zeros(STATE_BYTES // 8, np.int64), np.zeros(1, code)
        add(run.ctypes.data, length, state.ctypes.data)
        finish(state.ctypes.data, total.ctypes.data, 0)
        assert total.tobytes() == sum_runs(run[None]).tobytes(), length


def test_a_sum_of_negative_zeros_is_positive_as_in_numpy():
    assert not np.signbit(sum_runs(np.full((1, 3), -0.0)))
    assert not np.signbit(np.add.reduce(np.full(3, -0.0)))


@pytest.mark.skipif(not native.built, reason="the module in C was not built")
@settings(deadline=None, max_examples=80)
@given(
    st.integers(1, 70),
    st.integers(1, 1400) | st.integers(2040, 2060),
    st.integers(1, 80),
    st.sampled_from("fd"),
    st.data(),
)
def test_the_module_in_c_folds_in_the_same_order(rows, width, tile, kind, data):
    seed = data.draw(st.integers(0, 99))
    draw = np.random.default_rng(seed)
    x = (draw.normal(size=(rows, width)) * 10.0 ** draw.integers(-9, 9, (rows, width))).astype(kind)
    x = laid_apart(x, data.draw(st.sampled_from((1, 2, 3, -1))), data.draw(st.sampled_from((0, 1))))
    tiles = [x[k : k + tile] for k in range(0, rows, tile)]

    def by_numpy(function, *args):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(native, "built", False)
            return function(*args)

    blocks = np.empty((rows, -(-width // sums.BLOCK)), kind)
    assert native.fold("fold_blocks", x, blocks)
    assert blocks.tobytes() == by_numpy(sums._block_sums, x).tobytes()
    folded = np.empty(rows, kind)
    assert native.fold("fold_rows", blocks, folded)
    assert (folded + kind_of(kind)(0)).tobytes() == by_numpy(sums.sum_runs, x).tobytes()
    columns = np.empty((len(tiles), width), kind)
    assert native.fold("fold_columns", x, tile, columns)
    one_by_one = [np.add.accumulate(t, axis=0)[-1] + kind_of(kind)(0) for t in tiles]
    assert columns.tobytes() == np.array(one_by_one, kind).tobytes()
    whole = np.empty(len(tiles), kind)
    assert native.fold("fold_tiles", x, tile, whole)
    assert whole.tobytes() == np.array([by_numpy(sums.sum_tile, t) for t in tiles]).tobytes()
    tree = np.empty(width, kind)
    assert native.fold("fold_tree", columns, tree)
    assert tree.tobytes() == by_numpy(_up_the_tree, np.add, columns)[0].tobytes()
    total = np.empty(width, kind)
    assert native.fold("fold_total", x, tile, total)
    assert total.tobytes() == tree.tobytes()


def laid_apart(x: np.ndarray, step: int, beside: int) -> np.ndarray:
    """Return a view of the same values whose elements are ``step`` apart, with some ``beside``."""
    rows, width = x.shape
    memory = np.full((rows, width * abs(step) + beside), np.nan, x.dtype)
    view = memory[:, : width * abs(step)][:, ::step]
    view[...] = x
    return view


@pytest.mark.skipif(not native.built, reason="the module in C was not built")
@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 40),
    st.integers(1, 1400) | st.integers(2040, 2060),
    st.integers(1, 50),
    st.sampled_from("fd"),
    st.sampled_from(("tiles", "columns", "rows")),
    st.sampled_from((2, 3, -1)),
    st.sampled_from((0, 1)),
)
def test_what_lies_apart_is_folded_as_what_lies_side_by_side(
    rows, width, tile, kind, of, step, beside
):
    x = np.random.default_rng(rows * width).normal(size=(rows, width)).astype(kind)
    axes = {"tiles": (0, 1), "columns": (0,), "rows": (1,)}[of]
    shape = {"tiles": (), "columns": (width,), "rows": (rows,)}[of]
    means = np.asarray(x.mean(axes), kind).reshape(shape)
    apart = laid_apart(x, step, beside)
    for beside_them in (None, means):
        found = [np.empty(shape, kind) for _ in range(2)]
        for given_, out in zip((x, apart), found, strict=True):
            way = sums.way_of(given_.shape, given_.strides, axes)
            if way is None:  # of one column: there is nothing to sum
                assert (of, width) == ("rows", 1)
                return
            assert sums.total(given_, way, tile, out, beside_them)
        assert found[0].tobytes() == found[1].tobytes()


SHAPES = [
    (7, 5, 600), (3, 1, 40), (30, 3), (1, 4, 5), (40, 2, 3, 50), (1, 1, 7), (9, 130, 4),
    (12, 8, 9, 5), (64, 17), (5, 1000), (4, 300, 70),
]  # fmt: skip


@pytest.mark.skipif(not native.built, reason="the module in C was not built")
@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from(SHAPES),
    st.data(),
    st.sampled_from("fd"),
    st.sampled_from((1, 3, 10, 1 << 40)),
    st.integers(1, 3),
)
def test_a_sum_over_any_axes_is_that_of_its_tiles_and_rows(shape, data, kind, tile, threads):
    some = st.sets(st.integers(0, len(shape) - 1), min_size=1)
    axes = tuple(sorted(data.draw(some)))
    draw = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = (draw.normal(size=shape) * 10.0 ** draw.integers(-6, 6, shape)).astype(kind)
    way = sums.way_of(x.shape, x.strides, axes)
    if way is None:
        return
    left = tuple(n for k, n in enumerate(shape) if k not in axes)
    out = np.full(left, np.nan, kind)
    assert sums.total(x, way, tile, out, None, threads)
    assert out.tobytes() == in_tiles(x, axes, tile).tobytes()
    means = np.asarray(np.mean(x, axes), order="C")
    assert sums.total(x, way, tile, out, means, threads)
    beside = (x - np.expand_dims(means, axes)).astype(float) ** 2
    np.testing.assert_allclose(out, beside.sum(axes), rtol=1e-3)
    if way.kind not in {"tiles", "rows"}:
        parts = np.full(
            (-(-len(x) // tile) if 0 in axes else len(x), *left[0 not in axes :]), np.nan
        )
        parts = parts.astype(kind)
        assert sums.sum_tiles_over(x, axes, tile, parts)
        folded = _up_the_tree(np.add, parts)[0] if 0 in axes else parts
        assert folded.tobytes() == in_tiles(x, axes, tile).tobytes()


def in_tiles(x: np.ndarray, axes: tuple[int, ...], tile: int) -> np.ndarray:
    """Return a sum as NumPy's loop and the order of blocks and tiles give it."""
    stays = any(n > 1 for k, n in enumerate(x.shape) if k and k not in axes)
    if 0 not in axes:
        return np.add.reduce(x, axes) if stays else sum_runs(x.reshape(len(x), -1))
    tiles = [x[k : k + tile] for k in range(0, len(x), tile)]
    parts = [np.add.reduce(t, axes) if stays else sum_tile(t.reshape(len(t), -1)) for t in tiles]
    return _up_the_tree(np.add, np.array(parts).reshape(len(parts), -1))[0]


@pytest.mark.skipif(not native.built, reason="the module in C was not built")
def test_sums_over_axes_leave_to_numpy_what_they_do_not_know() -> None:
    x = np.ones((6, 5, 40))
    middle = sums.way_of(x.shape, x.strides, (0, 2))
    assert middle is not None
    assert middle.kind == "middle"
    out = np.empty(5)
    assert sums.total(x, middle, 2, out)
    assert not sums.total(x.astype(int), middle, 2, out)
    assert not sums.total(np.full(x.shape, 1e308), middle, 2, out)  # and the fault is NumPy's
    assert not native.sum_axes(x, "sideways", 2, None, out, True, 1)
    assert sums.way_of(x.shape, x.strides[::-1], (0, 2)) is None
    assert sums.way_of((2, 3, 4, 5), (480, 160, 40, 8), (0, 2)) is None
    with pytest.raises(ValueError, match="memory for 5 sums"):
        sums.total(x, middle, 2, np.empty(4))
    with pytest.raises(ValueError, match="memory for 5 sums"):
        sums.total(x, middle, 2, out, np.empty(4))


def kind_of(kind: str) -> type:
    return np.dtype(kind).type


@pytest.mark.skipif(not native.built, reason="the module in C was not built")
def test_the_module_in_c_leaves_to_numpy_what_it_does_not_know() -> None:
    x = np.ones((6, 40))
    out = np.empty((6, 1))
    assert native.fold("fold_blocks", x, out)
    assert not native.fold("fold_rows", x[:, ::2], out)
    assert not native.fold("fold_blocks", x.astype(int), out)
    assert not native.fold("fold_blocks", x, out.astype("f4"))
    assert not native.fold("fold_blocks", np.full((6, 40), 1e308), out)
    assert not native.fold("fold_columns", x, 0, out)
    with pytest.raises(ValueError, match="memory for 6 sums"):
        native.fold("fold_blocks", x, np.empty((5, 1)))
    with pytest.raises(TypeError):
        native.fold("fold_tree", [1.0], out)
