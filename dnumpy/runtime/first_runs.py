"""What first runs of kernels take on workers, as :mod:`dnumpy.kernels.choose` lets them begin.

A phase that nobody ran begins tiled. A moment later it is written down for the compiler, beside the
task, which takes as much longer on a worker of one thread. Once it has run for about as long as
compiling takes, or at once where it will run for many times as long, it is compiled there too: the
task is longer by what of that it is still there for. Where the same phase comes again in the same
run, as in a loop, it is compiled by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dnumpy.cost.estimate import seconds
from dnumpy.kernels.at_hand import AHEAD, COMPILE_SECONDS
from dnumpy.kernels.choose import LOAD_AFTER, LOWER_AFTER
from dnumpy.plan.work import kernel_name
from dnumpy.runtime.taught import NEVER_COMPILED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.cost.work import Work
    from dnumpy.runtime.demands import Demand
    from dnumpy.runtime.jointly import Rating


def beginning(
    demands: Sequence[Demand],
    ratings: Sequence[Rating],
    profiles: Sequence[DeviceProfile],
    ran: Callable[[str, Work], bool],
    compiled: Callable[[str, Work], Rating],
) -> list[Rating]:
    """Return the ratings of all that a run asks, with what its first runs take longer.

    ``ran`` says whether a phase ran before, ``compiled`` how one is rated once it is compiled.
    """
    found: list[Rating] = []
    before: dict[str, float] = {}  # seconds that each phase has run tiled by then
    for demand, rating in zip(demands, ratings, strict=True):
        what, work = demand.what, demand.work
        if not work.program or rating.lowering != "tiled" or ran(what, work):
            found.append(rating)
            continue
        name = kernel_name(what, work, "any")
        busy = _busy_seconds(work, rating, profiles)
        cost = min(COMPILE_SECONDS, *(p.compile_seconds or COMPILE_SECONDS for p in profiles))
        compiles = not work.flops and not any(loop in NEVER_COMPILED for loop, _ in work.loops)
        if name not in before:
            found.append(_begun(rating, profiles, busy, cost if compiles else float("inf")))
        elif compiles and before[name] >= cost:
            found.append(compiled(what, work))
        else:
            found.append(rating)
        least = min([t * min(p.speed, 1.0) for t, p in zip(busy, profiles, strict=True)])
        before[name] = before.get(name, 0.0) + least
    return found


def _busy_seconds(work: Work, rating: Rating, profiles: Sequence[DeviceProfile]) -> list[float]:
    """Return what each worker takes for about the rows that its speed earns."""
    rates = [p.speed * p.threads / f for p, f in zip(profiles, rating.factors, strict=True)]
    found = []
    for profile, factor, rate in zip(profiles, rating.factors, rates, strict=True):
        rows = work.rows * rate / sum(rates) / profile.threads
        took = seconds(work, profile, rows, rating.lowering, factor) - profile.launch_seconds
        found.append(max(took, 0.0))
    return found


def _begun(
    rating: Rating, profiles: Sequence[DeviceProfile], busy: Sequence[float], cost: float
) -> Rating:
    """Return the rating of a first run that is ``busy`` for so long on each worker.

    It is longer by the same factor on all of them: rows that it makes lie there for runs that
    nothing goes on beside.
    """
    longest = 1.0
    for profile, took in zip(profiles, busy, strict=True):
        share = min(profile.speed, 1.0)
        work = took * share
        beside = profile.lowering_seconds if work >= LOWER_AFTER else 0.0
        begins = LOAD_AFTER if work >= AHEAD * cost else cost
        beside += min(profile.compile_seconds, max(work - begins, 0.0))
        if took:
            longest = max(longest, 1.0 + min(beside / share, took) / took / profile.threads)
    return rating._replace(factors=tuple([factor * longest for factor in rating.factors]))
