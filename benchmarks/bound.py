"""The divisible-load lower bound: total work over the sum of the nodes' measured rates.

Work that can be divided at will, lies where it is wanted and costs nothing to start is done soonest
when every node computes from the beginning to the end; then ``seconds = rows / sum(rates)``. What
has to wait for all that came before it (the next step of an iteration, what follows a reshard) is a
step of its own, and the bounds of the steps add up.

The rates are those of the cost model (:func:`dnumpy.cost.estimate.seconds_per_row`) with the
measured profile of each node, for one loop that loads, computes and stores at the same time. Not in
the bound: the client's round trip, the start of tasks, what crosses the network, and what cannot be
divided into less than a row.

Some work cannot do without the network, however it is divided: the rows of a sort come from every
node. :func:`bound_over_links` has the time of what must cross the measured
links, at the same time as the work.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dnumpy.cost.estimate import seconds_per_row

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.cost.work import Work

FUSED = "fused"  # no profile has a table of this name: loops as tiled, overlapped with memory
PRECISION = 1e-6
ROUNDS = 3  # rates depend on the rows, and rows on the rates


@dataclass(frozen=True, slots=True)
class Step:
    """Work between two synchronisations, done ``times`` times one after the other.

    Each row needs ``exchanged`` bytes that lie on all nodes, as much on each as it computed of what
    came before.
    """

    work: Work
    times: int = 1
    exchanged: float = 0.0


def least_seconds(rows: float, rates: Sequence[float]) -> float:
    """Return the seconds below which nodes of these rates (rows per second) cannot do the rows."""
    return rows / sum(rates)


def rate(work: Work, profile: DeviceProfile, rows: float) -> float:
    """Return the rows per second of all threads of a node together, at about this many rows."""
    per_task = max(rows, 1.0) / profile.threads
    return profile.threads / seconds_per_row(work, profile, per_task, FUSED)


def rates(work: Work, profiles: Sequence[DeviceProfile]) -> list[float]:
    """Return the rows per second of each node at the rows that it gets when all end together."""
    shares = [work.rows / len(profiles)] * len(profiles)
    for _ in range(ROUNDS):
        found = [rate(work, one, share) for one, share in zip(profiles, shares, strict=True)]
        shares = [work.rows * each / sum(found) for each in found]
    return found


def bound(steps: Sequence[Step], profiles: Sequence[DeviceProfile]) -> float:
    """Return the seconds below which these nodes cannot do the steps, one after the other."""
    return sum(
        step.times * least_seconds(step.work.rows, rates(step.work, profiles)) for step in steps
    )


def bound_over_links(
    steps: Sequence[Step], profiles: Sequence[DeviceProfile], links: Sequence[float]
) -> float:
    """Return the bound where exchanged rows cross links; ``links`` are bytes per second of a node.

    A node sends and receives at that rate at once, while all compute, and the nodes' shares of what
    is exchanged are those that end soonest.
    """
    return sum(
        step.times * _exchange_seconds(step, rates(step.work, profiles), links)
        if step.exchanged
        else bound([step], profiles)
        for step in steps
    )


def _exchange_seconds(step: Step, speeds: Sequence[float], links: Sequence[float]) -> float:
    """Return the least time in which some shares of the rows can be sent, received and computed.

    A node that has the share ``d`` of the bytes and gets the share ``q`` of the rows sends
    ``d (1 - q)`` of the bytes, receives ``q (1 - d)`` and computes ``q`` of the rows.
    """
    rows, nbytes = step.work.rows, step.work.rows * step.exchanged
    has = [speed / sum(speeds) for speed in speeds]

    def fits(seconds: float) -> bool:
        least = most = 0.0
        for d, speed, link in zip(has, speeds, links, strict=True):
            low = max(1 - seconds * link / (d * nbytes), 0.0)
            high = min(seconds * speed / rows, 1.0)
            if d < 1:
                high = min(high, seconds * link / ((1 - d) * nbytes))
            if low > high:
                return False
            least, most = least + low, most + high
        return least <= 1.0 <= most

    low = least_seconds(rows, speeds)
    high = low + nbytes / min(links)
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def speed_ratio(steps: Sequence[Step], profiles: Sequence[DeviceProfile]) -> float:
    """Return the fastest node's rate over the slowest one's, in the longest step, at equal rows."""
    longest = max(steps, key=lambda step: bound([step], profiles)).work
    found = [rate(longest, one, longest.rows / len(profiles)) for one in profiles]
    return max(found) / min(found)
