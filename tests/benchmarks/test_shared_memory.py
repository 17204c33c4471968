"""What is left of the nodes' memory rates where they share a machine's memory."""

from __future__ import annotations

import time

from distributed import Client, LocalCluster
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import shared_memory
from benchmarks.bound import Step, bound
from benchmarks.scaleout import profile
from benchmarks.workloads import WORKLOADS


@given(st.floats(0.05, 1.0))
def test_what_is_shared_makes_no_program_shorter_and_none_longer_than_by_that_much(share):
    node = profile()
    crowded = shared_memory.sharing(node, share)
    crowded.verify()
    for workload in WORKLOADS:
        steps: tuple[Step, ...] = workload.steps(*workload.fields(0.1))
        alone, together = (bound(steps, [one, one]) for one in (node, crowded))
        assert alone * (1 - 1e-9) <= together <= alone / share * (1 + 1e-9)


def test_what_fits_a_core_is_nobody_elses():
    node = profile()
    (small, rate), *_ = shared_memory.sharing(node, 0.5).bandwidth
    assert small <= shared_memory.PRIVATE_BYTES
    assert rate == node.bandwidth[0][1]


def test_nodes_stream_for_as_long_as_they_are_told_and_from_when(monkeypatch):
    monkeypatch.setattr(shared_memory, "STREAMED_BYTES", 15_360_000)
    begins = time.time() + 0.1
    rate = shared_memory.streamed(begins, 0.05)
    assert time.time() >= begins + 0.05
    assert rate > 0


def test_what_is_left_to_nodes_is_a_share():
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        left = shared_memory.left_share(client, list(client.nthreads()))
    assert 0 < left <= 1.0
