"""Model R: how many rows, when it is known which phases share a placement and which rows stay.

::

    minimise    O + epsilon * sum u
    subject to  sum_n x_gn = 1,  x_gn <= room_gn u_gn             one partition per set of phases
                C_vn >= C_wn + t_vn                               w: the phase before v on node n
                C_vn >= F_u + latency + in_vn + t_vn              what v reads of u, where it moves
                C_vn >= F_u + s_uv + t_vn,  s_uv >= out_un
                C_vn >= C_um + halo + t_vn                        neighbours m of n, within a set
                F_v >= C_vn,  O >= F_v,  t_vn = fixed u_gn + row x_gn

Shares x are continuous, u is binary where using a node has a fixed cost, and largest remainders
make whole granules of the shares. The overlap of two partitions is linear where they overlap in the
known plan, which R keeps so; elsewhere it counts as none. Times are counted in millionths of the
known plan's: in seconds HiGHS drops the small coefficients.
"""

from __future__ import annotations

from math import ceil, isfinite, log2
from time import perf_counter
from typing import TYPE_CHECKING, Any

from dnumpy.plan.dag import SAME_ROWS
from dnumpy.plan.integer_program import UNITS_PER_MAKESPAN
from dnumpy.plan.rounding import largest_remainder
from dnumpy.plan.search import equal_sets, replaced
from dnumpy.plan.templates import caps, placed
from dnumpy.plan.watchdog import within

if TYPE_CHECKING:
    import pulp

    from dnumpy.plan.dag import Edge, Program
    from dnumpy.plan.search import Placements
    from dnumpy.plan.watchdog import Solve

OPEN_NODES = 16  # above, only nodes that the known plan uses take part
GAP = 1e-3
USE_PENALTY = 1e-5
LEAST_SHARE = 1e-6
LATE = 1.0  # of the known makespan: what a reader that is not used need not wait for


def solve_rows(
    program: Program,
    placements: Placements,
    known_seconds: float,
    time_limit_seconds: float,
) -> tuple[Placements | None, float]:
    """Return the placements with better row counts, None when none was found, and the seconds."""
    started = perf_counter()

    def work(solve: Solve[Placements]) -> Placements | None:
        import pulp

        prob = pulp.LpProblem("rows", pulp.LpMinimize)
        model = _Model(prob, program, placements, UNITS_PER_MAKESPAN / max(known_seconds, 1e-9))
        if not model.sets or not model.has_room():
            return None
        model.write()
        return model.rounded() if solve.solve(prob, GAP) else None

    return within(time_limit_seconds, work), perf_counter() - started


