"""Rows per node such that all finish together: exact for affine times and memory caps.

Within a deadline T each node can do a known number of rows, whatever the others do, so the least T
at which these add up to the phase is found by bisection. Whole granules are then exact too: start
from what fits below that T and give each remaining granule to the node that would finish it first.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dnumpy.plan.model import NodeRate
    from dnumpy.plan.problem import Problem

BISECTIONS = 60
TIGHT = 1e-12


def rows_within(deadline: float, node: NodeRate, at_home: int = 0) -> float:
    """Return how many rows the node does before the deadline; ``at_home`` need no transfer."""
    left = deadline - node.fixed_seconds
    if left <= 0:
        return 0.0
    far = node.seconds_per_row + node.transfer_seconds_per_row
    seconds_at_home = at_home * node.seconds_per_row
    if left < seconds_at_home:
        return left / node.seconds_per_row
    return at_home + (left - seconds_at_home) / far if far > 0 else inf


def finish_seconds(rows: float, node: NodeRate, at_home: int = 0) -> float:
    """Return when the node finishes this many rows; the inverse of ``rows_within``."""
    moved = max(0.0, rows - at_home)
    return (
        node.fixed_seconds
        + rows * node.seconds_per_row
        + (moved * node.transfer_seconds_per_row if moved else 0.0)
    )


def common_deadline(problem: Problem) -> float:
    """Return a lower bound on the makespan of any split, tight to 1e-12 but for whole granules."""
    usable = list(zip(problem.nodes, problem.caps_rows, problem.home, strict=True))
    low = 0.0
    high = max(finish_seconds(cap, node, at_home) for node, cap, at_home in usable if cap)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        done = sum(min(cap, rows_within(middle, node, at_home)) for node, cap, at_home in usable)
        if done >= problem.spec.rows:
            high = middle
        else:
            low = middle
        if high - low <= TIGHT * high:
            break
    return low


def waterfill(problem: Problem) -> list[int]:
    """Return granules per node with the least makespan; the caps must hold all granules.

    Exact when every granule is whole; transfers out of a node are not counted.
    """
    deadline = common_deadline(problem)
    rows = problem.spec.rows
    counts = [
        min(cap, int(min(rows_within(deadline, node, at_home), rows) // problem.granule))
        for node, cap, at_home in zip(problem.nodes, problem.caps, problem.home, strict=True)
    ]
    _give_remaining(problem, counts)
    return counts


def _give_remaining(problem: Problem, counts: list[int]) -> None:
    """Give each granule not yet given to the node that would finish it first."""
    home, caps = problem.home, problem.caps

    def next_finish(i: int) -> tuple[float, float, int]:
        node = problem.nodes[i]
        seconds = finish_seconds((counts[i] + 1) * problem.granule, node, home[i])
        return seconds, node.seconds_per_row, i

    heap = [next_finish(i) for i, cap in enumerate(caps) if counts[i] < cap]
    heapify(heap)
    for _ in range(problem.granules - sum(counts)):
        _, _, i = heappop(heap)
        counts[i] += 1
        if counts[i] < caps[i]:
            heappush(heap, next_finish(i))
