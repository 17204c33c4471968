"""Results take the memory of operands that die, and of no others."""

from __future__ import annotations

import os
import signal
from math import inf
from typing import TYPE_CHECKING, Any

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dnumpy as np
from dnumpy import engine, native
from dnumpy.config import config
from dnumpy.kernels.sharing import Sharing
from dnumpy.runtime import direct, donation
from dnumpy.runtime.memory import pool
from tests.programs import Program, check

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = direct.MOST_BYTES // 16 + 5  # too large to be computed as it is recorded
pytestmark = pytest.mark.skipif(config.mode == "split", reason="arrays lie on nodes")


@pytest.fixture(autouse=True)
def _nothing_to_be_reused() -> None:
    pool.trim()


def test_the_arrays_of_these_tests_may_be_given_away() -> None:
    assert SIZE * 8 >= donation.LEAST_BYTES


def lies(x: np.ndarray) -> int:
    """Return the address of computed content."""
    engine.compute([x._buf.expr])
    address: int = x._buf.expr.value.__array_interface__["data"][0]
    return address


def owned(size: int = SIZE) -> np.ndarray:
    return np.array(numpy.arange(float(size)))


def in_place(x: np.ndarray) -> np.ndarray:
    x *= 2.0
    x += 1.0
    return x


def rebound(x: np.ndarray) -> np.ndarray:
    return x * 2.0 + 1.0


def out(x: np.ndarray) -> np.ndarray:
    np.multiply(x, 2.0, out=x)
    return np.add(x, 1.0, out=x)


@pytest.mark.parametrize("change", [in_place, rebound, out])
def test_a_dying_operand_gives_its_memory(change: Callable[[np.ndarray], np.ndarray]) -> None:
    held = [owned()]
    before = lies(held[0])
    changed = change(held.pop())
    assert lies(changed) == before
    assert numpy.array_equal(numpy.asarray(changed), numpy.arange(float(SIZE)) * 2.0 + 1.0)


def test_an_operand_that_somebody_holds_keeps_its_memory() -> None:
    x = owned()
    before = lies(x)
    assert lies(rebound(x)) != before
    assert numpy.array_equal(numpy.asarray(x), numpy.arange(float(SIZE)))


def test_an_operand_that_another_pending_result_reads_keeps_its_memory() -> None:
    x = owned()
    before = lies(x)
    other = np.cumsum(x)
    changed = in_place(x)
    assert lies(changed) != before or not other._buf.pending
    assert numpy.array_equal(numpy.asarray(other), numpy.cumsum(numpy.arange(float(SIZE))))
    assert numpy.array_equal(numpy.asarray(changed), numpy.arange(float(SIZE)) * 2.0 + 1.0)


def test_an_operand_gives_its_memory_though_views_of_the_result_are_pending() -> None:
    expected = numpy.random.default_rng(0).random((1800, 1400))
    whole, made = np.array(expected), np.eye(1400)
    before = lies(whole)
    whole -= expected[0]
    whole /= 3.0
    for k in range(4):
        made[k + 1 :, k] = made[k, k + 1 :] = whole[:, k] @ whole[:, k + 1 :]
    assert made._buf.pending
    assert lies(whole) == before
    expected = (expected - expected[0]) / 3.0
    assert numpy.array_equal(numpy.asarray(whole), expected)
    for k in range(4):
        numpy.testing.assert_allclose(
            numpy.asarray(made[k, k + 1 :]), expected[:, k] @ expected[:, k + 1 :]
        )


@pytest.mark.parametrize(
    "shown",
    [
        numpy.asarray,
        lambda x: numpy.asarray(x)[3:],
        lambda x: memoryview(numpy.asarray(x)),
        numpy.from_dlpack,
    ],
)
def test_memory_that_numpy_still_shows_is_not_given_away(shown: Callable[..., object]) -> None:
    held = [owned()]
    view = shown(held[0])
    changed = rebound(held.pop())
    engine.compute([changed._buf.expr])
    seen = numpy.asarray(view)
    assert numpy.array_equal(seen, numpy.arange(float(SIZE))[-seen.size :])
    assert float(changed[3]) == 7.0


