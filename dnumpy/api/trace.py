"""When each node does what, as predicted and as measured, and that as a trace for Perfetto."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MICROSECONDS = 1e6  # the unit of a trace
LANES = {"measured": 1, "predicted": 2}  # the threads of each process in a trace


@dataclass(frozen=True, slots=True)
class Bar:
    """What one node does in one stage: from ``start``, in seconds after the run's beginning."""

    stage: int
    what: str
    kernel: str
    node: str
    rows: int
    start: float
    seconds: float

    @property
    def stop(self) -> float:
        """Seconds after the run's beginning."""
        return self.start + self.seconds


def predicted_bars(stages: Sequence[dict[str, Any]]) -> list[Bar]:
    """Return what was predicted.

    Each stage begins when the one before it ends, but where it is known when its nodes begin.
    """
    clock = 0.0
    found = []
    for number, stage in enumerate(stages):
        if stage["predicted_seconds"] is None:
            continue
        starts = stage.get("predicted_node_starts", ())
        if starts:
            bars = _bars(number, stage, stage["predicted_node_seconds"], 0.0)
            found += [replace(bar, start=at) for bar, at in zip(bars, starts, strict=True)]
            continue
        found += _bars(number, stage, stage["predicted_node_seconds"], clock)
        clock += stage["predicted_seconds"]
    return found


def measured_bars(stages: Sequence[dict[str, Any]]) -> list[Bar]:
    """Return what was measured, from the beginning of the stage that began first.

    Where nothing says when a node began a stage, that was when the stage began, or when the node
    had done the one before it.
    """
    ran = [(n, s) for n, s in enumerate(stages) if s.get("measured_seconds") is not None]
    origin = min((s["started"] for _, s in ran), default=0.0)
    free: dict[str, float] = {}
    found = []
    for number, stage in ran:
        bars = _bars(number, stage, stage["measured_node_seconds"], stage["started"] - origin)
        starts = [start - origin for start in stage["node_starts"]]
        for k, bar in enumerate(bars):
            known = starts[k] if k < len(starts) else max(bar.start, free.get(bar.node, 0.0))
            free[bar.node] = known + bar.seconds
            found.append(replace(bar, start=known))
    return found


def _bars(
    number: int, stage: dict[str, Any], node_seconds: Iterable[float], start: float
) -> list[Bar]:
    return [
        Bar(number, stage["what"], stage["kernel"], node, rows, start, seconds)
        for (node, rows), seconds in zip(stage["where"], node_seconds, strict=False)
    ]


def nodes_of(stages: Sequence[dict[str, Any]]) -> list[str]:
    """Return the nodes that take part, in the order in which they are first named."""
    return list(dict.fromkeys(node for stage in stages for node, _ in stage["where"]))


def short(node: str) -> str:
    """Return a node's name as it is shown."""
    return node.removeprefix("tcp://")


def chrome_trace(stages: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return a trace in Chrome's format: a process for each node, a thread for each lane.

    Times are in microseconds after the beginning of the run; ``json.dump`` writes what
    https://ui.perfetto.dev opens.
    """
    number_of = {node: number for number, node in enumerate(nodes_of(stages), start=1)}
    events = [_name("process_name", pid, 0, short(node)) for node, pid in number_of.items()]
    for lane, bars in (
        ("measured", measured_bars(stages)),
        ("predicted", predicted_bars(stages)),
    ):
        seen = {bar.node for bar in bars}
        events += [_name("thread_name", number_of[node], LANES[lane], lane) for node in seen]
        events += [_event(bar, lane, number_of[bar.node], stages[bar.stage]) for bar in bars]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _name(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def _event(bar: Bar, lane: str, pid: int, stage: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": bar.what,
        "cat": f"{lane},{bar.kernel}",
        "ph": "X",
        "ts": bar.start * MICROSECONDS,
        "dur": bar.seconds * MICROSECONDS,
        "pid": pid,
        "tid": LANES[lane],
        "args": {"rows": bar.rows, "kernel": bar.kernel, "program": stage["program"]},
    }
