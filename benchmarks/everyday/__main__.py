"""Whole programs as users write them, under NumPy and dnumpy by turns in one process.

``python -m benchmarks.everyday [names...] [--scale 1 30] [--seconds 1.0] [--json FILE]``
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from benchmarks.everyday.measure import BELOW, Standing, standing, summary
from benchmarks.everyday.programs import PROGRAMS, chosen
from benchmarks.machine import machine

if TYPE_CHECKING:
    from collections.abc import Sequence

SCALES = (1.0, 4.0, 10.0, 30.0, 100.0)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Return the options; SystemExit with status 2 for a program that does not exist."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.everyday", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"all, or some of {', '.join(PROGRAMS)}")
    parser.add_argument("--scale", nargs="+", type=float, default=list(SCALES), help="of the data")
    parser.add_argument("--seconds", type=float, default=1.0, help="of each program at a scale")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(argv)
    try:
        options.programs = chosen(options.names)
    except ValueError as error:
        parser.error(str(error))
    return options


def line(found: Standing) -> str:
    """Return what is printed of a program; a star marks what is below the limit."""
    return (
        f"{found.program:22} NumPy {1e3 * found.numpy_median:9.3f} ms, ratio {found.ratio:6.2f}"
        f" best {found.best_ratio:6.2f}{' *' if found.slow else ''}"
    )


def main(argv: Sequence[str]) -> int:
    """Print what was measured, store it where asked; the status is 1 where a result differs."""
    options = parse(argv)
    warnings.simplefilter("ignore")
    console = Console(width=140, highlight=False, markup=False, soft_wrap=True)
    found: list[Standing] = []
    for scale in options.scale:
        found += measured(options, scale, console)
    if found:
        console.print(f"all scales, {summary(found)}")
    if options.json:
        stored = {"machine": machine(), "programs": [asdict(each) for each in found]}
        options.json.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    return int(len(found) < len(options.programs) * len(options.scale))


def measured(options: argparse.Namespace, scale: float, console: Console) -> list[Standing]:
    """Return the figures of the programs whose results agree, and print those of each at once."""
    found = []
    console.print(f"scale {scale:g}; *: below {BELOW} by median and best")
    for name, program in options.programs.items():
        try:
            found.append(standing(program, scale, options.seconds))
        except Exception as problem:  # noqa: BLE001 - whatever it is, the others are measured
            console.print(f"{name}: {type(problem).__name__}: {problem}")
        else:
            console.print(line(found[-1]))
    if found:
        console.print(f"scale {scale:g}, {summary(found)}")
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