def test_a_view_that_is_alive_sees_the_write_and_nothing_else() -> None:
    x = owned()
    view = x[10:20]
    x *= 2.0
    assert numpy.array_equal(numpy.asarray(view), 2.0 * numpy.arange(10.0, 20.0))


def test_two_outputs_never_get_the_same_memory() -> None:
    held = [owned()]
    x = held.pop()
    a, b = x + 1.0, x * 2.0
    del x
    engine.compute([a._buf.expr, b._buf.expr])
    assert numpy.array_equal(numpy.asarray(a), numpy.arange(float(SIZE)) + 1.0)
    assert numpy.array_equal(numpy.asarray(b), numpy.arange(float(SIZE)) * 2.0)


def test_rows_of_a_matrix_are_updated_where_they_lie() -> None:
    m = owned(2048 * 1024).reshape(2048, 1024)
    base = m._base if m._base is not None else m
    before = lies(base)
    m[::2] += 1.0
    engine.compute([m._buf.expr])
    assert m._buf.expr.value.__array_interface__["data"][0] == before
    expected = numpy.arange(2048.0 * 1024).reshape(2048, 1024)
    expected[::2] += 1.0
    assert numpy.array_equal(numpy.asarray(m), expected)


@pytest.mark.parametrize("kernels", ["auto", "tiled", "numba"])
def test_one_loop_may_write_where_it_reads(kernels: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "kernels", kernels)
    values = numpy.linspace(-2, 3, SIZE)
    x, expected = np.array(values), values.copy()
    asked, found = donation.is_one_loop, []

    def noting(*args: Any) -> bool:
        found.append(asked(*args))
        return found[-1]

    monkeypatch.setattr(donation, "is_one_loop", noting)
    for name in ("absolute", "sqrt", "negative", "exp"):
        pool.trim()
        getattr(np, name)(x, out=x)
        getattr(numpy, name)(expected, out=expected)
        lies(x)
    assert any(found) == (kernels != "numba")
    x -= 2.0
    expected -= 2.0
    with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
        lies(np.sqrt(x, out=x))
    with numpy.errstate(invalid="ignore"):
        numpy.sqrt(expected, out=expected)
    numpy.testing.assert_array_equal(numpy.asarray(x), expected)


def test_neighbours_are_read_before_they_are_written() -> None:
    m = owned(2048 * 1024).reshape(2048, 1024)
    m[1:-1] = m[:-2] + m[2:]
    m[:, 1:] += m[:, :-1]
    expected = numpy.arange(2048.0 * 1024).reshape(2048, 1024)
    expected[1:-1] = expected[:-2] + expected[2:]
    expected[:, 1:] += expected[:, :-1]
    assert numpy.array_equal(numpy.asarray(m), expected)


