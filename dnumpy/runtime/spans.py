"""How much longer whole runs on a cluster take than was predicted of their stages.

Tasks teach what tasks take. What lies between them, the scheduler and messages that wait for it,
shows only in a run as a whole. A run of a program that ran before takes what it took. One whose
stages are the same over as many rows, but repeated more or less often, takes as much longer than
was predicted as those took that were like it. Before a program runs on its nodes for the first
time, it is laid out for them here, which takes about as long for each of its stages.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING, Any

from dnumpy.rewrite.stages import FusedStage, owners_of
from dnumpy.runtime.chunked import Chunked
from dnumpy.runtime.records import HERE, call_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dnumpy.rewrite.stages import Stage
    from dnumpy.runtime.records import Record

PARTS = 4  # of an array's rows, to which runs are told apart by where these lie
KEPT_RUNS = 5  # of equal runs, whose median counts
KEPT_RATIOS = 3  # likewise of runs alike: what was predicted changes as tasks teach
MOST_KINDS = 1024  # of runs that are remembered
LAYOUT_SECONDS, LAID_OUT = 1.2e-3, 10.0  # of a stage, and how many stages that is worth
KEPT_LAYOUTS = 0.9  # of what is known of layouts, for each that is added
MOST = 8.0  # times longer or shorter than predicted: what is beyond is an accident
Key = tuple[frozenset[str], int]


def program_of(stages: Sequence[Stage], cluster: object) -> int:
    """Return what runs of the same stages on a cluster share, before any of them has run.

    That is also where most of what they read lies: rows that have been moved are read sooner.
    """
    what = [s.phase if isinstance(s, FusedStage) else call_of(s.expr) for s in stages]
    read = [owner.value for owner in owners_of(stages) if type(owner.value) is Chunked]
    return hash((tuple(what), tuple(map(_lies, read)), id(cluster)))


def _lies(array: Chunked) -> tuple[tuple[str, int], ...]:
    """Return the nodes that hold a good part of an array, and about how large a part each."""
    rows = array.rows_per_node()
    whole = max(1, array.shape[0])
    parts = [(node, round(PARTS * count / whole)) for node, count in rows]
    return tuple([(node, part) for node, part in parts if part])


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
    """What the latest runs of each kind took.

    ``ratios`` are measured over predicted seconds from first to last task; ``whole`` has the
    seconds of runs of the same program; ``laid_out`` are the seconds in which so many
    stages were laid out, of which the latest count most.
    """

    ratios: dict[Key, deque[float]] = field(default_factory=dict)
    whole: dict[int, deque[float]] = field(default_factory=dict)
    last: Record | None = None
    laid_out: tuple[float, float] = (LAID_OUT * LAYOUT_SECONDS, LAID_OUT)

    def note_layout(self, seconds: float, stages: int) -> None:
        """Note what laying out so many stages took."""
        known, count = self.laid_out
        self.laid_out = KEPT_LAYOUTS * known + seconds, KEPT_LAYOUTS * count + stages

    def layout_seconds(self, program: int, stages: int) -> float:
        """Return what laying out a program takes: next to nothing once it ran."""
        if self.seconds(program) is not None:
            return 0.0
        known, count = self.laid_out
        return known / count * stages

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
        for (program, seconds), _ in groupby(away, key=lambda r: (r.program, r.run_seconds)):
            if seconds:
                _note(self.whole, program, seconds, KEPT_RUNS)

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
        ratio = min(max(took / planned, 1 / MOST), MOST)
        _note(self.ratios, key_of((r.what, r.where) for r in busy), ratio, KEPT_RATIOS)

    def seconds(self, program: int) -> float | None:
        """Return what a run of the program takes, None where it never ran."""
        known = self.whole.get(program)
        return median(known) if known else None

    def factor(self, stages: Iterable[tuple[str, Sequence[tuple[str, int]]]]) -> float:
        """Return by what to multiply the seconds from the first task of a run to its last.

        ``stages`` are those of which anything is predicted.
        """
        known = self.ratios.get(key_of(stages))
        return median(known) if known else 1.0


def _note(known: dict[Any, deque[float]], key: Key | int, found: float, most: int) -> None:
    """Add to what is known of a kind of runs."""
    if len(known) >= MOST_KINDS:
        known.clear()
    alike = known.setdefault(key, deque(maxlen=most))
    if len(alike) == 1 and alike[0] > found:
        alike.clear()  # the first one found nothing at hand
    alike.append(found)


here = Spans()
