"""A graph cut into the legs of a relay: each node's tasks as one Dask task (see ``relay``)."""

from __future__ import annotations

from operator import getitem
from typing import TYPE_CHECKING, Any, NamedTuple

from dnumpy.runtime.relay import Argument, Leg, Step, run_lane, run_leg

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dnumpy.runtime.graph import Graph
    from dnumpy.runtime.operands import Ref

MOST_MOVED = 1 << 26  # bytes that are handed over before anybody asks for them
LONGEST_STEP = 5.0  # seconds expected of a stage: in what takes longer, waiting is little of it


class Home(NamedTuple):
    """Where a result comes home: entry ``position`` of what the task ``ref`` gives."""

    ref: Ref
    position: int


class Relayed(NamedTuple):
    """The Dask tasks of a relay, by node, in them the results that come home, and the lanes' keys.

    Every task's result has to be asked for, or Dask would leave it out.
    """

    tasks: dict[str, dict[str, Any]]
    home: dict[str, Home]
    others: tuple[str, ...]


def is_worth_it(graph: Graph, room: float) -> bool:
    """Say whether tasks of the graph wait for one another, and all that they give is little.

    That is, at most ``room`` bytes in all: what legs hold they cannot spill.
    """
    if graph.moved_bytes > MOST_MOVED or graph.made_bytes > room:
        return False
    if graph.longest_seconds > LONGEST_STEP:
        return False
    return any(graph.dependencies(key) & graph.node_of.keys() for key in graph.node_of)


def relayed(graph: Graph, home: Collection[str], stay: Collection[str]) -> Relayed:
    """Return the tasks of a relay; results that ``stay`` are tasks of their old keys."""
    sends: dict[str, dict[str, None]] = {}
    for key, node in graph.node_of.items():
        for needed in graph.dependencies(key):
            if graph.node_of.get(needed, node) != node:
                sends.setdefault(needed, {})[node] = None
    tasks: dict[str, dict[str, Any]] = {}
    found: dict[str, Home] = {}
    others: list[str] = []
    for node in [node for node, own in graph.tasks.items() if own]:
        keys = sorted(graph.tasks[node], key=lambda key: key not in graph.urgent)
        staying = [key for key in keys if key in stay]
        coming = [key for key in keys if key in home]
        leg, external = _leg_of(graph, keys, sends, (*staying, *coming))
        ref, tasks[node] = _lanes(graph, node, leg, external)
        others += tasks[node]
        leg_key = ref.key
        for position, key in enumerate(staying):
            tasks[node][key] = graph.apart(key, getitem, ref, position)
        first = len(staying)
        if staying and coming:  # what stays is not to come along
            ref = _added(graph, tasks, node, "home", getitem, ref, slice(first, None))
            first = 0
        found |= {key: Home(ref, first + k) for k, key in enumerate(coming)}
        if staying:
            others.remove(leg_key)  # nobody is to keep it for what others keep one by one
    return Relayed(tasks, found, tuple(others))


def _leg_of(
    graph: Graph, keys: Sequence[str], sends: dict[str, dict[str, None]], gives: tuple[str, ...]
) -> tuple[Leg, list[Ref]]:
    """Return a node's leg, and what it reads that the graph does not make."""
    external: dict[str, int] = {}
    data: list[Ref] = []

    def argument(arg: Any) -> Argument:
        key = getattr(arg, "key", None)
        if key is None:
            return Argument(arg)
        if key in graph.node_of:
            return Argument(key=key)
        if key not in external:
            external[key] = len(data)
            data.append(arg)
        return Argument(number=external[key])

    steps = []
    for key in keys:
        task = graph.task(key)
        steps.append(Step(key, task.func, tuple([argument(arg) for arg in task.args])))
    to = {key: tuple(sends[key]) for key in keys if key in sends}
    return Leg(graph.run, tuple(steps), to, gives), data


def _lanes(
    graph: Graph, node: str, leg: Leg, external: Sequence[Ref]
) -> tuple[Ref, dict[str, Any]]:
    """Return the tasks that run a leg, one for each thread that it can use, and the first one."""
    tasks: dict[str, dict[str, Any]] = {node: {}}
    ref = _added(graph, tasks, node, "leg", run_leg, leg, *external)
    for _ in range(1, min(graph.nodes.threads(node), len(leg.steps))):
        _added(graph, tasks, node, "lane", run_lane, leg.run)
    return ref, tasks[node]


def _added(graph: Graph, tasks: dict[str, dict[str, Any]], node: str, what: str, *task: Any) -> Ref:
    key = f"dnp{graph.nodes.label(node)}-{what}-{graph.run}-{node}-{len(tasks[node])}"
    function, *args = task
    tasks[node][key] = graph.apart(key, function, *args)
    return graph.ref_to(key)
