"""All phases of a program placed together: heuristics and models compete, the simulator decides.

The budget is ``min(2 s, 5 %)`` of what the best heuristic plan predicts, and no more than a program
of its phases and nodes gains from (0.15 s up to 136 phases times nodes). Below 20 ms no search
pays: the heuristic plan stands. Every candidate, and every answer that a solver gives when its time
is over, is scored by the event simulator, and the best one wins.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from dnumpy.errors import PlanInfeasible
from dnumpy.plan import pieces
from dnumpy.plan.classes import CLASSES_FROM_NODES, in_groups
from dnumpy.plan.compete import cells, greedy_plan, search, starts
from dnumpy.plan.dag import ProgramPlan, require
from dnumpy.plan.infeasible import readable_bytes
from dnumpy.plan.known import KnownPlans
from dnumpy.plan.search import Judge
from dnumpy.plan.templates import caps, make_templates, needed_bytes, plain_plans
from dnumpy.plan.throughput import in_flight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.dag import Objective, Placement, Program
    from dnumpy.plan.search import Found

SEARCH_FROM_SECONDS = 0.020
MOST_BUDGET_SECONDS = 2.0
BUDGET_PART = 0.05
MOST_SIMULATIONS = 4000
GREEDY_PART = 0.4  # of the time for a long program, for one plan of the whole
ENOUGH_SECONDS = 0.15  # measured: a longer search gains less than it takes, but for large programs
ENOUGH_SECONDS_PER_CELL = 0.0011

OBJECTIVES: tuple[Objective, ...] = ("latency", "throughput")

_known = KnownPlans()


def clear_program_cache() -> None:
    """Forget all plans of programs."""
    _known.clear()


def plan_program(
    program: Program,
    budget_seconds: float | None = None,
    *,
    epoch: int = 0,
    objective: Objective = "latency",
) -> ProgramPlan:
    """Return placements of all phases that the event simulator finds best.

    Parameters
    ----------
    program : Program
    budget_seconds : float, optional
        How long to search beyond the heuristics; by default 5 % of what these predict, at most 2 s
        (0.15 s for small programs), and nothing where they predict less than 20 ms.
    epoch : int
        Of the capabilities. Known plans are for one epoch; within it, one is answered for programs
        whose times differ by no more than 10 % and whose nodes have room for it now.
    objective : {"latency", "throughput"}
        Whether one run shall end soon, or many runs started one after another shall end often:
        then the busiest node or port has least to do, and the plan has its ``period_seconds`` and
        how many runs are ``in_flight``, all of which fit in the memory together.

    Raises
    ------
    dnumpy.errors.PlanInfeasible
        No plan was found that fits in the nodes' memory.
    """
    asked = (epoch, budget_seconds, objective)
    known = _known.find(program, asked)
    if known is not None:
        return known
    program.verify()
    require(objective in OBJECTIVES, f"unknown objective {objective}")
    plan = _decide(program, budget_seconds, objective)
    _known.keep(program, asked, plan)
    return plan


def _decide(program: Program, budget_seconds: float | None, objective: Objective) -> ProgramPlan:
    """Return the plan over groups of equal nodes where there are many, else over the nodes."""
    grouped = in_groups(program) if len(program.nodes) >= CLASSES_FROM_NODES else None
    if grouped is not None:
        try:
            plan = _over_nodes(grouped.program, budget_seconds, objective)
        except PlanInfeasible:  # what groups cannot hold, uneven rows may
            return _over_nodes(program, budget_seconds, objective)
        judge = Judge(program, MOST_SIMULATIONS, objective)
        judge.score(grouped.expand(program, plan.placements), f"{plan.how} of groups")
        for placements, how in plain_plans(program):
            judge.score(placements, how)
        if not judge.chosen().score[0]:
            return _as_plan(judge, plan.solver_seconds)
    return _over_nodes(program, budget_seconds, objective)


def _as_plan(judge: Judge, solver_seconds: float) -> ProgramPlan:
    """Return the judge's best as a plan."""
    found = judge.settled()
    line = found.timeline
    period, runs = 0.0, 1
    if judge.objective == "throughput":
        period = found.score[1]
        runs = in_flight(line, period)
    return ProgramPlan(
        found.placements,
        line.spans,
        line.makespan,
        tuple(runs * peak for peak in line.peak_bytes),
        found.how,
        solver_seconds,
        period,
        runs,
        tuple(runs * held for held in line.ever_held_bytes),
    )


