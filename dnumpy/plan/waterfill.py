"""Rows per node such that all finish together: exact for affine times and memory caps.

Within a deadline T each node can do a known number of rows, whatever the others do, so the least T at
which these add up to the phase is found by bisection. Whole granules are then exact too: start from
what fits below that T and give each remaining granule to the node that would finish it first.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.model import NodeRate, PhaseSpec

BISECTIONS = 60


def granule_count(rows: int, granule: int) -> int:
    """Return how many granules cover the rows; the last one may be partial."""
    return -(-rows // granule)


def caps_in_granules(spec: PhaseSpec, nodes: Sequence[NodeRate], granule: int) -> list[int]:
    """Return per node how many granules its memory holds, at most all of them."""
    total = granule_count(spec.rows, granule)
    caps = []
    for node in nodes:
        room = node.memory_bytes - spec.fixed_bytes
        if room < 0:
            caps.append(0)
        elif spec.rows * spec.bytes_per_row <= room:
            caps.append(total)
        else:
            caps.append(min(total, int(room / spec.bytes_per_row) // granule))
    return caps


def rows_of_granules(counts: Sequence[int], rows: int, granule: int) -> tuple[int, ...]:
    """Return rows per node; the last node in use has the partial granule, so that they tile."""
    result = [count * granule for count in counts]
    overshoot = sum(result) - rows
    last = max((i for i, count in enumerate(counts) if count), default=0)
    result[last] -= overshoot
    return tuple(result)


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


def common_deadline(
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    caps: Sequence[int],
    granule: int,
    home: Sequence[int],
) -> float:
    """Return a lower bound on the makespan of any split, tight to 1e-12 but for whole granules."""
    caps_rows = [min(cap * granule, spec.rows) for cap in caps]
    usable = list(zip(nodes, caps_rows, home, strict=True))
    low = 0.0
    high = max(finish_seconds(cap, node, at_home) for node, cap, at_home in usable if cap)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        done = sum(min(cap, rows_within(middle, node, at_home)) for node, cap, at_home in usable)
        if done >= spec.rows:
            high = middle
        else:
            low = middle
        if high - low <= 1e-12 * high:
            break
    return low


def waterfill(
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    caps: Sequence[int],
    granule: int = 1,
    home: Sequence[int] | None = None,
) -> list[int]:
    """Return granules per node with the least makespan; ``caps`` must hold all granules.

    Exact when every granule is whole; transfers out of a node are not counted.
    """
    home = home if home is not None else [0] * len(nodes)
    total = granule_count(spec.rows, granule)
    deadline = common_deadline(spec, nodes, caps, granule, home)
    counts = [
        min(cap, int(min(rows_within(deadline, node, at_home), spec.rows) // granule))
        for node, cap, at_home in zip(nodes, caps, home, strict=True)
    ]
    _give_remaining(counts, total, nodes, caps, granule, home)
    return counts


def _give_remaining(
    counts: list[int],
    total: int,
    nodes: Sequence[NodeRate],
    caps: Sequence[int],
    granule: int,
    home: Sequence[int],
) -> None:
    def next_finish(i: int) -> tuple[float, float, int]:
        seconds = finish_seconds((counts[i] + 1) * granule, nodes[i], home[i])
        return seconds, nodes[i].seconds_per_row, i

    heap = [next_finish(i) for i, cap in enumerate(caps) if counts[i] < cap]
    heapify(heap)
    for _ in range(total - sum(counts)):
        _, _, i = heappop(heap)
        counts[i] += 1
        if counts[i] < caps[i]:
            heappush(heap, next_finish(i))
