"""Runs that the module in C binds have the results and the faults of those that Python binds."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from dnumpy import native
from dnumpy.expr.expr import Const
from dnumpy.kernels.numba import NumbaKernel
from dnumpy.kernels.tiled import TiledKernel
from tests.kernels import phases as p
from tests.kernels.test_numba import only, stored

pytestmark = pytest.mark.skipif(not native.built, reason="the module in C was not built")

ROWS = 700


def scaled(x, y, scale):
    return p.apply("add", p.apply("multiply", x, Const(scale)), y)


def runs_noted(kernel, values, outs, lo=0, hi=ROWS, origin=0):
    """Return how many runs the module in C made of this one: each has a begin and an end."""
    times: list[float] = []
    native.note_runs(times, lambda: 0.0)
    try:
        faults = kernel.run(values, outs, lo, hi, origin)
    finally:
        native.note_runs(None, None)
    assert len(times) % 2 == 0
    return len(times) // 2, faults


@pytest.fixture
def bound():
    rng = np.random.default_rng(0)
    x, y = (stored(rng.random((ROWS, 9))) for _ in range(2))
    return only(scaled(x, y, 2.5), 4096)


def expected_of(bound, values):
    (expected,) = outs = bound.allocate()
    TiledKernel(bound.phase).run(values, outs, 0, ROWS)
    return expected


def test_operands_that_lie_as_before_are_bound_in_c(bound):
    kernel, rng = NumbaKernel(bound.phase), np.random.default_rng(1)
    for k in range(4):
        values = [rng.random(v.shape) if isinstance(v, np.ndarray) else v for v in bound.values]
        (out,) = outs = bound.allocate()
        assert runs_noted(kernel, values, outs) == (int(k > 0), set())
        assert p.bits(out) == p.bits(expected_of(bound, values))


@pytest.mark.parametrize("number", [0.0, -0.0, np.nan, 1e308, 3, True, np.float64(0.1), 1 << 80])
def test_other_numbers_are_those_that_are_read(bound, number):
    kernel = NumbaKernel(bound.phase)
    for scale in (2.5, number, 2.5, number, number):
        values = [v if isinstance(v, np.ndarray) else scale for v in bound.values]
        (out,) = outs = bound.allocate()
        with np.errstate(all="ignore"):
            kernel.run(values, outs, 0, ROWS)
            assert p.bits(out) == p.bits(expected_of(bound, values)), scale


def test_what_lies_in_another_way_is_bound_in_python(bound):
    kernel, rng = NumbaKernel(bound.phase), np.random.default_rng(2)
    wide = rng.random((ROWS, 30))
    ways = [
        lambda v: v,
        lambda _: wide[:, 3:12],
        lambda v: v[::-1],
        np.asfortranarray,
        lambda v: np.broadcast_to(v[:1], v.shape),
        lambda v: v,
    ]
    for way in (*ways, *ways):
        values = [way(v) if isinstance(v, np.ndarray) else v for v in bound.values]
        (out,) = outs = bound.allocate()
        kernel.run(values, outs, 0, ROWS)
        assert p.bits(out) == p.bits(expected_of(bound, values))


def test_rows_of_a_block_are_counted_from_its_origin(bound):
    kernel = NumbaKernel(bound.phase)
    expected = expected_of(bound, bound.values)
    for lo, hi in ((0, 200), (200, 400), (400, 600)):
        values = [v[lo:hi] if isinstance(v, np.ndarray) else v for v in bound.values]
        (out,) = bound.allocate()
        made, _ = runs_noted(kernel, values, [out[lo:hi]], lo, hi, lo)
        assert made == int(lo > 0)
        assert p.bits(out[lo:hi]) == p.bits(expected[lo:hi])


def test_an_output_that_may_lie_where_an_operand_does_is_left_to_python(bound):
    kernel = NumbaKernel(bound.phase)
    memory = np.random.default_rng(3).random((2 * ROWS, 9))
    for _ in range(3):
        apart = memory.copy()
        values = [apart[:ROWS] if isinstance(v, np.ndarray) else v for v in bound.values]
        kept = [v.copy() if isinstance(v, np.ndarray) else v for v in values]
        made, _ = runs_noted(kernel, values, [apart[100 : 100 + ROWS]])
        assert made == 0
        outs = bound.allocate()
        kernel.run(kept, outs, 0, ROWS)


def test_faults_are_told_of(bound):
    kernel = NumbaKernel(bound.phase)
    (out,) = outs = bound.allocate()
    for k in range(3):
        values = [np.full(v.shape, 1e308) if isinstance(v, np.ndarray) else v for v in bound.values]
        with np.errstate(all="ignore"):
            made, faults = runs_noted(kernel, values, outs)
        assert made == int(k > 0)
        assert faults == {(0, "overflow")}
        assert np.all(out == np.inf)


def test_partial_results_of_any_number_of_tiles_are_written():
    x = stored(np.random.default_rng(4).random((ROWS, 9)))
    bound = only(p.fold("add", scaled(x, x, 0.5), (0, 1), keepdims=False), 4096)
    kernel, tile = NumbaKernel(bound.phase), bound.phase.tile_rows
    (expected,) = whole = bound.allocate()
    TiledKernel(bound.phase).run(bound.values, whole, 0, ROWS)
    (parts,) = bound.allocate()
    assert len(parts) > 3
    for number, lo in enumerate(range(0, ROWS, tile)):
        hi = min(lo + tile, ROWS)
        made, _ = runs_noted(kernel, bound.values, [parts[number:]], lo, hi)
        assert made == int(number > 0)
    assert p.bits(parts) == p.bits(expected)


def test_each_thread_has_a_frame_of_its_own(bound):
    kernel, failed = NumbaKernel(bound.phase), []
    barrier = threading.Barrier(4)

    def work(seed):
        rng = np.random.default_rng(seed)
        values = [
            rng.random(v.shape) if isinstance(v, np.ndarray) else rng.random() for v in bound.values
        ]
        expected = p.bits(expected_of(bound, values))
        barrier.wait()
        for _ in range(50):
            (out,) = outs = bound.allocate()
            kernel.run(values, outs, 0, ROWS)
            if p.bits(out) != expected:
                failed.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.parametrize(
    "given",
    [
        (),
        ([], [], 0, 1),
        ([], [], 0, 1, "origin"),
        ([], [], 0, 1 << 80, 0),
    ],
)
def test_a_launch_refuses_what_it_cannot_read(given):
    out = np.empty((3, 2))
    launch = native.Launch(0, (), (out,), (), ((False, 0, 1),), (), (-1, False), (), [])
    with pytest.raises((TypeError, OverflowError)):
        launch(*given)
    assert launch([], [out], 0, 1, 0) == -1  # there is no frame
    assert launch([], (out,), 0, 1, 0) == -1
    assert launch("", {}, 0, 1, 0) == -1
    assert launch.fits([], [out])
    assert not launch.fits([], [out[:2]])
    assert not launch.fits([out], [out])


def test_a_launch_is_made_of_arrays_of_rows():
    out = np.empty((3, 2))
    for values, outs, reads in (
        ((), (np.empty(()),), ()),
        ((), ([1.0],), ()),
        ((1.0,), (out,), ((0, 0, 1),)),
        ((out,), (out,), ((5, 0, 1),)),
    ):
        with pytest.raises((TypeError, IndexError)):
            native.Launch(0, values, outs, reads, ((False, 0, 1),), (), (-1, False), (), [])
    with pytest.raises(ValueError, match="each output"):
        native.Launch(0, (), (out,), (), (), (), (-1, False), (), [])
