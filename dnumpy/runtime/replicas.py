"""Small work done by everybody who reads it, instead of on one node that sends it to the others.

A fold over nodes, with the light steps glued to it, waits for what the nodes left behind, and the
tasks of the next stage wait for the fold: two messages, one after the other, for each step of a
loop. But what a fold reads is about as small as what it gives. So each task that reads one does it
first, by itself, and a step takes one message; the same steps on the same values give the same
bits everywhere. What a task has made so it hands on beside its own outputs, to those that read
both. A fold that no task waits for is done in the client's process, to which the nodes' shares of
it come instead of its result.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any, NamedTuple

from dnumpy.runtime.operands import Made
from dnumpy.runtime.tasks import report_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from dnumpy.runtime.graph import Graph, Outputs
    from dnumpy.runtime.operands import Ref


class Handed(NamedTuple):
    """Outputs that a task made for itself and handed on: where they begin, counted from the end.

    Its partial outputs are followed by the report on how it went.
    """

    rows_back: int
    partials_back: int
    sizes: Outputs

    def of(self, made: Made) -> Made:
        """Return the outputs out of all that the task gave."""
        rows, partials = len(made.rows) - self.rows_back, len(made.partials) - self.partials_back
        report = made.partials[partials + self.sizes.partials]
        return Made(
            made.rows[rows : rows + self.sizes.rows],
            made.partials[partials : partials + self.sizes.partials],
            report.seconds,
            report.faults,
            report.lowering,
            report.ended,
            pace=report.pace,
        )


class Argument(NamedTuple):
    """An argument of a step: number ``at`` of the task's, or what was ``handed`` on in it.

    Numbers below 0 are what the steps before have made: -1 is the first's.
    """

    at: int
    handed: Handed | None = None


class EarlyStep(NamedTuple):
    """A function and its arguments."""

    function: Callable[..., Any]
    arguments: tuple[Argument, ...]

    def run(self, data: Sequence[Ref], before: Sequence[Made]) -> Any:
        """Return what the function gives for them."""
        return self.function(*[_given(argument, data, before) for argument in self.arguments])


def _given(argument: Argument, data: Sequence[Ref], before: Sequence[Made]) -> Any:
    value = data[argument.at] if argument.at >= 0 else before[-1 - argument.at]
    return value if argument.handed is None else argument.handed.of(value)


def run_after(early: tuple[EarlyStep, ...], main: EarlyStep, hands_on: bool, *data: Ref) -> Any:
    """Return what ``main`` makes after the early steps; with ``hands_on``, and what they made."""
    before: list[Made] = []
    for step in early:
        before.append(step.run(data, before))
    made = main.run(data, before)
    if not hands_on:
        return made
    rows = tuple([array for one in before for array in one.rows])
    partials = tuple([entry for one in before for entry in (*one.partials, report_of(one))])
    return made._replace(rows=(*made.rows, *rows), partials=(*made.partials, *partials))


class Replica(NamedTuple):
    """A task that made another's outputs for itself; it is ``small`` if it comes home for them."""

    ref: Ref
    handed: Handed
    small: bool


