"""Unequal nodes: the planned split against their speed, and against the even split.

``python -m benchmarks.cluster --node cpu=1.0 --node cpu=0.25`` starts one worker process per node,
held to its share of a core, and runs an elementwise program with a reduction over generated data:
split as planned, split evenly, and on each node alone (which gives the true ratio of their speeds).
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.quota import unequal_workers, why_no_quota
from dnumpy.config import config
from dnumpy.expr.expr import Const, Expr, make
from dnumpy.expr.walk import pending_in_order
from dnumpy.ops.families import Elementwise, lookup
from dnumpy.ops.table import ARANGE
from dnumpy.plan.model import Candidate
from dnumpy.plan.program import judged
from dnumpy.plan.rates import node_rate, phase_spec
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.rewrite.phase import ReduceParams
from dnumpy.runtime.cluster import execute
from dnumpy.runtime.dask_cluster import DaskCluster

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.cost.work import Work
    from dnumpy.plan.model import Plan
    from dnumpy.runtime.layout import Placement
    from dnumpy.runtime.records import Record

RUNS = 5
WARM_UPS = 4  # the kernel is compiled meanwhile, and its speed is learnt


class FixedCluster(DaskCluster):
    """The same engine with shares that are given instead of planned."""

    shares: tuple[float, ...] = ()

    def plan(
        self,
        name: str,
        work: Work,
        granule: int,
        current: Placement | None,  # noqa: ARG002 - decided already
        transfer_bytes_per_row: float,  # noqa: ARG002 - likewise
        transfer_fixed_bytes: float = 0.0,  # noqa: ARG002 - likewise
    ) -> Plan:
        """Return rows in proportion to the shares."""
        granules = -(-work.rows // granule)
        stops, total = [], 0.0
        for share in self.shares:
            total += share
            stops.append(min(round(granules * total / sum(self.shares)) * granule, work.rows))
        rows = [b - a for a, b in zip([0, *stops], stops, strict=False)]
        rates = [
            node_rate(work, self.profiles[a], n) for a, n in zip(self.nodes(), rows, strict=True)
        ]
        return judged(Candidate("even", tuple(rows)), phase_spec(name, work), rates, None)


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
    """Run the program as planned, evenly, and on each node alone; interleaved, medians taken."""
    with unequal_workers(shares) as client:
        planned = DaskCluster(client)
        planned.refresh()
        given = FixedCluster(client, planned.profiles)
        given.refresh()
        alone: list[list[float]] = [[] for _ in shares]
        kept: list[tuple[float, Record]] = []
        even: list[float] = []
        for _ in range(WARM_UPS):
            timed(planned, size)
        for _ in range(runs):
            seconds, record, value = timed(planned, size)
            kept.append((seconds, record))
            given.shares = (1.0,) * len(shares)
            seconds, _, same = timed(given, size)
            even.append(seconds)
            if value != same:
                msg = f"the sum depends on the split: {value!r} and {same!r}"
                raise AssertionError(msg)
            for k in range(len(shares)):
                given.shares = tuple(1.0 if k == j else 0.0 for j in range(len(shares)))
                alone[k].append(timed(given, size // 2)[1].node_seconds[0])
        wall = sorted(kept, key=lambda pair: pair[0])
        middle = wall[len(wall) // 2][1]
        finish = [
            median(
                dict(zip(dict(r.where), r.node_seconds, strict=True)).get(a, 0.0) for _, r in kept
            )
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


def report(shares: Sequence[float], size: int, outcome: Outcome) -> str:
    """Return the outcome as text."""
    lines = [f"(sqrt(exp(sin(x)) + 1) * x).sum(), {size:,} generated float64, medians of {RUNS}"]
    for k, share in enumerate(shares):
        lines.append(
            f"  node {k} (cpu={share:g}): {outcome.speed[k] / 1e6:8.1f} M rows/s alone "
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


def node_share(text: str) -> float:
    """Return the share that ``cpu=0.25`` asks for."""
    name, _, value = text.partition("=")
    share = float(value or "nan")
    if name != "cpu" or not 0 < share <= 1:
        msg = f"{text!r}: expected cpu=SHARE with 0 < SHARE <= 1"
        raise argparse.ArgumentTypeError(msg)
    return share


def main() -> None:
    """Run the benchmark and print its outcome."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--node", action="append", type=node_share, metavar="cpu=SHARE")
    parser.add_argument("--size", type=int, default=160_000_000, help="elements")
    options = parser.parse_args()
    shares = options.node or [1.0, 0.25]
    reason = why_no_quota()
    if reason:
        parser.exit(1, f"cannot make unequal nodes: {reason}\n")
    print(report(shares, options.size, measure(shares, options.size)))  # noqa: T201 - its result


if __name__ == "__main__":
    main()
