"""Products over nodes are NumPy's whichever way they go, and go the way that is sooner."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.config import config
from dnumpy.runtime import layout, products
from dnumpy.runtime.graph import Range
from dnumpy.runtime.producers import contraction_granule
from dnumpy.runtime.products import Party, Sizes, Way, best_way, shares, ways
from dnumpy.runtime.virtual import VirtualCluster
from tests.gathering import computed, on_nodes, spread_out
from tests.traffic import metered_nodes

SPEEDS = [(1.0, 1.0), (5.0, 3.0, 2.0), (4.0, 3.0, 3.0, 1.0, 1.0), (1.0,) * 9]


def parties(speeds: tuple[float, ...], bytes_per_second: float = 1e8) -> list[Party]:
    return [Party(f"node-{k}", 1e9 * speed, bytes_per_second) for k, speed in enumerate(speeds)]


@pytest.fixture
def forced(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let in-process nodes have rates, and one kind of way be taken."""
    monkeypatch.setattr(
        VirtualCluster,
        "parties",
        lambda self, _dtype: parties(tuple(self.speeds.values())),
        raising=False,
    )
    taken: list[Way] = []

    def force(kind: str, number: int = 0) -> list[Way]:
        def choose(*args: Any) -> Way:
            fitting = [way for way in ways(*args) if way.kind == kind]
            taken.append(fitting[number % len(fitting)])
            return taken[-1]

        monkeypatch.setattr(layout, "best_way", choose)
        return taken

    return force


@pytest.mark.parametrize("speeds", SPEEDS)
@pytest.mark.parametrize("kind", ["rows", "inner", "grid"])
@pytest.mark.parametrize("shape", [(80, 50, 70), (100, 150, 110), (120, 20, 160)])
@pytest.mark.parametrize("number", [0, 1, 2])
def test_every_way_gives_numpys_product_and_sends_what_it_says(
    forced: Any, speeds: tuple[float, ...], kind: str, shape: tuple[int, int, int], number: int
) -> None:
    rng = np.random.default_rng(1)
    left, right = rng.random((shape[0], shape[1])), rng.random((shape[1], shape[2]))
    taken = forced(kind, number)
    with metered_nodes(*speeds, tile_rows=2) as traffic:
        a, b = on_nodes(left), on_nodes(right)
        traffic.clear()
        found = computed(a @ b)
        moved = traffic.moved
        np.testing.assert_allclose(np.asarray(found), left @ right, rtol=1e-12)
    (way,) = taken
    messages = sum(traffic.tasks.values()) ** 2
    if kind == "grid":
        assert traffic.tasks["block"] == len(way.blocks)
        predicted = sum(nbytes for _, nbytes in way.received)
        assert moved == pytest.approx(predicted, abs=100 * messages)
        assert moved > 0
    if kind == "inner":
        assert moved <= sum(nbytes for _, nbytes in way.received) + 100 * messages


@pytest.mark.parametrize("kind", ["rows", "inner", "grid"])
def test_every_way_warns_as_numpy_does(forced: Any, kind: str) -> None:
    left, right = np.ones((80, 50)), np.ones((50, 70))
    left[5, 7], right[7, 3] = np.inf, 0.0
    forced(kind)
    with metered_nodes(4.0, 3.0, 3.0, 1.0, tile_rows=2):
        a, b = on_nodes(left), on_nodes(right)
        with pytest.warns(RuntimeWarning, match="^invalid value encountered in matmul$"):
            found = np.asarray(computed(a @ b))
    assert np.argwhere(np.isnan(found)).tolist() == [[5, 3]]


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 500),
    st.integers(1, 500),
    st.integers(1, 500),
    st.lists(st.floats(0.1, 8.0), min_size=2, max_size=12),
)
def test_blocks_of_every_way_tile_the_product(
    rows: int, inner: int, columns: int, speeds: list[float]
) -> None:
    there = parties(tuple(speeds))
    sizes = Sizes(rows, inner, columns, 8)
    for way in ways(sizes, there, [], []):
        count = np.zeros((rows, columns), np.int64)
        for block in way.blocks:
            count[slice(*block.rows), slice(*block.columns)] += block.inner[1] - block.inner[0]
        assert (count == inner).all(), way.kind
        covered = np.zeros(rows, np.int64)
        for r in way.result:
            covered[r.lo : r.hi] += 1
        assert (covered == 1).all()
        assert all(nbytes >= 0 for _, nbytes in way.received)


