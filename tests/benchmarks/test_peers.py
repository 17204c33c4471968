from __future__ import annotations

import importlib
import os
import sys

import numba
import pytest

from benchmarks.__main__ import main, parse
from benchmarks.compare import compare
from benchmarks.machine import measured_limits
from benchmarks.measure import Local
from benchmarks.peers import NAMES, WRITTEN, Peer, installed, peer, spread
from benchmarks.programs import PROGRAMS, chosen
from benchmarks.report import Record

pytestmark = pytest.mark.skipif(
    os.environ.get("DNUMPY_MODE", "default") != "default", reason="peers know no modes"
)
SCALE = 2e-4
PURE_PYTHON_TAKES_LONG = {"nbody"}
LIBRARY_PEERS = [name for name in WRITTEN if name != "numba"]


def check(found: Peer, name: str, folder) -> None:
    (program,) = chosen(name)
    numpy, other = (Local(each, program, SCALE) for each in (peer("numpy"), found))
    numpy.run()
    other.run()
    numpy.save(folder / "expected")
    other.check(folder / "expected")


@pytest.mark.parametrize("name", LIBRARY_PEERS)
def test_a_peers_programs_give_the_answers_of_numpy(name, tmp_path) -> None:
    pytest.importorskip(name)
    programs = importlib.import_module(f"benchmarks.peers.{name}").PROGRAMS
    assert set(programs) <= {program.name for program in PROGRAMS}
    for program in programs:
        check(peer(name), program, tmp_path)


def test_dasks_programs_run_over_threads_whatever_is_set(tmp_path) -> None:
    config = pytest.importorskip("dask").config
    with config.set(scheduler="dask.distributed"):  # as a client leaves it that others outlived
        check(peer("dask"), "fma_sum", tmp_path)


def test_loops_written_for_numba_give_the_answers_of_numpy(monkeypatch, tmp_path) -> None:
    """Run as plain Python, since compiling them all takes a minute."""
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    modules = [f"benchmarks.peers.{name}" for name in ("compiled", "numba_orders", "numba")]
    for module in modules:
        monkeypatch.delitem(sys.modules, module, raising=False)
    written = importlib.import_module("benchmarks.peers.numba")
    plain = Peer("numba", False, written.arrays, lambda p: spread(written.PROGRAMS.get(p.name)))
    names = set(written.PROGRAMS) - PURE_PYTHON_TAKES_LONG
    assert len(names) >= 12
    for name in sorted(names):
        check(plain, name, tmp_path)
    for module in modules:
        monkeypatch.delitem(sys.modules, module)


def test_peers_run_beside_numpy_in_processes_of_their_own() -> None:
    (program,) = chosen("gather")
    row = compare(
        program, ["dnumpy", "dask", "again"], scale=SCALE, repeats=2, warmups=1, cold=True
    )
    assert not row.errors
    assert set(row.timings) == {"numpy", "dnumpy", "again"}  # dask has no version of it
    assert all(len(timing.seconds) == 2 for timing in row.timings.values())
    assert row.timings["dnumpy"].first_empty > 0
    assert row.timings["numpy"].first_empty is None


def test_a_peer_that_fails_is_told_and_the_others_go_on(monkeypatch) -> None:
    monkeypatch.setenv("DNUMPY_MODE", "no such mode")
    (program,) = chosen("gather")
    peers = ["dnumpy", "again"]
    row = compare(program, peers, scale=SCALE, repeats=1, warmups=0, cold=False)
    assert "no such mode" in row.errors["dnumpy"]
    assert set(row.timings) == {"numpy", "again"}


def test_the_command_prints_and_stores_what_it_measured(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setattr("benchmarks.__main__.installed", lambda name: name != "dask")
    limits = measured_limits(elements=1 << 12, edge=16)
    monkeypatch.setattr("benchmarks.__main__.measured_limits", lambda: limits)
    stored = tmp_path / "record.json"
    options = ["--programs", "bincount", "--peers", "numpy,dask", "--scale", "1e-4"]
    assert main([*options, "--repeats", "1", "--no-cold", "--json", str(stored)]) == 0
    printed = capsys.readouterr().out
    assert "dask is not installed: skipped" in printed
    assert "bincount, 20M" in printed
    record = Record.read(stored)
    assert record.peers == ("numpy", "dnumpy")
    assert [row.program for row in record.rows] == ["bincount"]


def test_unknown_peers_are_named_with_those_that_exist(capsys) -> None:
    with pytest.raises(SystemExit):
        parse(["--peers", "numba,cobol"])
    assert "no peer cobol; there are" in capsys.readouterr().err
    assert all(installed(name) for name in NAMES if name not in {"jax", "numexpr"})
