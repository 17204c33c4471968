"""Whether it pays to bring home what lies on workers, the other way of :mod:`.sending`.

What reads an array on workers runs there, whatever it takes: a message there and back takes 10 ms,
in which this process would have done a hundred small operations. The time by which each evaluation
ends later than here is noted with its largest operand, and goes on with what is made of that; once
all that was lost so is what bringing the operands home takes, and two seconds, they are brought,
and what comes after is decided anew. So the time is at most about twice what it would have been for
somebody who knew, and those two seconds.

Source: the rental of skis, as there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from dnumpy.errors import WorkerLost
from dnumpy.rewrite.stages import owners_of
from dnumpy.runtime import chunked, machine
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.forecast import work_of
from dnumpy.runtime.sending import MUCH, MUCH_BYTES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Expr
    from dnumpy.rewrite.stages import Stage
    from dnumpy.runtime.dask_cluster import DaskCluster


PATIENCE_SECONDS = 2.0  # lost at least: who puts data on workers wants to see them there
MOST_SECONDS = 0.1  # by which one evaluation is held to have ended later than expected


class Account:
    """Seconds by which evaluations of what was made of some data ended later than here."""

    __slots__ = ("expected", "seconds")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.expected: float | None = None  # seconds of the evaluation that has been let go there

    def returns(self, lost: float, bringing: float) -> bool:
        """Note what an evaluation loses there (what it gains counts against that).

        Say whether the operands are worth ``bringing`` seconds to be brought home first.
        """
        returns = self.would_return(lost, bringing)
        self.seconds = 0.0 if returns else max(self.seconds + lost, 0.0)
        return returns

    def would_return(self, lost: float, bringing: float) -> bool:
        """Say what ``returns`` would, and note nothing."""
        return lost > 0 and self.seconds + lost > max(bringing, PATIENCE_SECONDS)

    def took(self, seconds: float) -> None:
        """Note what the evaluation took that was let go: more than expected is lost too."""
        if self.expected is not None:
            self.seconds += min(max(seconds - self.expected, 0.0), MOST_SECONDS)
            self.expected = None


class _Compared(NamedTuple):
    """What is read on workers, and the seconds of the evaluation there and here."""

    read: list[Expr]
    there: float
    here: float
    bringing: float

    @property
    def lost(self) -> float:
        return self.there - self.here

    def largest(self) -> Chunked:
        """Return the value that keeps the account."""
        value: Chunked = max(self.read, key=lambda owner: owner.nbytes).value
        return value


def _compared(stages: Sequence[Stage], cluster: DaskCluster, trip: float) -> _Compared | None:
    """Return the comparison; None where what is read is to stay, or has no room here."""
    if not cluster.home_bytes:  # not even little results are to come home
        return None
    read = owners(stages)
    nbytes = sum(owner.nbytes for owner in read)
    works = [work_of(stage) for stage in stages]
    taken = nbytes + sum(work.rows * work.bytes_per_row for work in works)
    known = cluster.here_and_there(works)
    if known is None or nbytes > MUCH_BYTES or taken > MUCH * machine.free_bytes():
        return None
    here, there = known
    return _Compared(read, there + trip, here, trip + cluster.sending_seconds(nbytes))


def bring_home(stages: Sequence[Stage], cluster: DaskCluster, trip: float) -> bool:
    """Bring home what the stages read from a cluster where that pays; say whether it is here now.

    Asking the cluster takes ``trip`` seconds. What is large, or has no room here, stays there.
    """
    compared = _compared(stages, cluster, trip)
    if compared is None:
        return False
    largest = compared.largest()
    account = largest.account
    if account is None:
        account = largest.account = Account()
    if not account.returns(compared.lost, compared.bringing):
        account.expected = compared.there
        chunked.account[0] = account  # of what is about to be made
        return False
    try:
        for owner in compared.read:
            chunked.read(owner)
    except WorkerLost:  # is told by the evaluation there, which may do without what is lost
        return False
    return True


def bringing_seconds(stages: Sequence[Stage], cluster: DaskCluster, trip: float) -> float | None:
    """Return what bringing the operands home would take; None where they would stay there."""
    compared = _compared(stages, cluster, trip)
    if compared is None:
        return None
    account = compared.largest().account or Account()
    returns = account.would_return(compared.lost, compared.bringing)
    return compared.bringing if returns else None


def note_seconds(seconds: float) -> None:
    """Note what the evaluation took that was let go last, if any was."""
    account, chunked.account[0] = chunked.account[0], None
    if account is not None:
        account.took(seconds)


def owners(stages: Sequence[Stage]) -> list[Expr]:
    """Return the arrays on workers that are read."""
    return [owner for owner in owners_of(stages) if type(owner.value) is Chunked]
