"""Pictures of a plan and of a run, written as SVG by hand, and the plan as Graphviz source."""

from __future__ import annotations

from html import escape
from math import floor, log10
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from dnumpy.api.trace import measured_bars, nodes_of, predicted_bars, short

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.api.trace import Bar

COLOURS = {"tiled": "#4c78a8", "numba": "#3f8f4f", "chain": "#8e6bab", "numpy": "#c76f1e"}
OTHER = "#6b7280"
PREDICTED = "#cbd5e1"
INK, FAINT, PAPER = "#1f2937", "#d1d5db", "#ffffff"
MARGIN = 16
NAMES = 150  # width of the column of node names
COLUMN = 190  # width of a stage
BOX = 158  # width of its box, the rest of the column is for arrows
HEAD = 74  # height of a stage's box
CELL = 52  # height of what one node does
LANE = 18  # height of a bar
CHART = 640  # width of the time axis
TICKS = 6
TITLE = 21  # characters of a line in a box
ARCH = 12  # by how much an arrow rises for each stage that it passes


class Picture(NamedTuple):
    """Drawn elements, and the size of the box that they fill."""

    width: float
    height: float
    body: str


def svg(*pictures: Picture) -> str:
    """Return one SVG document with the pictures below each other."""
    width = max(p.width for p in pictures)
    height = sum(p.height for p in pictures)
    parts = []
    top = 0.0
    for picture in pictures:
        parts.append(f'<g transform="translate(0 {top:g})">{picture.body}</g>')
        top += picture.height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" font-family="sans-serif" font-size="11">'
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{INK}"/></marker></defs>'
        f'<rect width="{width:g}" height="{height:g}" fill="{PAPER}"/>{"".join(parts)}</svg>'
    )


def plan_picture(stages: Sequence[dict[str, Any]]) -> Picture:
    """Return the stages from left to right, and below each what the nodes get of it."""
    nodes = nodes_of(stages)
    top = MARGIN + _arches(stages)
    left = MARGIN + NAMES
    parts = [_arrows(stages, left, top)]
    for row, node in enumerate(nodes):
        y = top + HEAD + 14 + row * CELL
        right = left + len(stages) * COLUMN - (COLUMN - BOX)
        parts.append(_line(MARGIN, y - 6, right, y - 6))
        parts.append(_text(MARGIN, y + 13, short(node), weight="bold"))
    for number, stage in enumerate(stages):
        x = left + number * COLUMN
        parts.append(_box(x, top, number, stage))
        parts += _shares(x, top + HEAD + 14, nodes, stage)
    height = top + HEAD + 14 + len(nodes) * CELL + MARGIN
    return Picture(left + len(stages) * COLUMN + MARGIN, height, "".join(parts))


def _box(x: float, y: float, number: int, stage: dict[str, Any]) -> str:
    lines = wrap(stage["what"].replace("+", "+ "), TITLE) or [""]
    lines = [line.replace("+ ", "+") for line in lines]
    if len(lines) > 2:  # for which a box has room
        lines = [lines[0], lines[1][: TITLE - 3] + "..."]
    told = seconds_text(stage["predicted_seconds"])
    edge = (
        f'<rect x="{x:g}" y="{y:g}" width="{BOX}" height="{HEAD}" rx="6" fill="{PAPER}" '
        f'stroke="{_colour(stage["kernel"])}" stroke-width="1.5"/>'
    )
    drawn = [edge]
    drawn += [_text(x + 8, y + 17 + 14 * k, line, weight="bold") for k, line in enumerate(lines)]
    drawn.append(_text(x + 8, y + 48, f"{number + 1}: {stage['kernel']}", _colour(stage["kernel"])))
    drawn.append(_text(x + 8, y + 63, f"predicted {told}"))
    return f"<g><title>{escape(stage['program'])}</title>{''.join(drawn)}</g>"


def _shares(x: float, y: float, nodes: Sequence[str], stage: dict[str, Any]) -> list[str]:
    """Return for each node a bar as long as its share of the rows, its seconds and its bytes."""
    total = sum(rows for _, rows in stage["where"]) or 1
    given = _padded(stage["predicted_node_seconds"], len(stage["where"]))
    peaks = _padded(stage["predicted_bytes"], len(stage["where"]))
    drawn = []
    for (node, rows), seconds, peak in zip(stage["where"], given, peaks, strict=True):
        top = y + nodes.index(node) * CELL
        width = max(BOX * rows / total, 2.0 if rows else 0.0)
        colour = _colour(stage["kernel"])
        drawn.append(_rect(x, top, BOX, LANE, "#f3f4f6"))
        drawn.append(_rect(x, top, width, LANE, colour, opacity=0.35))
        drawn.append(_text(x + 5, top + 13, f"{rows:,} rows ({rows / total:.0%})"))
        facts = [seconds_text(seconds)] if seconds is not None else []
        facts += [bytes_text(peak)] if peak is not None else []
        drawn.append(_text(x + 5, top + LANE + 14, ", ".join(facts)))
    return drawn


def _padded(values: Sequence[Any], count: int) -> list[Any]:
    return [*values[:count], *[None] * (count - len(values))]


