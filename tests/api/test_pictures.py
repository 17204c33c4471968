"""Pictures, pages and traces show what the table says: every stage, every node, every time."""

from __future__ import annotations

import json
import re
import time
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dnumpy as np
from dnumpy import engine
from dnumpy.api import pictures, trace
from dnumpy.api.explanation import Explanation
from dnumpy.config import config

if TYPE_CHECKING:
    from pathlib import Path

SVG = "{http://www.w3.org/2000/svg}"
ROWS = 2_000 if config.mode == "default" else 8  # of 1,000 elements


def a_stage(number: int, *, ran: bool, nodes: int = 2, **other: Any) -> dict[str, Any]:
    """Return a stage whose node k takes k + 1 tenths of a second; measured is twice as long."""
    seconds = tuple((k + 1) / 10 for k in range(nodes))
    told: dict[str, Any] = {
        "what": f"op{number}<&>",
        "kernel": ("tiled", "numba", "chain", "numpy", "another")[number % 5],
        "where": tuple((f"tcp://10.0.0.{k}:1", 1_000 * (k + 1)) for k in range(nodes)),
        "predicted_seconds": max(seconds),
        "predicted_node_seconds": seconds,
        "predicted_bytes": tuple(10**6 * (k + 1) for k in range(nodes)),
        "predicted_interval": (max(seconds) / 2, max(seconds) * 2),
        "how": "",
        "basis": "plan",
        "program": f'%{number} = "op"\\ <x>',
        "reads": (number - 1,) if number else (),
    }
    if ran:
        told |= {
            "measured_seconds": 2 * max(seconds),
            "measured_node_seconds": tuple(2 * s for s in seconds),
            "started": 100.0,
            "node_starts": (),
        }
    return told | other


def stages(count: int, *, ran: bool = False, nodes: int = 2) -> list[dict[str, Any]]:
    return [a_stage(k, ran=ran, nodes=nodes) for k in range(count)]


def parsed(svg: str) -> ET.Element:
    return ET.fromstring(svg)  # noqa: S314 - it was written here


def texts(svg: str) -> list[str]:
    return [e.text or "" for e in parsed(svg).iter(f"{SVG}text")]


def a_program() -> np.ndarray:
    x = np.array(numpy.ones((ROWS, 1_000)))
    return np.cumsum(np.sqrt(x * 3 + 1), axis=1) - 1


# bars ------------------------------------------------------------------------------------------


def test_a_predicted_stage_begins_when_the_one_before_it_ends() -> None:
    bars = trace.predicted_bars(stages(3))
    assert [b.start for b in bars] == pytest.approx([0.0, 0.0, 0.2, 0.2, 0.4, 0.4])
    assert [b.seconds for b in bars] == pytest.approx([0.1, 0.2] * 3)


@given(
    st.lists(st.tuples(st.floats(0, 5), st.floats(0, 5)), min_size=1, max_size=6),
    st.integers(1, 4),
)
def test_no_node_does_two_measured_stages_at_once(
    times: list[tuple[float, float]], nodes: int
) -> None:
    told = [
        a_stage(k, ran=True, nodes=nodes, started=at, measured_node_seconds=(took,) * nodes)
        for k, (at, took) in enumerate(times)
    ]
    bars = trace.measured_bars(told)
    assert len(bars) == nodes * len(times)
    assert min(bar.start for bar in bars) >= 0
    for node in trace.nodes_of(told):
        mine = [bar for bar in bars if bar.node == node]
        assert all(a.stop <= b.start + 1e-12 for a, b in pairwise(mine))


def test_what_was_neither_predicted_nor_measured_has_no_bar() -> None:
    nothing = a_stage(0, ran=False, predicted_seconds=None, predicted_node_seconds=())
    assert trace.predicted_bars([nothing]) == trace.measured_bars([nothing]) == []
    parsed(pictures.svg(pictures.plan_picture([nothing]), pictures.gantt_picture([nothing])))


def test_a_node_begins_when_it_is_known_to_have_begun() -> None:
    told = [a_stage(k, ran=True, node_starts=(100.5 + k, 101.5 + k)) for k in range(2)]
    assert [b.start for b in trace.measured_bars(told)] == pytest.approx([0.5, 1.5, 1.5, 2.5])


