"""Simulated scale-out: ``python -m benchmarks.scaleout``. No cluster is run, and none is needed.

Programs of some phases are planned by :func:`dnumpy.plan.plan_program` for 16, 256 and 4,096 nodes,
which come in four classes of measured-like profiles, with every node's speed off its class by some
per cent as repeated measurements are. *Weak*: the same rows for each node; *strong*: the same rows
in all. Every figure of a run is the event simulator's, under the assumptions that are printed with
it; planning times are real, of this machine: *cold* with nothing known, *cached* when the same
program is planned again.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rich.console import Console

from benchmarks.bound import least_seconds
from benchmarks.machine import machine
from benchmarks.planning import evenly, table
from dnumpy.cost.estimate import seconds_per_row
from dnumpy.cost.profile import DeviceProfile
from dnumpy.cost.work import OP_CLASSES, Work
from dnumpy.plan import (
    Ask,
    Edge,
    Network,
    Node,
    Program,
    clear_program_cache,
    plan_program,
    simulate_program,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.dag import Access

SCALES = (16, 256, 4096)
MOST_EXCHANGED = 256  # nodes; an exchange between 4,096 has 17 million messages
SPEEDS = (1.0, 0.67, 0.5, 0.25)  # of the four classes
JITTER = 0.02  # standard deviation of a node's speed, relative to its class
COLUMNS = 1024
ROW_BYTES = 8.0 * COLUMNS
GRANULE = 64  # rows
WEAK_ROWS = 1 << 18  # of a node: 2 GiB of float64
STRONG_ROWS = 1 << 24  # of all nodes: 128 GiB of float64
TASK_SECONDS = 5e-3
LATENCY_SECONDS = 5e-5
BYTES_PER_SECOND = 1.25e9
THREADS = 16
MEMORY = 64e9
NS = {"arith": 0.3, "div": 0.35, "sqrt": 1.2, "exp": 0.85, "reduce": 0.2}  # measured on one core
ASSUMPTIONS = (
    f"nodes of {THREADS} threads in four classes of equal size, at {', '.join(map(str, SPEEDS))} "
    "of 20 GB/s and 500 GFLOP/s (float64), each node's speed off its class by "
    f"{JITTER:.0%} (standard deviation); {MEMORY / 1e9:.0f} GB each; one port of "
    f"{BYTES_PER_SECOND / 1e9:g} GB/s out and one in per node, {LATENCY_SECONDS * 1e6:g} us "
    f"latency, no contention inside the network; {TASK_SECONDS * 1e3:g} ms for each phase on each "
    "node that is used; what starts the phases is free (a Dask scheduler needs about 1 ms for each "
    "task, which is not in these figures); the data lie in memory where the first phase "
    "wants them; the bound is the work of all phases over the sum of the rates, without network "
    "and starts"
)
WORKS = {
    "sweep": Work(1, bytes_read=ROW_BYTES, bytes_written=ROW_BYTES, loops=(("arith", 4 * 1024.0),)),
    "normalise": Work(
        1,
        bytes_read=ROW_BYTES,
        bytes_written=ROW_BYTES,
        loops=(("arith", 3 * 1024.0), ("div", 1024.0), ("reduce", 2 * 1024.0)),
    ),
    "fold": Work(1, bytes_read=ROW_BYTES, loops=(("reduce", 1024.0),)),
    "gradient": Work(1, flops=4.0 * COLUMNS, bytes_read=ROW_BYTES, loops=(("exp", 1.0),)),
    "product": Work(
        1, flops=2.0 * COLUMNS * COLUMNS, bytes_read=ROW_BYTES, bytes_written=ROW_BYTES
    ),
}
PROGRAMS: dict[str, tuple[tuple[str, ...], tuple[Access, ...]]] = {
    # works of the phases; accesses between consecutive ones
    "stencil, 4 sweeps": (("sweep",) * 4, ("halo",) * 3),
    "normalise rows, sum": (("normalise", "fold"), ("aligned",)),
    "gradient, 4 steps": (("gradient",) * 4, ("fold",) * 3),
    "product, normalise": (("product", "normalise"), ("aligned",)),
    "rows, transpose, rows": (("sweep", "normalise"), ("other axis",)),
}


def profiles(nodes: int, seed: int = 0, jitter: float = JITTER) -> list[DeviceProfile]:
    """Return the nodes: a quarter of them of each class, in the order of the classes."""
    rng = random.Random(seed)  # noqa: S311 - data, not secrets
    base = profile()
    found = []
    for n in range(nodes):
        speed = SPEEDS[n * len(SPEEDS) // nodes] * max(rng.gauss(1.0, jitter), 0.5)
        found.append(base.named(f"n{n}").with_speed(speed))
    return found


def profile() -> DeviceProfile:
    """Return the fastest class: rates are per thread."""
    rate = 20e9 / THREADS
    return DeviceProfile(
        name="node",
        kind="cpu",
        threads=THREADS,
        bandwidth=((float(1 << 18), 8 * rate), (float(1 << 27), rate)),
        gemm_flops_per_second=(("float64", 500e9 / THREADS),),
        ns_per_element=(("tiled", tuple((c, NS.get(c, 1.0)) for c in OP_CLASSES)),),
        gather_ns=5.0,
        launch_seconds=TASK_SECONDS,
        compile_seconds=0.1,
        free_bytes=MEMORY,
        network_bytes_per_second=BYTES_PER_SECOND,
        network_latency_seconds=LATENCY_SECONDS,
    )


def per_row(work: Work, one: DeviceProfile) -> float:
    """Return the seconds of a row on all threads of the node together, in one fused loop."""
    return seconds_per_row(work, one, WEAK_ROWS / THREADS, "fused") / one.threads


def program_of(name: str, there: Sequence[DeviceProfile], rows: int) -> Program:
    """Return the program over these nodes."""
    works, accesses = PROGRAMS[name]
    fixed = (TASK_SECONDS,) * len(there)
    rates = {what: tuple(per_row(WORKS[what], one) for one in there) for what in set(works)}
    asks = tuple(
        Ask(
            f"{name} {v}",
            rows,
            rates[what],
            fixed,
            granule=GRANULE,
            bytes_per_row=WORKS[what].bytes_written,
        )
        for v, what in enumerate(works)
    )
    edges = tuple(
        Edge(v, v + 1, access, ROW_BYTES, 1, ROW_BYTES) for v, access in enumerate(accesses)
    )
    nodes = tuple(Node(one.name, one.free_bytes) for one in there)
    links = Network.uniform(len(there), LATENCY_SECONDS, BYTES_PER_SECOND)
    return Program(nodes, links, asks, edges)


def bound_of(program: Program) -> float:
    """Return the work of each phase over the sum of the rates, added up."""
    return sum(
        least_seconds(ask.rows, [1 / s for s in ask.seconds_per_row]) for ask in program.asks
    )


@dataclass(frozen=True, slots=True)
class Line:
    """One simulated run, and the real time that planning it took."""

    program: str
    kind: str
    nodes: int
    rows: int
    used: int
    predicted_seconds: float
    even_seconds: float
    bound_seconds: float
    efficiency: float
    cold_ms: float
    cached_ms: float
    how: str


def line(name: str, kind: str, nodes: int) -> Line:
    """Plan one program twice, and simulate the even split beside it."""
    rows = WEAK_ROWS * nodes if kind == "weak" else STRONG_ROWS
    program = program_of(name, profiles(nodes), rows)
    clear_program_cache()
    started = perf_counter()
    plan = plan_program(program)
    cold = perf_counter() - started
    started = perf_counter()
    plan_program(program)
    cached = perf_counter() - started
    plan.verify(program)
    even = simulate_program(program, tuple(evenly(ask, nodes) for ask in program.asks))
    least = bound_of(program)
    return Line(
        program=name,
        kind=kind,
        nodes=nodes,
        rows=rows,
        used=max(len(placed.used) for placed in plan.placements),
        predicted_seconds=plan.predicted_seconds,
        even_seconds=even.makespan,
        bound_seconds=least,
        efficiency=least / plan.predicted_seconds,
        cold_ms=cold * 1e3,
        cached_ms=cached * 1e3,
        how=plan.how,
    )


def scale_out(kind: str, largest: int, names: Sequence[str] = tuple(PROGRAMS)) -> list[Line]:
    """Return the runs of all programs at all numbers of nodes up to the largest."""
    lines = []
    for name in names:
        exchanges = "other axis" in PROGRAMS[name][1]
        most = min(largest, MOST_EXCHANGED) if exchanges else largest
        lines += [line(name, kind, nodes) for nodes in SCALES if nodes <= most]
    return lines


def main(argv: Sequence[str]) -> int:
    """Plan, simulate, print and store."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaleout", description=__doc__)
    parser.add_argument("--largest", type=int, default=SCALES[-1], help="most simulated nodes")
    parser.add_argument("--json", type=Path, help="where to store the figures")
    options = parser.parse_args(argv)
    plan_program(program_of("stencil, 4 sweeps", profiles(4), 1 << 16))  # imports PuLP, once
    tables: dict[str, list[Any]] = {
        f"simulated {kind} scale-out": scale_out(kind, options.largest)
        for kind in ("weak", "strong")
    }
    console = Console(width=None if sys.stdout.isatty() else 190, highlight=False)
    for title, lines in tables.items():
        console.print(table(title, lines))
    console.print(f"Simulated, no cluster was run: {ASSUMPTIONS}.")
    if options.json:
        plain = {title: [asdict(one) for one in lines] for title, lines in tables.items()}
        record = {"machine": machine(), "assumptions": ASSUMPTIONS, **plain}
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
