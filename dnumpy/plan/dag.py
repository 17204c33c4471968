"""A program to be placed: its phases, what they read of one another, the nodes and their links.

All values are frozen and plain. An :class:`Ask` is one phase, an :class:`Edge` says which rows of
an earlier phase it reads, a :class:`Program` has both in topological order, and a
:class:`ProgramPlan` is the answer: a :class:`Placement` per ask and what is predicted for it. Rows
of a placement are contiguous ranges in the order of the nodes, or the whole on several nodes.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from hashlib import blake2b
from itertools import accumulate
from math import isfinite
from typing import Literal

Access = Literal["aligned", "halo", "whole", "other axis", "fold", "none"]
ACCESSES: tuple[Access, ...] = ("aligned", "halo", "whole", "other axis", "fold", "none")
SAME_ROWS = frozenset({"aligned", "halo"})
Objective = Literal["latency", "throughput"]
Span = tuple[float, float]
ROUNDING = 1 + 1e-9  # a sum of bytes in another order is the same sum


def require(holds: bool, message: str) -> None:
    """Raise ValueError with the message unless the condition holds."""
    if not holds:
        raise ValueError(message)


@dataclass(frozen=True, slots=True)
class Node:
    """One place that computes: its name and the bytes that a program may use there."""

    name: str
    memory_bytes: float = float("inf")


@dataclass(frozen=True, slots=True)
class Network:
    """Latency and bandwidth between nodes, kept per pair of groups of nodes with equal links.

    ``sizes`` has per group how many nodes each of its nodes stands for, where these are several.
    Links between such nodes are as many as the smaller one has, and an exchange goes on inside.
    """

    groups: tuple[int, ...]
    latency_seconds: tuple[tuple[float, ...], ...]
    bytes_per_second: tuple[tuple[float, ...], ...]
    sizes: tuple[int, ...] = ()

    @classmethod
    def uniform(cls, nodes: int, latency_seconds: float, bytes_per_second: float) -> Network:
        """Return links that are all alike."""
        return cls((0,) * nodes, ((latency_seconds,),), ((bytes_per_second,),))

    def seconds(self, source: int, target: int, amount: float) -> float:
        """Return how long the bytes take from one node to another with both ports free."""
        a, b = self.groups[source], self.groups[target]
        return self.latency_seconds[a][b] + amount / self.bytes_per_second[a][b]

    def travels(self, source: int, target: int) -> float:
        """Return the part of an exchange's bytes between two nodes, or of one, that travels."""
        if source != target:
            return 1.0
        return 1.0 - 1.0 / self.sizes[self.groups[source]] if self.sizes else 0.0

    def port(self, node: int, other: int) -> float:
        """Return the part of a node's port that is taken by what goes between it and another."""
        if not self.sizes:
            return 1.0
        size = self.sizes[self.groups[node]]
        return min(size, self.sizes[self.groups[other]]) / size

    def verify(self) -> None:
        """Raise ValueError unless every pair has a latency and a positive bandwidth."""
        count = 1 + max(self.groups, default=0)
        for table in (self.latency_seconds, self.bytes_per_second):
            square = len(table) >= count and all(len(line) >= count for line in table)
            require(square, f"links of {count} groups need a table of {count} x {count}")
        require(all(s >= 0 for line in self.latency_seconds for s in line), "latency below 0")
        require(all(b > 0 for line in self.bytes_per_second for b in line), "bandwidth not above 0")


@dataclass(frozen=True, slots=True)
class Placement:
    """Rows per node: ranges in the order of the nodes, or with ``replicated`` all rows on each."""

    rows: tuple[int, ...]
    replicated: bool = False

    @property
    def used(self) -> tuple[int, ...]:
        """The nodes that have rows."""
        return tuple(n for n, rows in enumerate(self.rows) if rows)

    def ranges(self) -> list[tuple[int, int]]:
        """Return per node the first row and the row after the last."""
        if self.replicated:
            return [(0, rows) for rows in self.rows]
        return [(stop - rows, stop) for stop, rows in zip(accumulate(self.rows), self.rows)]  # noqa: B905 - two views of one tuple

    def verify(self, rows: int, granule: int = 1) -> None:
        """Raise ValueError unless this places that many rows, cut at whole granules."""
        require(all(n >= 0 for n in self.rows), f"negative rows in {self.rows}")
        if self.replicated:
            require(all(n in {0, rows} for n in self.rows), f"{self.rows}: not {rows} on each node")
            require(any(self.rows), "no node holds the rows")
            return
        require(sum(self.rows) == rows, f"{self.rows} does not tile {rows} rows")
        cuts = {stop for stop in accumulate(self.rows) if stop not in {0, rows}}
        require(all(cut % granule == 0 for cut in cuts), f"{cuts} cuts granules of {granule}")


