"""A run that was sketched and planned before is neither laid out nor planned a second time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy as dnp
from dnumpy import engine
from dnumpy.api.explanation import Explanation, _forecast
from dnumpy.config import config
from dnumpy.cost.links import Links
from dnumpy.rewrite.cached import cut_again
from dnumpy.runtime import jointly, sketches
from dnumpy.runtime.cluster import sketched
from dnumpy.runtime.forecast_on import forecast_on
from dnumpy.runtime.jointly import Rating, plan_together
from dnumpy.runtime.links import SIZES
from tests.runtime.test_sketch import EVEN, SPEEDS, WIDTH, Away, lazy, matrix, places, sketch_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.runtime.jointly import Joint, Place
    from dnumpy.runtime.sketch import Sketch

__all__ = ["lazy"]  # every test here runs in that fixture
LINKS = Links(SIZES)


def updated(x: Any) -> Any:
    y = x + 0.0
    y[1:-1] = 0.5 * (y[:-2] + y[2:])
    return y


DOES: dict[str, Callable[[Any], Any]] = {
    "scan": lambda x: dnp.cumsum(x, axis=1),
    "add": lambda x: x + 1.0,
    "roll": lambda x: dnp.roll(x, 1, axis=0),
    "transpose": lambda x: dnp.cumsum(x.T, axis=1),
    "mean": lambda x: x - x.mean(axis=0),
    "update": updated,
    "product": lambda x: x @ matrix(1)[:WIDTH, :WIDTH] if x.shape[1] == WIDTH else x,
    "take": lambda x: x[::2],
}


def programme(steps: list[str]) -> list[Any]:
    """Return arrays that take these steps from one matrix; with "two" one more is wanted."""
    x, also = matrix(), []
    for step in steps:
        if step == "two":
            also.append(x * 2.0)
        else:
            x = DOES[step](x)
    return [x, *also]


def facts(sketch: Sketch) -> tuple[Any, ...]:
    """Return all of a sketch but the operands that it was written for."""
    demands = [(d.what, d.work, d.granule, d.alone, d.light) for d in sketch.demands]
    return demands, sketch.stages, sketch.lying, sketch.reads, sketch.kept


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from([*DOES, "two"]), min_size=1, max_size=5), st.integers(0, 3))
def test_a_sketch_that_is_found_again_is_the_one_that_would_be_written(
    steps: list[str], first: int
) -> None:
    sketch_of(*programme(steps)[:1])  # others that it must not be taken for
    sketch_of(*programme(steps[first:] or steps))
    found = sketch_of(*programme(steps))
    sketches.clear_sketches()
    written = sketch_of(*programme(steps))
    assert written is not found
    assert facts(found) == facts(written)


def test_a_loop_body_is_laid_out_once() -> None:
    one, other = (sketch_of(dnp.cumsum(matrix(k) + k, axis=1)) for k in range(2))
    assert one is other


def test_kept_sketches_refer_to_no_array() -> None:
    sketch = sketch_of(dnp.cumsum(matrix(), axis=1) - 1.0)
    assert not any(demand.operands() for demand in sketch.demands)


def test_where_the_rows_lie_makes_another_sketch() -> None:
    class There(Away):
        def copies(self, owner: Any) -> list[Any]:
            return [self.send(owner, 0, owner.value.shape[0], "node-1")]

    def sketch_on(cluster: Away) -> Sketch:
        root = dnp.cumsum(matrix(), axis=1)._buf.expr
        stages = cut_again(engine.pending_in_order([root]), [root], engine.grain())
        return sketched(stages, cluster, {id(root)})

    here, there = sketch_on(Away(SPEEDS)), sketch_on(There(SPEEDS))
    assert here.lying[0].where != there.lying[0].where


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the objectives that programs are planned for from now on."""
    seen: list[str] = []
    plan = jointly.plan_program

    def noted(program: Any, **options: Any) -> Any:
        seen.append(options["objective"])
        return plan(program, **options)

    monkeypatch.setattr(jointly, "plan_program", noted)
    return seen


def planned(sketch: Sketch, where: list[Place] | None = None, *, off: float = 1.0) -> Joint:
    """Return the plan where predictions of the first node are off by a factor."""
    rating = Rating("tiled", (off, *EVEN.factors[1:]))
    return plan_together(sketch, where or places(), LINKS, [rating] * len(sketch.demands))


def test_a_known_plan_is_not_made_again(calls: list[str]) -> None:
    sketch = sketch_of(dnp.cumsum(matrix(), axis=1).sum(axis=0))
    assert planned(sketch) is planned(sketch)
    assert len(calls) == 1


