from __future__ import annotations

from importlib.util import cache_from_source
from pathlib import Path

import numpy as np
import pytest

import dnumpy
from benchmarks.machine import Limits, as_installed, best, measured_limits
from benchmarks.measure import Local, Row, Timing, alternate, parts_of, resident_bytes
from benchmarks.peers import peer
from benchmarks.programs import Program, Work
from benchmarks.report import Record, cell, share_text


def a_row() -> Row:
    numpys = Timing([4.0, 2.0, 9.0], first=6.0, peak_bytes=100)
    ours = Timing([1.0, 8.0, 1.0], first=3.0, first_empty=12.0, peak_bytes=50)
    return Row("p", "P", Work(8.0), {"numpy": numpys, "dnumpy": ours}, {"jax": "no room"})


def test_a_speed_above_one_is_faster_than_numpy() -> None:
    row = a_row()
    assert row.speed("dnumpy", "best") == 2.0
    assert row.speed("dnumpy") == 4.0
    assert row.speed("dnumpy", "first") == 2.0
    assert row.timings["dnumpy"].cold == 12.0
    assert row.timings["numpy"].cold == 6.0


def test_a_record_is_read_as_it_was_written(tmp_path) -> None:
    limits = Limits(4.0, {"float64": 2.0, "float32": 4.0})
    record = Record({"cores": 2}, limits, 1.0, ("numpy", "dnumpy", "jax"), (a_row(),))
    record.write(tmp_path / "deep" / "record.json")
    assert Record.read(tmp_path / "deep" / "record.json") == record


def test_a_record_keeps_what_was_not_run_again() -> None:
    limits = Limits(4.0, {"float64": 2.0})
    old = Row("old", "Old", Work(), {"numpy": Timing([1.0])}, {})
    older = Record({"cores": 2}, limits, 1.0, ("numpy", "jax"), (old, Row("p", "P")))
    newer = Record({"cores": 2}, limits, 1.0, ("numpy", "dnumpy"), (a_row(),))
    both = newer.onto(older)
    assert both.rows == (old, a_row())
    assert both.peers == ("numpy", "jax", "dnumpy")
    with pytest.raises(ValueError, match="not comparable"):
        newer.onto(Record({"cores": 4}, limits, 1.0, ("numpy",), ()))


def test_a_peer_without_figures_failed_or_has_no_version() -> None:
    row = a_row()
    assert [cell(row, name) for name in ("dnumpy", "jax", "dask")] == ["4.0", "!", "x"]


def test_the_share_of_the_machine_is_the_least_time_over_the_median() -> None:
    limits = Limits(16.0, {"float64": 2.0, "float32": 4.0})
    assert limits.seconds(Work(8.0)) == 0.5
    assert limits.seconds(Work(8.0, 8.0, "float32")) == 2.0
    assert share_text(a_row(), "dnumpy", limits) == "50%"


def test_the_machine_is_as_fast_as_it_was_measured_to_be_at_best() -> None:
    quiet = Limits(16.0, {"float64": 2.0})
    assert best(quiet, Limits(8.0, {"float64": 3.0})) == Limits(16.0, {"float64": 3.0})
    found = measured_limits(elements=1 << 12, edge=16)
    assert found.bytes_per_second > 0
    assert all(rate > 0 for rate in found.flops_per_second.values())


def test_sessions_run_in_turn_and_warm_ups_are_not_counted() -> None:
    order: list[str] = []

    def program(name: str) -> Program:
        return Program(name, name, lambda _: (np.ones(4),), lambda *_: order.append(name) or 1, 0.0)

    sessions = [Local(peer("numpy"), program(name), 1.0) for name in "ab"]
    timings = [Timing(), Timing()]
    alternate(zip(sessions, timings, strict=True), warmups=1, repeats=2)
    assert order == ["a", "b"] * 3
    assert [len(timing.seconds) for timing in timings] == [2, 2]


@pytest.mark.skipif(not resident_bytes("VmHWM"), reason="the system does not tell memory at peak")
def test_the_peak_is_what_a_run_needs_above_its_data() -> None:
    size = 256 << 20  # more than the heap of any test before has left to be used again
    program = Program(
        "p", "p", lambda _: (np.ones(size // 8),), lambda _, data: float((data[0] + 1).sum()), 0.0
    )
    session = Local(peer("numpy"), program, 1.0)
    session.run()
    assert size // 2 < session.memory() < 2 * size


def test_a_result_is_compared_part_by_part() -> None:
    assert [part.tolist() for part in parts_of((1.0, np.arange(2)))] == [1.0, [0, 1]]
    assert [part.shape for part in parts_of(np.zeros((2, 3)))] == [(2, 3)]


def test_fresh_processes_find_byte_code_as_after_installing() -> None:
    cached = Path(cache_from_source(str(Path(dnumpy.__file__).parent / "kernels" / "lower.py")))
    cached.unlink(missing_ok=True)
    as_installed()
    assert cached.exists()
