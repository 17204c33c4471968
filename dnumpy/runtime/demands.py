"""Demands: what stages ask of the planner, and stages as they are laid out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Union

from dnumpy.runtime.streaming import phase_of

if TYPE_CHECKING:
    from dnumpy.cost.work import Work
    from dnumpy.expr.expr import Expr
    from dnumpy.plan.model import Plan
    from dnumpy.rewrite.phase import Phase
    from dnumpy.runtime.bind import Operand
    from dnumpy.runtime.chains import ChainedRows
    from dnumpy.runtime.exchange import PutRows, TakenRows
    from dnumpy.runtime.folds import AnyFold
    from dnumpy.runtime.graph import Range
    from dnumpy.runtime.lookup import FoundRows
    from dnumpy.runtime.placed import PlacedRows
    from dnumpy.runtime.producers import Producer
    from dnumpy.runtime.products import GridRows
    from dnumpy.runtime.regions import SpannedRows

Placement = tuple[tuple[str, int], ...]
LIGHT = -1  # the number of a stage that is not planned
AnyProducer = Union[
    "Producer",
    "ChainedRows",
    "FoundRows",
    "GridRows",
    "PlacedRows",
    "TakenRows",
    "PutRows",
    "SpannedRows",
]


@dataclass(frozen=True, slots=True)
class Demand:
    """What is asked of the planner for one stage: who computes how many of ``work.rows`` rows.

    The rows of ``by_rows`` are read where they are computed with, those of ``across`` along another
    axis or in another order, and ``whole`` operands on every node. What is ``alone`` is one task;
    what is ``light`` too, and takes microseconds: it goes with the task that it waits for. Where it
    reads its ``own_rows``, a task reads of each operand the rows that it computes and no others.
    What reads ``in_pieces`` does so block by block: rows are not put together for it.
    """

    what: str
    work: Work
    granule: int
    by_rows: tuple[Operand, ...] = ()
    across: tuple[Operand, ...] = ()
    whole: tuple[Operand, ...] = ()
    alone: bool = False
    light: bool = False
    own_rows: bool = False
    in_pieces: bool = False

    def operands(self) -> tuple[Operand, ...]:
        """Return all operands."""
        return (*self.by_rows, *self.across, *self.whole)


class Reading(NamedTuple):
    """What a stage reads, as in a :class:`Demand`, whether it lies in files or not."""

    by_rows: tuple[Operand, ...] = ()
    across: tuple[Operand, ...] = ()
    whole: tuple[Operand, ...] = ()


NOTHING = Reading()


@dataclass(frozen=True, slots=True)
class Laid:
    """A stage ready to be built: producer, ranges, and the work and plan that gave them.

    ``number`` counts the demands of the run. What does not go ``as_planned`` takes less time than
    its plan says, and teaches nothing. ``through`` are the stages whose rows pass through its tasks
    (:mod:`~dnumpy.runtime.passing`); where its own rows are let go of, it ``lets_pass``.
    Its rows are made in so many ``blocks`` then, by all nodes together.
    ``steps`` are those that its faults are numbered by, ``folds``
    fold what its tasks leave behind.
    """

    what: str
    producer: AnyProducer
    ranges: list[Range]
    plan: Plan
    work: Work
    number: int = 0
    as_planned: bool = True
    reads: Reading = NOTHING
    through: tuple[Laid, ...] = ()
    lets_pass: bool = False
    steps: tuple[Expr, ...] = ()
    folds: tuple[AnyFold, ...] = ()
    blocks: int = 0

    def phase(self) -> Phase | None:
        """Return the phase that runs, None for a single op."""
        return phase_of(self.producer)
