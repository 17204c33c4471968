"""Which bytes go where when a phase reads what another placement made: exact, for uneven rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dnumpy.plan.dag import Edge, Placement, Program

DIRECT_PAIRS = 64  # above, all rows for all nodes are gathered once and go down a tree


@dataclass(frozen=True, slots=True)
class Message:
    """Bytes from one node to another.

    It waits for the producer on its source, and for the messages at the positions ``after``.
    ``round`` orders messages that become ready together.
    """

    source: int
    target: int
    amount: float
    round: int = 0
    after: tuple[int, ...] = ()


def overlaps(
    before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, int]]:
    """Yield (from, to, rows) where a range that is needed meets one that is held.

    Both are in the order of the nodes; the ones needed may overlap one another (halos).
    """
    holders = [(n, lo, hi) for n, (lo, hi) in enumerate(before) if hi > lo]
    first = 0
    for target, (lo, hi) in enumerate(after):
        if hi <= lo:
            continue
        while first < len(holders) and holders[first][2] <= lo:
            first += 1
        at = first
        while at < len(holders) and holders[at][1] < hi:
            source, start, stop = holders[at]
            if min(hi, stop) > max(lo, start):
                yield source, target, min(hi, stop) - max(lo, start)
            at += 1


def needed_ranges(edge: Edge, after: Placement, rows: int) -> list[tuple[int, int]]:
    """Return per node the rows of the producer that an aligned or halo reader needs."""
    if after.replicated:
        return after.ranges()
    halo = edge.halo_rows if edge.access == "halo" else 0
    return [
        (max(0, lo - halo), min(rows, hi + halo)) if hi > lo else (0, 0)
        for lo, hi in after.ranges()
    ]


def messages(program: Program, edge: Edge, before: Placement, after: Placement) -> list[Message]:
    """Return what has to travel for the edge; bytes that are at home already do not."""
    match edge.access:
        case "none":
            return []
        case "fold":
            return _folded(edge, before, after)
        case "other axis" if not (before.replicated or after.replicated):
            return _exchanged(program, edge, before, after)
    if before.replicated:
        return _from_copies(program, edge, before, after)
    if edge.access in {"whole", "other axis"} or after.replicated:
        return _everywhere(edge, before, after)
    needed = needed_ranges(edge, after, program.asks[edge.producer].rows)
    return [
        Message(a, b, rows * edge.bytes_per_row, abs(b - a))
        for a, b, rows in overlaps(before.ranges(), needed)
        if a != b
    ]


def _from_copies(
    program: Program, edge: Edge, before: Placement, after: Placement
) -> list[Message]:
    """Return what nodes without a copy fetch; they take turns among the copies."""
    copies = before.used
    rows = program.asks[edge.producer].rows
    needed = [(0, rows) if n else (0, 0) for n in after.rows]
    if edge.access in {"aligned", "halo"}:
        needed = needed_ranges(edge, after, rows)
    elif edge.access == "other axis" and not after.replicated:
        total = program.asks[edge.consumer].rows
        share = [rows * n / total for n in after.rows]
        needed = [(0, part) for part in share]  # type: ignore[misc]
    short = [n for n in after.used if not before.rows[n]]
    return [
        Message(
            copies[turn % len(copies)],
            n,
            (needed[n][1] - needed[n][0]) * edge.bytes_per_row,
            turn // len(copies),
        )
        for turn, n in enumerate(short)
    ]


def _exchanged(program: Program, edge: Edge, before: Placement, after: Placement) -> list[Message]:
    """Return the exchange for a reader along another axis, in rounds of disjoint pairs."""
    total = program.asks[edge.consumer].rows
    nodes = len(before.rows)
    found = []
    for a in before.used:
        held = before.rows[a] * edge.bytes_per_row / total
        for b in after.used:
            part = program.network.travels(a, b)
            if part:
                found.append(Message(a, b, held * after.rows[b] * part, (b - a) % nodes))
    return found


def _everywhere(edge: Edge, before: Placement, after: Placement) -> list[Message]:
    """Return how all rows get to each reading node: directly, or gathered and down a tree."""
    nodes = len(before.rows)
    if len(before.used) * len(after.used) <= max(DIRECT_PAIRS, len(before.used)):
        return [
            Message(a, b, before.rows[a] * edge.bytes_per_row, (b - a) % nodes)
            for b in after.used
            for a in before.used
            if a != b
        ]
    root = max(after.used, key=lambda n: before.rows[n])
    gathered = [
        Message(a, root, before.rows[a] * edge.bytes_per_row) for a in before.used if a != root
    ]
    amount = sum(before.rows) * edge.bytes_per_row
    return gathered + _spread(root, after, amount, len(gathered), tuple(range(len(gathered))))


def _spread(
    root: int, after: Placement, amount: float, start: int, first: tuple[int, ...]
) -> list[Message]:
    """Return the hops of a binomial tree from the root to all reading nodes."""
    order = [root, *(n for n in after.used if n != root)]
    hops = []
    for i in range(1, len(order)):
        parent = i - (1 << (i.bit_length() - 1))
        wait = (start + parent - 1,) if parent else first
        hops.append(Message(order[parent], order[i], amount, i.bit_length(), wait))
    return hops


def _folded(edge: Edge, before: Placement, after: Placement) -> list[Message]:
    """Return partials up a binomial tree to one reading node, then the result to the others."""
    root = max(after.used, key=lambda n: before.rows[n])
    holders = before.used
    if before.replicated:  # every copy is complete
        holders = () if before.rows[root] else before.used[:1]
    order = [root, *(n for n in holders if n != root)]
    up: list[Message] = []
    into: dict[int, list[int]] = {}
    for i in range(len(order) - 1, 0, -1):
        parent = i - (1 << (i.bit_length() - 1))
        wait = tuple(into.get(i, ()))
        into.setdefault(parent, []).append(len(up))
        up.append(Message(order[i], order[parent], edge.partial_bytes, -i.bit_length(), wait))
    first = tuple(into.get(0, ()))
    return up + _spread(root, after, edge.partial_bytes, len(up), first)


def reshard_seconds(program: Program, edge: Edge, before: Placement, after: Placement) -> float:
    """Return how long the busiest port works for the edge; a lower bound on the reshard."""
    copied = before.replicated or after.replicated
    if edge.access == "other axis" and not copied and len(program.network.latency_seconds) == 1:
        return _exchange_seconds(program, edge, before, after)
    sent: dict[int, float] = {}
    received: dict[int, float] = {}
    net = program.network
    for message in messages(program, edge, before, after):
        a, b = message.source, message.target
        took = net.seconds(a, b, message.amount)
        sent[a] = sent.get(a, 0.0) + took * net.port(a, b)
        received[b] = received.get(b, 0.0) + took * net.port(b, a)
    return max((*sent.values(), *received.values()), default=0.0)


def _exchange_seconds(program: Program, edge: Edge, before: Placement, after: Placement) -> float:
    """Return the same for an exchange over links that are all alike, without writing it down."""
    rows, total = program.asks[edge.producer].rows, program.asks[edge.consumer].rows
    holders, readers = len(before.used), len(after.used)
    most = 0.0
    for held, read in zip(before.rows, after.rows, strict=True):
        both = bool(held and read)
        out = (readers - both, held * (1 - read / total)) if held else (0, 0.0)
        into = (holders - both, (rows - held) * read / total) if read else (0, 0.0)
        for peers, amount in (out, into):
            if peers:
                latency = program.network.seconds(0, 0, 0.0)
                bytes_ = amount * edge.bytes_per_row
                most = max(most, (peers - 1) * latency + program.network.seconds(0, 0, bytes_))
    return most


def moved_bytes(program: Program, edge: Edge, before: Placement, after: Placement) -> float:
    """Return the bytes that the edge puts on the links."""
    return sum(message.amount for message in messages(program, edge, before, after))
