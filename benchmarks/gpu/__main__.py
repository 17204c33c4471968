"""dnumpy on a GPU beside hand-fused CuPy, plain CuPy and ``jax.jit``, in one run.

``python -m benchmarks.gpu [--programs a,b] [--peers numpy,plain,fused,jax] [--json FILE]``
"""

from __future__ import annotations

import argparse
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.gpu import jitted, session
from benchmarks.gpu.measure import compare, give_back, launch_costs, measured_limits, small_costs
from benchmarks.gpu.programs import PROGRAMS, chosen
from benchmarks.gpu.report import Record, aimed, costs, scaled_down, speeds, times_text
from benchmarks.gpu.session import PEERS, SUBJECT
from benchmarks.machine import best

if TYPE_CHECKING:
    from collections.abc import Sequence

DEFAULT_PEERS = "plain,fused,jax"  # NumPy takes minutes


def peers_of(text: str) -> tuple[str, ...]:
    """Return the peers named in a comma-separated list, each once.

    Raises
    ------
    ValueError
        There is no such peer.
    """
    unknown = [name for name in text.split(",") if name not in PEERS]
    if unknown:
        msg = f"no peer {', '.join(unknown)}; there are {', '.join(PEERS)}"
        raise ValueError(msg)
    return tuple(dict.fromkeys(text.split(",")))


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options; SystemExit with status 2 for a program or peer that does not exist."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    names = ", ".join(["all", *[program.name for program in PROGRAMS]])
    parser.add_argument("--programs", default="all", help=f"comma-separated, of {names}")
    parser.add_argument(
        "--peers",
        default=DEFAULT_PEERS,
        help=f"besides dnumpy; of {', '.join(PEERS)}; numpy runs once (default {DEFAULT_PEERS})",
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the elements (default 1)"
    )
    parser.add_argument("--repeats", type=int, default=5, help="timed runs of each")
    parser.add_argument("--warmups", type=int, default=3, help="runs between the first and these")
    parser.add_argument("--no-costs", action="store_true", help="no launches and small arrays")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument(
        "--keep", action="store_true", help="keep that file's figures of programs not run now"
    )
    options = parser.parse_args(argv)
    if not (options.repeats > 0 and options.warmups >= 0 and options.scale > 0):
        parser.error("--repeats and --scale must be above 0, and --warmups at least 0")
    try:
        options.programs = chosen(options.programs)
        options.peers = peers_of(options.peers)
    except ValueError as error:
        parser.error(str(error))
    return options


def main(argv: Sequence[str]) -> int:
    """Run the programs and print the tables; the status is 1 without a GPU, or when one failed."""
    options = parse(argv)
    console = Console(width=None if sys.stdout.isatty() else 200, highlight=False)
    why = session.refusal()
    if why:
        console.print(why, markup=False, soft_wrap=True)
        return 1
    lacking = jitted.missing() if "jax" in options.peers else ""
    if lacking:
        console.print(f"{lacking}: skipped", markup=False)
        options.peers = tuple(peer for peer in options.peers if peer != "jax")
    record = measured(options, console)
    if options.json:
        keeps = options.keep and options.json.exists()
        record = record.onto(Record.read(options.json)) if keeps else record
        record.write(options.json)
    shown(record, options.scale, console)
    return int(any(row.errors for row in record.rows))


def measured(options: argparse.Namespace, console: Console) -> Record:
    """Return the figures of all programs, and print those of each as soon as it is done."""
    machine = session.described()
    for key, value in machine.items():
        console.print(f"{key}: {value}", markup=False)
    before, rows = measured_limits(session.device_here().free_bytes()), []
    for program in options.programs:
        row = compare(
            program,
            options.peers,
            scale=options.scale,
            repeats=options.repeats,
            warmups=options.warmups,
        )
        rows.append(row)
        give_back()
        times = ", ".join(f"{peer} {times_text(row, peer)}" for peer in (SUBJECT, *options.peers))
        console.print(f"{program.name}: {times}", markup=False)
        for peer, error in row.errors.items():
            console.print(f"{program.name}, {peer}: {error}", markup=False, soft_wrap=True)
    return Record(
        machine,
        datetime.now(UTC).isoformat(timespec="seconds"),
        options.scale,
        options.peers,
        best(before, measured_limits(session.device_here().free_bytes())),
        tuple(rows),
        None if options.no_costs else launch_costs(),
        () if options.no_costs else tuple(small_costs()),
    )


def shown(record: Record, scale: float, console: Console) -> None:
    """Print the tables."""
    limits = record.limits
    rates = ", ".join(f"{rate / 1e12:.1f} {d}" for d, rate in limits.flops_per_second.items())
    console.print(f"copies {limits.bytes_per_second / 1e9:.0f} GB/s; products, TFLOP/s: {rates}")
    console.print(speeds(record))
    for sentence in scaled_down(record, scale):
        console.print(sentence, markup=False)
    console.print(costs(record))
    console.print(aimed(record))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
