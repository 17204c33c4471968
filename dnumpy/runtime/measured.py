"""Nodes whose rates are measured: what they plan by, and what they learn from runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

from dnumpy.config import thread_count
from dnumpy.cost.alike import levelled
from dnumpy.cost.correction import Observation, OnlineCorrection
from dnumpy.cost.estimate import seconds as cost_seconds
from dnumpy.cost.links import Links
from dnumpy.errors import PlanInfeasible
from dnumpy.plan.rates import plan_work
from dnumpy.plan.work import kernel_name
from dnumpy.runtime.layout import cut_range
from dnumpy.runtime.links import SIZES
from dnumpy.runtime.products import Party
from dnumpy.runtime.taught import SAME_CLASS, Taught, rate_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.cost.work import Work
    from dnumpy.expr.expr import Expr
    from dnumpy.plan.model import Plan
    from dnumpy.runtime.demands import Placement
    from dnumpy.runtime.graph import Range, Segment
    from dnumpy.runtime.jointly import Rating
    from dnumpy.runtime.refused import Refusal
    from dnumpy.runtime.stage_runs import Ran

ROUND_TRIP_SECONDS = 0.01  # of a run besides its tasks, until runs have taught
ROUND_TRIP_WEIGHT = 0.2  # of the last run in what is expected of the next one
MOST_LONGER = 3.0  # times what was expected, that a run teaches
WIRE = 1e9  # bytes per second between nodes, where no link has been measured
COMPILED = frozenset({"numba", "chain", "cupy"})  # what tasks say of kernels that are machine code


class MeasuredNodes(ABC):
    """Nodes with their profiles, the links between them, and what runs taught of both."""

    def __init__(self, profiles: Mapping[str, DeviceProfile]) -> None:
        self.profiles: dict[str, DeviceProfile] = dict(profiles)
        self.links = Links(SIZES)  # from node to node, where they have been measured
        self.correction = OnlineCorrection()
        self.round_trip = ROUND_TRIP_SECONDS
        self._taught = Taught(self.correction)
        self._used = 0  # grows with every plan and every run
        self._alive: dict[str, int] = {}  # the threads of each node that is there
        self._classes: dict[str, str] = {}
        self._refused: Refusal | None = None  # why the latest run was, where it was

    @abstractmethod
    def _calibrate_soon(self) -> None:
        """Measure in the background what is not known, or was measured long ago."""

    @abstractmethod
    def copies(self, owner: Expr) -> list[Segment]:
        """Return where rows of a home array already are, besides at home."""

    @abstractmethod
    def mirrored(self, owner: Expr) -> bool:
        """Say whether every node has a copy of all of a home array."""

    def has(self, owner: Expr) -> bool:
        """Say whether the nodes together have all rows of an array of this process."""
        rows = sum(segment.stop - segment.start for segment in self.copies(owner))
        return rows >= (owner.shape[0] if owner.shape else 1) or self.mirrored(owner)

    def _take_in(self, found: Mapping[str, DeviceProfile]) -> None:
        """Keep what was measured; nodes that are alike are as fast as the least hindered."""
        self.profiles.update(found)
        pairs = zip(self.profiles, levelled(self.profiles.values()), strict=True)
        self.profiles = dict(pairs)

    def _enter(self, node: str) -> None:
        """Let what is kept of the node's class count."""
        label = self._classes.setdefault(node, self._class_of(node))
        self._taught.enter(label, self.profiles[node])

    def nodes(self) -> tuple[str, ...]:
        """Return the nodes, in the order in which row ranges follow one another."""
        return tuple(self._alive)

    def _class_of(self, address: str) -> str:
        """Return the letter of the device class: nodes of the same kind and about the same rate."""
        profile = self.profiles[address]
        for other, letter in self._classes.items():
            known = self.profiles[other]
            alike = abs(rate_of(known) - rate_of(profile)) < SAME_CLASS
            if known.kind == profile.kind and alike:
                return letter
        return profile.kind + chr(ord("a") + len(set(self._classes.values())) % 26)

    def plan(
        self,
        name: str,
        work: Work,
        granule: int,
        current: Placement | None,
        transfer_bytes_per_row: float,
        transfer_fixed_bytes: float = 0.0,
        resting_bytes_per_row: float = 0.0,
    ) -> Plan:
        """Return who computes how many rows, by measured profiles and what runs taught."""
        self._used += 1
        profiles = [self.profiles[address] for address in self._alive]
        rating = self._rating(name, work)
        try:
            return plan_work(
                name,
                work,
                profiles,
                granule=granule,
                current=current,
                lowering=rating.lowering,
                corrections=rating.factors,
                transfer_bytes_per_row=transfer_bytes_per_row,
                transfer_fixed_bytes=transfer_fixed_bytes,
                resting_bytes_per_row=resting_bytes_per_row,
            )
        except PlanInfeasible as alone:
            if self._refused is None:
                raise
            raise self._refused() from alone

    def _rating(self, what: str, work: Work, lowering: str = "") -> Rating:
        """Return how workers will run it, and how far off the model was for that."""
        from dnumpy.runtime.jointly import Rating

        lowering = lowering or self._taught.lowering(what, work)
        kernel, family = kernel_name(what, work, lowering), f"{what}:{lowering}"
        factors = (self.correction.factor(kernel, self.label(a), a, family) for a in self._alive)
        return Rating(lowering, tuple(factors))

    def parties(self, dtype: np.dtype) -> list[Party]:
        """Return the workers' rates in products, and the rates at which bytes arrive."""
        found = []
        for node, threads in self._alive.items():
            profile = self.profiles[node]
            flops = profile.flops_per_second(dtype.name) * profile.speed * threads
            others = [other for other in self._alive if other != node]
            known = self.links.links and others
            rate = min(self.links.bytes_per_second(o, node) for o in others) if known else WIRE
            found.append(Party(node, flops / self.correction.node_factor(node), rate))
        return found

    def threads(self, node: str) -> int:
        """Return the worker's threads."""
        return self._alive[node]

    def fastest(self) -> str:
        """Return the worker on which elementwise work is fastest."""
        return min(self._alive, key=self._unit_seconds)

    def seconds_alone(self, works: Iterable[Work]) -> float:
        """Return what a thread of the fastest worker takes; infinite where none is known yet."""
        if not self._alive:
            return float("inf")
        profile = self.profiles[self.fastest()]
        profile = replace(profile, launch_seconds=0.0)
        return sum(cost_seconds(work, profile, work.rows, "tiled") for work in works)

    def here_and_there(self, works: Sequence[Work]) -> tuple[float, float] | None:
        """Return what this process takes, as one like the fastest node, and all nodes together.

        None where no node is known yet.
        """
        if not self._alive:
            return None
        alone, best = self.seconds_alone(works), self._unit_seconds(self.fastest())
        threads = sum(n * best / self._unit_seconds(node) for node, n in self._alive.items())
        return alone / thread_count(), alone / threads

    def _unit_seconds(self, node: str) -> float:
        profile = self.profiles[node]
        factor = self.correction.node_factor(node)
        return profile.ns_table("tiled")["arith"] / profile.speed * factor

    def label(self, node: str) -> str:
        """Return the device class of a worker."""
        return self._classes[node]

    def spread(self, lo: int, hi: int, granule: int) -> list[Range]:
        """Return ranges in proportion to the workers' rates."""
        rates = {node: self._alive[node] / self._unit_seconds(node) for node in self._alive}
        granules = -(-(hi - lo) // granule)
        ranges: list[Range] = []
        done, share = 0, 0.0
        for node, rate in rates.items():
            share += rate / sum(rates.values())
            upto = min(round(granules * share), granules)
            begin, end = lo + done * granule, min(lo + upto * granule, hi)
            ranges += cut_range(node, begin, end, granule, self._alive[node]) if end > begin else []
            done = upto
        return ranges

    def learn(self, what: str, work: Work, seen: list[Ran]) -> None:
        """Take in what each task took as it was run, against what is predicted for that.

        Pages that were new to a worker, beyond those that each run touches anew, were found once:
        they excuse a task that took longer than predicted, and make none look faster than that.
        """
        self._used += 1
        observations = []
        for r, took, ran_as, paging in seen:
            lowering = "numba" if ran_as in COMPILED else "tiled"
            kernel, family = kernel_name(what, work, lowering), f"{what}:{lowering}"
            if lowering == "numba" and self._taught.begins(kernel, r.node):
                continue
            label, profile = self.label(r.node), self.profiles[r.node]
            factor = self.correction.factor(kernel, label, r.node, family)
            predicted = cost_seconds(work, profile, r.hi - r.lo, lowering, factor)
            predicted -= profile.launch_seconds
            usual = (r.hi - r.lo) * work.bytes_fresh * profile.page_ns_per_byte * 1e-9
            once = max(0.0, paging - usual / profile.speed)
            observed = max(took - once, min(took, predicted))
            observations.append(Observation(kernel, label, r.node, predicted, observed, family))
        self.correction.observe(observations)
        compiled = all(ran.lowering in COMPILED for ran in seen)
        self._taught.note_ran(
            what, work, max((ran.seconds for ran in seen), default=0.0), compiled=compiled
        )
        self._calibrate_soon()

    @property
    def epoch(self) -> int:
        """What plans depend on besides sizes: it grows when rates have changed for good."""
        return self.correction.epoch

    def learn_round_trip(self, seconds: float) -> None:
        """Take in how much longer a run took than its tasks.

        Of one that took many times as long, tasks had to wait for something else.
        """
        seconds = min(seconds, MOST_LONGER * self.round_trip)
        self.round_trip += ROUND_TRIP_WEIGHT * (seconds - self.round_trip)
