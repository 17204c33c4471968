"""What the lowerings of one program have been measured to take."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

FORGETTING = 0.1  # the weight of a run that took longer than the best
TRIALS = 4  # runs before a measured time is believed
RETIMED = 64  # runs between two looks at the slower lowering


@dataclass(slots=True)
class Rate:
    """Best seconds per element, forgotten slowly: a busy moment, however long, does not decide."""

    value: float | None = None
    count: int = 0

    def observe(self, seconds: float, elements: float) -> None:
        """Note a run."""
        self.count += 1
        rate = seconds / max(elements, 1)
        if self.value is None or rate <= self.value:
            self.value = rate
        else:
            self.value += FORGETTING * (min(rate, 1.5 * self.value) - self.value)


@dataclass(slots=True)
class Record:
    """One generated program: its state, and both lowerings' rates."""

    source: str
    helpers: tuple[str, ...] = ()
    state: str = "tiled"  # tiled -> compiling -> ready | failed
    tiled_total: float = 0.0
    tiled: Rate = field(default_factory=Rate)
    numba: Rate = field(default_factory=Rate)
    runs: int = 0
    compile_seconds: float | None = None
    from_disk: bool = False
    digest: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def prefers_numba(self) -> bool:
        """Say whether to run compiled now: where it is faster, or to measure it again."""
        tiled, numba = self.tiled.value, self.numba.value
        if numba is None or tiled is None or numba <= tiled or self.numba.count < TRIALS:
            return True
        self.runs += 1
        return self.runs % RETIMED == 0

    def is_compiled(self) -> bool:
        """Say whether compiled is how most runs will go from now on."""
        tiled, numba = self.tiled.value, self.numba.value
        return self.state == "ready" and (tiled is None or numba is None or numba <= tiled)

    def is_settled(self) -> bool:
        """Say whether that is known of several runs."""
        return self.is_compiled() and self.numba.count >= TRIALS