@st.composite
def stencils(draw: st.DrawFn) -> tuple[Any, Any, list[Any]]:
    """Give a shape, where it is written, and where it is read: all regions of one shape."""
    rows, step = draw(st.integers(20, 90)), draw(st.sampled_from([1, 1, 2]))
    inner = draw(st.sampled_from([(), (7,), (4, 3)]))
    far = draw(st.integers(0, 4))
    count = rows - 2 * far
    at = st.integers(0, 2 * far)

    def region() -> tuple[slice, ...]:
        first = draw(at)
        cut = [slice(first, first + count, step)]
        for extent in inner:
            aside = draw(st.integers(0, 2))
            cut.append(slice(aside, extent - 2 + aside))
        return tuple(cut)

    return (rows, *inner), region(), [region() for _ in range(draw(st.integers(1, 4)))]


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize("kernels", ["tiled", "numba"])
@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    stencils(),
    st.integers(1, 3),
    st.sampled_from([1, 200, 1 << 19]),
    st.booleans(),
    st.sampled_from([1, 3]),
    st.booleans(),
)
def test_rows_that_neighbours_are_to_read_are_held_back(
    monkeypatch: pytest.MonkeyPatch,
    kernels: str,
    stencil: tuple[Any, Any, list[Any]],
    sweeps: int,
    block: int,
    beside: bool,
    threads: int,
    plain: bool,
) -> None:
    shape, target, sources = stencil
    monkeypatch.setattr(donation, "LEAST_BYTES", 0)
    monkeypatch.setattr(donation, "HELD_SHARE", inf)
    monkeypatch.setattr(donation, "NEAR_BLOCK_BYTES", block)
    monkeypatch.setattr(config, "kernels", kernels)
    monkeypatch.setattr(config, "threads", threads)
    monkeypatch.setattr(Sharing, "pays", lambda *_, **__: True)  # in batches, taken in any order
    written = []
    ends = donation.StagedRun.end
    monkeypatch.setattr(donation.StagedRun, "end", lambda self: written.append(self) or ends(self))
    start = numpy.random.default_rng(2).random(shape)
    expected, found = start.copy(), np.array(start)
    rows = []
    for xp, x in ((numpy, expected), (np, found)):
        for k in range(sweeps):
            total = x[sources[0]] - x[target] if plain else 0.25 * x[sources[0]]
            for source in sources[1:]:
                total = total + x[source] * (k + 1.0)
            if beside:
                rows.append(xp.maximum(total, 0.5).sum())
            x[target] = total
            del total
    numpy.testing.assert_array_equal(numpy.asarray(found), expected)
    half = len(rows) // 2
    numpy.testing.assert_allclose([float(r) for r in rows[half:]], rows[:half])
    IN_PLACE.append(len(written) == sweeps)


IN_PLACE: list[bool] = []


@pytest.mark.usefixtures("managed")
def test_neighbours_are_read_before_they_are_written_over() -> None:
    assert sum(IN_PLACE) > 20, IN_PLACE


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize("at", [1, 30, 62, 63, 64, 118])
def test_a_fault_among_rows_held_back_is_told_and_leaves_them_right(
    monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr(donation, "LEAST_BYTES", 0)
    monkeypatch.setattr(donation, "HELD_SHARE", inf)
    monkeypatch.setattr(donation, "NEAR_BLOCK_BYTES", 1)
    monkeypatch.setattr(config, "kernels", "numba")
    start = numpy.ones((120, 3))
    for turn in range(3):  # the first one finds out how the kernel is called
        expected, found = start.copy(), np.array(start)
        if turn == 2:
            expected[at] = found[at] = 0.0
        with numpy.errstate(divide="ignore"):
            expected[2:-2] = 1.0 / expected[:-4] + 2.0 / expected[4:]
        found[2:-2] = 1.0 / found[:-4] + 2.0 / found[4:]
        told: list[Any] = []
        monkeypatch.setattr(engine.fp_faults, "tell", told.extend)
        numpy.testing.assert_array_equal(numpy.asarray(found), expected)
        assert bool(told) == (turn == 2)


@pytest.mark.parametrize("kernels", ["auto", "tiled", "numba"])
@pytest.mark.parametrize("above", [1, 0])
def test_one_loop_does_not_write_what_neighbours_read(
    monkeypatch: pytest.MonkeyPatch, kernels: str, above: int
) -> None:
    monkeypatch.setattr(config, "kernels", kernels)
    x, expected = owned(), numpy.arange(float(SIZE))
    for v in (x, expected):
        first, last = v[:-1], v[1:]
        if above:
            v[1:] = first - last
        else:
            v[:-1] = last - first
        del first, last
    lies(x)
    numpy.testing.assert_array_equal(numpy.asarray(x), expected)


def test_a_fold_and_a_mask_beside_the_result_see_the_operand_whole() -> None:
    held = [owned()]
    x = held.pop()
    total, mask = x.sum(), x > 100.0
    x[mask] = 0.0
    expected = numpy.arange(float(SIZE))
    assert float(total) == expected.sum()
    expected[expected > 100.0] = 0.0
    assert numpy.array_equal(numpy.asarray(x), expected)


@pytest.mark.skipif(not native.built, reason="the module in C was not built")
def test_rows_of_which_each_takes_the_same_numbers_need_no_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "kernels", "numba")
    run, rows = native.run_staged, [0]

    def counted(*args: Any) -> int:
        done = run(*args)
        rows[0] += done - args[5][0]
        return done

    monkeypatch.setattr(native, "run_staged", counted)
    numbers = numpy.arange(float(SIZE - SIZE % 1000)).reshape(-1, 1000)
    by, plus = numpy.linspace(0.5, 2.0, 1000), numpy.linspace(0, 1, len(numbers))[:, None]
    x = np.array(numbers)
    lies(x)
    x /= by
    x += plus
    assert numpy.array_equal(numpy.asarray(x), numbers / by + plus)
    assert rows[0] > len(numbers) // 2  # all but the batch that waited for the compiler


