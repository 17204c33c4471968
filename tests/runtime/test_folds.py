"""Folds over nodes have the bits of one tree over all blocks, and send one result per node."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy
from dnumpy.runtime import bind as binding
from dnumpy.runtime import folds, producers
from dnumpy.runtime.branches import Branches, branches_of, grown
from dnumpy.runtime.tasks import add_each
from tests.gathering import computed, on_nodes
from tests.traffic import metered_nodes

if TYPE_CHECKING:
    from collections.abc import Callable


def tree(values: list[float]) -> float:
    """Return the sum as the tree is defined: level by level, the odd one out going up."""
    level = list(values)
    while len(level) > 1:
        odd = level[-1:] if len(level) % 2 else []
        level = [x + y for x, y in zip(level[::2], level[1::2], strict=False)] + odd
    return level[0]


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 60), st.lists(st.integers(0, 60), max_size=8), st.booleans(), st.data())
def test_runs_of_blocks_fold_to_the_bits_of_the_whole(
    count: int, cuts: list[int], as_list: bool, data: Any
) -> None:
    values = np.random.default_rng(count).standard_normal(count) * 10.0 ** (np.arange(count) % 9)
    ends = sorted({0, count, *(c for c in cuts if c < count)})
    blocks = values.tolist() if as_list else values
    join = add_each if as_list else np.add
    runs = [branches_of(join, blocks[a:b], a, count) for a, b in pairwise(ends)]
    assert all(len(run.branches) <= 2 * count.bit_length() for run in runs)
    split = data.draw(st.integers(0, len(runs) - 1))
    together = [grown(join, some) for some in (runs[:split], runs[split:]) if some]
    assert grown(join, together).root()[0] == tree(values.tolist())


def test_a_run_that_is_all_blocks_is_one_branch() -> None:
    for count in range(1, 40):
        found = branches_of(np.add, np.arange(count), 0, count)
        assert isinstance(found, Branches)
        assert len(found.branches) == 1
        assert found.root()[0] == count * (count - 1) // 2


FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda np_, a: a.sum(axis=0),
    "largest": lambda np_, a: a.max(axis=0),
    "where": lambda np_, a: a.argmin(axis=0),
    "several": lambda np_, a: np_.stack([a.sum(axis=0), a.max(axis=0), (a * a).sum(axis=0)]),
    "histogram": lambda np_, a: np_.histogram(a, 30, range=(-3, 3))[0],
    "counts": lambda np_, a: np_.bincount(np_.abs(a * 9).astype("i8").ravel()),
    "product": lambda np_, a: a.T @ a,
    "of a column": lambda np_, a: np_.histogram(a[:, 1], 30, range=(-3, 3))[0],
    "of every other row": lambda np_, a: np_.histogram(a[1::2, 3:], 30, range=(-3, 3))[0],
    "backwards": lambda np_, a: np_.histogram(a[::-1, 0], 30, range=(-3, 3))[0],
    "rows too": lambda np_, a: a - a.mean(axis=0),
}


@pytest.mark.parametrize("nodes", [1, 3, 7, 20])
@pytest.mark.parametrize("name", sorted(FOLDS))
def test_folds_over_any_number_of_nodes_are_numpys(name: str, nodes: int) -> None:
    values = np.random.default_rng(nodes).standard_normal((433, 6))
    values[200] = np.abs(values).max(axis=0)
    values[300] = -values[200]
    with metered_nodes(*range(1, nodes + 1), tile_rows=4):
        found = np.asarray(computed(FOLDS[name](dnumpy, on_nodes(values))))
    np.testing.assert_allclose(found, FOLDS[name](np, values), rtol=1e-12, atol=1e-12)


def test_a_task_binds_at_once_what_lies_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 90 blocks, each node binds all at once but those whose rows lie on two nodes."""
    values = np.random.default_rng(5).integers(0, 9, 4_500)
    bound: list[int] = []
    bind = binding.bind

    def counted(graph: Any, node: str, wants: Any, *rest: Any) -> Any:
        bound.append(len(wants))
        return bind(graph, node, wants, *rest)

    monkeypatch.setattr(binding, "bind", counted)
    with metered_nodes(1, 2, 3, tile_rows=50):
        lying = on_nodes(values)
        assert (computed(dnumpy.bincount(lying)) == np.bincount(values)).all()
        assert 3 <= len(bound) <= 15
        there, elsewhere = lying[1:], lying[:-1]
        found = computed(dnumpy.bincount(there, weights=elsewhere))
    np.testing.assert_array_equal(found, np.bincount(values[1:], weights=values[:-1]))
    assert len(bound) <= 60


def test_each_node_sends_its_part_of_a_big_fold_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producers, "BIG_PRODUCT_BYTES", 0)
    values = np.random.default_rng(0).standard_normal((2000, 30))
    for name, size in (("product", 30 * 30 * 8), ("histogram", 30 * 8)):
        with metered_nodes(3.0, 2.0, 2.0, 1.0, tile_rows=20) as traffic:
            array = on_nodes(values)
            traffic.clear()
            computed(FOLDS[name](dnumpy, array))
        del traffic.sent["slice"]  # blocks of the line begin amid rows
        assert 0 < traffic.moved <= 3 * (size + 500), name


def test_nodes_meet_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).standard_normal((400, 3))
    monkeypatch.setattr(folds, "FAN_IN", 3)
    with metered_nodes(*[1.0] * 11, tile_rows=4) as traffic:
        array = on_nodes(values)
        traffic.clear()
        found = np.asarray(computed(array.sum(axis=0)))
    assert traffic.tasks == {"rows": 11, "partial": 4 + 2, "fold": 1}
    np.testing.assert_allclose(found, values.sum(axis=0), rtol=1e-12)


def test_one_task_folds_all_that_a_stage_leaves_behind() -> None:
    values = np.random.default_rng(0).standard_normal((400, 3))
    with metered_nodes(2.0, 1.0, 1.0, tile_rows=4) as traffic:
        array = on_nodes(values)
        traffic.clear()
        sums, most = computed((array.sum(axis=0), array.max(axis=0)))
        computed(sums + most)
    assert traffic.tasks["partial"] == 0
    np.testing.assert_allclose(np.asarray(sums), values.sum(axis=0))
    np.testing.assert_array_equal(np.asarray(most), values.max(axis=0))
