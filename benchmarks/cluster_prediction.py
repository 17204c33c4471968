"""Do predictions come true on a cluster: what ``benchmarks.prediction --cluster`` runs.

Each program of :mod:`benchmarks.workloads` is recorded on data that lie in the cluster, predicted
(``x.predict()``) and then computed, as in :mod:`benchmarks.prediction`. A program that has to look
at a value while it is recorded has computed a part by then: the seconds of that stand in a column
of their own, and are neither predicted nor measured here.

Peak bytes are compared node by node: what ``predict()`` said beforehand against the most that any
stage of the run was measured to hold there, where it was measured.

The data stay on the nodes, also where small programs would be done sooner here
(:mod:`dnumpy.runtime.returning`): at home much is computed while it is recorded.
"""

from __future__ import annotations

import statistics
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy
from rich.table import Table

import dnumpy
from benchmarks.prediction import Row, error
from benchmarks.rivals import Dnumpy
from dnumpy import engine
from dnumpy.cost.correction import OnlineCorrection
from dnumpy.runtime import returning, spans
from dnumpy.runtime.dask_cluster import DaskCluster, adopt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from distributed import Client

    from benchmarks.workloads import Workload
    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.runtime.records import Record

SETTLING = 2  # calls after the first one, in which kernels are compiled
PEAK_AIMS = (0, 0.15)  # under-predicted cases, and by how much over in the median


@dataclass(slots=True)
class ClusterRow(Row):
    """One program on a cluster; ``peaks`` are (predicted, measured) bytes of a node in a run.

    ``recording`` are the seconds of each warm run that passed before there was anything to predict.
    """

    peaks: list[tuple[int, int]] = field(default_factory=list)
    recording: list[float] = field(default_factory=list)


def measured_peaks(records: Iterable[Record]) -> dict[str, int]:
    """Return the most bytes that each node was measured to hold in any of the stages."""
    peaks: dict[str, int] = {}
    for record in records:
        # absent where the engine does not measure them
        for (node, _), held in zip(
            record.where, getattr(record, "measured_peak_bytes", ()), strict=False
        ):
            peaks[node] = max(peaks.get(node, 0), int(held))
    return peaks


def paired(predicted: Mapping[str, int], measured: Mapping[str, int]) -> list[tuple[int, int]]:
    """Return predicted and measured bytes of the nodes that have both."""
    return [(predicted[node], held) for node, held in measured.items() if node in predicted]


def untaught(cluster: DaskCluster, pending: Any) -> float:
    """Return the seconds that the profiles alone predict."""
    taught, runs = cluster.correction, spans.here
    cluster.correction, spans.here = OnlineCorrection(), spans.Spans()
    try:
        return float(pending.predict())
    finally:
        cluster.correction, spans.here = taught, runs


def row_of(rival: Dnumpy, workload: Workload, scale: float, repeats: int) -> ClusterRow:
    """Return what one program was predicted to take, and took."""
    with rival.cluster.client.as_current():
        arrays = rival.prepare(workload, workload.fields(scale))
        pending = workload.run(dnumpy, *arrays)
        alone, taught = untaught(rival.cluster, pending), float(pending.predict())
        started = perf_counter()
        rival.finished(workload, pending)
        row = ClusterRow(workload.name, (alone, perf_counter() - started), taught)
        del pending
        for count in range(SETTLING + repeats):
            began = perf_counter()
            pending = workload.run(dnumpy, *arrays)
            recorded = perf_counter() - began
            told = pending.predict()  # takes in what has run
            engine.history.clear()
            started = perf_counter()
            rival.finished(workload, pending)
            took = perf_counter() - started
            del pending  # its memory is for the next run
            if count >= SETTLING:
                row.warm.append((float(told), took))
                row.inside += told.interval[0] <= took <= told.interval[1]
                row.recording.append(recorded)
                row.peaks += paired(told.bytes, measured_peaks(engine.history))
    return row


def rows_on(
    client: Client,
    workloads: Sequence[Workload],
    *,
    scale: float,
    repeats: int,
    profiles: Mapping[str, DeviceProfile] | None = None,
    calibrate: bool = True,
) -> list[ClusterRow]:
    """Return a row for each program; the nodes are calibrated beforehand unless told otherwise."""
    cluster = DaskCluster(client, dict(profiles or {}))
    cluster.refresh()
    if calibrate:
        cluster.calibrate()
    adopt(cluster)
    rival = Dnumpy(cluster)
    with data_stay():
        return [row_of(rival, workload, scale, repeats) for workload in workloads]


@contextmanager
def data_stay() -> Iterator[None]:
    """Let no data be brought home meanwhile."""
    patience, returning.PATIENCE_SECONDS = returning.PATIENCE_SECONDS, inf
    try:
        yield
    finally:
        returning.PATIENCE_SECONDS = patience


def peak_summary(rows: Sequence[ClusterRow]) -> dict[str, float] | None:
    """Return how often a peak was under-predicted, and by how much it was over in the median."""
    pairs = [pair for row in rows for pair in row.peaks if pair[1] > 0]
    if not pairs:
        return None
    return {
        "measured": len(pairs),
        "under": sum(predicted < held for predicted, held in pairs),
        "over_median": statistics.median(predicted / held - 1 for predicted, held in pairs),
    }


def peak_table(rows: Sequence[ClusterRow]) -> Table:
    """Return the programs' peak bytes, and what recording took."""
    told = Table(title="peak bytes per node and run, predicted against measured")
    for name in ("program", "pairs", "under-predicted", "over, median", "recording, median"):
        told.add_column(name, justify="left" if name == "program" else "right")
    for row in rows:
        found = peak_summary([row])
        cells = ("not measured", "", "")
        if found is not None:
            cells = (f"{found['measured']}", f"{found['under']}", f"{found['over_median']:.0%}")
        told.add_row(row.program, *cells, f"{statistics.median(row.recording) * 1e3:.1f} ms")
    return told


def worst(rows: Sequence[ClusterRow]) -> str:
    """Return the program whose warm predictions are furthest off in the median, and by how much."""
    row = max(rows, key=lambda one: float(numpy.median(one.errors())))
    middle = statistics.median(predicted for predicted, _ in row.warm)
    return (
        f"furthest off: {row.program}, {middle:.3f} s predicted for {row.middle():.3f} s measured "
        f"({error(middle, row.middle()):.0%})"
    )
