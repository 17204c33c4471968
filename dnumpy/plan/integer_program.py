"""The integer program: continuous shares, binary use of a node, least makespan.

::

    minimise    T + epsilon * sum use_n
    subject to  sum share_n = 1
                share_n <= room_n * use_n                       memory, and what T leaves time for
                moved_n >= share_n - home_n                     rows that must be brought in
                T >= fixed_n use_n + row_n share_n + transfer_n moved_n

Shares instead of whole rows, because HiGHS needs seconds and ends 20 % off with integer rows over
16 nodes. A known split bounds T, which makes ``room_n`` tight. Time is counted in millionths of
that known makespan: microseconds for a phase of a second. In seconds HiGHS drops coefficients below
1e-9 and calls 2.35 times the optimum optimal; in plain microseconds it calls phases of more than
ten minutes infeasible. PuLP is imported on first use. Runs on PuLP 3.3 and 4.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from dnumpy.plan.watchdog import within
from dnumpy.plan.waterfill import rows_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pulp

    from dnumpy.plan.problem import Problem
    from dnumpy.plan.watchdog import Solve

UNITS_PER_MAKESPAN = 1e6
LEAST_SHARE = 1e-6  # a node that cannot do more than this in time stays out
SLACK = 1.01  # above the bound, so that rounding never makes the known split infeasible
GAP = 1e-5
USE_PENALTY = 1e-5  # of the makespan, for using all nodes: among equals, fewer


@dataclass(frozen=True, slots=True)
class Shares:
    """The solver's answer: a share per node (None when it found none) and the time it took."""

    shares: tuple[float, ...] | None
    solver_seconds: float


def solve_shares(
    problem: Problem,
    bound_seconds: float,
    support: Sequence[bool] | None = None,
    time_limit_seconds: float = 2.0,
) -> Shares:
    """Return the shares of the least makespan not above ``bound_seconds``.

    With ``support`` the binaries are fixed and a linear program is left.
    """
    started = perf_counter()
    shares = within(
        time_limit_seconds, lambda solve: _solved(solve, problem, bound_seconds, support)
    )
    return Shares(shares, perf_counter() - started)


def _solved(
    solve: Solve[tuple[float, ...]],
    problem: Problem,
    bound_seconds: float,
    support: Sequence[bool] | None,
) -> tuple[float, ...] | None:
    import pulp

    prob = pulp.LpProblem("rows", pulp.LpMinimize)
    shares = _write(prob, problem, bound_seconds, support)
    if all(share is None for share in shares) or not solve.solve(prob, GAP):
        return None
    values = tuple(_value(share) for share in shares)
    return values if sum(values) > 0 else None


def _value(share: pulp.LpVariable | None) -> float:
    """Return a variable's value; a node left out of the program has share 0."""
    if share is None or share.varValue is None or share.varValue < LEAST_SHARE:
        return 0.0
    return float(share.varValue)


def _write(
    prob: pulp.LpProblem,
    problem: Problem,
    bound_seconds: float,
    support: Sequence[bool] | None,
) -> list[pulp.LpVariable | None]:
    """Write the program into ``prob`` and return each node's share, None for one left out."""
    import pulp

    units_per_second = UNITS_PER_MAKESPAN / max(bound_seconds, 1e-9)
    makespan = prob.add_variable("makespan", 0, UNITS_PER_MAKESPAN * SLACK)
    shares: list[pulp.LpVariable | None] = []
    uses: list[pulp.LpVariable] = []
    rooms = _rooms(problem, bound_seconds)
    for i, node in enumerate(problem.nodes):
        room = rooms[i]
        if room < LEAST_SHARE or (support is not None and not support[i]):
            shares.append(None)
            continue
        share = prob.add_variable(f"share_{i}", 0, room)
        shares.append(share)
        use = 1
        if support is None:
            use = prob.add_variable(f"use_{i}", cat="Binary")
            prob += share <= room * use, f"room_{i}"
            uses.append(use)
        prob += (
            makespan
            >= node.fixed_seconds * units_per_second * use
            + node.seconds_per_row * problem.spec.rows * units_per_second * share
            + _transfer(prob, problem, i, share, units_per_second),
            f"finish_{i}",
        )
    prob += makespan + USE_PENALTY * UNITS_PER_MAKESPAN / len(problem.nodes) * pulp.lpSum(uses)
    prob += pulp.lpSum(share for share in shares if share is not None) == 1, "all_rows"
    return shares


def _rooms(problem: Problem, bound_seconds: float) -> list[float]:
    """Return the largest share of each node that its memory and the known makespan allow."""
    deadline = bound_seconds * SLACK
    return [
        min(cap, rows_within(deadline, node, at_home)) / problem.spec.rows
        for node, cap, at_home in zip(problem.nodes, problem.caps_rows, problem.home, strict=True)
    ]


def _transfer(
    prob: pulp.LpProblem,
    problem: Problem,
    i: int,
    share: pulp.LpVariable,
    units_per_second: float,
) -> pulp.LpAffineExpression:
    """Return the time of bringing in what exceeds the share at home; all of it, if none is."""
    cost = problem.nodes[i].transfer_seconds_per_row * problem.spec.rows * units_per_second
    home = problem.home[i] / problem.spec.rows
    if home == 0.0 or cost == 0.0:
        return cost * share
    moved = prob.add_variable(f"moved_{i}", 0, 1)
    prob += moved >= share - home, f"moved_{i}_rows"
    return cost * moved
