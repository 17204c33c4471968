"""When each node does what, as predicted and as measured, and that as a trace for Perfetto."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MICROSECONDS = 1e6  # the unit of a trace
LANES = ("measured", "predicted")  # of each process in a trace
SLIVER = 0.01  # of a bar, by which another may reach into it and is no work at the same time


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
    """Return a trace in Chrome's format: a process for each node, threads for each lane.

    What a node does at the same time is on several threads, as Perfetto leaves out what overlaps on
    one, be it by what rounding adds: times are in whole microseconds after the beginning of the
    run. ``json.dump`` writes what https://ui.perfetto.dev opens.
    """
    number_of = {node: number for number, node in enumerate(nodes_of(stages), start=1)}
    events = [_name("process_name", pid, 0, short(node)) for node, pid in number_of.items()]
    number = len(number_of)  # a thread with the number of its process would be its main thread
    for lane, bars in zip(LANES, (measured_bars(stages), predicted_bars(stages)), strict=True):
        for k, thread in enumerate(_threads(bars), start=1):
            number += 1
            name = lane if k == 1 else f"{lane} {k}"
            seen = dict.fromkeys(number_of[bar.node] for bar in thread)
            events += [_name("thread_name", pid, number, name) for pid in seen]
            events += [
                _event(bar, lane, number_of[bar.node], number, stages[bar.stage]) for bar in thread
            ]
    return {"traceEvents": events, "displayTimeUnit": "ms"}


def _threads(bars: Iterable[Bar]) -> list[list[Bar]]:
    """Part the bars so that no two of a part and a node overlap, into few parts."""
    parts: list[list[Bar]] = []
    ends: list[dict[str, float]] = []
    for bar in sorted(bars, key=lambda bar: bar.start):
        latest = bar.start + SLIVER * bar.seconds
        k = next((k for k, end in enumerate(ends) if end.get(bar.node, 0.0) <= latest), len(ends))
        if k == len(ends):
            parts.append([])
            ends.append({})
        start = max(bar.start, ends[k].get(bar.node, 0.0))
        parts[k].append(replace(bar, start=start, seconds=max(bar.stop - start, 0.0)))
        ends[k][bar.node] = max(bar.stop, start)
    return parts


def _name(kind: str, pid: int, tid: int, name: str) -> dict[str, Any]:
    return {"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def _event(bar: Bar, lane: str, pid: int, tid: int, stage: dict[str, Any]) -> dict[str, Any]:
    start, stop = (round(at * MICROSECONDS) for at in (bar.start, bar.stop))
    return {
        "name": bar.what,
        "cat": f"{lane},{bar.kernel}",
        "ph": "X",
        "ts": start,
        "dur": stop - start,
        "pid": pid,
        "tid": tid,
        "args": {"rows": bar.rows, "kernel": bar.kernel, "program": stage["program"]},
    }
