"""Laws of running stages on many nodes, on the virtual nodes of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnumpy.config import config
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.virtual import VirtualCluster
from tests.runtime import programs as p

if TYPE_CHECKING:
    from dnumpy.expr.expr import Expr

SPEEDS = [(1.0,), (1.0, 3.0), (5.0, 3.0, 2.0), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)]


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(config, "tile_rows_max", 5)


def heat(rows: int = 53, columns: int = 8, steps: int = 3) -> list[Expr]:
    rng = np.random.default_rng(1)
    grid = p.data(rng.normal(size=(rows, columns)))
    for _ in range(steps):
        up = p.view(grid, lambda g: g[:-2, 1:-1])
        down = p.view(grid, lambda g: g[2:, 1:-1])
        left = p.view(grid, lambda g: g[1:-1, :-2])
        right = p.view(grid, lambda g: g[1:-1, 2:])
        new = p.call(
            "multiply", p.call("add", p.call("add", up, down), p.call("add", left, right)), 0.25
        )
        grid = p.update(grid, lambda g: g[1:-1, 1:-1], new)
    return [grid, p.total(grid, (0, 1))]


def normalised(rows: int = 67, columns: int = 9) -> list[Expr]:
    rng = np.random.default_rng(2)
    x = p.data(rng.normal(size=(rows, columns)))
    centred = p.call("subtract", x, p.call("divide", p.total(x, (0,)), float(rows)))
    scaled = p.call("divide", centred, p.total(p.call("square", centred), (1,), keepdims=True))
    return [scaled, p.total(scaled, (0,)), p.total(scaled, (0, 1))]


def product(rows: int = 41) -> list[Expr]:
    rng = np.random.default_rng(3)
    x, w = p.data(rng.normal(size=(rows, 6))), p.data(rng.normal(size=(6, 3)))
    y = p.call("tanh", p.matmul(p.call("exp", x), w))
    return [y, p.total(y, (0,))]


def gradient(rows: int = 61) -> list[Expr]:
    rng = np.random.default_rng(4)
    x, w = p.data(rng.normal(size=(rows, 4))), p.data(rng.normal(size=4))
    scaled = p.call("exp", x)
    off = p.call("tanh", p.matmul(scaled, w))
    across = p.view(scaled, lambda a: a.T)
    return [p.matmul(across, off), p.matmul(across, scaled), p.matmul(p.view(x, np.transpose), x)]


PROGRAMS = [heat, normalised, product, gradient]


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("speeds", SPEEDS)
def test_many_nodes_give_what_the_reference_gives(program, speeds):
    expected = p.meaning(program())
    roots = program()
    p.run(roots, VirtualCluster(speeds))
    for got, want in zip(p.values(roots), expected, strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS)
def test_every_bit_is_the_same_on_1_2_3_and_7_nodes(program):
    results = []
    for speeds in SPEEDS:
        roots = program()
        p.run(roots, VirtualCluster(speeds))
        results.append([value.tobytes() for value in p.values(roots)])
    assert all(result == results[0] for result in results)


def test_a_result_stays_in_uneven_blocks_that_tile_its_rows():
    x = p.call("negative", p.data(np.arange(103.0)))
    p.run([x], VirtualCluster((5.0, 3.0, 2.0)))
    assert isinstance(x.value, Chunked)
    stops = [part.stop for part in x.value.parts]
    assert list(x.value.starts) == [0, *stops[:-1]]
    assert stops[-1] == 103
    rows = dict(x.value.rows_per_node())
    assert rows["node-0"] > rows["node-1"] > rows["node-2"] > 0


def test_a_full_reduction_comes_home():
    s = p.total(p.data(np.arange(50.0)), (0,))
    p.run([s], VirtualCluster((2.0, 1.0)))
    assert isinstance(s.value, np.ndarray)
    assert s.value == 1225.0


def test_operands_are_let_go_when_the_value_is_there():
    x = p.call("negative", p.data(np.arange(50.0)))
    p.run([x], VirtualCluster((2.0, 1.0)))
    assert x.args == ()


def test_no_rows_move_for_the_product_of_a_transpose():
    x = p.call("exp", p.data(np.random.default_rng(5).normal(size=(200, 4))))
    cluster = VirtualCluster((5.0, 3.0, 2.0))
    p.run([x], cluster)
    moved = []

    class Watched(VirtualCluster):
        def run(self, graph, home, stay):
            moved.append(graph.moved_bytes)
            return super().run(graph, home, stay)

    y = p.matmul(p.view(x, lambda a: a.T), x)
    p.run([y], Watched((5.0, 3.0, 2.0)))
    assert moved == [0]
    np.testing.assert_allclose(y.value, p.values([x])[0].T @ p.values([x])[0], rtol=1e-12)


def test_only_tiles_beside_a_cut_are_put_together_from_pieces():
    cluster = VirtualCluster((5.0, 3.0, 2.0))
    x = p.call("exp", p.data(np.random.default_rng(5).normal(size=(200, 4))))
    p.run([x], cluster)
    runs = []

    class Watched(VirtualCluster):
        def run(self, graph, home, stay):
            jobs = [t.args[0] for tasks in graph.tasks.values() for t in tasks.values()]
            runs.extend(run for job in jobs if hasattr(job, "runs") for run in job.runs)
            return super().run(graph, home, stay)

    y = p.call("add", p.view(x, lambda a: a[:-2]), p.view(x, lambda a: a[2:]))
    expected = p.meaning([y])
    p.run([y], Watched((5.0, 3.0, 2.0)))
    np.testing.assert_array_equal(p.values([y])[0], expected[0])
    copied = [hi - lo for lo, hi, b in runs if any(len(window) > 1 for window in b.windows)]
    assert len(copied) == 2
    assert max(copied) == 5


SEEN = [
    lambda a: a[1:],
    lambda a: a[:-1],
    lambda a: a[::2],
    lambda a: a[::-1],
    lambda a: a[3:17:3],
    lambda a: a[-2:1:-4],
    lambda a: a[:, 1:3],
    lambda a: a[2:9, ::-1],
    lambda a: a[5:6],
    lambda a: a[7],
    lambda a: a[:, 0],
    lambda a: a.T,
    lambda a: a.reshape(-1),
    lambda a: a.view(np.int64),
    lambda a: np.broadcast_to(a[3], (20, 4)),
]


@st.composite
def random_program(draw: st.DrawFn) -> list[Expr]:
    """Elementwise steps, views and region updates over one 20 x 4 array."""
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    pool = [p.data(rng.integers(-9, 9, (20, 4)).astype(float)) for _ in range(2)]
    roots: list[Expr] = []
    for _ in range(draw(st.integers(1, 6))):
        kind = draw(st.sampled_from(["pair", "seen", "update", "scalar", "sum"]))
        x = draw(st.sampled_from(pool))
        see = draw(st.sampled_from(SEEN))
        if kind == "pair":
            pool.append(p.call("subtract", x, draw(st.sampled_from(pool))))
        elif kind == "scalar":
            pool.append(p.update(x, see, 5.0))
        elif kind == "sum":
            axis = draw(st.sampled_from([(0,), (1,), (0, 1)]))
            roots.append(p.total(p.call("add", x, 1.0), axis))
        else:
            seen = p.view(x, see)
            value = p.call("add", seen, seen)
            if kind == "seen" or see(np.empty((20, 4))).dtype != float:
                roots.append(value)
            else:
                pool.append(p.update(draw(st.sampled_from(pool)), see, value))
    return [root for root in [*roots, *pool] if root.value is None] or [p.call("negative", pool[0])]


@given(random_program(), st.sampled_from(SPEEDS))
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_program_of_views_and_updates_means_what_the_reference_says(roots, speeds):
    expected = p.meaning(roots)
    p.run(roots, VirtualCluster(speeds))
    for got, want in zip(p.values(roots), expected, strict=True):
        assert got.shape == want.shape
        np.testing.assert_array_equal(got, want)


@given(random_program(), random_program(), st.sampled_from(SPEEDS), st.sampled_from(SPEEDS))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_chunked_value_can_be_read_by_later_runs_on_other_partitions(
    first, second, speeds, others
):
    expected = p.meaning(first)
    p.run(first, VirtualCluster(speeds))
    wide = [x for x in first if x.shape == (20, 4)]
    later = [p.call("multiply", p.view(x, lambda a: a[1:]), 2.0) for x in wide]
    later += [p.matmul(x, p.data(np.ones(4))) for x in wide]
    wanted = p.meaning(later)
    p.run([*later, *second], VirtualCluster(others))
    for got, want in zip(p.values([*first, *later]), [*expected, *wanted], strict=True):
        np.testing.assert_array_equal(got, want)
