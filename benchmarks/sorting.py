"""Sorting beside NumPy: ``python -m benchmarks.sorting [--size N] [--repeats N]``."""

from __future__ import annotations

import argparse
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy
from rich.console import Console
from rich.table import Table

import dnumpy

if TYPE_CHECKING:
    from collections.abc import Callable

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sort": lambda np, a: np.sort(a),
    "argsort": lambda np, a: np.argsort(a),
    "sort of rows": lambda np, a: np.sort(a[: a.size // 1000 * 1000].reshape(-1, 1000), axis=1),
    "median": lambda np, a: np.median(a),
    "quantile": lambda np, a: np.quantile(a, [0.1, 0.5, 0.9]),
    "unique": lambda np, a: np.unique(a),
}


def seconds(call: Callable[[], Any]) -> float:
    """Return how long a call and the look at its result take."""
    started = time.perf_counter()
    numpy.asarray(call())
    return time.perf_counter() - started


def ratio(function: Callable[[Any, Any], Any], values: numpy.ndarray, repeats: int) -> list[float]:
    """Return the median seconds of NumPy and dnumpy, timed alternately."""
    ours = dnumpy.array(values)
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        taken[0].append(seconds(lambda: function(numpy, values)))
        taken[1].append(seconds(lambda: function(dnumpy, ours)))
    return [median(times) for times in taken]


def main() -> None:
    """Print NumPy's and dnumpy's times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10**7)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rng = numpy.random.default_rng(0)
    data = {
        "float64": rng.random(options.size),
        "int64": rng.integers(0, 1 << 60, options.size),
        "int64, 100 values": rng.integers(0, 100, options.size),
    }
    table = Table("function", "dtype", "NumPy", "dnumpy", "speed")
    for kind, values in data.items():
        for name, function in FUNCTIONS.items():
            one, other = ratio(function, values, options.repeats)
            table.add_row(name, kind, f"{one:.3g} s", f"{other:.3g} s", f"{one / other:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
