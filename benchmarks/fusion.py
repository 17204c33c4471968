"""What is computed in one pass over memory: ``python -m benchmarks.fusion``.

For each pattern that users write in several NumPy operations: the stages that the engine makes of
them (one that passes over the arrays is a phase), how often the arrays are passed over, as the time
taken times the measured bandwidth over the bytes of operands and results, the memory that is taken
at most beside these, and NumPy's figures beside ours. Both are run in turn, and the best is kept.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from rich.console import Console
from rich.table import Table

import dnumpy
from benchmarks.machine import STREAM_ELEMENTS, as_installed, machine, stream_rate
from benchmarks.measure import reset_peak, resident_bytes
from dnumpy import engine
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COLUMNS = 400
HIDDEN = 16

Data = dict[str, Any]


def data(elements: int) -> Data:
    """Return the operands: vectors ``a``, ``b``, ``c``, a matrix ``m`` and what is little."""
    rng = numpy.random.default_rng(0)
    rows = max(elements // COLUMNS, 4)
    found: Data = {name: rng.random(rows * COLUMNS) for name in "abc"}
    found |= {"m": rng.random((rows, COLUMNS)), "row": rng.random(COLUMNS), "col": rng.random(rows)}
    found |= {"w": rng.random((COLUMNS, HIDDEN)), "bias": rng.random(HIDDEN)}
    return found | {"labels": rng.integers(0, 50, rows * COLUMNS)}


def _stencil(np: Any, d: Data) -> tuple[Any, ...]:
    m = d["m"] + 0.0
    m[1:-1, 1:-1] = 0.25 * (m[:-2, 1:-1] + m[2:, 1:-1] + m[1:-1, :-2] + m[1:-1, 2:])
    return (m,)


def _mask_write(np: Any, d: Data) -> tuple[Any, ...]:
    a = d["a"] * 2.0
    a[a > 1.0] = 0.0
    return (a,)


def _softmax(np: Any, d: Data) -> tuple[Any, ...]:
    e = np.exp(d["m"] - d["m"].max(axis=1, keepdims=True))
    return (e / e.sum(axis=1, keepdims=True),)


def _outputs(np: Any, d: Data) -> tuple[Any, ...]:
    s = d["a"] + d["b"]
    return s, s * d["c"], s - d["c"]


def _statistics(np: Any, d: Data) -> tuple[Any, ...]:
    a = d["a"]
    return a.sum(), a.min(), a.max(), (a * a).sum(), (a > 0.5).sum()


PATTERNS: dict[str, tuple[Callable[[Any, Data], tuple[Any, ...]], str]] = {
    "chain": (lambda np, d: (d["a"] * d["b"] + d["c"] - d["a"] / 2,), "abc"),
    "chain and sum": (lambda np, d: ((d["a"] * d["b"] + d["c"]).sum(),), "abc"),
    "broadcast": (lambda np, d: ((d["m"] - d["row"]) * d["col"][:, None],), "m"),
    "where and cast": (
        lambda np, d: (np.where(d["a"] > 0.5, d["a"], d["b"]).astype(np.float32),),
        "ab",
    ),
    "comparisons": (lambda np, d: (((d["a"] > 0.2) & (d["b"] < 0.7)).sum(),), "ab"),
    "mask write": (_mask_write, "a"),
    "mask and sum": (lambda np, d: (d["a"][d["b"] > 0.5].sum(),), "ab"),
    "stencil in place": (_stencil, "m"),
    "row normalise": (lambda np, d: (d["m"] / d["m"].sum(axis=1, keepdims=True),), "m"),
    "softmax": (_softmax, "m"),
    "variance of columns": (lambda np, d: (d["m"].var(axis=0),), "m"),
    "standardise": (lambda np, d: ((d["m"] - d["m"].mean(0)) / d["m"].std(0),), "m"),
    "nearest": (lambda np, d: (((d["m"] - d["row"]) ** 2).argmin(axis=1),), "m"),
    "bincount": (lambda np, d: (np.bincount(d["labels"], d["a"]),), ("labels", "a")),
    "several outputs": (_outputs, "abc"),
    "statistics": (_statistics, "a"),
    "product's epilogue": (
        lambda np, d: (np.maximum(d["m"] @ d["w"] + d["bias"], 0.0),),
        ("m", "w"),
    ),
}  # fmt: skip


@dataclass
class Found:
    """One pattern: ``stages`` is 0 where it is computed while it is recorded."""

    name: str
    stages: int
    nbytes: int  # of operands and results
    seconds: float
    numpy_seconds: float
    extra_bytes: int  # at most, beside them
    numpy_extra_bytes: int

    @property
    def ratio(self) -> float:
        """NumPy's time over ours."""
        return self.numpy_seconds / self.seconds

    def passes(self, rate: float, *, of_numpy: bool = False) -> float:
        """Return how often the bytes are passed, at so many bytes a second."""
        return (self.numpy_seconds if of_numpy else self.seconds) * rate / self.nbytes


