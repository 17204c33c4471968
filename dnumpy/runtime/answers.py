"""Answers to a sketch, kept with it: the plan of a run that is asked for once more.

An answer is good as long as the workers, their profiles and links, the epoch and the objective are
the same, no node has become faster or slower beside the others by more than ``SAME_SECONDS``, and
as much memory is free (or the plan was not shaped by it). Where times are noisy, nodes become
faster and slower from run to run: for ``AGAIN`` times what planning took, ``NOISE`` counts instead.
Its rows stay; what it predicts for each node follows the factors of the day.

That nothing fits is an answer too, and one that takes longest to find: it is good until more has
become free than was missing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnumpy.cost.profile import DeviceProfile
from dnumpy.errors import PlanInfeasible
from dnumpy.plan.dag import ROUNDING
from dnumpy.plan.known import SAME_SECONDS, alike, as_free
from dnumpy.plan.model import Plan
from dnumpy.plan.rates import MEMORY_SHARE

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from numpy.typing import NDArray

    from dnumpy.cost.links import Links

MOST_ANSWERS = 8  # to one sketch
AGAIN = 50.0  # times what planning took, in which it is not worth being done again for a little
NOISE = 0.25  # by which a node may differ from itself meanwhile
MOST_MOVED = 2.0  # times: how far all nodes may become slower or faster together
SAME_ROOM = 0.01  # of all memory: what more may be free without a refusal being thought over


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of one worker: its profile and its class.

    In a run of several steps it hears ``hop_seconds`` later of what another one found.
    """

    profile: DeviceProfile
    label: str
    hop_seconds: float = 0.0


class Rating(NamedTuple):
    """How a demand will run: its lowering, and for each worker the factor on its seconds."""

    lowering: str
    factors: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Joint:
    """The plan of a run: a plan per demand, in the order of the demands."""

    plans: tuple[Plan, ...]
    predicted_seconds: float
    peak_bytes: tuple[float, ...]
    how: str
    period_seconds: float = 0.0  # for throughput: after how long the next run ends, at best


