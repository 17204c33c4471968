"""The race on unequal nodes: what is run, compared, printed and stored."""

from __future__ import annotations

import io
import json
import math

import pytest
from rich.console import Console

from benchmarks import cluster_prediction, hetero, prediction, rivals
from benchmarks.hetero import Expected, in_turn
from benchmarks.nodes import NodeSpec, unequal_nodes, why_no_nodes
from benchmarks.rivals import Reference
from benchmarks.standings import RIVALS, Entry, Race, Result, lines, summary, table
from benchmarks.workloads import WORKLOADS
from dnumpy.config import config
from dnumpy.engine import profile_here
from dnumpy.runtime.records import Record

SPECS = (NodeSpec.parse("cpu=0.8,mem=1G,net=1gbit"), NodeSpec.parse("cpu=0.4,mem=1G,net=300mbit"))
REASON = why_no_nodes()
BY_NAME = {workload.name: workload for workload in WORKLOADS}


def result(planned: float, even: float, dask: float, bound: float) -> Result:
    entries = {
        name: Entry([seconds, 2 * seconds, seconds])
        for name, seconds in (("planned", planned), ("even", even), ("dask", dask))
    }
    return Result("p", "a program", bound, 2 * bound, 2.0, entries, graphs=2)


def race(*results: Result, specs: tuple[NodeSpec, ...] = SPECS) -> Race:
    return Race(specs, [profile_here()], 0.01, list(results))


def test_ratios_are_of_medians():
    assert result(1.0, 2.0, 6.0, 0.5).ratios() == {
        "planned / bound": 2.0,
        "planned / floor": 1.0,
        "even / planned": 2.0,
        "dask / planned": 6.0,
    }


def test_the_even_split_counts_only_where_speeds_differ_by_two():
    alike = race(result(1.0, 1.0, 9.0, 1.0), specs=(NodeSpec(0.5), NodeSpec(0.4)))
    found = summary([race(result(1.0, 2.0, 4.0, 1.0)), alike])
    assert found["even / planned"]["of"] == 1
    assert found["even / planned"]["reached"] == 1
    assert found["dask / planned"]["geometric_mean"] == pytest.approx(6.0)
    assert (found["dask / planned"]["reached"], found["dask / planned"]["of"]) == (1, 2)
    assert found["planned / bound"]["median"] == 1.0


def test_what_failed_counts_as_not_reached_and_is_told():
    broken = result(1.0, 2.0, 6.0, 1.0)
    broken.entries["dask"] = Entry([], "MemoryError: no such luck")
    one = race(broken, result(1.0, 2.0, 6.0, 1.0))
    assert math.isnan(broken.ratios()["dask / planned"])
    assert (
        summary([one])["dask / planned"]["reached"],
        summary([one])["dask / planned"]["of"],
    ) == (
        1,
        2,
    )
    told = "\n".join(lines([one]))
    assert "p, dask failed: MemoryError: no such luck" in told
    assert "aim: geometric mean at least 5" in told


def printed(one: Race) -> str:
    console = Console(width=220, file=(text := io.StringIO()))
    console.print(table(one))
    return text.getvalue()


def test_the_table_has_every_rival_the_ratios_and_the_round_trip():
    text = printed(race(result(1.0, 2.0, 6.0, 0.8)))
    for cell in ("1.000, 1.000", "2.000, 2.000", "6.000, 6.000", "0.800", "1.25", "10.0 ms"):
        assert cell in text
    assert all(str(spec) in text for spec in SPECS)


def test_plain_data_are_json_and_state_the_round_trips_apart():
    stored = json.loads(json.dumps(race(result(1.0, 2.0, 6.0, 0.5)).to_dict()))
    (line,) = stored["results"]
    assert line["planned"]["median"] == 1.0
    assert line["ratios"]["planned / bound"] == 2.0
    assert line["planned_without_round_trips / bound"] == pytest.approx((1.0 - 2 * 0.01) / 0.5)
    assert stored["round_trip_seconds"] == 0.01
    assert stored["nodes"] == [str(spec) for spec in SPECS]


class Failing(Reference):
    """A rival that fails in its third run."""

    runs = 0

    def run(self, workload, arrays):
        self.runs += 1
        if self.runs == 3:
            msg = "lost"
            raise ConnectionError(msg)
        return super().run(workload, arrays)


class Wrong(Reference):
    """A rival whose results are not NumPy's."""

    def run(self, workload, arrays):
        seconds, value = super().run(workload, arrays)
        return seconds, value + 1.0


def test_a_rival_that_fails_or_is_wrong_does_not_keep_the_others_from_running():
    workload, scale = BY_NAME["fma_sum"], 1e-4
    told = result(1.0, 1.0, 1.0, 1.0)
    told.entries = {name: Entry() for name in RIVALS}
    three = {"planned": Reference(), "even": Failing(), "dask": Wrong()}
    in_turn(workload, workload.fields(scale), Expected(scale).of(workload), three, told, 4)
    assert len(told.entries["planned"].seconds) == 4
    assert told.entries["even"].failed == "ConnectionError: lost"
    assert len(told.entries["even"].seconds) == 1
    assert "not NumPy's result" in told.entries["dask"].failed
    assert told.entries["dask"].seconds == []


