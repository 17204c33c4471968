"""Which way a loop of the program goes: whether its operations wait, or are NumPy's at once.

NumPy is done with an operation on 100,000 elements before an evaluation of ours has begun, so that
such operations do not wait as larger ones do. But some in a row, computed together and shared by
the threads, take less than NumPy's one by one; and some programs that work on larger arrays do so
much beside it (planes of an array changed one by one) that what waits takes more. Whether it does
depends on all that the program does. So the program itself is timed. One of its operations, which a
loop comes back to, begins a lap; some laps are run either way, by turns, and what took less is what
the next ones do, until it is doubted. What waits in a trial is computed within it.
:file:`native/laps.c` counts the laps, and asks here when some are over.

Loops lie within loops. One that works on large arrays may lie around several that work on others of
middling size, and knows more than each of those: what waits of theirs is computed where it wants a
value. So, once what is within is settled, the loop outside takes over; its laps have all ways, that
of the inner one first. Time is that in which this process computes: a program also waits for
others.

Only elementwise operations and what moves elements go another way, which have the same bits either
way; folds and products of few elements are NumPy's wherever (:func:`dnumpy.rewrite.cut.row_space`),
and those of more are ours: nothing but time depends on the outcome.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

# ways: as ever; operations of middling size wait; all are computed at once
AS_EVER, WAITING, AT_ONCE = 0, 1, 2
LEAST_ELEMENTS = 1 << 14  # of an operation that may wait
BLOCK_SECONDS = 4e-3  # that some laps take together, at least, to be compared
BLOCK_LARGE = 3.2e-2  # likewise of laps on large arrays, among which some do more than others
MOST_LAPS = 1 << 16
TIMES_LARGER = 4  # than the operation that begins laps: what is larger is not computed at once
EVALUATIONS = 2  # of a block on large arrays, at least: what is computed together spans many laps
ATTEMPTS = 3  # of loops on large arrays to take over from one within
SEEN_SECONDS = 0.4  # of a loop before a trial with large arrays: meanwhile ours are compiled
HOPELESS_REST = 1 << 10  # blocks, after a trial with large arrays that was hopeless
SLOW_REST = 1 << 6  # after another one that was
LEAST_LAP = 1.5e-4  # seconds, of one in which something may be gained by waiting
LONGEST_LAP = 0.1  # seconds, of one in which large arrays may be computed at once
MOST_ELEMENTS = 1 << 25  # of all operations of such a lap: beside more nothing else takes long,
# and a trial, in which what waits is computed at places of its own, would take much memory
LEAST_SECONDS = 2.5e-10  # that NumPy takes for an element of an operation on a large array
ROUNDS = 3  # of a trial, in which each way has a block
TELLING, TELLING_LARGE = 2, 1  # rounds, after which a trial that is hopeless is over
PROBED, PROBE = 3, 8  # blocks of one, before which the other way's have this part of their laps
HOPELESS = 1.5  # times the best of the first way
FAR = 3.0  # times the best of the first way: a trial tells soon of what takes more
ASKING = 8.0  # likewise: what kernels that are compiled may yet make faster
LONG_SECONDS = 1.0  # of a loop, beside which compiling those in the background is worth it
GAIN = 0.93  # of its time: what the other way must take to be chosen
FIRST_REST, LAST_REST = 16, 1 << 12  # blocks until the first way is doubted again
FIRST_PERIOD, LAST_PERIOD = 64, 1 << 12  # and the other
MOST_KNOWN = 256  # loops
TOLD_LAPS = 1024  # until the settings are looked at again

Answer = tuple[int, int, bool]


def trial_of(usual: int, others: tuple[int, ...]) -> tuple[int, ...]:
    """Return the ways that the blocks of a trial go.

    The first block of each other way meets what is new, and is not counted.
    """
    twice = tuple(way for other in others for way in (other, other))
    return (usual, *twice, *(ROUNDS * (usual, *others)))


class Loop:
    """What was measured of the laps that begin at one place of the program.

    Parameters
    ----------
    large : bool
        Whether the operation there is on an array that waits unless told otherwise.
    """

    __slots__ = (
        "asks", "at", "attempts", "began", "best", "chosen", "elements", "evaluated", "laps",
        "laps_of", "large", "mixed", "period", "probe", "rest", "seconds_of", "seen", "settled",
        "spent", "trial", "usual",
    )  # fmt: skip

    def __init__(self, *, large: bool = False) -> None:
        self.large = large
        self.usual = self.chosen = AS_EVER  # the way that laps go unless another is faster; and go
        self.mixed = False  # of a large one: whether it has operations of middling size, too
        self.elements = 0  # of that operation
        self.laps = 1  # of a block
        self.trial: tuple[int, ...] = ()
        self.at = -1  # in the trial; before and after it -1
        self.settled = False  # a trial is over, and its outcome holds
        self.spent = 0.0  # seconds, of all laps
        self.asks: bool | None = None  # for kernels of what waits; None where it has not yet
        self.best: dict[int, float] = {}  # by way: seconds of a block
        self.seen = self.seconds_of = 0.0  # before trials; and those of which this many laps were
        self.laps_of = self.evaluated = 0  # and evaluations
        self.probe = 0.0  # seconds of a block, as its first laps went
        self.rest, self.period = FIRST_REST, FIRST_PERIOD
        self.attempts = ATTEMPTS  # that are left
        self.began = 0.0, 0.0  # of all that runs, and of what computes

    @property
    def way(self) -> int:
        """How the next operations go."""
        return self.trial[self.at] if self.at >= 0 else self.chosen

    @property
    def differs(self) -> bool:
        """Whether those go otherwise than usual."""
        return self.way != self.usual

    @property
    def leaves(self) -> bool:
        """Whether what was timed leaves something to be computed before what comes next.

        So does what was decided for, before a trial: operations on what waits would wait in its
        first block, too.
        """
        return self.differs if self.settled else self.at >= 0 and (self.large or self.differs)

    @property
    def yields(self) -> bool:
        """Whether a loop around it may take over."""
        return self.settled and not self.large and self.attempts > 0

    def answer(self) -> Answer:
        """Return how the next operations go, how many laps do, and whether others take over."""
        blocks = 1
        if self.settled:
            blocks = self.period if self.differs else self.rest
        laps = self._probed if self.probes else self.laps * blocks
        return self.way, laps, self.yields

    @property
    def probes(self) -> bool:
        """Whether a few laps are to show first whether another way takes several times as long.

        Those of large arrays that wait are computed with what comes in many laps more. Of those
        that are computed at once the shortest tells: a lap may do more than the others.
        """
        some = not self.large or (self.way == AT_ONCE and self.laps >= 2 * PROBE)
        return some and 0 < self.at < PROBED

    @property
    def _probed(self) -> int:
        return max(1, self.laps // PROBE)

    def inherit(self, way: int) -> None:
        """Let laps go a way that was found within them, unless more is known of them."""
        if not self.settled and self.at < 0:
            self.usual = self.chosen = way

    def ended(
        self,
        seconds: float,
        elements: float = 0.0,
        *,
        shortest: float | None = None,
        evaluated: int = 0,
        mixed: bool = False,
    ) -> None:
        """Note that a block of laps, or all that an outcome was for, took so long.

        ``elements`` were worked on, by all operations together; infinitely many where the bits of
        a large result depend on what it is made of having waited. The shortest lap took so long,
        where that is known. So many evaluations ran; and some of the operations were of middling
        size, where they are ``mixed``.
        """
        self.spent += seconds
        self.mixed |= mixed
        if self.large and math.isinf(elements):
            self.settled, self.chosen, self.at = True, self.usual, -1
        elif self.settled:
            self._doubt(seconds)
        elif self.at < 0:
            self._size(seconds, elements, evaluated)
        else:
            self._compare(seconds, seconds / self._probed if shortest is None else shortest)

    def waits(self, seconds: float) -> None:
        """Note that a block took so long, which tells nothing of later ones.

        Kernels are being compiled. A trial that has begun will begin again.
        """
        self.spent += seconds
        if not self.settled:
            self.at, self.chosen = -1, self.usual
            self.seen = min(self.seen + seconds, SEEN_SECONDS / 2)
            self.seconds_of, self.laps_of, self.evaluated = 0.0, 0, 0

    def _try(self) -> None:
        """Begin a trial."""
        ways = (AT_ONCE, AS_EVER, WAITING) if self.mixed else (AT_ONCE, AS_EVER)
        others = tuple(way for way in ways if way != self.usual) if self.large else (WAITING,)
        self.trial, self.at = trial_of(self.usual, others), 0
        self.settled, self.best = False, dict.fromkeys((self.usual, *others), math.inf)

    def _doubt(self, seconds: float) -> None:
        if self.differs:
            self.period = min(4 * self.period, LAST_PERIOD)
        else:
            short = not self.large and seconds < LEAST_LAP * self.laps * self.rest
            self.rest = min(4 * self.rest, LAST_REST)
            if short:
                return
        self._try()

    def _size(self, seconds: float, elements: float, evaluated: int) -> None:
        if self.large:
            self._look(seconds, elements, evaluated)
        elif seconds < BLOCK_SECONDS and self.laps < MOST_LAPS:
            more = math.ceil(BLOCK_SECONDS / max(seconds, 1e-7))
            self.laps = min(self.laps * min(max(more, 2), 8), MOST_LAPS)
        elif seconds < LEAST_LAP * self.laps:
            self.settled = True
        else:
            self._try()

    def _look(self, seconds: float, elements: float, evaluated: int) -> None:
        """Look at laps of which most leave work to later ones: what they take is known of many.

        What waits of a block is computed at its end, by itself, so that blocks have to be longer
        than what is computed together otherwise.
        """
        self.seen += seconds
        if self.seen < SEEN_SECONDS / 2:  # some of it spent on what is compiled
            if seconds < BLOCK_SECONDS / 2:  # to be asked is as much as a short lap takes
                self.laps = min(2 * self.laps, MOST_LAPS)
            return
        self.seconds_of, self.laps_of = self.seconds_of + seconds, self.laps_of + self.laps
        self.evaluated += evaluated
        if self.seen < SEEN_SECONDS:
            return
        lap, elements = self.seconds_of / self.laps_of, elements / self.laps
        apart = self.laps_of / max(self.evaluated, 1)  # laps, from one evaluation to the next
        self.laps = math.ceil(max(BLOCK_LARGE / max(lap, 1e-7), EVALUATIONS * apart))
        worth = LEAST_SECONDS * elements < lap < LONGEST_LAP and elements <= MOST_ELEMENTS
        if worth and self.evaluated:
            self._try()
        else:
            self.settled, self.rest = True, HOPELESS_REST  # not faster, or not worth a trial

    def _compare(self, seconds: float, shortest: float) -> None:
        others = len(self.best) - 1
        way, paired = self.trial[self.at], 1 + 2 * others
        if self.probes:
            self.probe = self.laps * (shortest if self.large else seconds / self._probed)
        far = self.probes and self.at + 1 == PROBED and self.probe > FAR * self.best[self.usual]
        if far:
            self.best[way] = self.probe
        elif not self.probes and not (self.at < paired and self.at % 2):
            self.best[way] = min(self.best[way], seconds)
        self.at += 1
        enough = HOPELESS * self.best[self.usual]
        rounds = TELLING_LARGE if self.large else TELLING
        if far or self.at >= paired + rounds * (1 + others):
            hopeless = {w for w, seconds in self.best.items() if enough < seconds < math.inf}
            left = [way for way in self.trial[self.at :] if way not in hopeless]
            self.trial = (*self.trial[: self.at], *left)
            if any(way != self.usual for way in left):
                return
        elif self.at < len(self.trial):
            return
        self._choose(slow=min(self.best[way] for way in self.best if way != self.usual) > enough)

    def _choose(self, *, slow: bool) -> None:
        """Settle for what took least in the trial."""
        self.at, self.settled = -1, True
        found = min(self.best, key=self.best.__getitem__)
        gains = self.best[found] < GAIN * self.best[self.usual]
        self.chosen = found if gains else self.usual
        if gains:
            self.rest = FIRST_REST
            return
        self.period = FIRST_PERIOD
        if slow:
            self.rest = max(self.rest, HOPELESS_REST if self.large else SLOW_REST)
        if not self.large and self.asks is None and self.spent >= LONG_SECONDS:
            self.asks = self.best[WAITING] < ASKING * self.best[self.usual]
            self.rest = FIRST_REST if self.asks else self.rest


class Laps:
    """The loop that is running, and those that were.

    Parameters
    ----------
    settle : callable
        Computes what waits.
    told : callable
        Says which way operations go, whatever is faster; None where that counts.
    goes : callable
        Is told of how many elements results are to be computed at once, at most, and whether what
        is of middling size waits.
    compiles : callable
        Says whether kernels are being compiled.
    compile : callable
        Has the kernels compiled of what waited since a time.
    evaluated : callable
        Counts the evaluations so far.
    large : int
        Elements from which on operations wait unless told otherwise.
    """

    def __init__(
        self,
        settle: Callable[[], None],
        told: Callable[[], int | None],
        goes: Callable[[int, bool], None],
        compiles: Callable[[], bool],
        compile: Callable[[float], None],  # noqa: A002 - what it does
        evaluated: Callable[[], int],
        large: int,
    ) -> None:
        self.settle = settle
        self.told = told
        self.goes = goes
        self.compiles = compiles
        self.compile = compile
        self.evaluated = evaluated
        self.large = large
        self.running = Loop()
        self.within: Loop | None = None  # from which the running one takes over
        self.evaluations = 0  # when it began
        self.known: dict[tuple[int, int], tuple[CodeType, Loop]] = {}

    def begins(self, code: CodeType, instruction: int, elements: int) -> Answer:
        """Note where laps begin from now on, and with how large an operation."""
        key, large = (id(code), instruction), elements >= self.large
        found = self.known.get(key)
        if found is None or found[0] is not code or found[1].large != large:
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            found = self.known[key] = code, Loop(large=large)
        loop, within = found[1], self.running
        loop.elements = elements
        self.within = None
        if large and within.yields:
            loop.inherit(within.way)
            within.attempts -= 1
            self.within = within
        return self._goes_on(loop)

    def ended(self, elements: float, mixed: int = 0, shortest: float | None = None) -> Answer:
        """Note that the last of the laps is over, and the first of others begins.

        In those, so many elements were worked on; and on some that are ``mixed`` into large ones.
        The shortest took so many seconds.
        """
        loop = self.running
        if self.within is not None:
            self.within.attempts, self.within = ATTEMPTS, None
        if self.told() is None:
            if loop.leaves:
                self.settle()
            seconds = self._seconds(loop)
            evaluated = self.evaluated() - self.evaluations
            if self.compiles():
                loop.waits(seconds)
            else:
                loop.ended(
                    seconds, elements, shortest=shortest, evaluated=evaluated, mixed=bool(mixed)
                )
            if loop.asks:
                self.compile(loop.began[0])
                loop.asks = False
        return self._goes_on(loop)

    def _seconds(self, loop: Loop) -> float:
        """Return the time since the block began, without that in which nothing was computed.

        Threads that compute at the same time hide some of it.
        """
        began, computed = loop.began
        return min(time.perf_counter() - began, time.process_time() - computed)

    def _goes_on(self, loop: Loop) -> Answer:
        self.running = loop
        told = self.told()
        answer = loop.answer() if told is None else (told, TOLD_LAPS, False)
        way = answer[0]
        self.goes(TIMES_LARGER * loop.elements if way == AT_ONCE else 0, way == WAITING)
        self.evaluations = self.evaluated()
        loop.began = time.perf_counter(), time.process_time()
        return answer
