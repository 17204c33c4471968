"""What travels between nodes is what overlaps, once; and tasks are few."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy
from tests.gathering import computed, on_nodes
from tests.traffic import metered_nodes

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, COLUMNS = 300, 160
ROW = COLUMNS * 8
SPEEDS = (5.0, 3.0, 2.0)
OVERHEAD = 100  # bytes of a message beside its array's


def sweep(u: Any) -> Any:
    """One sweep in place, through slices."""
    u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def values() -> np.ndarray:
    return np.random.default_rng(0).random((ROWS, COLUMNS))


def test_sweeps_send_halos_alone_and_each_as_much_as_the_one_before() -> None:
    expected = values()
    with metered_nodes(*SPEEDS, tile_rows=10) as traffic:
        grid = on_nodes(expected)
        moved, tasks, places = [], [], set()
        for _ in range(5):
            traffic.clear()
            sweep(grid)
            computed(grid)
            moved.append(traffic.moved)
            tasks.append(sum(traffic.tasks.values()))
            places.add(grid._buf.expr.value.rows_per_node())
        found = np.asarray(grid)
    for _ in range(5):
        sweep(expected)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    cuts = len(SPEEDS) - 1
    # one row each way at each cut, once the rows lie where a sweep puts them
    assert 0 < moved[0] <= cuts * 3 * ROW + 4 * OVERHEAD
    assert 0 < moved[1] <= cuts * 2 * ROW + 4 * OVERHEAD
    assert len(set(moved[1:])) == len(places) == 1
    assert max(tasks) <= 7


SHIFTS: dict[str, tuple[Callable[[Any, Any], Any], int]] = {
    "roll": (lambda np_, a: np_.roll(a, 7, axis=0), 3 * 7),
    "roll back": (lambda np_, a: np_.roll(a, -4, axis=0), 3 * 4),
    "difference": (lambda np_, a: a[1:] - a[:-1], 2 * 1),
    "wide difference": (lambda np_, a: a[2:] - a[:-2], 2 * 2),
    "with its roll": (lambda np_, a: a - np_.roll(a, 1, axis=0), 3 * 1),
    "in other rows": (lambda np_, a: a.reshape(2 * ROWS, COLUMNS // 2) + 1, 0),
}


@pytest.mark.parametrize("name", sorted(SHIFTS))
def test_shifts_send_the_rows_that_change_place_or_meet_others(name: str) -> None:
    call, rows = SHIFTS[name]
    with metered_nodes(*SPEEDS, tile_rows=10) as traffic:
        array = on_nodes(values())
        traffic.clear()
        found = computed(call(dnumpy, array))
        moved = traffic.moved
        np.testing.assert_array_equal(np.asarray(found), call(np, values()))
    assert moved <= rows * ROW + 3 * OVERHEAD


@pytest.mark.parametrize("speeds", [SPEEDS, (1.0, 1.0), (4.0, 3.0, 2.0, 1.0)])
def test_a_transpose_sends_from_each_node_to_each_other_what_they_share(
    speeds: tuple[float, ...],
) -> None:
    with metered_nodes(*speeds, tile_rows=10) as traffic:
        array = on_nodes(values())
        traffic.clear()
        turned = computed(dnumpy.ascontiguousarray(array.T) + 1)
        links, slices = dict(traffic.links), traffic.tasks["slice"]
        before, after = (x._buf.expr.value.rows_per_node() for x in (array, turned))
        np.testing.assert_array_equal(np.asarray(turned), values().T + 1)
    expected = {(a, b): m * n * 8 for a, m in before for b, n in after if a != b}
    assert links.keys() == expected.keys()
    for link, nbytes in expected.items():
        assert links[link] == pytest.approx(nbytes, abs=OVERHEAD)
    assert slices == len(speeds) * (len(speeds) - 1)


@pytest.mark.parametrize("speeds", [(1.0, 2.0), (2.0, 3.0, 5.0), (1.0, 1.0, 1.0, 7.0)])
def test_new_cuts_send_the_overlaps_from_node_to_node(speeds: tuple[float, ...]) -> None:
    from dnumpy.runtime.graph import Range

    with metered_nodes(*speeds, tile_rows=10) as traffic:
        array = on_nodes(values())
        before = [Range(p.node, p.start, p.stop) for p in array._buf.expr.value.parts]
        traffic.clear()
        strided = computed(array[: ROWS // 2] * 2)
        links = dict(traffic.links)
        ends = [0, *accumulate(n for _, n in strided._buf.expr.value.rows_per_node())]
        names = [node for node, _ in strided._buf.expr.value.rows_per_node()]
    expected: dict[tuple[str, str], int] = {}
    for node, (lo, hi) in zip(names, pairwise(ends), strict=True):
        for r in before:
            shared = min(hi, r.hi) - max(lo, r.lo)
            if r.node != node and shared > 0:
                expected[r.node, node] = expected.get((r.node, node), 0) + shared * ROW
    assert links.keys() == expected.keys()
    for link, nbytes in expected.items():
        assert links[link] == pytest.approx(nbytes, abs=OVERHEAD)


CENTRES = np.random.default_rng(1).random((4, 8))
LABELS = (np.random.default_rng(2).random(600) > 0.5) * 1.0


def step_of_means(a: Any) -> Any:
    """One step of k-means."""
    distances = ((a[:, None, :] - CENTRES[None]) ** 2).sum(axis=-1)
    nearest = distances.argmin(axis=1)
    chosen = [nearest == k for k in range(len(CENTRES))]
    return [(a * c[:, None]).sum(axis=0) / dnumpy.maximum(c.sum(), 1) for c in chosen]


def step_of_logistic_regression(a: Any) -> Any:
    """One step of gradient descent."""
    weights = np.zeros(a.shape[1])
    guessed = 1 / (1 + dnumpy.exp(-(a @ weights)))
    return weights - 0.1 * (a.T @ (guessed - LABELS)) / len(LABELS)


# the most tasks on three nodes: three for each stage, and those that bring nodes together
MOST: dict[str, tuple[Callable[[Any], Any], int]] = {
    "sum": (lambda a: a.sum(axis=0), 3 + 1),
    "sums": (lambda a: (a * 2 + 1).sum(axis=0) / (a * a).sum(axis=0), 3 + 1 + 1),
    "rows divided": (lambda a: a / dnumpy.sqrt((a * a).sum(axis=1, keepdims=True)), 3),
    "columns centred": (lambda a: a - a.mean(axis=0), 3 + 1 + 1 + 3),
    "transpose": (lambda a: dnumpy.ascontiguousarray(a.T) + 1, 3 + 6 + 3),
    "sweep": (lambda a: sweep(a.copy()), 3 + 4 + 3),
    "running sums": (lambda a: dnumpy.cumsum(a, axis=0), 3 + 1 + 3 + 2),
    "sort": (lambda a: dnumpy.sort(a.ravel()), 23),
    "argsort": (lambda a: dnumpy.argsort(a.ravel(), kind="stable"), 23),
    "histogram": (lambda a: dnumpy.histogram(a, 30, range=(0, 1))[0], 3 + 1 + 1 + 3 + 1),
    "k-means": (step_of_means, 3 * 2 + 1 + 1 + 4),
    "logistic": (step_of_logistic_regression, 3 + 1 + 1),
    "selection": (lambda a: a[a[:, 0] > 0.5], 3 + 3 + 1 + 6 + 3),
}


@pytest.mark.parametrize("name", sorted(MOST))
def test_programs_are_few_tasks(name: str) -> None:
    call, most = MOST[name]
    with metered_nodes(*SPEEDS, tile_rows=20) as traffic:
        array = on_nodes(np.random.default_rng(3).random((600, 8)))
        traffic.clear()
        computed(call(array))
    assert 0 < sum(traffic.tasks.values()) <= most, dict(traffic.tasks)


def test_a_sort_is_three_runs() -> None:
    with metered_nodes(*SPEEDS, tile_rows=20) as traffic:
        array = on_nodes(np.random.default_rng(3).random(5000))
        traffic.clear()
        computed(dnumpy.sort(array))
    assert traffic.runs <= 3
