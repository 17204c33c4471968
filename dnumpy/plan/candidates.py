"""Splits worth judging that need no solver."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from dnumpy.plan.model import Candidate
from dnumpy.plan.rounding import largest_remainder
from dnumpy.plan.waterfill import finish_seconds, waterfill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.model import NodeRate, PhaseSpec
    from dnumpy.plan.problem import Problem


def best_single_node(problem: Problem) -> Candidate | None:
    """Return all rows on the node that finishes them first, or None where none holds them."""
    able = [i for i, cap in enumerate(problem.caps) if cap >= problem.granules]
    if not able:
        return None
    rows, home = problem.spec.rows, problem.home
    best = min(able, key=lambda i: finish_seconds(rows, problem.nodes[i], home[i]))
    return Candidate("single", tuple(rows if i == best else 0 for i in range(len(problem.nodes))))


def even_split(problem: Problem) -> Candidate | None:
    """Return the same rows for every node, but for memory caps and the rest of the division.

    None where the caps do not hold all rows.
    """
    alike = [1.0] * len(problem.nodes)
    counts = largest_remainder(alike, problem.granules, problem.caps, problem.speeds)
    return None if counts is None else Candidate("even", problem.rows_of(counts))


def water_filling(problem: Problem) -> Candidate | None:
    """Return the split in which all nodes finish together; None where the caps do not hold it."""
    if sum(problem.caps) < problem.granules:
        return None
    return Candidate("waterfill", problem.rows_of(waterfill(problem)))


def keep_current(problem: Problem) -> Candidate | None:
    """Return the partition that the data already has, its cuts moved to the nearest granules.

    None where that does not fit in the nodes' memory.
    """
    if problem.current is None:
        return None
    stops = [round(stop / problem.granule) for stop in accumulate(problem.current)]
    used = [stop for stop, n in zip(stops, problem.current, strict=True) if n]
    stops = [problem.granules if stop == used[-1] else stop for stop in stops]
    counts = [stop - start for start, stop in pairwise([0, *stops])]
    kept = Candidate("current", problem.rows_of(counts))
    return kept if fits(kept, problem.spec, problem.nodes, problem.current) else None


def fits(
    candidate: Candidate,
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    current: Sequence[int] | None,
) -> bool:
    """Return whether every node's memory holds its rows, given where they lie now."""
    stay = stays(candidate.rows, current)
    return all(
        spec.bytes_on_node(n, stay=stay) <= node.memory_bytes
        for n, node in zip(candidate.rows, nodes, strict=True)
    )


def stays(rows: Sequence[int], current: Sequence[int] | None) -> bool:
    """Return whether every row stays where it lies."""
    return current is not None and tuple(rows) == tuple(current)


def heuristic_candidates(problem: Problem) -> list[Candidate]:
    """Return every legal candidate that is found without a solver; none where nothing fits."""
    proposals = (
        best_single_node(problem),
        keep_current(problem),
        water_filling(problem),
        even_split(problem),
    )
    return [candidate for candidate in proposals if candidate is not None]
