"""Refused: what is to stay on the nodes has to fit there, whatever passes meanwhile.

Stages that do not fit together are run one after another, each planned within the memory that is
free by then, so that what nobody reads any more is gone. That they do not fit together is
remembered with their sketch: a loop pays for the search once. What no order of stages can hold is
refused before it is computed, and the error says what would make it fit.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from dnumpy.errors import PlanInfeasible
from dnumpy.plan.infeasible import readable_bytes
from dnumpy.plan.rates import MEMORY_SHARE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.cost.links import Links
    from dnumpy.runtime.jointly import Joint, Place, Rating
    from dnumpy.runtime.sketch import Sketch

    Refusal = Callable[[], PlanInfeasible]

NAMED = 8  # results
MUCH = 0.4  # of the free memory, that one run takes


class NotTogether(PlanInfeasible):
    """The stages of a run do not fit together; one after another they may."""

    offered_bytes: float = 0.0  # by all nodes together


def stays_bytes(sketch: Sketch) -> dict[str, float]:
    """Return the bytes of what the run leaves on the nodes, by name."""
    found: dict[str, float] = {}
    for k in sorted(sketch.kept):
        work = sketch.demands[k].work
        name = sketch.demands[k].what
        found[name] = found.get(name, 0.0) + work.rows * work.bytes_written
    return found


def cannot_stay(sketch: Sketch, places: Sequence[Place]) -> bool:
    """Say whether what is to stay is more than all nodes offer, or than one does of one task."""
    rooms = [MEMORY_SHARE * place.profile.free_bytes for place in places]
    kept = [sketch.demands[k] for k in sketch.kept]
    whole = [d.work.rows * d.work.bytes_written for d in kept if d.alone]
    return sum(stays_bytes(sketch).values()) > sum(rooms) or max(whole, default=0.0) > max(rooms)


def takes_much(joint: Joint, places: Sequence[Place]) -> bool:
    """Say whether a run may leave so little that the next is not to be planned by old reports."""
    return any(
        peak > MUCH * place.profile.free_bytes
        for peak, place in zip(joint.peak_bytes, places, strict=True)
    )


def not_together(sketch: Sketch, places: Sequence[Place]) -> NotTogether:
    """Return what tells that stages are to be run one after another."""
    stays = stays_bytes(sketch)
    named = ", ".join(
        f"{name} {readable_bytes(size)}" for name, size in list(stays.items())[:NAMED]
    )
    offered = sum(MEMORY_SHARE * place.profile.free_bytes for place in places)
    error = NotTogether(
        f"{len(sketch.demands)} phases were asked for together, of which {named or 'nothing'} "
        f"{'stay' if len(stays) > 1 else 'stays'}; the nodes offered {readable_bytes(offered)}"
    )
    error.offered_bytes = offered
    return error


def plan_within(
    sketch: Sketch, places: Sequence[Place], links: Links, ratings: Sequence[Rating], epoch: int
) -> tuple[Joint | None, Refusal | None]:
    """Return the plan of a run; for one stage that does not fit as a program, why it does not.

    Such a stage may yet be planned by itself.

    Raises
    ------
    dnumpy.errors.PlanInfeasible
        Where what is to stay is more than the nodes have room for; :class:`NotTogether` where
        stages are to be run one after another.
    """
    from dnumpy.runtime.jointly import plan_together  # with all that it needs of plan/

    stays = not cannot_stay(sketch, places)
    if stays:
        try:
            return plan_together(sketch, places, links, ratings, epoch), None
        except PlanInfeasible:  # all that is alive together: each stage may fit
            pass
    if len(set(sketch.stages)) > 1 and (stays or len(sketch.kept) > 1):
        raise not_together(sketch, places)
    why = _refusal_of(sketch, places, links, ratings)
    if stays and not any(demand.alone for demand in sketch.demands):
        return None, why
    raise why()


def _refusal_of(
    sketch: Sketch, places: Sequence[Place], links: Links, ratings: Sequence[Rating]
) -> Refusal:
    """Return what makes the error; it holds nothing that the run reads."""
    from dnumpy.plan.refusal import refusal
    from dnumpy.runtime.jointly import program_of

    program, _ = program_of(sketch, places, links, ratings)
    doubles = any(demand.work.dtype == "float64" for demand in sketch.demands)
    final = len(sketch.kept) <= 1

    def refused() -> PlanInfeasible:
        error = PlanInfeasible(f"phase {program.asks[-1].name} needs more than the nodes offer")
        error.later = partial(refusal, program, doubles=doubles)
        error.final = final
        return error

    return refused
