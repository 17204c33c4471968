"""Which way a loop of the program goes: whether its operations wait, or are NumPy's at once.

NumPy is done with an operation on 100,000 elements before an evaluation of ours has begun, so that
such operations do not wait as larger ones do. But some in a row, computed together and shared by
the threads, take less than NumPy's one by one; and some programs that work on larger arrays do so
much beside it (planes of an array changed one by one) that what waits takes more. Whether it does
depends on all that the program does. So the program itself is timed. One of its operations, which a
loop comes back to, begins a lap; some laps are run either way, by turns, and what took less is what
the next ones do, until it is doubted. What waits in a trial is computed within it.
:file:`native/laps.c` counts the laps, and asks here when some are over.

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
MOST_LAPS = 1 << 16
TIMES_LARGER = 4  # than the operation that begins laps: what is larger is not computed at once
SEEN_SECONDS = 0.4  # of a loop before a trial with large arrays: meanwhile ours are compiled
HOPELESS_REST = 1 << 10  # blocks, after a trial with large arrays that was hopeless
SLOW_REST = 1 << 6  # after another one that was
LEAST_LAP = 1.5e-4  # seconds, of one in which something may be gained by waiting
LONGEST_LAP = 0.1  # seconds, of one in which large arrays may be computed at once
LEAST_SECONDS = 2.5e-10  # that NumPy takes for an element of an operation on a large array
# whether the blocks of a trial go the other way; the first of those meets what is new: not counted
TRIAL = (False, True, True, False, True, False, True, False, True)
UNCOUNTED = 1
TELLING = 7  # blocks of a trial, after which one that is hopeless is over
TELLING_LARGE = 5  # of one on large arrays
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

Answer = tuple[int, int]


class Loop:
    """What was measured of the laps that begin at one place of the program.

    Parameters
    ----------
    large : bool
        Whether the operation there is on an array that waits unless told otherwise.
    """

    __slots__ = (
        "asks", "at", "began", "best", "differs", "elements", "laps", "laps_of", "large", "period",
        "probe", "rest", "seconds_of", "seen", "settled", "spent",
    )  # fmt: skip

    def __init__(self, *, large: bool = False) -> None:
        self.large = large
        self.elements = 0  # of that operation
        self.laps = 1  # of a block
        self.at = -1  # in TRIAL; before and after trials -1
        self.differs = False  # goes the other way
        self.settled = False  # a trial is over, and its outcome holds
        self.spent = 0.0  # seconds, of all laps
        self.asks: bool | None = None  # for kernels of what waits; None where it has not yet
        self.best = {False: math.inf, True: math.inf}  # seconds of a block
        self.seen = self.seconds_of = 0.0  # before trials; and those of which this many laps were
        self.laps_of = 0
        self.probe = 0.0  # seconds of a block, as its first laps went
        self.rest, self.period = FIRST_REST, FIRST_PERIOD
        self.began = 0.0

    @property
    def way(self) -> int:
        """How the next operations go."""
        other = AT_ONCE if self.large else WAITING
        return other if self.differs else AS_EVER

    @property
    def leaves(self) -> bool:
        """Whether what was timed leaves something to be computed before what comes next.

        So does what was decided for, before a trial: operations on what waits would wait in its
        first block, too.
        """
        return self.differs if self.settled else self.at >= 0 and (self.large or self.differs)

    def answer(self) -> Answer:
        """Return how the next operations go, and how many laps do."""
        blocks = 1
        if self.settled:
            blocks = self.period if self.differs else self.rest
        return self.way, self._probed if self.probes else self.laps * blocks

    @property
    def probes(self) -> bool:
        """Whether a few laps are to show first whether what waits takes several times as long."""
        return not self.large and not self.settled and 0 < self.at < PROBED

    @property
    def _probed(self) -> int:
        return max(1, self.laps // PROBE)

    def ended(self, seconds: float, elements: float = 0.0) -> None:
        """Note that a block of laps, or all that an outcome was for, took so long.

        ``elements`` were worked on, by all operations together; infinitely many where the bits of
        a large result depend on what it is made of having waited.
        """
        self.spent += seconds
        if self.large and math.isinf(elements):
            self.settled, self.differs, self.at = True, False, -1
        elif self.settled:
            self._doubt(seconds)
        elif self.at < 0:
            self._size(seconds, elements)
        else:
            self._compare(seconds)

    def waits(self, seconds: float) -> None:
        """Note that a block took so long, which tells nothing of later ones.

        Kernels are being compiled. A trial that has begun will begin again.
        """
        self.spent += seconds
        if not self.settled:
            self.at, self.differs = -1, False
            self.seen = min(self.seen + seconds, SEEN_SECONDS / 2)
            self.seconds_of, self.laps_of = 0.0, 0

    def _doubt(self, seconds: float) -> None:
        if self.differs:
            self.period = min(4 * self.period, LAST_PERIOD)
        else:
            short = not self.large and seconds < LEAST_LAP * self.laps * self.rest
            self.rest = min(4 * self.rest, LAST_REST)
            if short:
                return
        self.settled, self.differs, self.at = False, TRIAL[0], 0
        self.best = {False: math.inf, True: math.inf}

    def _size(self, seconds: float, elements: float) -> None:
        if self.large:
            self._look(seconds, elements)
        elif seconds < BLOCK_SECONDS and self.laps < MOST_LAPS:
            more = math.ceil(BLOCK_SECONDS / max(seconds, 1e-7))
            self.laps = min(self.laps * min(max(more, 2), 8), MOST_LAPS)
        elif seconds < LEAST_LAP * self.laps:
            self.settled = True
        else:
            self.differs, self.at = TRIAL[0], 0

    def _look(self, seconds: float, elements: float) -> None:
        """Look at laps of which most leave work to later ones: what they take is known of many."""
        self.seen += seconds
        if self.seen < SEEN_SECONDS / 2:  # some of it spent on what is compiled
            if seconds < BLOCK_SECONDS / 2:  # to be asked is as much as a short lap takes
                self.laps = min(2 * self.laps, MOST_LAPS)
            return
        self.seconds_of, self.laps_of = self.seconds_of + seconds, self.laps_of + self.laps
        if self.seen < SEEN_SECONDS:
            return
        lap, elements = self.seconds_of / self.laps_of, elements / self.laps
        self.laps = max(math.ceil(BLOCK_SECONDS / max(lap, 1e-7)), 1)
        if LEAST_SECONDS * elements < lap < LONGEST_LAP:
            self.differs, self.at = TRIAL[0], 0
        else:
            self.settled, self.rest = True, HOPELESS_REST  # not faster, or not worth a trial

    def _compare(self, seconds: float) -> None:
        if self.probes:
            self.probe = seconds * self.laps / self._probed
        elif self.at != UNCOUNTED:
            self.best[self.differs] = min(self.best[self.differs], seconds)
        self.at += 1
        far = not self.large and self.at == PROBED and self.probe > FAR * self.best[False]
        if far:
            self.best[True] = self.probe
        slow = self.best[True] > HOPELESS * self.best[False]
        telling = TELLING_LARGE if self.large else PROBED if far else TELLING
        if self.at < telling or (self.at < len(TRIAL) and not slow):
            self.differs = TRIAL[self.at]
            return
        self.at, self.settled = -1, True
        self.differs = self.best[True] < GAIN * self.best[False]
        if self.differs:
            self.rest = FIRST_REST
            return
        self.period = FIRST_PERIOD
        if slow:
            self.rest = max(self.rest, HOPELESS_REST if self.large else SLOW_REST)
        if not self.large and self.asks is None and self.spent >= LONG_SECONDS:
            self.asks = self.best[True] < ASKING * self.best[False]
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
        large: int,
    ) -> None:
        self.settle = settle
        self.told = told
        self.goes = goes
        self.compiles = compiles
        self.compile = compile
        self.large = large
        self.running = Loop()
        self.known: dict[tuple[int, int], tuple[CodeType, Loop]] = {}

    def begins(self, code: CodeType, instruction: int, elements: int) -> Answer:
        """Note where laps begin from now on, and with how large an operation."""
        key, large = (id(code), instruction), elements >= self.large
        found = self.known.get(key)
        if found is None or found[0] is not code or found[1].large != large:
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            found = self.known[key] = code, Loop(large=large)
        found[1].elements = elements
        return self._goes_on(found[1])

    def ended(self, elements: float) -> Answer:
        """Note that the last of the laps is over, and the first of others begins."""
        loop = self.running
        if self.told() is None:
            if loop.leaves:
                self.settle()
            seconds = time.perf_counter() - loop.began
            if self.compiles():
                loop.waits(seconds)
            else:
                loop.ended(seconds, elements)
            if loop.asks:
                self.compile(loop.began)
                loop.asks = False
        return self._goes_on(loop)

    def _goes_on(self, loop: Loop) -> Answer:
        self.running = loop
        told = self.told()
        way, laps = loop.answer() if told is None else (told, TOLD_LAPS)
        self.goes(TIMES_LARGER * loop.elements if way == AT_ONCE else 0, way == WAITING)
        loop.began = time.perf_counter()
        return way, laps
