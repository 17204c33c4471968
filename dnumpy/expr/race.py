"""Whether NumPy's functions one by one, or an evaluation of ours, are faster for a few lines.

Fusing saves passes over memory, and threads share the work; but recording, cutting and binding take
some 50 us, and over what fits a cache NumPy passes at three times the speed of memory. Which of the
two is faster is measured: what some lines of the program record together is run both ways, and the
slower way is looked at again now and then, ever more rarely. Only operations take part whose bits
are the same either way, so that nothing but time depends on the outcome.

A round of NumPy's ends with the last of the lines. Where that has nothing to do in such a round
(what a mask leaves of a large array is small, and its mean no matter), a round ends where the next
one begins; what the program needs from one beginning to the next is then compared, all of it, since
not all that is done in between is timed.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Protocol

STEADY = 6  # evaluations of the same lines before NumPy is tried
EARLY = 2  # likewise where ours take longer than NumPy's loops usually do, and not long:
USUAL_SECONDS, SHORT = 15e-12, 2e-3  # for a byte that a cheap loop reads or writes; for a round
TRIALS = 4  # rounds of a trial
COLD = 2  # of them, whose results lie in new memory: the system's, then what that was given back
COLD_TRIALS = 2  # that may end there: a program's first memory takes as long as it likes
AGAIN = 6  # evaluations after which a finished period of NumPy's is judged, the first ones cold
TELLING = 2  # of them, after which ours that are hopeless are
FIRST_PERIOD, LAST_PERIOD = 16, 256  # rounds that are NumPy's before ours are looked at again
TOLD_ROUNDS = 16  # of NumPy's, of which what did not run is told together
FIRST_REST, LAST_REST = 64, 1 << 14  # evaluations of ours before NumPy is tried again
AT_FIRST, HOPELESS = 3.0, 1.3  # times the other way: what takes longer ends there and then
NEW_MEMORY = 1e-10  # seconds a byte, until the system has cleared its page
FIRST_MEMORY = 3e-9  # likewise, until a virtual machine has it from its host
BEHIND = 2  # times in a row that NumPy takes three times ours, before the next ones are ours
GAIN = 0.97  # times ours: what NumPy must take to be given the next rounds
LEAST_SECONDS = 4e-12  # that NumPy takes for a byte which it reads or writes, in any cache
MOST_BYTES = 1 << 26  # read and written in a round: beyond, memory counts that two ways hold
MOST_EXPRS = 24
RECORDING = 4e-6  # seconds that recording an operation takes

MOST_KNOWN = 256  # lines that were computed together
MOST_SIZES = 8  # of each: the grids of a solver, one in the other

_known: dict[tuple[Place, ...], list[Race]] = {}
_held = [0]  # calls that are timed as a whole, whose parts are not to be


def is_held() -> bool:
    """Say whether a call is timed as a whole."""
    return _held[0] > 0


class held:  # noqa: N801 - a context, as np.errstate
    """Time nothing of what is evaluated in this block."""

    __slots__ = ()

    def __enter__(self) -> None:
        _held[0] += 1

    def __exit__(self, *_raised: object) -> None:
        _held[0] -= 1


Skipped = Sequence[Callable[[float], None]]


class Place(Protocol):
    """A place of the program, which may be in a race: :class:`dnumpy.expr.origin.Site`."""

    race: Race | None


class Race:
    """What was measured of lines whose results are computed together."""

    __slots__ = (
        "apart", "began", "behind", "best", "broken", "by_numpy", "cold", "due", "goes_on",
        "has_end", "laps", "lasted", "most", "nbytes", "numpys", "opening", "period", "ran_at",
        "recording", "rest", "rounds", "rounds_told", "runs", "sites", "skipped", "spent", "trying",
    )  # fmt: skip

    def __init__(self, sites: tuple[Place, ...], nbytes: int, most: int, *, apart: bool) -> None:
        self.sites = sites
        self.apart = apart  # each place records one large operation at most
        self.nbytes = nbytes  # read and written in a round
        self.most = 2 * most  # by one operation: what is larger is not known
        self.by_numpy = False
        self.trying = False
        self.broken = False  # a round was NumPy's when its rest was left to us
        self.best = self.numpys = math.inf  # seconds of a round: ours, NumPy's
        self.lasted = 0.0  # our latest round
        self.spent = 0.0  # of the round that is running
        self.has_end = False  # whether the last of the lines was seen to have something to do
        self.opening: Place | None = None  # the first of the round that is running, until then
        self.began = 0.0  # when it did
        self.goes_on = False  # whether another place followed
        self.ran_at = 0.0  # when our latest round ended
        self.laps = math.inf, math.inf  # seconds from one round to the next: ours, NumPy's
        self.recording = 0.0  # seconds that recording a round of ours takes; 0 while unknown
        self.skipped: Skipped = ()  # what hears that it was not run
        self.rounds = 0  # left to NumPy
        self.rounds_told = 0  # likewise, when what did not run was told of it last
        self.runs = 0
        self.behind = 0
        self.cold = 0  # trials that ended in their first rounds
        self.due = STEADY
        self.period, self.rest = FIRST_PERIOD, FIRST_REST

    def is_of(self, sites: tuple[Place, ...], nbytes: int) -> bool:
        """Say whether this is the race of these lines, on so many bytes."""
        return self.sites == sites and self.nbytes <= 2 * nbytes and nbytes <= 2 * self.nbytes

    def ran(self, seconds: float, *, cheap: bool = False) -> None:
        """Note an evaluation of ours; ``cheap`` says that NumPy's loops pass at memory's speed."""
        self.runs += 1
        self.broken = False
        self.best = min(self.best, seconds)
        if cheap and self.runs == EARLY and self._is_behind():
            self.due = min(self.due, self.runs)
        self.lasted = seconds
        now = time.perf_counter()
        if self.ran_at:
            self.laps = min(self.laps[0], now - self.ran_at), self.laps[1]
        self.ran_at = now
        if self.numpys < math.inf:
            self._look_again((self.best, self.numpys))
        elif self.laps[1] < math.inf:
            self._look_again(self.laps)
        elif self.runs >= self.due:
            if self.best > LEAST_SECONDS * self.nbytes:
                self.by_numpy = self.trying = True
                self.rounds = self.rounds_told = TRIALS
            else:
                self._rests()

    def goes_on_with(self, sites: tuple[Place, ...], nbytes: int, now: float) -> float | None:
        """Return what recording a round of ours takes, if one that ends now decides nothing.

        None where it may: :func:`evaluated` is to be told of it.
        """
        decides = self.by_numpy or self.broken or self.skipped or self.runs < EARLY
        if decides or self.numpys < math.inf or self.laps[1] < math.inf or not self.recording:
            return None
        if self.runs + 1 >= self.due or not self.is_of(sites, nbytes):
            return None
        if self.ran_at and now - self.ran_at < self.laps[0]:
            self.laps = now - self.ran_at, math.inf
        self.ran_at = now
        self.runs += 1
        return self.recording

    def went_on(self, seconds: float) -> None:
        """Note how long that round took."""
        self.lasted = seconds
        self.best = min(self.best, seconds)

    def _look_again(self, seconds: tuple[float, float]) -> None:
        """Judge a finished period of NumPy's once ours are faster, or are not going to be."""
        ours, numpys = seconds
        looked = self.runs - self.due + AGAIN
        is_behind = looked >= TELLING and HOPELESS * numpys < ours < math.inf
        if self.runs >= self.due or is_behind or ours <= numpys / GAIN:
            self._judge(seconds)

    def _is_behind(self) -> bool:
        """Say whether ours are so slow at first that NumPy is likely to be faster."""
        return USUAL_SECONDS * self.nbytes < self.best < SHORT

    def passed(self, seconds: float, place: Place | None = None, *, ends: bool) -> None:
        """Note what an operation took in a round of NumPy's, where, and whether that ends it."""
        if ends:
            self.has_end = True
        elif place is not None and not self.has_end:
            self._opens(place)
            if not self.by_numpy:
                return
        self.spent += seconds
        if self.trying and self.spent > self._most_tried():
            self._breaks_off()
            self.broken = not ends
        elif ends:
            if self.laps[1] == math.inf:
                self.numpys = min(self.numpys, self.spent)
            self.opening, self.laps = None, (math.inf, math.inf)
            self._ended((self.best, self.numpys))

    def took(self, seconds: float) -> None:
        """Note what NumPy took for what it was given unasked: it would be looked at by itself."""
        self.behind = self.behind + 1 if seconds > AT_FIRST * self.best else 0
        if self.behind >= BEHIND:
            self.behind = 0
            self._rests()

    def _opens(self, place: Place) -> None:
        """Note an operation where rounds have had no end so far: it may be the next one's first."""
        now = time.perf_counter()
        if place is self.opening and self.goes_on:
            self.laps = self.laps[0], min(self.laps[1], now - self.began)
            self._ended(self.laps)
        elif self.opening is not None:
            self.goes_on = self.goes_on or place is not self.opening
            return
        self.opening, self.began, self.goes_on = place, now, False

    def _ended(self, seconds: tuple[float, float]) -> None:
        """Note that a round of NumPy's did, and what has been known so far of rounds of both."""
        self.spent = 0.0
        self.rounds -= 1
        if self.trying or self.rounds <= 0 or self.rounds % TOLD_ROUNDS == 0:
            self._tell_skipped()
        if self.rounds > 0:
            return
        if self.trying:
            self._judge(seconds)
        else:
            self.by_numpy, self.opening, self.ran_at = False, None, 0.0
            self.laps = math.inf, self.laps[1]
            self.best, self.due = math.inf, self.runs + AGAIN

    def _tell_skipped(self) -> None:
        """Tell what was not run how long it would have taken in the rounds since the last time."""
        rounds, self.rounds_told = self.rounds_told - self.rounds, self.rounds
        for missed in self.skipped:
            missed(rounds * self.lasted / len(self.skipped))

    def _most_tried(self) -> float:
        """Return how long a round of a trial may take; the first ones meet new memory."""
        if self.rounds <= TRIALS - COLD:
            return HOPELESS * self.best
        return AT_FIRST * self.best + NEW_MEMORY * self.nbytes

    def missed(self) -> None:
        """Note a round that was to be NumPy's and was ours: something was not at hand."""
        self.spent = 0.0
        self.rounds -= 1
        self.rounds_told -= 1
        if self.rounds <= 0:
            self._rests()

    def _judge(self, seconds: tuple[float, float]) -> None:
        ours, numpys = seconds
        if numpys < GAIN * ours:
            self.by_numpy, self.trying = True, False
            self.opening = None
            self.rounds = self.rounds_told = self.period
            self.period = min(2 * self.period, LAST_PERIOD)
            self.numpys, self.laps = math.inf, (self.laps[0], math.inf)
        else:
            self._rests()

    def _breaks_off(self) -> None:
        """End a trial in which NumPy takes too long; it may be tried soon again."""
        is_cold = self.rounds > TRIALS - COLD and self.cold < COLD_TRIALS
        if is_cold and self.spent <= AT_FIRST * self.best + FIRST_MEMORY * self.nbytes:
            self.cold += 1
            self.over()
        else:
            self._rests()

    def _rests(self) -> None:
        """Leave the next evaluations to us, more of them each time."""
        self.over()
        self.due = self.runs + self.rest
        self.rest = min(4 * self.rest, LAST_REST)
        self.period = FIRST_PERIOD

    def pauses(self) -> None:
        """Note that what its lines record is computed with that of others for now."""
        self.opening = None
        self.spent = self.ran_at = 0.0

    def is_won(self) -> bool:
        """Say whether ours were found to be faster, for the time being."""
        return not self.by_numpy and self.due - self.runs > STEADY

    def over(self) -> None:
        """Leave everything to us: the lines are not used as they were."""
        self.by_numpy = self.trying = False
        self.best = self.numpys = math.inf
        self.laps, self.opening = (math.inf, math.inf), None
        self.spent = self.ran_at = 0.0
        self.due = self.runs + STEADY


