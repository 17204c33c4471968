"""What a task would take over time on the share of a CPU that its process is allowed.

Control groups hand a share out in periods, of 0.1 s where nobody chose another: after a pause a
short task runs through at full speed, and another one waits for the next period. A node that had
less to do than others looks as fast as one without a limit so, and would be given more than it can
do. What it keeps up is its CPU time over its share.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dnumpy.runtime import measure

if TYPE_CHECKING:
    from collections.abc import Iterator

KNOWN_SECONDS = 5.0  # a limit may be changed while a process runs


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


@contextmanager
def paced(lasting: list[float]) -> Iterator[None]:
    """Add what the block would take over time to ``lasting``, where there is a limit."""
    share = here.now()
    if share >= 1.0:
        yield
        return
    began = time.thread_time()
    try:
        yield
    finally:
        lasting.append((time.thread_time() - began) / share)
