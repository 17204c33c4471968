"""explain: what computing an array will do, and beside it what it did."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dnumpy import engine
from dnumpy.api import pictures
from dnumpy.api.trace import chrome_trace
from dnumpy.runtime.forecast import forecast_of_record, interval_of_plan
from dnumpy.runtime.spans import end_of

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from dnumpy.expr.expr import Expr
    from dnumpy.runtime.forecast import Forecast, Prediction
    from dnumpy.runtime.records import Record

_WIDTH = 110  # characters of the printed table
_COLUMNS = ("stage", "kernel", "rows per node", "predicted", "measured", "peak bytes")


@dataclass(frozen=True, slots=True)
class Explanation:
    """The stages of one evaluation; ``str()`` prints them as a table.

    Each stage is a dict with ``what`` (ops), ``kernel`` (lowering), ``where`` ((node, rows), ...),
    ``predicted_seconds``, ``predicted_node_seconds``, ``predicted_bytes`` (peak per node), ``how``
    (which candidate the planner chose), ``program`` (the steps), ``predicted_interval`` (low and
    high seconds), ``basis`` (what the prediction is from), ``reads`` (numbers of the stages that it
    waits for) and, after a run, ``measured_seconds``, ``measured_node_seconds``,
    ``started`` and ``node_starts`` (in seconds of one clock). ``predicted_node_starts`` are in
    seconds after the run's beginning, where its stages were planned together; where they were for
    throughput, ``period_seconds`` says after how long the next run ends when many are started.
    Where there is no room for results that nobody keeps, those stages say that each of their
    readers makes their rows (``passes``), and the readers in how many ``blocks``.
    Who of this machine's CPU and GPUs gets nothing to do, since it does not pay, is in
    ``left_out``: a dict each with ``node``, the predicted ``seconds`` there, with what is sent
    there first, and those of what was ``chosen``, ``chosen_seconds``.
    What is still to be computed has the ``prediction`` of all of it, as ``predict()`` gives it,
    which counts what is no stage's: what is waited for, and what runs of the same program took.
    A notebook shows the table, the picture and, after a run, what each node did when.
    """

    state: str
    stages: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    prediction: Prediction | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "state": self.state,
            "predicted_seconds": self.predicted_seconds,
            "predicted_interval": self.interval,
            "stages": self.stages,
            "left_out": self.left_out,
        }

    @property
    def predicted_seconds(self) -> float:
        """Seconds of all stages: until the last one ends, or one after the other."""
        if self.prediction is not None:
            return self.prediction.seconds
        together = self._together()
        if together is not None:
            return together
        return float(sum(s["predicted_seconds"] or 0.0 for s in self.stages))

    def _together(self) -> float | None:
        return end_of(
            (s.get("predicted_node_starts", ()), s["predicted_node_seconds"]) for s in self.stages
        )

    @property
    def interval(self) -> tuple[float, float]:
        """Low and high seconds, between which about four of five runs fall."""
        if self.prediction is not None:
            return self.prediction.interval
        together = interval_of_plan(self._together())
        if together is not None:
            return together
        known = [s["predicted_interval"] for s in self.stages if s["predicted_interval"]]
        return float(sum(low for low, _ in known)), float(sum(high for _, high in known))

    def svg(self) -> str:
        """Return a picture: stages and what each node gets; after a run, what it did when."""
        drawn = [pictures.plan_picture(self.stages)]
        if any(s.get("measured_seconds") is not None for s in self.stages):
            drawn.append(pictures.gantt_picture(self.stages))
        return pictures.svg(*drawn)

    def dot(self) -> str:
        """Return the stages as Graphviz source."""
        return pictures.dot(self.stages)

    def trace(self) -> dict[str, Any]:
        """Return when each node does what in Chrome's trace format, which Perfetto opens."""
        return chrome_trace(self.stages)

    def html(self) -> str:
        """Return the table and the picture as part of an HTML page."""
        if not self.stages:
            return f"<p>{escape(self._title())}</p>"
        rows = "".join(
            "<tr>" + "".join(f"<td>{_lines(cell)}</td>" for cell in _cells(stage)) + "</tr>"
            for stage in self.stages
        )
        head = "".join(f"<th>{escape(name)}</th>" for name in _COLUMNS)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        told = "".join(f"<p>{escape(line)}</p>" for line in (self._title(), *self._left_out()))
        return f"<div>{told}{table}{self.svg()}</div>"

    _repr_html_ = html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file; its name says what.

        Parameters
        ----------
        path : path
            ``.svg`` or ``.html`` (picture, page), ``.dot`` (Graphviz), ``.trace.json`` (for
            Perfetto), ``.json`` (plain data) or ``.txt`` (the table).

        Raises
        ------
        ValueError
            For any other name.
        """
        name = Path(path).name
        kind = next((kind for kind in _WRITERS if name.endswith(kind)), None)
        if kind is None:
            msg = f"cannot tell from {name!r} what to write: expected one of {', '.join(_WRITERS)}"
            raise ValueError(msg)
        Path(path).write_text(_WRITERS[kind](self), encoding="utf-8")

    def _title(self) -> str:
        if not self.stages:
            return f"{self.state}: no stages"
        low, high = (_time(seconds) for seconds in self.interval)
        told = f"{self.state}: {len(self.stages)} stage(s), predicted"
        period = max((stage.get("period_seconds", 0.0) for stage in self.stages), default=0.0)
        again = f", again every {_time(period)}" if period else ""
        return f"{told} {_time(self.predicted_seconds)} ({low} to {high}){again}"

    def _left_out(self) -> list[str]:
        return [
            f"{left['node']} is left out, as it does not pay: it would take "
            f"{_time(left['seconds'])}, {left['chosen']} {_time(left['chosen_seconds'])}"
            for left in self.left_out
        ]

    def __str__(self) -> str:
        """Return the table as plain text."""
        from rich.console import Console

        target = io.StringIO()
        console = Console(file=target, width=_WIDTH, color_system=None)
        console.print(self)
        return target.getvalue().rstrip()

    __repr__ = __str__

    def __rich__(self) -> Any:
        """Return a rich table, with what is told below it."""
        from rich.console import Group
        from rich.table import Table

        table = Table(title=self._title(), title_justify="left")
        for name in _COLUMNS:
            table.add_column(name, justify="left" if name in ("stage", "kernel") else "right")
        for stage in self.stages:
            table.add_row(*_cells(stage))
        return Group(table, *self._left_out()) if self.left_out else table


def _cells(stage: dict[str, Any]) -> tuple[str, ...]:
    measured = stage.get("measured_seconds")
    return (
        "\n".join((stage["what"], *_passing(stage))),
        stage["kernel"],
        "\n".join(f"{node.removeprefix('tcp://')}: {rows:,}" for node, rows in stage["where"]),
        _per_node(stage["predicted_seconds"], stage["predicted_node_seconds"]),
        "" if measured is None else _per_node(measured, stage["measured_node_seconds"]),
        "\n".join(f"{size:,}" for size in stage["predicted_bytes"]),
    )


def _passing(stage: dict[str, Any]) -> list[str]:
    """Return what is told of rows that pass, where some do."""
    told = ["rows pass: readers make them"] if stage.get("passes") else []
    blocks = stage.get("blocks", 0)
    return [*told, f"what it reads passes in {blocks:,} blocks"] if blocks else told


def _per_node(total: float | None, nodes: tuple[float, ...]) -> str:
    if len(nodes) > 1:
        return "\n".join(_time(s) for s in nodes)
    return _time(total)


_time = pictures.seconds_text


def _lines(cell: str) -> str:
    return escape(cell).replace("\n", "<br>")


def _page(told: Explanation) -> str:
    head = '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>explain</title>'
    return f"{head}<style>{_STYLE}</style></head><body>{told.html()}</body></html>\n"


_STYLE = (
    "body{font-family:sans-serif}table{border-collapse:collapse}"
    "th,td{border:1px solid #ccc;padding:4px 8px;text-align:left;vertical-align:top}"
)
_WRITERS: dict[str, Callable[[Explanation], str]] = {  # the first that a file's name ends with
    ".svg": Explanation.svg,
    ".html": _page,
    ".dot": Explanation.dot,
    ".trace.json": lambda told: json.dumps(told.trace()),
    ".json": lambda told: json.dumps(told.to_dict(), indent=1),
    ".txt": lambda told: f"{told}\n",
}


def of(expr: Expr, handle: Any) -> Explanation:
    """Return what is known of an array or scalar, whose content is an Expr."""
    if expr.value is None:
        told, prediction = engine.foretold([expr])
        left_out = [left._asdict() for left in engine.left_out([expr], told)]
        return Explanation("pending", [_forecast(f) for f in told], left_out, prediction)
    return computed(handle)


def computed(handle: Any) -> Explanation:
    """Return what a run did that an array's or scalar's content is from."""
    return Explanation("computed", [_measured(r) for r in engine.measured(handle)])


def _forecast(f: Forecast) -> dict[str, Any]:
    return {
        "what": f.what,
        "kernel": f.kernel,
        "where": f.where,
        "predicted_seconds": f.seconds,
        "predicted_node_seconds": f.node_seconds,
        "predicted_bytes": f.node_bytes,
        "how": f.how,
        "program": f.program,
        "predicted_interval": (f.low, f.high),
        "basis": f.basis,
        "reads": f.reads,
        "predicted_node_starts": f.node_starts,
        "period_seconds": f.period_seconds,
        "blocks": f.blocks,
        "passes": f.passes,
    }


def _measured(r: Record) -> dict[str, Any]:
    found = forecast_of_record(r, engine.learn()) if r.predicted_seconds is None else None
    told = {
        "what": r.what,
        "kernel": r.lowering,
        "where": r.where,
        "predicted_seconds": r.predicted_seconds,
        "predicted_node_seconds": r.predicted_node_seconds,
        "predicted_bytes": r.predicted_peak_bytes,
        "how": "",
        "program": "",
        "predicted_interval": interval_of_plan(r.predicted_seconds),
        "basis": "" if r.predicted_seconds is None else "plan",
        "reads": (),
        "measured_seconds": r.seconds,
        "measured_node_seconds": r.node_seconds,
        "started": r.started,
        "node_starts": r.node_starts,
        "predicted_node_starts": r.predicted_node_starts,
    }
    if found is None:
        return told
    return told | {
        "predicted_seconds": found.seconds,
        "predicted_node_seconds": found.node_seconds,
        "predicted_bytes": found.node_bytes,
        "program": found.program,
        "predicted_interval": (found.low, found.high),
        "basis": found.basis,
    }
