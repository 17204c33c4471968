"""predict() tells seconds and bytes without computing, and explain keeps what a run did."""

from __future__ import annotations

import gc
import time
from typing import TYPE_CHECKING

import numpy
import pytest

import dnumpy as np
from dnumpy import engine
from dnumpy.config import config
from dnumpy.runtime import learnt

if TYPE_CHECKING:
    from dnumpy.runtime.records import Record

ROWS = 2_000_000 if config.mode == "default" else 4_000  # too much to be run at once
here_only = pytest.mark.skipif(config.mode == "split", reason="stages run on virtual nodes there")


def _pending(rows: int = ROWS) -> np.ndarray:
    return np.sqrt(np.array(numpy.ones(rows)) * 3 + 1)


def test_predicting_computes_nothing() -> None:
    array = _pending()
    ran = len(engine.history)
    array.predict()
    assert array._buf.pending
    assert len(engine.history) == ran


def test_the_prediction_is_what_explain_shows() -> None:
    array = _pending()
    found, told = array.predict(), np.explain(array)
    assert float(found) == found.seconds == pytest.approx(told.predicted_seconds)
    assert found.interval == told.interval == tuple(told.to_dict()["predicted_interval"])
    assert told.to_dict()["predicted_seconds"] == told.predicted_seconds
    assert set(found.bytes) == {node for s in told.stages for node, _ in s["where"]}


def test_the_interval_holds_the_seconds_which_are_positive() -> None:
    found = _pending().predict()
    low, high = found.interval
    assert 0 < low <= found.seconds <= high


def test_the_bytes_hold_what_is_read_and_what_is_written() -> None:
    assert sum(_pending().predict().bytes.values()) >= 2 * 8 * ROWS


@here_only
def test_what_several_stages_give_is_held_together() -> None:
    array = np.array(numpy.ones(ROWS))
    ordered = np.cumsum(array * 2) - 1
    assert ordered.predict().bytes["local"] >= 3 * 8 * ROWS


def test_a_deferred_scalar_is_predicted_without_being_computed() -> None:
    total = _pending().sum()
    found = total.predict()
    assert found.seconds > 0
    assert total.expr is not None
    assert total.expr.value is None
    assert float(total) == 2.0 * ROWS
    assert float(total.predict()) == 0.0


@pytest.mark.parametrize("array", [np.zeros(3), np.array(["a"]), np.zeros(ROWS)])
def test_nothing_is_left_to_do_for_what_has_its_values(array: np.ndarray) -> None:
    found = array.predict()
    assert (float(found), found.interval, found.bytes) == (0.0, (0.0, 0.0), {})


def test_a_computed_array_has_nothing_left_to_do() -> None:
    array = _pending()
    assert float(array[7]) == 2.0
    assert float(array.predict()) == 0.0


def test_predict_is_not_listed_since_numpys_class_has_no_such_method() -> None:
    assert "predict" not in dir(np.ndarray)


@pytest.mark.parametrize("look", [numpy.asarray, float], ids=str)
def test_the_run_is_known_however_the_values_were_looked_at(look: object) -> None:
    handle = _pending().sum() if look is float else _pending()
    look(handle)  # type: ignore[operator]
    gc.collect()
    told = np.explain(handle)
    assert told.state == "computed"
    assert any("sqrt" in stage["what"] for stage in told.stages)
    assert all(stage["measured_seconds"] > 0 for stage in told.stages)


def test_writing_makes_the_next_explanation_that_of_the_write() -> None:
    array = _pending()
    numpy.asarray(array)
    array *= 2.0
    assert np.explain(array).state in ("pending", "computed")
    assert float(array[0]) == 4.0
    assert any("multiply" in s["what"] for s in np.explain(array).stages)


def test_records_say_when_their_stage_began() -> None:
    before = time.perf_counter()
    float(_pending()[0])
    after = time.perf_counter()
    records = list(engine.history)[-1:]
    assert records
    assert all(before <= r.started <= r.started + r.seconds <= after for r in records)


# what runs teach -------------------------------------------------------------------------------


