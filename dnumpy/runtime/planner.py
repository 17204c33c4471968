"""Planner: what a layout asks of the nodes that it lays stages out for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from dnumpy.cost.work import Work
    from dnumpy.expr.expr import Expr
    from dnumpy.plan.model import Plan
    from dnumpy.runtime.demands import Placement


class Planner(Protocol):
    """The cluster as the layout sees it."""

    home_bytes: int  # results up to this size come home

    def plan(
        self,
        name: str,
        work: Work,
        granule: int,
        current: Placement | None,
        transfer_bytes_per_row: float,
        transfer_fixed_bytes: float = 0.0,
        resting_bytes_per_row: float = 0.0,
    ) -> Plan:
        """Return who computes how many rows."""
        ...

    def mirrored(self, owner: Expr) -> bool:
        """Say whether every node has a copy of all of a home array."""
        ...

    def holders(self, owner: Expr) -> tuple[str, ...]:
        """Return the nodes that have a copy of all of a home array."""
        ...

    def threads(self, node: str) -> int:
        """Return how many tasks the node runs at the same time."""
        ...

    def fastest(self) -> str:
        """Return the node that runs a single task soonest."""
        ...

    def room(self) -> float:
        """Return the bytes that the node with most memory may be given."""
        ...
