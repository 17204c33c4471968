"""A graph cut into the legs of a relay: each node's tasks as one Dask task (see ``relay``)."""

from __future__ import annotations

from operator import getitem
from typing import TYPE_CHECKING, Any, NamedTuple

from dnumpy.runtime.relay import Argument, Leg, Legs, NodeLeg, Step, run_lane, run_sealed
from dnumpy.runtime.sealed import Sealed

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dnumpy.runtime.graph import Graph
    from dnumpy.runtime.operands import Ref

MOST_MOVED = 1 << 26  # bytes that are handed over before anybody asks for them
LONGEST_STEP = 5.0  # seconds expected of a stage: in what takes longer, waiting is little of it


class Relayed(NamedTuple):
    """The Dask tasks of a relay, by node, and in them the results that stay.

    Every task's result has to be asked for, or Dask would leave it out: ``others`` are the rest.
    """

    tasks: dict[str, dict[str, Any]]
    stay: dict[str, str]
    others: tuple[str, ...]


def is_worth_it(graph: Graph, wanted: Collection[str], room: float) -> bool:
    """Say whether what the tasks of the graph give is little, in stages that take little.

    That is, at most ``room`` bytes at once: what legs hold they cannot spill. The results
    ``wanted`` they hold to the end. Of tasks that do not wait for one another either, what comes
    home does so sooner (:mod:`~dnumpy.runtime.told`).
    """
    if graph.moved_bytes > MOST_MOVED or any(key not in graph.node_of for key in wanted):
        return False
    return is_in_bounds(graph.live_bytes(wanted), graph.longest_seconds, room)


def is_in_bounds(live_bytes: float, longest_seconds: float, room: float) -> bool:
    """Say whether a relay may hold so much, in stages that are expected to take so long."""
    return live_bytes <= room and longest_seconds <= LONGEST_STEP


def legs_of(
    graph: Graph, home: Collection[str], stay: Collection[str]
) -> tuple[Legs, list[list[Ref]]]:
    """Return the legs of a graph, and what each reads that the graph does not make."""
    sends: dict[str, dict[str, None]] = {}
    for key, node in graph.node_of.items():
        for needed in graph.dependencies(key):
            if graph.node_of.get(needed, node) != node:
                sends.setdefault(needed, {})[node] = None
    legs: list[NodeLeg] = []
    external: list[list[Ref]] = []
    for node in [node for node, own in graph.tasks.items() if own]:
        keys = sorted(graph.tasks[node], key=lambda key: key not in graph.urgent)
        staying = tuple([key for key in keys if key in stay])
        coming = tuple([key for key in keys if key in home])
        leg, data = _leg_of(graph, keys, sends, staying, coming)
        lanes = min(graph.nodes.threads(node), len(leg.steps))
        label = graph.nodes.label(node)
        legs.append(NodeLeg(node, label, Sealed.of(leg), lanes, staying, coming))
        external.append(data)
    return Legs(graph.run, tuple(legs)), external


def _leg_of(
    graph: Graph,
    keys: Sequence[str],
    sends: dict[str, dict[str, None]],
    gives: tuple[str, ...],
    tells: tuple[str, ...],
) -> tuple[Leg, list[Ref]]:
    """Return a node's leg, and what it reads that the graph does not make."""
    external: dict[int | str, int] = {}
    data: list[Ref] = []

    def argument(arg: Any) -> Argument:
        key = getattr(arg, "key", None)
        if key in graph.node_of:
            return Argument(key=key)
        if key is None and id(arg) not in graph.placed:
            return Argument(arg)
        told = id(arg) if key is None else key
        if told not in external:
            external[told] = len(data)
            data.append(arg)
        return Argument(number=external[told])

    steps = []
    for key in keys:
        task = graph.task(key)
        steps.append(Step(key, task.func, tuple([argument(arg) for arg in task.args])))
    to = {key: tuple(sends[key]) for key in keys if key in sends}
    return Leg("", tuple(steps), to, gives, tells), data


def relayed(legs: Legs, run: str, external: Sequence[Sequence[Ref]], topic: str) -> Relayed:
    """Return the tasks of a relay; what the legs read that is not made in them is ``external``.

    Results that stay are tasks, whose keys name the run; one alone is the leg's own. What comes
    home is told to the ``topic``.
    """
    from dask._task_spec import Task, TaskRef  # not before it is needed: it is slow to import

    found = Relayed({}, {}, ())
    others: list[str] = []
    for leg, data in zip(legs.nodes, external, strict=True):
        own = found.tasks[leg.node] = {}

        def added(what: str, *task: Any, leg: NodeLeg = leg, own: dict[str, Any] = own) -> Ref:
            key = f"dnp{leg.label}-{what}-{run}-{leg.node}-{len(own)}"
            own[key] = Task(key, *task)
            return TaskRef(key)

        ref = added("leg", run_sealed, run, topic, leg.sealed, *data)
        for _ in range(1, leg.lanes):
            added("lane", run_lane, run)
        others += own
        if leg.staying:
            others.remove(ref.key)  # nobody is to keep it for what others keep one by one
        if len(leg.staying) == 1:
            found.stay[leg.staying[0]] = ref.key
        else:
            for position, key in enumerate(leg.staying):
                kept = found.stay[key] = key.replace(legs.run, run)
                own[kept] = Task(kept, getitem, ref, position)
    return found._replace(others=tuple(others))
