"""How good joint plans are, and how long they take: ``python -m benchmarks.planning``.

Five tables. Plans of small random programs against the best of all their plans, found by trying
them, for latency and for throughput. Planning time for 8 phases on 16 nodes, unknown and known; for
long programs on 8 nodes, with what it costs to plan them piece by piece; and up to 1,024 nodes in
four classes. Scale-out to 4,096 nodes is in :mod:`benchmarks.scaleout`.
"""

from __future__ import annotations

import argparse
import json
import random
from dataclasses import asdict, dataclass, replace
from itertools import product
from math import inf
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine
from dnumpy.errors import PlanInfeasible
from dnumpy.plan import (
    Ask,
    Edge,
    Network,
    Node,
    Placement,
    Program,
    clear_program_cache,
    pieces,
    plan_program,
    simulate_program,
)
from dnumpy.plan.throughput import period_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dnumpy.plan.dag import Access, Objective

SMALL = ((3, 2, 6), (2, 3, 6), (3, 3, 3), (4, 2, 4))  # phases, nodes, granules
ACCESSES: tuple[Access, ...] = ("aligned",) * 4 + ("halo", "whole", "other axis", "fold")
ROOM = (inf, inf, 1.3, 2.0)  # memory of all nodes, as a multiple of all results together
CLASS_SLOWNESS = (1.0, 1.5, 2.0, 4.0)
LARGEST = 1024  # nodes in four classes


def random_program(
    rng: random.Random, phases: int, nodes: int, granules: int, room: Sequence[float] = ROOM
) -> Program:
    """Return a program of some seconds over unequal nodes, with every kind of access."""
    slowness = [rng.choice((1.0, 1.0, 2.0, 4.0)) for _ in range(nodes)]
    asks = []
    for v in range(phases):
        base = 10 ** rng.uniform(-0.5, 0.7) * nodes / granules
        rates = tuple(base * slow * rng.uniform(0.8, 1.25) for slow in slowness)
        size = rng.choice((0.1, 1.0, 4.0)) / granules
        asks.append(
            Ask(f"p{v}", granules, rates, (rng.choice((0.0, 0.05)),) * nodes, bytes_per_row=size)
        )
    edges = []
    for v in range(1, phases):
        for u in {v - 1 if rng.random() < 0.7 else rng.randrange(v), rng.randrange(v)}:
            amount = asks[u].bytes_per_row
            edges.append(Edge(u, v, rng.choice(ACCESSES), amount, 1, amount))
    held = sum(ask.bytes_per_row * granules for ask in asks)
    memory = rng.choice(room) * held / nodes
    places = tuple(Node(f"w{n}", memory) for n in range(nodes))
    links = Network.uniform(nodes, 0.001, rng.choice((0.5, 2.0, 10.0)))
    return Program(places, links, tuple(asks), tuple(edges))


