"""Placements worth trying for each phase of a program, without a solver.

Memory-capped water-filling for the phase alone and for windows of phases that read the same rows of
one another, the best single node, the 1, 2, 4, ... fastest nodes, copies on all nodes that have
room, where the rows lie now, rows in proportion to memory, and the even split.
"""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise
from math import inf, isfinite
from time import perf_counter
from typing import TYPE_CHECKING

from dnumpy.plan.dag import SAME_ROWS, Placement
from dnumpy.plan.rounding import largest_remainder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnumpy.plan.dag import Ask, Edge, Program

MOST_PER_PHASE = 12
SINGLES = 3  # nodes that are tried alone
MOST_WINDOW = 8  # phases in a window


def needed_bytes(program: Program, v: int) -> tuple[float, float]:
    """Return the bytes per row and on each node that the phase cannot do without.

    Its result, its workspace, and the rows that it reads, which are at home or received. Rows that
    were there before the program take none of what is offered: see :func:`caps`.
    """
    ask = program.asks[v]
    per_row = ask.bytes_per_row + ask.work_bytes_per_row
    fixed = ask.work_fixed_bytes
    for edge in program.into(v):
        rows = program.asks[edge.producer].rows
        if edge.access in SAME_ROWS:
            per_row += edge.bytes_per_row
        elif edge.access == "other axis":
            per_row += edge.bytes_per_row * rows / ask.rows
        elif edge.access == "whole":
            fixed += edge.bytes_per_row * rows
    return per_row, fixed


def caps(program: Program, v: int) -> list[int]:
    """Return per node how many granules of the phase its memory holds, at most all."""
    ask = program.asks[v]
    per_row, fixed = needed_bytes(program, v)
    there = [edge for edge in program.into(v) if _is_there(program, edge)]
    own = per_row - sum(edge.bytes_per_row for edge in there)
    result = []
    for n, (node, starts) in enumerate(zip(program.nodes, ask.fixed_seconds, strict=True)):
        room = node.memory_bytes - fixed
        if room < 0 or not isfinite(starts):
            result.append(0)
            continue
        held = [(_rows_there(program, edge, n), edge.bytes_per_row) for edge in there]
        rows = _rows_within(room, own, held)
        whole = ask.granules if rows >= ask.rows else int(rows) // ask.granule
        result.append(min(ask.granules, whole))
    return result


def _is_there(program: Program, edge: Edge) -> bool:
    """Return whether the rows read lie on nodes, in memory that these do not offer."""
    read = program.asks[edge.producer]
    return edge.access in SAME_ROWS and read.pinned is not None and not read.bytes_per_row


def _rows_there(program: Program, edge: Edge, n: int) -> int:
    lies = program.asks[edge.producer].pinned
    assert lies is not None
    return lies.rows[n]


def _rows_within(room: float, own: float, there: Sequence[tuple[int, float]]) -> float:
    """Return how many rows fit in the room.

    Each takes ``own`` bytes; of what is read, rows beyond those that are there take their bytes.
    """
    taken, rows, row_bytes = 0.0, 0, own
    for count, read in sorted(there):
        more = (count - rows) * row_bytes
        if taken + more > room:
            break
        taken, rows, row_bytes = taken + more, count, row_bytes + read
    return rows + (room - taken) / row_bytes if row_bytes > 0 else inf


def fill(
    seconds: Sequence[float], fixed: Sequence[float], room: Sequence[int], granules: int
) -> list[int] | None:
    """Return granules per node that all end together, exact in whole granules; None if no room.

    ``seconds`` are per granule. Whole granules are exact because each one left over goes to the
    node that would end it first.
    """
    if sum(room) < granules:
        return None
    level = _level(seconds, fixed, room, granules)
    counts = [
        min(cap, int(max(0.0, level - f) / s)) if s > 0 else 0
        for s, f, cap in zip(seconds, fixed, room, strict=True)
    ]
    _take_back(counts, seconds, fixed, granules)
    left = granules - sum(counts)
    for n, (s, f, cap) in enumerate(zip(seconds, fixed, room, strict=True)):
        if s == 0 and f <= level and left:  # rows that cost nothing end with the fixed cost
            counts[n] = min(cap, left)
            left -= counts[n]
    heap = [
        (fixed[n] + (counts[n] + 1) * seconds[n], seconds[n], n)
        for n, cap in enumerate(room)
        if counts[n] < cap
    ]
    heapify(heap)
    for _ in range(granules - sum(counts)):
        _, _, n = heappop(heap)
        counts[n] += 1
        if counts[n] < room[n]:
            heappush(heap, (fixed[n] + (counts[n] + 1) * seconds[n], seconds[n], n))
    return counts


