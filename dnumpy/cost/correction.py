"""What finished runs teach: how wrong the model is for a kernel, and how slow a node is.

The residual of a run is ``r = ln(observed / predicted)``. What the nodes of one device class have
in common (the median of ``r``) is the model's error for that kernel on that class; what is left is
the node's own. Both are kept as exponentially weighted averages of logarithms, which one accident
moves by at most three deviations. A kernel that never ran on a class is corrected as on another
one: it is the same code, and a class that is thought slow for it would never get rows enough to
show otherwise. One that never ran anywhere is corrected as others of its family were. Where
residuals change for good (:mod:`~dnumpy.cost.drift`), what was learnt is let go of quickly, and a
new capability epoch begins: plans made in an earlier one are out of date.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log
from statistics import median
from typing import TYPE_CHECKING

from dnumpy.cost.drift import Cusum

if TYPE_CHECKING:
    from collections.abc import Iterable

STEADY_WEIGHT = 0.2
PRIOR_COUNT = 0.25  # what the model is worth, in observations
MOST_FIRST = log(2)  # of r, when something runs for the first time
RESIDUAL_LIMIT = 3.0  # |r| beyond a factor of 20 is an accident, not a rate
SHORTEST_SECONDS = 0.001  # below this the clock and the scheduler are measured, not the kernel
TELLING_SECONDS = 0.05  # of a task that shows a node's own speed
MOST_KERNELS = 4096
Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Observation:
    """One finished task: which kernel ran where, the seconds predicted for it and those it took.

    Kernels of one ``family`` are alike: what one teaches is a first guess for the others.
    """

    kernel: str
    device_class: str
    node: str
    predicted_seconds: float
    observed_seconds: float
    family: str = ""

    @property
    def residual(self) -> float:
        """The logarithm of observed over predicted, clipped."""
        r = log(max(self.observed_seconds, 1e-9) / max(self.predicted_seconds, 1e-9))
        return min(max(r, -RESIDUAL_LIMIT), RESIDUAL_LIMIT)

    @property
    def tells(self) -> float:
        """How much of a node's own speed the run shows, from 0 to 1.

        A share of a CPU is handed out in periods of 0.1 s: a short task runs through at full speed,
        or waits for the next period, and neither is what the node does over time.
        """
        return min(max(self.observed_seconds, self.predicted_seconds) / TELLING_SECONDS, 1.0)


@dataclass(slots=True)
class LogAverage:
    """A running average of logarithms: quick at first, then with weight ``STEADY_WEIGHT``."""

    value: float = 0.0
    count: int = 0

    def move_by(self, residual: float, *, doubts_first: bool = False) -> None:
        """Take in what is still unexplained after the present value was applied.

        What runs for the first time is often held up by what happens once: cold memory, imports.
        Who ``doubts_first`` believes it to be slow only so far, and takes the second run for first.
        """
        self.count += 1
        runs = self.count
        if doubts_first:
            residual = min(residual, MOST_FIRST) if runs == 1 else residual
            runs = max(runs - 1, 1)
        self.value += max(STEADY_WEIGHT, 1.0 / (runs + PRIOR_COUNT)) * residual

    def lean_by(self, residual: float) -> None:
        """Take in a little of what a run left unexplained that was the first of its kind.

        It says less of runs alike than of itself: it had pages to touch and a kernel to write.
        """
        self.count += 1
        self.value += STEADY_WEIGHT * min(max(residual, -MOST_FIRST), MOST_FIRST)


@dataclass(slots=True)
class OnlineCorrection:
    """Factors on predicted seconds; 1.0 for what was never seen.

    Attributes
    ----------
    kernels, families : dict
        Averages by (kernel or family, device class).
    elsewhere : dict
        The average of a kernel on the class that it ran on last.
    nodes : dict
        Averages of what a node takes beyond others of its class.
    epoch : int
        Grows when a rate changes for good.
    """

    kernels: dict[Key, LogAverage] = field(default_factory=dict)
    families: dict[Key, LogAverage] = field(default_factory=dict)
    nodes: dict[str, LogAverage] = field(default_factory=dict)
    elsewhere: dict[str, LogAverage] = field(default_factory=dict)
    epoch: int = 0
    _kernel_drift: dict[Key, Cusum] = field(default_factory=dict)
    _node_drift: dict[str, Cusum] = field(default_factory=dict)

    def factor(
        self, kernel: str, device_class: str, node: str | None = None, family: str = ""
    ) -> float:
        """Return by what to multiply the model's seconds for this kernel (on this node)."""
        return exp(self._value(kernel, device_class, family)) * self.node_factor(node)

    def _value(self, kernel: str, device_class: str, family: str) -> float:
        known = self.kernels.get((kernel, device_class))
        known = known or self.elsewhere.get(kernel) or self.families.get((family, device_class))
        return known.value if known else 0.0

    def node_factor(self, node: str | None) -> float:
        """Return how many times slower than its profile this node is."""
        known = self.nodes.get(node) if node is not None else None
        return exp(known.value) if known else 1.0

    def observe(self, phase: Iterable[Observation]) -> None:
        """Learn from the tasks of one phase, whose predictions had the present factors applied.

        Tasks too short to time are left out. A kernel that ran on one node of a class says nothing
        about that node, only about the kernel on that class.
        """
        groups: dict[Key, list[Observation]] = {}
        for seen in phase:
            if seen.observed_seconds >= SHORTEST_SECONDS:
                groups.setdefault((seen.kernel, seen.device_class), []).append(seen)
        changed = [self._observe_group(key, group) for key, group in groups.items()]
        self.epoch += any(changed)

    def _observe_group(self, key: Key, group: list[Observation]) -> bool:
        """Learn from the tasks of one kernel on one class; say whether a rate has changed."""
        shared = median(seen.residual for seen in group)
        changed = self._observe_kernel(key, group[0].family, shared)
        by_node: dict[str, list[float]] = {}
        for seen in group:
            by_node.setdefault(seen.node, []).append(seen.tells * (seen.residual - shared))
        if len(by_node) > 1:
            for node, own in by_node.items():
                average = self.nodes.setdefault(node, LogAverage())
                drift = self._node_drift.setdefault(node, Cusum())
                changed |= _watched(average, drift, median(own))
        return changed

    def _observe_kernel(self, key: Key, family: str, shared: float) -> bool:
        applied = self._value(*key, family)
        if key not in self.kernels:
            if len(self.kernels) >= MOST_KERNELS:
                self.kernels.clear()
                self.elsewhere.clear()
                self._kernel_drift.clear()
            self.kernels[key] = LogAverage(applied)
        self.elsewhere[key[0]] = self.kernels[key]
        if family:
            alike = self.families.setdefault((family, key[1]), LogAverage())
            unexplained = shared + applied - alike.value
            unexplained = min(max(unexplained, -RESIDUAL_LIMIT), RESIDUAL_LIMIT)
            alike.move_by(unexplained, doubts_first=True)
        return _watched(self.kernels[key], self._kernel_drift.setdefault(key, Cusum()), shared)

    def new_epoch(self) -> None:
        """Say that what predictions are made from has changed: averages move quickly again."""
        self.epoch += 1
        for average in (*self.kernels.values(), *self.families.values()):
            average.count = 0
        self._kernel_drift.clear()


def _watched(average: LogAverage, drift: Cusum, residual: float) -> bool:
    """Move an average by a residual; return True, and let it go quickly, where that is a drift."""
    average.move_by(drift.clipped(residual), doubts_first=True)
    if not drift.observe(residual):
        return False
    average.count = 0
    average.move_by(residual, doubts_first=True)
    return True
