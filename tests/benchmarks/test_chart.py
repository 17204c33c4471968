from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET

import pytest

from benchmarks.chart import BLOCK, CHART, README, RECORD, block, chart, place, shown, with_block
from benchmarks.machine import Limits
from benchmarks.measure import Row, Timing
from benchmarks.programs import TABLE, Work
from benchmarks.report import Record, speed_text

pytestmark = pytest.mark.skipif(
    os.environ.get("DNUMPY_MODE", "default") != "default", reason="a record knows no modes"
)


def a_record(*speeds: float) -> Record:
    rows = tuple(
        Row(
            program.name,
            program.title,
            Work(8.0),
            {"numpy": Timing([speed], 1.0), "dnumpy": Timing([1.0], 1.0), "jax": Timing([0.5])},
        )
        for program, speed in zip(TABLE, speeds, strict=False)
    )
    here = {"cores": 2, "processor": "a < b", "python": "3.11", "versions": {"numpy": "2"}}
    limits = Limits(16.0, {"float64": 1.0})
    return Record(here, limits, 1.0, ("numpy", "dnumpy", "jax"), rows)


def test_the_readme_shows_what_the_record_says() -> None:
    record = Record.read(RECORD)
    readme = README.read_text(encoding="utf-8")
    assert with_block(readme, block(record, RECORD)) == readme
    assert CHART.read_text(encoding="utf-8") == chart(record)
    assert str(CHART.relative_to(README.parent)) in readme
    assert {row.program for row in shown(record)} == {program.name for program in TABLE}


def test_another_record_would_show_in_the_readme() -> None:
    readme = README.read_text(encoding="utf-8")
    assert with_block(readme, block(a_record(7.25), RECORD)) != readme
    assert chart(a_record(2.0)) != chart(a_record(4.0))


def test_a_readme_without_its_marks_is_an_error() -> None:
    with pytest.raises(ValueError, match="0 blocks"):
        with_block(BLOCK.sub("", README.read_text(encoding="utf-8")), "")


def test_the_chart_is_well_formed_and_has_a_bar_for_each_program() -> None:
    record = a_record(2.0, 0.5, 1000.0)
    root = ET.fromstring(chart(record))  # noqa: S314 - of our own making
    kinds = [rect.get("class") for rect in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert kinds == ["bar", "bar", "slow", "bar"]  # the first is the legend's
    texts = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"2.0", "0.50", "1000.0"} <= set(texts)


def test_bars_grow_with_the_speed_up_to_the_end_of_the_axis() -> None:
    places = [place(speed) for speed in (1e-9, 0.1, 0.5, 1.0, 2.0, 8.0, 1e9)]
    assert places == sorted(places)
    assert len(set(places)) == len(places)
    assert place(2.0) - place(1.0) == pytest.approx(place(8.0) - place(4.0), abs=0.2)


def test_a_speed_is_shown_with_two_digits() -> None:
    shown_as = [speed_text(speed) for speed in (12.34, 2.0, 1.234, 0.5, 0.01234)]
    assert shown_as == ["12.3", "2.0", "1.23", "0.50", "0.01"]


def test_every_row_of_the_table_has_as_many_cells_as_its_head() -> None:
    lines = [x for x in block(a_record(2.0, 3.0), RECORD).splitlines() if x.startswith("|")]
    assert len(lines) == 4
    assert len({len(re.findall(r"\|", x)) for x in lines}) == 1
