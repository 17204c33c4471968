"""What arrives on a node for other stages while one runs: it takes memory beside that stage's own.

Nobody waits to send what has been made, and a node begins whatever it has everything for: what
comes for a later stage may come early, what an earlier one waits for may come late, and a fast node
may be stages ahead of a slow one. So all may arrive that is not made from what the stage makes on
the node, for tasks there whose end it does not wait for.
"""

from __future__ import annotations

from bisect import bisect_left
from functools import reduce
from itertools import accumulate
from operator import and_, or_
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnumpy.runtime.graph import Graph
    from dnumpy.runtime.stage_runs import StageRun


class _Arrival(NamedTuple):
    """What arrives on a node for a stage."""

    last: int  # the number of the last task there that waits for it
    readers: int  # the bits of all of them
    maker: int  # the number of the task that gives it, 0 where it is there
    key: tuple[int, int | None]
    nbytes: int


class _Order(NamedTuple):
    """Which tasks wait for which, as bits by number, at once or through others; each for itself."""

    before: dict[str, int]
    after: dict[str, int]


def note_what_comes_meanwhile(stages: Sequence[StageRun], graph: Graph) -> None:
    """Note of each stage what may arrive for others before its tasks have ended."""
    if len(stages) < 2 or not any(stage.reads.arriving() for stage in stages):
        return
    order = _order_of(graph)
    made = [_tasks_of(stage) for stage in stages]
    arrivals: dict[str, list[_Arrival]] = {}
    for stage, tasks in zip(stages, made, strict=True):
        for node, maker, key, nbytes in stage.reads.arriving():
            numbers = [graph.number_of(task) for task in tasks.get(node, ())]
            if numbers:
                bits = reduce(or_, [1 << number for number in numbers])
                found = _Arrival(max(numbers), bits, maker, key, nbytes)
                arrivals.setdefault(node, []).append(found)
    for node, coming in arrivals.items():
        _note_on_node(node, sorted(coming), stages, made, order)


def _note_on_node(
    node: str,
    coming: Sequence[_Arrival],
    stages: Sequence[StageRun],
    made: Sequence[Mapping[str, Sequence[str]]],
    order: _Order,
) -> None:
    """Note what may come to one node: of all that does, by the last task that waits for it."""
    lasts = [arrival.last for arrival in coming]
    makers = reduce(or_, [1 << arrival.maker for arrival in coming])
    readers = reduce(or_, [arrival.readers for arrival in coming])
    least = list(accumulate([arrival.maker for arrival in reversed(coming)], min))[::-1]
    for stage, tasks in zip(stages, made, strict=True):
        if node not in tasks:
            continue
        ended = reduce(and_, [order.before[task] for task in tasks[node]])
        following = reduce(and_, [order.after[task] for task in tasks[node]])
        waiting, ready = readers & ~ended, makers & ~following
        if not waiting or not ready:
            continue
        lowest, highest = (waiting & -waiting).bit_length() - 1, ready.bit_length() - 1
        nbytes = 0
        for number in range(bisect_left(lasts, lowest), len(coming)):
            if least[number] > highest:
                break  # all of these are made from what the stage makes: of most stages of a loop
            arrival = coming[number]
            if (
                ready >> arrival.maker & 1
                and arrival.readers & ~ended
                and not stage.reads.reads_what(node, arrival.key)
            ):
                nbytes += arrival.nbytes
        if nbytes:
            stage.meanwhile[node] = nbytes


def _tasks_of(stage: StageRun) -> dict[str, list[str]]:
    tasks: dict[str, list[str]] = {}
    for r, ref in stage.made:
        tasks.setdefault(r.node, []).append(ref.key)
    return tasks


def _order_of(graph: Graph) -> _Order:
    before: dict[str, int] = {}  # in an order in which they may run
    needs: dict[str, list[str]] = {}
    unknown = list(graph.node_of)
    while unknown:
        key = unknown[-1]
        if key not in before:
            needs[key] = [one for one in graph.dependencies(key) if one in graph.node_of]
            if missing := [one for one in needs[key] if one not in before]:
                unknown += missing
                continue
            own = 1 << graph.number_of(key)
            before[key] = reduce(or_, [before[one] for one in needs[key]], own)
        unknown.pop()
    after = {key: 1 << graph.number_of(key) for key in before}
    for key in reversed(before):
        for one in needs[key]:
            after[one] |= after[key]
    return _Order(before, after)
