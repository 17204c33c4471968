"""Timing: two modules alternately on one program, so that both see the same machine."""

from __future__ import annotations

import gc
import statistics
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from benchmarks.programs import Host, Program

CLEAR_REFS = Path("/proc/self/clear_refs")
STATUS = Path("/proc/self/status")


@dataclass(frozen=True, slots=True)
class Timing:
    """What one module took: seconds of each repeat, and bytes resident at the peak.

    The bytes are those above what was resident when the repeat began; 0 where the system does not
    say.
    """

    seconds: tuple[float, ...]
    peak_bytes: int

    @property
    def best(self) -> float:
        """Seconds of the fastest repeat."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """Seconds of the middle repeat."""
        return statistics.median(self.seconds)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One program under NumPy and under the module; ``speed`` above 1 is faster than NumPy."""

    program: str
    title: str
    numpy: Timing
    module: Timing

    @property
    def speed(self) -> float:
        """Return NumPy's best time over the module's."""
        return self.numpy.best / self.module.best

    @property
    def median_speed(self) -> float:
        """Return NumPy's median time over the module's."""
        return self.numpy.median / self.module.median

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON: seconds, bytes and the ratios."""
        return {**asdict(self), "speed": self.speed, "median_speed": self.median_speed}


def arrays_of(module: ModuleType, host: Host) -> tuple[Any, ...]:
    """Return the host data as arrays of the module, not shared with those of another module."""
    return tuple(module.array(array) for array in host)


def timed(program: Program, module: ModuleType, data: tuple[Any, ...]) -> tuple[float, Any]:
    """Return the seconds of one run and its result."""
    gc.collect()
    start = time.perf_counter()
    result = program.run(module, data)
    return time.perf_counter() - start, result


def reset_peak() -> None:
    """Make the peak of resident memory start from now, where the system can do that."""
    with suppress(OSError):
        CLEAR_REFS.write_text("5", encoding="ascii")


def resident_bytes(field: str) -> int:
    """Return ``VmRSS`` (resident now) or ``VmHWM`` (at the peak); 0 where there is neither."""
    with suppress(OSError):
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith(f"{field}:"):
                return int(line.split()[1]) * 1024
    return 0


def compare(
    program: Program, module: ModuleType, *, repeats: int, warmups: int, scale: float
) -> Comparison:
    """Return the timings of both modules, alternating, after the warm-ups, of which one is checked.

    Raises
    ------
    AssertionError
        The module's result is not NumPy's, within the tolerance of the program.
    """
    host = program.make(scale)
    modules = (numpy, module)
    data = [arrays_of(each, host) for each in modules]
    expected, got = (timed(program, each, own)[1] for each, own in zip(modules, data, strict=True))
    _check(got, expected, program.rtol)
    del expected, got
    for _ in range(warmups - 1):
        timed(program, module, data[1])
    seconds: list[list[float]] = [[], []]
    peaks = [0, 0]
    for _ in range(repeats):
        for index, each in enumerate(modules):
            reset_peak()
            before = resident_bytes("VmRSS")
            seconds[index].append(timed(program, each, data[index])[0])
            peaks[index] = max(peaks[index], resident_bytes("VmHWM") - before)
    ours = [Timing(tuple(s), p) for s, p in zip(seconds, peaks, strict=True)]
    return Comparison(program.name, program.title, *ours)


def _check(got: Any, expected: Any, tolerance: float) -> None:
    """Raise AssertionError unless two results, or all parts of them, agree."""
    if isinstance(expected, tuple):
        for one, other in zip(got, expected, strict=True):
            _check(one, other, tolerance)
        return
    numpy.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def chosen(programs: Sequence[Program], names: str | None) -> list[Program]:
    """Return the programs named in a comma-separated list, all of them without one.

    Raises
    ------
    ValueError
        No program has one of the names.
    """
    if names is None:
        return list(programs)
    by_name = {program.name: program for program in programs}
    unknown = [name for name in names.split(",") if name not in by_name]
    if unknown:
        msg = f"no program {', '.join(unknown)}; there are {', '.join(by_name)}"
        raise ValueError(msg)
    return [by_name[name] for name in names.split(",")]