def _over_nodes(
    program: Program, budget_seconds: float | None, objective: Objective
) -> ProgramPlan:
    if len(program.asks) >= pieces.PIECES_FROM_PHASES and objective == "latency":
        long = _long(program, budget_seconds)
        if long is not None:
            return long
    return _at_once(program, budget_seconds, objective)


def _long(program: Program, budget_seconds: float | None) -> ProgramPlan | None:
    """Return the best of the plain plans and those made piece by piece; None if none fits."""
    judge = Judge(program, MOST_SIMULATIONS)
    for placements, how in plain_plans(program):
        judge.score(placements, how)
    if judge.best is None:
        return None
    budget = _budget(program, judge, budget_seconds)
    if budget > 0:
        judge.deadline = perf_counter() + budget
        greedy_plan(program, judge, GREEDY_PART * budget)
        for placements in pieces.in_pieces(program, judge):
            judge.score(placements, "pieces")
    return None if judge.chosen().score[0] else _as_plan(judge, judge.solver_seconds)


def _budget(program: Program, judge: Judge, asked: float | None) -> float:
    """Return how long to search: as asked, else by what the best plan so far predicts."""
    if judge.chosen().score[0] > 0:  # before a program is refused, everything is tried
        return MOST_BUDGET_SECONDS
    if asked is not None:
        return asked
    enough = max(ENOUGH_SECONDS, ENOUGH_SECONDS_PER_CELL * cells(program))
    return min(enough, default_budget(judge.chosen().timeline.makespan))


def _at_once(program: Program, budget_seconds: float | None, objective: Objective) -> ProgramPlan:
    templates = make_templates(program)
    _require_templates(program, templates)
    choices = [list(options) for options in templates]
    judge = Judge(program, MOST_SIMULATIONS, objective)
    for placements, how in starts(program, templates):
        judge.score(placements, how)
    budget = _budget(program, judge, budget_seconds)
    if budget > 0:
        judge.deadline = perf_counter() + budget
        search(program, choices, judge)
    best = judge.chosen()
    if best.score[0] > 0:
        raise PlanInfeasible(_too_much(program, best))
    return _as_plan(judge, judge.solver_seconds)


def default_budget(predicted_seconds: float) -> float:
    """Return how long a search may take for a program of that many predicted seconds."""
    if predicted_seconds < SEARCH_FROM_SECONDS:
        return 0.0
    return min(MOST_BUDGET_SECONDS, BUDGET_PART * predicted_seconds)


def _require_templates(program: Program, templates: Sequence[dict[Placement, str]]) -> None:
    """Raise PlanInfeasible for the first phase that fits nowhere even alone."""
    for v, (ask, options) in enumerate(zip(program.asks, templates, strict=True)):
        if not options:
            per_row, fixed = needed_bytes(program, v)
            missing = (ask.granules - sum(caps(program, v))) * ask.granule * per_row
            msg = (
                f"phase {ask.name} needs {readable_bytes(ask.rows * per_row)} and "
                f"{readable_bytes(fixed)} on each node; the nodes offer "
                f"{readable_bytes(sum(node.memory_bytes for node in program.nodes))}. "
                f"Short by {readable_bytes(missing)}."
            )
            raise PlanInfeasible(msg)


def _too_much(program: Program, best: Found) -> str:
    """Return what the plan that comes nearest holds too much."""
    pairs = zip(best.timeline.peak_bytes, program.nodes, strict=True)
    over = [
        f"{node.name} {readable_bytes(peak)} of {readable_bytes(node.memory_bytes)}"
        for peak, node in pairs
        if peak > node.memory_bytes
    ]
    return (
        f"no placement of the {len(program.asks)} phases fits together. The nearest holds "
        f"{', '.join(over)}. Short by {readable_bytes(best.score[0])}."
    )