def _take_back(
    counts: list[int], seconds: Sequence[float], fixed: Sequence[float], granules: int
) -> None:
    """Take away the few granules that rounding gave too much, latest end first."""
    while sum(counts) > granules:
        n = max(
            (n for n, count in enumerate(counts) if count),
            key=lambda n: fixed[n] + counts[n] * seconds[n],
        )
        counts[n] -= 1


def _level(
    seconds: Sequence[float], fixed: Sequence[float], room: Sequence[int], granules: int
) -> float:
    """Return when all granules are done if they could be cut at will."""
    events = []
    for s, f, cap in zip(seconds, fixed, room, strict=True):
        if cap:
            events.append((f, 1.0 / s if s > 0 else 0.0, 0.0 if s > 0 else float(cap)))
            if s > 0:
                events.append((f + cap * s, -1.0 / s, 0.0))
    events.sort()
    done = rate = 0.0
    now = 0.0
    for when, change, at_once in events:
        if rate > 0 and done + rate * (when - now) >= granules:
            return now + (granules - done) / rate
        done += rate * (when - now) + at_once
        now, rate = when, max(0.0, rate + change)
        if done >= granules:
            return now
    return now


def placed(ask: Ask, counts: Sequence[int]) -> Placement:
    """Return the placement of that many granules per node; the last one used has the partial."""
    rows = [count * ask.granule for count in counts]
    last = max(n for n, count in enumerate(counts) if count)
    rows[last] -= sum(rows) - ask.rows
    return Placement(tuple(rows))


def groups(program: Program) -> list[list[int]]:
    """Return the phases in sets that read the same rows of one another, each in order."""
    head = list(range(len(program.asks)))
    for edge in program.edges:
        if edge.access in SAME_ROWS and head[edge.producer] != head[edge.consumer]:
            old, new = sorted((head[edge.producer], head[edge.consumer]), reverse=True)
            head = [new if h == old else h for h in head]
    return [[v for v, h in enumerate(head) if h == first] for first in dict.fromkeys(head)]


