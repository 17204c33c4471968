"""Unequal nodes on one machine: the planned split against the even split, and against their speed.

``python -m benchmarks.cluster --node cpu=1.0,mem=2G,net=1gbit --node cpu=0.25,mem=1G,net=100mbit``
starts a scheduler and a worker process per node, each held to its share of CPU time, its bytes and
its network rate (:mod:`benchmarks.nodes`; this needs root, control groups of version 1, and the
tools of iproute2 and util-linux), runs programs on them, planned and evenly split in turn, and
prints what they took. The programs to run, of ``normalise``, ``fma_sum``, ``sort`` and ``matmul``,
are named before the options: ``python -m benchmarks.cluster sort fma_sum --node ...``.

Nodes that say only ``cpu=0.25``, or ``0.25``, are workers that talk through the loopback device.

``python -m benchmarks.cluster split --node cpu=1.0 --node cpu=0.25`` looks closer at one program,
elementwise with a reduction over generated data: split as planned, split evenly, and on each node
alone (which gives the true ratio of their speeds). It is what runs where no program is named and
the nodes say only ``cpu``. What an earlier run left when it was killed is removed by the next one,
and by ``--reap``, which does nothing else.
"""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console

from benchmarks.contest import PROGRAMS, RUNS, FixedCluster, chosen, compete, table
from benchmarks.nodes import NodeSpec, reap, unequal_nodes, why_no_nodes
from benchmarks.quota import unequal_workers, why_no_quota
from dnumpy.config import config
from dnumpy.expr.expr import Const, Expr, make
from dnumpy.expr.walk import pending_in_order
from dnumpy.ops.families import Elementwise, lookup
from dnumpy.ops.table import ARANGE
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.rewrite.phase import ReduceParams
from dnumpy.runtime.cluster import execute
from dnumpy.runtime.dask_cluster import DaskCluster

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from distributed import Client

    from dnumpy.runtime.records import Record

SPLIT = "split"  # the name of the program that this module measures itself
WARM_UPS = 4  # the kernel is compiled meanwhile, and its speed is learnt


def program(size: int) -> Expr:
    """Return ``(sqrt(exp(sin(x)) + 1) * x).sum()`` over generated ``x``, pending."""
    x = make(ARANGE, (), (0.0, 1.0 / size), (size,), np.dtype(float))

    def call(name: str, *args: Expr | Const) -> Expr:
        op = lookup(name)
        assert isinstance(op, Elementwise)
        return make(op, args, (), (size,), np.dtype(float))

    y = call("sqrt", call("add", call("exp", call("sin", x)), Const(1.0)))
    params = ReduceParams((0,), False, None, None, False)
    return make(lookup("add.reduce"), (call("multiply", y, x),), params, (), np.dtype(float))


def timed(cluster: DaskCluster, size: int) -> tuple[float, Record, float]:
    """Return the wall seconds of one run, its record, and the sum."""
    root = program(size)
    grain = Grain(16_384, config.tile_bytes, config.tile_rows_max)
    stages = cut(pending_in_order([root]), [root], grain)
    started = perf_counter()
    records, _, _ = execute(stages, cluster)
    return perf_counter() - started, records[0], float(root.value)


@dataclass
class Outcome:
    """What was measured; times are medians in seconds."""

    speed: tuple[float, ...]  # rows per second of each node alone
    rows: tuple[int, ...]
    finish: tuple[float, ...]
    planned_seconds: float
    even_seconds: float
    all_planned: list[float] = field(default_factory=list)
    all_even: list[float] = field(default_factory=list)

    @property
    def split_error(self) -> float:
        """By how much the worst node's share of rows differs from its share of the speed."""
        shares = [
            (n / sum(self.rows)) / (v / sum(self.speed))
            for n, v in zip(self.rows, self.speed, strict=True)
        ]
        return max(abs(share - 1) for share in shares)

    @property
    def spread(self) -> float:
        """By how much the node that finishes first is ahead of the last, of the last's time."""
        return 1 - min(self.finish) / max(self.finish)

    @property
    def gain(self) -> float:
        """How many times faster than the even split."""
        return self.even_seconds / self.planned_seconds


def measure(shares: Sequence[float], size: int, runs: int = RUNS) -> Outcome:
    """Measure the split on workers held to these shares of a core."""
    with unequal_workers(shares) as client:
        return measured_on(client, size, runs)


