"""What whole runs teach of what lies between their tasks."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnumpy.expr.expr import leaf
from dnumpy.rewrite.stages import WholeStage
from dnumpy.runtime.chunked import Chunked, Part, Source
from dnumpy.runtime.forecast import Forecast, prediction_of
from dnumpy.runtime.records import HERE, Record
from dnumpy.runtime.spans import LAYOUT_SECONDS, MOST, Spans, end_of, program_of
from tests.runtime import programs as p

WHERE = (("a", 60), ("b", 40))


def run_of(started: float, took: float, *, sweeps: int = 2, rows: int = 100) -> list[Record]:
    """Return the records of a run that was predicted to take a second."""
    where = (("a", rows - 40), ("b", 40))
    return [
        Record(
            what,
            where,
            0.1,
            0,
            node_seconds=(0.1, 0.1),
            started=started,
            node_starts=(started + 5.0, started + 5.0 + took - 0.1),  # after a round trip
            predicted_node_seconds=(0.5, 0.5),
            predicted_node_starts=(3.0, 3.5),
        )
        for k, what in enumerate(["first", *["sweep"] * (sweeps - 1)])
    ]


STAGES = [("first", WHERE), ("sweep", WHERE)]


def test_what_never_ran_takes_what_was_predicted() -> None:
    assert Spans().factor(STAGES) == 1.0


@given(st.lists(st.floats(0.2, 7.0), min_size=2, max_size=3))
def test_runs_say_by_how_much_equal_ones_take_longer(times: list[float]) -> None:
    known, history = Spans(), []
    for k, took in enumerate(times):
        history += run_of(10.0 * k, took)
        known.take_in(history)
        known.take_in(history)  # nothing new
    found = known.factor(STAGES)
    assert min(times) * (1 - 1e-9) <= found <= max(times) * (1 + 1e-9)
    if times == sorted(set(times)):
        assert found == pytest.approx(median(times))
    if times == sorted(set(times), reverse=True):  # nothing was at hand yet, but for the last one
        assert found == pytest.approx(times[-1])
    assert known.factor([*STAGES, ("sweep x 5", WHERE)]) == known.factor(STAGES)
    assert known.factor([("first", WHERE)]) == 1.0
    assert known.factor([(what, (("a", 999),)) for what, _ in STAGES]) == 1.0


def test_an_accident_counts_no_more_than_a_bound() -> None:
    known = Spans()
    known.take_in(run_of(0.0, 1e6))
    assert known.factor(STAGES) == MOST


def test_runs_at_home_and_runs_without_a_plan_teach_nothing() -> None:
    known = Spans()
    here = [r._replace(where=((HERE, 100),)) for r in run_of(0.0, 3.0)]
    bare = [r._replace(predicted_node_starts=()) for r in run_of(1.0, 3.0)]
    known.take_in([*here, *bare])
    assert not known.ratios


def test_a_run_ends_with_the_last_of_its_stages() -> None:
    assert end_of([((0.0, 1.0), (5.0, 2.0)), ((), ())]) == 5.0
    assert end_of([((), (1.0,))]) is None
    assert end_of([]) is None


def test_a_program_takes_what_it_took() -> None:
    known, history = Spans(), []
    for k, took in enumerate([9.0, 2.0, 1.0, 3.0]):  # the first one finds nothing at hand
        records = run_of(10.0 * k, took)
        history += [r._replace(program=7, run_seconds=took) for r in records]
        history += [r._replace(program=8, run_seconds=0.0) for r in records]  # it failed
        known.take_in(history)
    assert known.seconds(7) == 2.0
    assert known.seconds(8) is None


def test_a_program_on_another_cluster_is_another() -> None:
    stages, one, other = [WholeStage(leaf(np.ones(3), (3,), np.dtype(float)))], Spans(), Spans()
    assert program_of(stages, one) == program_of(list(stages), one)
    assert program_of(stages, one) != program_of(stages, other)


def test_a_program_whose_rows_were_moved_is_another() -> None:
    cluster = Spans()

    def program(*rows: int) -> int:
        stops = [sum(rows[: k + 1]) for k in range(len(rows))]
        starts = [0, *stops[:-1]]
        parts = [Part(str(k), *cut, None) for k, cut in enumerate(zip(starts, stops, strict=True))]
        read = p.data(np.empty((100, 3)))
        source = Source((100, 3), read.dtype)
        read.value = Chunked((100, 3), read.dtype, tuple(parts), source, None)
        return program_of([WholeStage(p.call("negative", read))], cluster)

    assert program(70, 30) == program(68, 32)
    assert len({program(70, 30), program(100), program(0, 100), program(30, 70)}) == 4


def test_what_is_on_its_way_is_waited_for_first() -> None:
    took = (0.25, 0.1)
    kind = Forecast("", "", WHERE, 0.25, took, (8, 8), "", "", 0.2, 0.3, "", (), (0.01, 0.02))
    told, later = prediction_of([kind], 0), prediction_of([kind], 0, 0.5)
    assert later.seconds == pytest.approx(told.seconds + 0.5)
    assert later.interval == pytest.approx(tuple(0.5 + end for end in told.interval))


def test_a_first_run_is_laid_out_for_as_long_as_others_were() -> None:
    known = Spans()
    assert known.layout_seconds(7, 4) == pytest.approx(4 * LAYOUT_SECONDS)
    for _ in range(60):
        known.note_layout(0.012, 3)
    assert known.layout_seconds(7, 4) == pytest.approx(0.016, rel=0.01)
    known.note_layout(0.0, 0)
    assert known.layout_seconds(7, 4) == pytest.approx(0.016, rel=0.01)
    known.take_in([r._replace(program=7, run_seconds=1.0) for r in run_of(0.0, 1.0)])
    assert known.layout_seconds(7, 4) == 0.0
