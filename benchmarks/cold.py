"""The first call in a fresh process, with an empty cache directory and with what it left there."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.measure import arrays_of, chosen, timed
from benchmarks.programs import PROGRAMS

if TYPE_CHECKING:
    from benchmarks.programs import Program


@dataclass(frozen=True, slots=True)
class FirstCall:
    """Seconds to import the module, and of the first and the second call in that process."""

    import_seconds: float
    first: float
    second: float


@dataclass(frozen=True, slots=True)
class ColdComparison:
    """One program in three fresh processes."""

    program: str
    title: str
    numpy: FirstCall
    empty_cache: FirstCall
    kept_cache: FirstCall

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self)


def compare_cold(program: Program, module: str, scale: float) -> ColdComparison:
    """Return first calls under NumPy and, twice in one new cache directory, under the module."""
    with tempfile.TemporaryDirectory() as cache:
        calls = [first_call(program, name, scale, cache) for name in ("numpy", module, module)]
    return ColdComparison(program.name, program.title, *calls)


def first_call(program: Program, module: str, scale: float, cache: str) -> FirstCall:
    """Return what a child process measured; its user cache directory lies under ``cache``."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.cold", program.name, module, str(scale)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "XDG_CACHE_HOME": cache},
    )
    return FirstCall(**json.loads(done.stdout.splitlines()[-1]))


def measure_here(name: str, module_name: str, scale: float) -> FirstCall:
    """Return the first calls in this process, which must not have imported the module."""
    start = time.perf_counter()
    module = importlib.import_module(module_name)
    import_seconds = time.perf_counter() - start
    (program,) = chosen(PROGRAMS, name)
    data = arrays_of(module, program.make(scale))
    first, second = (timed(program, module, data)[0] for _ in range(2))
    return FirstCall(import_seconds, first, second)


if __name__ == "__main__":
    print(json.dumps(asdict(measure_here(sys.argv[1], sys.argv[2], float(sys.argv[3])))))  # noqa: T201 - the answer to the parent
