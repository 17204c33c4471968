"""What finished runs teach: how wrong the model is for a kernel, and how slow a node is.

The residual of a run is ``r = ln(observed / predicted)``. What the nodes of one device class have
in common (the median of ``r``) is the model's error for that kernel on that class; what is left is
the node's own. Both are kept as exponentially weighted averages of logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

STEADY_WEIGHT = 0.2
PRIOR_COUNT = 0.25  # what the model is worth, in observations
RESIDUAL_LIMIT = 3.0  # |r| beyond a factor of 20 is an accident, not a rate
SHORTEST_SECONDS = 0.001  # below this the clock and the scheduler are measured, not the kernel


@dataclass(frozen=True, slots=True)
class Observation:
    """One finished task: which kernel ran where, the seconds predicted for it and those it took."""

    kernel: str
    device_class: str
    node: str
    predicted_seconds: float
    observed_seconds: float

    @property
    def residual(self) -> float:
        """The logarithm of observed over predicted, clipped."""
        r = log(max(self.observed_seconds, 1e-9) / max(self.predicted_seconds, 1e-9))
        return min(max(r, -RESIDUAL_LIMIT), RESIDUAL_LIMIT)


@dataclass(slots=True)
class LogAverage:
    """A running average of logarithms: quick at first, then with weight ``STEADY_WEIGHT``."""

    value: float = 0.0
    count: int = 0

    def move_by(self, residual: float) -> None:
        """Take in what is still unexplained after the present value was applied."""
        self.count += 1
        self.value += max(STEADY_WEIGHT, 1.0 / (self.count + PRIOR_COUNT)) * residual


@dataclass(slots=True)
class OnlineCorrection:
    """Factors on predicted seconds; 1.0 for what was never seen."""

    kernels: dict[tuple[str, str], LogAverage] = field(default_factory=dict)
    nodes: dict[str, LogAverage] = field(default_factory=dict)

    def factor(self, kernel: str, device_class: str, node: str | None = None) -> float:
        """Return by what to multiply the model's seconds for this kernel (on this node)."""
        known = self.kernels.get((kernel, device_class))
        return exp(known.value if known else 0.0) * self.node_factor(node)

    def node_factor(self, node: str | None) -> float:
        """Return how many times slower than its profile this node is."""
        known = self.nodes.get(node) if node is not None else None
        return exp(known.value) if known else 1.0

    def observe(self, phase: Iterable[Observation]) -> None:
        """Learn from the tasks of one phase, whose predictions had the present factors applied.

        Tasks too short to time are left out. A kernel that ran on one node of a class says nothing
        about that node, only about the kernel on that class.
        """
        groups: dict[tuple[str, str], list[Observation]] = {}
        for seen in phase:
            if seen.observed_seconds >= SHORTEST_SECONDS:
                groups.setdefault((seen.kernel, seen.device_class), []).append(seen)
        for key, group in groups.items():
            shared = median(seen.residual for seen in group)
            self.kernels.setdefault(key, LogAverage()).move_by(shared)
            if len({seen.node for seen in group}) > 1:
                for seen in group:
                    self.nodes.setdefault(seen.node, LogAverage()).move_by(seen.residual - shared)
