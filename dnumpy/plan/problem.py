"""One planning question, with what every candidate needs to know about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.plan.model import NodeRate, PhaseSpec


@dataclass(frozen=True, slots=True)
class Problem:
    """How to cut the rows of ``spec`` over ``nodes`` at whole granules.

    Attributes
    ----------
    current : tuple of int, optional
        Rows per node as they lie now; None when they lie elsewhere.
    caps : tuple of int
        Granules that each node's memory holds, at most all of them.
    """

    spec: PhaseSpec
    nodes: tuple[NodeRate, ...]
    granule: int
    current: tuple[int, ...] | None
    caps: tuple[int, ...]

    @property
    def granules(self) -> int:
        """How many granules cover the rows; the last one may be partial."""
        return granule_count(self.spec.rows, self.granule)

    @property
    def home(self) -> tuple[int, ...]:
        """Rows per node that need no transfer."""
        return self.current if self.current is not None else (0,) * len(self.nodes)

    @property
    def caps_rows(self) -> list[int]:
        """Rows that each node's memory holds, at most all of them."""
        return [min(cap * self.granule, self.spec.rows) for cap in self.caps]

    @property
    def speeds(self) -> list[float]:
        """A number per node that is larger for the faster one."""
        return [-node.seconds_per_row for node in self.nodes]

    def rows_of(self, counts: Sequence[int]) -> tuple[int, ...]:
        """Return rows from granules per node; the last node in use has the partial granule."""
        result = [count * self.granule for count in counts]
        last = max((i for i, count in enumerate(counts) if count), default=0)
        result[last] -= sum(result) - self.spec.rows
        return tuple(result)


def granule_count(rows: int, granule: int) -> int:
    """Return how many granules cover the rows."""
    return -(-rows // granule)


def caps_in_granules(
    spec: PhaseSpec, nodes: Sequence[NodeRate], granule: int = 1
) -> tuple[int, ...]:
    """Return per node how many granules its memory holds, at most all of them."""
    total = granule_count(spec.rows, granule)
    caps = []
    for node in nodes:
        room = node.memory_bytes - spec.fixed_bytes
        if room < 0:
            caps.append(0)
        elif spec.rows * spec.bytes_per_row <= room:
            caps.append(total)
        else:
            caps.append(min(total, int(room / spec.bytes_per_row) // granule))
    return tuple(caps)


def make_problem(
    spec: PhaseSpec,
    nodes: Sequence[NodeRate],
    granule: int = 1,
    current: tuple[int, ...] | None = None,
) -> Problem:
    """Return the question with each node's memory turned into granules."""
    return Problem(spec, tuple(nodes), granule, current, caps_in_granules(spec, nodes, granule))
