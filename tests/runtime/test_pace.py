"""What a task takes over time: CPU time over its share of a CPU, without memory that was new."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.quota import cpu_share, why_no_quota
from dnumpy.runtime import measure, pace
from dnumpy.runtime.files import stored_rows
from dnumpy.runtime.operands import Made
from dnumpy.runtime.tasks import report_of, saying_how_it_went

if TYPE_CHECKING:
    from collections.abc import Callable

QUOTA = why_no_quota()


def busy(seconds: float) -> None:
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


@pytest.fixture
def half(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "here", pace.Share(value=0.5, known_until=float("inf")))


def paced(run: Callable[[], object]) -> pace.Pace:
    found: list[pace.Pace] = []
    with pace.paced(found):
        run()
    (one,) = found
    return one


@pytest.mark.usefixtures("half")
def test_a_task_on_half_a_cpu_lasts_twice_its_work() -> None:
    def work() -> None:
        busy(0.02)
        time.sleep(0.1)  # which is no work

    assert 0.04 <= paced(work).lasting < 0.1


def test_without_a_limit_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "here", pace.Share(value=1.0, known_until=float("inf")))
    assert paced(lambda: busy(0.001)) == pace.EVEN


class Usage:
    """The system's counts, as a thread with so much of its time and so many faults has them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.system, self.faults = 0.5, 7
        monkeypatch.setattr(pace, "_USAGE", 1)
        monkeypatch.setattr(pace, "resource", self)

    def getrusage(self, _who: int) -> SimpleNamespace:
        return SimpleNamespace(ru_stime=self.system, ru_minflt=self.faults)

    def add(self, system: float, faults: int) -> None:
        self.system += system
        self.faults += faults


@pytest.mark.usefixtures("half")
@pytest.mark.parametrize(
    ("system", "faults", "paging"),
    [
        (0.25, 3, 0.5),  # on half a CPU
        (0.25, 0, 0.0),  # it read from a file, say
        (0.01, 3, 0.0),  # less than is counted
    ],
)
def test_pages_that_are_new_are_told_apart(
    monkeypatch: pytest.MonkeyPatch, system: float, faults: int, paging: float
) -> None:
    usage = Usage(monkeypatch)
    assert paced(lambda: usage.add(system, faults)).paging == pytest.approx(paging)


def test_what_a_task_reads_from_files_is_no_paging(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usage = Usage(monkeypatch)

    @saying_how_it_went
    def task(_job: object, *_data: object) -> Made:
        usage.add(0.1, 100)
        return Made((), (), 0.2, frozenset())

    np.save(tmp_path / "rows.npy", np.arange(8.0))
    stored = stored_rows(np.load(tmp_path / "rows.npy", mmap_mode="r").view(np.ndarray))
    assert stored is not None
    assert task(None).pace.paging > 0.0
    assert task(None, np.arange(8.0)).pace.paging > 0.0
    assert task(None, stored).pace.paging == 0.0


@pytest.mark.usefixtures("half")
def test_what_is_learnt_from_is_the_longer_of_both() -> None:
    @saying_how_it_went
    def task(_job: object) -> Made:
        busy(0.02)
        return Made((), (), 0.02, frozenset())

    made = task(None)
    assert made.seconds == 0.02
    assert report_of(made).steady_seconds == made.steady_seconds == made.pace.lasting >= 0.04
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