class Elsewhere(NamedTuple):
    """Where a run would have the arrays lie that it reads.

    A run that is predicted to take ``now_seconds`` would take ``then_seconds``, after moving them
    once; ``places`` has the number of each array that moves, its rows per node, and at what
    multiples they are cut.
    """

    now_seconds: float
    then_seconds: float
    moving_seconds: float
    places: tuple[tuple[int, tuple[tuple[str, int], ...], int], ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What a plan of a sketch depends on besides the sketch."""

    places: tuple[Place, ...]
    links: Links
    lowerings: tuple[str, ...]
    factors: NDArray[np.float64]  # per demand and worker
    asked: Hashable

    @classmethod
    def of(
        cls, places: Sequence[Place], links: Links, ratings: Sequence[Rating], asked: Hashable
    ) -> Question:
        """Return the question; ``asked`` is whatever else must be equal."""
        factors = np.array([rating.factors for rating in ratings], np.float64)
        lowerings = tuple([rating.lowering for rating in ratings])
        return cls(tuple(places), links, lowerings, factors, asked)

    def is_like(self, other: Question, tolerance: float = SAME_SECONDS) -> bool:
        """Return whether an answer to the other is one to this, as far as there is room for it."""
        return (
            self.asked == other.asked
            and self.links is other.links
            and self.lowerings == other.lowerings
            and len(self.places) == len(other.places)
            and all(map(_same_but_memory, self.places, other.places))
            and (
                alike(self.factors, other.factors, tolerance)
                or moved_together(self.factors, other.factors)
            )
        )

    def memory(self) -> NDArray[np.float64]:
        """Return the bytes that each worker may be given."""
        free = [place.profile.free_bytes for place in self.places]
        return MEMORY_SHARE * np.array(free, np.float64)


def moved_together(one: NDArray[np.float64], other: NDArray[np.float64]) -> bool:
    """Return whether each demand changed on all workers alike: who is how much faster stays.

    Not by more than ``MOST_MOVED``: what is sent costs more or less beside what is computed then.
    """
    if one.shape != other.shape or not one.size:
        return False
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = one / other
    least, most = ratio.min(axis=1), ratio.max(axis=1)
    together = most <= (1 + SAME_SECONDS) * least
    within = (least * MOST_MOVED >= 1) & (most <= MOST_MOVED)
    return bool((together & within).all())


@dataclass(slots=True)
class Answer:
    """The plan that was made for a question.

    ``fixed`` and ``busy`` are the seconds of each demand on each worker, at the question's factors;
    ``memory`` is what each worker might be given, and ``ever_held`` all that it holds at some time.
    ``elsewhere`` was the answer, if that was asked, to where arrays had better lie. It was made at
    some time, and is ``fresh_until`` another, in seconds of :func:`time.monotonic`.
    """

    question: Question
    joint: Joint
    fixed: NDArray[np.float64]
    busy: NDArray[np.float64]
    memory: NDArray[np.float64]
    ever_held: NDArray[np.float64]
    fresh_until: float = 0.0
    elsewhere: list[Elsewhere | None] = field(default_factory=list)

    def holds_for(self, question: Question) -> bool:
        """Return whether this answers the question."""
        fresh = time.monotonic() < self.fresh_until
        if not question.is_like(self.question, NOISE if fresh else SAME_SECONDS):
            return False
        memory = question.memory()
        if not as_free(self.memory, memory, self.ever_held):
            return False
        return bool((self.ever_held <= memory * ROUNDING).all())

    def at(self, question: Question) -> Joint:
        """Return the plan with the seconds that the question's factors predict."""
        if np.array_equal(question.factors, self.question.factors):
            return self.joint
        with np.errstate(invalid="ignore"):
            ratio = question.factors / self.question.factors
        busy = np.where(self.busy > 0, self.busy * ratio, 0.0)
        taken = self.fixed + busy
        was = (self.fixed + self.busy).max(axis=1).sum()
        pace = float(taken.max(axis=1).sum() / was) if was else 1.0
        pairs = zip(self.joint.plans, taken.tolist(), strict=True)
        plans = tuple([_with_seconds(plan, s, pace) for plan, s in pairs])
        end = self.joint.predicted_seconds * pace
        period = self.joint.period_seconds * pace
        return replace(self.joint, plans=plans, predicted_seconds=end, period_seconds=period)


@dataclass(frozen=True, slots=True)
class Refused:
    """That no placement was found to fit: the nodes and memory asked about, and why."""

    names: tuple[str, ...]
    asked: Hashable
    memory: NDArray[np.float64]
    why: str
    short_bytes: float

    @classmethod
    def of(cls, question: Question, error: PlanInfeasible) -> Refused:
        """Return what is remembered of a refusal: nothing that the error was raised from."""
        names = _names(question)
        return cls(names, question.asked, question.memory(), str(error), error.short_bytes)

    def holds_for(self, question: Question) -> bool:
        """Return whether the question would be refused again.

        What is free beyond what was free then is at most what the nearest placement lacked.
        """
        if self.asked != question.asked or self.names != _names(question):
            return False
        gained = np.maximum(question.memory() - self.memory, 0.0).sum()
        return bool(gained <= max(self.short_bytes, SAME_ROOM * self.memory.sum()))

    def error(self) -> PlanInfeasible:
        """Return the refusal once more."""
        error = PlanInfeasible(self.why)
        error.short_bytes = self.short_bytes
        return error


def _names(question: Question) -> tuple[str, ...]:
    return tuple([place.profile.name for place in question.places])


def refused(refusals: Sequence[Refused], question: Question) -> PlanInfeasible | None:
    """Return a refusal that is good for the question; None where there is none."""
    known = next((refusal for refusal in refusals if refusal.holds_for(question)), None)
    return None if known is None else known.error()


def find(answers: Sequence[Answer], question: Question) -> Answer | None:
    """Return one of the answers that is good for the question; None where there is none."""
    for answer in answers:
        if answer.holds_for(question):
            # profiles that were made anew with the memory of now are known by identity from now on
            answer.question = replace(answer.question, places=question.places)
            return answer
    return None


def _with_seconds(plan: Plan, seconds: list[float], pace: float) -> Plan:
    return Plan(
        plan.phase,
        plan.rows,
        max(seconds),
        tuple(seconds),
        plan.peak_bytes,
        plan.how,
        plan.solver_seconds,
        tuple([start * pace for start in plan.starts]),
    )


_all_but_memory = attrgetter(*(f.name for f in fields(DeviceProfile) if f.name != "free_bytes"))


def _same_but_memory(one: Place, other: Place) -> bool:
    if one.label != other.label:
        return False
    ours, theirs = one.profile, other.profile
    return ours is theirs or _all_but_memory(ours) == _all_but_memory(theirs)