def test_faults_in_place_are_told_and_leave_the_result_right() -> None:
    faults: list[str] = []
    held = [owned()]
    with np.errstate(divide="call", call=lambda *told: faults.append(told[0])):
        x = 1.0 / held.pop() + 1.0
    engine.compute([x._buf.expr])
    assert faults == ["divide by zero"]
    assert numpy.isinf(float(x[0]))
    assert float(x[4]) == 1.25


def test_an_interrupt_waits_until_the_memory_is_whole() -> None:
    told: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: told.append(number))
    try:
        with donation.uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            assert not told
        assert told == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("managed")
@pytest.mark.parametrize("window", [3, 4, 100])
def test_what_is_pending_elsewhere_is_computed_from_the_operand_as_it_was(
    monkeypatch: pytest.MonkeyPatch, window: int
) -> None:
    monkeypatch.setattr(donation, "LEAST_BYTES", 0)
    monkeypatch.setattr(config, "window_exprs", window)
    check(
        Program(
            [
                "a3 = np.arange(19, dtype='i8')",
                "a4 = np.ones((20,), 'f8')",
                "s5 = np.argmax(a4, axis=None)",
                "a7 = a3[np.array(data(591, (19,), '?'))]",
                "a7[...] *= a7",
                "a12 = np.array(data(38, (13,), '?'))",
                "a13 = (a7[a12] - a7[a12] * s5)",  # waits, and holds the squares
                "a7[a12] = (a7[a12] + a12[a12] + s5)",
            ]
        )
    )


def sizes_of_blocks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Return a list that gets the rows of blocks, and of tiles, of what is written in place."""
    seen: list[tuple[int, int]] = []

    class Noting(donation.StagedRun):
        def __init__(self, kernel: Any, phase: Any, *more: Any) -> None:
            super().__init__(kernel, phase, *more)
            seen.append((self._size, phase.tile_rows))

    monkeypatch.setattr(donation, "StagedRun", Noting)
    return seen


def test_columns_are_written_from_a_cache_and_whole_arrays_in_whole_tiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(config, "mode", "lazy")
    monkeypatch.setattr(config, "eager_below", 0)
    monkeypatch.setattr(config, "tile_rows_max", 1 << 62)
    seen = sizes_of_blocks(monkeypatch)
    start = numpy.random.default_rng(1).random((700_000, 3))
    points = np.array(start)
    points[:, 0], points[:, 1] = points[:, 1] + 1.0, points[:, 0] * 2.0
    assert numpy.array_equal(numpy.asarray(points)[:, 0], start[:, 1] + 1.0)
    ((rows, tile),) = seen
    assert rows * 16 <= donation.TOGETHER_BYTES
    assert rows < tile
    seen.clear()
    x, y = np.array(start[:, 0]) * 1.0, np.array(start[:, 1]) * 1.0
    engine.compute([x._buf.expr, y._buf.expr])
    x, y = x + y, x - y
    engine.compute([x._buf.expr, y._buf.expr])
    assert numpy.array_equal(numpy.asarray(x), start[:, 0] + start[:, 1])
    assert numpy.array_equal(numpy.asarray(y), start[:, 0] - start[:, 1])
    assert seen
    assert all(rows % tile == 0 for rows, tile in seen)