def test_clusters_and_programs_are_read(capsys):
    options = hetero.parse(["sort", "--cluster", "cpu=1.0/cpu=0.5,mem=1G"])
    assert [workload.name for workload in options.programs] == ["sort"]
    assert options.cluster == [[NodeSpec(1.0), NodeSpec(0.5, 1 << 30)]]
    defaults = hetero.parse([])
    assert defaults.programs == list(WORKLOADS)
    assert len(defaults.cluster) >= 3
    with pytest.raises(SystemExit):
        hetero.parse(["unknown"])
    assert "no program unknown; there are fma_sum" in capsys.readouterr().err


def test_default_clusters_leave_room_for_scheduler_and_client():
    for specs in hetero.parse([]).cluster:
        assert sum(spec.cpu for spec in specs) <= 1.6
        assert max(spec.cpu for spec in specs) >= 2 * min(spec.cpu for spec in specs)


@pytest.mark.parametrize("main", [hetero.main, prediction.main], ids=["hetero", "prediction"])
def test_where_nodes_cannot_be_made_the_reason_is_printed(main, monkeypatch, capsys):
    monkeypatch.setattr(hetero, "why_no_nodes", lambda: "only root may")
    monkeypatch.setattr("benchmarks.nodes.why_no_nodes", lambda: "only root may")
    assert main(["--cluster", "cpu=0.5/cpu=0.5"]) == 1
    assert "cannot make unequal nodes: only root may" in capsys.readouterr().out


# predictions on a cluster ------------------------------------------------------------------------


class Measured(Record):
    """A record with measured peaks."""

    measured_peak_bytes = (100, 50)


def test_peaks_are_paired_by_node_and_only_where_measured():
    where = (("a", 1), ("b", 1))
    silent = Record("p", where, 1.0, 0)
    assert cluster_prediction.measured_peaks([silent]) in ({}, {"a": 0, "b": 0})
    held = cluster_prediction.measured_peaks([Measured("p", where, 1.0, 0), silent])
    assert held == {"a": 100, "b": 50}
    assert cluster_prediction.paired({"b": 40, "c": 1}, held) == [(40, 50)]


def test_under_predicted_peaks_are_counted():
    row = cluster_prediction.ClusterRow("p", (1.0, 1.0), 1.0, [(1.0, 1.0)], recording=[0.0])
    assert cluster_prediction.peak_summary([row]) is None
    row.peaks = [(40, 50), (110, 100), (120, 100)]
    found = cluster_prediction.peak_summary([row])
    assert (found["measured"], found["under"]) == (3, 1)
    assert found["over_median"] == pytest.approx(0.1)
    assert cluster_prediction.peak_table([row]).row_count == 1


# real nodes --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def running():
    """Two nodes."""
    with unequal_nodes(SPECS) as made:
        yield made


@pytest.fixture(scope="module")
def profiles(running):
    """This machine's profile for both nodes, the second of half the speed."""
    speeds = zip(running.addresses, (0.8, 0.4), strict=True)
    return {address: profile_here().named(address).with_speed(speed) for address, speed in speeds}


def real(test):
    """Mark a test as one that needs a cluster."""
    for mark in (
        pytest.mark.alone,
        pytest.mark.cluster,
        pytest.mark.timeout(120),
        pytest.mark.skipif(bool(REASON), reason=REASON or "nodes can be made"),
        pytest.mark.skipif(
            config.mode != "default", reason="small tiles make no plan worth its name"
        ),
    ):
        test = mark(test)
    return test


@real
def test_every_rival_runs_on_real_nodes(running, profiles, monkeypatch):
    few = {"1 per thread": rivals.blocks(2), "2 per thread": rivals.blocks(4)}
    monkeypatch.setattr(rivals, "chunkings", lambda _: few)
    workload = BY_NAME["normalise"]
    going = hetero.race(
        running.client,
        SPECS,
        [workload],
        Expected(0.1),
        repeats=1,
        profiles=profiles,
        calibrate=False,
    )
    (one,) = list(going)
    (found,) = one.results
    assert not [entry.failed for entry in found.entries.values() if entry.failed]
    assert all(len(entry.seconds) == 1 for entry in found.entries.values())
    assert found.bound > 0
    assert found.speeds == pytest.approx(2.0)  # both profiles are this machine's
    assert found.graphs >= 1
    assert found.chunks in found.searched
    assert sum(found.rows["planned"]) == sum(found.rows["even"]) > 0
    assert all(rows > 0 for rows in found.rows["even"])
    assert workload.title in printed(one)
    json.dumps(one.to_dict())


@real
def test_predictions_are_compared_with_runs_on_real_nodes(running, profiles):
    (row,) = cluster_prediction.rows_on(
        running.client,
        [BY_NAME["fma_sum"]],
        scale=0.1,
        repeats=2,
        profiles=profiles,
        calibrate=False,
    )
    assert len(row.warm) == len(row.recording) == 2
    assert all(predicted > 0 and took > 0 for predicted, took in (row.cold, *row.warm))
    assert prediction.table([row]).row_count == 1
    assert "fma_sum" in cluster_prediction.worst([row])
