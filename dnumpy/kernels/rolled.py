"""Program -> Rolled: a loop of the user's, found again in what it has recorded.

``for _ in range(40): z[alive] = z[alive]**2 + c[alive]; ...`` is pending as forty times the same
operations. Written out, its kernel would be long and compile for long; rolled up it is the text of
one iteration, the same for any number of them, run over a chunk of elements whose values stay in
the first-level cache from one iteration to the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from dnumpy.kernels.lower import Arg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dnumpy.kernels.lower import Node, Program

_MOST_PERIODS = 4  # that are tried
_FEWEST = 4  # iterations that are worth a loop
_SHORTEST = 24  # operations of a program that is
_MOST_OUTSIDE = 0.4  # of the operations, outside of the loop


@dataclass(slots=True)
class Rolled:
    """Run ``before``, then ``body`` ``count`` times, then ``after``.

    ``states`` maps a value that an iteration hands on (to the next one, or to what follows) to the
    operation of the body that gives it; ``initial`` to what it is before the first. ``outputs``
    pairs values with output positions.
    """

    before: list[Node]
    body: list[Node]
    after: list[Node]
    count: int
    states: dict[int, int]
    initial: dict[int, int]
    outputs: list[tuple[int, int]]


class _Apart(Exception):  # noqa: N818 - an answer, not an error
    """The iterations are not alike."""


def roll(program: Program) -> Rolled | None:
    """Return ``program`` with its repetition as a loop, None where it has none."""
    if len(program.nodes) < _SHORTEST:
        return None
    if any(n.kind != "map" or not n.wide for n in program.nodes):
        return None
    nodes, signs = _by_level(program)
    for start, period in islice(_repetitions(signs), _MOST_PERIODS):
        # the first iteration may be another
        for first in sorted(range(start, start + 2 * period), key=_cut(nodes, period)):
            try:
                return _Rolling(program, nodes, signs, first, period).run()
            except _Apart:
                continue
    return None


def _cut(nodes: list[Node], period: int) -> Callable[[int], int]:
    """Return what says how many bytes an iteration hands on if iterations begin at a position."""
    at = {n.value: k for k, n in enumerate(nodes)}

    def handed_on(first: int) -> int:
        begin = first + period
        read = {
            a.value
            for n in nodes[begin : begin + period]
            for a in n.args
            if first <= at.get(a.value, -1) < begin
        }
        return sum(np.dtype(nodes[at[v]].code).itemsize for v in read)

    return handed_on


def _by_level(program: Program) -> tuple[list[Node], list[int]]:
    """Return the operations, and the numbers of their kinds, as early as their operands allow.

    Chains that were recorded beside each other then go side by side, and a loop is periodic.
    """
    signs = _signatures(program)
    level: dict[int, int] = {}
    for node in program.nodes:
        level[node.value] = 1 + max((level.get(a.value, 0) for a in node.args), default=0)
    order = sorted(range(len(signs)), key=lambda k: (level[program.nodes[k].value], signs[k], k))
    return [program.nodes[k] for k in order], [signs[k] for k in order]


def _signatures(program: Program) -> list[int]:
    """Return equal numbers for operations that differ in their operands alone."""
    numbers: dict[tuple[object, ...], int] = {}
    found = []
    for node in program.nodes:
        args = tuple((program.codes.get(a.value), a.code) for a in node.args)
        key = (node.template, node.name, node.code, args)
        found.append(numbers.setdefault(key, len(numbers)))
    return found


def _repetitions(signs: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield (start, period) of repetitions that make up most of a program, short periods first."""
    total = len(signs)
    for period in range(1, total // _FEWEST + 1):
        longest = start = run = 0
        for j in range(total - period):
            run = run + 1 if signs[j] == signs[j + period] else 0
            if run > longest:
                longest, start = run, j + 1 - run
        if longest + period >= max(_FEWEST * period, (1 - _MOST_OUTSIDE) * total):
            yield start, period


class _Rolling:
    def __init__(
        self, program: Program, nodes: list[Node], signs: list[int], first: int, period: int
    ) -> None:
        self.program = program
        self.nodes = nodes
        self.first, self.period = first, period
        self.count = self._iterations(signs)
        self.stop = first + self.count * period
        self.at = {n.value: k for k, n in enumerate(self.nodes)}
        self.states: dict[int, int] = {}  # position in the body -> value
        self.initial: dict[int, int] = {}
        self.fresh = 1 + max([*program.codes, *program.constants, *self.at])

    def _iterations(self, signs: list[int]) -> int:
        stop = self.first
        while stop + self.period <= len(signs) and all(
            signs[stop + k] == signs[self.first + k] for k in range(self.period)
        ):
            stop += self.period
        if (stop - self.first) < _FEWEST * self.period:
            raise _Apart
        return (stop - self.first) // self.period

    def run(self) -> Rolled:
        body = [self._rolled(k) for k in range(self.period)]
        after = [self._following(n) for n in self.nodes[self.stop :]]
        outputs = [(self._final(value), index) for value, index in self.program.outputs]
        states = {s: self.nodes[self.first + k].value for k, s in self.states.items()}
        before = self.nodes[: self.first]
        return Rolled(before, body, after, self.count, states, self.initial, outputs)

    def _rolled(self, k: int) -> Node:
        """Return the k-th operation of the body, of values of the same iteration and states."""
        node = self.nodes[self.first + k]
        args = []
        for position, arg in enumerate(node.args):
            values = [
                self.nodes[self.first + r * self.period + k].args[position].value
                for r in range(self.count)
            ]
            args.append(Arg(self._read(values), arg.code))
        return replace(node, args=tuple(args))

    def _read(self, values: list[int]) -> int:
        """Return what the body reads where its iterations read ``values``."""
        places = [self.at.get(v, -1) for v in values]
        if all(v == values[0] for v in values) and places[0] < self.first:
            return values[0]
        if values[0] in self.program.constants:
            raise _Apart
        inside = [p - self.first - r * self.period for r, p in enumerate(places)]
        if all(0 <= p < self.period and p == inside[0] for p in inside):
            return values[0]
        k = inside[1] + self.period  # of the iteration before
        if not 0 <= k < self.period or any(p != k - self.period for p in inside[1:]):
            raise _Apart
        if places[0] >= self.first:
            raise _Apart
        state = self._state(k)
        if self.initial.setdefault(state, values[0]) != values[0]:
            raise _Apart
        return state

    def _state(self, k: int) -> int:
        if k not in self.states:
            self.states[k] = self.fresh
            self.fresh += 1
        return self.states[k]

    def _final(self, value: int) -> int:
        """Return what a value is called after the loop; only the last iteration is known then."""
        place = self.at.get(value, -1)
        if not self.first <= place < self.stop:
            return value
        k = place - (self.stop - self.period)
        if k < 0:
            raise _Apart
        return self._state(k)

    def _following(self, node: Node) -> Node:
        return replace(node, args=tuple(Arg(self._final(a.value), a.code) for a in node.args))
