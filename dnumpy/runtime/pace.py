"""What a task would take over time: on its share of a CPU, and with memory at hand.

Control groups hand a share out in periods, of 0.1 s where nobody chose another: after a pause a
short task runs through at full speed, and another one waits for the next period. A node that had
less to do than others looks as fast as one without a limit so, and would be given more than it can
do. What it keeps up is its CPU time over its share.

Memory that is new to a process costs its first writer what the system takes to find it, which is
ten times as much where a virtual machine has to fetch it from its host: 83 of 120 ms of a sort of
32 MB, and nothing the next time. That is no speed of the node. The system tells how long it worked
for a thread, and whether that met pages that were not there.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from dnumpy.runtime import measure

try:
    import resource
except ImportError:  # pragma: no cover - where there are no such counts
    resource = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator

KNOWN_SECONDS = 5.0  # a limit may be changed while a process runs
TICKS_SECONDS = 0.02  # of the system's time, which it counts in ticks of up to 10 ms
_USAGE: int | None = getattr(resource, "RUSAGE_THREAD", None)


@dataclass(slots=True)
class Share:
    """The share of a CPU that the limits of this process leave to each of its ``threads``."""

    threads: int = 1
    value: float = 1.0
    known_until: float = float("-inf")

    def now(self) -> float:
        """Return the share, looked up every few seconds."""
        at = time.monotonic()
        if at > self.known_until:
            self.value, self.known_until = measure.allowed_share(self.threads), at + KNOWN_SECONDS
        return self.value


here = Share()


class Pace(NamedTuple):
    """How what a block took differs from what it takes over time, in seconds.

    It would take ``lasting`` on the node's share of a CPU, 0 where there is no limit; ``paging`` of
    what it took were for pages that it was the first to touch.
    """

    lasting: float = 0.0
    paging: float = 0.0

    def steady(self, seconds: float) -> float:
        """Return what is longer: what it took, or would take over time."""
        return max(seconds, self.lasting)


EVEN = Pace()


@contextmanager
def paced(found: list[Pace]) -> Iterator[None]:
    """Add the pace of the block to ``found``."""
    share = here.now()
    began, system, faults = _so_far()
    try:
        yield
    finally:
        ended, beyond, met = _so_far()
        lasting = (ended - began) / share if share < 1.0 else 0.0
        took = beyond - system
        paging = took / min(share, 1.0) if met > faults and took >= TICKS_SECONDS else 0.0
        found.append(Pace(lasting, paging))


def _so_far() -> tuple[float, float, int]:
    """Return this thread's CPU time, that of the system for it, and the faults that it met."""
    if _USAGE is None:
        return time.thread_time(), 0.0, 0
    used = resource.getrusage(_USAGE)
    return time.thread_time(), used.ru_stime, used.ru_minflt
