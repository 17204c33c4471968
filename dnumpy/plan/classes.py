"""Programs over many equal nodes, planned as programs over a few groups of them.

Neighbouring nodes with equal tables, memory and links form a class; a class of m is cut into groups
of 1, 2, 4, ... so that a part of it can be used. A group does rows m times as fast as its node,
holds m times as much, and moves m times as many bytes. Within a group rows are split evenly.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import TYPE_CHECKING

from dnumpy.plan.dag import Ask, Network, Node, Placement, Program
from dnumpy.plan.templates import placed

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

CLASSES_FROM_NODES = 32


@dataclass(frozen=True, slots=True)
class Grouped:
    """A program over groups of nodes, and how many nodes each group has."""

    program: Program
    sizes: tuple[int, ...]

    def expand(self, original: Program, placements: tuple[Placement, ...]) -> tuple[Placement, ...]:
        """Return the placements of the groups as placements of their nodes."""
        return tuple(
            ask.pinned or self._expanded(ask, placement)
            for ask, placement in zip(original.asks, placements, strict=True)
        )

    def _expanded(self, ask: Ask, placement: Placement) -> Placement:
        pairs = list(zip(self.sizes, placement.rows, strict=True))
        if placement.replicated:
            return Placement(
                tuple(rows for size, rows in pairs for _ in range(size)), replicated=True
            )
        counts = []
        for size, rows in pairs:
            each, more = divmod(-(-rows // ask.granule), size)
            counts += [each + (i < more) for i in range(size)]
        return placed(ask, counts)


def in_groups(program: Program) -> Grouped | None:
    """Return the program over groups, or None where these would be more than half the nodes."""
    equal = groupby(range(len(program.nodes)), _alike(program))
    runs = [len(list(nodes_alike)) for _, nodes_alike in equal]
    sizes = tuple(size for count in runs for size in _binary(count))
    if 2 * len(sizes) > len(program.nodes):
        return None
    first = [0, *accumulate(sizes)][:-1]
    nodes = tuple(
        Node(program.nodes[n].name, program.nodes[n].memory_bytes * size)
        for n, size in zip(first, sizes, strict=True)
    )
    asks = tuple(_grouped(ask, first, sizes) for ask in program.asks)
    return Grouped(
        Program(nodes, _links(program.network, first, sizes), asks, program.edges), sizes
    )


def _alike(program: Program) -> Callable[[int], Hashable]:
    """Return what equal nodes have in common, as a function of the node."""

    def key(n: int) -> Hashable:
        tables = tuple((ask.seconds_per_row[n], ask.fixed_seconds[n]) for ask in program.asks)
        return program.nodes[n].memory_bytes, program.network.groups[n], tables

    return key


def _binary(nodes: int) -> list[int]:
    """Return 1, 2, 4, ... and a rest, which add up to the nodes."""
    sizes: list[int] = []
    while sum(sizes) < nodes:
        sizes.append(min(1 << len(sizes), nodes - sum(sizes)))
    return sizes


def _grouped(ask: Ask, first: list[int], sizes: tuple[int, ...]) -> Ask:
    pairs = list(zip(first, sizes, strict=True))
    pinned = ask.pinned
    if pinned is not None and pinned.replicated:
        pinned = Placement(tuple(max(pinned.rows[n : n + m]) for n, m in pairs), replicated=True)
    elif pinned is not None:
        pinned = Placement(tuple(sum(pinned.rows[n : n + m]) for n, m in pairs))
    return Ask(
        ask.name,
        ask.rows,
        tuple(ask.seconds_per_row[n] / m for n, m in pairs),
        tuple(ask.fixed_seconds[n] for n in first),
        ask.granule,
        ask.bytes_per_row,
        ask.work_bytes_per_row,
        ask.work_fixed_bytes,
        pinned,
        ask.kept,
    )


def _links(network: Network, first: list[int], sizes: tuple[int, ...]) -> Network:
    """Return the links between groups: as many at once as the smaller group has nodes."""
    group = [network.groups[n] for n in first]
    latency = tuple(tuple(network.latency_seconds[a][b] for b in group) for a in group)
    speed = tuple(
        tuple(network.bytes_per_second[a][b] * min(m, k) for b, k in zip(group, sizes, strict=True))
        for a, m in zip(group, sizes, strict=True)
    )
    return Network(tuple(range(len(sizes))), latency, speed)
