"""The same programs under NumPy, dnumpy and other peers, side by side in one run.

``python -m benchmarks [--programs a,b] [--peers numba,jax] [--json FILE] [--chart]``
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.chart import RECORD, update
from benchmarks.compare import SUBJECT, compare
from benchmarks.machine import as_installed, best, machine, measured_limits
from benchmarks.peers import NAMES, installed
from benchmarks.programs import GROUPS, PROGRAMS, chosen
from benchmarks.report import Record, cell, detailed, side_by_side

if TYPE_CHECKING:
    from collections.abc import Sequence


def peers_of(text: str) -> list[str]:
    """Return the peers named in a comma-separated list.

    Raises
    ------
    ValueError
        There is no such peer.
    """
    names = text.split(",")
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        msg = f"no peer {', '.join(unknown)}; there are {', '.join(NAMES)}"
        raise ValueError(msg)
    return list(dict.fromkeys(names))


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options; SystemExit with status 2 for a program or peer that does not exist."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    names = ", ".join([*GROUPS, *[program.name for program in PROGRAMS]])
    parser.add_argument("--programs", default="all", help=f"comma-separated, of {names}")
    parser.add_argument(
        "--peers", default="numpy", help=f"besides NumPy and dnumpy; of {', '.join(NAMES)}"
    )
    parser.add_argument("--repeats", type=int, default=5, help="timed runs of each")
    parser.add_argument("--warmups", type=int, default=1, help="runs between the first and these")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the elements (default 1)"
    )
    parser.add_argument("--no-cold", action="store_true", help="no run with an empty kernel cache")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument(
        "--keep", action="store_true", help="keep that file's figures of programs not run now"
    )
    parser.add_argument(
        "--chart",
        nargs="?",
        type=Path,
        const=RECORD,
        help="measure nothing; draw the README's chart and table from this file of figures",
    )
    options = parser.parse_args(argv)
    try:
        options.programs = chosen(options.programs)
        options.peers = peers_of(options.peers)
    except ValueError as error:
        parser.error(str(error))
    return options


def main(argv: Sequence[str]) -> int:
    """Run the programs and print the tables; the status is 1 when a peer failed."""
    options = parse(argv)
    if options.chart:
        update(options.chart)
        return 0
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    for name in options.peers:
        if not installed(name):
            console.print(f"{name} is not installed: skipped")
    others = [p for p in options.peers if p not in {"numpy", SUBJECT} and installed(p)]
    record = measured(options, (SUBJECT, *others), console)
    console.print(detailed(record))
    console.print(side_by_side(record))
    if options.json:
        keeps = options.keep and options.json.exists()
        (record.onto(Record.read(options.json)) if keeps else record).write(options.json)
    return int(any(row.errors for row in record.rows))


def measured(options: argparse.Namespace, peers: Sequence[str], console: Console) -> Record:
    """Return the figures of all programs, and print those of each as soon as it is done."""
    as_installed()  # of which first calls tell
    here = machine()
    for key, value in {**here, "scale": options.scale}.items():
        console.print(f"{key}: {value}")
    before, rows = measured_limits(), []
    for program in options.programs:
        row = compare(
            program,
            peers,
            scale=options.scale,
            repeats=options.repeats,
            warmups=options.warmups,
            cold=not options.no_cold,
        )
        rows.append(row)
        speeds = ", ".join(f"{peer} {cell(row, peer)}" for peer in peers)
        console.print(f"{program.name}: {speeds}")
        for peer, error in row.errors.items():
            console.print(f"{program.name}, {peer}: {error}")
    limits = best(before, measured_limits())
    rates = ", ".join(f"{rate / 1e9:.0f} {d}" for d, rate in limits.flops_per_second.items())
    console.print(f"{limits.bytes_per_second / 1e9:.1f} GB/s; products, GFLOP/s: {rates}")
    return Record(here, limits, options.scale, ("numpy", *peers), tuple(rows))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
