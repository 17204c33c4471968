"""Ops as they run in phases, on all threads of a node."""

from __future__ import annotations

import threading
from dataclasses import replace
from functools import partial

import pytest

from dnumpy.cost import Work, seconds
from dnumpy.runtime import profiles, streamed
from tests.cost.test_estimate import sample_profile


@pytest.mark.parametrize("threads", [1, 3])
def test_every_op_of_a_phase_has_a_time_and_the_profile_verifies(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    monkeypatch.setattr(streamed, "ROWS_PER_THREAD", 1 << 14)
    profile = replace(sample_profile(), threads=threads)
    found = streamed.phases_ns(profile)
    calls = dict(dict(profile.ns_per_element)["tiled"])
    assert {"arith", "exp", "reduce", "select"} < {c for c, _ in found} < set(calls)
    assert all(ns >= streamed.LEAST_SHARE * calls[c] for c, ns in found)
    replace(profile, ns_per_element=(*profile.ns_per_element, (streamed.PHASES, found))).verify()


def test_rows_are_cut_so_that_all_threads_together_fit_in_memory() -> None:
    assert streamed._rows(2, 1e6) * 4 * 8 <= 1e6
    assert streamed._rows(2, 1e12) == 2 * streamed.ROWS_PER_THREAD


def test_what_phases_take_counts_instead_of_single_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = sample_profile()
    slower = replace(
        profile, ns_per_element=(*profile.ns_per_element, (streamed.PHASES, (("exp", 8.0),)))
    )
    work = Work(rows=1, loops=(("exp", 1e6),))
    launch = profile.launch_seconds
    assert seconds(work, slower, 1) - launch == pytest.approx(
        4 * (seconds(work, profile, 1) - launch)
    )
    for read in (profile, slower):  # a kept profile is compared with a single call
        monkeypatch.setattr(profiles.measure, "exp_ns", lambda: 2.0)
        assert profiles.still_true(read)


def test_a_thread_alone_waits_for_no_interpreter() -> None:
    assert streamed.call_seconds(1, 1e9) == 0.0


def test_threads_that_run_a_product_step_by_step_wait_for_each_other() -> None:
    assert 0.0 <= streamed.call_seconds(2, 1e9) < 1.0
    assert streamed.call_seconds(2, 1e5) >= 0.0  # of little memory there are fewer rows


def test_the_best_round_is_that_in_which_the_slowest_thread_was_quickest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ticks = {"a": [0.0, 4.0, 10.0, 13.0], "b": [0.0, 1.0, 10.0, 18.0]}  # rounds of (4, 1), (3, 8)
    mine = threading.local()

    def call(name: str) -> None:
        mine.clock = mine.__dict__.setdefault("clock", iter(ticks[name]))

    monkeypatch.setattr(streamed, "RUNS", 1)
    monkeypatch.setattr(streamed.machine, "cpu_quota", lambda: None)
    monkeypatch.setattr(streamed, "_not_waiting", lambda: next(mine.clock))
    calls = [partial(call, name) for name in ticks]
    assert streamed._all_at_once(calls, 2) == 4.0
    monkeypatch.setattr(streamed, "_not_waiting", lambda: next(mine.clock))
    assert streamed._all_at_once(calls, 2, max) == 8.0
