"""Moves of arrays between nodes, beside the runs that read them where they lie until then.

What moves on workers is copied while the program does something else, by tasks that give way to
those of runs. A run that reads it waits until it has arrived: it would only send the same rows once
more, over the same network. Nodes of this process have their own at once.
"""

from __future__ import annotations

import time
import warnings
import weakref
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dnumpy.errors import ClusterWarning
from dnumpy.runtime.failures import NodesLost
from dnumpy.runtime.graph import Graph, Nodes
from dnumpy.runtime.outputs import replace_parts
from dnumpy.runtime.settling import copied

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from distributed import Future

    from dnumpy.expr.expr import Expr
    from dnumpy.runtime.chunked import Chunked, Part
    from dnumpy.runtime.graph import Segment
    from dnumpy.runtime.operands import Ref
    from dnumpy.runtime.settling import Move

NOT_MOVED = "rows of {} could not be moved to where they are read soonest, and stay: {}"


class Mover(Nodes, Protocol):
    """Nodes on which arrays are moved: beside runs, where they can be."""

    def arrive(self, read: Callable[[], Collection[Expr]]) -> None:
        """Wait until those arrays that are read have arrived that are on their way."""
        ...

    def arrived(self, read: Collection[Expr]) -> AbstractContextManager[float]:
        """Let those arrays lie where they are on their way to, for a look; give what is left of it.

        In seconds, as it was predicted.
        """
        ...

    def move(
        self, graph: Graph, array: Chunked, segments: Sequence[Segment], stay: list[Ref]
    ) -> None:
        """Move an array to where these segments are; ``stay`` is what the graph makes of them."""
        ...


class MovesAtOnce:
    """Nodes that run a graph at once, also one that moves an array."""

    def arrive(self, read: Callable[[], Collection[Expr]]) -> None:
        """Do nothing: nothing is ever on its way."""

    def arrived(self, read: Collection[Expr]) -> AbstractContextManager[float]:  # noqa: ARG002
        """Give 0: all are there."""
        return nullcontext(0.0)

    def move(
        self: Runner, graph: Graph, array: Chunked, segments: Sequence[Segment], stay: list[Ref]
    ) -> None:
        """Move an array to where these segments are."""
        replace_parts(array, segments, self.run(graph, [], stay))


class Runner(Protocol):
    """Nodes that run graphs."""

    def run(self, graph: Graph, home: list[Ref], stay: list[Ref]) -> dict[str, Any]:
        """Run the graph; return by key what comes home, and what holds that which stays."""
        ...


def settle(move: Move, cluster: Mover) -> None:
    """Begin to copy rows of an array to where they are to lie from now on.

    Nodes of this process have copied them when this returns. If that fails, they stay; raises
    NodesLost where nodes were lost on the way.
    """
    graph = Graph(cluster)
    try:
        segments = copied(move, graph)
        stay = [s.arg for s in segments if getattr(s.arg, "key", "") in graph.node_of]
        cluster.move(graph, move.array, segments, stay)
    except NodesLost:
        raise
    except Exception as error:  # noqa: BLE001 - the run that they were moved after has ended well
        warnings.warn(NOT_MOVED.format(move.array, error), ClusterWarning, stacklevel=1)


class _Moving(NamedTuple):
    """An array that is being copied; ``parts`` are those that it had when that began."""

    array: weakref.ref[Chunked]
    parts: tuple[Part, ...]
    segments: Sequence[Segment]
    futures: Mapping[str, Future[Any]]


class Moves:
    """The moves that go on on the workers of a client."""

    def __init__(self) -> None:
        self._moving: list[_Moving] = []
        self._foreseen = False  # whether arrays are looked at where they will lie

    def begin(
        self, array: Chunked, segments: Sequence[Segment], futures: Mapping[str, Future[Any]]
    ) -> None:
        """Note that an array is on its way to where these segments are."""
        assert array.stay is not None
        array.stay.moving = True
        self._moving.append(_Moving(weakref.ref(array), array.parts, segments, futures))

    def __bool__(self) -> bool:
        """Say whether anything is on its way."""
        return bool(self._moving)

    def futures_of(self, arrays: Collection[Chunked]) -> list[Future[Any]]:
        """Return what those arrays wait for that are on their way."""
        waited = [moving for moving in self._moving if moving.array() in arrays]
        return [future for moving in waited for future in moving.futures.values()]

    @contextmanager
    def arrived(self, arrays: Collection[Chunked]) -> Iterator[float]:
        """Let arrays that are on their way lie where they go; give how long that is to take yet."""
        self.take_in()
        found = [(m, one) for m in self._moving if (one := m.array()) is not None and one in arrays]
        due = max((one.stay.due for _, one in found), default=0.0)
        lying = [(one, one.parts) for _, one in found]
        self._foreseen = bool(found)
        try:
            for moving, one in found:
                replace_parts(one, moving.segments, dict(moving.futures))
            yield max(0.0, due - time.monotonic()) if found else 0.0
        finally:
            self._foreseen = False
            for one, parts in lying:
                one.parts = parts

    def is_there(self, future: Future[Any]) -> bool:
        """Say whether a part is on its worker, or looked at as if it were."""
        return future.status == "finished" or (self._foreseen and future.status == "pending")

    def take_in(self) -> None:
        """Let arrays that have arrived lie where they are now; what failed stays where it was."""
        if self._foreseen:
            return
        left, self._moving = self._moving, []
        for moving in left:
            array = moving.array()
            if array is None:  # nobody will read it: the futures go, and with them the copies
                continue
            states = {future.status for future in moving.futures.values()}
            if states <= {"finished", "pending"} and states != {"finished"}:
                self._moving.append(moving)
                continue
            array.stay.moving = False
            if states != {"finished"}:
                _tell(array, moving)
            elif array.parts is moving.parts:  # else some were lost, and made again, meanwhile
                replace_parts(array, moving.segments, dict(moving.futures))


def _tell(array: Chunked, moving: _Moving) -> None:
    """Warn of an error; that a worker was lost the next run will hear."""
    failed = [future for future in moving.futures.values() if future.status == "error"]
    if failed:
        problem = failed[0].exception()
        warnings.warn(NOT_MOVED.format(array, problem), ClusterWarning, stacklevel=1)
