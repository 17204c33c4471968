"""Laws of drawing on many threads and nodes: NumPy's values, whoever draws them."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dnumpy.config import config
from dnumpy.expr.expr import Const, Expr, make
from dnumpy.expr.recipe import write_down
from dnumpy.kernels import draws as granules
from dnumpy.kernels.draws import fill
from dnumpy.ops.streams import SEEKABLE, Draw, Unit, stream_of
from dnumpy.ops.table import DRAW
from dnumpy.runtime import speculate
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.dask_cluster import DaskCluster
from dnumpy.runtime.speculate import drawn_in_threads, piece_size
from dnumpy.runtime.virtual import VirtualCluster
from tests.runtime import programs as p

if TYPE_CHECKING:
    from collections.abc import Iterator

SPEEDS = [(1.0,), (1.0, 3.0), (5.0, 3.0, 2.0), (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0)]
SHAPE = (53, 3)

# name -> method, arguments, dtype, unit
KINDS = {
    "doubles": ("random", (), float, Unit(64, 1)),
    "singles": ("random", (), np.float32, Unit(32, 1)),
    "uniform": ("uniform", (("low", -1.0), ("high", 2.0)), float, Unit(64, 1)),
    "words": ("integers", (("low", 0), ("high", 1 << 40)), np.int64, Unit(64, 1)),
    "bytes": ("integers", (("low", 0), ("high", 64), ("dtype", np.uint8)), np.uint8, Unit(32, 4)),
    "bits": ("integers", (("low", 0), ("high", 2), ("dtype", bool)), bool, Unit(32, 32)),
}


@pytest.fixture(autouse=True)
def small_tiles(monkeypatch):
    monkeypatch.setattr(config, "tile_rows_max", 5)


def generator_of(kind: str) -> np.random.Generator:
    """Return a generator that has half a word left."""
    generator = np.random.Generator(getattr(np.random, kind)(7))
    generator.random(1, dtype=np.float32)
    return generator


def draw_of(kind: str, what: str) -> Draw:
    method, arguments, _, unit = KINDS[what]
    stream = stream_of(generator_of(kind).bit_generator)
    assert stream is not None
    return Draw(stream, method, arguments, unit)


def drawn(kind: str, what: str, shape: tuple[int, ...] = SHAPE) -> Expr:
    return make(DRAW, (Const(draw_of(kind, what)),), (), shape, np.dtype(KINDS[what][2]))


def by_numpy(kind: str, what: str, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    method, arguments, dtype, _ = KINDS[what]
    named = dict(arguments, dtype=dtype) if method == "random" else dict(arguments)
    return getattr(generator_of(kind), method)(**named, size=shape)


@pytest.mark.parametrize("what", sorted(KINDS))
@pytest.mark.parametrize("kind", sorted(SEEKABLE))
@pytest.mark.parametrize("speeds", SPEEDS)
def test_nodes_draw_the_rows_that_they_own(kind, what, speeds):
    root = drawn(kind, what)
    p.run([root], VirtualCluster(speeds))
    (got,) = p.values([root])
    np.testing.assert_array_equal(got, by_numpy(kind, what), strict=True)


@pytest.mark.parametrize("speeds", SPEEDS)
def test_no_drawn_rows_move_where_they_are_used_in_place(speeds):
    moved = []

    class Watched(VirtualCluster):
        def run(self, graph, home, stay):
            moved.append(graph.moved_bytes)
            return super().run(graph, home, stay)

    x = drawn("PCG64", "doubles")
    y = p.call("multiply", x, p.call("add", drawn("Philox", "uniform"), x))
    p.run([y], Watched(speeds))
    a, b = by_numpy("PCG64", "doubles"), by_numpy("Philox", "uniform")
    np.testing.assert_array_equal(p.values([y])[0], a * (b + a))
    assert set(moved) == {0}


def test_every_bit_of_values_on_request_is_the_same_on_1_2_3_and_7_nodes(monkeypatch):
    monkeypatch.setattr(granules, "GRANULE", 16)
    stream = stream_of(np.random.PCG64DXSM(5))
    assert stream is not None
    draw = Draw(stream, "standard_normal", (), None)
    found = set()
    for speeds in SPEEDS:
        root = make(DRAW, (Const(draw),), (), SHAPE, np.dtype(float))
        p.run([root], VirtualCluster(speeds))
        found.add(p.values([root])[0].tobytes())
    assert len(found) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(sorted(SEEKABLE)),
    what=st.sampled_from(sorted(KINDS)),
    cuts=st.lists(st.integers(0, SHAPE[0]), max_size=6),
)
def test_rows_in_any_order_and_cut_are_those_of_the_whole(kind, what, cuts):
    whole, draw = by_numpy(kind, what), draw_of(kind, what)
    for first in cuts:
        for stop in cuts:
            rows = np.empty((max(stop - first, 0), *SHAPE[1:]), whole.dtype)
            fill(draw, rows, first)
            np.testing.assert_array_equal(rows, whole[first : max(first, stop)])


def test_rows_are_drawn_into_memory_with_gaps():
    wide = np.zeros((SHAPE[0], 2 * SHAPE[1]))
    fill(draw_of("PCG64", "doubles"), wide[:, ::2], 0)
    np.testing.assert_array_equal(wide[:, ::2], by_numpy("PCG64", "doubles"))
    assert not wide[:, 1::2].any()


def test_a_draw_travels_as_a_recipe():
    x = p.call("add", drawn("Philox", "singles"), drawn("Philox", "singles"))
    again = pickle.loads(pickle.dumps(write_down(x, np.asarray))).follow()
    p.run([again], VirtualCluster((1.0, 2.0)))
    single = by_numpy("Philox", "singles")
    np.testing.assert_array_equal(p.values([again])[0], single + single)


def sizes_drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that gets the size of each part that is drawn at a guess."""
    sizes: list[int] = []
    kept = speculate.fill_to_end

    def watched(draw, part, first):
        sizes.append(part.size)
        return kept(draw, part, first)

    monkeypatch.setattr(speculate, "fill_to_end", watched)
    return sizes


