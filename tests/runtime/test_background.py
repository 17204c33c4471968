"""What is measured in the background waits for a quiet moment and keeps nothing alive."""

from __future__ import annotations

import itertools
import subprocess
import sys
import threading
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.config import config
from dnumpy.runtime import background, calibrate
from dnumpy.runtime.background import Busy, Idle, once_idle
from tests.cost.test_estimate import sample_profile

QUIET = 0.01


def joined() -> None:
    for thread in threading.enumerate():
        if thread.name == background.THREAD:
            thread.join(30)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "LOOK_SECONDS", 0.001)
    monkeypatch.setattr(background, "_begun", {})
    monkeypatch.setattr(config, "calibrate", "auto")


def test_it_runs_once_for_each_key() -> None:
    ran: list[Idle] = []
    assert once_idle("a", ran.append, lambda: 0)
    assert not once_idle("a", ran.append, lambda: 0)
    assert once_idle("b", ran.append, lambda: 0)
    joined()
    assert len(ran) == 2


def test_it_never_begins_where_that_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "calibrate", "off")
    assert not once_idle("a", lambda _: None, lambda: 0)


def test_what_was_measured_while_something_ran_is_measured_again() -> None:
    uses, tried = iter([0, 0, 1, *[1] * 1000]), []
    idle = Idle(lambda: next(uses), idle_seconds=0.0)
    assert idle.undisturbed(lambda: tried.append(0) or len(tried)) == 2


def test_a_process_that_is_never_idle_is_left_alone() -> None:
    ticks = count()
    idle = Idle(lambda: next(ticks), idle_seconds=0.0)
    with pytest.raises(Busy):
        idle.undisturbed(lambda: None)
    idle = Idle(lambda: next(ticks), idle_seconds=QUIET)
    idle.gives_up = 0.0
    with pytest.raises(Busy):
        idle.wait()


def test_a_failure_in_the_background_is_told_and_breaks_nothing() -> None:
    def failing(_: Idle) -> None:
        raise OSError

    with pytest.warns(RuntimeWarning, match="in the background"):
        background._run("a", failing, Idle(lambda: 0, idle_seconds=0.0))


@pytest.mark.parametrize("trouble", [Busy, OSError, None])
@pytest.mark.filterwarnings("ignore:calibrating in the background failed")
def test_what_came_to_nothing_is_tried_again_later_and_then_later_still(
    monkeypatch: pytest.MonkeyPatch, trouble: type[Exception] | None
) -> None:
    now, tried = [100.0], []
    monkeypatch.setattr(background, "Idle", lambda used: Idle(used, idle_seconds=0.0))
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=time.sleep)
    monkeypatch.setattr(background, "time", clock)

    def work(_: Idle) -> bool:
        tried.append(now[0])
        if len(tried) < 4 and trouble is not None:
            raise trouble
        return len(tried) >= 4

    for _ in range(40):
        once_idle("a", work, lambda: 0)
        joined()
        now[0] += background.AGAIN_SECONDS / 2
    waits = [b - a for a, b in itertools.pairwise(tried)]
    assert waits == [background.AGAIN_SECONDS * 2**k for k in range(3)]


def test_each_step_of_a_calibration_waits_for_a_quiet_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = []

    class Counting(Idle):
        def wait(self) -> None:
            waits.append(self)

    steps = [calibrate.Step(lambda _, k=k: {"sort_ns": 1.0 + k}, 0.001, 1) for k in range(3)]
    monkeypatch.setattr(calibrate, "STEPS", steps)
    full = calibrate.calibrated(sample_profile(), 5.0, Counting(lambda: 0))
    assert (full.sort_ns, full.calibrated, len(waits)) == (3.0, True, 3)


def test_a_process_ends_though_something_waits_in_its_background() -> None:
    program = """
from dnumpy.config import config
from dnumpy.runtime import background, measure
config.calibrate = "auto"
background.IDLE_SECONDS = 0.0
def work(idle):
    while True:
        measure.page_ns(2)
background.once_idle("a", work, lambda: 0)
import time; time.sleep(0.5)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], timeout=60, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@given(
    st.lists(st.integers(0, 1000), min_size=1, max_size=6),
    st.lists(st.integers(0, 1500), min_size=6, max_size=6),
)
def test_no_step_of_a_calibration_takes_more_than_half_of_what_is_free(
    sizes: list[int], free: list[int]
) -> None:
    ran: list[tuple[int, float]] = []

    def taking(size: int) -> calibrate.Step:
        return calibrate.Step(lambda p: ran.append((size, p.free_bytes)) or {}, 0.001, size)

    left = iter(free)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibrate, "STEPS", [taking(size) for size in sizes])
        full = calibrate.calibrated(sample_profile(), free=lambda: float(next(left)))
    fitting = [(size, float(room)) for size, room in zip(sizes, free, strict=False)]
    assert ran == [(size, room) for size, room in fitting if size <= room / 2]
    assert full.calibrated == (len(ran) == len(sizes))


def test_a_worker_without_memory_to_spare_keeps_what_it_knew() -> None:
    before = sample_profile()
    after = calibrate.calibrated(before, idle=Idle(lambda: 0, idle_seconds=0.0), free=lambda: 4e6)
    assert not after.calibrated
    assert replace(after, calibrated=before.calibrated) == before


@pytest.mark.alone
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux")
def test_each_step_takes_at_most_what_it_says() -> None:
    program = """
from dataclasses import replace
from dnumpy.runtime import calibrate, measure, peaks
profile = measure.measure("here", 2)
calibrate._products(profile)  # what BLAS itself takes, once
for step in calibrate.STEPS:
    peaks.watch.start()
    began = peaks._held()[0]
    step.within(profile, lambda: step.nbytes / calibrate.AFFORDED)
    print(step.measured.__name__, step.nbytes, peaks._held()[1] - began)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], timeout=60, capture_output=True, text=True, check=False
    )
    told = [line.split() for line in done.stdout.splitlines()]
    assert len(told) == len(calibrate.STEPS), done.stderr
    assert all(int(took) <= int(said) for _, said, took in told), told
