"""Laws of the simulated scale-out."""

from __future__ import annotations

import json

import pytest

from benchmarks import scaleout
from benchmarks.planning import evenly
from benchmarks.scaleout import PROGRAMS, SPEEDS, line, profiles
from dnumpy.plan import clear_program_cache, plan_program, simulate_program


@pytest.mark.parametrize("name", list(PROGRAMS))
@pytest.mark.parametrize("kind", ["weak", "strong"])
def test_no_run_is_faster_than_the_bound_or_slower_than_the_even_split(name, kind):
    found = line(name, kind, 16)
    assert 0 < found.bound_seconds <= found.predicted_seconds * (1 + 1e-9)
    assert found.predicted_seconds <= found.even_seconds * (1 + 1e-6)
    assert 0 < found.efficiency <= 1 + 1e-9
    assert 1 <= found.used <= 16


def test_nodes_come_in_classes_and_jitter_moves_them_a_little():
    exact = {one.speed for one in profiles(16, jitter=0.0)}
    assert exact == set(SPEEDS)
    off = [
        jittered.speed / one.speed
        for jittered, one in zip(profiles(256), profiles(256, jitter=0.0), strict=True)
    ]
    assert len(set(off)) == 256
    assert max(abs(each - 1) for each in off) < 0.12


def test_the_tables_and_their_assumptions_are_printed_and_stored(tmp_path, capsys, monkeypatch):
    name = next(iter(PROGRAMS))
    monkeypatch.setattr(scaleout, "scale_out", lambda kind, most: [line(name, kind, most)])
    path = tmp_path / "found.json"
    assert scaleout.main(["--largest", "16", "--json", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "simulated weak scale-out" in printed
    assert "no cluster was run" in printed
    stored = json.loads(path.read_text())
    assert stored["assumptions"] == scaleout.ASSUMPTIONS
    assert stored["simulated strong scale-out"][0]["nodes"] == 16
    assert stored["machine"]["cores"] >= 1


@pytest.mark.parametrize(("kind", "nodes"), [("strong", 64), ("strong", 256), ("weak", 256)])
def test_an_exchange_among_many_nodes_is_planned_no_worse_than_evenly(kind, nodes):
    rows = scaleout.WEAK_ROWS * nodes if kind == "weak" else scaleout.STRONG_ROWS
    program = scaleout.program_of("rows, transpose, rows", profiles(nodes), rows)
    clear_program_cache()
    plan = plan_program(program, budget_seconds=1.0)  # whatever else runs here
    even = simulate_program(program, [evenly(ask, nodes) for ask in program.asks])
    took = simulate_program(program, plan.placements).makespan
    assert took <= 1.05 * even.makespan
    assert plan.predicted_seconds == pytest.approx(took, rel=0.1)
