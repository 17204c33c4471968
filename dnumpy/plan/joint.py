"""All phases of a program placed together: heuristics and models compete, the simulator decides.

The budget is ``min(2 s, 5 %)`` of what the best heuristic plan predicts, and no more than a program
of its phases and nodes gains from (0.15 s up to 136 phases times nodes). Below 20 ms no search
pays: the heuristic plan stands. Every candidate, and every answer that a solver gives when its time
is over, is scored by the event simulator, and the best one wins.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING

from dnumpy.errors import PlanInfeasible
from dnumpy.plan.classes import CLASSES_FROM_NODES, in_groups
from dnumpy.plan.dag import ProgramPlan
from dnumpy.plan.infeasible import readable_bytes
from dnumpy.plan.known import KnownPlans
from dnumpy.plan.rows import solve_rows
from dnumpy.plan.search import Judge, improve, shaken
from dnumpy.plan.structure import make_tables, phase_seconds, solve_structure
from dnumpy.plan.templates import caps, groups, make_templates, needed_bytes, plain_plans

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.dag import Placement, Program
    from dnumpy.plan.search import Found, Placements
    from dnumpy.plan.structure import Tables

SEARCH_FROM_SECONDS = 0.020
MOST_BUDGET_SECONDS = 2.0
BUDGET_PART = 0.05
MOST_SIMULATIONS = 4000
STARTS_IMPROVED = 6
SHAKES = 400
ENOUGH_SECONDS = 0.15  # measured: a longer search gains less than it takes, but for large programs
ENOUGH_SECONDS_PER_CELL = 0.0011
SOLVER_SECONDS_PER_CELL = 0.0006
SEED = 0
MOST_IN_MODEL = 8  # templates per phase
TABLES_PART = 0.4  # of the time, for the tables that the models need
SOLVER_PART = 0.5  # of the time left, for each of the two models
LEAST_SOLVE_SECONDS = 0.005  # less time than this is not worth writing a model down

_known = KnownPlans()


def clear_program_cache() -> None:
    """Forget all plans of programs."""
    _known.clear()


def plan_program(
    program: Program, budget_seconds: float | None = None, *, epoch: int = 0
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
        whose times differ by no more than 5 % and whose nodes have room for it now.

    Raises
    ------
    dnumpy.errors.PlanInfeasible
        No plan was found that fits in the nodes' memory.
    """
    asked = (epoch, budget_seconds)
    known = _known.find(program, asked)
    if known is not None:
        return known
    program.verify()
    plan = _decide(program, budget_seconds)
    _known.keep(program, asked, plan)
    return plan


def _decide(program: Program, budget_seconds: float | None) -> ProgramPlan:
    """Return the plan over groups of equal nodes where there are many, else over the nodes."""
    grouped = in_groups(program) if len(program.nodes) >= CLASSES_FROM_NODES else None
    if grouped is not None:
        try:
            plan = _over_nodes(grouped.program, budget_seconds)
        except PlanInfeasible:  # what groups cannot hold, uneven rows may
            return _over_nodes(program, budget_seconds)
        judge = Judge(program, MOST_SIMULATIONS)
        judge.score(grouped.expand(program, plan.placements), f"{plan.how} of groups")
        for placements, how in plain_plans(program):
            judge.score(placements, how)
        if not judge.chosen().score[0]:
            return _as_plan(judge.chosen(), plan.solver_seconds)
    return _over_nodes(program, budget_seconds)


def _as_plan(found: Found, solver_seconds: float) -> ProgramPlan:
    line = found.timeline
    return ProgramPlan(
        found.placements, line.spans, line.makespan, line.peak_bytes, found.how, solver_seconds
    )


def _over_nodes(program: Program, budget_seconds: float | None) -> ProgramPlan:
    templates = make_templates(program)
    _require_templates(program, templates)
    choices = [list(options) for options in templates]
    judge = Judge(program, MOST_SIMULATIONS)
    for placements, how in _starts(program, templates):
        judge.score(placements, how)
    solver_seconds = 0.0
    if budget_seconds is None:
        enough = max(ENOUGH_SECONDS, ENOUGH_SECONDS_PER_CELL * cells(program))
        budget = min(enough, default_budget(judge.chosen().score[1]))
    else:
        budget = budget_seconds
    if judge.chosen().score[0] > 0:  # before a program is refused, everything is tried
        budget = MOST_BUDGET_SECONDS
    if budget > 0:
        judge.deadline = perf_counter() + budget
        solver_seconds = _search(program, choices, judge)
    best = judge.chosen()
    if best.score[0] > 0:
        raise PlanInfeasible(_too_much(program, best))
    return _as_plan(best, solver_seconds)


def cells(program: Program) -> int:
    """Return phases times nodes: what tables, models and simulations grow with."""
    return len(program.asks) * len(program.nodes)


