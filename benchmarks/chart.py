"""The chart and the table that the README shows, made from a stored record and nothing else."""

from __future__ import annotations

import math
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from rich.filesize import decimal

from benchmarks.compare import SUBJECT
from benchmarks.programs import TABLE
from benchmarks.report import CANNOT, Record, cell, share_text, speed_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.measure import Row

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
RECORD = ROOT / "benchmarks" / "results" / "cpu-2-cores.json"
CHART = ROOT / "benchmarks" / "results" / "speed.svg"
BLOCK = re.compile(r"(<!-- python -m benchmarks --chart -->\n).*?(<!-- end -->)", re.DOTALL)

WIDTH, LEFT, RIGHT, TOP, STEP = 900, 330, 60, 64, 26  # pixels; STEP from program to program
LEAST, MOST = 1 / 16, 64.0  # speeds at the ends of the axis; what is beyond is drawn there
SHAPES = {
    "numba": '<circle cx="{x}" cy="{y}" r="4.5"/>',
    "jax": '<path d="M{x} {y}m0-5.5l5.5 5.5l-5.5 5.5l-5.5-5.5z"/>',
    "dask": '<rect x="{x}" y="{y}" width="8" height="8" transform="translate(-4 -4)"/>',
    "numexpr": '<path d="M{x} {y}m0-5l5.5 9h-11z"/>',
}
STYLE = """\
text { font: 12px system-ui, sans-serif; fill: #24292f }
.axis text { fill: #57606a }
.axis line { stroke: #d0d7de }
.one { stroke: #57606a; stroke-width: 1.5 }
.bar { fill: #3b7dd8 }
.slow { fill: #9a6700 }
.number { font-weight: 600 }
.numba { fill: #1a7f37 }
.jax { fill: #8250df }
.dask { fill: #bc4c00 }
.numexpr { fill: #57606a }
.mark { stroke: #ffffff; stroke-width: 1 }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 }
.axis text { fill: #9da7b3 }
.axis line { stroke: #3d444d }
.one { stroke: #9da7b3 }
.bar { fill: #4493f8 }
.slow { fill: #d29922 }
.numba { fill: #3fb950 }
.jax { fill: #be8fff }
.dask { fill: #f0883e }
.numexpr { fill: #9da7b3 }
.mark { stroke: #0d1117 }
}
"""


def update(record_path: Path) -> None:
    """Write the chart, and the README's block, from the record."""
    record = Record.read(record_path)
    CHART.write_text(chart(record), encoding="utf-8")
    old = README.read_text(encoding="utf-8")
    README.write_text(with_block(old, block(record, record_path)), encoding="utf-8")


def with_block(readme: str, made: str) -> str:
    """Return the README with what lies between its two marks replaced.

    Raises
    ------
    ValueError
        The marks are not there.
    """
    found, count = BLOCK.subn(lambda marks: f"{marks[1]}{made}{marks[2]}", readme)
    if count != 1:
        msg = f"the README has {count} blocks between {BLOCK.pattern!r}: expected one"
        raise ValueError(msg)
    return found


def shown(record: Record) -> list[Row]:
    """Return the rows of the table's programs, in its order, that have figures of dnumpy."""
    by_name = {row.program: row for row in record.rows if SUBJECT in row.timings}
    return [by_name[program.name] for program in TABLE if program.name in by_name]


def block(record: Record, path: Path) -> str:
    """Return the README's block: where it was measured, the chart, and the table."""
    source = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
    here = record.machine
    versions = ", ".join(f"{name} {number}" for name, number in here["versions"].items())
    repeats = len(record.rows[0].timings[SUBJECT].seconds)
    size = "" if record.scale == 1 else f", at {record.scale:g} of these sizes"
    peers = [peer for peer in record.peers if peer not in {"numpy", SUBJECT}]
    head = ("program", SUBJECT, *peers, "first call, empty cache", "kept", "memory", "share")
    gigabytes = round(record.limits.bytes_per_second / 1e9)
    table = "\n".join(f"| {' | '.join(line(row, record, peers))} |" for row in shown(record))
    return f"""\
On {here["cores"]} cores ({here["processor"]}; Python {here["python"]}, {versions};
medians of {repeats}{size}; `{source}`), times NumPy's speed:

![Speeds against NumPy's]({CHART.relative_to(ROOT)})

| {" | ".join(head)} |
|---|{"---:|" * (len(head) - 1)}
{table}

The peers run versions written for them (`benchmarks/peers`); {CANNOT}: there is none. First calls
are in fresh processes. Memory is dnumpy's peak in MB above the data, and NumPy's in brackets, after
a few runs on little have loaded the code. The share is what dnumpy reaches of this machine's
measured bandwidth ({gigabytes} GB a second) or, where that is the limit, speed of matrix products.
"""


