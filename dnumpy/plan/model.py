"""The values that cross the planner's border."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from math import isfinite
from typing import TYPE_CHECKING, Literal

from dnumpy.plan import verify

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

How = Literal["single", "current", "milp", "waterfill", "even", "joint"]


@dataclass(frozen=True, slots=True)
class NodeRate:
    """What a node offers to one phase.

    Attributes
    ----------
    node : str
        Address of the worker or name of the device.
    seconds_per_row : float
        Time that each row adds on this node.
    fixed_seconds : float
        Time that the node takes as soon as it takes part: launch, compile, replicated inputs.
    transfer_seconds_per_row : float
        Time to bring in (or send away) a row that is not where it is wanted; 0 for data that is
        made in place.
    memory_bytes : float
        Bytes that this phase may take there.
    """

    node: str
    seconds_per_row: float
    fixed_seconds: float = 0.0
    transfer_seconds_per_row: float = 0.0
    memory_bytes: float = float("inf")

    def verify(self) -> None:
        """Raise ValueError unless times are finite and not negative and memory is not negative."""
        times = (self.seconds_per_row, self.fixed_seconds, self.transfer_seconds_per_row)
        if not all(isfinite(t) and t >= 0 for t in times) or not self.memory_bytes >= 0:
            msg = f"{self}: expected finite times and memory, none negative"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class PhaseSpec:
    """A phase as the planner sees it.

    Attributes
    ----------
    name : str
        What messages call it.
    rows : int
        Extent of the axis that is cut.
    bytes_per_row : float
        Memory that a row takes on its node: inputs, outputs, workspace.
    fixed_bytes : float
        Memory that every node taking part needs besides.
    live : str
        The arrays that are alive during the phase, for messages.
    resting_bytes_per_row : float
        Of these bytes, those that lie there already and are read in place where every row stays
        where it is. Where any moves, what is read is put together from pieces, and takes room.
    """

    name: str
    rows: int
    bytes_per_row: float = 0.0
    fixed_bytes: float = 0.0
    live: str = ""
    resting_bytes_per_row: float = 0.0

    def bytes_on_node(self, rows: int, *, stay: bool = False) -> float:
        """Return the bytes that a node with this many rows takes; where they ``stay``, fewer."""
        per_row = self.bytes_per_row - (self.resting_bytes_per_row if stay else 0.0)
        return rows * max(per_row, 0.0) + self.fixed_bytes if rows else 0.0

    def verify(self) -> None:
        """Raise ValueError unless all amounts are finite and not negative."""
        amounts = (self.rows, self.bytes_per_row, self.fixed_bytes, self.resting_bytes_per_row)
        if not all(isfinite(a) and a >= 0 for a in amounts):
            msg = f"{self}: expected finite amounts, none negative"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposed split: rows per node in node order, and what proposed it."""

    how: How
    rows: tuple[int, ...]

    @property
    def nodes_used(self) -> int:
        """The number of nodes with rows."""
        return sum(1 for n in self.rows if n)


@dataclass(frozen=True, slots=True)
class Plan:
    """The decision for one phase.

    Attributes
    ----------
    phase : str
    rows : tuple of (node, rows)
        All given nodes in the given order, idle ones with 0 rows; ranges are contiguous in this
        order.
    predicted_seconds : float
        The makespan: when the last node finishes.
    predicted_node_seconds : tuple of float
        When each node finishes, transfers included; 0 for an idle node.
    peak_bytes : tuple of float
        What each node holds.
    how : str
        ``single``, ``current``, ``milp``, ``waterfill`` or ``even``: the candidate that won;
        ``joint`` where all phases of a run were planned together.
    solver_seconds : float
        Wall time that the solver took; 0 where it was not asked.
    starts : tuple of float
        When each node is to begin, in seconds of the run that it was planned with; may be empty.
    """

    phase: str
    rows: tuple[tuple[str, int], ...]
    predicted_seconds: float
    predicted_node_seconds: tuple[float, ...]
    peak_bytes: tuple[float, ...]
    how: How
    solver_seconds: float = 0.0
    starts: tuple[float, ...] = ()

    @property
    def row_counts(self) -> tuple[int, ...]:
        """Rows per node in node order."""
        return tuple(n for _, n in self.rows)

    def ranges(self) -> tuple[tuple[str, int, int], ...]:
        """Return (node, start, stop) of every node with rows, in order; they tile the phase."""
        stops = list(accumulate(self.row_counts))
        return tuple(
            (node, stop - n, stop) for (node, n), stop in zip(self.rows, stops, strict=True) if n
        )

    def verify(self, spec: PhaseSpec, nodes: Sequence[NodeRate], granule: int = 1) -> None:
        """Raise a :class:`~dnumpy.plan.verify.PlanInvalid` unless all invariants hold."""
        verify.check_nodes(self.phase, [n for n, _ in self.rows], [n.node for n in nodes])
        verify.check_tiling(self.phase, self.row_counts, spec.rows)
        verify.check_granules(self.phase, self.row_counts, granule)
        held = [spec.bytes_on_node(n, stay=self.how == "current") for n in self.row_counts]
        names = [n.node for n in nodes]
        verify.check_memory(self.phase, names, held, [n.memory_bytes for n in nodes])
        verify.check_memory(self.phase, names, self.peak_bytes, [n.memory_bytes for n in nodes])
        verify.check_prediction(self.phase, self.predicted_seconds, self.predicted_node_seconds)

    def as_dict(self) -> Mapping[str, object]:
        """Return the plan as plain data, for reports."""
        return {
            "phase": self.phase,
            "rows": dict(self.rows),
            "predicted_seconds": self.predicted_seconds,
            "predicted_node_seconds": dict(
                zip(dict(self.rows), self.predicted_node_seconds, strict=True)
            ),
            "peak_bytes": dict(zip(dict(self.rows), self.peak_bytes, strict=True)),
            "how": self.how,
            "solver_seconds": self.solver_seconds,
        }

    def __str__(self) -> str:
        """Return the phase, its makespan, and a line per node with rows."""
        total = max(sum(self.row_counts), 1)
        lines = [f"{self.phase}: {self.predicted_seconds:.6f} s ({self.how})"]
        cells = zip(self.rows, self.predicted_node_seconds, self.peak_bytes, strict=True)
        lines += [
            f"  {node}: {n} rows ({n / total:.1%}), {s:.6f} s, {peak / 1e6:.1f} MB"
            for (node, n), s, peak in cells
            if n
        ]
        return "\n".join(lines)