def _begun(sites: tuple[Place, ...], nbytes: int, most: int, *, apart: bool) -> Race:
    """Return the race of these lines, whose others are over, or wait where they may be back.

    A loop's first turn is often computed with what comes before the loop.
    """
    if len(_known) >= MOST_KNOWN:
        _known.clear()
    known = _known.setdefault(sites, [])
    race = next((r for r in known if r.is_of(sites, nbytes)), None)
    if race is None:
        race = Race(sites, nbytes, most, apart=apart)
        known[:] = [race, *known[: MOST_SIZES - 1]]
    members = set(sites)
    for site in sites:
        other = site.race
        if other is not None and other is not race:
            if members.issuperset(other.sites):
                other.pauses()
            else:
                other.over()
        site.race = race
    return race


def evaluated(
    sites: tuple[Place, ...],
    nbytes: int,
    most: int,
    seconds: float,
    skipped: Skipped = (),
    *,
    apart: bool = True,
    cheap: bool = False,
    recording: float = 0.0,
) -> None:
    """Note an evaluation here of what these places recorded; the last one was to be looked at.

    Parameters
    ----------
    sites : tuple of Site
        Each place once.
    nbytes, most : int
        Bytes read and written by all operations, and by the largest of them.
    seconds : float
        What recording and evaluating them took.
    skipped : sequence of callable
        What is told, with the seconds that it would have taken, where NumPy runs in its place.
    apart : bool
        Whether each place recorded one large operation at most.
    cheap : bool
        Whether none of them takes more than memory does.
    recording : float
        How many of the seconds recording them took.
    """
    last = sites[-1]
    race = last.race
    if race is None or not race.is_of(sites, nbytes):
        if race is not None and set(sites) < set(race.sites):
            if race.by_numpy:  # what NumPy cannot be given
                race.passed(seconds, ends=last is race.sites[-1])
                return
            if race.broken or race.laps[1] < math.inf:  # the rest of a round that began as NumPy's
                race.broken = False
                return
        race = _begun(sites, nbytes, most, apart=apart)
        if race.by_numpy:  # as it was found to be when these lines were last alone
            return
    race.skipped, race.recording = skipped, recording
    if race.by_numpy:
        race.missed()
    else:
        race.ran(seconds, cheap=cheap)
