"""What a program takes with NumPy and with dnumpy, by turns, and whether the results agree."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy

import dnumpy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.everyday.programs import Program

LEAST, MOST = 5, 300  # runs of each library
TOLERANCE = 1e-8  # relative, and absolute
BELOW = 0.95  # times NumPy's speed, below which a program is marked


@dataclass(frozen=True, slots=True)
class Standing:
    """What one program takes at one scale, in seconds, in both libraries.

    Attributes
    ----------
    program : str
    scale : float
    numpy_median, numpy_best : float
        Of all runs.
    median, best : float
        dnumpy's, the median of the second half of its runs: when it has compiled what it compiles.
    """

    program: str
    scale: float
    numpy_median: float
    numpy_best: float
    median: float
    best: float

    @property
    def ratio(self) -> float:
        """How many times faster than NumPy, by the medians."""
        return self.numpy_median / self.median

    @property
    def best_ratio(self) -> float:
        """How many times faster than NumPy, by the best runs."""
        return self.numpy_best / self.best

    @property
    def slow(self) -> bool:
        """Whether it is below the limit by the medians and by the best runs."""
        return max(self.ratio, self.best_ratio) < BELOW


def parts(result: Any) -> list[numpy.ndarray]:
    """Return a result, computed, as arrays: its parts where it is a tuple, and theirs."""
    if isinstance(result, tuple):
        return [array for part in result for array in parts(part)]
    return [numpy.asarray(result)]


def agree(got: Sequence[numpy.ndarray], expected: Sequence[numpy.ndarray]) -> None:
    """Raise AssertionError unless dtypes and shapes are equal, and values within the tolerance."""
    assert len(got) == len(expected), f"{len(got)} results instead of {len(expected)}"
    for one, other in zip(got, expected, strict=True):
        assert one.dtype == other.dtype, f"{one.dtype} instead of {other.dtype}"
        assert one.shape == other.shape, f"shape {one.shape} instead of {other.shape}"
        if one.dtype.kind in "fc":
            numpy.testing.assert_allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE)
        else:
            numpy.testing.assert_array_equal(one, other)


def seconds_of(program: Program, module: Any, scale: float) -> float:
    """Return what one run takes, its result computed but not given back."""
    started = time.perf_counter()
    result = program(module, scale)
    kept = parts(result)
    seconds = time.perf_counter() - started
    del result, kept
    return seconds


def standing(program: Program, scale: float, seconds: float) -> Standing:
    """Return what a program takes when both libraries run it by turns for so many seconds.

    Raises
    ------
    AssertionError
        The result of dnumpy's first run, or of one after all others, is not NumPy's.
    """
    expected = parts(program(numpy, scale))
    agree(parts(program(dnumpy, scale)), expected)
    theirs: list[float] = []
    ours: list[float] = []
    began = time.perf_counter()
    while len(ours) < LEAST or (len(ours) < MOST and time.perf_counter() - began < seconds):
        theirs.append(seconds_of(program, numpy, scale))
        ours.append(seconds_of(program, dnumpy, scale))
    agree(parts(program(dnumpy, scale)), expected)
    return Standing(
        program.__name__,
        scale,
        statistics.median(theirs),
        min(theirs),
        statistics.median(ours[len(ours) // 2 :]),
        min(ours),
    )


def summary(found: Sequence[Standing]) -> str:
    """Return the geometric mean of the ratios, and how many are below the limit."""
    mean = math.exp(statistics.fmean(math.log(s.ratio) for s in found))
    slow = sum(s.slow for s in found)
    return f"{len(found)} measured: geometric mean {mean:.2f}, {slow} below {BELOW}"