def _ran(seconds: float) -> Record:
    """Return the Record of the latest run of a phase, as if it had taken so long."""
    float(_pending(3 * ROWS)[0])
    (record, *_) = [r for r in reversed(engine.history) if r.phase is not None]
    return record._replace(seconds=seconds, node_seconds=(seconds,))


@here_only
@pytest.mark.parametrize("seconds", [0.01, 0.5])
def test_a_run_is_expected_to_take_what_equal_runs_took(seconds: float) -> None:
    runs = learnt.Runs()
    record = _ran(seconds)
    runs.take_in([record], engine.profile_here())
    kind = learnt._kind_of(record)
    found = runs.expect(kind, engine.profile_here())
    assert found is not None
    assert found.basis == "runs"
    assert found.seconds == seconds


@here_only
def test_one_slow_run_does_not_change_what_is_expected() -> None:
    runs = learnt.Runs()
    record = _ran(0.02)
    history = [record._replace(seconds=s) for s in (0.02, 0.02, 0.02, 9.0)]
    runs.take_in(history, engine.profile_here())
    found = runs.expect(learnt._kind_of(record), engine.profile_here())
    assert found is not None
    assert found.seconds == 0.02


@here_only
def test_the_first_run_is_forgotten_when_the_second_is_faster() -> None:
    runs = learnt.Runs()
    record = _ran(0.5)
    history = [record._replace(seconds=s) for s in (0.5, 0.02)]
    runs.take_in(history, engine.profile_here())
    found = runs.expect(learnt._kind_of(record), engine.profile_here())
    assert found is not None
    assert found.seconds == 0.02


@here_only
def test_other_sizes_of_the_same_ops_are_corrected_too() -> None:
    runs, profile = learnt.Runs(), engine.profile_here()
    record = _ran(1.0)._replace(lowering="tiled")  # as a first run begins
    kind = learnt._kind_of(record)._replace(timed=None)
    assert kind.work is not None
    took = max(20 * learnt.profile_seconds(kind.work, profile), 1.0)
    other = kind._replace(key="another size", lowering="tiled", begins=True)
    plain = runs.expect(other, profile)
    runs.take_in([record._replace(seconds=took)], profile)
    found = runs.expect(other, profile)
    assert plain is not None
    assert found is not None
    assert found.basis == plain.basis == "profile"
    assert 4 * plain.seconds < found.seconds <= 1.001 * took


@here_only
def test_the_interval_widens_where_predictions_fail_and_narrows_where_they_hold() -> None:
    steady, wild = learnt.Runs(), learnt.Runs()
    record, profile = _ran(0.02), engine.profile_here()
    for k in range(30):
        steady.take_in([record._replace(seconds=0.02)], profile)
        wild.take_in([record._replace(seconds=0.02 * (1 + 20 * (k % 2)))], profile)
    kind = learnt._kind_of(record)
    narrow, wide = steady.expect(kind, profile), wild.expect(kind, profile)
    assert narrow is not None
    assert wide is not None
    assert narrow.high / narrow.low < wide.high / wide.low


@here_only
def test_no_record_is_taken_in_twice() -> None:
    runs, profile = learnt.Runs(), engine.profile_here()
    record = _ran(0.02)
    history = [record]
    runs.take_in(history, profile)
    runs.take_in(history, profile)
    (times,) = runs.times.values()
    assert len(times) == 1


@here_only
def test_what_took_no_time_to_speak_of_teaches_nothing() -> None:
    runs = learnt.Runs()
    runs.take_in([_ran(learnt.SHORTEST_SECONDS / 2)], engine.profile_here())
    assert not runs.times


@here_only
def test_a_forecast_that_was_told_is_what_the_run_is_measured_by() -> None:
    array = _pending(2_000_000)  # what takes less than SHORTEST_SECONDS is measured by nothing
    told = float(array.predict())
    numpy.asarray(array)
    assert np.explain(array).predicted_seconds == pytest.approx(told)


@pytest.mark.skipif(config.mode != "default", reason="arrays too small to teach")
def test_one_op_on_whole_operands_is_predicted_by_equal_runs_too() -> None:
    values = np.array(numpy.ones(2 * ROWS))
    for _ in range(3):
        numpy.asarray(np.cumsum(values))
    assert [s["basis"] for s in np.explain(np.cumsum(values)).stages] == ["runs"]
