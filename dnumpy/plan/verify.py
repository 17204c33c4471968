"""The invariants of a plan, one named exception each, over plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnumpy.errors import DnumpyError

if TYPE_CHECKING:
    from collections.abc import Sequence


class PlanInvalid(DnumpyError, ValueError):  # noqa: N818 - the name states the fact
    """A plan breaks an invariant; a defect of the planner, never of the caller's data."""


class RowsNotTiled(PlanInvalid):
    """The row ranges do not cover the phase exactly once."""


class GranuleBroken(PlanInvalid):
    """A range ends inside a granule."""


class MemoryExceeded(PlanInvalid):
    """A node holds more bytes than it offers."""


class NodesChanged(PlanInvalid):
    """The plan's nodes are not the given nodes in the given order."""


class PredictionInvalid(PlanInvalid):
    """The predicted seconds do not agree with one another."""


def check_nodes(phase: str, planned: Sequence[str], given: Sequence[str]) -> None:
    """Raise NodesChanged unless both name the same nodes, once each, in the same order."""
    if list(planned) != list(given) or len(set(planned)) != len(planned):
        msg = f"phase {phase}: planned for nodes {list(planned)}, given {list(given)}"
        raise NodesChanged(msg)


def check_tiling(phase: str, rows: Sequence[int], total: int) -> None:
    """Raise RowsNotTiled unless the rows are not negative and add up to the total."""
    if sum(rows) != total or any(n < 0 for n in rows):
        msg = f"phase {phase}: rows {list(rows)} add up to {sum(rows)}, the phase has {total}"
        raise RowsNotTiled(msg)


def check_granules(phase: str, rows: Sequence[int], granule: int) -> None:
    """Raise GranuleBroken unless every range but the last one in use is whole granules."""
    used = [n for n in rows if n]
    if any(n % granule for n in used[:-1]):
        msg = f"phase {phase}: rows {list(rows)} are not multiples of the granule {granule}"
        raise GranuleBroken(msg)


def check_memory(
    phase: str, nodes: Sequence[str], peak_bytes: Sequence[float], offers: Sequence[float]
) -> None:
    """Raise MemoryExceeded unless each node's peak is within what it offers."""
    for node, peak, offer in zip(nodes, peak_bytes, offers, strict=True):
        if peak > offer * (1 + 1e-12):
            msg = f"phase {phase}: node {node} would hold {peak:.0f} bytes and offers {offer:.0f}"
            raise MemoryExceeded(msg)


def check_prediction(phase: str, seconds: float, node_seconds: Sequence[float]) -> None:
    """Raise PredictionInvalid unless the makespan is the time of the node that finishes last."""
    if any(not 0 <= s < float("inf") for s in node_seconds) or seconds != max(node_seconds):
        msg = f"phase {phase}: predicted {seconds} s, nodes {list(node_seconds)} s"
        raise PredictionInvalid(msg)
