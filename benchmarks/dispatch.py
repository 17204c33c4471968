"""What an operation costs before any element is computed: ``python -m benchmarks.dispatch``.

Four costs: of an operation on a small array, as ratios to NumPy's time, both measured in turn and
the best of many kept; of recording an operation on large arrays; of evaluating a loop body that was
met before, up to where its kernel starts and after it; of ``import dnumpy`` in a fresh process.
``--profile`` adds where the time of the first three goes, as trees of frames
(:mod:`benchmarks.flame`).
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import count
from pathlib import Path
from timeit import Timer
from typing import TYPE_CHECKING, Any

import numpy
from rich.console import Console
from rich.table import Table

import dnumpy
from benchmarks.flame import Flame, sampled
from benchmarks.machine import as_installed, machine
from dnumpy import engine, native
from dnumpy.api.quick import bind_laps
from dnumpy.config import config
from dnumpy.expr import race
from dnumpy.kernels.compile import Compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

SETUP = """
a, b, c = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), np.array([1.0, 2.0, 3.0])
A, B = np.arange(1000.0), np.arange(1000.0)
M, mask = np.eye(3), a > 1.5
n = numpy.array([1.0, 2.0, 3.0])
"""
AIMED = {  # what the aim of a geometric mean of 2.0, and none above 3.5, is over
    "add, 3": "a + b", "add, 1,000": "A + B", "in-place add": "global c; c += b", "slice": "a[1:]",
    "item get": "a[1]", "item set": "a[1] = 2.0", "sum": "a.sum()", "sin": "np.sin(a)",
    "dot": "np.dot(a, b)", "zeros(3)": "np.zeros(3)", "array of a list": "np.array([1, 2, 3])",
    "matrix times vector": "M @ a", "transpose": "M.T", "mask read": "a[mask]",
    "if a[0] > 0": "if a[0] > 0: pass",
}  # fmt: skip
OTHERS = {
    "times a scalar": "a * 2.0", "comparison": "a > b", "negative": "-a", "np.sum": "np.sum(a)",
    "max": "a.max()", "mean": "a.mean()", "reshape": "M.reshape(9)", "shape": "a.shape",
    "len": "len(a)", "float of an item": "float(a[0])", "iteration": "for x in a: pass",
    "where": "np.where(mask, a, b)", "arange(3)": "np.arange(3)",
    "concatenate": "np.concatenate((a, b))", "astype": "a.astype(int)", "copy": "a.copy()",
    "asarray": "np.asarray(a)", "norm": "np.linalg.norm(a)", "out=": "np.add(a, b, out=c)",
    "where=": "np.add(a, b, where=mask, out=c)", "modf": "np.modf(a)",
    "of NumPy's, sum": "np.sum(n)", "of NumPy's, concatenate": "np.concatenate((n, n))",
    "of NumPy's, asarray": "np.asarray(n)", "of NumPy's, where": "np.where(mask, n, a)",
    "of NumPy's, times ours": "n * a",
}  # fmt: skip
OPERATIONS = AIMED | OTHERS
LARGE = 300_000  # elements: above where arrays run at once, below where threads pay
SIZES = (20_000, LARGE)  # which leave Python's code in the caches, and push it out of them
COMPILE_SECONDS = 30.0  # that a kernel may take
CHAIN = 200  # operations that are recorded before they are dropped
BODIES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "2 operations": lambda a, b, c: a * b + c,
    "10 operations": lambda a, b, c: ((a * b + c) * a - b) * 2.0 + c * c - a * 0.5 + b,
}
WARMUPS = 5
_IMPORT = """
import time
import numpy
started = time.perf_counter()
import dnumpy
print(time.perf_counter() - started)
"""


@dataclass(frozen=True, slots=True)
class Ratio:
    """What one operation on small arrays takes."""

    numpy_seconds: float
    dnumpy_seconds: float

    @property
    def ratio(self) -> float:
        """Times NumPy's time."""
        return self.dnumpy_seconds / self.numpy_seconds


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What an evaluation takes before its kernel starts, and after it."""

    before_seconds: float
    after_seconds: float


@dataclass(frozen=True, slots=True)
class Costs:
    """All that was measured."""

    ratios: dict[str, Ratio]
    recording_seconds: float
    evaluations: dict[str, Evaluation]
    import_seconds: float

    @property
    def aimed(self) -> list[float]:
        """The ratios that the aim is over."""
        return [r.ratio for name, r in self.ratios.items() if name in AIMED]

    def as_dict(self) -> dict[str, Any]:
        """Return plain data for JSON, what is derived included."""
        ratios = {name: {**asdict(r), "ratio": r.ratio} for name, r in self.ratios.items()}
        aimed = {"geometric_mean": mean_of(self.aimed), "worst": max(self.aimed, default=math.nan)}
        return {**asdict(self), "ratios": ratios, "aimed": aimed}


def mean_of(ratios: Sequence[float]) -> float:
    """Return the geometric mean; NaN of nothing."""
    return math.exp(math.fsum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan


def ratio_of(statement: str, count: int, rounds: int) -> Ratio:
    """Return the best of many timings of a statement, NumPy's and ours in turn."""
    timers = []
    for module in (numpy, dnumpy):
        names: dict[str, Any] = {"np": module, "numpy": numpy}
        exec(SETUP, names)  # noqa: S102 - text of our own
        timers.append(Timer(statement, globals=names))
    best = [math.inf, math.inf]
    for _ in range(rounds):
        for k, timer in enumerate(timers):
            best[k] = min(best[k], timer.timeit(count) / count)
    return Ratio(*best)


