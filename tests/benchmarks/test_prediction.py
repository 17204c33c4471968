"""The table of prediction errors says what its columns promise."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from benchmarks.prediction import (
    Row,
    error,
    first_noise,
    main,
    programs,
    row_of,
    summary,
    table,
    untaught,
)

if TYPE_CHECKING:
    from pathlib import Path

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


def test_the_noise_floor_of_first_calls_is_told_by_several_processes_on_the_same_nodes() -> None:
    first = [Row("p", (1.0, took), 1.0, [(1.0, 1.0)]) for took in (1.0, 2.0, 4.0)]
    elsewhere = Row("p", (1.0, 9.0), 1.0, [(1.0, 1.0)], where="other nodes")
    alone = Row("q", (1.0, 9.0), 1.0, [(1.0, 1.0)])
    assert first_noise([*first, elsewhere, alone]) == [1.0, 0.0, 0.5]
    assert summary([*first, elsewhere, alone])["cold noise"][0] == 0.5
    assert summary([alone])["cold noise"] is None
    assert table([*first, elsewhere, alone]).row_count == 3


def test_a_process_of_its_own_gives_the_rows_that_are_recorded(tmp_path: Path) -> None:
    written = tmp_path / "rows.json"
    asked = ["--processes=1", "--repeats=2", "--scale=0.4", "--programs", "cumsum", "transpose"]
    assert main([*asked, f"--json={written}"]) == 0
    found = json.loads(written.read_text(encoding="utf-8"))
    assert [row["program"] for row in found["rows"]] == ["cumsum", "transpose"]
    assert all(len(row["warm"]) == 2 for row in found["rows"])


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