def test_a_short_first_operand_goes_by_inner_rows_where_the_second_lies() -> None:
    there = parties((5.0, 3.0, 2.0))
    right = [Range(p.node, *cut) for p, cut in zip(there, shares(90_000, [5, 3, 2]), strict=True)]
    way = best_way(Sizes(8, 90_000, 300, 8), there, [], right)
    assert way.kind == "inner"
    assert [(b.node, b.inner) for b in way.blocks] == [(r.node, (r.lo, r.hi)) for r in right]
    assert sum(nbytes for _, nbytes in way.received) < 0.01 * 90_000 * 300 * 8 + 8 * 90_000 * 8


def test_many_nodes_behind_slow_links_share_a_large_product_in_a_grid() -> None:
    there = parties((1.0,) * 16, 1e7)
    lies = [Range(p.node, *cut) for p, cut in zip(there, shares(4000, [1] * 16), strict=True)]
    sizes = Sizes(4000, 4000, 4000, 8)
    found = {way.kind: way for way in ways(sizes, there, lies, lies)}
    best = best_way(sizes, there, lies, lies)
    assert best.kind == "grid"
    assert best.seconds < 0.8 * found["rows"].seconds
    assert max(n for _, n in best.received) < 0.6 * max(n for _, n in found["rows"].received)


def test_few_nodes_and_a_small_second_operand_go_by_rows() -> None:
    there = parties((5.0, 3.0, 2.0))
    lies = [Range(p.node, *cut) for p, cut in zip(there, shares(90_000, [5, 3, 2]), strict=True)]
    assert best_way(Sizes(90_000, 30, 30, 8), there, lies, []).kind == "rows"


def test_what_is_hardly_sooner_does_not_leave_the_rows() -> None:
    for rate in np.geomspace(1e6, 1e12, 13):
        there = parties((1.0,) * 9, rate)
        lies = [Range(p.node, *cut) for p, cut in zip(there, shares(3000, [1] * 9), strict=True)]
        sizes = Sizes(3000, 3000, 3000, 8)
        by_rows, *others = ways(sizes, there, lies, lies)
        assert by_rows.kind == "rows"
        sooner = min(way.seconds for way in others) < 0.8 * by_rows.seconds
        assert (best_way(sizes, there, lies, lies).kind != "rows") == sooner


def test_faster_nodes_get_larger_blocks() -> None:
    way = products.in_grid(Sizes(1000, 10, 900, 8), [parties((6.0, 3.0)), parties((2.0, 1.0))])
    area = [np.subtract(*b.rows) * np.subtract(*b.columns) for b in way.blocks]
    np.testing.assert_allclose(np.array(area) / area[-1], [6, 3, 2, 1], rtol=0.02)


def test_no_way_but_by_rows_where_bits_must_not_depend_on_the_nodes(
    forced: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = forced("grid")
    monkeypatch.setattr(config, "reproducible", True)
    values = np.random.default_rng(0).random((40, 40))
    with metered_nodes(2.0, 1.0, tile_rows=4):
        array = on_nodes(values)
        computed(array @ array)
    assert taken == []


@pytest.mark.parametrize("name", ["vector", "columns", "corrcoef"])
def test_rows_of_which_none_fits_in_one_librarys_call_are_multiplied(name: str) -> None:
    values = np.random.default_rng(2).random((3, 80_000))

    def products(xp: Any, x: Any) -> Any:
        right = xp.arange(160_000.0).reshape(80_000, 2)
        return {
            "vector": lambda: x @ right[:, 0],
            "columns": lambda: x @ right,
            "corrcoef": lambda: xp.corrcoef(x[0], x[1]),
        }[name]()

    with spread_out():
        found = np.asarray(products(dnumpy, on_nodes(values)))
    np.testing.assert_allclose(found, products(np, values), rtol=1e-12)


@pytest.mark.skipif(config.tile_rows_max < 256, reason="the mode reads five rows at a time")
@given(st.integers(1, 200_000), st.integers(1, 9))
def test_long_rows_that_meet_a_vector_are_read_a_power_of_two_at_a_time(
    columns: int, right: int
) -> None:
    rows = contraction_granule((100_000, columns), 8, right)
    assert rows >= 32
    if right > 4:
        assert rows >= 256
    elif columns * 8 > 2048:
        assert 256 % rows == 0
        assert rows == 32 or rows * columns * 8 <= 1 << 19