class Templates:
    """Collects different placements per phase, in the order of their promise."""

    def __init__(self, program: Program, most: int = MOST_PER_PHASE) -> None:
        self._program, self._most = program, most
        self.room = [caps(program, v) for v in range(len(program.asks))]
        self.found: list[dict[Placement, str]] = [{} for _ in program.asks]

    def add(self, v: int, how: str, placement: Placement | None) -> None:
        """Keep the placement if it is new and legal for the phase."""
        ask = self._program.asks[v]
        if ask.pinned is not None:
            self.found[v] = {ask.pinned: "pinned"}
        elif placement is not None and len(self.found[v]) < self._most and self.legal(v, placement):
            self.found[v].setdefault(placement, how)

    def legal(self, v: int, placement: Placement) -> bool:
        """Return whether it places the phase's rows at granules within the memory."""
        ask = self._program.asks[v]
        try:
            placement.verify(ask.rows, ask.granule)
        except ValueError:
            return False
        return all(
            -(-rows // ask.granule) <= cap
            for rows, cap in zip(placement.rows, self.room[v], strict=True)
        )

    def filled(self, phases: Sequence[int], among: Sequence[int] | None = None) -> Placement | None:
        """Return the water-filling of the sum of the phases, in the least room of them.

        ``among`` limits it to some nodes.
        """
        asks = [self._program.asks[v] for v in phases]
        nodes = range(len(self._program.nodes))
        room = [min(self.room[v][n] for v in phases) for n in nodes]
        if among is not None:
            chosen = set(among)
            room = [cap if n in chosen else 0 for n, cap in enumerate(room)]
        granule = asks[0].granule
        counts = fill(
            [sum(ask.seconds_per_row[n] for ask in asks) * granule for n in nodes],
            [sum(ask.fixed_seconds[n] for ask in asks) for n in nodes],
            room,
            asks[0].granules,
        )
        return None if counts is None else placed(asks[0], counts)


def make_templates(
    program: Program, most: int = MOST_PER_PHASE, deadline: float = inf
) -> list[dict[Placement, str]]:
    """Return per phase what is worth trying, with the name of its rule; empty where none fits.

    Or what was found until the clock passed the deadline.
    """
    templates = Templates(program, most)
    _one_node_for_all(program, templates)
    for members in groups(program):
        free = [v for v in members if program.asks[v].pinned is None]
        for v in members:
            if perf_counter() > deadline:
                return templates.found
            templates.add(v, "alone", templates.filled([v]))
        if free:
            _windows(program, templates, free, deadline)
        for v in free:
            if perf_counter() > deadline:
                return templates.found
            _singles_and_fastest(program, templates, v)
            _copies(program, templates, v)
    for members in groups(program):
        _where_it_lies(program, templates, members)
    for v in range(len(program.asks)):
        _others(program, templates, v)
    return templates.found


def _one_node_for_all(program: Program, templates: Templates) -> None:
    """Add the node that ends all phases first, as far as it can do each of them."""
    for v, placement in _on_one_node(program, templates).items():
        templates.add(v, "single", placement)


def _on_one_node(program: Program, templates: Templates) -> dict[int, Placement]:
    """Return each phase on the node that ends all of them first, as far as it has room."""
    free = [v for v, ask in enumerate(program.asks) if ask.pinned is None]
    nodes = range(len(program.nodes))
    able = [n for n in nodes if any(templates.room[v][n] for v in free)]
    if not able:
        return {}

    def cost(n: int) -> tuple[int, float]:
        whole = [v for v in free if templates.room[v][n] == program.asks[v].granules]
        seconds = sum(program.asks[v].seconds(n, program.asks[v].rows) for v in whole)
        return len(free) - len(whole), seconds

    best = min(able, key=cost)
    rows = {v: program.asks[v].rows for v in free}
    return {
        v: Placement(tuple(count if n == best else 0 for n in nodes)) for v, count in rows.items()
    }


def _windows(program: Program, templates: Templates, members: list[int], deadline: float) -> None:
    """Add the water-filling of the whole group, then of shorter windows of its phases."""
    granules = {program.asks[v].granule for v in members}
    if len(granules) > 1:  # only windows of one granule have a common cut
        return
    for length in range(min(len(members), MOST_WINDOW), 1, -1):
        for start in range(len(members) - length + 1):
            if perf_counter() > deadline:
                return
            window = members[start : start + length]
            common = templates.filled(window)
            for v in members if length == len(members) else window:
                templates.add(v, "window", common)


def _singles_and_fastest(program: Program, templates: Templates, v: int) -> None:
    ask = program.asks[v]
    order = sorted(
        (n for n, cap in enumerate(templates.room[v]) if cap),
        key=lambda n: (ask.seconds(n, ask.rows), n),
    )
    count = 1
    while count < len(order):
        how = "single" if count == 1 else f"{count} fastest"
        templates.add(v, how, templates.filled([v], order[:count]))
        count *= 2
    for n in order[1:SINGLES]:
        templates.add(v, "another single", templates.filled([v], [n]))


def _copies(program: Program, templates: Templates, v: int) -> None:
    """Add copies on all nodes, where a reader wants all rows on each of its nodes."""
    ask = program.asks[v]
    if ask.copies and any(edge.access == "whole" for edge in program.out_of(v)):
        rows = tuple(ask.rows if cap == ask.granules else 0 for cap in templates.room[v])
        if sum(map(bool, rows)) > 1:
            templates.add(v, "replicate", Placement(rows, replicated=True))


def _others(program: Program, templates: Templates, v: int) -> None:
    """Add the even split, and the split by memory."""
    ask, room = program.asks[v], templates.room[v]
    if ask.pinned is not None:
        return
    memory = [min(node.memory_bytes, 1e18) for node in program.nodes]
    for how, shares in (("even", [1.0] * len(room)), ("memory", memory)):
        templates.add(v, how, in_proportion(ask, room, shares))


def _where_it_lies(program: Program, templates: Templates, members: Sequence[int]) -> None:
    """Add for all phases of a group where the rows lie now that some of them read."""
    lying = _lying(program, members)
    for v in members if lying is not None else ():
        if program.asks[v].pinned is None:
            templates.add(v, "current", near(lying, program.asks[v]))  # type: ignore[arg-type]


def _lying(program: Program, members: Sequence[int]) -> Placement | None:
    """Return where most bytes of what a group reads lie, if that is where it may be computed."""
    able = [
        all(isfinite(program.asks[v].fixed_seconds[n]) for v in members)
        for n in range(len(program.nodes))
    ]
    most: dict[Placement, float] = {}
    for v in members:
        pinned = program.asks[v].pinned
        if pinned is not None and all(able[n] for n in pinned.used) and not pinned.replicated:
            read = [edge.bytes_per_row for edge in program.out_of(v)]
            most[pinned] = most.get(pinned, 0.0) + max(read, default=0.0)
    return max(most, key=lambda placement: most[placement]) if most else None


def near(placement: Placement, ask: Ask) -> Placement:
    """Return the placement cut at the nearest granules of a phase."""
    stops = [
        ask.rows if stop >= ask.rows else min(round(stop / ask.granule) * ask.granule, ask.rows)
        for stop in accumulate(placement.rows)
    ]
    return Placement(tuple(b - a for a, b in pairwise([0, *stops])))


def in_proportion(ask: Ask, room: Sequence[int], shares: Sequence[float]) -> Placement | None:
    """Return the phase's rows in proportion to the shares, as far as there is room; None if not."""
    speeds = [-s if isfinite(s) else -inf for s in ask.seconds_per_row]
    counts = largest_remainder(shares, ask.granules, room, speeds)
    return None if counts is None else placed(ask, counts)


def plain_plans(program: Program) -> list[tuple[tuple[Placement, ...], str]]:
    """Return the whole plans that take least time to find, those of them that have room.

    Every group of phases filled as one, or where what it reads lies, everything on one node, every
    phase filled alone, and everything even.
    """
    templates = Templates(program)
    filled: dict[int, Placement | None] = {}
    for members in groups(program):
        free = [v for v in members if program.asks[v].pinned is None]
        alike = len({program.asks[v].granule for v in free}) == 1
        common = templates.filled(free) if alike else None
        filled.update({v: common or templates.filled([v]) for v in free})
    even = {
        v: in_proportion(program.asks[v], templates.room[v], [1.0] * len(program.nodes))
        for v in filled
    }
    alone = {v: templates.filled([v]) for v in filled}
    single = {v: p for v, p in _on_one_node(program, templates).items() if templates.legal(v, p)}
    current = dict(filled)
    for members in groups(program):
        lies = _lying(program, members)
        if lies is not None:
            rounded = {v: near(lies, program.asks[v]) for v in members}
            current |= {v: p for v, p in rounded.items() if templates.legal(v, p)}
    plans = []
    rules: tuple[tuple[str, Mapping[int, Placement | None]], ...] = (
        ("window", filled), ("single", single), ("current", current), ("alone", alone),
        ("even", even),
    )  # fmt: skip
    for how, chosen in rules:
        placements = [ask.pinned or chosen.get(v) for v, ask in enumerate(program.asks)]
        found = tuple(placement for placement in placements if placement is not None)
        if len(found) == len(placements):
            plans.append((found, how))
    return plans
