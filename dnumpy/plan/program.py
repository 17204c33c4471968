"""Whole rows per node for one phase: candidates compete, the judge decides."""

from __future__ import annotations

import sys
from math import inf
from typing import TYPE_CHECKING

from dnumpy.plan.cache import PlanCache, plan_key
from dnumpy.plan.candidates import fits, heuristic_candidates, stays
from dnumpy.plan.infeasible import require_fit
from dnumpy.plan.integer_program import solve_shares
from dnumpy.plan.model import Candidate, Plan
from dnumpy.plan.problem import make_problem
from dnumpy.plan.rounding import largest_remainder
from dnumpy.plan.simulate import makespan, node_seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.model import NodeRate, PhaseSpec
    from dnumpy.plan.problem import Problem

SOLVER_BELOW_SECONDS = 0.020
FIRST_SOLVE_BELOW_SECONDS = 1.0  # importing PuLP takes 0.1 to 0.2 s, once in a process
SUPPORT_FROM_NODES = 32  # above, water-filling says which nodes take part
SAME_MAKESPAN = 1e-3  # splits this close are equal, and fewer nodes win
PREFERENCE = {"single": 0, "current": 1, "milp": 2, "waterfill": 3, "even": 4}

_cache: PlanCache[Candidate] = PlanCache()


def clear_plan_cache() -> None:
    """Forget all decided splits."""
    _cache.clear()


def plan_rows(
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    granule: int = 1,
    current: Sequence[tuple[str, int]] | None = None,
    solver_below_seconds: float | None = None,
) -> Plan:
    """Return the split of the phase's rows with the least predicted makespan.

    Parameters
    ----------
    spec : PhaseSpec
    nodes : sequence of NodeRate
        In the order in which their row ranges follow one another.
    granule : int
        Ranges are cut at multiples of this many rows.
    current : sequence of (node, rows), optional
        Where the rows lie now; only rows that change their node then cost a transfer. Without it
        every row costs one.
    solver_below_seconds : float, optional
        The solver is not asked where the best single node predicts less than this; by default 0.02,
        and 1.0 as long as this process has not imported PuLP.

    Raises
    ------
    dnumpy.errors.PlanInfeasible
        When the rows do not fit in the nodes' memory.
    """
    spec.verify()
    for node in nodes:
        node.verify()
    here = aligned(current, nodes, spec.rows)
    below = solver_threshold() if solver_below_seconds is None else solver_below_seconds
    key = plan_key(spec, nodes, granule, here, below)
    known = _cache.find(key)
    if known is not None and fits(known, spec, nodes, here):
        return judged(known, spec, nodes, here)
    plan = _decide(make_problem(spec, nodes, granule, here), below)
    _cache.keep(key, Candidate(plan.how, plan.row_counts))
    return plan


def solver_threshold() -> float:
    """Return the predicted seconds from which asking the solver is worth its time."""
    return SOLVER_BELOW_SECONDS if "pulp" in sys.modules else FIRST_SOLVE_BELOW_SECONDS


def aligned(
    current: Sequence[tuple[str, int]] | None, nodes: Sequence[NodeRate], rows: int
) -> tuple[int, ...] | None:
    """Return the current rows in the order of the nodes.

    None where they are not a partition of this phase over nodes in this order (another extent, a
    lost node): then everything must move.
    """
    if current is None or sum(n for _, n in current) != rows:
        return None
    held = {name: n for name, n in current if n}
    in_order = [node.node for node in nodes if node.node in held]
    if in_order != list(held):
        return None
    return tuple(held.get(node.node, 0) for node in nodes)


def judged(
    candidate: Candidate,
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    current: Sequence[int] | None,
    solver_seconds: float = 0.0,
) -> Plan:
    """Return the candidate as a plan, with what the judge predicts for it."""
    seconds = node_seconds(candidate.rows, nodes, current)
    stay = stays(candidate.rows, current)
    return Plan(
        phase=spec.name,
        rows=tuple((node.node, n) for node, n in zip(nodes, candidate.rows, strict=True)),
        predicted_seconds=max(seconds),
        predicted_node_seconds=seconds,
        peak_bytes=tuple(spec.bytes_on_node(n, stay=stay) for n in candidate.rows),
        how=candidate.how,
        solver_seconds=solver_seconds,
    )


def _decide(problem: Problem, solver_below_seconds: float) -> Plan:
    spec, nodes, current = problem.spec, problem.nodes, problem.current
    if nodes and spec.rows == 0:
        return judged(Candidate("single", (0,) * len(nodes)), spec, nodes, None)
    candidates = heuristic_candidates(problem)
    if not candidates:
        require_fit(problem)
    singles = [makespan(c.rows, nodes, current) for c in candidates if c.how == "single"]
    solver_seconds = 0.0
    roomy = sum(problem.caps) >= problem.granules  # else there is only where the rows lie now
    if roomy and len(nodes) > 1 and min(singles, default=inf) >= solver_below_seconds:
        solved, solver_seconds = solved_by_program(problem, candidates)
        candidates += solved
    best = choose(candidates, nodes, current)
    return judged(best, spec, nodes, current, solver_seconds)


def solved_by_program(
    problem: Problem, known: Sequence[Candidate]
) -> tuple[list[Candidate], float]:
    """Return the integer program's split (none where it found none) and the solver's seconds.

    The best known split bounds the makespan; with many nodes the water-filling one also says which
    nodes take part.
    """
    rivals = list(known)
    support = None
    if len(problem.nodes) > SUPPORT_FROM_NODES:
        rivals = [c for c in known if c.how == "waterfill"]
        support = [n > 0 for n in rivals[0].rows]
    bound = min(makespan(c.rows, problem.nodes, problem.current) for c in rivals)
    answer = solve_shares(problem, bound, support)
    if answer.shares is None:
        return [], answer.solver_seconds
    counts = largest_remainder(answer.shares, problem.granules, problem.caps, problem.speeds)
    if counts is None:
        return [], answer.solver_seconds
    return [Candidate("milp", problem.rows_of(counts))], answer.solver_seconds


def choose(
    candidates: Sequence[Candidate], nodes: Sequence[NodeRate], current: Sequence[int] | None
) -> Candidate:
    """Return the candidate that the judge finds fastest; among equals the one with fewest nodes."""
    scored = [(makespan(c.rows, nodes, current), c) for c in candidates]
    limit = min(seconds for seconds, _ in scored) * (1 + SAME_MAKESPAN)
    equals = [
        (c.nodes_used, PREFERENCE[c.how], s, i) for i, (s, c) in enumerate(scored) if s <= limit
    ]
    return candidates[min(equals)[3]]
