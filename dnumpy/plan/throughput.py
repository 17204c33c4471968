"""How often a program can be run when it is started again and again, and what is held then.

Runs overlap: while one waits, nodes and ports serve others. So the time between two ends is that of
the busiest node or port, if nothing is ever made to wait; and it is not below the time of one run
divided by how many runs the memory holds, each of them as much as alone.
"""

from __future__ import annotations

from math import ceil, floor, hypot, inf
from typing import TYPE_CHECKING

from dnumpy.plan.dag import ROUNDING

if TYPE_CHECKING:
    from dnumpy.plan.dag import Program
    from dnumpy.plan.events import Timeline

MOST_IN_FLIGHT = 64


def runs_held(program: Program, line: Timeline) -> int:
    """Return how many runs fit in the nodes' memory at a time, at most ``MOST_IN_FLIGHT``."""
    pairs = zip(program.nodes, line.peak_bytes, strict=True)
    room = min((node.memory_bytes * ROUNDING / peak for node, peak in pairs if peak), default=inf)
    return floor(min(room, MOST_IN_FLIGHT))


def period_seconds(program: Program, line: Timeline) -> float:
    """Return the time between the ends of two runs; infinite where not even one fits."""
    held = runs_held(program, line)
    return max(*line.busy_seconds, line.makespan / held, 0.0) if held else inf


def in_flight(line: Timeline, period: float) -> int:
    """Return how many runs are under way at a time."""
    return max(1, ceil(line.makespan / period / ROUNDING)) if period else 1


def unevenness(line: Timeline) -> float:
    """Return what is less where other parts than the busiest have less to do as well."""
    return hypot(*line.busy_seconds)
