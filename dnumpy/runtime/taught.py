"""The corrections of a cluster, kept between processes by device class.

Workers have new addresses each time, so nothing is kept of nodes. A class is known again by its
kind and its rate.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from dnumpy.config import thread_count
from dnumpy.cost.correction import MOST_KERNELS, RESIDUAL_LIMIT, LogAverage
from dnumpy.kernels.at_hand import COMPILE_SECONDS, IMPORT_AFTER
from dnumpy.plan.work import kernel_name
from dnumpy.runtime.kept import Kept

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dnumpy.cost import DeviceProfile, OnlineCorrection, Work

SAME_CLASS = 0.2  # natural logarithm: rates this close make one device class
MOST_COUNT = 3  # runs that what was kept is worth, so that what has changed since is soon learnt
SEPARATOR = "\t"
NEVER_COMPILED = frozenset(
    {"gather", "scatter", "scan", "sort", "fft", "lapack", "matmul", "vector"}
)
_PARTS, _VALUES = 4, 3  # table, kind, name, class; rate, value, count


def rate_of(profile: DeviceProfile) -> float:
    """Return the logarithm of the time that a device takes for a steady loop while it may run.

    How much of the time it may, its ``speed``, is no matter of the kernel's: nodes of one processor
    are one class whatever their quotas, so that what a kernel takes is learnt from all of them, and
    where a quota is not what it was taken for, that is learnt of the node, from all kernels.
    """
    return log(profile.ns_table("tiled")["exp"])


class Taught:
    """Reads and writes the corrections of one cluster, whose classes it is told of."""

    def __init__(self, correction: OnlineCorrection) -> None:
        self.correction = correction
        self.classes: dict[str, tuple[str, float]] = {}  # label -> kind, rate
        self.kept = Kept("cluster", thread_count(), self._collected)
        self.ran: dict[str, float] = {}  # seconds of each kernel, on the node that had most to do
        self.compiled: dict[str, bool] = {}  # whether all tasks of a kernel ran so the last time
        self.compile_seconds = COMPILE_SECONDS
        self._begun: set[tuple[str, str]] = set()  # kernels that ran compiled, and where

    def enter(self, label: str, profile: DeviceProfile) -> None:
        """Take in what is kept of a device class, the first time that it is met."""
        if label in self.classes:
            return
        self.classes[label] = profile.kind, rate_of(profile)
        self.compile_seconds = max(self.compile_seconds, profile.compile_seconds)
        for table, name, value, count in self._kept_of(profile):
            average = LogAverage(value, min(int(count), MOST_COUNT))
            known = self.correction.kernels if table == "kernel" else self.correction.families
            known.setdefault((name, label), average)

    def lowering(self, what: str, work: Work) -> str:
        """Return how workers will run it: compiled once it has run for as long as that takes.

        A worker decides as :mod:`~dnumpy.kernels.choose` says: once that is worth it. What
        it did the last time tells what it will do.
        """
        if self.compiled.get(kernel_name(what, work, "any")):
            return "numba"
        if work.flops or any(op_class in NEVER_COMPILED for op_class, _ in work.loops):
            return "tiled"
        ran = self.ran.get(kernel_name(what, work, "any"), 0.0)
        return "numba" if ran > max(IMPORT_AFTER, self.compile_seconds) else "tiled"

    def has_run(self, what: str, work: Work) -> bool:
        """Say whether a run of it was noted."""
        return kernel_name(what, work, "any") in self.ran

    def note_ran(self, what: str, work: Work, seconds: float, *, compiled: bool = False) -> None:
        """Note what the longest task of a run took, and whether all of them ran compiled.

        Writes what there is to keep now and then.
        """
        if len(self.ran) >= MOST_KERNELS:
            self.ran.clear()
            self.compiled.clear()
        name = kernel_name(what, work, "any")
        self.compiled[name] = compiled
        self.ran[name] = self.ran.get(name, 0.0) + seconds
        self.kept.write_sometimes()

    def begins(self, kernel: str, node: str) -> bool:
        """Say whether a node runs a compiled kernel for the first time: it may have compiled it."""
        if (kernel, node) in self._begun:
            return False
        if len(self._begun) >= MOST_KERNELS:
            self._begun.clear()
        self._begun.add((kernel, node))
        return True

    def _kept_of(self, profile: DeviceProfile) -> list[tuple[str, str, float, float]]:
        found = []
        for figure in self.kept.read().values():
            parts, values = figure.name.split(SEPARATOR), figure.values
            if len(parts) != _PARTS or len(values) != _VALUES or parts[1] != profile.kind:
                continue
            (table, _, name, _), (rate, value, count) = parts, values
            alike = abs(rate - rate_of(profile)) < SAME_CLASS
            if alike and abs(value) <= RESIDUAL_LIMIT:
                found.append((table, name, value, count))
        return found

    def _collected(self) -> dict[str, tuple[float, ...]]:
        tables: Mapping[str, Mapping[tuple[str, str], LogAverage]] = {
            "kernel": self.correction.kernels,
            "family": self.correction.families,
        }
        found: dict[str, tuple[float, ...]] = {}
        for table, averages in tables.items():
            for (name, label), average in list(averages.items()):
                if label in self.classes:
                    kind, rate = self.classes[label]
                    key = SEPARATOR.join((table, kind, name, f"{rate / SAME_CLASS:.0f}"))
                    found[key] = rate, average.value, float(average.count)
        return found