def measured_on(client: Client, size: int, runs: int = RUNS) -> Outcome:
    """Run the program as planned, evenly, and on each node alone; interleaved, medians taken."""
    planned = DaskCluster(client)
    planned.refresh()
    given = FixedCluster(client, planned.profiles)
    given.refresh()
    count = len(planned.nodes())
    alone: list[list[float]] = [[] for _ in range(count)]
    kept: list[tuple[float, Record]] = []
    even: list[float] = []
    for _ in range(WARM_UPS):
        timed(planned, size)
    for _ in range(runs):
        seconds, record, value = timed(planned, size)
        kept.append((seconds, record))
        given.shares = (1.0,) * count
        seconds, _, same = timed(given, size)
        even.append(seconds)
        if value != same:
            msg = f"the sum depends on the split: {value!r} and {same!r}"
            raise AssertionError(msg)
        for k in range(count):
            given.shares = tuple(1.0 if k == j else 0.0 for j in range(count))
            alone[k].append(timed(given, size // 2)[1].node_seconds[0])
    wall = sorted(kept, key=lambda pair: pair[0])
    middle = wall[len(wall) // 2][1]
    finish = [
        median(dict(zip(dict(r.where), r.node_seconds, strict=True)).get(a, 0.0) for _, r in kept)
        for a in planned.nodes()
    ]
    return Outcome(
        speed=tuple(size // 2 / median(seconds) for seconds in alone),
        rows=tuple(dict(middle.where).get(a, 0) for a in planned.nodes()),
        finish=tuple(finish),
        planned_seconds=median(seconds for seconds, _ in kept),
        even_seconds=median(even),
        all_planned=[seconds for seconds, _ in kept],
        all_even=even,
    )


def report(specs: Sequence[NodeSpec], size: int, outcome: Outcome) -> str:
    """Return the outcome as text."""
    runs = len(outcome.all_planned)
    lines = [f"(sqrt(exp(sin(x)) + 1) * x).sum(), {size:,} generated float64, medians of {runs}"]
    for k, spec in enumerate(specs):
        lines.append(
            f"  node {k} ({spec}): {outcome.speed[k] / 1e6:8.1f} M rows/s alone "
            f"({outcome.speed[k] / sum(outcome.speed):6.1%}), planned {outcome.rows[k]:>12,} rows "
            f"({outcome.rows[k] / sum(outcome.rows):6.1%}), finished in {outcome.finish[k]:.3f} s"
        )
    lines += [
        f"  planned split against speed: worst share off by {outcome.split_error:.1%} (aim: 15 %)",
        f"  finish times apart by {outcome.spread:.1%} of the later (aim: 15 %)",
        f"  planned {outcome.planned_seconds:.3f} s, even split {outcome.even_seconds:.3f} s",
        f"  {outcome.gain:.2f} times faster than the even split (aim: 1.4)",
        "  planned runs: " + ", ".join(f"{s:.3f}" for s in outcome.all_planned),
        "  even runs:    " + ", ".join(f"{s:.3f}" for s in outcome.all_even),
    ]
    return "\n".join(lines)


def node_spec(text: str) -> NodeSpec:
    """Return the node that the text asks for."""
    try:
        return NodeSpec.parse(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem


def why_not(specs: Sequence[NodeSpec]) -> str:
    """Return why these nodes cannot be made here, or an empty string when they can."""
    return why_no_quota() if only_quotas(specs) else why_no_nodes()


def only_quotas(specs: Sequence[NodeSpec]) -> bool:
    """Return whether ordinary workers with a quota are all that is asked for."""
    return all(spec.limits_only_cpu and spec.cpu <= 1 for spec in specs)


@contextmanager
def client_of(specs: Sequence[NodeSpec]) -> Iterator[Client]:
    """Start the nodes, and remove them at the end."""
    if only_quotas(specs):
        with unequal_workers([spec.cpu for spec in specs]) as client:
            yield client
    else:
        with unequal_nodes(specs) as running:
            yield running.client


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options; SystemExit with status 2 where they make no sense."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cluster",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ", ".join([*(program.name for program in PROGRAMS), SPLIT])
    parser.add_argument("programs", nargs="*", help=f"of {names}")
    parser.add_argument(
        "--node",
        action="append",
        type=node_spec,
        metavar="cpu=SHARE,mem=SIZE,net=RATE",
        help="cores, bytes (512M, 2G), and bits per second (100mbit, 1gbit); each may be left out",
    )
    parser.add_argument("--size", type=int, default=160_000_000, help=f"elements of {SPLIT}")
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the programs' rows")
    parser.add_argument("--runs", type=int, default=RUNS, help="timed runs of each")
    parser.add_argument("--reap", action="store_true", help="remove what killed runs left")
    options = parser.parse_args(argv)
    options.node = options.node or [NodeSpec(1.0), NodeSpec(0.25)]
    if not options.programs and only_quotas(options.node):
        options.programs = [SPLIT]
    options.split = SPLIT in options.programs
    others = [name for name in options.programs if name != SPLIT]
    try:
        options.programs = [] if options.split and not others else chosen(others, PROGRAMS)
    except ValueError as problem:
        parser.error(str(problem))
    return options


def main(argv: Sequence[str]) -> int:
    """Run the programs and print what they took; the status is 1 where no such nodes can be."""
    options = parse(argv)
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    if options.reap:
        console.print("removed: " + (", ".join(reap()) or "nothing was left"))
        return 0
    reason = why_not(options.node)
    if reason:
        console.print(f"cannot make unequal nodes: {reason}")
        return 1
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, ended)
    with client_of(options.node) as client:
        if options.split:
            outcome = measured_on(client, options.size, options.runs)
            console.print(report(options.node, options.size, outcome))
        if options.programs:
            results = compete(client, options.programs, scale=options.scale, runs=options.runs)
            console.print(table(options.node, results))
    return 0


def ended(number: int, _: FrameType | None) -> None:
    """Leave by way of everything that has to be removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
