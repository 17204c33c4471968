"""What the runs of this process teach about those to come, read off their Records when asked for.

A run is expected to take what equal runs took; where there was none, what the kernel's own timing
says; else what the profile says. The latter two are corrected by how wrong they were for the same
ops, or for whatever else the same resource holds up.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field, replace
from math import exp, log, prod
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from dnumpy.config import thread_count
from dnumpy.cost.correction import LogAverage
from dnumpy.cost.estimate import compile_seconds, first_run, loop_seconds_per_row, seconds
from dnumpy.kernels import cached, llvm_apart
from dnumpy.kernels.at_hand import (
    AHEAD,
    COMPILE_SECONDS,
    KNOWN_AFTER,
    LOAD_SECONDS,
    is_imported,
    lowerings_wait,
)
from dnumpy.kernels.choose import LOWER_AFTER, kernel_for
from dnumpy.kernels.pieces import LONG_SECONDS, PIECES
from dnumpy.kernels.preparing import LOAD_AFTER
from dnumpy.plan.work import op_work, row_bytes
from dnumpy.runtime import machine, works
from dnumpy.runtime.background import once_idle
from dnumpy.runtime.fresh import here as new_memory
from dnumpy.runtime.fresh import untouched_bytes
from dnumpy.runtime.kept import Kept, digest_of
from dnumpy.runtime.memory import SMALLEST, pool
from dnumpy.runtime.profiles import kept_or_calibrated
from dnumpy.runtime.records import HERE

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Sequence

    from dnumpy.cost import DeviceProfile, Work
    from dnumpy.rewrite.phase import Phase
    from dnumpy.runtime.background import Idle
    from dnumpy.runtime.records import Call, Record

SHORTEST_SECONDS = 5e-4  # of a run that teaches: below, it is the interpreter that is timed
KEPT_RUNS = 5  # of equal runs, whose median is what the next one is expected to take
MOST_KINDS = 4096  # of runs that are remembered
SPREAD_WEIGHT = 0.1
SEPARATOR = "\t"
FIRST = "first"  # in place of a lowering: of runs that begin tiled and may be compiled meanwhile
FOUR_OF_FIVE = 1.28  # standard deviations, between which four of five runs fall
LEAST_SPREAD = 0.03
PRIOR_SPREAD = {"runs": 0.15, "kernel": 0.3, "profile": 1.0, "plan": 0.6}


class Expected(NamedTuple):
    """Seconds of a run, with an interval, and what they are from: runs, kernel or profile."""

    seconds: float
    low: float
    high: float
    basis: str


class Kind(NamedTuple):
    """A run before it is made.

    ``key`` is equal for equal runs; ``work`` is None where the profile cannot say anything.
    ``grows`` are the bytes by which the process will hold more than ever before. What ``begins``
    runs tiled until there is a compiled kernel, if it takes long enough to get one; its rows may be
    ``drawn`` by threads in Python.
    """

    key: Hashable
    what: str
    lowering: str
    work: Work | None
    timed: float | None = None  # by the kernel, of all rows
    grows: float = 0.0
    begins: bool = False
    drawn: bool = False


@dataclass(slots=True)
class _Spread:
    """The standard deviation of the logarithm of measured over expected."""

    variance: float

    def observe(self, residual: float) -> None:
        self.variance += SPREAD_WEIGHT * (residual * residual - self.variance)

    def factor(self) -> float:
        return exp(FOUR_OF_FIVE * max(self.variance**0.5, LEAST_SPREAD))


@dataclass(slots=True)
class Runs:
    """What is known from runs on this process's threads."""

    times: dict[tuple[Hashable, str], deque[float]] = field(default_factory=dict)
    factors: dict[tuple[str, str, str], LogAverage] = field(default_factory=dict)
    spreads: dict[str, _Spread] = field(
        default_factory=lambda: {k: _Spread(v * v) for k, v in PRIOR_SPREAD.items()}
    )
    predicted: dict[int, tuple[Record, Expected]] = field(default_factory=dict)
    told: dict[Hashable, Expected] = field(default_factory=dict)
    last: Record | None = None
    firsts: dict[str, deque[float]] = field(default_factory=dict)  # by digest
    digests: dict[Hashable, str] = field(default_factory=dict)
    remembered: dict[str, tuple[float, ...]] = field(default_factory=dict)
    kept: Kept | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def take_in(self, history: Sequence[Record], profile: DeviceProfile) -> None:
        """Learn from the Records that came after those which were taken in last."""
        with self.lock:
            self._recall()
            fresh: list[Record] = []
            for record in reversed(history):
                if record is self.last:
                    break
                fresh.append(record)
            if fresh:
                self.last = fresh[0]
            for record in reversed(fresh):
                if record.where[0][0] == HERE and record.seconds >= SHORTEST_SECONDS:
                    self._learn(record, profile)
            if self.kept is not None:
                self.kept.write_sometimes()
                _calibrate_soon(history, profile)

    def _learn(self, record: Record, profile: DeviceProfile) -> None:
        kind, took = _kind_of(record), record.seconds
        before = kind if self._has_run(kind) else kind._replace(timed=None)
        expected = self.told.pop(kind.key, None) or self.expect(before, profile)
        if expected is not None:
            self.spreads[expected.basis].observe(_clipped(log(took / expected.seconds)))
            self.predicted[id(record)] = record, expected
        once = not self._has_run(kind)
        self._remember(kind, took)
        if once and record.phase is not None and not kernel_for(record.phase).stays_tiled:
            # whatever it ended as, it began so, and was predicted so
            kind = kind._replace(lowering="tiled", timed=None, begins=True)
        self._correct(kind, took, profile, once=once)
        if kind.timed is not None:
            self._correct(kind._replace(timed=None), took, profile, once=once)

    def _recall(self) -> None:
        """Take in what earlier processes kept, once."""
        if self.kept is None or self.kept.was_read:
            return
        for figure in self.kept.read().values():
            table, *name = figure.name.split(SEPARATOR)
            if table == "factor" and len(name) == len(figure.values) + 1:
                value, count = figure.values
                known = LogAverage(_clipped(value), min(int(count), KEPT_RUNS))
                self.factors.setdefault((name[0], name[1], name[2]), known)
            elif min(figure.values) > 0:
                self.remembered[figure.name] = figure.values

    def collected(self) -> dict[str, tuple[float, ...]]:
        """Return what is worth keeping for other processes, by name."""
        found: dict[str, tuple[float, ...]] = {}
        for (key, lowering), times in list(self.times.items()):
            found[SEPARATOR.join(("run", self._digest(key), lowering))] = tuple(times)
        for digest, times in list(self.firsts.items()):
            found[SEPARATOR.join(("first", digest))] = tuple(times)
        for name, average in list(self.factors.items()):
            found[SEPARATOR.join(("factor", *name))] = average.value, float(average.count)
        return found

    def _digest(self, key: Hashable) -> str:
        if key not in self.digests:
            if len(self.digests) >= MOST_KINDS:
                self.digests.clear()
            self.digests[key] = digest_of(repr(key))
        return self.digests[key]

    def _from_before(self, kind: Kind) -> tuple[float, ...]:
        """Return what equal runs of earlier processes took: their first ones, if this is one."""
        if not self.remembered:
            return ()
        digest = self._digest(kind.key)
        first = self.remembered.get(SEPARATOR.join(("first", digest)))
        if first and not self._has_run(kind):
            return first
        return self.remembered.get(SEPARATOR.join(("run", digest, kind.lowering)), ())

    def _has_run(self, kind: Kind) -> bool:
        return any((kind.key, low) in self.times for low in (kind.lowering, "tiled"))

    def _remember(self, kind: Kind, took: float) -> None:
        if not self._has_run(kind) and self.kept is not None:
            digest = self._digest(kind.key)
            before = self.remembered.get(SEPARATOR.join(("first", digest)), ())
            self.firsts.setdefault(digest, deque(before, maxlen=KEPT_RUNS)).append(took)
        if max(len(self.times), len(self.predicted)) >= MOST_KINDS:
            self.times.clear()
            self.predicted.clear()
        known = self.times.setdefault((kind.key, kind.lowering), deque(maxlen=KEPT_RUNS))
        if len(known) == 1 and known[0] > took:
            known.clear()  # the first one found memory cold and nothing at hand
        known.append(took)

    def _correct(self, kind: Kind, took: float, profile: DeviceProfile, *, once: bool) -> None:
        """Correct what is expected of runs of this kind, and ``once`` a little those alike."""
        modelled = self._modelled(kind, profile)
        if modelled is None or kind.work is None:
            return
        base, guess = modelled
        own, alike = _names(kind, base, profile)
        for name in (own, alike):
            average = self.factors.setdefault(name, LogAverage())
            residual = _clipped(log(took / guess) - average.value)
            if once and name == alike:
                average.lean_by(residual)
            else:
                average.move_by(residual)

    def before(self, record: Record) -> Expected | None:
        """Return what was to be expected of a run before it was made, if it has taught."""
        known = self.predicted.get(id(record))
        return known[1] if known is not None and known[0] is record else None

    def tell(self, kind: Kind, profile: DeviceProfile) -> Expected | None:
        """Return what a run will take, as :meth:`expect` does, and measure the next one by it."""
        found = self.expect(kind, profile)
        if found is not None:
            if len(self.told) >= MOST_KINDS:
                self.told.clear()
            self.told[kind.key] = found
        return found

    def expect(self, kind: Kind, profile: DeviceProfile) -> Expected | None:
        """Return what a run of this kind will take; None where nothing tells."""
        self._recall()
        known: Collection[float] | None = self.times.get((kind.key, kind.lowering))
        known = known or self._from_before(kind)
        if known:
            return self._around(median(tuple(known)), "runs")
        modelled = self._modelled(kind, profile)
        if modelled is None or kind.work is None:
            return None
        base, guess = modelled
        known_names = (n for n in _names(kind, base, profile) if n in self.factors)
        name = next(known_names, None)
        factor = 1.0 if name is None else exp(self.factors[name].value)
        return self._around(guess * factor, base)

    def _modelled(self, kind: Kind, profile: DeviceProfile) -> tuple[str, float] | None:
        if kind.timed is not None:
            return "kernel", kind.timed
        if kind.work is None:
            return None
        found = profile_seconds(kind.work, profile, kind.lowering)
        if kind.begins:
            found = _beginning(found, kind, kind.work, profile)
        return "profile", found + _growing(kind, profile)

    def _around(self, guess: float, basis: str) -> Expected:
        return around(guess, basis, self.spreads[basis].factor())

    def forget(self) -> None:
        """Forget what has been taken in."""
        with self.lock:
            self.times.clear()
            self.predicted.clear()
            self.told.clear()
            self.factors.clear()
            self.firsts.clear()
            self.remembered.clear()
            self.spreads = {k: _Spread(v * v) for k, v in PRIOR_SPREAD.items()}