def test_a_known_plan_predicts_with_the_factors_of_the_day(calls: list[str]) -> None:
    sketch = sketch_of(dnp.cumsum(matrix(), axis=1))
    before, after = planned(sketch), planned(sketch, off=1.05)
    assert len(calls) == 1
    launch = places()[0].profile.launch_seconds
    (one,), (other,) = before.plans, after.plans
    assert other.rows == one.rows
    busy = one.predicted_node_seconds[0] - launch
    assert other.predicted_node_seconds[0] == pytest.approx(launch + 1.05 * busy)
    assert other.predicted_node_seconds[1:] == pytest.approx(one.predicted_node_seconds[1:])
    assert other.predicted_seconds == max(other.predicted_node_seconds)


def test_a_node_that_became_slower_by_a_third_is_planned_with_again(calls: list[str]) -> None:
    sketch = sketch_of(dnp.cumsum(matrix(), axis=1))
    planned(sketch)
    planned(sketch, off=1.33)
    assert len(calls) == 2


@pytest.mark.parametrize("pace", [0.6, 1.3, 1.9])
def test_nodes_that_all_became_slower_keep_their_split_and_predict_so(
    calls: list[str], pace: float
) -> None:
    sketch = sketch_of(dnp.cumsum(matrix(), axis=1))
    before = planned(sketch)
    rating = Rating("tiled", (pace, 1.05 * pace, 0.96 * pace))
    after = plan_together(sketch, places(), LINKS, [rating] * len(sketch.demands))
    assert len(calls) == 1
    assert [plan.rows for plan in after.plans] == [plan.rows for plan in before.plans]
    launch = places()[0].profile.launch_seconds
    (one,), (other,) = before.plans, after.plans
    busy = one.predicted_node_seconds[0] - launch
    assert other.predicted_node_seconds[0] == pytest.approx(launch + pace * busy)
    assert (after.predicted_seconds > before.predicted_seconds) == (pace > 1)


def test_nodes_that_became_slower_by_far_are_planned_for_again(calls: list[str]) -> None:
    sketch = sketch_of(dnp.cumsum(matrix(), axis=1))
    planned(sketch)
    rating = Rating("tiled", (2.5, 2.5, 2.5))
    plan_together(sketch, places(), LINKS, [rating] * len(sketch.demands))
    assert len(calls) == 2


def test_less_memory_makes_another_plan_only_where_it_matters(calls: list[str]) -> None:
    sketch = sketch_of(dnp.cumsum(matrix(), axis=1))
    roomy = planned(sketch, places(1e9))
    assert planned(sketch, places(0.9e9)) is roomy
    assert len(calls) == 1
    held = planned(sketch, places(9e6))
    assert len(calls) == 2
    assert all(peak <= 9e6 for peak in held.peak_bytes)


def test_another_rate_of_a_profile_makes_another_plan(calls: list[str]) -> None:
    sketch = sketch_of(dnp.cumsum(matrix(), axis=1))
    planned(sketch)
    first, *others = places()
    faster = replace(first, profile=replace(first.profile, speed=9.0))
    assert planned(sketch, [faster, *others]).plans[0].row_counts[0] > 0
    assert len(calls) == 2


def test_each_objective_has_its_own_plans(
    calls: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sketch = sketch_of(dnp.cumsum(matrix(), axis=1))
    for objective in ("latency", "throughput", "latency", "throughput"):
        monkeypatch.setattr(config, "objective", objective)
        joint = planned(sketch)
        assert sum(joint.plans[0].row_counts) == np.shape(matrix())[0]
        assert (joint.period_seconds > 0) == (objective == "throughput")
    assert calls == ["latency", "throughput"]


@pytest.mark.parametrize("objective", ["latency", "throughput"])
def test_a_forecast_tells_the_period_where_throughput_is_asked_for(
    objective: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Planned(Away):
        def plan_run(self, sketch: Sketch) -> Joint:
            return plan_together(sketch, places(), LINKS, [EVEN] * len(sketch.demands))

    monkeypatch.setattr(config, "objective", objective)
    root = dnp.cumsum(matrix(), axis=1)._buf.expr
    stages = cut_again(engine.pending_in_order([root]), [root], engine.grain())
    told = forecast_on(stages, Planned(SPEEDS), {id(root)})
    periods = {forecast.period_seconds for forecast in told}
    text = Explanation("pending", [_forecast(forecast) for forecast in told])._title()
    assert ("again every" in text) == (max(periods) > 0) == (objective == "throughput")


def test_an_unknown_objective_is_refused() -> None:
    with pytest.raises(ValueError, match="objective"):
        config.objective = "soon"