class TestGuessing:
    """Draws that reject words: guessed at, verified, repaired."""

    @pytest.mark.parametrize("kind", sorted(SEEKABLE))
    @pytest.mark.parametrize(
        ("high", "unit"),
        [(100, Unit(32, 1)), ((1 << 31) + 7, Unit(32, 1)), ((1 << 62) + 5, Unit(64, 1))],
    )
    @pytest.mark.parametrize("piece", [1, 7, 64])
    def test_values_and_the_place_after_them_are_numpys(self, kind, high, unit, piece, monkeypatch):
        monkeypatch.setattr(config, "threads", 3)
        generator = generator_of(kind)
        stream = stream_of(generator.bit_generator)
        assert stream is not None
        draw = Draw(stream, "integers", (("low", 0), ("high", high)), unit)
        made, end = drawn_in_threads(draw, (41, 3), np.dtype(np.int64), piece)
        np.testing.assert_array_equal(made, generator.integers(0, high, (41, 3)), strict=True)
        assert end == stream_of(generator.bit_generator)

    def test_pieces_that_began_too_early_are_drawn_again(self, monkeypatch):
        """About half of the words are rejected in this draw."""
        monkeypatch.setattr(config, "threads", 2)
        calls = sizes_drawn(monkeypatch)
        draw = draw_of("PCG64", "words")
        guess = Draw(draw.stream, "integers", (("low", 0), ("high", (1 << 31) + 1)), Unit(32, 1))
        drawn_in_threads(guess, (64,), np.dtype(np.int64), 16)
        assert sum(calls) > 64

    @pytest.mark.parametrize(("count", "most"), [(64, 40), (100, 16), (7, 100), (129, 16)])
    def test_threads_get_shares_alike(self, count, most, monkeypatch):
        monkeypatch.setattr(config, "threads", 2)
        sizes = sizes_drawn(monkeypatch)
        draw = draw_of("PCG64", "words")
        guess = Draw(draw.stream, "integers", (("low", 0), ("high", 100)), Unit(32, 1))
        drawn_in_threads(guess, (count,), np.dtype(np.int64), most)
        assert sum(sizes) == count
        assert len(sizes) == 2 * -(-count // (2 * most))  # as few rounds as can be
        assert max(sizes) <= min(most, min(sizes) + len(sizes))

    def test_a_rarer_rejection_never_makes_pieces_smaller(self, monkeypatch):
        monkeypatch.setattr(config, "threads", 2)
        sizes = [piece_size(2.0**-k) or 0 for k in range(1, 40)]
        assert sizes == sorted(sizes)
        assert sizes[0] == 0 < sizes[-1]

    def test_one_thread_never_guesses(self, monkeypatch):
        monkeypatch.setattr(config, "threads", 1)
        assert piece_size(2.0**-53) is None


@pytest.fixture(scope="module")
def workers() -> Iterator[DaskCluster]:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    client = distributed.Client(cluster, set_as_default=False)
    yield DaskCluster(client)
    client.close()
    cluster.close()


@pytest.mark.cluster
@pytest.mark.modeless("rows are drawn in tiles that are set here")
@pytest.mark.timeout(120)
def test_workers_draw_numpys_values_and_keep_them(workers):
    shape = (30_000, 5)
    roots = [drawn("PCG64", "doubles", shape), drawn("Philox", "singles", shape)]
    p.run(roots, workers, tile_rows=1000)
    assert all(isinstance(root.value, Chunked) for root in roots)
    np.testing.assert_array_equal(p.values(roots)[0], by_numpy("PCG64", "doubles", shape))
    np.testing.assert_array_equal(p.values(roots)[1], by_numpy("Philox", "singles", shape))
