"""Do predictions come true on this machine: ``python -m benchmarks.prediction``.

Each program is predicted (``x.predict()``) and then computed, several times. *Cold* is its first
call, predicted from the full measurement alone; *taught* is the same call, predicted with
what the programs before it taught. A few calls follow in which kernels are compiled; *warm* are the
calls after those. The error of a call is ``|predicted - measured| / measured``. Beside it stands
the noise floor: the error of a prediction that knew the median of all warm calls of the process
beforehand; for first calls, the median of those in all processes.

All of that is done in several processes, one after the other, each with a cache of its own in which
there is nothing but what the full measurement, in a process before it, has left.

``--cluster cpu=0.8,mem=2G,net=1gbit/cpu=0.4`` asks the same of the programs of
:mod:`benchmarks.workloads` on a cluster of such nodes, which are calibrated beforehand; it may be
given again. Peak bytes are compared there too (:mod:`benchmarks.cluster_prediction`).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from rich.console import Console
from rich.table import Table

import dnumpy as np
from benchmarks.machine import machine
from benchmarks.measure import COMPILER, COMPILER_SECONDS
from dnumpy.api.scalar import DeferredScalar
from dnumpy.config import config, thread_count
from dnumpy.engine import profile_here
from dnumpy.expr import race
from dnumpy.runtime import learnt
from dnumpy.runtime.profiles import kept_or_calibrated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

LEAST_SECONDS = 5e-3  # of a run that counts
SETTLING = 4  # calls after the first one, in which kernels are compiled
AIMS = {"cold": (0.20, 0.50), "warm": (0.10, 0.25)}
CALIBRATING = (
    "from dnumpy.config import thread_count\n"
    "from dnumpy.runtime.profiles import kept_or_calibrated\n"
    "kept_or_calibrated(threads=thread_count())"
)


@dataclass(slots=True)
class Row:
    """One program in one process: (predicted, measured) seconds of first and of warm calls.

    ``taught`` are the seconds predicted for the first call with what other programs taught.
    ``inside`` counts the warm calls that took as long as the interval said. ``where`` names the
    nodes, of rows from several clusters.
    """

    program: str
    cold: tuple[float, float]
    taught: float
    warm: list[tuple[float, float]] = field(default_factory=list)
    inside: int = 0
    where: str = ""

    def errors(self) -> list[float]:
        """Return the errors of the warm calls."""
        return [error(*pair) for pair in self.warm]

    def noise(self) -> list[float]:
        """Return the errors of a prediction that knows the median."""
        middle = self.middle()
        return [error(middle, took) for _, took in self.warm]

    def middle(self) -> float:
        """Return the median of the warm calls' seconds."""
        return statistics.median(took for _, took in self.warm)


def error(predicted: float, measured: float) -> float:
    """Return how wrong a prediction was, relative to what was measured."""
    return abs(predicted - measured) / measured


def programs(scale: float) -> dict[str, Callable[[], Any]]:
    """Return what records each program; arrays have ``scale`` times the elements."""
    rng = numpy.random.default_rng(7)
    a, b, c = (np.array(rng.random(int(4_000_000 * scale))) for _ in range(3))
    x = np.array(rng.normal(3.0, 2.0, (int(4_000 * scale), 1_000)))
    edge = int(1_200 * scale**0.5)
    m, n = (np.array(rng.random((edge, edge))) for _ in range(2))
    points = np.array(rng.normal(size=(int(200_000 * scale), 8)))
    centres = np.array(rng.normal(size=(16, 8)))
    grid = np.array(rng.random((int(2_000 * scale), 1_500)))
    return {
        "(a*b+c).sum()": lambda: np.sum(a * b + c),
        "row-normalise": lambda: (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True),
        "cumsum": lambda: np.cumsum(a),
        "matmul": lambda: m @ n,
        "exp chain": lambda: np.exp(-a * a) * b + np.exp(-b),
        "sqrt chain": lambda: np.sqrt(a * a + b * b) / (1.0 + c),
        "where": lambda: np.where(a > b, a - b, b * c),
        "float32 sum": lambda: np.sum(a.astype(np.float32) * 2),
        "column sums": lambda: (x * x).sum(0),
        "standard deviation": a.std,
        "transpose": lambda: x.T + 1.0,
        "Jacobi": lambda: (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:]) / 4,
        "k-means": lambda: (
            (points * points).sum(1, keepdims=True) - 2.0 * (points @ centres.T)
        ).argmin(1),
        "logistic": lambda: points.T @ (1.0 / (1.0 + np.exp(-(points @ centres[0])))),
        "sines": lambda: np.sin(a) + np.cos(b),
    }


