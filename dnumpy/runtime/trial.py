"""What a run on workers takes besides its tasks, tried out: a relay whose steps do nothing.

Each step waits for those before it on its own node and on the two beside it, as sweeps over a grid
do and, but for the number of nodes, folds. What a relay of one step takes is the way there and
back; what each further one adds is what lies between a result and the step that waits for it on
another node: the wire, and what the interpreters on both sides do about a message.
"""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING, NamedTuple, Protocol
from uuid import uuid4

from dnumpy.runtime.relay import Argument, Leg, Legs, NodeLeg, Step
from dnumpy.runtime.sealed import Sealed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from dnumpy.runtime.operands import Ref

STEPS = 9  # of the longer relay
ROUNDS = 3  # of each, whose median counts


class Trial(NamedTuple):
    """Seconds of a run that does nothing, and of a small message between two nodes' steps."""

    trip: float
    hop: float


class Player(Protocol):
    """A cluster that runs relays."""

    def play(self, legs: Legs, run: str, external: Sequence[Sequence[Ref]]) -> dict[str, Any]:
        """Run legs under this run's name; return what they give."""
        ...


def trial(cluster: Player, nodes: Sequence[str]) -> Trial:
    """Return what runs on these nodes take besides their tasks."""
    seconds = {}
    for steps in (1, STEPS):
        legs = idle_legs(nodes, steps)
        _played(cluster, legs)  # which opens connections, and the legs
        seconds[steps] = median([_played(cluster, legs) for _ in range(ROUNDS)])
    hop = (seconds[STEPS] - seconds[1]) / (STEPS - 1)
    return Trial(seconds[1], max(hop, 0.0))


def _played(cluster: Player, legs: Legs) -> float:
    began = time.perf_counter()
    cluster.play(legs, uuid4().hex, [[] for _ in legs.nodes])
    return time.perf_counter() - began


def idle_legs(nodes: Sequence[str], steps: int) -> Legs:
    """Return a relay of so many steps on each node."""
    count = len(nodes)
    found = []
    for k, node in enumerate(nodes):
        beside = sorted({(k - 1) % count, (k + 1) % count} - {k})
        own = [
            Step(_key(k, step), _wait, _arguments([k, *beside], step - 1)) for step in range(steps)
        ]
        to = tuple([nodes[other] for other in beside])
        sends = {_key(k, step): to for step in range(steps - 1) if to}
        last = (_key(k, steps - 1),)
        leg = Sealed.of(Leg("", tuple(own), sends, (), last))
        found.append(NodeLeg(node, "trial", leg, 1, (), last))
    return Legs(uuid4().hex, tuple(found))


def _key(node: int, step: int) -> str:
    return f"trial-{node}-{step}"


def _arguments(nodes: Sequence[int], step: int) -> tuple[Argument, ...]:
    return tuple([Argument(key=_key(node, step)) for node in nodes]) if step >= 0 else ()


def _wait(*_: Any) -> int:
    return 0
