"""The table of prediction errors says what its columns promise."""

from __future__ import annotations

import os

import pytest

from benchmarks.prediction import Row, error, programs, row_of, summary, table, untaught

pytestmark = pytest.mark.skipif(
    os.environ.get("DNUMPY_MODE", "default") != "default", reason="a record knows no modes"
)


@pytest.mark.parametrize(("predicted", "expected"), [(1.0, 0.0), (2.0, 1.0), (0.5, 0.5)])
def test_an_error_is_relative_to_what_was_measured(predicted: float, expected: float) -> None:
    assert error(predicted, 1.0) == expected


def test_the_noise_floor_is_the_error_of_who_knew_the_median() -> None:
    row = Row("p", (1.0, 1.0), 1.0, [(9.0, 1.0), (9.0, 2.0), (9.0, 4.0)])
    assert row.noise() == [1.0, 0.0, 0.5]
    assert min(row.errors()) > max(row.noise())


def test_runs_too_short_to_count_are_in_the_table_but_not_in_the_summary() -> None:
    long = Row("long", (0.1, 0.2), 0.2, [(0.1, 0.1)], inside=1)
    short = Row("short", (1e-3, 1e-6), 1e-3, [(1e-3, 1e-6)])
    found = summary([long, short])
    assert found["programs"] == 1
    assert found["cold"] == (0.5, 0.5)
    assert found["taught"] == (0.0, 0.0)
    assert found["warm"] == (0.0, 0.0)
    assert found["inside"] == 1.0
    assert table([long, short]).row_count == 2


def test_every_program_is_pending_until_it_is_computed() -> None:
    for name, record in programs(1.0).items():  # smaller ones are computed as they are recorded
        pending = record()
        assert float(pending.predict()) > 0, name
        assert untaught(pending) > 0, name


def test_a_program_is_run_as_often_as_asked() -> None:
    row = row_of("exp chain", programs(0.4)["exp chain"], 3)
    assert len(row.warm) == 3
    assert 0 <= row.inside <= 3
    assert all(predicted > 0 and took > 0 for predicted, took in (row.cold, *row.warm))