def untaught(pending: Any) -> float:
    """Return the seconds that the profile alone predicts."""
    taught = learnt.here
    learnt.here = learnt.Runs(last=taught.last)
    try:
        return float(pending.predict())
    finally:
        learnt.here = taught


def measured(record: Callable[[], Any]) -> tuple[Any, float]:
    """Return the prediction of a program, and the seconds that computing it then took."""
    pending = record()
    return pending.predict(), seconds_of(pending)


def seconds_of(pending: Any) -> float:
    """Compute what is pending; return the seconds that it took."""
    started = time.perf_counter()
    if type(pending) is DeferredScalar:
        pending.force()
    else:
        numpy.asarray(pending)
    return time.perf_counter() - started


def settle() -> None:
    """Wait until no kernel is being compiled."""
    for thread in threading.enumerate():
        if thread.name.startswith(COMPILER):
            thread.join(COMPILER_SECONDS)


def row_of(name: str, record: Callable[[], Any], repeats: int) -> Row:
    """Return what one program was predicted to take, and took."""
    with race.held():  # NumPy's turns are not predicted
        pending = record()
        taught, alone = float(pending.predict()), untaught(pending)
        row = Row(name, (alone, seconds_of(pending)), taught)
        for _ in range(SETTLING):
            measured(record)
            settle()
        for _ in range(repeats):
            told, took = measured(record)
            row.warm.append((float(told), took))
            low, high = told.interval
            row.inside += low <= took <= high
    return row


