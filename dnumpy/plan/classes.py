"""Programs over many nodes, planned as programs over a few groups of nodes that are nearly equal.

Nodes whose rates and memory differ by no more than measurements do, and whose links are alike, form
a class, wherever they stand; a class of m is cut into groups of 1, 2, 4, ... so that a part of it
can be used. A group does rows as fast as its nodes together, holds as much as suits the one with
least room for its part, and moves bytes through as many ports as it has nodes. Within a group each
node has rows in proportion to its own speed, so that all of them end together.

A group is simulated as one node. What its nodes send one another meanwhile, and what each of them
receives for itself, is added to the time that its phases take to start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil, log2
from typing import TYPE_CHECKING

import numpy as np

from dnumpy.plan.dag import Ask, Network, Node, Placement, Program
from dnumpy.plan.templates import placed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dnumpy.plan.dag import Edge, ProgramPlan

CLASSES_FROM_NODES = 32
SAME_RATE = 0.15  # from the fastest to the slowest of a class: what repeated measurements differ by
SAME_START = 0.7  # of fixed seconds, which are small and noisy: a factor of two
FEW_NODES = 256  # with more a class is cut into 1, 4, 16, ...
SECONDS_PER_EVENT = 1.2e-5  # of a simulation
BEYOND = 1e6  # the logarithm of what is endless


@dataclass(frozen=True, slots=True)
class Grouped:
    """A program over groups of nodes, and the nodes of each group with their parts of its rows."""

    program: Program
    members: tuple[NDArray[np.int64], ...]
    parts: tuple[NDArray[np.float64], ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each group has."""
        return tuple(len(nodes) for nodes in self.members)

    def expand(self, original: Program, placements: tuple[Placement, ...]) -> tuple[Placement, ...]:
        """Return the placements of the groups as placements of their nodes."""
        known: dict[tuple[Placement, int, int], Placement] = {}
        found = []
        for ask, placement in zip(original.asks, placements, strict=True):
            key = (placement, ask.rows, ask.granule)
            if ask.pinned is None and key not in known:
                known[key] = self._expanded(ask, placement)
            found.append(ask.pinned or known[key])
        return tuple(found)

    def _expanded(self, ask: Ask, placement: Placement) -> Placement:
        counts = np.zeros(sum(self.sizes), np.int64)
        for nodes, parts, rows in zip(self.members, self.parts, placement.rows, strict=True):
            if placement.replicated:
                counts[nodes] = rows
            elif rows:
                granules = -(-rows // ask.granule)
                counts[nodes] = _shared(granules, parts)
        if placement.replicated:
            return Placement(tuple(counts.tolist()), replicated=True)
        return placed(ask, counts.tolist())

    def expanded_plan(self, original: Program, plan: ProgramPlan) -> ProgramPlan:
        """Return the plan of the groups as one of their nodes, with the times of its group each."""
        placements = self.expand(original, plan.placements)
        group = np.empty(sum(self.sizes), np.int64)
        for g, nodes in enumerate(self.members):
            group[nodes] = g
        numbers = group.tolist()
        spans = tuple(
            tuple([line[g] if n else None for g, n in zip(numbers, placement.rows, strict=True)])
            for line, placement in zip(plan.spans, placements, strict=True)
        )
        ever = tuple((ever_held(original, placements) * plan.in_flight).tolist())
        return replace(
            plan, placements=placements, spans=spans, peak_bytes=ever, ever_held_bytes=ever
        )


def in_groups(program: Program) -> Grouped | None:
    """Return the program over groups, or None where these would be more than half the nodes."""
    members = [
        group
        for nodes in _classes(program)
        for group in np.split(nodes, np.cumsum(_sizes(len(nodes), len(program.nodes)))[:-1])
    ]
    if 2 * len(members) > len(program.nodes):
        return None
    speeds = _speeds(program)
    parts = [speeds[nodes] / speeds[nodes].sum() for nodes in members]
    pairs = list(zip(members, parts, strict=True))
    memory, each = _memory(program), _each(program)
    nodes = tuple(
        Node(program.nodes[of[0]].name, _room(memory[of], part, each)) for of, part in pairs
    )
    network = _links(program.network, members)
    inside = [[0.0] * len(members) for _ in program.asks]
    for edge in program.edges:
        for g, of in enumerate(members):
            inside[edge.consumer][g] += _inside(program, edge, of, len(members))
    asks = tuple(_grouped(ask, pairs, more) for ask, more in zip(program.asks, inside, strict=True))
    edges, margin = program.edges, program.moving_margin
    return Grouped(Program(nodes, network, asks, edges, margin), tuple(members), tuple(parts))


def _classes(program: Program) -> list[NDArray[np.int64]]:
    """Return the nodes of each class in order, classes in the order of their first nodes."""
    rates = [ask.seconds_per_row for ask in program.asks]
    starts = [ask.fixed_seconds for ask in program.asks]
    tables = np.array([*rates, _memory(program), *starts], np.float64)
    with np.errstate(divide="ignore"):
        table = np.clip(np.log(tables), -BEYOND, BEYOND)
    width = np.full((len(table), 1), SAME_RATE)
    width[len(rates) + 1 :] = SAME_START
    links = np.array(program.network.groups)
    left = np.lexsort((*table[: len(rates)], links))
    found = []
    while len(left):
        first = left[0]
        near = np.abs(table[:, left] - table[:, [first]]) <= width
        alike = near.all(axis=0) & (links[left] == links[first])
        found.append(np.sort(left[alike]))
        left = left[~alike]
        if 2 * len(found) > len(program.nodes):
            break
    return sorted(found, key=lambda nodes: int(nodes[0]))


def _sizes(nodes: int, all_nodes: int) -> list[int]:
    """Return 1, 2, 4, ... and a rest, which add up to the nodes; where there are many 1, 4, 16."""
    factor = 2 if all_nodes <= FEW_NODES else 4
    sizes: list[int] = []
    while sum(sizes) < nodes:
        sizes.append(min(factor ** len(sizes), nodes - sum(sizes)))
    return sizes


def _speeds(program: Program) -> NDArray[np.float64]:
    """Return how much each node does of all phases in some time; all alike where nothing costs."""
    cost = np.zeros(len(program.nodes))
    for ask in program.asks:
        cost += ask.rows * np.array(ask.seconds_per_row)
    return np.where(cost > 0, 1.0 / np.where(cost > 0, cost, 1.0), 1.0)


def _memory(program: Program) -> NDArray[np.float64]:
    return np.array([node.memory_bytes for node in program.nodes], np.float64)


def _each(program: Program) -> float:
    """Return the most bytes that a phase needs on each node whatever its rows."""
    fixed = [ask.work_fixed_bytes for ask in program.asks]
    for edge in program.edges:
        if edge.access == "whole":
            fixed[edge.consumer] += edge.bytes_per_row * program.asks[edge.producer].rows
    return max(fixed)


def _room(memory: NDArray[np.float64], parts: NDArray[np.float64], each: float) -> float:
    """Return the bytes of a group that its nodes have room for, each for its part."""
    return max(0.0, float(((memory - each) / parts).min()) + each)


def _grouped(
    ask: Ask, pairs: list[tuple[NDArray[np.int64], NDArray[np.float64]]], inside: list[float]
) -> Ask:
    """Return the phase over groups: a group's rows end when its last node ends its part."""
    per_row, fixed = np.array(ask.seconds_per_row), np.array(ask.fixed_seconds)
    pinned = ask.pinned
    if pinned is not None:
        rows = np.array(pinned.rows)
        counts = [rows[of].max() if pinned.replicated else rows[of].sum() for of, _ in pairs]
        pinned = Placement(tuple(map(int, counts)), pinned.replicated)
    return replace(
        ask,
        seconds_per_row=tuple([float((per_row[of] * part).max()) for of, part in pairs]),
        fixed_seconds=tuple(
            [float(fixed[of].mean()) + more for (of, _), more in zip(pairs, inside, strict=True)]
        ),
        pinned=pinned,
    )


def _inside(program: Program, edge: Edge, nodes: NDArray[np.int64], groups: int) -> float:
    """Return what an edge takes among the nodes of a group besides what goes between groups."""
    count, total = len(nodes), len(program.nodes)
    if count == 1 or edge.access in {"none", "aligned"}:
        return 0.0
    link = program.network.groups[nodes[0]]
    latency = program.network.latency_seconds[link][link]
    per_byte = 1.0 / program.network.bytes_per_second[link][link]
    hops = max(1, ceil(log2(total)) - ceil(log2(groups)))  # one tree, of groups and then inside
    held = edge.bytes_per_row * program.asks[edge.producer].rows
    match edge.access:
        case "halo":
            return latency + edge.halo_rows * edge.bytes_per_row * per_byte
        case "fold":
            return hops * (latency + edge.partial_bytes * per_byte)
        case "whole":
            return hops * (latency + held * per_byte)
    return (total - groups) * latency  # the bytes are messages of the group to itself


def _links(network: Network, members: list[NDArray[np.int64]]) -> Network:
    """Return the links between groups: as many at once as the smaller group has nodes."""
    group = [network.groups[nodes[0]] for nodes in members]
    sizes = [len(nodes) for nodes in members]
    latency = tuple(tuple(network.latency_seconds[a][b] for b in group) for a in group)
    speed = tuple(
        tuple(network.bytes_per_second[a][b] * min(m, k) for b, k in zip(group, sizes, strict=True))
        for a, m in zip(group, sizes, strict=True)
    )
    return Network(tuple(range(len(sizes))), latency, speed, tuple(sizes))


def _shared(granules: int, parts: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return whole granules in proportion to the parts, by largest remainders."""
    exact = granules * parts
    counts = exact.astype(np.int64)
    left = granules - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:left]] += 1
    return counts


def ever_held(program: Program, placements: tuple[Placement, ...]) -> NDArray[np.float64]:
    """Return per node no less than all that it holds at some time of the run."""
    rows = [np.array(placement.rows, np.float64) for placement in placements]
    held = np.zeros(len(program.nodes))
    for ask, count in zip(program.asks, rows, strict=True):
        held += count * (ask.bytes_per_row + ask.work_bytes_per_row)
        held += (count > 0) * ask.work_fixed_bytes
    for edge in program.edges:
        before, after = placements[edge.producer], placements[edge.consumer]
        total, reads = program.asks[edge.producer].rows, rows[edge.consumer]
        match edge.access:
            case "fold":
                hops = 2 + ceil(log2(max(2, len(before.rows))))
                held += hops * edge.partial_bytes
            case "whole":
                held += (reads > 0) * edge.bytes_per_row * total
            case "other axis":
                part = np.minimum(1.0, reads / program.asks[edge.consumer].rows)
                held += part * edge.bytes_per_row * total
            case "aligned" | "halo":
                stays = before == after
                held += (0.0 if stays else 2.0 * reads) * edge.bytes_per_row
                if edge.access == "halo" and edge.halo_rows:  # received, and put together
                    held += (reads if stays else 0.0) * edge.bytes_per_row
                    held += (reads > 0) * 4 * edge.halo_rows * edge.bytes_per_row
    return held


def simulation_seconds(program: Program, placements: tuple[Placement, ...]) -> float:
    """Return about how long the simulation of every single node takes."""
    used = [len(placement.used) for placement in placements]
    events = sum(used)
    for edge in program.edges:
        a, b = used[edge.producer], used[edge.consumer]
        if edge.access == "other axis":
            events += a * b
        elif edge.access != "none":
            events += a + b
    return SECONDS_PER_EVENT * events
