"""Whole rows per node for one phase: candidates compete, the judge decides."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dnumpy.plan.cache import PlanCache, plan_key
from dnumpy.plan.candidates import heuristic_candidates
from dnumpy.plan.infeasible import require_fit
from dnumpy.plan.integer_program import solve_shares
from dnumpy.plan.model import Candidate, Plan
from dnumpy.plan.rounding import largest_remainder
from dnumpy.plan.simulate import makespan, node_seconds
from dnumpy.plan.waterfill import caps_in_granules, granule_count, rows_of_granules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.model import NodeRate, PhaseSpec

SOLVER_BELOW_SECONDS = 0.020
SUPPORT_FROM_NODES = 32  # above, water-filling says which nodes take part
SAME_MAKESPAN = 1e-3  # splits this close are equal, and fewer nodes win
PREFERENCE = {"single": 0, "current": 1, "milp": 2, "waterfill": 3, "even": 4}

_cache = PlanCache()


def clear_plan_cache() -> None:
    """Forget all decided splits."""
    _cache.clear()


def plan_rows(
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    granule: int = 1,
    current: Sequence[tuple[str, int]] | None = None,
    solver_below_seconds: float = SOLVER_BELOW_SECONDS,
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
    solver_below_seconds : float
        The solver is not asked where the best single node predicts less than this.

    Raises
    ------
    dnumpy.errors.PlanInfeasible
        When the rows do not fit in the nodes' memory.
    """
    spec.verify()
    for node in nodes:
        node.verify()
    here = aligned(current, nodes, spec.rows)
    key = plan_key(spec, nodes, granule, here, solver_below_seconds)
    known = _cache.find(key)
    if known is not None and _fits(known, spec, nodes):
        return judged(known, spec, nodes, here)
    plan = _decide(spec, nodes, granule, here, solver_below_seconds)
    _cache.keep(key, Candidate(plan.how, plan.row_counts))
    return plan


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
    return Plan(
        phase=spec.name,
        rows=tuple((node.node, n) for node, n in zip(nodes, candidate.rows, strict=True)),
        predicted_seconds=max(seconds),
        predicted_node_seconds=seconds,
        peak_bytes=tuple(spec.bytes_on_node(n) for n in candidate.rows),
        how=candidate.how,
        solver_seconds=solver_seconds,
    )


def _fits(candidate: Candidate, spec: PhaseSpec, nodes: Sequence[NodeRate]) -> bool:
    return all(
        spec.bytes_on_node(n) <= node.memory_bytes
        for n, node in zip(candidate.rows, nodes, strict=True)
    )


def _decide(
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    granule: int,
    current: tuple[int, ...] | None,
    solver_below_seconds: float,
) -> Plan:
    if nodes and spec.rows == 0:
        return judged(Candidate("single", (0,) * len(nodes)), spec, nodes, None)
    caps = caps_in_granules(spec, nodes, granule)
    require_fit(spec, nodes, caps, granule)
    candidates = heuristic_candidates(spec, nodes, caps, granule, current)
    singles = [makespan(c.rows, nodes, current) for c in candidates if c.how == "single"]
    solver_seconds = 0.0
    if len(nodes) > 1 and min(singles, default=float("inf")) >= solver_below_seconds:
        solved, solver_seconds = _solved(spec, nodes, caps, granule, current, candidates)
        candidates += solved
    best = choose(candidates, nodes, current)
    return judged(best, spec, nodes, current, solver_seconds)


def _solved(
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    caps: Sequence[int],
    granule: int,
    current: tuple[int, ...] | None,
    known: Sequence[Candidate],
) -> tuple[list[Candidate], float]:
    """Return the integer program's split (none where it found none) and the solver's seconds."""
    bound, best = min(((makespan(c.rows, nodes, current), c) for c in known), key=lambda p: p[0])
    many = len(nodes) > SUPPORT_FROM_NODES
    filled = next(c for c in known if c.how == "waterfill") if many else best
    support = [n > 0 for n in filled.rows] if many else None
    caps_rows = [min(cap * granule, spec.rows) for cap in caps]
    if many:
        bound = makespan(filled.rows, nodes, current)
    answer = solve_shares(spec, nodes, caps_rows, current, bound, support)
    if answer.shares is None:
        return [], answer.solver_seconds
    total = granule_count(spec.rows, granule)
    speeds = [-node.seconds_per_row for node in nodes]
    counts = largest_remainder(answer.shares, total, caps, speeds)
    rows = rows_of_granules(counts, spec.rows, granule)
    return [Candidate("milp", rows)], answer.solver_seconds


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


def named(plan: Plan, phase: str) -> Plan:
    """Return the same decision for another phase."""
    return replace(plan, phase=phase)
