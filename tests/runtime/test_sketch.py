"""What a run asks of its nodes is written down before it is built, and planned as one program."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dnumpy as dnp
from dnumpy import engine
from dnumpy.config import config
from dnumpy.cost.links import Links
from dnumpy.errors import PlanInfeasible
from dnumpy.rewrite.cached import cut_again
from dnumpy.runtime import jointly, window
from dnumpy.runtime.cluster import sketched
from dnumpy.runtime.jointly import Place, Rating, plan_together
from dnumpy.runtime.links import SIZES
from dnumpy.runtime.sketches import clear_sketches
from dnumpy.runtime.virtual import VirtualCluster
from tests.plan.test_rates import PROFILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnumpy.plan.dag import Program
    from dnumpy.runtime.sketch import Sketch

SPEEDS = (3.0, 1.0, 2.0)
EVEN = Rating("tiled", (1.0, 1.0, 1.0))
ROWS, WIDTH = 4_000, 200


@pytest.fixture(autouse=True)
def lazy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(window, "HELD_BYTES", 1 << 40)  # all of a program waits to be sketched
    mode, eager = config.mode, config.eager_below
    config.mode, config.eager_below = "lazy", 0
    clear_sketches()
    yield
    config.mode, config.eager_below = mode, eager


def places(free_bytes: float = 1e9) -> list[Place]:
    """Return nodes of the given speeds."""
    return [
        Place(
            replace(PROFILE, name=f"node-{k}", speed=speed, free_bytes=free_bytes, threads=1), "cpu"
        )
        for k, speed in enumerate(SPEEDS)
    ]


class Away(VirtualCluster):
    """Virtual nodes that arrays at home have to be sent to."""

    embed_bytes = 0.0
    home_bytes = 1 << 10

    def mirrored(self, owner: Any) -> bool:  # noqa: ARG002 - nothing was sent yet
        return False


def sketch_of(*arrays: Any) -> Sketch:
    """Return what computing the arrays asks of three nodes."""
    roots = [array._buf.expr for array in arrays]
    stages = cut_again(engine.pending_in_order(roots), roots, engine.grain())
    return sketched(stages, Away(SPEEDS), {id(root) for root in roots})


def program_of(sketch: Sketch, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Return the program that is planned for a sketch."""
    seen: list[Program] = []
    plan = jointly.plan_program

    def noted(program: Program, *args: Any, **options: Any) -> Any:
        seen.append(program)
        return plan(program, *args, **options)

    monkeypatch.setattr(jointly, "plan_program", noted)
    plan_together(sketch, places(), Links(SIZES), [EVEN] * len(sketch.demands))
    return seen[0]


def matrix(seed: int = 0) -> Any:
    return dnp.array(np.random.default_rng(seed).random((ROWS, WIDTH)))


def accesses(sketch: Sketch) -> list[tuple[int, int, str]]:
    return [(r.producer - r.lying * 100, r.consumer, r.access) for r in sketch.reads]


def test_a_stage_that_reads_the_rows_of_another_is_aligned_with_it() -> None:
    x = matrix()
    y = x @ matrix(1)[:WIDTH]
    sketch = sketch_of(dnp.cumsum(y, axis=1))
    assert accesses(sketch) == [(-100, 0, "aligned"), (-99, 0, "whole"), (0, 1, "aligned")]
    assert [array.where for array in sketch.lying] == [(), ()]


def test_rolled_rows_lie_beside_those_that_are_read() -> None:
    x = matrix()
    sketch = sketch_of(dnp.roll(x, 1, axis=0) + x)
    assert "other axis" not in {r.access for r in sketch.reads}


def test_shifted_rows_are_a_halo_and_the_grid_of_a_sweep_keeps_its_rows() -> None:
    u = matrix()
    for _ in range(2):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    sketch = sketch_of(u)
    kinds = {r.access for r in sketch.reads}
    assert kinds == {"halo"}
    assert all(r.halo_rows <= 4 for r in sketch.reads)
    assert len(sketch.demands) == 2
    assert sketch.kept == {1}
    for demand in sketch.demands:  # of four shifted reads, three come from caches
        again = demand.work.bytes_again / demand.work.bytes_read
        assert again == pytest.approx(0.75, abs=0.02)


def test_a_folded_result_is_read_whole_from_where_it_was_folded() -> None:
    x = matrix()
    centred = x - x.mean(axis=0)
    sketch = sketch_of(dnp.cumsum(centred, axis=1))
    assert "fold" in {r.access for r in sketch.reads}


def test_a_transpose_is_read_across() -> None:
    x = dnp.cumsum(matrix(), axis=1)
    sketch = sketch_of(dnp.ascontiguousarray(x.T) * 2.0)
    assert "other axis" in {r.access for r in sketch.reads}


