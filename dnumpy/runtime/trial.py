"""What a run on workers takes besides its tasks, tried out: a relay whose steps do nothing.

Each step waits for those before it on its own node and on the two beside it, as sweeps over a grid
do and, but for the number of nodes, folds. What a relay of one step takes is the way there and
back; what each further one adds is what lies between a result and the step that waits for it on
another node: the wire, and what the interpreters on both sides do about a message. A slow node
makes all wait that wait for it; so what a node adds is what it does among those about as fast.
"""

from __future__ import annotations

import time
from math import inf
from statistics import fmean, median
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from uuid import uuid4

from dnumpy.runtime.relay import Argument, Leg, Legs, NodeLeg, Step
from dnumpy.runtime.sealed import Sealed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dnumpy.runtime.operands import Ref

STEPS = 9  # of the longer relay
ROUNDS = 3  # of the shorter one, whose median counts
LONG_ROUNDS = 2  # of the longer one, which is an average by itself
BESIDE = 3  # nodes that wait for one another


class Trial(NamedTuple):
    """Seconds of a run that does nothing, and of small messages between a node's steps and others.

    Between two nodes it is the slower one's.
    """

    trip: float
    hops: Mapping[str, float]


class Player(Protocol):
    """A cluster that runs relays."""

    def play(self, legs: Legs, run: str, external: Sequence[Sequence[Ref]]) -> dict[str, Any]:
        """Run legs under this run's name; return what they give."""
        ...


def trial(cluster: Player, nodes: Sequence[str]) -> Trial:
    """Return what runs on these nodes take besides their tasks; the fastest nodes come first."""
    legs = idle_legs([nodes], 1)
    _played(cluster, legs)  # which opens connections
    trip = median([_played(cluster, legs)[0] for _ in range(ROUNDS)])
    hops = dict.fromkeys(nodes, inf)
    for circles in circles_of(nodes):
        legs = idle_legs(circles, STEPS)
        _played(cluster, legs)
        took = [_played(cluster, legs)[1] for _ in range(LONG_ROUNDS)]
        for node in (node for circle in circles for node in circle):
            hops[node] = min(hops[node], fmean(seconds[node] for seconds in took))
    return Trial(trip, hops)


def circles_of(nodes: Sequence[str]) -> list[list[Sequence[str]]]:
    """Return ways to put nodes into circles, of neighbours in this order; each is in some."""
    last = max(len(nodes) - BESIDE, 0)
    found = []
    for shift in range(min(BESIDE, last + 1)):
        firsts = range(shift, last + 1, BESIDE)
        found.append([nodes[first : first + BESIDE] for first in firsts])
    return found


def _played(cluster: Player, legs: Legs) -> tuple[float, dict[str, float]]:
    """Return the seconds of a relay, and of each step of a longer one on each node."""
    began = time.perf_counter()
    found = cluster.play(legs, uuid4().hex, [[] for _ in legs.nodes])
    took = time.perf_counter() - began
    ends = {leg.node: [found[key] for key in leg.coming] for leg in legs.nodes}
    return took, {node: (at[-1] - at[0]) / (STEPS - 1) for node, at in ends.items()}


def idle_legs(circles: Sequence[Sequence[str]], steps: int) -> Legs:
    """Return a relay of so many steps on each node; the first and the last say when they ran."""
    found = []
    for nodes in circles:
        count = len(nodes)
        for k, node in enumerate(nodes):
            beside = sorted({(k - 1) % count, (k + 1) % count} - {k})
            own = [
                Step(
                    _key(node, step),
                    _now,
                    _arguments([node, *(nodes[other] for other in beside)], step - 1),
                )
                for step in range(steps)
            ]
            to = tuple([nodes[other] for other in beside])
            sends = {_key(node, step): to for step in range(steps - 1) if to}
            coming = tuple(dict.fromkeys((_key(node, 0), _key(node, steps - 1))))
            leg = Sealed.of(Leg("", tuple(own), sends, (), coming))
            found.append(NodeLeg(node, "trial", leg, 1, (), coming))
    return Legs(uuid4().hex, tuple(found))


def _key(node: str, step: int) -> str:
    return f"trial-{node}-{step}"


def _arguments(nodes: Sequence[str], step: int) -> tuple[Argument, ...]:
    return tuple([Argument(key=_key(node, step)) for node in nodes]) if step >= 0 else ()


def _now(*_: Any) -> float:
    return time.perf_counter()