def quantiles(errors: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 90th percentile."""
    return float(numpy.quantile(errors, 0.5)), float(numpy.quantile(errors, 0.9))


def by_program(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return the rows of each program on the same nodes, one of each process."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row.program, row.where), []).append(row)
    return found


def first_noise(rows: Sequence[Row]) -> list[float]:
    """Return the errors of a prediction that knew the median of a program's first calls.

    What ran in one process only says nothing.
    """
    found = []
    for alike in by_program(rows).values():
        middle = statistics.median(row.cold[1] for row in alike)
        found += [error(middle, row.cold[1]) for row in alike if len(alike) > 1]
    return found


def shown(errors: Sequence[float]) -> str:
    """Return the quantiles of errors as text."""
    return "{:.0%} / {:.0%}".format(*quantiles(errors)) if errors else "-"


def table(rows: Sequence[Row]) -> Table:
    """Return the programs, one a line."""
    made = Table(title="predicted against measured, errors as median / 90th percentile")
    for name in (
        "program",
        "cold, median",
        "cold error",
        "noise",
        "taught",
        "warm, median",
        "warm error",
        "noise",
        "inside",
    ):
        made.add_column(name, justify="left" if name == "program" else "right")
    for (program, _), alike in by_program(rows).items():
        predicted, took = (statistics.median(row.cold[k] for row in alike) for k in (0, 1))
        calls = sum(len(row.warm) for row in alike)
        made.add_row(
            program,
            f"{predicted * 1e3:.1f} / {took * 1e3:.1f} ms",
            shown([error(*row.cold) for row in alike]),
            shown(first_noise(alike)),
            shown([error(row.taught, row.cold[1]) for row in alike]),
            f"{statistics.median(row.middle() for row in alike) * 1e3:.1f} ms",
            shown([e for row in alike for e in row.errors()]),
            shown([e for row in alike for e in row.noise()]),
            f"{sum(row.inside for row in alike) / calls:.0%}",
        )
    return made


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the quantiles of the errors over all calls that count."""
    first = [row for row in rows if row.cold[1] >= LEAST_SECONDS]
    counted = [row for row in rows if row.middle() >= LEAST_SECONDS]
    errors = {
        "cold": [error(*row.cold) for row in first],
        "cold noise": first_noise(first),
        "taught": [error(row.taught, row.cold[1]) for row in first],
        "warm": [e for row in counted for e in row.errors()],
        "noise": [e for row in counted for e in row.noise()],
    }
    return {
        **{name: quantiles(found) if found else None for name, found in errors.items()},
        "inside": sum(r.inside for r in counted) / max(sum(len(r.warm) for r in counted), 1),
        "programs": len(by_program(counted)),
    }


def told(rows: Sequence[Row]) -> list[str]:
    """Return the quantiles as text, with the aims beside."""
    lines, total = [], summary(rows)
    for name in ("cold", "cold noise", "taught", "warm", "noise"):
        if total[name] is not None:
            middle, high = total[name]
            aim = "   (aim {:.0%} / {:.0%})".format(*AIMS[name]) if name in AIMS else ""
            lines.append(f"{name:11}{middle:.1%} / {high:.1%}{aim}")
    lines.append(f"within the interval: {total['inside']:.0%} of warm calls (aim 80%)")
    return lines


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options; SystemExit with status 2 where they make no sense."""
    from benchmarks.hetero import specs_of

    parser = argparse.ArgumentParser(prog="python -m benchmarks.prediction", description=__doc__)
    parser.add_argument("--repeats", type=int, default=12, help="warm calls of each program")
    parser.add_argument("--scale", type=float, default=1.0, help="times the elements")
    parser.add_argument("--programs", nargs="*", help="some of them")
    parser.add_argument(
        "--processes", type=int, default=3, help="one after the other; 0: in this one (no cluster)"
    )
    parser.add_argument("--cluster", action="append", type=specs_of, metavar="NODE/NODE/...")
    parser.add_argument("--json", help="file to write")
    return parser.parse_args(argv)


def on_clusters(asked: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Run on each cluster; return plain data."""
    from benchmarks import cluster_prediction as clustered
    from benchmarks.contest import chosen
    from benchmarks.nodes import unequal_nodes
    from benchmarks.workloads import WORKLOADS

    workloads = chosen(asked.programs or [], WORKLOADS)
    found: list[clustered.ClusterRow] = []
    clusters = []
    for specs in asked.cluster:
        with unequal_nodes(specs) as running:
            rows = clustered.rows_on(
                running.client, workloads, scale=asked.scale, repeats=asked.repeats
            )
        console.print("; ".join(f"node {k}: {spec}" for k, spec in enumerate(specs)))
        console.print(table(rows), clustered.peak_table(rows), clustered.worst(rows))
        nodes = [str(spec) for spec in specs]
        for row in rows:
            row.where = "/".join(nodes)
        clusters.append({"nodes": nodes, "rows": [asdict(row) for row in rows]})
        found += rows
    for line in told(found):
        console.print(line)
    peaks = clustered.peak_summary(found)
    console.print(
        "peak bytes: not measured"
        if peaks is None
        else f"peak bytes: under-predicted {peaks['under']} of {peaks['measured']} (aim 0), over "
        f"by {peaks['over_median']:.0%} in the median (aim 15%)"
    )
    return {"clusters": clusters, "total": summary(found), "peaks": peaks}


def in_this_process(asked: argparse.Namespace) -> list[Row]:
    """Return a row for each program, run here."""
    kept_or_calibrated(threads=thread_count())
    profile_here()
    known = programs(asked.scale)
    return [row_of(name, known[name], asked.repeats) for name in asked.programs or known]


def in_process_of_its_own(asked: argparse.Namespace) -> list[Row]:
    """Return a row for each program, run in a process that knows the full measurement alone."""
    with tempfile.TemporaryDirectory() as folder:
        inside = {**os.environ, "XDG_CACHE_HOME": folder}
        subprocess.run([sys.executable, "-c", CALIBRATING], env=inside, check=True)
        written = Path(folder) / "rows.json"
        options = ("--processes=0", f"--repeats={asked.repeats}", f"--scale={asked.scale}")
        chosen = ("--programs", *asked.programs) if asked.programs else ()
        command = [sys.executable, "-m", "benchmarks.prediction", *options, *chosen]
        subprocess.run(
            [*command, f"--json={written}"], env=inside, check=True, stdout=subprocess.DEVNULL
        )
        rows = json.loads(written.read_text(encoding="utf-8"))["rows"]
    return [
        Row(**{**row, "cold": tuple(row["cold"]), "warm": [*map(tuple, row["warm"])]})
        for row in rows
    ]


def here(asked: argparse.Namespace, console: Console) -> dict[str, Any]:
    """Run on this machine; return plain data."""
    rows = [row for _ in range(asked.processes) for row in in_process_of_its_own(asked)]
    rows = rows if asked.processes else in_this_process(asked)
    console.print(table(rows))
    for line in told(rows):
        console.print(line)
    return {"rows": [asdict(row) for row in rows], "total": summary(rows)}


def main(argv: Sequence[str]) -> int:
    """Run, print the table, and write JSON if asked to; status 1 where no nodes can be made."""
    from benchmarks.nodes import why_no_nodes

    asked, console = parse(argv), Console(width=130)
    reason = why_no_nodes() if asked.cluster else ""
    if reason:
        console.print(f"cannot make unequal nodes: {reason}")
        return 1
    config.calibrate = "off"  # it would run beside what is timed
    found = on_clusters(asked, console) if asked.cluster else here(asked, console)
    if asked.json:  # with how many wanted a processor in the last five minutes
        record = {"machine": machine(), "load": os.getloadavg()[1], **found}
        Path(asked.json).write_text(json.dumps(record, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    config.calibrate, config.remember = "off", False  # what is known is from this process
    sys.exit(main(sys.argv[1:]))
