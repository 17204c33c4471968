"""Plans of programs already made, found although times and free memory have changed a little.

Sizes, edges, pins, granules, the capability epoch, the objective and the budget must be equal.
Times and links may each differ by ``SAME_SECONDS`` from those that the plan was made for: a
tolerance around them and not buckets, because of a hundred noisy times one always crosses the
border of its bucket. A plan is handed out only where it fits in the memory that is offered now.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from dnumpy.plan.cache import PlanCache
from dnumpy.plan.dag import ROUNDING
from dnumpy.plan.events import simulate_program

if TYPE_CHECKING:
    from collections.abc import Hashable

    from numpy.typing import NDArray

    from dnumpy.plan.dag import Program, ProgramPlan

SAME_SECONDS = 0.10  # rates learnt from noisy runs move by some per cent a run: a plan stays good
SAME_MEMORY = 0.05
TIGHT = 0.5  # a plan that holds more than this part of a node's memory was shaped by it
MOST_ALIKE = 8  # plans of one structure that are kept for different times


@dataclass(frozen=True, slots=True)
class Known:
    """A plan, and the times and the memory that it was made for."""

    plan: ProgramPlan
    times: NDArray[np.float64]
    memory: NDArray[np.float64]
    ever_held: NDArray[np.float64]


def structure_key(program: Program) -> Hashable:
    """Return what must be equal for two programs to have one plan; names, times, memory do not."""
    return (
        program.network.groups,
        program.moving_margin,
        tuple((e.producer, e.consumer, e.access, e.bytes_per_row, e.halo_rows, e.partial_bytes)
              for e in program.edges),
        tuple((a.rows, a.granule, a.bytes_per_row, a.work_bytes_per_row, a.work_fixed_bytes,
               a.kept, a.pinned and (a.pinned.rows, a.pinned.replicated))
              for a in program.asks),
    )  # fmt: skip


def times_of(program: Program) -> NDArray[np.float64]:
    """Return all times and bandwidths of the program in one line."""
    net = program.network
    return np.fromiter(
        chain(
            *(chain(ask.seconds_per_row, ask.fixed_seconds) for ask in program.asks),
            *net.latency_seconds,
            *net.bytes_per_second,
        ),
        np.float64,
    )


def alike(one: NDArray[np.float64], other: NDArray[np.float64], tolerance: float) -> bool:
    """Return whether all pairs differ by no more than the tolerance; infinities are equal."""
    if one.shape != other.shape:
        return False
    equal = one == other
    if equal.all():
        return True
    with np.errstate(invalid="ignore"):
        near = np.abs(one - other) <= tolerance * np.minimum(np.abs(one), np.abs(other))
    return bool((equal | (near & np.isfinite(one))).all())


class KnownPlans:
    """The plans used last; safe to share between threads."""

    def __init__(self) -> None:
        self._kept: PlanCache[tuple[Known, ...]] = PlanCache()
        self._lock = Lock()

    def clear(self) -> None:
        """Forget everything."""
        self._kept.clear()

    def find(self, program: Program, asked: Hashable) -> ProgramPlan | None:
        """Return a plan for a program as good as equal, that fits in what its nodes offer now.

        ``asked`` is what else was asked for: epoch, objective and budget.
        """
        known_plans = self._kept.find((asked, structure_key(program)))
        if known_plans is None:
            return None
        times, memory = times_of(program), memory_of(program)
        for known in known_plans:
            if alike(times, known.times, SAME_SECONDS) and as_free(
                known.memory, memory, known.ever_held
            ):
                plan = _fitted(known, program, times, memory)
                if plan is not None:
                    return plan
        return None

    def keep(self, program: Program, asked: Hashable, plan: ProgramPlan) -> None:
        """Keep the plan, and for the same structure the ``MOST_ALIKE`` last ones."""
        ever_held = np.array(plan.ever_held_bytes)
        known = Known(plan, times_of(program), memory_of(program), ever_held)
        key = (asked, structure_key(program))
        with self._lock:
            others = self._kept.find(key) or ()
            self._kept.keep(key, (known, *others[: MOST_ALIKE - 1]))


def memory_of(program: Program) -> NDArray[np.float64]:
    """Return the bytes that each node offers."""
    return np.array([node.memory_bytes for node in program.nodes], np.float64)


def as_free(
    then: NDArray[np.float64], now: NDArray[np.float64], ever_held: NDArray[np.float64]
) -> bool:
    """Return whether as much is free as then, or the plan was not shaped by what was free."""
    if alike(now, then, SAME_MEMORY):
        return True
    return bool((ever_held <= TIGHT * np.minimum(now, then)).all())


def _fitted(
    known: Known, program: Program, times: NDArray[np.float64], memory: NDArray[np.float64]
) -> ProgramPlan | None:
    """Return the plan if it fits in the memory, simulated again where its times might matter.

    In whatever order things happen, no node holds more than everything that it ever holds.
    """
    plan = known.plan
    exact = np.array_equal(times, known.times)
    held = np.array(plan.peak_bytes) if exact else known.ever_held
    if (held <= memory * ROUNDING).all():
        return plan
    if exact:
        return None
    line = simulate_program(program, plan.placements)
    peaks = tuple(peak * plan.in_flight for peak in line.peak_bytes)
    if any(peak > offered * ROUNDING for peak, offered in zip(peaks, memory, strict=True)):
        return None
    return replace(plan, spans=line.spans, predicted_seconds=line.makespan, peak_bytes=peaks)
