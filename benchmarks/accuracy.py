"""``config.accuracy = "fast"`` against NumPy, alternately in one run, with the errors it makes.

Run as ``python -m benchmarks.accuracy [--json FILE]``.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.machine import machine
from dnumpy.kernels import fast

if TYPE_CHECKING:
    from collections.abc import Callable

COUNT = 100_000  # elements: they stay in the L2 cache, so that the loops are compared, not memory
REPEATS = 15


def seconds(call: Callable[[], object]) -> float:
    """Return how long one call takes."""
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def measure(name: str) -> dict[str, Any]:
    """Return median seconds of NumPy's and of the fast ufunc, and the largest error in ulp."""
    quick, plain = fast.made(name), getattr(np, name.removeprefix("fast_"))
    rng = np.random.default_rng(1)
    given = [rng.uniform(-1e3, 1e3, COUNT) for _ in range(fast.INPUTS[name])]
    out = np.empty(COUNT)
    pairs = [
        (seconds(lambda: plain(*given, out=out)), seconds(lambda: quick(*given, out=out)))
        for _ in range(REPEATS)
    ]
    numpys, ours = (median(side) for side in zip(*pairs, strict=True))
    exact = plain(*[x.astype(np.longdouble) for x in given])
    error = np.abs(quick(*given) - exact) / np.spacing(np.abs(exact.astype(float)))
    return {
        "elements": COUNT,
        "numpy_seconds": numpys,
        "fast_seconds": ours,
        "ratio": numpys / ours,
        "largest_error_ulp": float(error.max()),
    }


def main() -> None:
    """Print a line for each function; store them where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found = {name: measure(name) for name in fast.INPUTS}
    for name, row in found.items():
        ratio, error = row["ratio"], row["largest_error_ulp"]
        print(  # noqa: T201 - what the command is for
            f"{name:12} {ratio:6.1f} times NumPy's speed, at most {error:.2f} ulp off"
        )
    if arguments.json is not None:
        text = json.dumps({"machine": machine(), "functions": found}, indent=1)
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
