"""explain says what will run, computes nothing, and afterwards what did."""

from __future__ import annotations

import numpy

import dnumpy as np
from dnumpy.config import config

ROWS = 4_000_000 if config.mode == "default" else 4_000  # too many to be computed at once


def _pending() -> np.ndarray:
    return np.sqrt(np.array(numpy.ones(ROWS)) * 3 + 1)


def test_explaining_computes_nothing() -> None:
    array = _pending()
    told = np.explain(array)
    assert told.state == "pending"
    assert array._buf.pending


def test_a_forecast_names_ops_kernel_rows_seconds_and_bytes() -> None:
    (stage,) = np.explain(_pending()).stages
    assert stage["what"] == "multiply+add+sqrt"
    assert sum(rows for _, rows in stage["where"]) == ROWS
    assert stage["predicted_seconds"] > 0
    assert sum(stage["predicted_bytes"]) >= 2 * 8 * ROWS  # what is read and what is written
    assert len(stage["predicted_bytes"]) == len(stage["where"])
    assert "sqrt" in stage["program"]


def test_after_a_run_the_measured_seconds_stand_beside_the_predicted() -> None:
    array = _pending()
    assert float(array[7]) == 2.0
    told = np.explain(array)
    assert told.state == "computed"
    stages = [s for s in told.stages if s["what"] == "multiply+add+sqrt"]
    assert stages
    assert all(s["measured_seconds"] > 0 and s["predicted_seconds"] is not None for s in stages)


def test_the_table_and_the_dictionary_say_the_same() -> None:
    told = np.explain(_pending())
    assert told.to_dict()["stages"] == told.stages
    text = str(told)
    assert "multiply+add+sqrt" in text
    assert "predicted" in text


def test_a_deferred_scalar_is_explained_too() -> None:
    total = _pending().sum()
    assert np.explain(total).stages
    assert float(total) == 2.0 * ROWS
    assert np.explain(total).state == "computed"


def test_what_runs_at_once_has_no_stages() -> None:
    words = np.array(["a", "b"])
    assert np.explain(words).stages == []
    assert "NumPy" in str(np.explain(words))


def test_the_report_counts_phases_and_fallbacks() -> None:
    array = _pending()
    float(array.sum())
    found = np.report()
    assert any("sqrt" in p["what"] and p["count"] >= 1 for p in found["phases"])
    assert found["seconds"] > 0
    assert found["numpy_seconds_predicted"] > 0
