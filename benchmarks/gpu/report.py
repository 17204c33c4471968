"""Figures -> what is printed and stored: tables, the aims, and a record that keeps all of them."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from benchmarks.gpu.measure import Launch, Row, Small, Timing
from benchmarks.gpu.session import SUBJECT
from benchmarks.machine import Limits, best
from benchmarks.programs import Work
from benchmarks.report import FAILED, seconds_text, speed_text, table_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rich.table import Table

OF_FUSED = 0.9
OF_PLAIN = 3.0
OF_BANDWIDTH = 0.85
LAUNCH_SECONDS = 30e-6
OF_NUMPY = 1.0


@dataclass(frozen=True, slots=True)
class Aim:
    """What was aimed at and what was measured, both as text; ``met`` is None without figures."""

    what: str
    aimed: str
    measured: str
    met: bool | None


@dataclass(frozen=True, slots=True)
class Record:
    """One run on a device: which, when, and what was measured."""

    machine: dict[str, Any]
    date: str
    scale: float
    peers: tuple[str, ...]
    limits: Limits
    rows: tuple[Row, ...]
    launch: Launch | None = None
    small: tuple[Small, ...] = ()

    def share(self, row: Row, peer: str) -> float:
        """Return the share of the device's measured rate that a peer reaches, by the median."""
        if peer not in row.timings:
            return math.nan
        return self.limits.seconds(row.work) / row.timings[peer].median

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, what is derived included."""
        plain = asdict(self)
        for row, stored in zip(self.rows, plain["rows"], strict=True):
            others = [peer for peer in row.timings if peer != SUBJECT and SUBJECT in row.timings]
            stored["median"] = {peer: timing.median for peer, timing in row.timings.items()}
            stored["best"] = {peer: timing.best for peer, timing in row.timings.items()}
            stored["speed"] = {peer: row.speed(peer) for peer in others}
            stored["share"] = {peer: self.share(row, peer) for peer in row.timings}
        plain["aims"] = [asdict(aim) for aim in aims(self)]
        return plain

    def write(self, path: Path) -> None:
        """Store the record as JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(self.as_dict(), indent=1) + "\n", encoding="utf-8")

    def onto(self, older: Record) -> Record:
        """Return this record with the older one's rows of programs that were not run again.

        Raises
        ------
        ValueError
            The older one was measured on another device, or with other versions.
        """
        if older.machine != self.machine:
            msg = f"measured on {older.machine}: not comparable with {self.machine}"
            raise ValueError(msg)
        rows = {row.program: row for row in (*older.rows, *self.rows)}
        return replace(
            self,
            peers=tuple(dict.fromkeys((*older.peers, *self.peers))),
            limits=best(older.limits, self.limits),
            rows=tuple(rows.values()),
            launch=self.launch or older.launch,
            small=self.small or older.small,
        )

    @classmethod
    def read(cls, path: Path) -> Record:
        """Return the record that :meth:`write` stored."""
        plain = json.loads(path.read_text(encoding="utf-8"))
        return cls(
            plain["machine"],
            plain["date"],
            plain["scale"],
            tuple(plain["peers"]),
            Limits(**plain["limits"]),
            tuple(row_from(row) for row in plain["rows"]),
            Launch(**plain["launch"]) if plain["launch"] else None,
            tuple(Small(**small) for small in plain["small"]),
        )


def row_from(stored: dict[str, Any]) -> Row:
    """Return the row that was stored."""
    return Row(
        stored["program"],
        stored["title"],
        stored["scale"],
        stored["fused"],
        stored["elementwise"],
        Work(**stored["work"]),
        {peer: Timing(**timing) for peer, timing in stored["timings"].items()},
        dict(stored["errors"]),
    )


def known(values: Iterable[float]) -> list[float]:
    """Return the values that are not NaN."""
    return [value for value in values if not math.isnan(value)]