def _kept_here() -> Runs:
    runs = Runs()
    runs.kept = Kept("runs", thread_count(), runs.collected)
    return runs


here = _kept_here()


def _calibrate_soon(history: Sequence[Record], profile: DeviceProfile) -> None:
    """Measure all of this node in the background, if that has not been done."""
    if profile.calibrated:
        return

    def used() -> int:
        return id(history[-1]) if history else 0

    def calibrate(idle: Idle) -> bool:
        return kept_or_calibrated(threads=profile.threads, idle=idle).calibrated

    once_idle(("here", profile.threads), calibrate, used)


def around(guess: float, basis: str, factor: float | None = None) -> Expected:
    """Return the guess with its interval; without a ``factor`` the one before any run."""
    wide = factor if factor is not None else exp(FOUR_OF_FIVE * PRIOR_SPREAD[basis])
    return Expected(guess, guess / wide, guess * wide, basis)


def profile_seconds(work: Work, profile: DeviceProfile, lowering: str = "tiled") -> float:
    """Return what the profile predicts for all rows, on all threads at the same time.

    Or on one, where threads would wait for each other longer than they compute.
    """
    rates = _rates(lowering)
    found = seconds(work, profile, work.rows / profile.threads, rates)
    if work.calls:
        found = min(found, seconds(work, profile, work.rows, rates, together=False))
    return max(found, 1e-9)


