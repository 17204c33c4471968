"""What a run gives: values at home, or rows that stay where they were made; and its records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.geometry import typed
from dnumpy.runtime.chunked import Chunked, Part
from dnumpy.runtime.operands import Made

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Expr
    from dnumpy.runtime.chunked import Source
    from dnumpy.runtime.faults import StepFault
    from dnumpy.runtime.graph import Segment
    from dnumpy.runtime.operands import Ref
    from dnumpy.runtime.records import Record
    from dnumpy.runtime.stage_runs import Learner, StageRun


@dataclass(slots=True)
class Output:
    """An Expr to be given a value: an array at home, or rows where they were made."""

    expr: Expr
    source: Source
    home: bool

    def settle(self, segments: Sequence[Segment], results: dict[str, Any], nodes: Any) -> None:
        """Give the Expr its value, of which rows are in what the tasks gave."""
        expr, source = self.expr, self.source
        parts = tuple([part_of(s, results[s.arg.key]) for s in segments])
        if self.home:
            expr.value = typed(_joined([part.data for part in parts]), expr.dtype)
            source.settle_home(expr)
        else:
            expr.value = Chunked(expr.shape, expr.dtype, parts, source, nodes)
        expr.args = ()


def part_of(segment: Segment, result: Made | Ref) -> Part:
    """Return the part that a finished segment is; an array of this process leaves its Made."""
    if isinstance(result, Made):
        assert segment.item is not None
        return Part(segment.node, segment.start, segment.stop, result.rows[segment.item])
    return Part(segment.node, segment.start, segment.stop, result, segment.item)


def replace_parts(chunked: Chunked, segments: Sequence[Segment], results: dict[str, Any]) -> None:
    """Let an array lie in these segments: parts that the results have not are there already."""
    known = {part.start: part for part in chunked.parts}
    chunked.parts = tuple(
        part_of(s, results[s.arg.key]) if getattr(s.arg, "key", "") in results else known[s.start]
        for s in segments
    )


def _joined(pieces: Sequence[np.ndarray]) -> np.ndarray:
    return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)


def told_of(
    stages: Sequence[StageRun],
    cluster: Learner,
    results: dict[str, Any],
    ran: tuple[float, float],
) -> tuple[list[Record], list[StepFault]]:
    """Return records and faults of stages that have run; the cluster learns from them."""
    records = [stage.record(cluster, results, ran) for stage in stages]
    if attended := [told.report(results) for stage in stages for told in stage.told()]:
        first = min(report.ended - report.seconds for report in attended)
        busy = max(report.ended for report in attended) - first
        cluster.learn_round_trip(max(0.0, ran[1] - max(busy, 0.0) - _first_planned(stages)))
    return records, [fault for stage in stages for fault in stage.faults(results)]


def _first_planned(stages: Sequence[StageRun]) -> float:
    """Return when the first task was to begin: before it, what it reads had to come from afar."""
    plans = [stage.laid.plan for stage in stages]
    begun = [zip(plan.starts, plan.predicted_node_seconds, strict=False) for plan in plans]
    return min((at for each in begun for at, seconds in each if seconds), default=0.0)
