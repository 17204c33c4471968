"""What first runs of kernels take on workers, as :mod:`dnumpy.kernels.choose` lets them begin.

A phase that nobody ran begins tiled. When it comes again, as in a loop, and has run for about as
long as compiling takes, or in the midst of a first run that takes many times as long, it is written
down and compiled beside the task. On a worker of one thread, whatever its share of a CPU, both take
their turns: while the compiler does its work the task does as much of its own. What is left of the
task then runs compiled, and so do later ones. A worker that has machine code of a phase like it on
its disk has next to nothing to compile.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING, NamedTuple

from dnumpy.cost.estimate import compile_seconds, first_run, seconds
from dnumpy.kernels.at_hand import COMPILE_SECONDS, LOAD_SECONDS
from dnumpy.kernels.pieces import LONG_SECONDS, PIECES
from dnumpy.kernels.preparing import LOAD_AFTER
from dnumpy.plan.work import kernel_name
from dnumpy.runtime.taught import NEVER_COMPILED

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from dnumpy.cost.profile import DeviceProfile
    from dnumpy.cost.work import Work
    from dnumpy.runtime.demands import Demand
    from dnumpy.runtime.jointly import Rating


class Worker(NamedTuple):
    """A worker's profile, and of which phases it has machine code, by their likeness."""

    profile: DeviceProfile
    known: Collection[str] = ()

    @property
    def share(self) -> float:
        """The share of a CPU that it gets."""
        return min(self.profile.speed, 1.0)


@dataclass(slots=True)
class _Begun:
    """How far a phase is on a worker: CPU seconds that it ran tiled, and what is left to compile.

    Nothing is compiled before it has run for ``begins`` seconds, in the midst of a first run only
    where that takes long.
    """

    begins: float
    left: float
    on_disk: bool = False
    ran: float = 0.0
    asked: bool = False

    def seconds_of(self, worker: Worker, tiled: float, compiled: float) -> float:
        """Return the seconds of the next run, which takes so many one way or the other alone."""
        if not self.left:
            return compiled
        profile, share = worker.profile, worker.share
        threads, work = profile.threads, tiled * share
        begins = self._after(work, threads)
        lowers = not self.asked and begins < work
        self.asked = self.asked or lowers
        beside = min(profile.lowering_seconds, work) / threads if lowers else 0.0
        run = first_run(work, compiled * share, begins, self.left, threads)
        self.ran += run.ran
        self.left = run.left
        return (beside + run.seconds) / share

    def _after(self, run: float, threads: int) -> float:
        """Return after how many seconds of the next run its kernel is compiled."""
        if self.on_disk or self.ran or self.begins == inf:
            return max(self.begins / threads - self.ran, 0.0)
        return 2 * run / PIECES if run >= LONG_SECONDS else inf


@dataclass(slots=True)
class _Compilers:
    """The processes that compile on the workers: started once in a run."""

    started: bool = False
    begun: dict[str, list[_Begun]] = field(default_factory=dict)

    def of(self, name: str, work: Work, workers: Sequence[Worker]) -> list[_Begun]:
        """Return how far the phase is on each worker."""
        if name not in self.begun:
            self.begun[name] = [self._begin(work, worker) for worker in workers]
            self.started = True
        return self.begun[name]

    def _begin(self, work: Work, worker: Worker) -> _Begun:
        if work.flops or any(loop in NEVER_COMPILED for loop, _ in work.loops):
            return _Begun(inf, 1.0)
        if work.likeness in worker.known:
            return _Begun(LOAD_AFTER, LOAD_SECONDS, on_disk=True)
        compiling = compile_seconds(work, worker.profile, starts=not self.started)
        return _Begun(COMPILE_SECONDS, compiling or COMPILE_SECONDS)


def beginning(
    demands: Sequence[Demand],
    ratings: Sequence[Rating],
    workers: Sequence[Worker],
    ran: Callable[[str, Work], bool],
    compiled: Callable[[str, Work], Rating],
) -> list[Rating]:
    """Return the ratings of all that a run asks, as its first runs go.

    ``ran`` says whether a phase ran before, ``compiled`` how one is rated once it is compiled.
    """
    found: list[Rating] = []
    compilers = _Compilers()
    for demand, rating in zip(demands, ratings, strict=True):
        what, work = demand.what, demand.work
        if not work.program or rating.lowering != "tiled" or ran(what, work):
            found.append(rating)
            continue
        begun = compilers.of(kernel_name(what, work, "any"), work, workers)
        later = compiled(what, work)
        if not any(each.left for each in begun):
            found.append(later)
        else:
            found.append(_first(work, rating, later, workers, begun))
    return found


def _first(
    work: Work,
    tiled: Rating,
    compiled: Rating,
    workers: Sequence[Worker],
    begun: Sequence[_Begun],
) -> Rating:
    """Return the rating of a run in which a phase is compiled, or may be.

    It takes as much longer, or less long, on all workers as on the one where that is most: rows
    that it makes lie there for runs that nothing goes on beside.
    """
    longest = 0.0
    rows = _earned(work, tiled, workers)
    factors = zip(tiled.factors, compiled.factors, strict=True)
    for worker, here, n, (slow, fast) in zip(workers, begun, rows, factors, strict=True):
        alone = _busy_seconds(work, worker, n, "tiled", slow)
        if alone:
            sooner = _busy_seconds(work, worker, n, "numba", fast)
            longest = max(longest, here.seconds_of(worker, alone, sooner) / alone)
    return tiled._replace(factors=tuple([factor * (longest or 1.0) for factor in tiled.factors]))


def _earned(work: Work, rating: Rating, workers: Sequence[Worker]) -> list[float]:
    """Return about the rows that each worker's thread has, as their speeds earn them."""
    rates = [
        w.profile.speed * w.profile.threads / factor
        for w, factor in zip(workers, rating.factors, strict=True)
    ]
    total = sum(rates)
    return [
        work.rows * rate / total / w.profile.threads for w, rate in zip(workers, rates, strict=True)
    ]


def _busy_seconds(work: Work, worker: Worker, rows: float, lowering: str, factor: float) -> float:
    profile = worker.profile
    return max(seconds(work, profile, rows, lowering, factor) - profile.launch_seconds, 0.0)
