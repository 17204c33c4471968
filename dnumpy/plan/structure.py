"""Model W: which template each phase takes, as a one-hot integer program over tables.

::

    minimise    O + epsilon * (nodes used)
    subject to  sum_k z_vk = 1                                    one template per phase
                sum_j e_ij = z_ui,  sum_i e_ij = z_vj             per edge that costs something
                F_v >= F_u + sum_ij R_ij e_ij + sum_k T_vk z_vk
                load_n = sum_vk t_vkn z_vk <= O                   no node works longer than the end
                O >= F_v

Times are counted in millionths of a known plan's, as in ``integer_program``.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from dnumpy.plan.integer_program import UNITS_PER_MAKESPAN
from dnumpy.plan.reshard import reshard_seconds
from dnumpy.plan.watchdog import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pulp

    from dnumpy.plan.dag import Edge, Placement, Program
    from dnumpy.plan.watchdog import Solve

USE_PENALTY = 1e-5
GAP = 1e-3
MOST_LOAD_ROWS = 64  # nodes whose load is a row of the program


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
) -> tuple[list[int] | None, float]:
    """Return the template of each phase, None when none was found in time, and the seconds used."""
    started = perf_counter()

    def work(solve: Solve[list[int]]) -> list[int] | None:
        import pulp

        prob = pulp.LpProblem("structure", pulp.LpMinimize)
        model = _Model(prob, program, choices, UNITS_PER_MAKESPAN / max(known_seconds, 1e-9))
        model.write(tables)
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

    def write(self, tables: Tables) -> None:
        """Add objective and rows."""
        import pulp

        nodes = len(self.program.nodes)
        used = [
            len(placement.used) / (nodes * len(self.choices)) * take
            for options, takes in zip(self.choices, self.takes, strict=True)
            for placement, take in zip(options, takes, strict=True)
        ]
        self.prob += self.end + USE_PENALTY * UNITS_PER_MAKESPAN * pulp.lpSum(used)
        took = []
        for v, takes in enumerate(self.takes):
            self.prob += pulp.lpSum(takes) == 1, f"one_{v}"
            pairs = zip(tables.phases[v], takes, strict=True)
            took.append(pulp.lpSum(seconds * self.units * take for seconds, take in pairs))
            self.prob += self.ends[v] >= took[v], f"phase_{v}"
            self.prob += self.end >= self.ends[v], f"last_{v}"
        for index, edge in enumerate(self.program.edges):
            moved = self._edge(index, edge, tables.edges[index])
            arrives = self.ends[edge.producer] + moved + took[edge.consumer]
            self.prob += self.ends[edge.consumer] >= arrives, f"edge_{index}"
        self._loads()

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

    def picked(self) -> list[int]:
        """Return the template with the largest value of each phase."""
        return [
            max(range(len(takes)), key=lambda k: takes[k].varValue or 0.0) for takes in self.takes
        ]
