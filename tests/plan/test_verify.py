"""Each broken invariant of a plan has its own exception."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dnumpy.plan import NodeRate, PhaseSpec, plan_rows, verify

SPEC = PhaseSpec("p", 90, 8.0)
NODES = [NodeRate("a", 1e-3, memory_bytes=480.0), NodeRate("b", 2e-3, memory_bytes=480.0)]
PLAN = plan_rows(SPEC, NODES)


def test_a_plan_that_the_planner_made_verifies() -> None:
    PLAN.verify(SPEC, NODES)
    assert PLAN.row_counts == (60, 30)
    assert PLAN.ranges() == (("a", 0, 60), ("b", 60, 90))
    assert "60 rows" in str(PLAN)
    assert PLAN.as_dict()["rows"] == {"a": 60, "b": 30}


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"rows": (("a", 60), ("b", 31))}, verify.RowsNotTiled),
        ({"rows": (("a", 120), ("b", -30))}, verify.RowsNotTiled),
        ({"rows": (("b", 60), ("a", 30))}, verify.NodesChanged),
        ({"rows": (("a", 61), ("b", 29))}, verify.MemoryExceeded),
        ({"peak_bytes": (481.0, 0.0)}, verify.MemoryExceeded),
        ({"predicted_seconds": 1.0}, verify.PredictionInvalid),
        ({"predicted_node_seconds": (-1.0, PLAN.predicted_seconds)}, verify.PredictionInvalid),
    ],
)
def test_a_broken_plan_says_which_invariant(
    changes: dict[str, object], error: type[verify.PlanInvalid]
) -> None:
    with pytest.raises(error, match="phase p"):
        replace(PLAN, **changes).verify(SPEC, NODES)  # type: ignore[arg-type]


def test_a_range_that_ends_inside_a_granule_is_refused() -> None:
    with pytest.raises(verify.GranuleBroken):
        PLAN.verify(SPEC, NODES, granule=7)


@pytest.mark.parametrize("bad", [-1.0, float("inf"), float("nan")])
def test_rates_that_cannot_be_are_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="none negative"):
        plan_rows(SPEC, [NodeRate("a", bad)])
    with pytest.raises(ValueError, match="none negative"):
        plan_rows(PhaseSpec("p", 10, bad), NODES)
