"""Long programs, planned piece by piece: planning time grows with the phases, not faster.

A program is cut where few results that may lie anywhere are still to be read, at best one: through
that phase everything passes. Pieces are planned in order. What earlier pieces left is pinned where
they left it; of every piece the best plans with different placements of what is read later are
carried on (dynamic programming over those placements, with a bound on their number). Equal pieces,
like the turns of a loop, are planned once. The whole program's simulation decides in the end.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from dnumpy.plan.compete import search, starts
from dnumpy.plan.dag import Ask, Program
from dnumpy.plan.search import Judge
from dnumpy.plan.templates import make_templates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.dag import Placement
    from dnumpy.plan.search import Placements

PIECES_FROM_PHASES = 24  # measured: below, all at once is as good
LEAST_PIECE, MOST_PIECE = 5, 10  # phases
CARRIED = 4  # plans with different ends that go on from piece to piece
MOST_SIMULATIONS = 600  # per piece and plan carried on


@dataclass(frozen=True, slots=True)
class State:
    """Placements of all phases so far, and the sum of the ends of their pieces."""

    placements: Placements
    seconds: float


def widths(program: Program) -> list[int]:
    """Return per phase how many results not pinned are read after it that it or earlier ones made.

    Where this is 1 at most, everything passes through one phase.
    """
    change = [0] * (len(program.asks) + 1)
    for v, last in enumerate(program.last_readers()):
        if program.asks[v].pinned is None and last > v:
            change[v] += 1
            change[last] -= 1
    return list(accumulate(change))[:-1]


def cuts(program: Program) -> list[tuple[int, int]]:
    """Return the pieces as (first phase, phase after the last): all phases, in order."""
    width, total = widths(program), len(program.asks)
    pieces: list[tuple[int, int]] = []
    first = 0
    while total - first > MOST_PIECE:
        ends = range(first + LEAST_PIECE, min(first + MOST_PIECE, total - LEAST_PIECE) + 1)
        end = min(ends, key=lambda stop: (width[stop - 1], -stop))
        pieces.append((first, end))
        first = end
    return [*pieces, (first, total)]


def piece_program(
    program: Program, first: int, stop: int, placements: Sequence[Placement]
) -> tuple[Program, int]:
    """Return the phases as a program of their own, and how many results before them it has.

    These are pinned where they lie and cost nothing but memory.
    """
    last = program.last_readers()
    inside = {e.producer for e in program.edges if first <= e.consumer < stop}
    bounded = any(node.memory_bytes < inf for node in program.nodes)
    before = [
        v for v in range(first) if v in inside or (bounded and _stays(program, last, v, first))
    ]
    zero = (0.0,) * len(program.nodes)
    asks = [
        Ask(
            program.asks[v].name, program.asks[v].rows, zero, zero,
            bytes_per_row=program.asks[v].bytes_per_row, pinned=placements[v],
            kept=_stays(program, last, v, stop),
        )
        for v in before
    ]  # fmt: skip
    asks += [
        replace(program.asks[v], kept=_stays(program, last, v, stop)) for v in range(first, stop)
    ]
    place = {v: at for at, v in enumerate([*before, *range(first, stop)])}
    edges = tuple(
        replace(e, producer=place[e.producer], consumer=place[e.consumer])
        for e in program.edges
        if first <= e.consumer < stop and (e.access != "none" or e.producer >= first)
    )
    return Program(program.nodes, program.network, tuple(asks), edges), len(before)


def _stays(program: Program, last: list[int], v: int, stop: int) -> bool:
    """Return whether the phase's result is still held when those before ``stop`` have ended."""
    return program.asks[v].kept or last[v] == v or last[v] >= stop


class Pieces:
    """Plans one program piece by piece within the time of its judge."""

    def __init__(self, program: Program, judge: Judge) -> None:
        self.program, self.whole = program, judge
        self.plain = judge.chosen().placements
        self.known: dict[bytes, list[tuple[Placements, float]]] = {}
        self.read_last = program.last_readers()

    def plans(self) -> list[Placements]:
        """Return plans of the whole program, the most promising first; none where a piece fails."""
        states = [State((), 0.0)]
        pieces = cuts(self.program)
        for k, (first, stop) in enumerate(pieces):
            if perf_counter() >= self.whole.deadline:
                return [s.placements + self.plain[first:] for s in states]
            left = (self.whole.deadline - perf_counter()) / (len(pieces) - k)
            end = perf_counter() + left
            grown: list[State] = []
            for state in states:
                if grown and perf_counter() >= end:  # the best state went first
                    break
                until = perf_counter() + left / len(states)
                for placements, seconds in self._planned(state, first, stop, until):
                    grown.append(State(state.placements + placements, state.seconds + seconds))
            states = self._carried(grown, stop)
        return [state.placements for state in states]

    def _carried(self, states: list[State], stop: int) -> list[State]:
        """Return the best state for each placement of what is read later, of those the best."""
        live = [v for v in range(stop) if self.read_last[v] >= stop]
        best: dict[tuple[Placement, ...], State] = {}
        for state in sorted(states, key=lambda s: s.seconds):
            best.setdefault(tuple(state.placements[v] for v in live), state)
        return list(best.values())[:CARRIED]

    def _planned(
        self, state: State, first: int, stop: int, until: float
    ) -> list[tuple[Placements, float]]:
        """Return plans of the piece with different ends, and when they end."""
        piece, before = piece_program(self.program, first, stop, state.placements)
        digest = piece.digest()
        if digest not in self.known:
            live = [v - first + before for v in range(first, stop) if self.read_last[v] >= stop]
            found = self._search(piece, before, self.plain[first:stop], live, until)
            self.known[digest] = [(placements[before:], end) for placements, end in found]
        return self.known[digest]

    def _search(
        self, piece: Program, before: int, plain: Placements, live: list[int], until: float
    ) -> list[tuple[Placements, float]]:
        """Return the best plans of the piece, one for each placement of what is read later."""
        templates = make_templates(piece)
        judge = Judge(piece, MOST_SIMULATIONS)
        judge.deadline = until
        pinned = tuple(ask.pinned for ask in piece.asks[:before] if ask.pinned is not None)
        judge.score(pinned + plain, "plain")
        if all(templates):
            for placements, how in starts(piece, templates):
                if not judge.spent:
                    judge.score(placements, how)
            search(piece, [list(options) for options in templates], judge)
        self.whole.solver_seconds += judge.solver_seconds
        best: dict[tuple[Placement, ...], tuple[Placements, float]] = {}
        for found in sorted(judge.seen.values(), key=lambda found: found.score):
            end = tuple(found.placements[v] for v in live)
            if not found.score[0] and end not in best:
                best[end] = (found.placements, found.score[1])
        return list(best.values())[:CARRIED]


def in_pieces(program: Program, judge: Judge) -> list[Placements]:
    """Return plans of the program made piece by piece; the judge has scored a plan already."""
    return Pieces(program, judge).plans()
