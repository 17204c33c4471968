"""Rows -> what is printed and stored: two tables, and a record that keeps all figures."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rich.filesize import decimal
from rich.table import Table

from benchmarks.machine import Limits, best
from benchmarks.measure import Row

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CANNOT, FAILED = "x", "!"


@dataclass(frozen=True, slots=True)
class Record:
    """One run of the benchmarks: where, which peers, and what was measured."""

    machine: dict[str, Any]
    limits: Limits
    scale: float
    peers: tuple[str, ...]
    rows: tuple[Row, ...]

    def write(self, path: Path) -> None:
        """Store the record as JSON."""
        plain = {
            "machine": self.machine,
            "limits": asdict(self.limits),
            "scale": self.scale,
            "peers": self.peers,
            "rows": [row.as_dict() for row in self.rows],
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")

    def onto(self, older: Record) -> Record:
        """Return this record with the rows of the older one for programs that were not run again.

        Raises
        ------
        ValueError
            The older one was measured elsewhere, with other versions or at another scale.
        """
        if (older.machine, older.scale) != (self.machine, self.scale):
            msg = f"measured on {older.machine} at scale {older.scale}: not comparable"
            raise ValueError(msg)
        rows = {row.program: row for row in (*older.rows, *self.rows)}
        peers = tuple(dict.fromkeys((*older.peers, *self.peers)))
        limits = best(older.limits, self.limits)
        return Record(self.machine, limits, self.scale, peers, tuple(rows.values()))

    @classmethod
    def read(cls, path: Path) -> Record:
        """Return the record that :meth:`write` stored."""
        plain = json.loads(path.read_text(encoding="utf-8"))
        rows = tuple(Row.from_dict(row) for row in plain["rows"])
        peers = tuple(plain["peers"])
        return cls(plain["machine"], Limits(**plain["limits"]), plain["scale"], peers, rows)


def seconds_text(seconds: float) -> str:
    """Return seconds with three significant digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def speed_text(speed: float) -> str:
    """Return a ratio to NumPy with two significant digits or more, as tables show it."""
    return f"{speed:.1f}" if speed >= 1.95 else f"{speed:.2f}" if speed >= 0.095 else f"{speed:.1g}"


def table_of(title: str, columns: Sequence[str], words: int) -> Table:
    """Return an empty table of which the first columns hold words and the others numbers."""
    table = Table(title=title)
    for k, column in enumerate(columns):
        table.add_column(column, justify="left" if k < words else "right")
    return table


def detailed(record: Record) -> Table:
    """Return every figure; speeds are NumPy's time over the peer's."""
    columns = ("program", "peer", "best", "median", "speed", "by median")
    cold = ("first call", "cold, empty", "cold, kept")
    table = table_of(
        "Speeds are times NumPy's; first calls in fresh processes",
        (*columns, *cold, "peak memory", "but code", "of the machine"),
        2,
    )
    for row in record.rows:
        for k, (peer, timing) in enumerate(row.timings.items()):
            kept = timing.first_empty is not None
            cells = (
                row.title if not k else "",
                peer,
                seconds_text(timing.best),
                seconds_text(timing.median),
                speed_text(row.speed(peer, "best")),
                speed_text(row.speed(peer)),
                seconds_text(timing.first),
                speed_text(row.timings["numpy"].first / timing.cold),
                speed_text(row.speed(peer, "first")) if kept else "",
                decimal(timing.peak_bytes),
                decimal(timing.data_bytes) if peer in {"numpy", "dnumpy"} else "",
                share_text(row, peer, record.limits),
            )
            table.add_row(*cells, end_section=k == len(row.timings) - 1)
    return table


def share_text(row: Row, peer: str, limits: Limits) -> str:
    """Return which share of the machine's bandwidth or rate of products is reached, by median."""
    least = limits.seconds(row.work)
    return f"{least / row.timings[peer].median:.0%}" if least else ""


def side_by_side(record: Record) -> Table:
    """Return the speeds by median, a column for each peer."""
    table = table_of("Speed, times NumPy's, by median", ("program", *record.peers), 1)
    for row in record.rows:
        table.add_row(row.title, *[cell(row, peer) for peer in record.peers])
    return table


def cell(row: Row, peer: str) -> str:
    """Return the speed of a peer, or why there is none."""
    if peer in row.timings:
        return speed_text(row.speed(peer))
    return FAILED if peer in row.errors else CANNOT
