"""How plans of a program compete: starts by rule, greedy, models W and R, then local search."""

from __future__ import annotations

from collections import Counter
from random import Random
from time import perf_counter
from typing import TYPE_CHECKING

from dnumpy.plan.rows import solve_rows
from dnumpy.plan.search import Judge, improve, shaken
from dnumpy.plan.structure import make_tables, phase_seconds, solve_structure
from dnumpy.plan.templates import groups, make_templates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.dag import Placement, Program
    from dnumpy.plan.search import Placements
    from dnumpy.plan.structure import Tables

STARTS_IMPROVED = 6
SHAKES = 400
SOLVER_SECONDS_PER_CELL = 0.0006
SEED = 0
MOST_IN_GREEDY = 4  # templates per phase of a long program
MOST_IN_MODEL = 8  # templates per phase
TABLES_PART = 0.4  # of the time, for the tables that the models need
SOLVER_PART = 0.5  # of the time left, for each of the two models
LEAST_SOLVE_SECONDS = 0.005  # less time than this is not worth writing a model down


def cells(program: Program) -> int:
    """Return phases times nodes: what tables, models and simulations grow with."""
    return len(program.asks) * len(program.nodes)


def starts(
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


def search(program: Program, choices: list[list[Placement]], judge: Judge) -> None:
    """Let greedy, the models and local search compete until the judge's deadline."""
    few = _most_promising(program, choices, judge.chosen().placements)
    left = judge.deadline - perf_counter()
    tables = make_tables(program, few, perf_counter() + TABLES_PART * left)
    if tables is not None:
        judge.score(greedy(program, few, tables), "greedy")
        _structure(program, few, tables, judge)
    if judge.objective == "latency":  # what model R is for
        _rows(program, judge)
    best = sorted(judge.seen.values(), key=lambda found: found.score)
    for start in best[:STARTS_IMPROVED]:
        improve(judge, start, choices)
    rng = Random(SEED)  # noqa: S311 - the same plan for the same program
    for _ in range(SHAKES if any(ask.pinned is None for ask in program.asks) else 0):
        if judge.spent:
            break
        improve(judge, judge.score(shaken(judge, choices, rng), "local search"), choices)


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
) -> None:
    """Let model W propose a plan."""
    left = solver_limit(program, judge)
    if left < LEAST_SOLVE_SECONDS:
        return
    known = judge.chosen().timeline.makespan
    picked, seconds = solve_structure(program, choices, tables, known, left, judge.objective)
    judge.solver_seconds += seconds
    if picked is not None:
        judge.score(tuple(choices[v][k] for v, k in enumerate(picked)), "structure")


def _rows(program: Program, judge: Judge) -> None:
    """Let model R propose rows for the best plan so far."""
    left = solver_limit(program, judge)
    if left < LEAST_SOLVE_SECONDS:
        return
    best = judge.chosen()
    placements, seconds = solve_rows(program, best.placements, best.timeline.makespan, left)
    judge.solver_seconds += seconds
    if placements is not None:
        judge.score(placements, "rows")


def greedy_plan(program: Program, judge: Judge, seconds: float) -> None:
    """Let greedy propose a plan among few templates, if its tables are made in that time."""
    until = perf_counter() + seconds
    templates = make_templates(program, MOST_IN_GREEDY)
    if not all(templates):
        return
    known = judge.chosen().placements
    choices = [list(dict.fromkeys([known[v], *few])) for v, few in enumerate(templates)]
    tables = make_tables(program, choices, until)
    if tables is not None:
        judge.score(greedy(program, choices, tables), "greedy")


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
