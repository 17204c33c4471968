"""What to tell the user when a phase does not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnumpy.errors import PlanInfeasible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.model import NodeRate, PhaseSpec
    from dnumpy.plan.problem import Problem

NODES_NAMED = 8


def readable_bytes(amount: float) -> str:
    """Return bytes in a readable unit."""
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if amount >= size:
            return f"{amount / size:.1f} {unit}"
    return f"{amount:.0f} B"


def require_fit(problem: Problem) -> None:
    """Raise PlanInfeasible, naming phase, nodes and missing bytes, unless the memory suffices."""
    if not problem.nodes:
        msg = f"phase {problem.spec.name}: there are no nodes to plan for"
        raise PlanInfeasible(msg)
    if sum(problem.caps) < problem.granules:
        rows_missing = problem.spec.rows - sum(problem.caps_rows)
        raise PlanInfeasible(_message(problem.spec, problem.nodes, rows_missing))


def _message(spec: PhaseSpec, nodes: Sequence[NodeRate], rows_missing: int) -> str:
    named = ", ".join(f"{n.node} {readable_bytes(n.memory_bytes)}" for n in nodes[:NODES_NAMED])
    rest = f" and {len(nodes) - NODES_NAMED} more" if len(nodes) > NODES_NAMED else ""
    offered = sum(n.memory_bytes for n in nodes)
    needed = spec.rows * spec.bytes_per_row + spec.fixed_bytes * len(nodes)
    fixed_short = max(0.0, spec.fixed_bytes - max(n.memory_bytes for n in nodes))
    rows_short = max(rows_missing, 1) * spec.bytes_per_row
    missing = rows_short + fixed_short
    live = f" with {spec.live} alive" if spec.live else ""
    fixed = f" and {readable_bytes(spec.fixed_bytes)} on each node" if spec.fixed_bytes else ""
    return (
        f"phase {spec.name}{live} needs {readable_bytes(needed)} ({spec.rows} rows of "
        f"{spec.bytes_per_row:g} bytes{fixed}); the nodes offer {readable_bytes(offered)} "
        f"({named}{rest}). Short by {readable_bytes(missing)} ({missing:.0f} bytes). Delete "
        f"arrays that are no longer needed, use a smaller dtype, or add a node with at least "
        f"{readable_bytes(rows_short + spec.fixed_bytes)} free."
    )
