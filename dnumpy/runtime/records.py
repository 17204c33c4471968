"""What a stage did: the measured side of every prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Hashable

    from dnumpy.expr.expr import Expr
    from dnumpy.rewrite.phase import Phase


class Record(NamedTuple):
    """One stage that ran.

    ``where`` lists (node, rows); ``seconds`` is wall time; ``node_seconds`` the time inside each
    node's task; predictions are None where nothing was predicted; ``phase`` is what ran, None for
    a single op. ``nbytes`` is what the stage reads and writes. ``started`` is when the stage (on
    nodes: the run that it is a part of) began, by this process's ``time.perf_counter``.
    ``call`` tells runs of one op apart that cost differently, None where ``phase`` does.
    """

    what: str
    where: tuple[tuple[str, int], ...]
    seconds: float
    nbytes: int
    lowering: str = "tiled"
    node_seconds: tuple[float, ...] = ()
    predicted_seconds: float | None = None
    predicted_node_seconds: tuple[float, ...] = ()
    predicted_peak_bytes: tuple[int, ...] = ()
    phase: Phase | None = None
    started: float = 0.0
    call: Hashable = None


def call_of(expr: Expr) -> Hashable:
    """Return what decides the cost of one op: itself, its result, and what it reads."""
    read = tuple([(arg.shape, arg.dtype.num) for arg in expr.operands()])
    return expr.op.name, expr.shape, expr.dtype.num, read
