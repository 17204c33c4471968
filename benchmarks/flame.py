"""Where the time of a piece of Python goes: stacks sampled by a timer, drawn as a tree of frames.

The timer's signal is handled between two bytecodes, at the next call, return from C or turn of a
loop: a sample names the frame that ran, and its line to about one call. Nothing is slowed down
between samples, unlike under a profiler that is told of every call.
"""

from __future__ import annotations

import signal
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import FrameType

ROOT = Path(__file__).resolve().parent.parent
EVERY_SECONDS = 5e-4  # of this process's own time
LEAST_SHARE = 0.01  # of all samples: what is rarer is not drawn

Stack = tuple[str, ...]  # from the outermost frame


@dataclass(slots=True)
class Flame:
    """A frame, how many samples fell into it or what it called, and those that it called."""

    name: str
    samples: int = 0
    callees: dict[str, Flame] = field(default_factory=dict)

    def add(self, stack: Stack, samples: int) -> None:
        """Count samples of a stack below this frame."""
        self.samples += samples
        if stack:
            callee = self.callees.setdefault(stack[0], Flame(stack[0]))
            callee.add(stack[1:], samples)

    @property
    def own(self) -> int:
        """Samples in the frame itself, and in the C functions that it called."""
        return self.samples - sum(callee.samples for callee in self.callees.values())

    def drawn(self, whole: int) -> list[Flame]:
        """Return what it calls that is not too rare to be drawn, most samples first."""
        found = [f for f in self.callees.values() if f.samples >= LEAST_SHARE * whole]
        return sorted(found, key=lambda f: -f.samples)

    def as_dict(self, whole: int | None = None) -> dict[str, Any]:
        """Return what is drawn as plain data for JSON."""
        whole = whole or max(self.samples, 1)
        calls = [callee.as_dict(whole) for callee in self.drawn(whole)]
        return {"frame": self.name, "samples": self.samples, "own": self.own, "calls": calls}

    def lines(self, whole: int | None = None, depth: int = 0) -> Iterator[str]:
        """Yield the tree as text: the share of all samples, of those in the frame itself, names."""
        whole = whole or max(self.samples, 1)
        yield f"{self.samples / whole:6.1%} {self.own / whole:6.1%}  {'| ' * depth}{self.name}"
        for callee in self.drawn(whole):
            yield from callee.lines(whole, depth + 1)


def sampled(name: str, run: Callable[[], object], seconds: float) -> Flame:
    """Return the tree of what ``run``, called again and again, spends its time in.

    Only the main thread is sampled, which must be the one that calls this.
    """
    stacks: Counter[Stack] = Counter()
    top = sampled.__code__

    def note(_signal: int, frame: FrameType | None) -> None:
        names: list[str] = []
        while frame is not None and frame.f_code is not top:
            names.append(frame_name(frame))
            frame = frame.f_back
        if frame is not None:
            stacks[tuple(reversed(names))] += 1

    before = signal.signal(signal.SIGPROF, note)
    signal.setitimer(signal.ITIMER_PROF, EVERY_SECONDS, EVERY_SECONDS)
    until = time.perf_counter() + seconds
    try:
        while time.perf_counter() < until:
            run()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        # One may have been sent to another thread that has not run since: ignoring drops it, where
        # the default, restored at once, would end the process.
        signal.signal(signal.SIGPROF, signal.SIG_IGN)
        signal.signal(signal.SIGPROF, before)
    return flame_of(name, stacks)


def flame_of(name: str, stacks: Counter[Stack]) -> Flame:
    """Return the tree of sampled stacks."""
    flame = Flame(name)
    for stack, samples in stacks.items():
        flame.add(stack, samples)
    return flame


def frame_name(frame: FrameType) -> str:
    """Return function, file below this repository, and line of a frame."""
    code = frame.f_code
    path = Path(code.co_filename)
    short = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
    return f"{code.co_qualname.rpartition('<locals>.')[2]} ({short}:{frame.f_lineno})"
