"""Helpers are woken on other cores than their caller's, and may use all of them as they run."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest

from dnumpy import native
from dnumpy.runtime import threads

pytestmark = [
    pytest.mark.modeless("threads alone"),
    pytest.mark.skipif(
        not native.built or not hasattr(os, "sched_setaffinity"), reason="nobody places threads"
    ),
    pytest.mark.skipif(
        not hasattr(os, "sched_getaffinity") or len(os.sched_getaffinity(0)) < 2,
        reason="there is one core",
    ),
]


def test_a_sleeping_thread_is_kept_off_the_callers_core_until_it_runs() -> None:
    numbers: list[int] = []
    asleep, wake, ran = threading.Event(), threading.Event(), threading.Event()

    def sleeper() -> None:
        numbers.append(threading.get_native_id())
        asleep.set()
        wake.wait()
        native.woken()
        ran.set()

    thread = threading.Thread(target=sleeper)
    thread.start()
    asleep.wait()
    allowed = os.sched_getaffinity(0)
    assert native.wake_apart((numbers[0], 0)) == 1  # 0 is nobody's number
    kept = os.sched_getaffinity(numbers[0])
    assert kept < allowed
    assert len(kept) == len(allowed) - 1
    wake.set()
    ran.wait()
    thread.join()


def test_the_caller_and_threads_that_are_none_are_left_alone() -> None:
    nobody = 1 << 30  # more than the system has numbers
    before = os.sched_getaffinity(0)
    assert native.wake_apart((threading.get_native_id(), nobody)) == 0
    assert os.sched_getaffinity(0) == before


def test_helpers_may_use_the_cores_that_the_first_thread_may() -> None:
    seen: list[set[int]] = []
    meeting = threading.Barrier(2, timeout=30)

    def call() -> None:
        meeting.wait()
        seen.append(os.sched_getaffinity(threading.get_native_id()))

    for _ in range(20):
        threads.in_threads([call, call])
    assert seen == [os.sched_getaffinity(0)] * 40


def test_threads_of_the_crew_compute_whatever_they_were_kept_off() -> None:
    draw = np.random.default_rng(0)
    for _ in range(50):
        values = draw.integers(0, 9, 200_000)
        found = native.count_whole(values, 9, 2)
        np.testing.assert_array_equal(found, np.bincount(values, minlength=9))
