"""The figures of what an operation costs: that all are there, not what they are."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections import Counter
from typing import TYPE_CHECKING

import pytest

import dnumpy
from benchmarks.dispatch import (
    AIMED,
    BODIES,
    LARGE,
    OPERATIONS,
    SIZES,
    Costs,
    Evaluation,
    Ratio,
    evaluation,
    large_arrays,
    main,
    mean_of,
    one_compiled_thread,
    profiles,
    ratio_of,
    recording,
    waiting,
)
from benchmarks.flame import ROOT, flame_of, sampled
from dnumpy import engine
from dnumpy.config import config

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    os.environ.get("DNUMPY_MODE", "default") != "default",
    reason="small arrays run at once in the default mode alone",
)


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_runs_under_both_and_takes_time(name: str) -> None:
    found = ratio_of(OPERATIONS[name], 2, 1)
    assert found.numpy_seconds > 0
    assert found.dnumpy_seconds > 0
    assert found.ratio == found.dnumpy_seconds / found.numpy_seconds


def test_what_is_recorded_is_dropped_and_not_computed() -> None:
    arrays = large_arrays()
    engine.history.clear()
    assert recording(arrays) > 0
    assert len(engine.history) == 2  # so that the line is known to wait
    assert not engine.window.exprs


@pytest.mark.parametrize(
    ("size", "way"), [(LARGE, one_compiled_thread), *((size, waiting) for size in SIZES)]
)
@pytest.mark.parametrize("name", BODIES)
def test_an_evaluation_is_timed_around_its_kernel(
    name: str, size: int, way: Callable[[], AbstractContextManager[None]]
) -> None:
    kept = config.kernels, config.threads, config.middling
    with way():
        found = evaluation(BODIES[name], large_arrays(size), 8)
    assert 0 < found.before_seconds < math.inf
    assert 0 < found.after_seconds < math.inf
    assert (config.kernels, config.threads, config.middling) == kept


def test_the_aims_are_over_the_listed_operations_only() -> None:
    ratios = {"add, 3": Ratio(1.0, 2.0), "sum": Ratio(1.0, 8.0), "len": Ratio(1.0, 100.0)}
    assert "len" not in AIMED
    costs = Costs(ratios, 1e-6, {"2 operations": Evaluation(1e-5, 1e-6)}, 0.1)
    assert costs.as_dict()["aimed"] == {"geometric_mean": pytest.approx(4.0), "worst": 8.0}
    assert math.isnan(mean_of([]))


def test_a_flame_counts_each_sample_in_its_frame_and_in_its_callers() -> None:
    flame = flame_of("all", Counter({("f", "g"): 3, ("f",): 1, ("h",): 6}))
    assert list(flame.lines()) == [
        "100.0%   0.0%  all",
        " 60.0%  60.0%  | h",
        " 40.0%  10.0%  | f",
        " 30.0%  30.0%  | | g",
    ]
    calls = flame.as_dict()["calls"]
    assert [(c["frame"], c["samples"]) for c in calls] == [("h", 6), ("f", 4)]


def test_samples_fall_into_what_runs() -> None:
    def busy() -> None:
        until = time.process_time() + 0.02
        while time.process_time() < until:
            pass

    flame = sampled("busy", busy, 0.2)
    inside = sum(f.samples for name, f in flame.callees.items() if "busy" in name)
    assert flame.samples > 0
    assert inside > flame.samples / 2


_LATE = """
import signal, time
from benchmarks.flame import sampled

def busy():  # for so long that the timer has surely run out, and no thread takes its signal
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGPROF])
    until = time.process_time() + 0.02
    while time.process_time() < until or signal.SIGPROF not in signal.sigpending():
        pass

sampled("busy", busy, 0.0001)
assert signal.getsignal(signal.SIGPROF) is signal.SIG_DFL
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGPROF])
print("lives")
"""


def test_a_sample_that_comes_late_ends_no_process() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LATE], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "lives\n", "")


def test_the_paths_are_profiled_by_name() -> None:
    names = [flame.name for flame in profiles(0.05)]
    assert names == ["a + b of 3 elements", "recording x + y", "evaluating a * b + c"]


def test_the_command_prints_tables_and_trees_and_stores_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "found.json"
    few = ["--count", "2", "--rounds", "2", "--seconds", "0.05"]
    main(["--operations", "add, 3", "slice", *few, "--profile", "--json", str(target)])
    shown = capsys.readouterr().out
    for part in (
        "add, 3",
        "geometric mean",
        "until the kernel",
        "import dnumpy",
        "recording x + y",
    ):
        assert part in shown
    stored = json.loads(target.read_text("utf-8"))
    assert set(stored["ratios"]) == {"add, 3", "slice"}
    expected = {f"{name} on {size:,} elements" for name in BODIES for size in SIZES}
    assert set(stored["evaluations"]) == expected
    assert stored["import_seconds"] > 0
    assert len(stored["profiles"]) == 3
    assert stored["machine"]["versions"]["numpy"].startswith(dnumpy.__version__[:1])
