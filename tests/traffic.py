"""Meters what a run on in-process nodes would send from node to node, and counts its tasks."""

from __future__ import annotations

import pickle
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.runtime.operands import Made
from dnumpy.runtime.virtual import VirtualCluster
from tests.gathering import spread_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dnumpy.runtime.chunked import Part
    from dnumpy.runtime.graph import Graph, Segment


class Traffic:
    """What runs sent and did: each result travels at most once to each other node."""

    def __init__(self) -> None:
        self.runs = 0
        self.tasks: Counter[str] = Counter()  # by the word in their keys
        self.sent: Counter[str] = Counter()  # bytes, by the word of the task that made them
        self.links: Counter[tuple[str, str]] = Counter()  # bytes, by (from, to)

    @property
    def moved(self) -> int:
        """Return the bytes that went from node to node."""
        return sum(self.sent.values())

    def clear(self) -> None:
        """Forget all."""
        self.runs = 0
        for counter in (self.tasks, self.sent, self.links):
            counter.clear()


def nbytes_of(value: Any) -> int:
    """Return the bytes of a message with this value, without what pickling adds to every message.

    Arrays travel as their bytes.
    """
    buffers: list[pickle.PickleBuffer] = []
    frame = pickle.dumps(value, 5, buffer_callback=buffers.append)
    bare = 1000 if isinstance(value, Made | np.ndarray) else 300
    return sum(len(b.raw()) for b in buffers) + max(len(frame) - bare, 0)


class _Metered:
    """Runs graphs one task after the other, and meters what each reads from other nodes."""

    def __init__(self, traffic: Traffic) -> None:
        self.traffic = traffic
        self.lies: dict[int, tuple[str, Any]] = {}  # by id: the node of an array that stayed

    def segment(self, _cluster: VirtualCluster, part: Part) -> Segment | None:
        self.lies[id(part.data)] = part.node, part.data
        return _SEGMENT(_cluster, part)

    def run(self, _cluster: VirtualCluster, graph: Graph, home: Any, stay: Any) -> dict[str, Any]:
        self.traffic.runs += 1
        values: dict[str, Any] = {}
        there: set[tuple[Any, str]] = set()
        for key, node in graph.node_of.items():
            task = graph.tasks[node][key]
            self.traffic.tasks[key.split("-")[1]] += 1
            for needed in task.dependencies:
                self._send(needed.split("-")[1], graph.node_of[needed], node, values[needed], there)
            for given in task.args:
                known = self.lies.get(id(given))
                if known is not None:
                    self._send("stored", known[0], node, given, there)
            values[key] = task({needed: values[needed] for needed in task.dependencies})
        return {ref.key: values[ref.key] for ref in (*home, *stay)}

    def _send(self, word: str, origin: str, node: str, value: Any, there: set[Any]) -> None:
        if origin == node or (id(value), node) in there:
            return
        there.add((id(value), node))
        size = nbytes_of(value)
        self.traffic.sent[word] += size
        self.traffic.links[origin, node] += size


_SEGMENT, _RUN = VirtualCluster.segment, VirtualCluster.run


@contextmanager
def metered() -> Iterator[Traffic]:
    """Meter all runs on in-process nodes."""
    traffic = Traffic()
    meter = _Metered(traffic)

    def segment(cluster: VirtualCluster, part: Part) -> Segment | None:
        return meter.segment(cluster, part)

    def run(cluster: VirtualCluster, graph: Graph, home: Any, stay: Any) -> dict[str, Any]:
        return meter.run(cluster, graph, home, stay)

    VirtualCluster.segment, VirtualCluster.run = segment, run  # type: ignore[method-assign]
    try:
        yield traffic
    finally:
        VirtualCluster.segment, VirtualCluster.run = _SEGMENT, _RUN  # type: ignore[method-assign]


@contextmanager
def metered_nodes(*speeds: float, tile_rows: int = 5) -> Iterator[Traffic]:
    """Cut every array unevenly over in-process nodes, and meter what travels between them."""
    from dnumpy.config import config

    with spread_out(*speeds), metered() as traffic:
        config.tile_rows_max = tile_rows
        yield traffic