@dataclass(frozen=True, slots=True)
class Ask:
    """One phase: rows to be placed, and what they cost on each node.

    Attributes
    ----------
    seconds_per_row, fixed_seconds : tuple of float
        Per node; a node without rows costs nothing. Infinite fixed seconds mean: cannot.
    bytes_per_row : float
        Of the result, held until its last reader has ended.
    work_bytes_per_row, work_fixed_bytes : float
        Held beside the result on each node while the phase runs there.
    pinned : Placement, optional
        Given where the rows already lie, or have to lie.
    kept : bool
        The result stays to the end although other phases read it.
    copies : bool
        Whether several nodes may compute all rows, each for itself, so that a reader on each of
        them has the whole without a message. Worth it for what is made of little and read whole by
        many. Runs do not ask for it: of their arrays every row lies on one node.
    """

    name: str
    rows: int
    seconds_per_row: tuple[float, ...]
    fixed_seconds: tuple[float, ...]
    granule: int = 1
    bytes_per_row: float = 0.0
    work_bytes_per_row: float = 0.0
    work_fixed_bytes: float = 0.0
    pinned: Placement | None = None
    kept: bool = False
    copies: bool = True

    @property
    def granules(self) -> int:
        """How many granules cover the rows; the last may be partial."""
        return -(-self.rows // self.granule)

    def seconds(self, node: int, rows: int) -> float:
        """Return how long the node takes for that many rows."""
        return self.fixed_seconds[node] + rows * self.seconds_per_row[node] if rows else 0.0

    def verify(self, nodes: int) -> None:
        """Raise ValueError unless the tables have a plausible entry per node."""
        tables = (self.seconds_per_row, self.fixed_seconds)
        require(all(len(t) == nodes for t in tables), f"{self.name}: tables not of {nodes} nodes")
        require(all(s >= 0 for table in tables for s in table), f"{self.name}: negative seconds")
        require(all(isfinite(s) for s in self.seconds_per_row), f"{self.name}: endless rows")
        require(self.rows >= 1 <= self.granule, f"{self.name}: no rows, or no granule")
        amounts = (self.bytes_per_row, self.work_bytes_per_row, self.work_fixed_bytes)
        require(all(amount >= 0 for amount in amounts), f"{self.name}: negative bytes")
        if self.pinned is not None:
            require(len(self.pinned.rows) == nodes, f"{self.name}: pinned to other nodes")
            self.pinned.verify(self.rows)


@dataclass(frozen=True, slots=True)
class Edge:
    """What the phase ``consumer`` reads of the phase ``producer`` (positions in the program).

    ``aligned``: the rows that it computes; ``halo``: these and ``halo_rows`` on either side;
    ``whole``: all rows on each node; ``other axis``: of every row the part that its own rows are
    in; ``fold``: one partial of ``partial_bytes`` per producing node, combined on the way;
    ``none``: no bytes, only the order.

    ``put_together``: what lies in several pieces is copied into one to be read; otherwise the phase
    reads each piece where it lies.
    """

    producer: int
    consumer: int
    access: Access
    bytes_per_row: float = 0.0
    halo_rows: int = 0
    partial_bytes: float = 0.0
    put_together: bool = True

    def verify(self, asks: tuple[Ask, ...]) -> None:
        """Raise ValueError unless this leads forward between asks that it suits."""
        where = f"edge {self.producer} -> {self.consumer}"
        require(0 <= self.producer < self.consumer < len(asks), f"{where} is not topological")
        require(self.access in ACCESSES, f"{where}: unknown access {self.access}")
        amounts = (self.bytes_per_row, self.halo_rows, self.partial_bytes)
        require(all(amount >= 0 for amount in amounts), f"{where}: negative amounts")
        if self.access in SAME_ROWS:
            same = asks[self.producer].rows == asks[self.consumer].rows
            require(same, f"{where}: {self.access} needs equal rows")


@dataclass(frozen=True, slots=True)
class Program:
    """Phases in topological order, what they read, and where they may run.

    What is longer than ``message_bytes`` arrives in parts, which are put together.

    Of two plans, one that sends more bytes is only worth it where it ends sooner by
    ``moving_margin`` (a part of the time): bytes sent are certain, times are predicted.
    """

    nodes: tuple[Node, ...]
    network: Network
    asks: tuple[Ask, ...]
    edges: tuple[Edge, ...]
    moving_margin: float = 0.0
    message_bytes: float = float("inf")

    def into(self, ask: int) -> tuple[Edge, ...]:
        """Return what the phase reads."""
        return tuple(edge for edge in self.edges if edge.consumer == ask)

    def out_of(self, ask: int) -> tuple[Edge, ...]:
        """Return who reads the phase."""
        return tuple(edge for edge in self.edges if edge.producer == ask)

    def last_readers(self) -> list[int]:
        """Return per phase the last phase that reads its bytes; itself where none does."""
        last = list(range(len(self.asks)))
        for edge in self.edges:
            if edge.access != "none":
                last[edge.producer] = max(last[edge.producer], edge.consumer)
        return last

    def digest(self) -> bytes:
        """Return 16 bytes that two programs share when all but the names are equal."""
        hashed = blake2b(digest_size=16)
        net = self.network
        hashed.update(repr((net.latency_seconds, net.bytes_per_second, self.edges)).encode())
        hashed.update(array("d", [self.message_bytes]).tobytes())
        hashed.update(array("q", net.groups).tobytes())
        hashed.update(array("d", [node.memory_bytes for node in self.nodes]).tobytes())
        for ask in self.asks:
            hashed.update(array("d", ask.seconds_per_row + ask.fixed_seconds).tobytes())
            sizes = (ask.bytes_per_row, ask.work_bytes_per_row, ask.work_fixed_bytes)
            hashed.update(
                repr((ask.rows, ask.granule, sizes, ask.pinned, ask.kept, ask.copies)).encode()
            )
        return hashed.digest()

    def verify(self) -> None:
        """Raise ValueError unless all parts fit together."""
        require(bool(self.nodes) and bool(self.asks), "a program needs nodes and phases")
        require(len(self.network.groups) == len(self.nodes), "links and nodes differ in number")
        require(all(node.memory_bytes >= 0 for node in self.nodes), "negative memory")
        self.network.verify()
        for ask in self.asks:
            ask.verify(len(self.nodes))
        for edge in self.edges:
            edge.verify(self.asks)


@dataclass(frozen=True, slots=True)
class ProgramPlan:
    """Where each phase runs and what is predicted for it.

    Attributes
    ----------
    spans : tuple of tuple of (float, float) or None
        Per phase and node the predicted start and end; None for a node without rows.
    peak_bytes : tuple of float
        Per node, the most that is held at one time.
    how : str
        Which way of searching found the placements.
    period_seconds : float
        Where throughput was asked for: after how long the next run of the program ends, when it is
        started again and again. At best: ports and nodes are never made to wait.
    in_flight : int
        How many runs are under way at a time then; ``peak_bytes`` is for all of them.
    ever_held_bytes : tuple of float
        Per node, all that it holds at some time: in no order of events does it hold more at once.
    """

    placements: tuple[Placement, ...]
    spans: tuple[tuple[Span | None, ...], ...]
    predicted_seconds: float
    peak_bytes: tuple[float, ...]
    how: str
    solver_seconds: float = 0.0
    period_seconds: float = 0.0
    in_flight: int = 1
    ever_held_bytes: tuple[float, ...] = ()

    def verify(self, program: Program) -> None:
        """Raise ValueError unless this answers the program within its nodes' memory."""
        require(len(self.placements) == len(program.asks), "not a placement per phase")
        for ask, placed, spans in zip(program.asks, self.placements, self.spans, strict=True):
            placed.verify(ask.rows, 1 if ask.pinned else ask.granule)
            require(ask.pinned in {None, placed}, f"{ask.name} is pinned elsewhere")
            for rows, span in zip(placed.rows, spans, strict=True):
                require((span is None) == (rows == 0), f"{ask.name}: times and rows differ")
                ends = span is None or 0 <= span[0] <= span[1] <= self.predicted_seconds * ROUNDING
                require(ends, f"{ask.name}: {span} is no time in the run")
        for node, peak in zip(program.nodes, self.peak_bytes, strict=True):
            require(peak <= node.memory_bytes * ROUNDING, f"{node.name} holds {peak:.0f} bytes")
