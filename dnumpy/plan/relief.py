"""What would make a program fit that does not, each with its time.

Memory, nodes, blocks of rows, fewer results that stay, or elements of half the bytes.

The elastic question first: of all placements, whatever they hold, which holds least too much? Then
the same for the program with more nodes, and for a block of its rows. Every answer is scored by the
event simulator, like a plan.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, isinf
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from dnumpy.plan.compete import search, starts
from dnumpy.plan.dag import Node, Placement, Program
from dnumpy.plan.events import simulate_program
from dnumpy.plan.infeasible import readable_bytes
from dnumpy.plan.search import Judge
from dnumpy.plan.templates import groups, make_templates

if TYPE_CHECKING:
    from dnumpy.plan.dag import Ask
    from dnumpy.plan.search import Found

MOST_SIMULATIONS = 1500
SEARCH_SECONDS = 0.2  # for each question
MORE_NODES = (1, 2, 3, 4, 6, 8)  # tried in this order
MOST_CLASSES = 4  # of nodes, that are offered
MOST_BLOCKS = 4096
Kind = Literal["memory", "nodes", "blocks", "fewer", "narrower"]


@dataclass(frozen=True, slots=True)
class Option:
    """One way to make the program fit.

    Attributes
    ----------
    kind : {"memory", "nodes", "blocks", "fewer", "narrower"}
    predicted_seconds : float
        Of the program then, by the simulator. Where results are written out, without that.
    more_bytes : tuple of (str, float)
        For ``memory``: which nodes need how many bytes more.
    like, count : str, int
        For ``nodes``: how many more like which node.
    blocks : int
        For ``blocks``: how many blocks of rows go through the same phases one after another.
    written_bytes : float
        For ``blocks``: results that stay to the end and have to leave the memory, block by block.
    let_go : tuple of str
        For ``fewer``: the results that are not to stay to the end.
    """

    kind: Kind
    predicted_seconds: float
    more_bytes: tuple[tuple[str, float], ...] = ()
    like: str = ""
    count: int = 0
    blocks: int = 0
    written_bytes: float = 0.0
    let_go: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the option as a sentence's part."""
        then = f"(predicted {self.predicted_seconds:.3g} s)"
        match self.kind:
            case "memory":
                named = ", ".join(f"{readable_bytes(b)} on {name}" for name, b in self.more_bytes)
                return f"free {named} {then}"
            case "nodes":
                return f"add {self.count} like {self.like} {then}"
            case "blocks":
                written = readable_bytes(self.written_bytes)
                rest = f" and write the {written} of results to files" if self.written_bytes else ""
                return f"go through the rows in {self.blocks} blocks{rest} {then}"
            case "fewer":
                return f"do not keep {', '.join(self.let_go)} {then}"
            case "narrower":
                return f"use float32 in place of float64 {then}"


def options(
    program: Program, seconds: float = SEARCH_SECONDS, *, doubles: bool = False
) -> tuple[Option, ...]:
    """Return what would make the program fit, the fastest first; nothing where it fits.

    Each question is searched for that many seconds; there are up to about thirty. ``doubles`` says
    that the elements are such as could have half the bytes.
    """
    program.verify()
    least = nearest(program, seconds)
    if not least.score[0]:
        return ()
    found = [_memory(program, least), *_nodes(program, seconds), _blocks(program, seconds)]
    found += [_fewer(program, seconds), _narrower(program, seconds) if doubles else None]
    offered = [option for option in found if option is not None]
    return tuple(sorted(offered, key=lambda option: option.predicted_seconds))


def nearest(program: Program, seconds: float) -> Found:
    """Return the plan that holds least too much, and among those the one that ends first."""
    boundless = replace(program, nodes=tuple(Node(node.name) for node in program.nodes))
    tight, wide = make_templates(program), make_templates(boundless)
    templates = [{**some, **others} for some, others in zip(tight, wide, strict=True)]
    judge = Judge(program, MOST_SIMULATIONS)
    for placements, how in starts(program, templates):
        judge.score(placements, how)
    judge.deadline = perf_counter() + seconds
    search(program, [list(few) for few in templates], judge)
    return judge.chosen()


