"""Splits worth judging that need no solver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnumpy.plan.model import Candidate
from dnumpy.plan.rounding import largest_remainder
from dnumpy.plan.waterfill import finish_seconds, granule_count, rows_of_granules, waterfill

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.model import NodeRate, PhaseSpec


def best_single_node(
    spec: PhaseSpec, nodes: Sequence[NodeRate], caps: Sequence[int], granule: int, home: list[int]
) -> Candidate | None:
    """Return all rows on the node that finishes them first, or None where none holds them."""
    total = granule_count(spec.rows, granule)
    able = [i for i, cap in enumerate(caps) if cap >= total]
    if not able:
        return None
    best = min(able, key=lambda i: finish_seconds(spec.rows, nodes[i], home[i]))
    return Candidate("single", tuple(spec.rows if i == best else 0 for i in range(len(nodes))))


def even_split(
    spec: PhaseSpec, nodes: Sequence[NodeRate], caps: Sequence[int], granule: int
) -> Candidate:
    """Return the same rows for every node, but for memory caps and the rest of the division."""
    total = granule_count(spec.rows, granule)
    speeds = [-node.seconds_per_row for node in nodes]
    counts = largest_remainder([1.0] * len(nodes), total, caps, speeds)
    return Candidate("even", rows_of_granules(counts, spec.rows, granule))


def water_filling(
    spec: PhaseSpec, nodes: Sequence[NodeRate], caps: Sequence[int], granule: int, home: list[int]
) -> Candidate:
    """Return the split in which all nodes finish together."""
    counts = waterfill(spec, nodes, caps, granule, home)
    return Candidate("waterfill", rows_of_granules(counts, spec.rows, granule))


def keep_current(
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    granule: int,
    current: Sequence[int] | None,
) -> Candidate | None:
    """Return the partition that the data already has, where it is a legal one for this phase."""
    if current is None or sum(current) != spec.rows:
        return None
    used = [n for n in current if n]
    whole = all(n % granule == 0 for n in used[:-1])
    fits = all(
        spec.bytes_on_node(n) <= node.memory_bytes for n, node in zip(current, nodes, strict=True)
    )
    return Candidate("current", tuple(current)) if whole and fits else None


def heuristic_candidates(
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    caps: Sequence[int],
    granule: int,
    current: Sequence[int] | None,
) -> list[Candidate]:
    """Return every legal candidate that is found without a solver; at least one."""
    home = list(current) if current is not None else [0] * len(nodes)
    proposals = (
        best_single_node(spec, nodes, caps, granule, home),
        keep_current(spec, nodes, granule, current),
        water_filling(spec, nodes, caps, granule, home),
        even_split(spec, nodes, caps, granule),
    )
    return [candidate for candidate in proposals if candidate is not None]
