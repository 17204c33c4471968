"""Where arrays lie that are made anew: nodes that later passes would wait for have no rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import dnumpy as dnp
from dnumpy.config import config
from dnumpy.cost.links import Links
from dnumpy.runtime import later, window
from dnumpy.runtime.jointly import Place, plan_together
from dnumpy.runtime.links import SIZES
from dnumpy.runtime.sketches import clear_sketches
from tests.runtime.test_sketch import EVEN, places, sketch_of

if TYPE_CHECKING:
    from collections.abc import Iterator

LATE_SECONDS = 0.02  # until the slow node hears of anything


@pytest.fixture(autouse=True)
def lazy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(window, "HELD_BYTES", 1 << 40)
    monkeypatch.setattr(config, "mode", "lazy")
    monkeypatch.setattr(config, "eager_below", 0)
    clear_sketches()
    yield
    clear_sketches()


def with_a_slow_one() -> list[Place]:
    """Return three nodes, of which the second is slow, and far from the others."""
    first, second, third = places(free_bytes=1e11)
    slow = replace(second.profile.with_speed(0.5), network_latency_seconds=LATE_SECONDS)
    return [first, replace(second, profile=slow), third]


def made(rows: int) -> Any:
    return dnp.random.default_rng(0).random((rows, 8))


def rows_of(*arrays: Any, where: list[Place] | None = None) -> list[tuple[int, ...]]:
    """Return the rows of each node in what is kept."""
    sketch = sketch_of(*arrays)
    nodes = where if where is not None else with_a_slow_one()
    joint = plan_together(sketch, nodes, Links(SIZES), [EVEN] * len(sketch.demands))
    return [tuple(joint.plans[k].row_counts) for k in sorted(sketch.kept)]


def test_a_slow_node_has_no_rows_of_a_small_array_and_some_of_a_large_one() -> None:
    (small,) = rows_of(made(400_000))
    assert small[1] == 0
    (large,) = rows_of(made(40_000_000))
    assert all(large)


def test_without_passes_to_come_it_would_have_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(later, "passed_later", lambda _: [])
    (alone,) = rows_of(made(400_000))
    assert alone[1]


def test_what_is_predicted_is_the_run_alone() -> None:
    sketch = sketch_of(made(4_000_000))
    joint = plan_together(sketch, places(), Links(SIZES), [EVEN] * len(sketch.demands))
    ends = [
        start + seconds
        for plan in joint.plans
        for start, seconds in zip(plan.starts, plan.predicted_node_seconds, strict=True)
    ]
    assert joint.predicted_seconds == pytest.approx(max(ends))


def test_only_what_is_made_of_nothing_that_lies_on_nodes_may_lie_anywhere() -> None:
    new, old = made(4_000), dnp.asarray(np.ones((4_000, 200))) * 2.0
    sketch = sketch_of(new, old)
    found = [k for each in later.passed_later(sketch) for k in each.demands]
    assert sorted(found) == sorted(sketch.kept)  # arrays at home lie on no node
    there = [array._replace(where=(("node-0", 2_000), ("node-2", 2_000))) for array in sketch.lying]
    bound = replace(sketch, lying=there)
    left = [k for each in later.passed_later(bound) for k in each.demands]
    assert set(left) < set(found)