def _memory(program: Program, least: Found) -> Option:
    """Return what the nearest plan holds too much."""
    pairs = zip(program.nodes, least.timeline.peak_bytes, strict=True)
    more = tuple((n.name, peak - n.memory_bytes) for n, peak in pairs if peak > n.memory_bytes)
    return Option("memory", least.timeline.makespan, more_bytes=more)


def _nodes(program: Program, seconds: float) -> list[Option]:
    """Return for each class of nodes how many more of it make the program fit."""
    found = []
    for n in _classes(program):
        for count in MORE_NODES:
            plan = nearest(with_more(program, n, count), seconds)
            if not plan.score[0]:
                name = program.nodes[n].name
                found.append(Option("nodes", plan.timeline.makespan, like=name, count=count))
                break
    return found


def _classes(program: Program) -> list[int]:
    """Return one node of each class, those with most memory first."""
    first: dict[object, int] = {}
    for n, node in enumerate(program.nodes):
        if isinf(node.memory_bytes):  # where arrays come from, and nothing is computed
            continue
        tables = tuple((a.seconds_per_row[n], a.fixed_seconds[n]) for a in program.asks)
        first.setdefault((node.memory_bytes, program.network.groups[n], tables), n)
    most = sorted(first.values(), key=lambda n: -program.nodes[n].memory_bytes)
    return most[:MOST_CLASSES]


def with_more(program: Program, n: int, count: int) -> Program:
    """Return the program with some more nodes like one that it has; pins stay where they are."""

    def wider(ask: Ask) -> Ask:
        lies = ask.pinned
        if lies is not None:
            lies = Placement((*lies.rows, *(0,) * count), lies.replicated)
        return replace(
            ask,
            seconds_per_row=(*ask.seconds_per_row, *(ask.seconds_per_row[n],) * count),
            fixed_seconds=(*ask.fixed_seconds, *(ask.fixed_seconds[n],) * count),
            pinned=lies,
        )

    net, node = program.network, program.nodes[n]
    more = tuple(Node(f"{node.name}+{k + 1}", node.memory_bytes) for k in range(count))
    links = replace(net, groups=(*net.groups, *(net.groups[n],) * count))
    asks = tuple(wider(ask) for ask in program.asks)
    return Program((*program.nodes, *more), links, asks, program.edges)


def _blocks(program: Program, seconds: float) -> Option | None:
    """Return the fewest blocks (to a factor of two) that fit; None where none do."""
    streamed = streamable(program)
    most = max((program.asks[v].granules for v in streamed), default=0)
    count = 2
    while count <= min(most, MOST_BLOCKS):
        block = one_block(program, streamed, count)
        plan = nearest(block, seconds) if block is not None else None
        if block is not None and plan is not None and not plan.score[0]:
            took = _all_blocks(block, plan, streamed, count)
            written = _written(program, streamed)
            return Option("blocks", took, blocks=count, written_bytes=written)
        count *= 2
    return None


def _all_blocks(block: Program, plan: Found, streamed: set[int], count: int) -> float:
    """Return the end of the last block: what is not streamed is done once."""
    zero = (0.0,) * len(block.nodes)
    asks = tuple(
        ask if v in streamed else replace(ask, seconds_per_row=zero, fixed_seconds=zero)
        for v, ask in enumerate(block.asks)
    )
    next_one = simulate_program(replace(block, asks=asks), plan.placements)
    return plan.timeline.makespan + (count - 1) * next_one.makespan


def _fewer(program: Program, seconds: float) -> Option | None:
    """Return which results not to keep, the largest first; None where that is no help."""
    last = program.last_readers()
    stay = [
        v
        for v, ask in enumerate(program.asks)
        if ask.pinned is None and ask.bytes_per_row and (ask.kept or last[v] == v)
    ]
    stay.sort(key=lambda v: -program.asks[v].rows * program.asks[v].bytes_per_row)
    if len(stay) < 2:
        return None
    for count in range(1, len(stay)):
        gone = set(stay[:count])
        plan = nearest(without(program, gone), seconds)
        if not plan.score[0]:
            names = tuple(_sized(program.asks[v]) for v in stay[:count])
            return Option("fewer", plan.timeline.makespan, let_go=names)
    return None


