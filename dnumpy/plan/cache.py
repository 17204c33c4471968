"""Splits already decided, found by what was asked; judged again with the rates of the day."""

from __future__ import annotations

from collections import OrderedDict
from math import inf, log
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from dnumpy.plan.model import NodeRate, PhaseSpec

TIME_BUCKET = 0.02  # times within 2 % of one another are the same question
MEMORY_BUCKET = 0.05
ENTRIES = 1024
Kept = TypeVar("Kept")


def bucket(amount: float, width: float) -> int | float:
    """Return the number of the logarithmic bucket of the amount; 0 and infinity are their own."""
    if amount in {0.0, inf}:
        return amount
    return round(log(amount) / width)


def plan_key(
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    granule: int,
    current: Sequence[int] | None,
    solver_below_seconds: float,
) -> Hashable:
    """Return what decides a split; names of phases and arrays do not."""
    sizes = spec.rows, spec.bytes_per_row, spec.resting_bytes_per_row, spec.fixed_bytes
    return (
        (*sizes, granule, solver_below_seconds),
        tuple(
            (
                n.node,
                bucket(n.seconds_per_row, TIME_BUCKET),
                bucket(n.fixed_seconds, TIME_BUCKET),
                bucket(n.transfer_seconds_per_row, TIME_BUCKET),
                bucket(n.memory_bytes, MEMORY_BUCKET),
            )
            for n in nodes
        ),
        None if current is None else tuple(current),
    )


class PlanCache(Generic[Kept]):
    """The ``ENTRIES`` answers used last; safe to share between threads."""

    def __init__(self, entries: int = ENTRIES) -> None:
        self._entries = entries
        self._splits: OrderedDict[Hashable, Kept] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        """Return how many splits are kept."""
        return len(self._splits)

    def find(self, key: Hashable) -> Kept | None:
        """Return the split kept under the key, if any."""
        with self._lock:
            found = self._splits.get(key)
            if found is not None:
                self._splits.move_to_end(key)
            return found

    def keep(self, key: Hashable, split: Kept) -> None:
        """Keep the split; the one not used for longest makes room."""
        with self._lock:
            self._splits[key] = split
            self._splits.move_to_end(key)
            while len(self._splits) > self._entries:
                self._splits.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._splits.clear()