def _rates(lowering: str) -> str:
    """Return the lowering by whose rates one costs."""
    return lowering if lowering in ("numba", "numpy") else "tiled"


def _beginning(tiled: float, kind: Kind, work: Work, profile: DeviceProfile) -> float:
    """Return the seconds of a first run, which begins tiled, as ``kernels.choose`` decides."""
    run = tiled * profile.threads
    loads = cached.has(work.likeness) and (is_imported() or run >= KNOWN_AFTER)
    begins = LOAD_AFTER / profile.threads if loads else _asked_after(tiled, kind, profile)
    if tiled <= begins or run < LOWER_AFTER:
        return tiled
    beside = profile.lowering_seconds
    if not is_imported():
        beside += profile.importing_seconds
    compiled = profile_seconds(work, profile, "numba")
    starts = not llvm_apart.apart.is_running()
    compiling = LOAD_SECONDS if loads else compile_seconds(work, profile, starts=starts)
    return beside + first_run(tiled, compiled, begins, compiling, profile.threads).seconds


def _asked_after(tiled: float, kind: Kind, profile: DeviceProfile) -> float:
    """Return the seconds of a first run after which its kernel is compiled.

    That is, where threads draw rows in Python and so may ask for it in its midst: once it has taken
    as long as compiling, or soon where it will take long. Others do so between pieces of long runs.
    """
    if not kind.drawn:
        return 2 * tiled / PIECES if tiled >= LONG_SECONDS else tiled
    run = tiled * profile.threads
    after = LOAD_AFTER if run >= AHEAD * COMPILE_SECONDS else COMPILE_SECONDS
    return (lowerings_wait(run) + after) / profile.threads


