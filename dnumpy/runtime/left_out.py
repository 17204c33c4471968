"""Who of this machine's CPU and GPUs a run leaves out since it does not pay, and the times of both.

It is told of what a forecast was made for: see :mod:`~dnumpy.runtime.forecast`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dnumpy.rewrite.stages import owners_of
from dnumpy.runtime import gpus, sending
from dnumpy.runtime.device_probe import HOST
from dnumpy.runtime.forecast import work_of
from dnumpy.runtime.spans import end_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.rewrite.stages import Stage
    from dnumpy.runtime.cluster import Cluster
    from dnumpy.runtime.devices import Devices
    from dnumpy.runtime.forecast import Forecast

UNKNOWN = "gpu"  # the name of GPUs that nobody has looked at yet


class LeftOut(NamedTuple):
    """A node that gets no rows: what all of it would take there, and what it takes as planned.

    The first has what is sent there in it, and of a GPU that is not known yet what looking at it
    takes.
    """

    node: str
    seconds: float
    chosen: str
    chosen_seconds: float


def left_out(
    stages: Sequence[Stage], where: Cluster | None, told: Sequence[Forecast], looked_at: int
) -> tuple[LeftOut, ...]:
    """Return who is left out of what was ``told`` of the stages on a cluster, None for threads.

    So many bytes of what they give are to be ``looked_at`` here.
    """
    if not gpus.might_be() or not stages:
        return ()
    if where is None:
        return _unsent(stages, looked_at)
    from dnumpy.runtime.devices import Devices  # here: programs of one CPU do without

    return _unused(stages, where, told) if isinstance(where, Devices) else ()


def _unsent(stages: Sequence[Stage], looked_at: int) -> tuple[LeftOut, ...]:
    """Return the GPUs, where sending them what is read takes longer than they would save."""
    known = gpus.known_or_unmeasured()
    found = sending.compared(stages, known, known.sending_seconds(looked_at))
    if found is None or found.pays(counts=False):
        return ()
    names = UNKNOWN if isinstance(known, gpus.Unmeasured) else ", ".join(known.devices)
    return (LeftOut(names, found.there + found.sending, HOST, found.here),)


def _unused(
    stages: Sequence[Stage], nodes: Devices, told: Sequence[Forecast]
) -> tuple[LeftOut, ...]:
    """Return the nodes that get no rows, and would take longer for all of it than is planned."""
    used = {node for forecast in told for node, rows in forecast.where if rows}
    planned = end_of([(forecast.node_starts, forecast.node_seconds) for forecast in told])
    if planned is None:
        planned = sum(forecast.seconds for forecast in told)
    works, owners = [work_of(stage) for stage in stages], owners_of(stages)
    chosen = ", ".join(node for node in nodes.nodes() if node in used)
    alone = {n: nodes.alone_seconds(n, works, owners) for n in nodes.nodes() if n not in used}
    return tuple(
        [LeftOut(n, seconds, chosen, planned) for n, seconds in alone.items() if seconds > planned]
    )
