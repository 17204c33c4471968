"""Runs that the module in C binds have the results and the faults of those that Python binds."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dnumpy import native
from dnumpy.expr.expr import Const
from dnumpy.kernels.numba import NumbaKernel, Variant
from dnumpy.kernels.tiled import TiledKernel
from tests.kernels import phases as p
from tests.kernels.test_numba import compiling, only, stored

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


def launched(bound, values, outs, threads=1):
    """Return what runs a kernel by one call, None where operands have to be bound in Python."""
    variant = NumbaKernel(bound.phase).variant_for(values, outs)
    if type(variant) is not Variant or not variant.plain:
        return None
    variant.compile()
    return variant.launch_for(values, outs, frames=threads)


@settings(compiling, max_examples=60)
@given(p.programs(), st.sampled_from((1, 4096)), st.integers(1, 3), st.integers(1, 3))
def test_a_shared_launch_has_the_bits_of_the_tiled_run(roots, tile_bytes, threads, batch):
    for bound in p.bound(roots, tile_bytes):
        phase, outs = bound.phase, bound.allocate()
        with np.errstate(all="ignore"):
            launch = launched(bound, bound.values, outs, threads)
            if launch is None:
                continue
            rows = phase.rows, batch * phase.tile_rows, phase.tile_rows
            if launch.shared(bound.values, outs, *rows, threads) >= 0:
                tiled = bound.run(TiledKernel(phase))
                assert [p.bits(x) for x in outs] == [p.bits(x) for x in tiled], phase


LAYOUTS = {
    "inside": lambda wide: wide[1 : ROWS + 1, 2:22],
    "backwards": lambda wide: wide[ROWS - 1 :: -1, :20],
    "planes": lambda wide: wide[: 2 * ROWS, :20].reshape(ROWS, 2, 20),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_lines_and_whole_operands_are_told_of_by_address(layout, threads):
    rng, way = np.random.default_rng(6), LAYOUTS[layout]
    wide = rng.random((2 * ROWS + 2, 30))
    x = way(wide)
    row, number = rng.random(x.shape[1:]), np.array(rng.random())
    root = p.apply("multiply", p.apply("add", stored(x), stored(row)), stored(number))
    bound = only(root, 4096)
    phase, tile = bound.phase, bound.phase.tile_rows
    (out,) = outs = bound.allocate()
    launch = launched(bound, bound.values, outs, threads)
    assert launch is not None
    for k in range(3):
        values = [way(wide * k) if v.shape == x.shape else np.asarray(v + k) for v in bound.values]
        lies_so = all(a.strides == b.strides for a, b in zip(values, bound.values, strict=True))
        out.fill(0.0)
        raised = launch.shared(values, outs, phase.rows, tile, tile, threads)
        assert raised == (-1 if not lies_so else 0)
        if lies_so:
            assert p.bits(out) == p.bits(expected_of(bound, values))


def test_regions_are_written_by_lines():
    rng = np.random.default_rng(7)
    base, x = rng.random((ROWS + 2, 40)), rng.random((ROWS, 38))
    bound = only(scaled(stored(x), stored(x), 0.5), 4096)
    outs = [base[1:-1, 1:-1]]
    launch, tile = launched(bound, bound.values, outs, 2), bound.phase.tile_rows
    assert launch is not None
    kept = base.copy()
    assert launch.shared(bound.values, outs, ROWS, 2 * tile, tile, 2) == 0
    kept[1:-1, 1:-1] = x * 0.5 + x
    assert p.bits(base) == p.bits(kept)


@pytest.mark.parametrize(
    "rows", [(0, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0), (1, 1), (1, 1, 1 << 80, 1)]
)
def test_a_shared_launch_refuses_what_it_cannot_read(rows):
    out = np.empty((3, 2))
    launch = native.Launch(0, (), (out,), (), ((False, 0, 1),), (), (-1, False), (), [])
    with pytest.raises((TypeError, ValueError, OverflowError)):
        launch.shared([], [out], *rows)
    assert launch.shared([], [out], 1, 1, 1, 2) == -1  # there is no frame


@pytest.mark.parametrize(
    "asked",
    [
        (),
        ([], [], 0, 1),
        ([], [], 0, 1, "origin"),
        ([], [], 0, 1 << 80, 0),
    ],
)
def test_a_launch_refuses_what_it_cannot_read(asked):
    out = np.empty((3, 2))
    launch = native.Launch(0, (), (out,), (), ((False, 0, 1),), (), (-1, False), (), [])
    with pytest.raises((TypeError, OverflowError)):
        launch(*asked)
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
