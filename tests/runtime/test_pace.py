"""What a task takes over time on a share of a CPU is its CPU time over that share."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.quota import cpu_share, why_no_quota
from dnumpy.runtime import measure, pace
from dnumpy.runtime.operands import Made
from dnumpy.runtime.tasks import report_of, saying_how_it_went

QUOTA = why_no_quota()


def busy(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


@pytest.fixture
def half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "here", pace.Share(value=0.5, known_until=float("inf")))


@pytest.mark.usefixtures("half")
def test_a_task_on_half_a_cpu_lasts_twice_its_work() -> None:
    lasting: list[float] = []
    with pace.paced(lasting):
        busy(0.02)
        time.sleep(0.1)  # which is no work
    (found,) = lasting
    assert 0.04 <= found < 0.1


def test_without_a_limit_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "here", pace.Share(value=1.0, known_until=float("inf")))
    lasting: list[float] = []
    with pace.paced(lasting):
        busy(0.001)
    assert lasting == []


@pytest.mark.usefixtures("half")
def test_what_is_learnt_from_is_the_longer_of_both() -> None:
    @saying_how_it_went
    def task(_job: object) -> Made:
        busy(0.02)
        return Made((), (), 0.02, frozenset())

    made = task(None)
    assert made.seconds == 0.02
    assert report_of(made).steady_seconds == made.steady_seconds == made.lasting >= 0.04
    assert made._replace(seconds=9.0).steady_seconds == 9.0


def test_a_limit_is_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = iter([0.5, 0.25])
    monkeypatch.setattr(measure, "allowed_share", lambda threads: next(shares) / threads)
    share = pace.Share(threads=1)
    assert share.now() == share.now() == 0.5
    share.known_until = 0.0
    assert share.now() == 0.25


@pytest.mark.skipif(bool(QUOTA), reason=QUOTA)
def test_a_process_on_a_quota_knows_its_share() -> None:
    program = (
        "import sys; sys.stdin.readline()\n"
        "from dnumpy.runtime.pace import Share\n"
        "print(Share(threads=2).now())"
    )
    with (
        subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(Path.cwd())},
        ) as process,
        cpu_share(0.5, [process.pid]),
    ):
        found, _ = process.communicate("\n")
    assert float(found) == pytest.approx(0.25)
