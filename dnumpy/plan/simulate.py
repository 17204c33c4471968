"""The judge: when each node finishes, for any split, whoever proposed it."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.model import NodeRate


def kept_rows(before: Sequence[int], after: Sequence[int]) -> list[int]:
    """Return per node the rows that it holds before and after, for contiguous ranges in order."""
    kept = []
    cuts = zip(accumulate(before), before, accumulate(after), after, strict=True)
    for stop_a, n_a, stop_b, n_b in cuts:
        kept.append(max(0, min(stop_a, stop_b) - max(stop_a - n_a, stop_b - n_b)))
    return kept


def moved_rows(rows: Sequence[int], current: Sequence[int] | None) -> list[int]:
    """Return per node the larger of the rows it must receive and those it must send.

    Without a current partition the data lies elsewhere (on the client): every row is received.
    """
    if current is None:
        return list(rows)
    kept = kept_rows(current, rows)
    return [max(a, b) - k for a, b, k in zip(current, rows, kept, strict=True)]


def node_seconds(
    rows: Sequence[int], nodes: Sequence[NodeRate], current: Sequence[int] | None = None
) -> tuple[float, ...]:
    """Return when each node finishes: transfers, fixed cost of use, then its rows."""
    moved = moved_rows(rows, current)
    return tuple(
        m * rate.transfer_seconds_per_row
        + (rate.fixed_seconds + n * rate.seconds_per_row if n else 0.0)
        for n, m, rate in zip(rows, moved, nodes, strict=True)
    )


def makespan(
    rows: Sequence[int], nodes: Sequence[NodeRate], current: Sequence[int] | None = None
) -> float:
    """Return when the last node finishes."""
    return max(node_seconds(rows, nodes, current), default=0.0)