@pytest.mark.skipif(config.mode != "split", reason="runs on nodes")
def test_nodes_begin_within_the_run_and_after_what_they_wait_for() -> None:
    array = a_program()
    before = time.perf_counter()
    numpy.asarray(array)
    after = time.perf_counter()
    records = engine.measured(array._buf)
    assert records
    for record in records:
        assert len(record.node_starts) == len(record.where)
        assert all(before <= start <= after for start in record.node_starts)
    first, last = records[0], records[-1]
    assert min(first.node_starts) <= min(last.node_starts)


# the trace -------------------------------------------------------------------------------------


def test_a_trace_has_a_complete_event_for_each_bar_in_microseconds() -> None:
    told = stages(2, ran=True)
    found = json.loads(json.dumps(trace.chrome_trace(told)))
    events = [e for e in found["traceEvents"] if e["ph"] == "X"]
    bars = [*trace.measured_bars(told), *trace.predicted_bars(told)]
    assert [e["ts"] for e in events] == pytest.approx([b.start * 1e6 for b in bars], abs=1)
    assert [e["dur"] for e in events] == pytest.approx([b.seconds * 1e6 for b in bars], abs=1)
    assert all(e.keys() >= {"name", "cat", "pid", "tid", "args"} for e in events)


@given(st.lists(st.tuples(*[st.floats(0.0, 1.0)] * 2, st.floats(0.0, 1.0)), max_size=12))
def test_no_two_of_a_thread_of_a_trace_overlap(drawn: list[tuple[float, float, float]]) -> None:
    told = [
        a_stage(k, ran=True, predicted_node_starts=(start, start), measured_node_seconds=(a, b))
        for k, (start, a, b) in enumerate(drawn)
    ]
    for stage, (start, *_) in zip(told, drawn, strict=True):
        stage["node_starts"] = (100.0 + start, 100.0 + start / 2)
    events = [e for e in trace.chrome_trace(told)["traceEvents"] if e["ph"] == "X"]
    assert len(events) == 4 * len(told)
    threads: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for event in events:
        threads.setdefault((event["pid"], event["tid"]), []).append(event)
    for thread in threads.values():
        ordered = sorted(thread, key=lambda e: (e["ts"], e["dur"]))
        assert all(a["ts"] + a["dur"] <= b["ts"] for a, b in pairwise(ordered))
    measured = sum(e["dur"] for e in events if e["cat"].startswith("measured"))
    wanted = sum(a + b for _, a, b in drawn) * 1e6
    assert measured == pytest.approx(wanted, rel=trace.SLIVER, abs=len(events))


def test_every_process_and_thread_of_a_trace_has_a_name() -> None:
    events = trace.chrome_trace(stages(2, ran=True, nodes=3))["traceEvents"]
    used = {(e["pid"], e["tid"]) for e in events if e["ph"] == "X"}
    named = {(e["pid"], e["tid"]) for e in events if e["name"] == "thread_name"}
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert used == named
    assert {pid for pid, _ in used} == set(names)
    assert sorted(names.values()) == [f"10.0.0.{k}:1" for k in range(3)]


# pictures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 5, 40])
@pytest.mark.parametrize("nodes", [1, 3])
def test_the_plan_shows_every_stage_and_every_share(count: int, nodes: int) -> None:
    told = stages(count, nodes=nodes)
    found = texts(pictures.svg(pictures.plan_picture(told)))
    assert [t for t in found if t.startswith("op")] == [s["what"] for s in told]
    assert len([t for t in found if "rows (" in t]) == count * nodes


def test_a_stage_that_reads_has_an_arrow_from_each_that_it_reads() -> None:
    told = [*stages(3), a_stage(3, ran=False, reads=(0, 2))]
    paths = re.findall(r'<path d="[^"]*" fill="none"', pictures.plan_picture(told).body)
    assert len(paths) == sum(len(s["reads"]) for s in told) == 4


def test_the_share_of_a_node_is_as_wide_as_its_rows() -> None:
    body = parsed(pictures.svg(pictures.plan_picture([a_stage(0, ran=False, nodes=3)])))
    widths = [
        float(e.attrib["width"])
        for e in body.iter(f"{SVG}rect")
        if e.attrib.get("fill-opacity") == "0.35"
    ]
    assert widths == pytest.approx([pictures.BOX * k / 6 for k in (1, 2, 3)], rel=1e-3)


