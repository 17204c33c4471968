"""Whether what a loop does with arrays of middling size is recorded, or NumPy's at once.

NumPy is done with an operation on 100,000 elements before an evaluation of ours has begun. But some
operations in a row, computed together and shared by the threads, take less than NumPy's one by one;
whether those of a program do depends on all that it does between. So the program itself is timed.
One of its operations, which a loop comes back to, begins a lap; some laps are run either way, in
turns, and what took less is what the next ones do, until it is looked at again. What is recorded in
a trial is computed within it. :file:`native/laps.c` counts the laps, and asks here when some are
over.

Only elementwise operations are recorded so, which have the same bits either way, and folds and
products of so few elements are NumPy's (:func:`dnumpy.rewrite.cut.row_space`): nothing but time
depends on the outcome.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

LEAST_ELEMENTS = 1 << 16  # of an operation that may wait
BLOCK_SECONDS = 4e-3  # that some laps take together, at least, to be compared
MOST_LAPS = 1 << 16
# whether the blocks of a trial wait; the first that does, and meets what is new, is not counted
TRIAL = (False, True, True, False, True, False, True, False, True)
UNCOUNTED = 1
TELLING = 7  # blocks of a trial, after which one that is hopeless is over
HOPELESS = 1.5  # times NumPy's best
GAIN = 0.93  # of NumPy's time: what waiting must take to be chosen
FIRST_REST, LAST_REST = 16, 1 << 12  # blocks until NumPy's way is doubted again
FIRST_PERIOD, LAST_PERIOD = 64, 1 << 12  # and ours
MOST_KNOWN = 256  # loops
TOLD_LAPS = 1024  # until the settings are looked at again

Answer = tuple[bool, int]


class Loop:
    """What was measured of the laps that begin at one place of the program."""

    __slots__ = ("at", "began", "best", "laps", "period", "rest", "settled", "waits")

    def __init__(self) -> None:
        self.laps = 1  # of a block
        self.at = -1  # in TRIAL; before and after trials -1
        self.waits = False
        self.settled = False  # a trial is over, and its outcome holds
        self.best = {False: math.inf, True: math.inf}  # seconds of a block
        self.rest, self.period = FIRST_REST, FIRST_PERIOD
        self.began = 0.0

    def answer(self) -> Answer:
        """Return whether the next operations wait, and how many laps do."""
        blocks = 1
        if self.settled:
            blocks = self.period if self.waits else self.rest
        return self.waits, self.laps * blocks

    def ended(self, seconds: float) -> None:
        """Note that a block of laps, or all that an outcome was for, took so long."""
        if self.settled:
            self._doubt()
        elif self.at < 0:
            self._size(seconds)
        else:
            self._compare(seconds)

    def _doubt(self) -> None:
        if self.waits:
            self.period = min(4 * self.period, LAST_PERIOD)
        else:
            self.rest = min(4 * self.rest, LAST_REST)
        self.settled, self.waits, self.at = False, TRIAL[0], 0
        self.best = {False: math.inf, True: math.inf}

    def _size(self, seconds: float) -> None:
        if seconds >= BLOCK_SECONDS or self.laps >= MOST_LAPS:
            self.waits, self.at = TRIAL[0], 0
            return
        more = math.ceil(BLOCK_SECONDS / max(seconds, 1e-7))
        self.laps = min(self.laps * min(max(more, 2), 8), MOST_LAPS)

    def _compare(self, seconds: float) -> None:
        if self.at != UNCOUNTED:
            self.best[self.waits] = min(self.best[self.waits], seconds)
        self.at += 1
        slow = self.best[True] > HOPELESS * self.best[False]
        if self.at < TELLING or (self.at < len(TRIAL) and not slow):
            self.waits = TRIAL[self.at]
            return
        self.at, self.settled = -1, True
        self.waits = self.best[True] < GAIN * self.best[False]
        if self.waits:
            self.rest = FIRST_REST
        else:
            self.period = FIRST_PERIOD


class Laps:
    """The loop that is running, and those that were.

    Parameters
    ----------
    settle : callable
        Computes what waits.
    told : callable
        Says whether operations wait, or are NumPy's, whatever is faster; None where that counts.
    """

    def __init__(self, settle: Callable[[], None], told: Callable[[], bool | None]) -> None:
        self.settle = settle
        self.told = told
        self.running = Loop()
        self.known: dict[tuple[int, int], tuple[CodeType, Loop]] = {}

    def begins(self, code: CodeType, instruction: int) -> Answer:
        """Note where laps begin from now on."""
        key = id(code), instruction
        found = self.known.get(key)
        if found is None or found[0] is not code:
            if len(self.known) >= MOST_KNOWN:
                self.known.clear()
            found = self.known[key] = code, Loop()
        return self._goes_on(found[1])

    def ended(self) -> Answer:
        """Note that the last of the laps is over, and the first of others begins."""
        loop = self.running
        if self.told() is None:
            if loop.waits:
                self.settle()
            loop.ended(time.perf_counter() - loop.began)
        return self._goes_on(loop)

    def _goes_on(self, loop: Loop) -> Answer:
        self.running = loop
        told = self.told()
        if told is not None:
            return told, TOLD_LAPS
        loop.began = time.perf_counter()
        return loop.answer()
