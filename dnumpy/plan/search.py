"""Moves from one plan of a program to a better one, every step scored by the event simulator."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, combinations
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from dnumpy.plan.dag import Placement
from dnumpy.plan.events import Timeline, simulate_program
from dnumpy.plan.templates import groups
from dnumpy.plan.throughput import period_seconds, unevenness

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from dnumpy.plan.dag import Objective, Program

Placements = tuple[Placement, ...]
Score = tuple[float, float, float]
BETTER = 1 - 1e-6  # less than this is no gain
ALL_PAIRS_NODES = 4  # above, rows move only from the busiest nodes to the idlest
ENDS_TRIED = 3
STEPS = (4, 16, 64)  # parts of a node's granules that move at once; and one granule


@dataclass(frozen=True, slots=True)
class Found:
    """A plan, what the simulator says of it, and who proposed it."""

    placements: Placements
    timeline: Timeline
    score: Score
    how: str


class Judge:
    """Scores plans by what they hold too much, then by the objective; remembers the best.

    For latency that is when they end; for throughput how long after it the next run ends, among
    equals the work of all nodes and ports. Stops to simulate new plans at the deadline, or when
    ``simulations`` are spent.
    """

    def __init__(
        self, program: Program, simulations: int, objective: Objective = "latency"
    ) -> None:
        self.program, self.objective = program, objective
        self.left = simulations
        self.deadline = inf
        self.solver_seconds = 0.0
        self.best: Found | None = None
        self.seen: dict[Placements, Found] = {}

    @property
    def spent(self) -> bool:
        """Whether nothing more may be simulated."""
        return self.left <= 0 or perf_counter() >= self.deadline

    def score(self, placements: Placements, how: str) -> Found:
        """Return the plan with its score; the least so far is kept as ``best``."""
        known = self.seen.get(placements)
        if known is not None:
            return known
        self.left -= 1
        timeline = simulate_program(self.program, placements)
        over = 0.0
        if not timeline.fits(self.program):
            pairs = zip(timeline.peak_bytes, self.program.nodes, strict=True)
            over = sum(max(0.0, peak - node.memory_bytes) for peak, node in pairs)
        found = Found(placements, timeline, (over, *self._objective(timeline, over)), how)
        self.seen[placements] = found
        if self.best is None or _better(found.score, self.best.score):
            self.best = found
        return found

    def _objective(self, timeline: Timeline, over: float) -> tuple[float, float]:
        if self.objective == "latency" or over:
            return timeline.makespan, 0.0
        return period_seconds(self.program, timeline), unevenness(timeline)

    def chosen(self) -> Found:
        """Return the best plan so far; at least one has been scored."""
        assert self.best is not None
        return self.best

    def settled(self) -> Found:
        """Return the plan that sends least among those that end about as soon as the best."""
        best = self.chosen()
        if not self.program.moving_margin or self.objective != "latency" or best.score[0]:
            return best
        latest = (1 + self.program.moving_margin) * best.timeline.makespan
        near = [f for f in self.seen.values() if not f.score[0] and f.timeline.makespan <= latest]
        return min(near, key=lambda found: (found.timeline.sent_bytes, found.score))


def _better(one: Score, other: Score) -> bool:
    for ours, theirs in zip(one, other, strict=True):
        if ours < theirs * BETTER:
            return True
        if ours > theirs:
            return False
    return False


def improve(judge: Judge, at: Found, choices: Sequence[Sequence[Placement]]) -> Found:
    """Return the plan made better by single moves until none helps or the budget ends."""
    alike = [members for members in groups(judge.program) if len(members) > 1]
    while True:
        better = _first_better(judge, at, alike, choices)
        if better is None:
            return at
        at = better


def shaken(judge: Judge, choices: Sequence[Sequence[Placement]], rng: Random) -> Placements:
    """Return the judge's best plan with two or three of its placements changed at random.

    To a template, to the placement of another phase, or by some granules moved.
    """
    program = judge.program
    best = judge.chosen().placements
    free = [v for v, ask in enumerate(program.asks) if ask.pinned is None]
    result = best
    for _ in range(rng.randint(2, 3)):
        v = rng.choice(free)
        options = [*choices[v], *best]
        if not result[v].replicated:
            a, b = (rng.randrange(len(program.nodes)) for _ in range(2))
            step = rng.choice(_steps(result[v].rows[a], program.asks[v].granule) or [0])
            options += [shifted(result[v], a, b, step) or result[v]] * len(options)
        placement = rng.choice(options)
        if _legal(program, [v], placement):
            result = replaced(result, [v], placement)
    return result


def _first_better(
    judge: Judge, at: Found, alike: list[list[int]], choices: Sequence[Sequence[Placement]]
) -> Found | None:
    """Return the first plan one move away that is better; None without one, or without budget."""
    for placements in chain(
        _whole_groups(at, alike, choices),
        _templates(at, choices),
        _exchanges(judge.program, at),
        _rows(judge.program, at, judge.objective),
    ):
        if judge.spent:
            return None
        found = judge.score(placements, "local search")
        if _better(found.score, at.score):
            return found
    return None


def _exchanges(program: Program, at: Found) -> Iterator[Placements]:
    """Yield the plan with the placements of two phases of equal rows exchanged."""
    free = [v for v, ask in enumerate(program.asks) if ask.pinned is None]
    for v, w in combinations(free, 2):
        one, other = program.asks[v], program.asks[w]
        a, b = at.placements[v], at.placements[w]
        alike = a != b and (one.rows, one.granule) == (other.rows, other.granule)
        if alike and _legal(program, [v], b) and _legal(program, [w], a):
            yield replaced(replaced(at.placements, [v], b), [w], a)


def _whole_groups(
    at: Found, alike: list[list[int]], choices: Sequence[Sequence[Placement]]
) -> Iterator[Placements]:
    """Yield the plan with every phase of a group at one template."""
    for members in alike:
        for placement in dict.fromkeys(p for v in members for p in choices[v]):
            takers = {v for v in members if placement in choices[v]}
            yield tuple(placement if v in takers else p for v, p in enumerate(at.placements))


def _templates(at: Found, choices: Sequence[Sequence[Placement]]) -> Iterator[Placements]:
    """Yield the plan with one phase at another template or at a neighbour's placement."""
    for v, options in enumerate(choices):
        for placement in options:
            if placement != at.placements[v]:
                yield replaced(at.placements, [v], placement)


