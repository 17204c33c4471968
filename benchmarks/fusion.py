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
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy
from rich.console import Console
from rich.table import Table

import dnumpy
from benchmarks.machine import STREAM_ELEMENTS, as_installed, machine, stream_rate
from benchmarks.measure import reset_peak, resident_bytes
from dnumpy import engine
from dnumpy.api.array import ndarray as Array  # noqa: N812 - ours, and no ndarray of NumPy's
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

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


# what is written, and the large operands; the last line gives the results
PATTERNS = {
    "chain": ("a * b + c - a / 2", "a b c"),
    "chain and sum": ("(a * b + c).sum()", "a b c"),
    "broadcast": ("(m - row) * col[:, None]", "m"),
    "where and cast": ("np.where(a > 0.5, a, b).astype(np.float32)", "a b"),
    "comparisons": ("((a > 0.2) & (b < 0.7)).sum()", "a b"),
    "mask write": ("u = a * 2.0; u[u > 1.0] = 0.0; u", "a"),
    "mask and sum": ("a[b > 0.5].sum()", "a b"),
    "stencil in place": (
        "u = m + 0.0; u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2]); u",
        "m",
    ),
    "row normalise": ("m / m.sum(axis=1, keepdims=True)", "m"),
    "softmax": (
        "e = np.exp(m - m.max(axis=1, keepdims=True)); e / e.sum(axis=1, keepdims=True)",
        "m",
    ),
    "variance of columns": ("m.var(axis=0)", "m"),
    "standardise": ("(m - m.mean(0)) / m.std(0)", "m"),
    "nearest": ("((m - row) ** 2).argmin(axis=1)", "m"),
    "bincount": ("np.bincount(labels, a)", "labels a"),
    "several outputs": ("s = a + b; s, s * c, s - c", "a b c"),
    "statistics": ("a.sum(), a.min(), a.max(), (a * a).sum(), (a > 0.5).sum()", "a"),
    "product's epilogue": ("np.maximum(m @ w + bias, 0.0)", "m w"),
}


@cache
def code_of(name: str) -> CodeType:
    """Return a pattern compiled, once: its lines are then places that a loop comes back to."""
    *lines, last = PATTERNS[name][0].split(";")
    text = "\n".join([*(line.strip() for line in lines), f"found = {last.strip()}"])
    return compile(text, f"<{name}>", "exec")


def run(name: str, module: Any, given: Data) -> tuple[Any, ...]:
    """Run a pattern with a library and return its results."""
    names = {"np": module, **given}
    exec(code_of(name), names)  # noqa: S102 - text of our own
    found = names["found"]
    return found if type(found) is tuple else (found,)


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
        if type(r) is Array and r._np is None:  # noqa: SLF001 - as below
            expr = r._buf.expr  # noqa: SLF001
        if expr is not None and expr.value is None:
            found.append(expr)
    return found


def stages_of(name: str, elements: int) -> int:
    """Return how many stages a pattern is computed in; nothing is computed."""
    given = {key: dnumpy.array(value) for key, value in data(elements).items()}
    exprs = pending(run(name, dnumpy, given))
    return len(engine.foretold(exprs)[0]) if exprs else 0


def _looked_at(results: Sequence[Any]) -> list[numpy.ndarray]:
    exprs = pending(results)
    if exprs:
        engine.compute(exprs)
    del exprs  # memory that an Expr shows is copied before it is handed out
    return [numpy.asarray(r) for r in results]


def measured(name: str, elements: int, repeats: int) -> Found:
    """Run a pattern with both libraries in turn.

    Raises
    ------
    AssertionError
        The results differ.
    """
    operands = PATTERNS[name][1].split()
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
            found = _looked_at(run(name, module, given))
            seconds = time.perf_counter() - started
            made = sum(r.nbytes for r in found)
            best[k] = min(best[k], seconds)
            extra[k] = max(0, resident_bytes("VmHWM") - before - made)
            nbytes = made + sum(theirs[key].nbytes for key in operands)
            kept.append(found)
        for mine, expected in zip(*kept, strict=True):
            numpy.testing.assert_allclose(mine, expected, rtol=1e-10, atol=1e-12)
        del found, kept, mine, expected
    return Found(name, stages, nbytes, best[0], best[1], extra[0], extra[1])


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
