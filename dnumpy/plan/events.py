"""The judge of programs: every phase on every node and every transfer, in the order of events.

What is simulated: a node runs its phases one at a time, in the program's order, each as soon as the
rows that it reads are there; it sends and receives while it computes. A message takes its turn at
its source's and at its target's port when its bytes are ready, in order of readiness, each for
latency + bytes / bandwidth of its pair, and has arrived when it is through both: a message that
waits at one port keeps no other from the other one, as connections that share a link do not. A
result is held from the start of its phase until
its last reader on the node has ended and its last message has left; what is received is held from
the message's start until the reader ends. Rows of which some are received may have to be put
together to be read: while the reader runs it holds a copy of all of them, or else of what is too
long for one message.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf, isinf
from typing import TYPE_CHECKING

from dnumpy.plan.dag import ROUNDING, SAME_ROWS
from dnumpy.plan.reshard import messages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.dag import Edge, Placement, Program, Span
    from dnumpy.plan.reshard import Message

ARRIVES, ENDS, READY = 0, 1, 2  # at one time: bytes arrive, phases end, then messages take ports
FREED, TAKEN, PASSING = 0, 1, 2  # at one time: free, take, and free what was held for no time


@dataclass(frozen=True, slots=True)
class Timeline:
    """What happens when: spans per phase and node, the end of all, and the most bytes per node.

    ``ever_held_bytes`` is all that a node holds at some time: no order of events holds more at
    once. ``busy_seconds`` is how long each node's busiest part works: its phases, its sending or
    its receiving port.
    """

    spans: tuple[tuple[Span | None, ...], ...]
    makespan: float
    peak_bytes: tuple[float, ...]
    sent_bytes: float
    ever_held_bytes: tuple[float, ...] = ()
    busy_seconds: tuple[float, ...] = ()

    def fits(self, program: Program) -> bool:
        """Return whether no node holds more than its memory."""
        return all(
            peak <= node.memory_bytes * ROUNDING
            for peak, node in zip(self.peak_bytes, program.nodes, strict=True)
        )


@dataclass(slots=True)
class _Transfer:
    """One message on its way: the edges that it is of, what it waits for, and when it travels."""

    message: Message
    edges: list[int]
    waits: int
    leads_to: list[int] = field(default_factory=list)
    start: float = 0.0
    took: float = 0.0
    end: float = 0.0


class _Run:
    """One simulation; ``run`` leaves spans and transfers filled in."""

    def __init__(self, program: Program, placements: Sequence[Placement]) -> None:
        self.program, self.placements = program, placements
        nodes, asks = len(program.nodes), len(program.asks)
        self.spans: list[list[Span | None]] = [[None] * nodes for _ in range(asks)]
        self.queues = [[v for v in range(asks) if placements[v].rows[n]] for n in range(nodes)]
        self.at = [0] * nodes
        self.busy = [False] * nodes
        self.sending, self.receiving = [0.0] * nodes, [0.0] * nodes
        self.missing = [[0] * nodes for _ in range(asks)]
        self.unfinished = [len(placed.used) for placed in placements]
        self.transfers: list[_Transfer] = []
        self.sent: dict[tuple[object, ...], tuple[int, int]] = {}
        self.leaving: dict[tuple[int, int], list[int]] = {}
        self.barriers: list[list[int]] = [[] for _ in range(asks)]
        self.heap: list[tuple[float, int, int, int, int]] = []
        for index in range(len(program.edges)):
            self._prepare(index)

    def _prepare(self, index: int) -> None:
        """Write down what the edge makes its reader wait for."""
        edge = self.program.edges[index]
        before, after = self.placements[edge.producer], self.placements[edge.consumer]
        if edge.access == "none":
            self.barriers[edge.producer].append(edge.consumer)
            for n in after.used:
                self.missing[edge.consumer][n] += 1
        first = len(self.transfers)
        same = edge.producer, edge.access, edge.halo_rows, edge.bytes_per_row, after
        if edge.access in SAME_ROWS and same in self.sent:  # what was sent is read again
            for transfer in self.transfers[slice(*self.sent[same])]:
                transfer.edges.append(index)
                self.missing[edge.consumer][transfer.message.target] += 1
            return
        for message in messages(self.program, edge, before, after):
            here = len(self.transfers)
            makes = before.rows[message.source] > 0
            self.transfers.append(_Transfer(message, [index], makes + len(message.after)))
            if makes:
                self.leaving.setdefault((edge.producer, message.source), []).append(here)
            for earlier in message.after:
                self.transfers[first + earlier].leads_to.append(here)
            if after.rows[message.target]:
                self.missing[edge.consumer][message.target] += 1
        self.sent[same] = first, len(self.transfers)

    def run(self) -> None:
        """Let everything happen."""
        for transfer in range(len(self.transfers)):
            if not self.transfers[transfer].waits:
                self._make_ready(transfer, 0.0)
        for n in range(len(self.queues)):
            self._start(n, 0.0)
        while self.heap:
            now, kind, _, what, where = heappop(self.heap)
            if kind == READY:
                self._send(what, now)
            elif kind == ARRIVES:
                self._arrive(what, now)
            else:
                self._end(what, where, now)

    def _make_ready(self, transfer: int, now: float) -> None:
        heappush(self.heap, (now, READY, self.transfers[transfer].message.round, transfer, 0))

    def _start(self, n: int, now: float) -> None:
        """Start the node's next phase if the node is free and its rows are there."""
        if self.busy[n] or self.at[n] == len(self.queues[n]):
            return
        v = self.queues[n][self.at[n]]
        if self.missing[v][n]:
            return
        end = now + self.program.asks[v].seconds(n, self.placements[v].rows[n])
        self.busy[n] = True
        self.spans[v][n] = (now, end)
        heappush(self.heap, (end, ENDS, 0, v, n))

    def _end(self, v: int, n: int, now: float) -> None:
        self.busy[n] = False
        self.at[n] += 1
        for transfer in self.leaving.get((v, n), ()):
            self._release(transfer, now)
        self.unfinished[v] -= 1
        if not self.unfinished[v]:
            for consumer in self.barriers[v]:
                for other in self.placements[consumer].used:
                    self.missing[consumer][other] -= 1
                    self._start(other, now)
        self._start(n, now)

    def _release(self, transfer: int, now: float) -> None:
        self.transfers[transfer].waits -= 1
        if not self.transfers[transfer].waits:
            self._make_ready(transfer, now)

    def _send(self, index: int, now: float) -> None:
        """Give the message its place at both ports."""
        transfer = self.transfers[index]
        source, target = transfer.message.source, transfer.message.target
        net = self.program.network
        transfer.took = net.seconds(source, target, transfer.message.amount)
        leaves, enters = max(now, self.sending[source]), max(now, self.receiving[target])
        self.sending[source] = leaves + transfer.took * net.port(source, target)
        self.receiving[target] = enters + transfer.took * net.port(target, source)
        transfer.start, transfer.end = leaves, max(leaves, enters) + transfer.took
        heappush(self.heap, (transfer.end, ARRIVES, 0, index, 0))

    def _arrive(self, index: int, now: float) -> None:
        transfer = self.transfers[index]
        for later in transfer.leads_to:
            self._release(later, now)
        target = transfer.message.target
        for edge in transfer.edges:
            consumer = self.program.edges[edge].consumer
            if self.placements[consumer].rows[target]:
                self.missing[consumer][target] -= 1
                self._start(target, now)

    def holds(self) -> list[list[tuple[float, int, float]]]:
        """Return per node what it takes and frees, and when."""
        trace: list[list[tuple[float, int, float]]] = [[] for _ in self.queues]
        released = self._released()
        for v, ask in enumerate(self.program.asks):
            for n in self.placements[v].used:
                start, end = self._span(v, n)
                rows = self.placements[v].rows[n]
                _hold(trace[n], start, released[v, n], rows * ask.bytes_per_row)
                work = rows * ask.work_bytes_per_row + ask.work_fixed_bytes
                _hold(trace[n], start, end, work)
        for transfer in self.transfers:
            n = transfer.message.target
            _hold(trace[n], transfer.start, self._read_until(transfer), transfer.message.amount)
        for (index, n), amount in self._assembled().items():
            consumer = self.program.edges[index].consumer
            _hold(trace[n], *self._span(consumer, n), amount)
        return trace

    def _assembled(self) -> dict[tuple[int, int], float]:
        """Return per edge and node the bytes of the rows that are put together there."""
        found: dict[tuple[int, int], float] = {}
        arrived = [(transfer, number) for transfer in self.transfers for number in transfer.edges]
        for transfer, number in arrived:
            edge, n = self.program.edges[number], transfer.message.target
            rows = self.placements[edge.consumer].rows[n]
            if not rows or edge.access == "fold" or isinf(self._memory(transfer.message.source)):
                continue  # what comes from where arrays come from arrives in one piece
            if edge.put_together:
                found[number, n] = self._read_bytes(edge, rows)
            elif transfer.message.amount > self.program.message_bytes:
                before = found.get((number, n), 0.0)
                found[number, n] = before + transfer.message.amount
        return found

    def _read_bytes(self, edge: Edge, rows: int) -> float:
        """Return the bytes that a node with so many rows reads of what the edge leads from."""
        read = self.program.asks[edge.producer].rows
        if edge.access in SAME_ROWS:
            return min(rows + 2 * edge.halo_rows, read) * edge.bytes_per_row
        share = rows / self.program.asks[edge.consumer].rows if edge.access == "other axis" else 1.0
        return read * share * edge.bytes_per_row

    def _memory(self, n: int) -> float:
        return self.program.nodes[n].memory_bytes

    def worked(self) -> tuple[float, ...]:
        """Return per node how long its phases take together, or one of its ports, if longer."""
        works, sends, receives = ([0.0] * len(self.queues) for _ in range(3))
        for ask, placement in zip(self.program.asks, self.placements, strict=True):
            for n in placement.used:
                works[n] += ask.seconds(n, placement.rows[n])
        net = self.program.network
        for transfer in self.transfers:
            a, b = transfer.message.source, transfer.message.target
            sends[a] += transfer.took * net.port(a, b)
            receives[b] += transfer.took * net.port(b, a)
        return tuple(map(max, works, sends, receives))

    def _span(self, v: int, n: int) -> Span:
        span = self.spans[v][n]
        assert span is not None
        return span

    def _read_until(self, transfer: _Transfer) -> float:
        """Return when what the message brought is not needed any more on its target."""
        n = transfer.message.target
        passed_on = max((self.transfers[t].end for t in transfer.leads_to), default=transfer.end)
        readers = [self.program.edges[edge].consumer for edge in transfer.edges]
        return max(
            [passed_on, *(self._span(v, n)[1] for v in readers if self.placements[v].rows[n])]
        )

    def _released(self) -> dict[tuple[int, int], float]:
        """Return per phase and node when its result is not needed any more."""
        reading = [edge for edge in self.program.edges if edge.access != "none"]
        read = {edge.producer for edge in reading}
        until = {}
        for v, ask in enumerate(self.program.asks):
            for n in self.placements[v].used:
                until[v, n] = self._span(v, n)[1] if v in read and not ask.kept else inf
        for (v, n), leaving in self.leaving.items():
            until[v, n] = max(until[v, n], *(self.transfers[t].end for t in leaving))
        for edge in reading:
            for n in self.placements[edge.consumer].used:
                if (edge.producer, n) in until:
                    end = self._span(edge.consumer, n)[1]
                    until[edge.producer, n] = max(until[edge.producer, n], end)
        return until


def _hold(events: list[tuple[float, int, float]], start: float, end: float, amount: float) -> None:
    if amount:
        events.append((start, TAKEN, amount))
        events.append((end, PASSING if end <= start else FREED, -amount))


def _most(events: list[tuple[float, int, float]]) -> float:
    held = most = 0.0
    for _, _, amount in sorted(events):
        held += amount
        most = max(most, held)
    return most


def simulate_program(program: Program, placements: Sequence[Placement]) -> Timeline:
    """Return when everything happens, and the memory that it takes."""
    run = _Run(program, placements)
    run.run()
    holds = run.holds()
    ends = [span[1] for spans in run.spans for span in spans if span is not None]
    return Timeline(
        spans=tuple(tuple(spans) for spans in run.spans),
        makespan=max(ends, default=0.0),
        peak_bytes=tuple(_most(events) for events in holds),
        sent_bytes=sum(transfer.message.amount for transfer in run.transfers),
        ever_held_bytes=tuple(sum(a for _, _, a in events if a > 0) for events in holds),
        busy_seconds=run.worked(),
    )