def test_the_chart_shows_predicted_and_measured_of_every_node() -> None:
    told = stages(2, ran=True, nodes=3)
    body = parsed(pictures.svg(pictures.gantt_picture(told)))
    said = [e.text or "" for e in body.iter(f"{SVG}title")]
    assert len([t for t in said if ", predicted" in t]) == 6
    assert len([t for t in said if ", measured" in t]) == 6


def test_everything_drawn_lies_inside_the_picture() -> None:
    for drawn in (
        pictures.plan_picture(stages(6, ran=True)),
        pictures.gantt_picture(stages(6, ran=True)),
    ):
        for e in parsed(pictures.svg(drawn)).iter(f"{SVG}rect"):
            x, y = float(e.attrib.get("x", 0)), float(e.attrib.get("y", 0))
            assert 0 <= x <= x + float(e.attrib["width"]) <= drawn.width
            assert 0 <= y <= y + float(e.attrib["height"]) <= drawn.height


@given(st.floats(1e-9, 1e9))
def test_a_step_is_round_and_at_most_two_and_a_half_times_the_least(least: float) -> None:
    step = pictures.round_step(least)
    assert least * (1 - 1e-6) <= step <= 2.5 * least * (1 + 1e-6)
    assert re.fullmatch(r"[125]e[+-]\d+", f"{step:.0e}")


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (2e6, "2 MB"), (3e9, "3 GB")]
)
def test_bytes_have_a_unit(size: float, text: str) -> None:
    assert pictures.bytes_text(size) == text


def test_graphviz_source_has_a_node_for_each_stage_and_an_edge_for_each_read() -> None:
    source = pictures.dot([*stages(3), a_stage(3, ran=False, reads=(0, 2))])
    assert len(re.findall(r"^  s\d+ \[label=", source, re.MULTILINE)) == 4
    assert re.findall(r"s\d -> s\d", source) == ["s0 -> s1", "s1 -> s2", "s0 -> s3", "s2 -> s3"]


# explain ---------------------------------------------------------------------------------------


def test_stages_name_those_that_they_wait_for() -> None:
    told = np.explain(a_program())
    if len(told.stages) > 1:
        assert any(s["reads"] for s in told.stages)
    assert all(r < k for k, s in enumerate(told.stages) for r in s["reads"])


def test_the_interval_holds_the_predicted_seconds() -> None:
    told = np.explain(a_program())
    low, high = told.interval
    assert 0 < low <= told.predicted_seconds <= high


@pytest.mark.parametrize("ran", [False, True])
def test_every_kind_of_file_is_written(tmp_path: Path, ran: bool) -> None:
    array = a_program()
    if ran:
        numpy.asarray(array)
    told = np.explain(array)
    for name in ("a.svg", "a.html", "a.dot", "a.trace.json", "a.json", "a.txt"):
        told.save(tmp_path / name)
    assert (tmp_path / "a.svg").read_text() == told.svg()
    assert told.svg() in (tmp_path / "a.html").read_text()
    assert (tmp_path / "a.dot").read_text() == told.dot()
    assert json.loads((tmp_path / "a.trace.json").read_text()) == told.trace()
    assert len(json.loads((tmp_path / "a.json").read_text())["stages"]) == len(told.stages)
    assert (tmp_path / "a.txt").read_text().strip() == str(told)


def test_a_file_of_no_known_kind_is_refused_with_the_kinds_there_are(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"'a.png'.*\.svg.*\.trace\.json"):
        Explanation("pending").save(tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_a_notebook_shows_table_and_picture_and_nothing_of_a_name_as_markup() -> None:
    html = Explanation("computed", stages(2, ran=True))._repr_html_()
    assert html.count("<tr>") == 3
    assert "<svg" in html
    assert "op1&lt;&amp;&gt;" in html
    assert "op1<" not in html


def test_what_has_no_stages_is_shown_as_a_sentence() -> None:
    told = np.explain(np.zeros(3))
    assert told._repr_html_() == f"<p>{told.state}: no stages</p>"
    parsed(told.svg())


def test_a_chart_is_added_once_something_ran() -> None:
    array = a_program()
    assert "predicted (grey)" not in np.explain(array).svg()
    numpy.asarray(array)
    assert "predicted (grey)" in np.explain(array).svg()