def large_arrays(size: int = LARGE) -> list[Any]:
    """Return three arrays of ours that are computed when looked at."""
    rng = numpy.random.default_rng(0)
    return [dnumpy.array(rng.random(size)) for _ in range(3)]


def recording(arrays: Sequence[Any]) -> float:
    """Return the seconds that one operation takes to be recorded; what was recorded is dropped.

    The line has been met before, as that of a loop has: what it records is known to wait.
    """
    seconds = math.nan
    with race.held():  # a line that wants each result would be NumPy's after a while
        for count in (2, 2, CHAIN):
            x, y, _ = arrays
            started = time.perf_counter()
            for _ in range(count):
                x = x + y
            seconds = time.perf_counter() - started
            if count < CHAIN:
                engine.compute([x._buf.expr])  # noqa: SLF001 - as below
    engine.window.drain()
    return seconds / CHAIN


def evaluate(body: Callable[[Any, Any, Any], Any], arrays: Sequence[Any]) -> tuple[float, float]:
    """Evaluate a body; return when that began and ended."""
    made = body(*arrays)
    started = time.perf_counter()
    if made._np is None:  # noqa: SLF001 - a line that is met for the first time does not wait
        engine.compute([made._buf.expr])  # noqa: SLF001 - no copy, no look at the result
    return started, time.perf_counter()


def evaluation(
    body: Callable[[Any, Any, Any], Any], arrays: Sequence[Any], rounds: int
) -> Evaluation:
    """Return what an evaluation takes around its kernel, at best, where it runs compiled."""
    before = after = math.inf
    began = time.perf_counter()
    for k in count():
        evaluate(body, arrays)
        is_compiled = bool(engine.history) and engine.history[-1].lowering == "numba"
        if (k >= WARMUPS and is_compiled) or time.perf_counter() - began > COMPILE_SECONDS:
            break
        if k == WARMUPS:
            engine.compile_since(began)
    with noted_kernels() as times:
        for _ in range(rounds):
            times.clear()
            started, ended = evaluate(body, arrays)
            if times:
                before = min(before, times[0] - started)
                after = min(after, ended - times[-1])
    return Evaluation(before, after)


@contextmanager
def waiting() -> Iterator[None]:
    """Let all arrays wait that may, whatever NumPy takes."""
    kept, config.middling = config.middling, "wait"
    bind_laps()  # a loop that runs would ask for the setting some laps later
    try:
        with race.held():
            yield
    finally:
        config.middling = kept
        bind_laps()


@contextmanager
def noted_kernels() -> Iterator[list[float]]:
    """Note when each run of machine code begins, and then when it ends."""
    times: list[float] = []
    call = Compiled.__call__

    def noted(self: Compiled, *args: int) -> None:
        times.append(time.perf_counter())
        call(self, *args)
        times.append(time.perf_counter())

    Compiled.__call__ = noted  # type: ignore[method-assign, assignment]
    if native.built:
        native.note_runs(times, time.perf_counter)
    try:
        yield times
    finally:
        Compiled.__call__ = call  # type: ignore[method-assign]
        if native.built:
            native.note_runs(None, None)


