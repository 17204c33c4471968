"""What a stage did: the measured side of every prediction."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from dnumpy.expr.expr import Expr, Shape
    from dnumpy.ops.families import Op
    from dnumpy.rewrite.phase import Phase


HERE = "local"  # the name of this process's node


class Call(NamedTuple):
    """One op on whole operands: its result, and the shape and dtype of each array it reads."""

    op: Op
    shape: Shape
    dtype: np.dtype
    reads: tuple[tuple[Shape, np.dtype], ...]


class Record(NamedTuple):
    """One stage that ran.

    ``where`` lists (node, rows); ``seconds`` is wall time; ``node_seconds`` the time inside each
    node's task; predictions are None where nothing was predicted; ``phase`` is what ran, None for
    a single op. ``nbytes`` is what the stage reads and writes. ``started`` is when the stage (on
    nodes: the run that it is a part of) began, by this process's ``time.perf_counter``;
    ``node_starts`` when each node's first task of the stage did, where it ran on nodes.
    ``call`` is what ran where it was one op on whole operands. ``predicted_node_starts`` says when
    each node was to begin, in seconds after the run did, where its stages were planned together.
    ``measured_peak_bytes`` is what each node of ``where`` took at the peak, its operands and
    results included; empty where unknown. On nodes, ``program`` is the same for runs of the same
    stages, and ``run_seconds`` is what the whole run took, that it was asked for until all of it
    was there; 0 here.
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
    node_starts: tuple[float, ...] = ()
    call: Call | None = None
    measured_peak_bytes: tuple[int, ...] = ()
    predicted_node_starts: tuple[float, ...] = ()
    program: int = 0
    run_seconds: float = 0.0


def call_of(expr: Expr) -> Call:
    """Return what decides the cost of one op on whole operands."""
    read = tuple([(arg.shape, arg.dtype) for arg in expr.operands()])
    return Call(expr.op, expr.shape, expr.dtype, read)
