"""How much longer whole runs on a cluster take than was predicted of their stages.

Tasks teach what tasks take. What lies between them, the scheduler and messages that wait for it,
shows only in a run as a whole: equal runs say by how much. Runs are equal here that consist of the
same stages over as many rows, however often each of them is repeated.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING

from dnumpy.runtime.records import HERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dnumpy.runtime.records import Record

KEPT_RUNS = 5  # of equal runs, whose median counts
MOST_KINDS = 1024  # of runs that are remembered
MOST = 8.0  # times longer or shorter than predicted: what is beyond is an accident
Key = tuple[frozenset[str], int]


def key_of(stages: Iterable[tuple[str, Sequence[tuple[str, int]]]]) -> Key:
    """Return what equal runs share, from what each stage does and its (node, rows)."""
    names, most = set(), 0
    for what, where in stages:
        names.add(what.rpartition(" x ")[0] or what)  # stages of one kind, run as one
        most = max(most, sum(rows for _, rows in where))
    return frozenset(names), most


def first_of(stages: Iterable[Sequence[float]]) -> float:
    """Return when the first node begins: what comes before is a round trip, learnt elsewhere."""
    return min((at for starts in stages for at in starts), default=0.0)


def end_of(stages: Iterable[tuple[Sequence[float], Sequence[float]]]) -> float | None:
    """Return when the last node has done its last stage, from starts and seconds of each.

    None where it is not known when the nodes are to begin; stages of which nothing is predicted do
    not count.
    """
    ends: list[float] = []
    for starts, node_seconds in stages:
        if not starts and node_seconds:
            return None
        ends += [at + took for at, took in zip(starts, node_seconds, strict=True) if took]
    return max(ends, default=None)


@dataclass(slots=True)
class Spans:
    """Measured over predicted seconds, from first to last, of the latest runs of each kind."""

    ratios: dict[Key, deque[float]] = field(default_factory=dict)
    last: Record | None = None

    def take_in(self, history: Sequence[Record]) -> None:
        """Learn from the runs that came after those which were taken in last."""
        fresh: list[Record] = []
        for record in reversed(history):
            if record is self.last:
                break
            fresh.append(record)
        if not fresh:
            return
        self.last = fresh[0]
        away = [r for r in reversed(fresh) if r.where and r.where[0][0] != HERE]
        for _, stages in groupby(away, key=lambda record: record.started):
            self._learn(list(stages))

    def _learn(self, stages: Sequence[Record]) -> None:
        planned = end_of([(r.predicted_node_starts, r.predicted_node_seconds) for r in stages])
        busy = [r for r in stages if any(r.predicted_node_seconds) and r.node_starts]
        if planned is None or not busy:
            return
        planned -= first_of(r.predicted_node_starts for r in busy)
        ends = [
            at + took for r in busy for at, took in zip(r.node_starts, r.node_seconds, strict=False)
        ]
        took = max(ends) - first_of(r.node_starts for r in busy)
        if planned <= 0 or took <= 0:
            return
        ratio = took / planned
        if len(self.ratios) >= MOST_KINDS:
            self.ratios.clear()
        key = key_of((r.what, r.where) for r in busy)
        known = self.ratios.setdefault(key, deque(maxlen=KEPT_RUNS))
        if len(known) == 1 and known[0] > ratio:
            known.clear()  # the first one found nothing at hand
        known.append(min(max(ratio, 1 / MOST), MOST))

    def factor(self, stages: Iterable[tuple[str, Sequence[tuple[str, int]]]]) -> float:
        """Return by what to multiply the seconds from the first task of a run to its last.

        ``stages`` are those of which anything is predicted.
        """
        known = self.ratios.get(key_of(stages))
        return median(known) if known else 1.0


here = Spans()
