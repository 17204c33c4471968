"""Small work glued to the task that it waits for: what takes microseconds is no task of its own.

A fold's result, what is computed from it and what is computed from that are one task: each step
adds its row outputs to those of the task, and how it went to its partial outputs. Whoever reads
any of them gets them all, which is why all of them have to be small.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from dnumpy.runtime.tasks import report_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.runtime.graph import Graph
    from dnumpy.runtime.operands import Made, Ref

OWN = -1  # the argument that is what the task has made so far
MOST_SEEN = 256  # tasks that are looked at to see that gluing makes no cycle


class Step(NamedTuple):
    """One of the steps of a task, and which of the task's arguments are its own."""

    function: Callable[..., Made]
    arguments: tuple[int, ...]


class Glued(NamedTuple):
    """Where the outputs of a glued step are: in ``ref``, rows from ``rows`` on, and its report."""

    ref: Ref
    rows: int
    report: int


def run_steps(steps: tuple[Step, ...], *data: Ref) -> Made:
    """Return what the first step makes, with the row outputs and the reports of the others."""
    first, *others = steps
    made = first.function(*[data[k] for k in first.arguments])
    for step in others:
        more = step.function(*[made if k == OWN else data[k] for k in step.arguments])
        made = made._replace(
            rows=(*made.rows, *more.rows), partials=(*made.partials, report_of(more))
        )
    return made


def glue(graph: Graph, ref: Ref) -> Glued | None:
    """Make the task just added a step of a light task on its node that it reads, if there is one.

    None where there is none, or where that would let two tasks wait for one another.
    """
    node = graph.node_of[ref.key]
    needed = graph.dependencies(ref.key)
    hosts = [key for key in needed if key in graph.light and graph.node_of.get(key) == node]
    if not hosts or ref.key not in graph.light:
        return None
    host = max(hosts, key=graph.number_of)
    if any(_waits_for(graph, key, host) for key in needed if key != host):
        return None
    sizes, added = graph.light[host], graph.light.pop(ref.key)
    found = Glued(graph.refs[host], sizes.rows, sizes.partials)
    _append(graph, host, graph.take_out(ref.key))
    graph.light[host] = sizes._replace(rows=sizes.rows + added.rows, partials=sizes.partials + 1)
    return found


def _waits_for(graph: Graph, key: str, host: str) -> bool:
    """Say whether the task, or one that it waits for, waits for the host; yes if it takes long."""
    seen, open_ = {key}, [key]
    while open_:
        here = open_.pop()
        if here == host or len(seen) > MOST_SEEN:
            return True
        if here in graph.node_of and graph.touched_of(here) > graph.number_of(host):
            fresh = set(graph.dependencies(here)) - seen
            seen |= fresh
            open_ += fresh
    return False


def _append(graph: Graph, host: str, added: Any) -> None:
    """Make a task a step of the host."""
    task = graph.tasks[graph.node_of[host]][host]
    args: list[Any] = list(task.args)
    steps: tuple[Step, ...] = (Step(task.func, tuple(range(len(args)))),)
    if task.func is run_steps:
        steps, *args = args
    places = {id(arg): k for k, arg in enumerate(args)}
    own: list[int] = []
    for arg in added.args:
        if getattr(arg, "key", None) == host:
            own.append(OWN)
            continue
        if id(arg) not in places:
            places[id(arg)] = len(args)
            args.append(arg)
        own.append(places[id(arg)])
    steps = (*steps, Step(added.func, tuple(own)))
    graph.replace(host, run_steps, (steps, *args))
