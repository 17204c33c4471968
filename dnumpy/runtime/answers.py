"""Answers to a sketch, kept with it: the plan of a run that is asked for once more.

An answer is good as long as the workers, their profiles and links, the epoch and the objective are
the same, no factor of a prediction has changed by more than ``SAME_SECONDS``, and as much memory is
free (or the plan was not shaped by it). Its rows stay; what it predicts for each node follows the
factors of the day.

That nothing fits is an answer too, and one that takes longest to find: it is good until more has
become free than was missing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
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
SAME_ROOM = 0.01  # of all memory: what more may be free without a refusal being thought over


@dataclass(frozen=True, slots=True)
class Place:
    """What is known of one worker: its profile, its class, and how far off predictions are."""

    profile: DeviceProfile
    label: str


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

    def is_like(self, other: Question) -> bool:
        """Return whether an answer to the other is one to this, as far as there is room for it."""
        return (
            self.asked == other.asked
            and self.links is other.links
            and self.lowerings == other.lowerings
            and len(self.places) == len(other.places)
            and all(map(_same_but_memory, self.places, other.places))
            and alike(self.factors, other.factors, SAME_SECONDS)
        )

    def memory(self) -> NDArray[np.float64]:
        """Return the bytes that each worker may be given."""
        free = [place.profile.free_bytes for place in self.places]
        return MEMORY_SHARE * np.array(free, np.float64)


@dataclass(slots=True)
class Answer:
    """The plan that was made for a question.

    ``fixed`` and ``busy`` are the seconds of each demand on each worker, at the question's factors;
    ``memory`` is what each worker might be given, and ``ever_held`` all that it holds at some time.
    """

    question: Question
    joint: Joint
    fixed: NDArray[np.float64]
    busy: NDArray[np.float64]
    memory: NDArray[np.float64]
    ever_held: NDArray[np.float64]

    def holds_for(self, question: Question) -> bool:
        """Return whether this answers the question."""
        if not question.is_like(self.question):
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
        seconds = (self.fixed + busy).tolist()
        pairs = zip(self.joint.plans, seconds, strict=True)
        return replace(self.joint, plans=tuple([_with_seconds(plan, s) for plan, s in pairs]))


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


def find(answers: Sequence[Answer], question: Question) -> Joint | None:
    """Return a plan among the answers that is good for the question; None where there is none."""
    for answer in answers:
        if answer.holds_for(question):
            # profiles that were made anew with the memory of now are known by identity from now on
            answer.question = replace(answer.question, places=question.places)
            return answer.at(question)
    return None


def _with_seconds(plan: Plan, seconds: list[float]) -> Plan:
    return Plan(
        plan.phase,
        plan.rows,
        max(seconds),
        tuple(seconds),
        plan.peak_bytes,
        plan.how,
        plan.solver_seconds,
        plan.starts,
    )


_all_but_memory = attrgetter(*(f.name for f in fields(DeviceProfile) if f.name != "free_bytes"))


def _same_but_memory(one: Place, other: Place) -> bool:
    if one.label != other.label:
        return False
    ours, theirs = one.profile, other.profile
    return ours is theirs or _all_but_memory(ours) == _all_but_memory(theirs)
