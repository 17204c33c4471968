"""What came out of the race of :mod:`benchmarks.hetero`: figures, table and summary."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from statistics import geometric_mean, median
from typing import TYPE_CHECKING, Any

import numpy
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.nodes import NodeSpec
    from dnumpy.cost.profile import DeviceProfile

RIVALS = ("planned", "even", "dask")
UNEQUAL = 2.0  # the ratio of CPU shares from which the even split has to be beaten clearly
AIMS = {
    "planned / bound": 1.10,
    "planned / floor": 1.10,
    "even / planned": 1.5,
    "dask / planned": 5.0,
}


@dataclass(slots=True)
class Entry:
    """One rival on one program: its seconds, or why there are none."""

    seconds: list[float] = field(default_factory=list)
    failed: str = ""

    @property
    def middle(self) -> float:
        """The median; NaN where it failed."""
        return median(self.seconds) if self.seconds and not self.failed else float("nan")

    def __str__(self) -> str:
        """Return best and median."""
        if self.failed:
            return "failed"
        return f"{min(self.seconds):.3f}, {self.middle:.3f}" if self.seconds else "none"


@dataclass(slots=True)
class Result:
    """One program on one cluster.

    ``bound`` are the seconds of the lower bound, ``floor`` those with what the network, one round
    trip and sharing a machine's memory take, and ``speeds`` the fastest node's measured rate over
    the slowest's; ``rows`` each node's in the longest stage, as planned and evenly; ``graphs``
    how often a planned run went to the cluster, ``home_bytes`` what it read and wrote at home.
    """

    program: str
    title: str
    bound: float
    floor: float
    speeds: float
    entries: dict[str, Entry] = field(default_factory=lambda: {name: Entry() for name in RIVALS})
    rows: dict[str, tuple[int, ...]] = field(default_factory=dict)
    graphs: int = 0
    home_bytes: int = 0
    chunks: str = ""
    searched: dict[str, float] = field(default_factory=dict)
    not_run: dict[str, str] = field(default_factory=dict)

    def ratios(self) -> dict[str, float]:
        """Return the ratios of medians; NaN where one of the two failed."""
        planned, even, dask = (self.entries[name].middle for name in RIVALS)
        return {
            "planned / bound": planned / self.bound,
            "planned / floor": planned / self.floor,
            "even / planned": even / planned,
            "dask / planned": dask / planned,
        }

    def to_dict(self, trip: float) -> dict[str, Any]:
        """Return plain data; ``trip`` are the seconds of a round trip to the cluster."""
        entries = {
            name: {"seconds": entry.seconds, "median": entry.middle, "failed": entry.failed}
            for name, entry in self.entries.items()
        }
        own = self.entries["planned"].middle - self.graphs * trip
        return {
            "program": self.program,
            "title": self.title,
            "bound_seconds": self.bound,
            "floor_seconds": self.floor,
            "speed_ratio": self.speeds,
            **entries,
            "ratios": self.ratios(),
            "planned_without_round_trips / bound": own / self.bound,
            "rows": self.rows,
            "graphs": self.graphs,
            "bytes_handled_at_home": self.home_bytes,
            "dask_chunks": self.chunks,
            "dask_chunks_tried_seconds": self.searched,
            "dask_chunks_failed": self.not_run,
        }


@dataclass(slots=True)
class Race:
    """All programs on one cluster; ``left`` is what sharing memory leaves of its rates."""

    specs: tuple[NodeSpec, ...]
    profiles: list[DeviceProfile]
    trip: float
    results: list[Result] = field(default_factory=list)
    left: float = 1.0

    @property
    def is_unequal(self) -> bool:
        """Whether the even split has to be beaten clearly."""
        shares = [spec.cpu for spec in self.specs]
        return max(shares) >= UNEQUAL * min(shares)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "nodes": [str(spec) for spec in self.specs],
            "profiles": [json.loads(profile.to_json()) for profile in self.profiles],
            "round_trip_seconds": self.trip,
            "left_of_memory_rates": self.left,
            "results": [result.to_dict(self.trip) for result in self.results],
        }


def table(one: Race) -> Table:
    """Return the race as a table."""
    trip = (
        f"a round trip to the cluster takes {one.trip * 1e3:.1f} ms; the floor has one, and "
        f"{one.left:.0%} of the nodes' memory rates, which is what they have at the same time"
    )
    made = Table(
        title="; ".join(f"node {k}: {spec}" for k, spec in enumerate(one.specs)),
        caption=f"seconds as best, median; {trip}",
        title_justify="left",
        caption_justify="left",
    )
    made.add_column("program")
    for name in (*RIVALS, "chunks", "bound", "floor", *AIMS, "graphs", "rows, planned"):
        made.add_column(name, justify="right")
    for result in one.results:
        told = [_ratio(ratio) for ratio in result.ratios().values()]
        rows = " ".join(f"{n:,}" for n in result.rows.get("planned", ()))
        made.add_row(
            result.title,
            *(str(result.entries[name]) for name in RIVALS),
            result.chunks,
            f"{result.bound:.3f}",
            f"{result.floor:.3f}",
            *told,
            str(result.graphs) + ("" if result.home_bytes < 1 << 20 else " (and at home)"),
            rows,
        )
    return made


def _ratio(ratio: float) -> str:
    return "" if numpy.isnan(ratio) else f"{ratio:.2f}"


def summary(races: Sequence[Race]) -> dict[str, dict[str, float]]:
    """Return geometric mean, median, and how many reach the aim, of each ratio.

    The even split counts where the CPU shares of the nodes differ by 2 or more.
    """
    told = {}
    for name, aim in AIMS.items():
        counted = [
            result.ratios()[name]
            for one in races
            for result in one.results
            if name != "even / planned" or one.is_unequal
        ]
        known = [ratio for ratio in counted if not numpy.isnan(ratio)]
        if known:
            good = sum(
                ratio <= aim if name.startswith("planned") else ratio >= aim for ratio in known
            )
            told[name] = {
                "geometric_mean": geometric_mean(known),
                "median": median(known),
                "least": min(known),
                "most": max(known),
                "aim": aim,
                "reached": good,
                "of": len(counted),
            }
    return told


AIM_TEXTS = {
    "planned / bound": "aim: median at most 1.10",
    "planned / floor": "with the network, one round trip, and memory that nodes share",
    "even / planned": "aim: at least 1.5 where speeds differ by 2 or more",
    "dask / planned": "aim: geometric mean at least 5",
}


def lines(races: Sequence[Race]) -> list[str]:
    """Return the summary as text, and what failed."""
    told = [
        f"{name}: geometric mean {s['geometric_mean']:.2f}, median {s['median']:.2f}, "
        f"{s['least']:.2f} to {s['most']:.2f} ({AIM_TEXTS[name]}; {s['reached']} of {s['of']})"
        for name, s in summary(races).items()
    ]
    for k, one in enumerate(races):
        for result in one.results:
            told += [
                f"cluster {k}, {result.program}, {name} failed: {entry.failed.strip()[:300]}"
                for name, entry in result.entries.items()
                if entry.failed
            ]
    return told