def splits(granules: int, nodes: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to split granules over nodes."""
    if nodes == 1:
        yield (granules,)
        return
    for first in range(granules + 1):
        for rest in splits(granules - first, nodes - 1):
            yield (first, *rest)


def best_of_all(program: Program, objective: Objective = "latency") -> float:
    """Return the end of the best plan that fits, by trying all; infinite where none fits.

    For throughput its period.
    """
    nodes = len(program.nodes)
    choices = []
    for v, ask in enumerate(program.asks):
        options = [Placement(split) for split in splits(ask.granules, nodes)]
        if any(edge.access == "whole" for edge in program.out_of(v)):
            options.append(Placement((ask.rows,) * nodes, replicated=True))
        choices.append(options)
    runs = (simulate_program(program, places) for places in product(*choices))
    if objective == "throughput":
        return min(period_seconds(program, run) for run in runs)
    return min((run.makespan for run in runs if run.fits(program)), default=inf)


@dataclass(frozen=True, slots=True)
class Quality:
    """Excess of the planned end over the best of all plans, as a part of it."""

    programs: int
    median: float
    p95: float
    worst: float
    best_found: int
    refused_though_possible: int
    impossible: int


def quality(count: int, seed: int = 0, objective: Objective = "latency") -> Quality:
    """Return how far plans of small random programs are from the best of all."""
    gaps = []
    refused = impossible = 0
    for k in range(count):
        rng = random.Random(seed * 1_000_003 + k)  # noqa: S311 - data, not secrets
        program = random_program(rng, *SMALL[k % len(SMALL)])
        best = best_of_all(program, objective)
        try:
            plan = plan_program(program, objective=objective)
        except PlanInfeasible:
            impossible += best == inf
            refused += best < inf
            continue
        plan.verify(program)
        gaps.append((plan.period_seconds or plan.predicted_seconds) / best - 1)
    p95 = quantiles(gaps, n=20)[-1]
    found = sum(gap < 1e-6 for gap in gaps)
    return Quality(count, median(gaps), p95, max(gaps), found, refused, impossible)


@dataclass(frozen=True, slots=True)
class Times:
    """Planning time of programs of some size, in milliseconds."""

    phases: int
    nodes: int
    predicted_seconds: float
    heuristics_ms: float
    cold_ms: float
    worst_cold_ms: float
    cached_ms: float
    gain_of_search: float


def timed(programs: list[Program]) -> Times:
    """Return the medians over the programs."""
    lines = []
    for program in programs:
        clear_program_cache()
        started = perf_counter()
        quick = plan_program(program, 0.0)
        heuristics = perf_counter() - started
        started = perf_counter()
        plan = plan_program(program)
        cold = perf_counter() - started
        started = perf_counter()
        plan_program(program)
        cached = perf_counter() - started
        gain = quick.predicted_seconds / plan.predicted_seconds - 1
        lines.append((plan.predicted_seconds, heuristics, cold, cached, gain))
    seconds, heuristics, cold, cached, gain = (median(c) for c in zip(*lines, strict=True))
    return Times(
        phases=len(programs[0].asks),
        nodes=len(programs[0].nodes),
        predicted_seconds=seconds,
        heuristics_ms=heuristics * 1e3,
        cold_ms=cold * 1e3,
        worst_cold_ms=max(line[2] for line in lines) * 1e3,
        cached_ms=cached * 1e3,
        gain_of_search=gain,
    )


@dataclass(frozen=True, slots=True)
class Long:
    """Long programs in pieces against the same programs at once; times in milliseconds."""

    program: str
    phases: int
    nodes: int
    predicted_seconds: float
    cold_ms: float
    worst_cold_ms: float
    cached_ms: float
    at_once_cold_ms: float
    longer_than_at_once: float
    worst_longer: float


LONG_NODES = 8
REACH = 3  # phases back that a phase of a local program reads
BODY = 5  # phases in a turn of a loop


def loop(rng: random.Random, phases: int) -> Program:
    """Return a loop of random phases; each turn reads what the turn before it ended with."""
    body = random_program(rng, BODY, LONG_NODES, 1024, (inf,))
    edges: list[Edge] = []
    for first in range(0, phases, BODY):
        edges += [
            replace(e, producer=e.producer + first, consumer=e.consumer + first) for e in body.edges
        ]
        if first:
            edges.append(Edge(first - 1, first, "aligned", body.asks[-1].bytes_per_row))
    return replace(body, asks=body.asks * (phases // BODY), edges=tuple(edges))


def local(rng: random.Random, phases: int) -> Program:
    """Return random phases that read what was made shortly before."""
    program = random_program(rng, phases, LONG_NODES, 1024, (inf,))
    near = tuple(e for e in program.edges if e.consumer - e.producer <= REACH)
    return replace(program, edges=near)


def long_programs(count: int) -> list[Long]:
    """Return planning times of long programs, and how long their plans take."""
    return [
        in_pieces_and_at_once(name, [make(random.Random(k), phases) for k in range(count)])  # noqa: S311 - data
        for phases in (60, 200)
        for name, make in (("loop", loop), ("local", local))
    ]


def in_pieces_and_at_once(name: str, programs: list[Program]) -> Long:
    """Return the medians over the programs."""
    parts = [timed([program]) for program in programs]
    usual, pieces.PIECES_FROM_PHASES = pieces.PIECES_FROM_PHASES, len(programs[0].asks) + 1
    once = [timed([program]) for program in programs]
    pieces.PIECES_FROM_PHASES = usual
    pairs = zip(parts, once, strict=True)
    longer = [one.predicted_seconds / other.predicted_seconds - 1 for one, other in pairs]
    return Long(
        program=name,
        phases=len(programs[0].asks),
        nodes=LONG_NODES,
        predicted_seconds=median(line.predicted_seconds for line in parts),
        cold_ms=median(line.cold_ms for line in parts),
        worst_cold_ms=max(line.cold_ms for line in parts),
        cached_ms=median(line.cached_ms for line in parts),
        at_once_cold_ms=median(line.cold_ms for line in once),
        longer_than_at_once=median(longer),
        worst_longer=max(longer),
    )


def scaled(program: Program, factor: float) -> Program:
    """Return the program with all times and bytes multiplied, and so its predicted end."""
    asks = tuple(
        Ask(
            ask.name,
            ask.rows,
            tuple(s * factor for s in ask.seconds_per_row),
            tuple(s * factor for s in ask.fixed_seconds),
            ask.granule,
            ask.bytes_per_row * factor,
        )
        for ask in program.asks
    )
    edges = tuple(
        Edge(
            e.producer, e.consumer, e.access, e.bytes_per_row * factor, 1, e.partial_bytes * factor
        )
        for e in program.edges
    )
    nodes = tuple(Node(node.name, node.memory_bytes * factor) for node in program.nodes)
    return Program(nodes, program.network, asks, edges)


def sixteen_nodes(count: int) -> list[Times]:
    """Return planning times for 8 phases on 16 nodes, for short and for long programs."""
    lines = []
    for factor in (0.01, 0.1, 1.0):
        programs = [
            scaled(random_program(random.Random(k), 8, 16, 1024, (inf,)), factor)  # noqa: S311 - data
            for k in range(count)
        ]
        lines.append(timed(programs))
    return lines


def fleet(nodes: int, phases: int = 8, rows_per_node: int = 1024) -> Program:
    """Return a program of some seconds over nodes of four classes."""
    slow = [CLASS_SLOWNESS[n * 4 // nodes] for n in range(nodes)]
    rows = nodes * rows_per_node
    accesses: tuple[Access, ...] = ("aligned", "halo", "aligned", "fold", "aligned")
    asks = tuple(
        Ask(f"p{v}", rows, tuple(5e-4 * s for s in slow), (0.002,) * nodes, bytes_per_row=8192.0)
        for v in range(phases)
    )
    edges = tuple(
        Edge(v - 1, v, accesses[v % len(accesses)], 8192.0, 1, 8192.0) for v in range(1, phases)
    )
    places = tuple(Node(f"w{n}", 1e9) for n in range(nodes))
    return Program(places, Network.uniform(nodes, 1e-4, 1.25e9), asks, edges)


def evenly(ask: Ask, nodes: int) -> Placement:
    """Return equal ranges, but for the rest of the division."""
    each, more = divmod(ask.rows, nodes)
    return Placement(tuple(each + (n < more) for n in range(nodes)))


def table(title: str, lines: list[Any]) -> Table:
    """Return the lines under the names of their fields."""
    result = Table(title=title, title_justify="left")
    columns = list(asdict(lines[0]))
    for column in columns:
        result.add_column(column.replace("_", " "), justify="right")
    for line in lines:
        result.add_row(*(shown(asdict(line)[column]) for column in columns))
    return result


def shown(value: object) -> str:
    """Return a figure with four digits, anything else as it is."""
    return f"{value:.4g}" if isinstance(value, float) else f"{value}"


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=200, help="small programs to try all of")
    parser.add_argument("--times", type=int, default=10, help="programs per planning time")
    parser.add_argument("--long", type=int, default=5, help="long programs per planning time")
    parser.add_argument("--largest", type=int, default=LARGEST, help="most nodes in four classes")
    parser.add_argument("--json", type=Path, help="where to store the figures")
    options = parser.parse_args()
    plan_program(fleet(16))  # imports PuLP, once in a process
    classes = [n for n in (4, 16, 64, 256, 1024) if n <= options.largest]
    tables: dict[str, list[Any]] = {
        "against the best of all plans": [quality(options.programs)],
        "for throughput, against the best of all plans": [
            quality(options.programs, objective="throughput")
        ],
        "long programs on 8 nodes": long_programs(options.long),
        "8 phases on 16 nodes": sixteen_nodes(options.times),
        "nodes in four classes": [timed([fleet(n)]) for n in classes],
    }
    console = Console(width=160)
    for title, lines in tables.items():
        console.print(table(title, lines))
    if options.json:
        plain = {title: [asdict(line) for line in lines] for title, lines in tables.items()}
        record = {"machine": machine(), **plain}
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
