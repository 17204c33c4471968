"""From work and profiles to plans."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dnumpy.cost import OP_CLASSES, DeviceProfile, Work, seconds
from dnumpy.errors import PlanInfeasible
from dnumpy.plan import node_rate, plan_work
from dnumpy.plan.rates import MEMORY_SHARE

PROFILE = DeviceProfile(
    name="a",
    kind="cpu",
    threads=1,
    bandwidth=((1e6, 4e10), (1e9, 1e10)),
    gemm_flops_per_second=(("float64", 5e10),),
    ns_per_element=(("tiled", tuple((c, 1.0) for c in OP_CLASSES)),),
    gather_ns=5.0,
    launch_seconds=1e-3,
    compile_seconds=0.1,
    free_bytes=1e9,
    network_bytes_per_second=1e8,
    network_latency_seconds=1e-3,
)
WORK = Work(10_000_000, bytes_read=8.0, bytes_written=8.0, loops=(("exp", 2.0),))


def test_a_node_rate_predicts_what_the_cost_model_does() -> None:
    rate = node_rate(WORK, PROFILE, 1_000_000)
    total = rate.fixed_seconds + 1_000_000 * rate.seconds_per_row
    assert total == pytest.approx(seconds(WORK, PROFILE, 1_000_000))


def test_threads_of_a_node_share_its_rows() -> None:
    one = node_rate(WORK, PROFILE, 100_000_000)
    four = node_rate(WORK, replace(PROFILE, threads=4), 100_000_000)
    assert four.seconds_per_row == pytest.approx(one.seconds_per_row / 4, rel=0.1)


def test_a_node_with_a_quarter_of_the_speed_gets_a_fifth_of_the_rows() -> None:
    slow = replace(PROFILE, name="b", speed=0.25)
    plan = plan_work("p", WORK, [PROFILE, slow])
    share = plan.row_counts[1] / WORK.rows
    assert share == pytest.approx(0.2, rel=0.1)
    finish = plan.predicted_node_seconds
    assert finish[0] == pytest.approx(finish[1], rel=0.01)


def test_what_a_node_is_corrected_by_moves_its_rows() -> None:
    twin = replace(PROFILE, name="b")
    plan = plan_work("p", WORK, [PROFILE, twin], corrections=[1.0, 3.0])
    assert plan.row_counts[0] / plan.row_counts[1] == pytest.approx(3.0, rel=0.1)


def test_dear_transfers_keep_the_rows_on_the_node_that_has_them() -> None:
    slow_network = [replace(PROFILE, name=n, network_bytes_per_second=1e5) for n in "ab"]
    here = (("a", WORK.rows), ("b", 0))
    plan = plan_work("p", WORK, slow_network, current=here, transfer_bytes_per_row=8.0)
    assert plan.row_counts == (WORK.rows, 0)


def test_a_node_that_an_operand_must_be_sent_to_costs_the_time_of_sending_it() -> None:
    nodes = [replace(PROFILE, name=n) for n in "ab"]
    free = plan_work("p", WORK, nodes)
    sent = plan_work("p", WORK, nodes, transfer_fixed_bytes=1e7)
    arrival = 1e7 / PROFILE.network_bytes_per_second + PROFILE.network_latency_seconds
    added = sent.predicted_node_seconds[0] - free.predicted_node_seconds[0]
    assert added == pytest.approx(arrival, rel=0.05)


def test_what_stays_where_it_lies_needs_no_room_and_what_moves_does() -> None:
    work = replace(WORK, bytes_read=8.0, bytes_written=0.0, workspace_bytes_per_row=0.0)
    room = 0.5 * 8.0 * work.rows / 2 / MEMORY_SHARE  # for half of what each of two nodes reads
    nodes = [replace(PROFILE, name=name, free_bytes=room) for name in "ab"]
    here = [("a", work.rows // 2), ("b", work.rows - work.rows // 2)]
    with pytest.raises(PlanInfeasible):
        plan_work("p", work, nodes, current=here, transfer_bytes_per_row=8.0)
    plan = plan_work("p", work, nodes, current=here, resting_bytes_per_row=8.0)
    assert plan.rows == tuple(here)
    assert max(plan.peak_bytes) <= MEMORY_SHARE * room
    with pytest.raises(PlanInfeasible):  # cut between granules, rows move
        plan_work("p", work, nodes, granule=7_000_000, current=here, resting_bytes_per_row=8.0)