def default_budget(predicted_seconds: float) -> float:
    """Return how long a search may take for a program of that many predicted seconds."""
    if predicted_seconds < SEARCH_FROM_SECONDS:
        return 0.0
    return min(MOST_BUDGET_SECONDS, BUDGET_PART * predicted_seconds)


def _starts(
    program: Program, templates: Sequence[dict[Placement, str]]
) -> list[tuple[Placements, str]]:
    """Return whole plans by one rule each: a phase that the rule has nothing for takes its first.

    And for each group of phases that read one another's rows its common placements.
    """
    common = Counter(how for options in templates for how in options.values())
    plans = []
    for how in common:
        picks = [
            next((p for p, why in options.items() if why == how), next(iter(options)))
            for options in templates
        ]
        plans.append((tuple(picks), how))
    shared = [next(iter(options)) for options in templates]
    for members in groups(program):
        for v in members:
            both = [p for p in templates[v] if all(p in templates[w] for w in members)]
            window = [p for p in both if templates[v][p] == "window"]
            if window or both:
                shared[v] = (window or both)[0]
    plans.append((tuple(shared), "window"))
    return plans


def _search(program: Program, choices: list[list[Placement]], judge: Judge) -> float:
    """Let greedy, model W and local search compete; return the seconds in the solver."""
    few = _most_promising(program, choices, judge.chosen().placements)
    left = judge.deadline - perf_counter()
    tables = make_tables(program, few, perf_counter() + TABLES_PART * left)
    solver_seconds = 0.0
    if tables is not None:
        judge.score(greedy(program, few, tables), "greedy")
        solver_seconds += _structure(program, few, tables, judge)
    solver_seconds += _rows(program, judge)
    starts = sorted(judge.seen.values(), key=lambda found: found.score)
    for start in starts[:STARTS_IMPROVED]:
        improve(judge, start, choices)
    rng = Random(SEED)  # noqa: S311 - the same plan for the same program
    for _ in range(SHAKES if any(ask.pinned is None for ask in program.asks) else 0):
        if judge.spent:
            break
        improve(judge, judge.score(shaken(judge, choices, rng), "local search"), choices)
    return solver_seconds


def _most_promising(
    program: Program, choices: list[list[Placement]], known: Placements
) -> list[list[Placement]]:
    """Return per phase the templates that the models choose among: the known and the fastest."""
    few = []
    for v, options in enumerate(choices):
        others = [placement for placement in options if placement != known[v]]
        others.sort(key=lambda placement, v=v: phase_seconds(program, v, placement))  # type: ignore[misc]
        few.append([known[v], *others[: MOST_IN_MODEL - 1]])
    return few


def solver_limit(program: Program, judge: Judge) -> float:
    """Return how long a model may be solved: a part of the time left, less for small programs.

    Measured: beyond this a solver proves more than it finds.
    """
    left = judge.deadline - perf_counter()
    return min(SOLVER_PART * left, SOLVER_SECONDS_PER_CELL * cells(program))


def _structure(
    program: Program, choices: list[list[Placement]], tables: Tables, judge: Judge
) -> float:
    """Let model W propose a plan; return the seconds in the solver."""
    left = solver_limit(program, judge)
    if left < LEAST_SOLVE_SECONDS:
        return 0.0
    known = judge.chosen().timeline.makespan
    picked, seconds = solve_structure(program, choices, tables, known, left)
    if picked is not None:
        judge.score(tuple(choices[v][k] for v, k in enumerate(picked)), "structure")
    return seconds


def _rows(program: Program, judge: Judge) -> float:
    """Let model R propose rows for the best plan so far; return the seconds in the solver."""
    left = solver_limit(program, judge)
    if left < LEAST_SOLVE_SECONDS:
        return 0.0
    best = judge.chosen()
    placements, seconds = solve_rows(program, best.placements, best.timeline.makespan, left)
    if placements is not None:
        judge.score(placements, "rows")
    return seconds


def greedy(program: Program, choices: Sequence[Sequence[Placement]], tables: Tables) -> Placements:
    """Return for each phase in turn the template that ends it first, by the tables."""
    ends: list[float] = []
    picked: list[int] = []
    for v, options in enumerate(choices):
        edges = [(i, e) for i, e in enumerate(program.edges) if e.consumer == v]

        def end(k: int, v: int = v, edges: list = edges) -> float:
            arrives = [ends[e.producer] + tables.edges[i][picked[e.producer]][k] for i, e in edges]
            return max(arrives, default=0.0) + tables.phases[v][k]

        best = min(range(len(options)), key=end)
        picked.append(best)
        ends.append(end(best))
    return tuple(options[k] for options, k in zip(choices, picked, strict=True))


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