def _arrows(stages: Sequence[dict[str, Any]], left: float, top: float) -> str:
    """Return an arrow from each stage to those that read it, over what lies between."""
    drawn = []
    for number, stage in enumerate(stages):
        for source in stage["reads"]:
            start, end = left + source * COLUMN + BOX, left + number * COLUMN
            if number == source + 1:
                path = f"M{start:g} {top + HEAD / 2:g}H{end - 2:g}"
            else:
                rise = top - ARCH * (number - source - 1)
                path = f"M{start - 12:g} {top:g}V{rise:g}H{end + 12:g}V{top - 2:g}"
            drawn.append(f'<path d="{path}" fill="none" stroke="{INK}" marker-end="url(#tip)"/>')
    return "".join(drawn)


def _arches(stages: Sequence[dict[str, Any]]) -> float:
    longest = max((n - s - 1 for n, stage in enumerate(stages) for s in stage["reads"]), default=0)
    return ARCH * longest


def gantt_picture(stages: Sequence[dict[str, Any]]) -> Picture:
    """Return for each node what it was predicted to do when, and below it what it did."""
    lanes = {"predicted": predicted_bars(stages), "measured": measured_bars(stages)}
    longest = max((bar.stop for bars in lanes.values() for bar in bars), default=0.0) or 1e-9
    nodes = nodes_of(stages)
    left, top = MARGIN + NAMES, MARGIN + 34
    height = top + len(nodes) * CELL
    parts = [_text(MARGIN, MARGIN + 10, "predicted (grey) and measured, per node", weight="bold")]
    step = round_step(longest / TICKS)
    for tick in range(int(longest / step) + 1):
        x = left + CHART * tick * step / longest
        parts.append(_line(x, top - 8, x, height))
        label = seconds_text(tick * step) if tick else "0"
        parts.append(_text(x, top - 12, label, anchor="middle"))
    for row, node in enumerate(nodes):
        y = top + row * CELL
        parts.append(_text(MARGIN, y + 22, short(node), weight="bold"))
        for offset, (lane, bars) in zip((0, LANE + 3), lanes.items(), strict=True):
            mine = [bar for bar in bars if bar.node == node]
            parts += [_bar(bar, lane, y + offset, left, CHART / longest) for bar in mine]
    return Picture(left + CHART + 3 * MARGIN, height + MARGIN, "".join(parts))


def round_step(least: float) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that is not below ``least``."""
    power = 10.0 ** floor(log10(least))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= least * (1 - 1e-9))


def _bar(bar: Bar, lane: str, y: float, left: float, scale: float) -> str:
    x, width = left + bar.start * scale, max(bar.seconds * scale, 1.0)
    colour = PREDICTED if lane == "predicted" else _colour(bar.kernel)
    ink = INK if lane == "predicted" else PAPER
    told = f"{bar.stage + 1}: {bar.what}, {lane} {seconds_text(bar.seconds)}, {bar.rows:,} rows"
    room = int((width - 6) / 6.2)  # characters
    label = f"{bar.stage + 1}: {bar.what} {seconds_text(bar.seconds)}"
    label = label if len(label) <= room else str(bar.stage + 1) if room > 1 else ""
    text = _text(x + 4, y + 13, label, ink) if label else ""
    return (
        f"<g><title>{escape(told)}</title>"
        f"{_rect(x, y, width, LANE, colour, stroke=PAPER)}{text}</g>"
    )


def _colour(kernel: str) -> str:
    return COLOURS.get(kernel, OTHER)


def _rect(
    x: float, y: float, width: float, height: float, fill: str, *, opacity: float = 1.0,
    stroke: str = "none",
) -> str:  # fmt: skip
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="2" '
        f'fill="{fill}" fill-opacity="{opacity:g}" stroke="{stroke}"/>'
    )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{FAINT}"/>'


def _text(
    x: float, y: float, text: str, fill: str = INK, *, weight: str = "normal", anchor: str = "start"
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{fill}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def dot(stages: Sequence[dict[str, Any]]) -> str:
    """Return the stages and who reads whom as Graphviz source."""
    lines = ["digraph plan {", '  rankdir=LR; node [shape=box, fontname="sans-serif"];']
    for number, stage in enumerate(stages):
        told = [stage["what"], stage["kernel"], seconds_text(stage["predicted_seconds"])]
        told += [f"{short(node)}: {rows:,} rows" for node, rows in stage["where"]]
        label = "\\n".join(part.replace("\\", "\\\\").replace('"', '\\"') for part in told)
        lines.append(f'  s{number} [label="{label}", color="{_colour(stage["kernel"])}"];')
    for number, stage in enumerate(stages):
        lines += [f"  s{source} -> s{number};" for source in stage["reads"]]
    return "\n".join([*lines, "}", ""])


def seconds_text(seconds: float | None) -> str:
    """Return seconds with three digits and a unit."""
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def bytes_text(size: float) -> str:
    """Return bytes with three digits and a unit."""
    for unit, one in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= one:
            return f"{size / one:.3g} {unit}"
    return f"{size:.0f} B"
