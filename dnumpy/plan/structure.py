"""Model W: which template each phase takes, as a one-hot integer program over tables.

::

    minimise    O + epsilon * (nodes used)
    subject to  sum_k z_vk = 1                                    one template per phase
                sum_j e_ij = z_ui,  sum_i e_ij = z_vj             per edge that costs something
                F_v >= F_u + sum_ij R_ij e_ij + sum_k T_vk z_vk
                load_n = sum_vk t_vkn z_vk <= O                   no node works longer than the end
                O >= F_v
                held_nv <= memory_n (1 + short_n)                 while v runs, short_n costs much

For throughput O is the period: it has to exceed every load and every R, and there is no F.
Times are counted in millionths of a known plan's, as in ``integer_program``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from dnumpy.plan.integer_program import UNITS_PER_MAKESPAN
from dnumpy.plan.reshard import reshard_seconds
from dnumpy.plan.watchdog import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pulp

    from dnumpy.plan.dag import Edge, Objective, Placement, Program
    from dnumpy.plan.watchdog import Solve

USE_PENALTY = 1e-5
GAP = 1e-3
SHORT_PENALTY = 100.0  # of the makespan, for each time its memory that a node is short of
MOST_LOAD_ROWS = 64  # nodes whose load and memory are rows of the program


@dataclass(frozen=True, slots=True)
class Tables:
    """Seconds of every template on its own, and of every pair of templates of an edge."""

    phases: tuple[tuple[float, ...], ...]
    edges: tuple[tuple[tuple[float, ...], ...], ...]


def phase_seconds(program: Program, v: int, placement: Placement) -> float:
    """Return how long the phase takes on the node that takes longest."""
    ask = program.asks[v]
    return max(ask.seconds(n, placement.rows[n]) for n in placement.used)


def make_tables(
    program: Program, choices: Sequence[Sequence[Placement]], deadline: float
) -> Tables | None:
    """Return the tables of all templates, or None when the clock passes the deadline meanwhile."""
    phases = tuple(
        tuple(phase_seconds(program, v, placement) for placement in options)
        for v, options in enumerate(choices)
    )
    edges = []
    for edge in program.edges:
        table = []
        for before in choices[edge.producer]:
            if perf_counter() > deadline:
                return None
            options = choices[edge.consumer]
            table.append(tuple(reshard_seconds(program, edge, before, p) for p in options))
        edges.append(tuple(table))
    return Tables(phases, tuple(edges))


def solve_structure(
    program: Program,
    choices: Sequence[Sequence[Placement]],
    tables: Tables,
    known_seconds: float,
    time_limit_seconds: float,
    objective: Objective = "latency",
) -> tuple[list[int] | None, float]:
    """Return the template of each phase, None when none was found in time, and the seconds used."""
    started = perf_counter()

    def work(solve: Solve[list[int]]) -> list[int] | None:
        import pulp

        prob = pulp.LpProblem("structure", pulp.LpMinimize)
        model = _Model(prob, program, choices, UNITS_PER_MAKESPAN / max(known_seconds, 1e-9))
        model.write(tables, objective)
        return model.picked() if solve.solve(prob, GAP) else None

    return within(time_limit_seconds, work), perf_counter() - started


class _Model:
    """The variables and rows of one program."""

    def __init__(
        self,
        prob: pulp.LpProblem,
        program: Program,
        choices: Sequence[Sequence[Placement]],
        units_per_second: float,
    ) -> None:
        self.prob, self.program, self.choices = prob, program, choices
        self.units = units_per_second
        self.end = prob.add_variable("end", 0)
        self.ends = [prob.add_variable(f"end_{v}", 0) for v in range(len(choices))]
        self.takes = [
            [prob.add_variable(f"take_{v}_{k}", cat="Binary") for k in range(len(options))]
            for v, options in enumerate(choices)
        ]

    def write(self, tables: Tables, objective: Objective) -> None:
        """Add objective and rows; for throughput no phase waits for another."""
        import pulp

        nodes = len(self.program.nodes)
        used = [
            len(placement.used) / (nodes * len(self.choices)) * take
            for options, takes in zip(self.choices, self.takes, strict=True)
            for placement, take in zip(options, takes, strict=True)
        ]
        took = []
        for v, takes in enumerate(self.takes):
            self.prob += pulp.lpSum(takes) == 1, f"one_{v}"
            pairs = zip(tables.phases[v], takes, strict=True)
            took.append(pulp.lpSum(seconds * self.units * take for seconds, take in pairs))
            if objective == "latency":
                self.prob += self.ends[v] >= took[v], f"phase_{v}"
                self.prob += self.end >= self.ends[v], f"last_{v}"
        for index, edge in enumerate(self.program.edges):
            moved = self._edge(index, edge, tables.edges[index])
            if objective == "throughput":
                self.prob += self.end >= moved, f"port_{index}"
                continue
            arrives = self.ends[edge.producer] + moved + took[edge.consumer]
            self.prob += self.ends[edge.consumer] >= arrives, f"edge_{index}"
        self._loads()
        penalty = SHORT_PENALTY * UNITS_PER_MAKESPAN
        costs = self.end + USE_PENALTY * UNITS_PER_MAKESPAN * pulp.lpSum(used)
        self.prob.setObjective(costs + penalty * pulp.lpSum(self._memory()))

    def _edge(
        self, index: int, edge: Edge, seconds: tuple[tuple[float, ...], ...]
    ) -> pulp.LpAffineExpression | float:
        """Return the time of the edge, by a share per pair of templates."""
        import pulp

        if not any(any(line) for line in seconds):
            return 0.0
        before, after = self.takes[edge.producer], self.takes[edge.consumer]
        pair = [
            [self.prob.add_variable(f"pair_{index}_{i}_{j}", 0, 1) for j in range(len(after))]
            for i in range(len(before))
        ]
        for i, take in enumerate(before):
            self.prob += pulp.lpSum(pair[i]) == take, f"from_{index}_{i}"
        for j, take in enumerate(after):
            self.prob += pulp.lpSum(line[j] for line in pair) == take, f"to_{index}_{j}"
        return pulp.lpSum(
            cost * self.units * share
            for costs, shares in zip(seconds, pair, strict=True)
            for cost, share in zip(costs, shares, strict=True)
            if cost
        )

    def _loads(self) -> None:
        """Add a row per node: it does one phase at a time."""
        import pulp

        for n in range(min(len(self.program.nodes), MOST_LOAD_ROWS)):
            load = [
                ask.seconds(n, placement.rows[n]) * self.units * take
                for ask, options, takes in zip(
                    self.program.asks, self.choices, self.takes, strict=True
                )
                for placement, take in zip(options, takes, strict=True)
                if placement.rows[n]
            ]
            if load:
                self.prob += self.end >= pulp.lpSum(load), f"load_{n}"

    def _memory(self) -> list[pulp.LpVariable]:
        """Add rows for what is held while each phase runs; return how much each node is short.

        Rows that received bytes need are in it where a phase reads all rows; of other reads the
        simulator knows. In parts of the node's memory.
        """
        import pulp

        last = self.program.last_readers()
        short = []
        for n, node in enumerate(self.program.nodes[:MOST_LOAD_ROWS]):
            if not 0 < node.memory_bytes < inf:
                continue
            missing = self.prob.add_variable(f"short_{n}", 0)
            for v in range(len(self.choices)):
                terms = [
                    (self._held(u, v, last[u], placement, n) / node.memory_bytes, take)
                    for u in range(v + 1)
                    for placement, take in zip(self.choices[u], self.takes[u], strict=True)
                ]
                most = sum(max(0.0, held) for held, _ in terms)
                if most > 1:
                    held = pulp.lpSum(part * take for part, take in terms if part)
                    self.prob += held <= 1 + missing, f"memory_{v}_{n}"
            short.append(missing)
        return short

    def _held(self, u: int, v: int, last: int, placement: Placement, n: int) -> float:
        """Return what is on the node of phase ``u`` while phase ``v`` runs."""
        ask, rows = self.program.asks[u], placement.rows[n]
        if not rows:
            return 0.0
        if u < v:
            return rows * ask.bytes_per_row if last >= v or last == u or ask.kept else 0.0
        reads_all = sum(
            e.bytes_per_row * self.program.asks[e.producer].rows
            for e in self.program.edges
            if e.consumer == v and e.access == "whole"
        )
        held = rows * (ask.bytes_per_row + ask.work_bytes_per_row) + ask.work_fixed_bytes
        return held + reads_all

    def picked(self) -> list[int]:
        """Return the template with the largest value of each phase."""
        return [
            max(range(len(takes)), key=lambda k: takes[k].varValue or 0.0) for takes in self.takes
        ]
