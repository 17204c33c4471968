"""Whether it pays to send data that lie in this process to a cluster.

An evaluation that takes less time here than sending what it reads stays here. Where workers would
have done it sooner, the difference is noted with its largest operand: once all that was lost so is
what sending takes, the operand is sent, and stays with the workers. So whatever comes later, the
time is at most twice what it would have been for somebody who knew.

Source: Karlin, Manasse, Rudolph and Sleator, "Competitive snoopy caching", Algorithmica 3 (1988),
the rental of skis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from dnumpy.config import thread_count
from dnumpy.rewrite.stages import owners_of
from dnumpy.runtime import machine
from dnumpy.runtime.files import stored_rows
from dnumpy.runtime.forecast import work_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.cost.work import Work
    from dnumpy.expr.expr import Expr
    from dnumpy.rewrite.stages import Stage

FIRST_SECONDS = 2.0  # to measure workers that are not known
LITTLE_BYTES = 1 << 20  # whose sending is no matter
MUCH_BYTES, MUCH = 1 << 30, 0.25  # what takes more of the free memory than this share is sent
_lost: WeakKeyDictionary[Expr, float] = WeakKeyDictionary()  # seconds, by operand


class Far(Protocol):
    """A cluster to which data may be sent."""

    def here_and_there(self, works: Sequence[Work]) -> tuple[float, float] | None:
        """Return what this process takes, and the nodes together; None where they are not known."""
        ...

    def sending_seconds(self, nbytes: float) -> float:
        """Return what sending so much takes."""
        ...

    def has(self, owner: Expr) -> bool:
        """Say whether the workers together have all rows of an array of this process."""
        ...


class Compared(NamedTuple):
    """What an evaluation takes here, there, and to get there, with the largest operand to send."""

    here: float
    there: float
    sending: float
    largest: Expr

    def pays(self, *, counts: bool) -> bool:
        """Say whether to send what it reads; it ``counts`` where it is about to be done."""
        gained = self.here - self.there
        if gained <= 0 or gained > self.sending:
            return gained > 0
        lost = _lost.get(self.largest, 0.0) + gained
        if counts:
            _lost[self.largest] = lost
        return lost > self.sending


def pays(stages: Sequence[Stage], cluster: Far, trip: float, *, counts: bool) -> bool:
    """Say whether the stages are to be run on a cluster although they read what is here.

    Asking for it and bringing home what is to be looked at takes ``trip`` seconds.
    """
    found = compared(stages, cluster, trip)
    return found is None or found.pays(counts=counts)


def compared(stages: Sequence[Stage], cluster: Far, trip: float) -> Compared | None:
    """Return the comparison; None where little is read that is here, or memory is short."""
    owners = _owners(stages)
    if sum(owner.nbytes for owner in owners) < LITTLE_BYTES:
        return None
    works = [work_of(stage) for stage in stages]
    known = cluster.here_and_there(works)
    taken = sum(work.rows * work.bytes_per_row for work in works)
    if taken > MUCH_BYTES and taken > MUCH * machine.free_bytes():
        return None
    if known is None:
        here = sum(map(_guessed_seconds, works)) / thread_count()
        return Compared(here, 0.0, FIRST_SECONDS, max(owners, key=lambda owner: owner.nbytes))
    unsent = [owner for owner in owners if not cluster.has(owner)]
    sending = cluster.sending_seconds(sum(owner.nbytes for owner in unsent))
    here, there = known
    largest = max(unsent or owners, key=lambda owner: owner.nbytes)
    return Compared(here, there + trip, sending, largest)


def _guessed_seconds(work: Work) -> float:
    """Return about what a thread takes, of which nothing was measured."""
    moved = work.bytes_read + work.bytes_written
    elements = sum(count for _, count in work.loops)
    return work.rows * (moved * 1e-10 + work.flops * 5e-11 + elements * 1e-9)


def _owners(stages: Sequence[Stage]) -> list[Expr]:
    """Return the arrays in this process's memory that are read; what lies in files is not."""
    return [
        owner
        for owner in owners_of(stages)
        if isinstance(owner.value, np.ndarray) and stored_rows(owner.value) is None
    ]