def _growing(kind: Kind, profile: DeviceProfile) -> float:
    """Return the seconds beyond those of new pages for memory that the process never had.

    Each thread touches what it writes to.
    """
    touch = new_memory.touch_ns(kind.grows, profile.first_touch_ns_per_byte)
    beyond = max(0.0, touch - profile.page_ns_per_byte)
    return beyond * kind.grows * 1e-9 / profile.threads


def bottleneck(work: Work, profile: DeviceProfile) -> str:
    """Return the class of what takes most of the time: memory, blas, or that of a loop."""
    moved = work.rows * work.bytes_moved + work.fixed_bytes
    parts = {
        "memory": moved / profile.bandwidth_at(moved),
        "blas": work.rows * work.flops / profile.flops_per_second(work.dtype),
    }
    for op_class, elements in work.loops:
        alone = type(work)(work.rows, loops=((op_class, elements),), dtype=work.dtype)
        parts[op_class] = work.rows * loop_seconds_per_row(alone, profile, "tiled")
    return max(parts, key=parts.__getitem__)


def _names(kind: Kind, base: str, profile: DeviceProfile) -> tuple[tuple[str, str, str], ...]:
    """Return what a correction of a run may be found under, the most telling first.

    First runs have corrections of their own: they find memory cold and nothing at hand, and the
    runs after them, of which there are many, say nothing of that.
    """
    assert kind.work is not None
    shared = bottleneck(kind.work, profile)
    how = FIRST if kind.begins else kind.lowering
    return (base, how, kind.what), (base, how, shared)


def phase_kind(phase: Phase, what: str, again: float | None = None) -> Kind:
    """Return what a run of the phase would be now.

    ``again`` are the bytes of a row that are read again (:meth:`FusedStage.read_again`); where that
    is not told, those of the phase's first run count.
    """
    lowering, timed = kernel_for(phase).outlook(thread_count())
    sizes = [
        int(row_bytes(step.shape, step.dtype) * phase.rows)
        for out in phase.outputs
        if not out.partial
        for step in [phase.steps[out.slot - len(phase.inputs)]]
    ]
    work, grows = _with_fresh(_work_of(phase, again), sizes)
    begins, drawn = _begins(phase, lowering, timed), not kernel_for(phase).joins
    return Kind(phase, what, lowering, work, timed, grows, begins, drawn and thread_count() > 1)


def _work_of(phase: Phase, again: float | None = None) -> Work:
    """Return what the phase costs, less what it reads again from caches."""
    work = works.phase_work(phase)
    once = kernel_for(phase).again if again is None else again
    return replace(work, bytes_again=min(once, work.bytes_read)) if once else work


def _begins(phase: Phase, lowering: str, timed: float | None) -> bool:
    return lowering == "tiled" and timed is None and not kernel_for(phase).stays_tiled


def call_kind(call: Call) -> Kind:
    """Return what a run of one op on whole operands would be."""
    work, grows = _with_fresh(call_work(call), [prod(call.shape) * call.dtype.itemsize])
    return Kind(call, call.op.name, "numpy", work, None, grows)


def _with_fresh(work: Work, sizes: Sequence[int]) -> tuple[Work, float]:
    """Return the work as results of these sizes make it now, and the bytes by which memory grows.

    What the pool has is no new memory, and neither is what the C library keeps. What that has to
    let go of first comes back, as pages that were in use a moment ago.
    """
    new = [s for s in sizes if s >= SMALLEST and not pool.has(s)]
    fresh = untouched_bytes(new)
    fresh = max(0.0, fresh - pool.movable(sum(new))) if fresh else 0.0
    if not fresh:
        return replace(work, bytes_fresh=0.0), 0.0
    back = pool.make_way(int(fresh))
    work = replace(work, bytes_fresh=fresh / max(work.rows, 1))
    return work, max(0.0, fresh - back - machine.held_before())


def call_work(call: Call) -> Work:
    """Return what one op on whole operands costs on any device."""
    return op_work(call.op, call.shape, call.dtype, call.reads)


def _kind_of(record: Record) -> Kind:
    if record.phase is None:
        if record.call is not None:
            return call_kind(record.call)._replace(lowering=record.lowering)
        key = record.what, record.where, record.nbytes
        return Kind(key, record.what, record.lowering, None)
    known = kernel_for(record.phase).outlook(thread_count())
    timed = known.seconds if known.lowering == record.lowering else None
    return Kind(record.phase, record.what, record.lowering, _work_of(record.phase), timed)


def _clipped(residual: float) -> float:
    return min(max(residual, -3.0), 3.0)
