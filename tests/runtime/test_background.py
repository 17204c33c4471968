"""What is measured in the background waits for a quiet moment and keeps nothing alive."""

from __future__ import annotations

import subprocess
import sys
import threading
from itertools import count

import pytest

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
    monkeypatch.setattr(background, "_begun", set())
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
        background._run(failing, Idle(lambda: 0, idle_seconds=0.0))


def test_each_step_of_a_calibration_waits_for_a_quiet_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits = []

    class Counting(Idle):
        def wait(self) -> None:
            waits.append(self)

    steps = {lambda _, k=k: {"sort_ns": 1.0 + k}: 0.001 for k in range(3)}
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
