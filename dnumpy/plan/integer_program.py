"""The integer program: continuous shares, binary use of a node, least makespan.

::

    minimise    T + epsilon * sum use_n
    subject to  sum share_n = 1
                share_n <= room_n * use_n                       memory, and what T leaves time for
                moved_n >= share_n - home_n                     rows that must be brought in
                T >= fixed_n use_n + row_n share_n + transfer_n moved_n

Shares instead of whole rows, because HiGHS needs seconds and ends 20 % off with integer rows over 16
nodes. A known split bounds T, which makes ``room_n`` tight. Time is counted in millionths of that
known makespan: microseconds for a phase of a second. In seconds HiGHS drops coefficients below 1e-9
and calls 2.35 times the optimum optimal; in plain microseconds it calls phases of more than ten
minutes infeasible. PuLP is imported on first use. Runs on PuLP 3.3 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

from dnumpy.plan.waterfill import rows_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.model import NodeRate, PhaseSpec

UNITS_PER_MAKESPAN = 1e6
LEAST_SHARE = 1e-6  # nodes that could not do more than this before the bound stay out
SLACK = 1.01  # above the bound, so that rounding never makes the known split infeasible
SOLVED = (1, 2)  # PuLP's sol_status: optimal, feasible (a time limit reached with an incumbent)


@dataclass(frozen=True, slots=True)
class Shares:
    """The solver's answer: a share per node (None when it found none) and the time it took."""

    shares: tuple[float, ...] | None
    solver_seconds: float


def solve_shares(
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    caps_rows: Sequence[int],
    current: Sequence[int] | None,
    bound_seconds: float,
    support: Sequence[bool] | None = None,
    time_limit_seconds: float = 2.0,
) -> Shares:
    """Return the shares of the least makespan not above ``bound_seconds``.

    With ``support`` the binaries are fixed and a linear program is left.
    """
    started = perf_counter()
    import pulp

    prob = pulp.LpProblem("rows", pulp.LpMinimize)
    shares = _add_phase(prob, pulp, spec, nodes, caps_rows, current, bound_seconds, support)
    solver = pulp.HiGHS(
        msg=False, threads=1, timeLimit=time_limit_seconds, gapRel=1e-5, random_seed=0
    )
    if any(share is not None for share in shares):
        prob.solve(solver)
    found = prob.sol_status in SOLVED
    values = tuple(_value(share) for share in shares) if found else None
    if values is not None and sum(values) <= 0:
        values = None
    return Shares(values, perf_counter() - started)


def _value(share: Any) -> float:
    """Return a variable's value; a node left out of the program has share 0."""
    if share is None or share.varValue is None or share.varValue < LEAST_SHARE:
        return 0.0
    return float(share.varValue)


def _add_phase(
    prob: Any,
    pulp: Any,
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    caps_rows: Sequence[int],
    current: Sequence[int] | None,
    bound_seconds: float,
    support: Sequence[bool] | None,
) -> list[Any]:
    """Write the program into ``prob`` and return the share variable of each node, or None."""
    units = UNITS_PER_MAKESPAN / max(bound_seconds, 1e-9)  # per second
    makespan = prob.add_variable("makespan", 0, UNITS_PER_MAKESPAN * SLACK)
    epsilon = UNITS_PER_MAKESPAN * 1e-5 / len(nodes)
    shares: list[Any] = []
    uses: list[Any] = []
    for i, node in enumerate(nodes):
        at_home = current[i] if current is not None else 0
        room = min(caps_rows[i], rows_within(bound_seconds * SLACK, node, at_home)) / spec.rows
        if room < LEAST_SHARE or (support is not None and not support[i]):
            shares.append(None)
            continue
        share = prob.add_variable(f"share_{i}", 0, min(1.0, room))
        use: Any = 1 if support is not None else prob.add_variable(f"use_{i}", cat="Binary")
        if support is None:
            prob += share <= min(1.0, room) * use, f"room_{i}"
            uses.append(use)
        moved = _add_moved(prob, share, i, at_home / spec.rows, node)
        per_share = spec.rows * units
        prob += (
            makespan
            >= node.fixed_seconds * units * use
            + node.seconds_per_row * per_share * share
            + node.transfer_seconds_per_row * per_share * moved,
            f"finish_{i}",
        )
        shares.append(share)
    prob += makespan + epsilon * pulp.lpSum(uses)
    prob += pulp.lpSum(s for s in shares if s is not None) == 1, "all_rows"
    return shares


def _add_moved(prob: Any, share: Any, i: int, home: float, node: NodeRate) -> Any:
    """Return the share to be brought in: all of it, or what exceeds the share at home."""
    if home == 0.0 or node.transfer_seconds_per_row == 0.0:
        return share
    moved = prob.add_variable(f"moved_{i}", 0, 1)
    prob += moved >= share - home, f"moved_{i}_rows"
    return moved