def without(program: Program, gone: set[int]) -> Program:
    """Return the program in which some results are let go of once they are read."""
    last = program.last_readers()
    asks = tuple(
        ask
        if v not in gone
        else replace(ask, kept=False, bytes_per_row=ask.bytes_per_row if last[v] != v else 0.0)
        for v, ask in enumerate(program.asks)
    )
    return replace(program, asks=asks)


def _sized(ask: Ask) -> str:
    return f"{ask.name} ({readable_bytes(ask.rows * ask.bytes_per_row)})"


def _narrower(program: Program, seconds: float) -> Option | None:
    """Return what elements of half the bytes take; None where they do not fit either.

    Memory is half as busy then, and so is what it bounds.
    """
    plan = nearest(halved(program), seconds)
    return None if plan.score[0] else Option("narrower", plan.timeline.makespan)


def halved(program: Program) -> Program:
    """Return the program with elements of half the bytes, each row taking half the time."""
    asks = tuple(
        replace(
            ask,
            seconds_per_row=tuple(s / 2 for s in ask.seconds_per_row),
            bytes_per_row=ask.bytes_per_row / 2,
            work_bytes_per_row=ask.work_bytes_per_row / 2,
        )
        for ask in program.asks
    )
    edges = tuple(
        replace(e, bytes_per_row=e.bytes_per_row / 2, partial_bytes=e.partial_bytes / 2)
        for e in program.edges
    )
    return replace(program, asks=asks, edges=edges)


def _written(program: Program, streamed: set[int]) -> float:
    """Return the bytes of streamed results that stay to the end."""
    last = program.last_readers()
    return sum(
        program.asks[v].rows * program.asks[v].bytes_per_row
        for v in streamed
        if program.asks[v].pinned is None and (program.asks[v].kept or last[v] == v)
    )


def streamable(program: Program) -> set[int]:
    """Return the phases that can be done for a part of their rows at a time.

    Those that read the same rows of one another and not their neighbours, whose rows no reader
    needs all at once, and which read no fold of a streamed phase.
    """
    sets = [set(members) for members in groups(program) if _cut_alike(program, members)]
    part = set().union(*sets)
    whole = [edge for edge in program.edges if edge.access not in {"aligned", "none"}]
    for inside in sets:
        if any(edge.consumer in inside and edge.producer in part for edge in whole):
            part -= inside
    return part


def _cut_alike(program: Program, members: list[int]) -> bool:
    """Return whether the group has several granules, cut alike, that no reader needs together."""
    inside = set(members)
    granules = {program.asks[v].granules for v in members}
    parts = all(
        e.access in {"aligned", "fold", "none"} for e in program.edges if e.producer in inside
    )
    return parts and len(granules) == 1 and max(granules) > 1


def one_block(program: Program, streamed: set[int], count: int) -> Program | None:
    """Return the program for one of so many blocks; None where pinned rows leave it no room.

    What is pinned stays in memory, all of it; results that are kept are there for one block.
    """
    asks, taken = [], [0.0] * len(program.nodes)
    for v, ask in enumerate(program.asks):
        if v not in streamed:
            asks.append(ask)
            continue
        rows = min(ask.rows, -(-ask.granules // count) * ask.granule)
        lies = ask.pinned
        if lies is not None:
            lies = _part(lies, ask.rows, rows)
            for n, (all_, some) in enumerate(zip(ask.pinned.rows, lies.rows, strict=True)):  # type: ignore[union-attr]
                taken[n] += (all_ - some) * ask.bytes_per_row
        asks.append(replace(ask, rows=rows, pinned=lies))
    room = [node.memory_bytes - held for node, held in zip(program.nodes, taken, strict=True)]
    if min(room, default=inf) < 0:
        return None
    nodes = tuple(
        replace(n, memory_bytes=left) for n, left in zip(program.nodes, room, strict=True)
    )
    return replace(program, nodes=nodes, asks=tuple(asks))


def _part(lies: Placement, total: int, rows: int) -> Placement:
    """Return where a block of the rows lies, in the proportion of all rows."""
    if lies.replicated:
        return Placement(tuple(rows if n else 0 for n in lies.rows), replicated=True)
    stops = [0]
    for n in lies.rows:
        stops.append(stops[-1] + n)
    cuts = [stop * rows // total for stop in stops]
    return Placement(tuple(hi - lo for lo, hi in pairwise(cuts)))
