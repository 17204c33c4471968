"""All phases of a program placed together: heuristics and models compete, the simulator decides.

All of the planning together, from its start, takes at most ``min(2 s, 5 %)`` of what the best plain
plan predicts, and no more than a program of its phases and nodes gains from (0.15 s up to 136
phases times nodes). Below 20 ms no search pays: the best plain plan stands. Every candidate, and
every answer that a solver gives when its time is over, is scored by the event simulator, and the
best one wins. Many nodes are planned for in groups (:mod:`~dnumpy.plan.classes`), and simulated one
by one only where there is time for it.
"""

from __future__ import annotations

from dataclasses import replace
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from dnumpy.errors import PlanInfeasible
from dnumpy.plan import pieces
from dnumpy.plan.classes import CLASSES_FROM_NODES, ever_held, in_groups, simulation_seconds
from dnumpy.plan.compete import cells, greedy_plan, search, starts
from dnumpy.plan.dag import ProgramPlan, require
from dnumpy.plan.infeasible import readable_bytes
from dnumpy.plan.known import KnownPlans
from dnumpy.plan.search import Judge
from dnumpy.plan.templates import caps, make_templates, needed_bytes, plain_plans
from dnumpy.plan.throughput import in_flight

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.classes import Grouped
    from dnumpy.plan.dag import Objective, Placement, Program
    from dnumpy.plan.search import Found

SEARCH_FROM_SECONDS = 0.020
MOST_BUDGET_SECONDS = 2.0
BUDGET_PART = 0.05
MOST_SIMULATIONS = 4000
GROUPS_PART = 0.6  # of the time where there are many nodes; the rest simulates all of them
GREEDY_PART = 0.4  # of the time for a long program, for one plan of the whole
PLAIN_SECONDS = 0.01  # for the plain plans, however soon they end
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
        How long to search beyond the plain plans; by default all of the planning takes 5 % of what
        these predict, at most 2 s (0.15 s for small programs), and there is no search where they
        predict less than 20 ms.
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
    clock = _Clock(budget_seconds)
    asked = (epoch, budget_seconds, objective)
    known = _known.find(program, asked)
    if known is not None:
        return known
    program.verify()
    require(objective in OBJECTIVES, f"unknown objective {objective}")
    plan = _decide(program, clock, objective)
    _known.keep(program, asked, plan)
    return plan


class _Clock:
    """When the planning of a program has to end, all of its parts together."""

    def __init__(self, asked: float | None) -> None:
        self.started = perf_counter()
        self.asked = asked
        self.part = 1.0  # of the time, for the search

    def deadline(self, judge: Judge, program: Program) -> float:
        """Return the end of the search: as asked, else by what the best plan so far predicts."""
        if judge.best is None or judge.best.score[0]:  # before a refusal, everything is tried
            return perf_counter() + MOST_BUDGET_SECONDS
        if self.asked is not None:
            return perf_counter() + self.asked
        enough = max(ENOUGH_SECONDS, ENOUGH_SECONDS_PER_CELL * cells(program))
        whole = default_budget(judge.best.timeline.makespan)
        return self.started + self.part * min(enough, whole)


def _decide(program: Program, clock: _Clock, objective: Objective) -> ProgramPlan:
    """Return the plan over groups of equal nodes where there are many, else over the nodes."""
    grouped = in_groups(program) if len(program.nodes) >= CLASSES_FROM_NODES else None
    if grouped is None:
        return _over_nodes(program, clock, objective)
    try:
        clock.part = GROUPS_PART
        plan = _over_nodes(grouped.program, clock, objective)
    except PlanInfeasible:  # what groups cannot hold, uneven rows may
        return _over_nodes(program, clock, objective)
    expanded = _expanded(grouped, program, plan, clock, objective)
    return expanded or _over_nodes(program, clock, objective)


def _expanded(
    grouped: Grouped, program: Program, plan: ProgramPlan, clock: _Clock, objective: Objective
) -> ProgramPlan | None:
    """Return the plan of groups as one of their nodes; None where that does not fit.

    Where there is time, all nodes are simulated, and the plain plans are rivals.
    """
    how = f"{plan.how} of groups"
    placements = grouped.expand(program, plan.placements)
    held = ever_held(program, placements) * plan.in_flight
    fits = all(most <= node.memory_bytes for most, node in zip(held, program.nodes, strict=True))
    until = clock.started + default_budget(plan.predicted_seconds)
    took = simulation_seconds(program, placements)
    if fits and perf_counter() + took > until:
        return replace(grouped.expanded_plan(program, plan), how=how)
    judge = Judge(program, MOST_SIMULATIONS, objective)
    judge.score(placements, how)
    judge.deadline = until - took if fits else inf
    for rival, rule in plain_plans(program) if not judge.spent else ():
        if not judge.spent:
            judge.score(rival, rule)
    return None if judge.chosen().score[0] else _as_plan(judge, plan.solver_seconds)


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


def _over_nodes(program: Program, clock: _Clock, objective: Objective) -> ProgramPlan:
    """Return the best of the plans that are found in time.

    The plain ones come first: they say how much time there is.
    """
    judge = Judge(program, MOST_SIMULATIONS, objective)
    for placements, how in plain_plans(program):
        if not judge.spent:
            judge.score(placements, how)
            judge.deadline = max(clock.deadline(judge, program), clock.started + PLAIN_SECONDS)
    judge.deadline = clock.deadline(judge, program)
    if len(program.asks) >= pieces.PIECES_FROM_PHASES and objective == "latency":
        _long(program, judge)
    else:
        _at_once(program, judge)
    best = judge.chosen()
    if best.score[0] > 0:
        raise _refused(_too_much(program, best), best.score[0])
    return _as_plan(judge, judge.solver_seconds)


def _long(program: Program, judge: Judge) -> None:
    """Let plans made piece by piece compete; all at once where no plain plan fits."""
    if judge.best is None:
        _at_once(program, judge)
        return
    left = judge.deadline - perf_counter()
    if left > 0:
        greedy_plan(program, judge, GREEDY_PART * left)
        for placements in pieces.in_pieces(program, judge):
            judge.score(placements, "pieces")
    if judge.chosen().score[0]:
        judge.deadline = perf_counter() + MOST_BUDGET_SECONDS
        _at_once(program, judge)


def _at_once(program: Program, judge: Judge) -> None:
    """Let whole plans compete until the judge's deadline."""
    known = judge.best
    if known is not None and judge.spent:
        return
    templates = make_templates(program, deadline=judge.deadline if known else inf)
    if known is None:
        _require_templates(program, templates)
    else:
        for options, placement in zip(templates, known.placements, strict=True):
            options.setdefault(placement, known.how)
    for placements, how in starts(program, templates):
        if judge.best is None or not judge.spent:
            judge.score(placements, how)
    if not judge.spent:
        search(program, [list(options) for options in templates], judge)


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
            raise _refused(msg, missing)


def _refused(text: str, short_bytes: float) -> PlanInfeasible:
    error = PlanInfeasible(text)
    error.short_bytes = short_bytes
    return error


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