def aims(record: Record) -> list[Aim]:
    """Return every aim with what was measured."""
    rows = record.rows
    by_hand = known(row.speed("fused") for row in rows)
    plain = known(row.speed("plain") for row in rows if row.fused)
    shares = known(record.share(row, SUBJECT) for row in rows if row.elementwise)
    ratios = [small.ratio for small in record.small]
    launch = record.launch.launch if record.launch else None
    mean = math.exp(math.fsum(map(math.log, plain)) / len(plain)) if plain else None
    return [
        at_least("of hand-fused CuPy's speed, least", OF_FUSED, min(by_hand, default=None)),
        at_least("times plain CuPy, geometric mean where it fuses", OF_PLAIN, mean),
        at_least("of the copy bandwidth, elementwise", OF_BANDWIDTH, min(shares, default=None)),
        Aim(
            "launch of a cached phase",
            f"<= {seconds_text(LAUNCH_SECONDS)}",
            "" if launch is None else seconds_text(launch),
            None if launch is None else launch <= LAUNCH_SECONDS,
        ),
        Aim(
            "NumPy's time on small arrays at home, most",
            f"<= {OF_NUMPY:.2f}",
            f"{max(ratios):.2f}" if ratios else "",
            max(ratios) <= OF_NUMPY if ratios else None,
        ),
    ]


def at_least(what: str, aimed: float, measured: float | None) -> Aim:
    """Return an aim that is met by more."""
    if measured is None:
        return Aim(what, f">= {aimed:.2f}", "", None)
    return Aim(what, f">= {aimed:.2f}", f"{measured:.2f}", measured >= aimed)


def mark(value: float, aim: float | None) -> str:
    """Return a ratio as a table shows it, with a star where it misses the aim."""
    if math.isnan(value):
        return ""
    return speed_text(value) + ("*" if aim is not None and value < aim else "")


def share_text(value: float, aim: float | None) -> str:
    """Return a share as a table shows it, with a star where it misses the aim."""
    if math.isnan(value):
        return ""
    return f"{value:.0%}" + ("*" if aim is not None and value < aim else "")


def times_text(row: Row, peer: str) -> str:
    """Return the best time and the middle one, or that there are none."""
    if peer in row.timings:
        timing = row.timings[peer]
        return f"{seconds_text(timing.best)} / {seconds_text(timing.median)}"
    return FAILED if peer in row.errors or "data" in row.errors else ""


def speeds(record: Record) -> Table:
    """Return a row for each program: times, ratios to the peers, shares of the device's rates."""
    others = [peer for peer in record.peers if peer != SUBJECT]
    columns = ["program", "scale", *[f"{peer}, best / median" for peer in (SUBJECT, *others)]]
    columns += [f"over {peer}" for peer in others]
    reaching = [peer for peer in (SUBJECT, "fused") if peer in (SUBJECT, *others)]
    columns += [f"{peer}, of the device" for peer in reaching]
    table = table_of("dnumpy on a GPU; * misses the aim", columns, 1)
    for row in record.rows:
        cells = [row.title, "" if row.scale == 1.0 else f"{row.scale:.3g}"]
        cells += [times_text(row, peer) for peer in (SUBJECT, *others)]
        cells += [mark(row.speed(peer), OF_FUSED if peer == "fused" else None) for peer in others]
        for peer in reaching:
            aim = OF_BANDWIDTH if row.elementwise and peer == SUBJECT else None
            cells.append(share_text(record.share(row, peer), aim))
        table.add_row(*cells)
    return table


def costs(record: Record) -> Table:
    """Return what a cached phase costs, and small arrays at home."""
    table = table_of("what small arrays cost", ("what", "dnumpy", "numpy", "plain", "fused"), 1)
    if record.launch is not None:
        found = record.launch
        launch = "ran elsewhere" if found.launch is None else seconds_text(found.launch)
        table.add_row("launch of a cached phase", launch, "", "", "")
        times = [seconds_text(s) for s in (found.plain, found.fused)]
        table.add_row("x * 2 + 1 on the device", seconds_text(found.evaluation), "", *times)
    for small in record.small:
        times = [seconds_text(s) for s in (small.dnumpy_seconds, small.numpy_seconds)]
        table.add_row(f"{small.expression}, {small.elements:,} at home", *times, "", "")
    return table


def aimed(record: Record) -> Table:
    """Return the aims and what was measured."""
    table = table_of("aims", ("what", "aim", "measured", "met"), 1)
    words = {True: "yes", False: "no", None: ""}
    for aim in aims(record):
        table.add_row(aim.what, aim.aimed, aim.measured, words[aim.met])
    return table


def scaled_down(record: Record, scale: float) -> Sequence[str]:
    """Return a sentence for each program that the device has no room for at the asked scale."""
    return [
        f"{row.title}: at {row.scale:.3g} of its size, which is what the device has memory for"
        for row in record.rows
        if row.scale < scale
    ]
