"""The command line: ``python -m benchmarks [--programs a,b] [--repeats N] [--json FILE]``."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from benchmarks.cold import ColdComparison, compare_cold
from benchmarks.measure import Comparison, chosen, compare
from benchmarks.programs import PROGRAMS

if TYPE_CHECKING:
    from collections.abc import Sequence


def machine() -> dict[str, Any]:
    """Return where the figures come from: processor, usable cores, versions."""
    packages = ("numpy", "dnumpy", "numba", "dask")
    versions = {}
    for package in packages:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[package] = importlib.metadata.version(package)
    return {
        "processor": processor(),
        "cores": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": versions,
        "mode": os.environ.get("DNUMPY_MODE", "default"),
    }


def processor() -> str:
    """Return the model name of the processor."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def seconds_text(seconds: float) -> str:
    """Return seconds with three significant digits and a unit."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def warm_table(module: str) -> Table:
    """Return the empty table of timings after a warm-up."""
    table = Table(title=f"NumPy and {module}, alternately; speed above 1 is faster than NumPy")
    columns = ("program", "NumPy best", "median", "peak", f"{module} best", "median", "peak")
    for column in (*columns, "speed", "by median"):
        table.add_column(column, justify="left" if column == "program" else "right")
    return table


def add_warm(table: Table, row: Comparison) -> None:
    """Add one program to the table."""
    cells = [
        text
        for timing in (row.numpy, row.module)
        for text in (
            seconds_text(timing.best),
            seconds_text(timing.median),
            decimal(timing.peak_bytes),
        )
    ]
    table.add_row(row.title, *cells, f"{row.speed:.2f}", f"{row.median_speed:.2f}")


def cold_table(module: str) -> Table:
    """Return the empty table of first calls."""
    table = Table(title=f"First call in a fresh process (second call in brackets), {module}")
    for column in ("program", "NumPy", f"{module}, empty cache", f"{module}, kept cache", "import"):
        table.add_column(column, justify="left" if column == "program" else "right")
    return table


def add_cold(table: Table, row: ColdComparison) -> None:
    """Add one program to the table."""
    calls = (row.numpy, row.empty_cache, row.kept_cache)
    cells = [f"{seconds_text(call.first)} ({seconds_text(call.second)})" for call in calls]
    table.add_row(row.title, *cells, seconds_text(row.kept_cache.import_seconds))


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options; SystemExit with status 2 for a program that does not exist."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = ",".join(program.name for program in PROGRAMS)
    parser.add_argument("--programs", help=f"comma-separated, of {names}")
    parser.add_argument("--repeats", type=int, default=5, help="timed runs of each")
    parser.add_argument("--warmups", type=int, default=2, help="runs before them, at least one")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the elements (default 1)"
    )
    parser.add_argument("--module", default="dnumpy", help="`numpy` here shows the noise")
    parser.add_argument("--cold", action="store_true", help="first calls in fresh processes")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(argv)
    try:
        options.programs = chosen(PROGRAMS, options.programs)
    except ValueError as error:
        parser.error(str(error))
    return options


def main(argv: Sequence[str]) -> None:
    """Run the programs and print the table."""
    options = parse(argv)
    console = Console(width=None if sys.stdout.isatty() else 150, highlight=False)
    here = machine()
    console.print(
        "; ".join(f"{key} {value}" for key, value in {**here, "scale": options.scale}.items())
    )
    rows: list[Comparison | ColdComparison] = []
    table = (cold_table if options.cold else warm_table)(options.module)
    for program in options.programs:
        if options.cold:
            rows.append(cold := compare_cold(program, options.module, options.scale))
            add_cold(table, cold)
        else:
            warm = compare(
                program,
                importlib.import_module(options.module),
                repeats=options.repeats,
                warmups=options.warmups,
                scale=options.scale,
            )
            rows.append(warm)
            add_warm(table, warm)
    console.print(table)
    if options.json:
        record = {"machine": here, "scale": options.scale, "rows": [row.as_dict() for row in rows]}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