def test_all_stages_whose_rows_follow_one_another_are_planned_in_the_same_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    u = matrix()
    for _ in range(3):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    program = program_of(sketch_of(u), monkeypatch)
    assert {ask.rows for ask in program.asks} == {ROWS, 1}  # and the answer of a later pass
    cut = [ask for ask in program.asks if ask.pinned is None and ask.rows == ROWS]
    assert len({ask.granule for ask in cut}) == 1


def test_an_array_at_home_that_two_stages_read_by_rows_is_sent_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = matrix()
    program = program_of(sketch_of(dnp.cumsum(x, axis=1), x @ matrix(1)[:WIDTH]), monkeypatch)
    copies = [k for k, ask in enumerate(program.asks) if ask.name.startswith("copy")]
    assert len(copies) == 1
    assert len(program.out_of(copies[0])) == 2
    (sent,) = program.into(copies[0])
    assert sent.bytes_per_row * ROWS == pytest.approx(x.nbytes)


def test_what_is_planned_together_keeps_its_cuts_through_a_loop() -> None:
    u = matrix()
    for _ in range(3):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    sketch = sketch_of(u)
    here = [replace(p, profile=replace(p.profile, launch_seconds=1e-6)) for p in places()]
    joint = plan_together(sketch, here, Links(SIZES), [EVEN] * len(sketch.demands))
    granule = max(demand.granule for demand in sketch.demands)
    firsts = {plan.row_counts[0] // granule for plan in joint.plans}
    assert max(firsts) - min(firsts) <= 1
    assert all(
        sum(plan.row_counts) == d.work.rows
        for plan, d in zip(joint.plans, sketch.demands, strict=True)
    )


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.sampled_from(["scan", "add", "roll", "transpose", "sum", "cumsum"]),
        min_size=1,
        max_size=5,
    )
)
def test_every_plan_tiles_its_stage_at_granules_whatever_is_asked(ops: list[str]) -> None:
    x = matrix()
    for op in ops:
        match op:
            case "scan":
                x = dnp.cumsum(x, axis=1)
            case "add":
                x = x + 1.0
            case "roll":
                x = dnp.roll(x, 1, axis=0)
            case "transpose":
                x = dnp.cumsum(x.T, axis=1)
            case "sum":
                x = x - x.sum(axis=0)
            case "cumsum":
                x = dnp.cumsum(x, axis=0)
    sketch = sketch_of(x)
    joint = plan_together(sketch, places(), Links(SIZES), [EVEN] * len(sketch.demands))
    assert len(joint.plans) == len(sketch.demands)
    for plan, demand in zip(joint.plans, sketch.demands, strict=True):
        assert sum(plan.row_counts) == demand.work.rows
        stops = np.cumsum(plan.row_counts)
        inner = [stop for stop in stops if stop < demand.work.rows]
        assert all(stop % demand.granule == 0 for stop in inner)
        assert len(plan.starts) == len(places())
        assert all(seconds >= 0 for seconds in plan.predicted_node_seconds)
        used = [s for s, n in zip(plan.starts, plan.row_counts, strict=True) if n]
        assert all(0 <= start <= joint.predicted_seconds for start in used)


def test_rows_that_lie_in_another_order_of_nodes_are_read_across() -> None:
    x = dnp.cumsum(matrix(), axis=1)
    sketch = sketch_of(x)
    there = [
        array._replace(where=(("node-2", ROWS // 2), ("node-0", ROWS // 2)))
        for array in sketch.lying
    ]
    turned = replace(sketch, lying=there)
    joint = plan_together(turned, places(), Links(SIZES), [EVEN])
    assert sum(joint.plans[0].row_counts) == ROWS


def test_what_fits_nowhere_is_refused_with_its_name() -> None:
    sketch = sketch_of(dnp.cumsum(matrix(), axis=1))
    with pytest.raises(PlanInfeasible, match="scan"):
        plan_together(sketch, places(free_bytes=1e5), Links(SIZES), [EVEN])


def test_results_of_equal_length_that_stay_are_cut_alike() -> None:
    rows = 50 * ROWS
    made = dnp.random.default_rng(0)
    wide, narrow = made.random((rows, 8)), made.random(rows)
    sketch = sketch_of(wide, narrow)
    assert len(sketch.kept) == 2
    assert not sketch.reads
    soon = {"launch_seconds": 1e-6, "network_latency_seconds": 1e-6}
    here = [replace(p, profile=replace(p.profile, **soon)) for p in places()]
    joint = plan_together(sketch, here, Links(SIZES), [EVEN] * len(sketch.demands))
    one, other = (np.cumsum(joint.plans[k].row_counts) for k in sketch.kept)
    granule = min(demand.granule for demand in sketch.demands)
    assert (np.abs(one - other) <= granule).all()
    assert (one[:-1] < rows).all()