def line(row: Row, record: Record, peers: list[str]) -> list[str]:
    """Return the cells of one program."""
    ours, numpys = row.timings[SUBJECT], row.timings["numpy"]
    return [
        row.title,
        f"**{speed_text(row.speed(SUBJECT))}**",
        *[cell(row, peer) for peer in peers],
        speed_text(numpys.first / ours.cold),
        speed_text(row.speed(SUBJECT, "first")),
        f"{decimal(ours.data_bytes)} ({decimal(numpys.data_bytes)})",
        share_text(row, SUBJECT, record.limits),
    ]


def place(speed: float) -> float:
    """Return the pixel of a speed on the logarithmic axis."""
    share = math.log(min(max(speed, LEAST), MOST) / LEAST) / math.log(MOST / LEAST)
    return round(LEFT + share * (WIDTH - LEFT - RIGHT), 1)


def chart(record: Record) -> str:
    """Return the chart as SVG, legible on light and on dark ground."""
    rows = shown(record)
    height = TOP + STEP * len(rows) + 30
    title = "Speed, times NumPy's (logarithmic)"
    body = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{STYLE}</style>",
        *legend(record, title),
        *axis(height),
        *[part for k, row in enumerate(rows) for part in drawn(row, TOP + STEP * k)],
        "</svg>\n",
    ]
    return "\n".join(body)


def legend(record: Record, title: str) -> Iterator[str]:
    """Yield the title, and which mark is whose."""
    yield f'<text x="{LEFT}" y="18" class="number">{escape(title)}</text>'
    yield f'<rect x="{LEFT}" y="28" width="22" height="10" class="bar"/>'
    yield f'<text x="{LEFT + 28}" y="38">{SUBJECT}</text>'
    for k, peer in enumerate(peer for peer in SHAPES if peer in record.peers):
        x = LEFT + 110 + 90 * k
        yield mark(peer, x, 33)
        yield f'<text x="{x + 10}" y="38">{peer}</text>'


def axis(height: int) -> Iterator[str]:
    """Yield a line and a number at each power of two."""
    bottom = height - 24
    yield '<g class="axis">'
    for power in range(round(math.log2(LEAST)), round(math.log2(MOST)) + 1):
        x, text = place(2.0**power), str(2**power) if power >= 0 else f"1/{2**-power}"
        kind = ' class="one"' if not power else ""
        yield f'<line x1="{x}" y1="{TOP - 12}" x2="{x}" y2="{bottom}"{kind}/>'
        yield f'<text x="{x}" y="{bottom + 16}" text-anchor="middle">{text}</text>'
    yield "</g>"


def drawn(row: Row, top: float) -> Iterator[str]:
    """Yield one program: its name, the bar from 1 to its speed, the peers' marks, its speed."""
    speed, middle = row.speed(SUBJECT), top + STEP / 2 - 6
    ends = sorted((place(1.0), place(speed)))
    kind = "bar" if speed >= 1 else "slow"
    yield f'<text x="{LEFT - 12}" y="{middle + 4}" text-anchor="end">{escape(short(row))}</text>'
    width = round(max(ends[1] - ends[0], 1.5), 1)
    yield f'<rect x="{ends[0]}" y="{middle - 7}" width="{width}" height="14" class="{kind}"/>'
    yield from (
        mark(peer, place(row.speed(peer)), middle) for peer in SHAPES if peer in row.timings
    )
    at = f'x="{WIDTH - 8}" y="{middle + 4}"'
    yield f'<text {at} class="number" text-anchor="end">{speed_text(speed)}</text>'


def mark(peer: str, x: float, y: float) -> str:
    """Return a peer's mark."""
    return f'<g class="mark {peer}">{SHAPES[peer].format(x=x, y=y)}</g>'


def short(row: Row) -> str:
    """Return a title that fits beside the axis: without what follows a colon."""
    return row.title.partition(":")[0]