def pending(results: Sequence[Any]) -> list[Any]:
    """Return the Exprs of results that wait."""
    found = []
    for r in results:
        expr = r.expr if type(r) is DeferredScalar else None
        if type(r) is dnumpy.ndarray and r._np is None:  # noqa: SLF001 - as below
            expr = r._buf.expr  # noqa: SLF001
        if expr is not None and expr.value is None:
            found.append(expr)
    return found


def stages_of(name: str, elements: int) -> int:
    """Return how many stages a pattern is computed in; nothing is computed."""
    given = {key: dnumpy.array(value) for key, value in data(elements).items()}
    results = PATTERNS[name][0](dnumpy, given)
    exprs = pending(results)
    return len(engine.forecast(exprs)) if exprs else 0


def _looked_at(results: Sequence[Any]) -> list[numpy.ndarray]:
    exprs = pending(results)
    if exprs:
        engine.compute(exprs)
    return [numpy.asarray(r) for r in results]


def measured(name: str, elements: int, repeats: int) -> Found:
    """Run a pattern with both libraries in turn.

    Raises
    ------
    AssertionError
        The results differ.
    """
    run, operands = PATTERNS[name]
    theirs = data(elements)
    ours = {key: dnumpy.array(value) for key, value in theirs.items()}
    stages = stages_of(name, elements)
    best, extra, nbytes = [math.inf, math.inf], [0, 0], 0
    for _ in range(repeats + 1):
        kept: list[list[numpy.ndarray]] = []
        for k, (module, given) in enumerate(((dnumpy, ours), (numpy, theirs))):
            gc.collect()
            reset_peak()
            before = resident_bytes("VmRSS")
            started = time.perf_counter()
            found = _looked_at(run(module, given))
            seconds = time.perf_counter() - started
            made = sum(r.nbytes for r in found)
            best[k] = min(best[k], seconds)
            extra[k] = max(0, resident_bytes("VmHWM") - before - made)
            nbytes = made + sum(theirs[key].nbytes for key in operands)
            kept.append(found)
        for mine, expected in zip(*kept, strict=True):
            numpy.testing.assert_allclose(mine, expected, rtol=1e-10, atol=1e-12)
        del found, kept
    return Found(name, stages, nbytes, *best, *extra)


def table(rows: Sequence[Found], rate: float) -> Table:
    """Return what was measured as a table."""
    shown = Table("pattern", "stages", "passes", "NumPy's", "times NumPy", "extra MB", "NumPy's")
    for r in rows:
        shown.add_row(
            r.name,
            str(r.stages or "at once"),
            f"{r.passes(rate):.1f}",
            f"{r.passes(rate, of_numpy=True):.1f}",
            f"{r.ratio:.2f}",
            f"{r.extra_bytes / 1e6:.1f}",
            f"{r.numpy_extra_bytes / 1e6:.1f}",
        )
    return shown


def main(argv: Sequence[str]) -> None:
    """Print what was measured; store it where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fusion", description=__doc__)
    parser.add_argument("--patterns", nargs="*", default=list(PATTERNS), choices=PATTERNS)
    parser.add_argument("--elements", type=int, default=8_000_000, help="of each large operand")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(argv)
    as_installed()
    rate = stream_rate(STREAM_ELEMENTS)
    rows = [measured(name, options.elements, options.repeats) for name in options.patterns]
    Console(width=None if sys.stdout.isatty() else 120, highlight=False).print(table(rows, rate))
    if options.json:
        stored = {"machine": machine(), "rate": rate, "rows": [asdict(r) for r in rows]}
        options.json.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