class _Model:
    """The variables and rows of one program with known structure."""

    def __init__(
        self, prob: pulp.LpProblem, program: Program, known: Placements, units_per_second: float
    ) -> None:
        self.prob, self.program, self.known, self.units = prob, program, known, units_per_second
        self.nodes = range(len(program.nodes))
        self.sets = equal_sets(program, known)
        self.set_of = {v: g for g, members in enumerate(self.sets) for v in members}
        self.room = [
            [min(c) for c in zip(*(caps(program, v) for v in members), strict=True)]
            for members in self.sets
        ]
        self.shares: list[list[Any]] = []
        self.uses: list[list[Any]] = []
        self.clocks: list[dict[int, Any]] = []
        self.kept: dict[tuple[int, int, int], Any] = {}
        self.ends = [prob.add_variable(f"end_{v}", 0) for v in range(len(program.asks))]

    def has_room(self) -> bool:
        """Return whether each set's whole granules find room: the known plan may hold too much."""
        asks = [self.program.asks[members[0]] for members in self.sets]
        return all(sum(room) >= a.granules for room, a in zip(self.room, asks, strict=True))

    def write(self) -> None:
        """Add objective and rows."""
        import pulp

        makespan = self.prob.add_variable("makespan", 0)
        for g in range(len(self.sets)):
            self._partition(g)
        uses = [u for line in self.uses for u in line if not isinstance(u, int)]
        penalty = USE_PENALTY * UNITS_PER_MAKESPAN / max(1, len(uses))
        self.prob += makespan + penalty * pulp.lpSum(uses)
        last: dict[int, Any] = {}
        for v in range(len(self.program.asks)):
            self._phase(v, last)
            self.prob += makespan >= self.ends[v], f"last_{v}"

    def _partition(self, g: int) -> None:
        """Add the shares of one set of phases; a node left out has the number 0."""
        import pulp

        asks = [self.program.asks[v] for v in self.sets[g]]
        known = self.known[self.sets[g][0]]
        shares: list[Any] = []
        uses: list[Any] = []
        for n in self.nodes:
            cap = self.room[g][n] / asks[0].granules
            fixed = sum(ask.fixed_seconds[n] for ask in asks)
            if not cap or not (known.rows[n] or len(self.nodes) <= OPEN_NODES):
                shares.append(0)
                uses.append(0)
                continue
            share = self.prob.add_variable(f"share_{g}_{n}", 0, cap)
            use: Any = 1
            if fixed > 0 and len(self.nodes) <= OPEN_NODES:
                use = self.prob.add_variable(f"use_{g}_{n}", cat="Binary")
                self.prob += share <= cap * use, f"room_{g}_{n}"
            elif fixed == 0 and not known.rows[n]:
                use = share
            shares.append(share)
            uses.append(use)
        self.prob += pulp.lpSum(shares) == 1, f"all_{g}"
        self.shares.append(shares)
        self.uses.append(uses)

    def share(self, v: int, n: int) -> Any:  # noqa: ANN401 - a variable, an expression or a number
        """Return which part of the phase's rows the node has."""
        g = self.set_of.get(v)
        return self.known[v].rows[n] / self.program.asks[v].rows if g is None else self.shares[g][n]

    def use(self, v: int, n: int) -> Any:  # noqa: ANN401 - likewise
        """Return whether the node has rows of the phase."""
        g = self.set_of.get(v)
        return int(self.known[v].rows[n] > 0) if g is None else self.uses[g][n]

    def takes_part(self, v: int, n: int) -> bool:
        """Return whether the node may have rows of the phase."""
        return not isinstance(self.use(v, n), int) or bool(self.use(v, n))

    def _phase(self, v: int, last: dict[int, Any]) -> None:
        ask = self.program.asks[v]
        self.clocks.append({})
        arrivals = [(i, e) for i, e in enumerate(self.program.edges) if e.consumer == v]
        sends = {i: self._sends(i, e) for i, e in arrivals}
        for n in self.nodes:
            if not self.takes_part(v, n):
                continue
            took = ask.fixed_seconds[n] * self.units * self.use(v, n) + ask.seconds_per_row[
                n
            ] * ask.rows * self.units * self.share(v, n)
            clock = self.prob.add_variable(f"clock_{v}_{n}", 0)
            self.prob += clock >= last.get(n, 0) + took, f"queue_{v}_{n}"
            for i, edge in arrivals:
                for k, arrives in enumerate(self._arrives(edge, n, sends[i])):
                    self.prob += clock >= arrives + took, f"arrive_{i}_{n}_{k}"
            self.prob += self.ends[v] >= clock, f"end_{v}_{n}"
            self.clocks[v][n] = last[n] = clock

    def _together(self, edge: Edge) -> bool:
        """Return whether both ends of the edge share a partition, so that rows stay."""
        set_of = self.set_of.get(edge.producer)
        same = set_of is not None and set_of == self.set_of.get(edge.consumer)
        return same and edge.access in SAME_ROWS

    def _arrives(self, edge: Edge, n: int, sent: Any) -> list[Any]:  # noqa: ANN401 - likewise
        """Return when what the phase reads of the edge is on the node, as lower bounds."""
        before = self.ends[edge.producer]
        if self._together(edge):
            if edge.access == "aligned":
                return []
            return [
                self.clocks[edge.producer][m]
                + self._seconds(m, n, edge.halo_rows * edge.bytes_per_row)
                for m in self._neighbours(edge.producer, n)
            ]
        unused = LATE * UNITS_PER_MAKESPAN * (1 - self.use(edge.consumer, n))
        received = self._received(edge, n)
        waits = [before - unused]
        if not isinstance(received, int):
            waits = [before + received - unused]
        if sent is not None:
            waits.append(before + sent - unused)
        return waits

    def _neighbours(self, v: int, n: int) -> list[int]:
        here = sorted(self.clocks[v])
        if n not in here:
            return []
        at = here.index(n)
        return here[max(0, at - 1) : at] + here[at + 1 : at + 2]

    def _seconds(self, source: int, target: int, amount: float) -> float:
        return self.program.network.seconds(source, target, amount) * self.units

    def _port(self, n: int) -> tuple[float, float]:
        """Return latency and time per byte of the node's widest link, in units."""
        net = self.program.network
        group = net.groups[n]
        others = {net.groups[m] for m in self.nodes if m != n} or {group}
        best = max(others, key=lambda other: net.bytes_per_second[group][other])
        latency, speed = net.latency_seconds[group][best], net.bytes_per_second[group][best]
        return latency * self.units, self.units / speed

    def _received(self, edge: Edge, n: int) -> Any:  # noqa: ANN401 - likewise
        """Return how long the node's port receives; the number 0 where nothing comes."""
        u, v = edge.producer, edge.consumer
        latency, per_byte = self._port(n)
        whole = self.program.asks[u].rows * edge.bytes_per_row
        if edge.access == "none" or (self.known[u].replicated and self.known[u].rows[n]):
            return 0
        if edge.access == "fold":
            hops = ceil(log2(max(2, len(self.known[u].used))))
            return 0.0 + hops * (latency + edge.partial_bytes * per_byte)
        if edge.access == "whole" or self.known[v].replicated:
            return whole * per_byte * (1 - self.share(u, n))
        if edge.access == "other axis" or self.known[u].replicated:
            return latency + whole * per_byte * self.share(v, n)
        moved = self.share(v, n) - self._kept(edge, n)
        return whole * per_byte * moved + 0.0

    def _sends(self, index: int, edge: Edge) -> Any:  # noqa: ANN401 - likewise
        """Return how long the busiest port sends for the edge, None where that is not counted."""
        u, v = edge.producer, edge.consumer
        copied = self.known[u].replicated or self.known[v].replicated
        if edge.access in {"none", "fold"} or copied or self._together(edge):
            return None
        readers = len(self.known[v].used) - 1 if edge.access == "whole" else 1
        sent = self.prob.add_variable(f"sent_{index}", 0)
        for n in self.clocks[u]:
            _, per_byte = self._port(n)
            whole = self.program.asks[u].rows * edge.bytes_per_row * per_byte * readers
            stays = self._kept(edge, n) if edge.access in SAME_ROWS else 0
            self.prob += sent >= whole * (self.share(u, n) - stays), f"sent_{index}_{n}"
        return sent

    def _kept(self, edge: Edge, n: int) -> Any:  # noqa: ANN401 - likewise
        """Return which part of the rows stays on the node between two partitions."""
        u, v = edge.producer, edge.consumer
        (lo, hi), (start, stop) = self.known[u].ranges()[n], self.known[v].ranges()[n]
        if min(hi, stop) <= max(lo, start):
            return 0
        key = (u, v, n)
        if key not in self.kept:
            kept = self.prob.add_variable(f"kept_{u}_{v}_{n}", 0, 1)
            one, other = self._bounds(u, n), self._bounds(v, n)
            for k, limit in enumerate(
                (
                    self.share(u, n),
                    self.share(v, n),
                    one[1] - other[0],
                    other[1] - one[0],
                )
            ):
                self.prob += kept <= limit, f"kept_{u}_{v}_{n}_{k}"
            self.kept[key] = kept
        return self.kept[key]

    def _bounds(self, v: int, n: int) -> tuple[Any, Any]:
        """Return where the node's rows start and stop, as parts of all rows."""
        import pulp

        start = pulp.lpSum(self.share(v, m) for m in range(n))
        return start, start + self.share(v, n)

    def rounded(self) -> Placements | None:
        """Return the solution in whole granules; None where these find no room."""
        result = self.known
        for g, members in enumerate(self.sets):
            ask = self.program.asks[members[0]]
            shares = [_value(share) for share in self.shares[g]]
            speeds = [-s if isfinite(s) else 0.0 for s in ask.seconds_per_row]
            counts = largest_remainder(shares, ask.granules, self.room[g], speeds)
            if counts is None:
                return None
            result = replaced(result, members, placed(ask, counts))
        return result


def _value(share: Any) -> float:  # noqa: ANN401 - a variable or the number 0
    value = 0.0 if isinstance(share, int) or share.varValue is None else float(share.varValue)
    return value if value >= LEAST_SHARE else 0.0