class Replicas:
    """The light tasks of a graph that others do for themselves, and who did so."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._copyable: set[str] = set()
        self._taken_in = 0  # tasks of the graph that were looked at
        self._made: dict[str, list[Replica]] = defaultdict(list)  # by task
        self._instead: dict[str, Replica] = {}  # of tasks that are no more
        self._at_home: dict[str, Any] = {}  # tasks to be run when what they need has come home

    # while the graph is built ------------------------------------------------------------------

    def may_copy(self, ref: Ref) -> None:
        """Note that what a light task reads is as small as what it gives."""
        self._copyable.add(ref.key)

    def must_not_copy(self, ref: Ref) -> None:
        """Note that a light task gives more than is worth making, or handing on, again."""
        self._copyable.discard(ref.key)

    def take_in(self, made: Iterable[Ref], *, small: bool) -> None:
        """Let the tasks added since the last call do what small work they wait for.

        Those that ``made`` a stage's outputs hand it on; they are ``small`` if these are.
        """
        hands_on = {ref.key for ref in made}
        added = self.graph.added[self._taken_in :]
        self._taken_in = len(self.graph.added)
        for key in added:
            if key in self.graph.node_of and key not in self.graph.light:
                wanted = self._copyable & self.graph.dependencies(key)
                ordered = sorted(wanted, key=self.graph.number_of)
                self._do_first(ordered, key, hands_on=key in hands_on, small=small)

    def _do_first(self, others: list[str], key: str, *, hands_on: bool, small: bool) -> None:
        """Let a task do others, of which it waits for all, before its own work."""
        if not others:
            return
        writer = _Writer(self, {other: -1 - k for k, other in enumerate(others)})
        for other in others:
            writer.near |= self.graph.dependencies(other)
        early = tuple([writer.step(self.graph.task(other)) for other in others])
        main = writer.step(self.graph.task(key))
        self.graph.replace(key, run_after, (early, main, hands_on, *writer.data))
        if not hands_on:
            return
        sizes = [self.graph.light[other] for other in others]
        rows = sum(one.rows for one in sizes)
        partials = sum(one.partials + 1 for one in sizes)
        for other, one in zip(others, sizes, strict=True):
            handed = Handed(rows, partials, one)
            self._made[other].append(Replica(self.graph.refs[key], handed, small))
            rows, partials = rows - one.rows, partials - one.partials - 1

    def made_by(self, key: str, near: Collection[str]) -> Replica | None:
        """Return who did all of a task's work, of those that are near."""
        whole = self.graph.light.get(key)
        near_ones = (one for one in self._made.get(key, ()) if one.ref.key in near)
        return next((one for one in near_ones if one.handed.sizes == whole), None)

    # when it is whole --------------------------------------------------------------------------

    def drop_unread(self, kept: Collection[str], *, remote: bool) -> None:
        """Take out tasks that no task waits for, unless they are to be ``kept``.

        Their work has been done by others, or (``remote``) is done in this process.
        """
        readers: Counter[str] = Counter()
        for key in self.graph.node_of:
            readers.update(self.graph.dependencies(key))
        for key in sorted(self._copyable, key=self.graph.number_of, reverse=True):
            if readers[key] or key in kept:
                continue
            needed = self.graph.dependencies(key)
            small = [one.ref.key for one in self._made.get(key, ()) if one.small]
            instead = self.made_by(key, small)
            if instead is not None:
                self._instead[key] = instead
                self.graph.take_out(key)
            elif remote and needed <= self.graph.node_of.keys():
                writer = _Writer(self, {}, needed)
                step = writer.step(self.graph.take_out(key))
                self._at_home[key] = self.graph.apart(key, run_after, (), step, False, *writer.data)
            else:
                continue
            readers.subtract(needed)

    def needed_for(self, ref: Ref) -> list[Ref]:
        """Return what has to come home so that a task's result is known there."""
        if ref.key in self._instead:
            return [self._instead[ref.key].ref]
        if ref.key not in self._at_home:
            return [ref]
        args = self._at_home[ref.key].args
        return [one for arg in args if hasattr(arg, "key") for one in self.needed_for(arg)]

    def rest(self) -> Rest:
        """Return what is left to do when results have come home."""
        return Rest(self._instead, self._at_home)


class Rest(NamedTuple):
    """What is done in this process: results of tasks that were taken out of a graph.

    Each is ``instead`` what another task has handed on, or made by a task that is run ``at_home``.
    """

    instead: dict[str, Replica]
    at_home: dict[str, Any]

    def complete(self, results: dict[str, Any]) -> None:
        """Add the results of the tasks that were taken out to those of the others."""
        for key, instead in self.instead.items():
            results[key] = instead.handed.of(results[instead.ref.key])
        for key, task in reversed(self.at_home.items()):  # the first before those that read it
            results[key] = task({needed: results[needed] for needed in task.dependencies})


class _Writer:
    """Writes tasks down as steps of one task, whose arguments are ``data``."""

    def __init__(
        self, replicas: Replicas, before: dict[str, int], near: Iterable[str] = ()
    ) -> None:
        self.replicas = replicas
        self.before = before  # where the task is that is done among the steps before
        self.near = set(near)  # tasks whose results are there anyway
        self.data: list[Any] = []
        self._places: dict[int, int] = {}

    def step(self, task: Any) -> EarlyStep:
        """Return the task as a step."""
        return EarlyStep(task.func, tuple([self._argument(arg) for arg in task.args]))

    def _argument(self, arg: Any) -> Argument:
        key = getattr(arg, "key", None)
        if key is not None and key in self.before:
            return Argument(self.before[key])
        replica = self.replicas.made_by(key, self.near) if key is not None else None
        if replica is not None:
            return Argument(self._place(replica.ref), replica.handed)
        return Argument(self._place(arg))

    def _place(self, arg: Any) -> int:
        if id(arg) not in self._places:
            self._places[id(arg)] = len(self.data)
            self.data.append(arg)
        return self._places[id(arg)]
