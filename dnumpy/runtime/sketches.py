"""Sketches found again: a program that was sketched before is not laid out a second time.

Two runs have one sketch when their stages are the same, their stored operands have the same shapes
and lie in the same rows of the same nodes, and the same results are wanted. What the operands hold
does not matter, and no sketch that is kept refers to any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from dnumpy.config import config
from dnumpy.expr.expr import Const
from dnumpy.plan.cache import PlanCache
from dnumpy.rewrite.stages import FusedStage
from dnumpy.runtime.bind import source_of
from dnumpy.runtime.graph import Nodes
from dnumpy.runtime.planner import Planner
from dnumpy.runtime.sketch import SketchGraph

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Sequence

    from dnumpy.expr.expr import Expr
    from dnumpy.rewrite.stages import Stage
    from dnumpy.runtime.chunked import Source
    from dnumpy.runtime.graph import Segment
    from dnumpy.runtime.sketch import Sketch

ENTRIES = 256


class Cluster(Nodes, Planner, Protocol):
    """The cluster as a sketch sees it."""

    remote: bool  # whether bringing something home costs anything


_known: PlanCache[Sketch] = PlanCache(ENTRIES)


def clear_sketches() -> None:
    """Forget all sketches."""
    _known.clear()


def sketched_again(asked: Asked, sketch: Callable[[], Sketch]) -> Sketch:
    """Return the sketch of what is asked, which ``sketch`` writes if there was none like it."""
    found = _known.find(asked.key)
    if found is None:
        found = sketch()
        found.demands = [
            replace(demand, by_rows=(), across=(), whole=()) for demand in found.demands
        ]
        numbers = {id(source): number for number, (source, _) in asked.stored.items()}
        found.numbers = {
            k: numbers[id(source)]
            for k, source in enumerate(found.sources)
            if id(source) in numbers
        }
        found.sources.clear()
        _known.keep(asked.key, found)
    return found


@dataclass(frozen=True, slots=True)
class Asked:
    """Stages as they are told apart.

    Attributes
    ----------
    key : tuple
        What decides the sketch, and nothing else.
    exact : tuple
        What tasks depend on besides: constants, and how each stored array lies in what tasks gave.
    stored : dict
        The stored arrays that the stages read, by number: where their rows are, of which array.
    """

    key: tuple[Hashable, ...]
    exact: tuple[Hashable, ...]
    stored: dict[int, tuple[Source, list[Segment]]]


def asked_of(stages: Sequence[Stage], cluster: Cluster, wanted: Collection[int] | None) -> Asked:
    """Return how stages on this cluster are told from others."""
    key = _Key(cluster, wanted)
    for stage in stages:
        if isinstance(stage, FusedStage):
            key.fused(stage)
        else:
            key.note("whole")
            key.made_of(stage.expr)
    settings = config.reproducible, config.tile_bytes, config.tile_rows_max
    threads = cluster.threads(cluster.fastest())
    sizes = cluster.home_bytes, cluster.embed_bytes, threads, cluster.remote, wanted is None
    exact = (config.memory_limit, *key.exact)
    return Asked((*settings, *sizes, *key.parts), exact, key.stored)


class _Key:
    """Writes stages down in ``parts``, their arrays as numbers in the order of first mention."""

    def __init__(self, cluster: Cluster, wanted: Collection[int] | None) -> None:
        self.parts: list[Hashable] = []
        self.exact: list[Hashable] = []
        self.stored: dict[int, tuple[Source, list[Segment]]] = {}
        self._given: dict[str, int] = {}  # the tasks whose results stored arrays lie in
        self._cluster = cluster
        self._graph = SketchGraph(cluster)
        self._wanted: Collection[int] = wanted if wanted is not None else ()
        self._numbers: dict[int, int] = {}
        self._stored: dict[Source, int] = {}
        self._count = 0

    def note(self, part: Hashable) -> None:
        """Write down one more part."""
        self.parts.append(part)

    def fused(self, stage: FusedStage) -> None:
        """Write down a phase with what it reads and gives."""
        self.parts += ("fused", stage.phase)
        for arg in stage.inputs:
            self._read(arg)
        for output in stage.outputs:
            self._give(output)
        for position, update in stage.placed.items():
            self.parts += ("placed", position)
            self.made_of(update)

    def made_of(self, expr: Expr) -> None:
        """Write down one op, with what it reads and gives."""
        self.parts += (expr.op, expr.params, len(expr.args))
        for arg in expr.args:
            self._read(arg)
        self._give(expr)

    def _give(self, expr: Expr) -> None:
        self._numbers[id(expr)] = self._count
        self._count += 1
        self.parts += (expr.shape, expr.dtype, id(expr) in self._wanted)
        self.exact.append(expr.dtype.num)  # int64 and longlong compare equal

    def _read(self, arg: Any) -> None:
        """Write down an operand: a scalar, or the views that it is seen through and their array."""
        if type(arg) is Const:
            self.parts.append(None)
            self.exact.append(arg.key())
            return
        expr: Expr = arg
        while id(expr) not in self._numbers and expr.value is None:
            self.parts.append(expr.params)
            expr = expr.operands()[0]
        number = self._numbers.get(id(expr))
        if number is None:
            number = self._numbers[id(expr)] = self._number_of(expr)
        self.parts.append(number)

    def _number_of(self, expr: Expr) -> int:
        """Return the number of a stored array; write down what it is when it is new."""
        source = source_of(expr)
        if source not in self._stored:
            self._stored[source] = self._count
            self._count += 1
            segments = self._graph.segments(source)
            self.stored[self._stored[source]] = source, segments
            self.exact.append(source.dtype.num)
            for s in segments:
                key = getattr(s.arg, "key", "")
                self.exact += (s.item, self._given.setdefault(key, len(self._given)))
            where = [(s.start, s.stop, s.node) for s in segments]
            home: tuple[Hashable, ...] = ()
            if source.expr is not None:
                read = self._graph.file(source) is not None
                holders = self._cluster.holders(source.expr)
                home = (read, self._cluster.mirrored(source.expr), holders)
            self.parts.append(("array", source.shape, source.dtype, home, tuple(where)))
        return self._stored[source]
