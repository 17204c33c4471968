"""Whether sharing a run out among threads pays, by what both ways have been measured to take.

Waking a thread costs 0.1 to 0.2 ms, more while others hold the interpreter, and what fits a cache
of one core may be fastest there: so neither bytes nor a rate tell.
"""

from __future__ import annotations

from dataclasses import dataclass, field

LITTLE = 1e-4  # seconds: what one thread does in less is never shared out
MUCH = 5e-3  # seconds: what several threads take more for is not tried alone
TRIALS = 3  # runs before a measured time is believed
CLEAR = 1.5  # times slower: what one run of each way is believed to show
SOON = 4  # runs until the first look at the slower way, which the next one doubles
RETIMED = 64  # runs between two looks in the long run


@dataclass(slots=True)
class Seconds:
    """The best time of one way, forgotten slowly, so that a busy moment does not decide."""

    value: float | None = None
    count: int = 0

    def observe(self, seconds: float) -> None:
        """Enter one run."""
        self.count += 1
        known = self.value
        self.value = seconds if known is None else min(seconds, 0.9 * known + 0.1 * seconds)


@dataclass(slots=True)
class Sharing:
    """Runs of one phase over the same rows by one lowering: alone and shared out."""

    alone: Seconds = field(default_factory=Seconds)
    shared: Seconds = field(default_factory=Seconds)
    runs: int = 0
    first: Seconds | None = None  # of the two: what ran first
    favours_shared: bool | None = None  # what was found to be faster at the latest run

    def pays(self, *, guess: bool) -> bool:
        """Say whether to share the next run out; ``guess`` is what to try first."""
        alone, shared = self.alone, self.shared
        if alone.value is None and shared.value is None:
            return guess
        if alone.value is not None and alone.value < LITTLE:
            return False
        if shared.value is not None and shared.value > MUCH and not self._is_slower():
            return True
        if alone.value is None or shared.value is None:
            return shared.value is None
        faster = shared.value < alone.value
        if min(alone.count, shared.count) < TRIALS and not self._is_clear():
            return shared.count < alone.count or (shared.count == alone.count and not faster)
        if faster is not self.favours_shared:  # perhaps of a busy moment, in which only one way ran
            self.favours_shared, self.runs = faster, 0
        self.runs += 1
        return faster != self._looks_again()

    def has_chosen(self, *, shared: bool) -> bool:
        """Say whether this is known to be how most runs go."""
        alone = self.alone.value
        if alone is not None and alone < LITTLE:
            return not shared
        return shared is self.favours_shared

    def _is_slower(self) -> bool:
        """Say whether what was shared out is known to take longer."""
        alone, shared = self.alone.value, self.shared.value
        return alone is not None and shared is not None and alone < shared

    def _looks_again(self) -> bool:
        """Say whether to try the slower way now: soon at first, when much else was beginning."""
        early = SOON <= self.runs < RETIMED and not self.runs & (self.runs - 1)
        return early or self.runs % RETIMED == 0

    def _is_clear(self) -> bool:
        """Say whether the slower way is much slower, and not because memory was still cold."""
        assert self.alone.value is not None
        assert self.shared.value is not None
        slower, faster = self.shared, self.alone
        if self.alone.value > self.shared.value:
            slower, faster = faster, slower
        was_cold = slower is self.first and slower.count == 1
        return slower.value > CLEAR * faster.value and not was_cold  # type: ignore[operator]

    def best(self) -> float | None:
        """Return the seconds of the faster way, None before the first run."""
        known = [way.value for way in (self.alone, self.shared) if way.value is not None]
        return min(known, default=None)

    def observe(self, seconds: float, *, shared: bool) -> None:
        """Enter what a run took."""
        way = self.shared if shared else self.alone
        self.first = self.first or way
        way.observe(seconds)
