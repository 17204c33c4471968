"""The order of stages: what a stage gives is read soon, so that little is held between the two.

Levels alone would run the first stage of every part of a program before the second one of any, and
hold what all of them gave.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

from dnumpy.expr.expr import Expr
from dnumpy.ops.table import UPDATE, VIEW
from dnumpy.rewrite.stages import FusedStage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dnumpy.rewrite.stages import Stage


def in_turn(stages: Sequence[Stage], order: Sequence[Expr]) -> list[Stage]:
    """Return stages, of which none precedes one that it reads, in the order of their results.

    Parameters
    ----------
    stages : sequence of Stage
        None precedes one that it reads from, or one that reads what it writes over.
    order : sequence of Expr
        All that is computed, operands first, what one result needs beside each other.
    """
    if len(stages) < 3:
        return list(stages)
    place = {id(expr): k for k, expr in enumerate(order)}
    waits, followers = _dependencies(stages)
    keys = [max(place[id(expr)] for expr in _given(stage)) for stage in stages]
    ready = [(keys[k], k) for k, count in enumerate(waits) if not count]
    heapq.heapify(ready)
    found = []
    while ready:
        _, number = heapq.heappop(ready)
        found.append(stages[number])
        for other in followers[number]:
            waits[other] -= 1
            if not waits[other]:
                heapq.heappush(ready, (keys[other], other))
    return found


def _dependencies(stages: Sequence[Stage]) -> tuple[list[int], list[list[int]]]:
    """Return for how many stages each one waits, and which ones wait for it."""
    makers: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    waits, followers = [0] * len(stages), [[] for _ in stages]  # type: ignore[var-annotated]
    for number, stage in enumerate(stages):
        before = set()
        for expr in _read(stage):
            readers.setdefault(id(expr), []).append(number)
            if id(expr) in makers:
                before.add(makers[id(expr)])
        for base in _written_over(stage):
            before.update(readers[id(base)])
        before.discard(number)
        for other in before:
            followers[other].append(number)
        waits[number] = len(before)
        for expr in _given(stage):
            makers[id(expr)] = number
    return waits, followers


def _given(stage: Stage) -> tuple[Expr, ...]:
    return stage.outputs if isinstance(stage, FusedStage) else (stage.expr,)


def _read(stage: Stage) -> Iterator[Expr]:
    """Yield what a stage reads, and what that is a view of."""
    read = list(stage.inputs if isinstance(stage, FusedStage) else stage.expr.args)
    if isinstance(stage, FusedStage):
        read += [whole.args[0] for whole in stage.placed.values()]
    for expr in read:
        while isinstance(expr, Expr):
            yield expr
            if expr.op is not VIEW or not expr.args:
                break
            expr = expr.args[0]  # noqa: PLW2901 - from a view to its base


def _written_over(stage: Stage) -> list[Expr]:
    """Return the arrays whose memory a stage may take, where nobody else reads them any more."""
    wholes = stage.placed.values() if isinstance(stage, FusedStage) else (stage.expr,)
    bases = [whole.args[0] for whole in wholes if whole.op is UPDATE]
    return [base for base in bases if isinstance(base, Expr)]
