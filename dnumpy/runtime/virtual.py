"""Virtual nodes: nodes of given relative speeds in this process, on Dask's threads.

They run the same graphs as a cluster of workers, so that every test can be run on uneven
partitions.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.config import thread_count
from dnumpy.errors import WorkerLost
from dnumpy.plan.model import NodeRate
from dnumpy.plan.program import plan_rows
from dnumpy.plan.rates import phase_spec
from dnumpy.runtime.files import Identity
from dnumpy.runtime.graph import Graph, Range, Segment
from dnumpy.runtime.moving import MovesAtOnce

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from dnumpy.cost.work import Work
    from dnumpy.expr.expr import Expr
    from dnumpy.plan.model import Plan
    from dnumpy.runtime.chunked import Chunked, Part
    from dnumpy.runtime.demands import Placement
    from dnumpy.runtime.failures import NodesLost
    from dnumpy.runtime.jointly import Joint
    from dnumpy.runtime.operands import Ref
    from dnumpy.runtime.sketch import Sketch
    from dnumpy.runtime.stage_runs import Ran
    from dnumpy.runtime.stored import Identified


INLINE_BYTES = 1 << 16  # made by all tasks together: waking threads would cost more


def _in_line(graph: Graph, keys: Sequence[str]) -> dict[str, Any]:
    """Run the tasks one by one, in the order in which they were added."""
    values: dict[str, Any] = {}
    for key, node in graph.node_of.items():
        task = graph.tasks[node][key]
        values[key] = task({needed: values[needed] for needed in task.dependencies})
    return {key: values[key] for key in keys}


class VirtualCluster(MovesAtOnce):
    """Nodes of this process; rows follow the speeds exactly, whatever they cost."""

    home_bytes = 0
    embed_bytes = float("inf")
    shared = False
    remote = False
    predicts = False  # their speeds are relative
    gone = False
    round_trip = 0.0

    def __init__(self, speeds: tuple[float, ...]) -> None:
        self.speeds = {f"node-{k}": speed for k, speed in enumerate(speeds)}
        self._rates = [NodeRate(node, 1.0 / speed) for node, speed in self.speeds.items()]
        self._pool: ThreadPoolExecutor | None = None

    def plan(
        self,
        name: str,
        work: Work,
        granule: int,
        current: Placement | None,  # noqa: ARG002 - moving rows is free in one process
        transfer_bytes_per_row: float,  # noqa: ARG002 - likewise
        transfer_fixed_bytes: float = 0.0,  # noqa: ARG002 - likewise
        resting_bytes_per_row: float = 0.0,  # noqa: ARG002 - likewise
    ) -> Plan:
        """Return rows in proportion to the speeds."""
        spec = phase_spec(name, work)
        return plan_rows(spec, self._rates, granule, solver_below_seconds=float("inf"))

    def plan_run(self, sketch: Sketch) -> Joint | None:  # noqa: ARG002 - speeds decide
        """Return None: rows follow the speeds, stage by stage."""
        return None

    def plan_elsewhere(self, sketch: Sketch) -> None:
        """Return None: all nodes read the same memory."""

    def mirrored(self, owner: Expr) -> bool:  # noqa: ARG002 - all nodes read the same memory
        """Return True: nothing is copied."""
        return True

    def holders(self, owner: Expr) -> tuple[str, ...]:  # noqa: ARG002 - no plan asks
        """Return nobody: what all nodes read is nobody's."""
        return ()

    def threads(self, node: str) -> int:  # noqa: ARG002 - all alike
        """Return one: the nodes share the threads of this process."""
        return 1

    def fastest(self) -> str:
        """Return the fastest node."""
        return max(self.speeds, key=lambda node: self.speeds[node])

    def room(self) -> float:
        """Return no bound: the nodes share the memory of this process."""
        return float("inf")

    def label(self, node: str) -> str:  # noqa: ARG002 - all alike
        """Return the class of every node."""
        return "local"

    def place(
        self,
        array: np.ndarray,
        node: str,  # noqa: ARG002 - memory is shared
        owner: Expr | None,  # noqa: ARG002 - likewise
        what: Hashable,  # noqa: ARG002 - likewise
    ) -> np.ndarray:
        """Return the array."""
        return array

    def copies(self, owner: Expr) -> list[Segment]:  # noqa: ARG002 - memory is shared
        """Return none: the array itself is everywhere."""
        return []

    def send(self, owner: Expr, lo: int, hi: int, node: str) -> Segment:
        """Return the rows themselves."""
        return Segment(lo, hi, node, owner.value[lo:hi], None)

    def segment(self, part: Part) -> Segment | None:
        """Return the part as a segment."""
        return Segment(part.start, part.stop, part.node, part.data, part.item)

    def see(self, identity: Identified) -> bool:
        """Say whether it is no file: the map of that is memory of this process."""
        return type(identity) is not Identity

    def spread(self, lo: int, hi: int, granule: int) -> list[Range]:  # noqa: ARG002
        """Return one range: nothing is ever lost here."""
        return [Range(self.fastest(), lo, hi)]

    def at_a_time(self) -> int:
        """Return how many tasks run at the same time."""
        return thread_count()

    def run(self, graph: Graph, home: list[Ref], stay: list[Ref]) -> dict[str, Any]:
        """Run the graph on this process's threads; what is small runs inline."""
        from dask import threaded

        keys = list({ref.key for ref in (*home, *stay)})
        if graph.made_bytes < INLINE_BYTES:
            return _in_line(graph, keys)
        merged = {key: task for tasks in graph.tasks.values() for key, task in tasks.items()}
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.at_a_time(), thread_name_prefix="dnumpy-node")
        values = threaded.get(merged, keys, pool=self._pool, num_workers=self.at_a_time())
        return dict(zip(keys, values, strict=True))

    def refresh(self) -> None:
        """Do nothing: the nodes are always there."""

    def learn(self, what: str, work: Work, seen: list[Ran]) -> None:
        """Do nothing: the speeds are given."""

    def learn_round_trip(self, seconds: float) -> None:
        """Do nothing: nothing is predicted."""

    def recover(self, attempt: int, lost: NodesLost) -> None:  # noqa: ARG002
        """Raise WorkerLost: the nodes of this process live as long as it does."""
        raise WorkerLost(str(lost)) from lost

    def bring_home(self, chunked: Chunked) -> np.ndarray:
        """Return all rows in one array of its own, which the caller may write to."""
        return np.ascontiguousarray(np.concatenate([part.data for part in chunked.parts]))