@contextmanager
def one_compiled_thread() -> Iterator[None]:
    """Let every evaluation run compiled kernels, on this thread."""
    before = config.kernels, config.threads
    config.kernels, config.threads = "numba", 1
    try:
        yield
    finally:
        config.kernels, config.threads = before


def import_seconds(rounds: int) -> float:
    """Return the least that ``import dnumpy`` took in fresh processes that had NumPy."""
    as_installed()
    command = [sys.executable, "-c", _IMPORT]
    root = Path(__file__).resolve().parent.parent
    found = []
    for _ in range(rounds):
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=root)
        found.append(float(done.stdout))
    return min(found)


def measured(names: Sequence[str], count: int, rounds: int) -> Costs:
    """Return all costs; ``count`` statements are timed at a time, ``rounds`` times."""
    ratios = {name: ratio_of(OPERATIONS[name], count, rounds) for name in names}
    arrays = large_arrays()
    recorded = min(recording(arrays) for _ in range(rounds))
    evaluations = {}
    with waiting():
        for name, body in BODIES.items():
            for size in SIZES:
                found = evaluation(body, large_arrays(size), 4 * rounds)
                evaluations[f"{name} on {size:,} elements"] = found
    return Costs(ratios, recorded, evaluations, import_seconds(min(rounds, 5)))


def profiles(seconds: float) -> list[Flame]:
    """Return where the time of each path goes."""
    small = dnumpy.array([1.0, 2.0, 3.0])
    arrays = large_arrays()
    body = BODIES["2 operations"]

    def adding() -> None:
        for _ in range(1000):
            small + small

    found = [sampled("a + b of 3 elements", adding, seconds)]
    found.append(sampled("recording x + y", lambda: recording(arrays), seconds))
    with one_compiled_thread():
        evaluate(body, arrays)
        flame = sampled("evaluating a * b + c", lambda: evaluate(body, arrays), seconds)
    return [*found, flame]


def tables(costs: Costs) -> list[Table]:
    """Return what was measured as tables."""
    first = Table("operation", "NumPy, ns", "dnumpy, ns", "ratio")
    for name, r in costs.ratios.items():
        times = (f"{1e9 * s:.0f}" for s in (r.numpy_seconds, r.dnumpy_seconds))
        first.add_row(name, *times, f"{r.ratio:.2f}")
    second = Table("cost", "measured", "aim")
    second.add_row("ratio, geometric mean", f"{mean_of(costs.aimed):.2f}", "2.0")
    second.add_row("ratio, worst", f"{max(costs.aimed, default=math.nan):.2f}", "3.5")
    second.add_row("recording an operation", f"{1e6 * costs.recording_seconds:.1f} us", "3 us")
    for name, e in costs.evaluations.items():
        aim = 30 + 2 * int(name.split()[0])
        second.add_row(f"{name}, until the kernel", f"{1e6 * e.before_seconds:.0f} us", f"{aim} us")
        second.add_row(f"{name}, after it", f"{1e6 * e.after_seconds:.0f} us", "")
    second.add_row("import dnumpy", f"{costs.import_seconds:.2f} s", "0.35 s")
    return [first, second]


def main(argv: Sequence[str]) -> None:
    """Print what was measured; store it where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dispatch", description=__doc__)
    parser.add_argument("--operations", nargs="*", default=list(OPERATIONS), choices=OPERATIONS)
    parser.add_argument("--count", type=int, default=2000, help="statements timed at a time")
    parser.add_argument("--rounds", type=int, default=60, help="times that each is timed")
    parser.add_argument("--profile", action="store_true", help="also show where the time goes")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each profile")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(argv)
    console = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    costs = measured(options.operations, options.count, options.rounds)
    for table in tables(costs):
        console.print(table)
    flames = profiles(options.seconds) if options.profile else []
    for flame in flames:
        console.print("\n".join(flame.lines()), "", sep="\n", markup=False, soft_wrap=True)
    if options.json:
        stored = {"machine": machine(), **costs.as_dict()}
        stored["profiles"] = [flame.as_dict() for flame in flames]
        options.json.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