def replaced(placements: Placements, phases: Sequence[int], placement: Placement) -> Placements:
    """Return the placements with that of some phases exchanged."""
    chosen = set(phases)
    return tuple(placement if v in chosen else p for v, p in enumerate(placements))


def _rows(program: Program, at: Found, objective: Objective) -> Iterator[Placements]:
    """Yield the plan with some granules of equal neighbours, or of one phase, on another node."""
    sets = equal_sets(program, at.placements)
    single = [[v] for members in sets if len(members) > 1 for v in members]
    for members in sets + single:
        first = at.placements[members[0]]
        granule = program.asks[members[0]].granule
        for a, b in _pairs(at, len(program.nodes), objective):
            for step in _steps(first.rows[a], granule):
                moved = shifted(first, a, b, step)
                if moved is not None and _legal(program, members, moved):
                    yield replaced(at.placements, members, moved)


def equal_sets(program: Program, placements: Placements) -> list[list[int]]:
    """Return sets of phases of one group that have one placement and may be moved."""
    sets: list[list[int]] = []
    for members in groups(program):
        by: dict[tuple[Placement, int], list[int]] = {}
        for v in members:
            if program.asks[v].pinned is None and not placements[v].replicated:
                by.setdefault((placements[v], program.asks[v].granule), []).append(v)
        sets += by.values()
    return sets


def _pairs(at: Found, nodes: int, objective: Objective) -> list[tuple[int, int]]:
    """Return from which node to which rows are moved: from those that end last to the first.

    For throughput from the busiest to the idlest.
    """
    ends: Sequence[float] = at.timeline.busy_seconds
    if objective == "latency":
        lines = at.timeline.spans
        ends = [
            max((span[1] for line in lines if (span := line[n]) is not None), default=0.0)
            for n in range(nodes)
        ]
    order = sorted(range(nodes), key=lambda n: -ends[n])
    if nodes <= ALL_PAIRS_NODES:
        return [(a, b) for a in order for b in reversed(order) if a != b]
    late, early = order[:ENDS_TRIED], order[: -ENDS_TRIED - 1 : -1]
    return [(a, b) for a in late for b in early if a != b]


def _steps(rows: int, granule: int) -> list[int]:
    """Return by how many rows to move: all, parts, and one granule."""
    granules = -(-rows // granule)
    return [
        n * granule
        for n in dict.fromkeys([*(granules // part for part in STEPS), 1, granules])
        if n
    ]


def shifted(placement: Placement, a: int, b: int, rows: int) -> Placement | None:
    """Return the placement with that many rows of ``a`` on ``b``, or None if ``a`` has none.

    The partial granule stays with the last node that has rows, so all of ``a`` is the most.
    """
    rows = min(rows, placement.rows[a])
    if not rows:
        return None
    counts = list(placement.rows)
    counts[a] -= rows
    counts[b] += rows
    return Placement(tuple(counts))


def _legal(program: Program, members: Sequence[int], placement: Placement) -> bool:
    """Return whether the placement is one for these phases."""
    ask = program.asks[members[0]]
    able = all(program.asks[v].fixed_seconds[n] < inf for v in members for n in placement.used)
    try:
        placement.verify(ask.rows, ask.granule)
    except ValueError:
        return False
    return able
