"""explain: what computing an array will do, and beside it what it did."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dnumpy import engine
from dnumpy.api.array import ndarray
from dnumpy.api.scalar import DeferredScalar
from dnumpy.runtime.forecast import forecast_of_record

if TYPE_CHECKING:
    from dnumpy.expr.expr import Expr

_WIDTH = 110  # characters of the printed table


@dataclass(frozen=True, slots=True)
class Explanation:
    """The stages of one evaluation; ``str()`` prints them as a table.

    Each stage is a dict with ``what`` (ops), ``kernel`` (lowering), ``where`` ((node, rows), ...),
    ``predicted_seconds``, ``predicted_node_seconds``, ``predicted_bytes`` (peak per node), ``how``
    (which candidate the planner chose), ``program`` (the steps) and, after a run,
    ``measured_seconds`` and ``measured_node_seconds``.
    """

    state: str
    stages: list[dict[str, Any]] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"state": self.state, "stages": self.stages}

    @property
    def predicted_seconds(self) -> float:
        """Sum of the stages' predictions, in seconds."""
        return float(sum(s["predicted_seconds"] or 0.0 for s in self.stages))

    def __str__(self) -> str:
        """Return the table as plain text."""
        from rich.console import Console

        target = io.StringIO()
        console = Console(file=target, width=_WIDTH, color_system=None)
        console.print(self)
        return target.getvalue().rstrip()

    __repr__ = __str__

    def __rich__(self) -> Any:
        """Return a rich table."""
        from rich.table import Table

        title = (
            f"{self.state}: {len(self.stages)} stage(s), predicted {_time(self.predicted_seconds)}"
        )
        table = Table(title=title, title_justify="left")
        for name in ("stage", "kernel", "rows per node", "predicted", "measured", "peak bytes"):
            table.add_column(name, justify="left" if name in ("stage", "kernel") else "right")
        for stage in self.stages:
            table.add_row(*_cells(stage))
        return table


def _cells(stage: dict[str, Any]) -> tuple[str, ...]:
    measured = stage.get("measured_seconds")
    return (
        stage["what"],
        stage["kernel"],
        "\n".join(f"{node.removeprefix('tcp://')}: {rows:,}" for node, rows in stage["where"]),
        _per_node(stage["predicted_seconds"], stage["predicted_node_seconds"]),
        "" if measured is None else _per_node(measured, stage["measured_node_seconds"]),
        "\n".join(f"{size:,}" for size in stage["predicted_bytes"]),
    )


def _per_node(total: float | None, nodes: tuple[float, ...]) -> str:
    if len(nodes) > 1:
        return "\n".join(_time(s) for s in nodes)
    return _time(total)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e6:.3g} us"


def explain(x: Any) -> Explanation:
    """Say what computing ``x`` would do, or what it did.

    Parameters
    ----------
    x : ndarray or deferred scalar
        Nothing is computed.

    Returns
    -------
    Explanation
        Prints as a table of phases: ops, kernel, rows per node, predicted seconds and peak bytes,
        and the measured seconds beside them once ``x`` is computed. ``to_dict()`` gives plain
        data.

    Notes ----- The first call in a process measures this machine (about 2 seconds) unless a recent
    profile is kept.
    """
    if type(x) is DeferredScalar:
        return _of(x.expr, x) if x.expr is not None else _computed(x)
    if type(x) is not ndarray or x._np is not None:
        return Explanation("small: runs at once in NumPy")
    return Explanation("computed", []) if x._buf.unmade else _of(x._buf.expr, x._buf)


def _of(expr: Expr, handle: Any) -> Explanation:
    if expr.value is None:
        return Explanation("pending", [_forecast(f) for f in engine.forecast([expr])])
    return _computed(handle)


def _computed(handle: Any) -> Explanation:
    return Explanation("computed", [_measured(r) for r in engine.measured(handle)])


def _forecast(f: Any) -> dict[str, Any]:
    return {
        "what": f.what,
        "kernel": f.kernel,
        "where": f.where,
        "predicted_seconds": f.seconds,
        "predicted_node_seconds": f.node_seconds,
        "predicted_bytes": f.node_bytes,
        "how": f.how,
        "program": f.program,
    }


def _measured(r: Any) -> dict[str, Any]:
    predicted = r.predicted_seconds
    nodes, peaks, program = r.predicted_node_seconds, r.predicted_peak_bytes, ""
    if predicted is None:
        found = forecast_of_record(r, engine.learn())
        if found is not None:
            predicted, nodes, peaks = found.seconds, found.node_seconds, found.node_bytes
            program = found.program
    return {
        "what": r.what,
        "kernel": r.lowering,
        "where": r.where,
        "predicted_seconds": predicted,
        "predicted_node_seconds": nodes,
        "predicted_bytes": peaks,
        "how": "",
        "program": program,
        "measured_seconds": r.seconds,
        "measured_node_seconds": r.node_seconds,
    }
