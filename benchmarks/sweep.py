"""Every kind of statement at every size against NumPy: ``python -m benchmarks.sweep``.

No program is measured here but single statements, each looked at at once, which is the worst that
a lazy library can be asked: nothing to fuse, nothing to leave out. What falls below NumPy shows
where work is begun that a statement of that size does not pay for. Both libraries run in processes
of their own, by turns. Runs of one statement after the other find both libraries' code in the
processor's caches; ``--between`` has so many bytes read before each, as a program that does other
things with large arrays would.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
import time
import warnings
from dataclasses import asdict, dataclass
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy
from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
WARMUPS = 12  # at most
WARMING = 0.5  # seconds after which a slow statement is warm enough
SECONDS = 0.12  # of each turn of a statement, unless told otherwise
LEAST, MOST = 3, 300  # runs of each turn
SETUP = """
import numpy
rng = numpy.random.default_rng(0)
n, edge = SIZE, max(2, round(SIZE**0.5))
x, y, out = (np.array(rng.random(n)) for _ in range(3))
f, g = (np.array(rng.random(n, dtype="f4")) for _ in range(2))
i, j = (np.array(rng.integers(0, 1000, n)) for _ in range(2))
u = np.array(rng.integers(0, 256, n, dtype="u1"))
s = np.array(rng.integers(-9, 9, n, dtype="i4"))
b, d = (np.array(rng.random(n) > 0.5) for _ in range(2))
z = np.array(rng.random(n) + 1j * rng.random(n))
t = np.array(rng.random((n // 100, 100)))
v = np.array(rng.random((n // 3, 3)))
w = np.array(rng.random((100, n // 100)))
m, o = (np.array(rng.random((edge, edge))) for _ in range(2))
row, line = np.array(rng.random(100)), np.array(rng.random(edge))
picks = np.array(rng.integers(0, n, n // 4))
ordered = np.array(numpy.sort(rng.random(n)))
holes = np.array(numpy.where(rng.random(n) < 0.01, numpy.nan, rng.random(n)))
days = np.array(rng.integers(0, 9999, n)).astype("M8[D]")
small = np.array(rng.random((min(edge, 150), min(edge, 150))) + 9 * numpy.eye(min(edge, 150)))
draw = np.random.default_rng(1)
"""
STATEMENTS = tuple(
    line.strip()
    for line in """
    x + y | x - y | x * y | x / y | x + 1.5 | 2.0 * x | 1.0 / x | -x | abs(x) | x ** 2 | x ** 3
    x ** 0.5 | x ** y | x // 0.1 | x % 0.1 | f + g | f * 2.0 | i + j | i * 2 | i // 7 | i % 7
    i << 2 | i & 255 | u + u | u.astype(float) | s * s | z * z | abs(z) | z.real + z.imag
    x > 0.5 | x == y | (x > 0.2) & (x < 0.7) | ~b | b & d | b ^ d | i == 3 | x != x | x * y + 1.0
    (x - y) ** 2 | np.sqrt(x * x + y * y) | (x - x.mean()) / x.std() | x += 1.5 | x *= 1.0000001
    f *= 1.0000001 | i += 1 | out[:] = x | out[:] = 0.0 | out[1:] = x[:-1] | out[::2] = 1.0
    out[b] = 0.0 | out[picks] = 1.0 | t[:, 0] = 1.0 | t += row | np.add(x, y, out=out)
    np.multiply(x, y, out) | out.fill(2.0) | np.copyto(out, x) | out[:] = x + y | out[b] = x[b]
    x.copy() | x[::2].copy() | x[::-1].copy() | t.T.copy() | m.T.copy() | x.astype("f4")
    f.astype(float) | i.astype(float) | x.astype(int) | b.astype(int) | x.tolist() | x.tobytes()
    x.reshape(-1, 10) + 1.0 | x.sum() | x.mean() | x.std() | x.var() | x.max() | x.min()
    x.prod() | x.argmax() | x.argmin() | b.sum() | b.any() | b.all() | b.mean() | i.sum()
    i.max() | f.sum() | f.mean() | z.sum() | u.sum() | u.mean() | np.ptp(x) | (x > 0.5).sum()
    (x > 2).any() | x[x > 0.5].sum() | x[b].mean() | np.count_nonzero(b)
    np.count_nonzero(x > 0.5) | np.average(x, weights=y) | x @ y | np.dot(x, y)
    np.linalg.norm(x) | np.linalg.norm(v, axis=1) | np.abs(x - y).max() | np.allclose(x, x)
    np.array_equal(x, x) | np.nansum(holes) | np.nanmean(holes) | np.isnan(holes).any()
    np.nanmax(holes) | t.sum(0) | t.sum(1) | t.mean(0) | t.mean(1) | t.max(0) | t.max(1)
    t.std(0) | t.std(1) | t.argmax(1) | t.argmax(0) | w.sum(0) | w.sum(1) | v.sum(1) | v.sum(0)
    w.max(0) | w.mean(0) | w.std(0) | w.argmax(0) | (w * 2.0).sum(0) | (w > 0.5).sum(0)
    v.mean(1) | v.max(1) | v.argmin(1) | m.sum() | m.sum(0) | m.sum(1) | m.T.sum(0) | t.any(1)
    t.cumsum(0) | t.cumsum(1) | t.prod(1) | t - t.mean(1, keepdims=True) | t - t.mean(0)
    t / t.sum(1, keepdims=True) | t + row | t * row[None, :] | t[:, 3] * 2.0 | t[:, ::2].sum(1)
    t.T @ t | t @ row | m @ line | m @ o | m + m.T | np.outer(row, line) | x[picks]
    np.take(x, picks) | t[:, [1, 5, 7]] | t[::3] + 1.0 | x[b] | x[x > 0.5] | v[v[:, 0] > 0.5]
    i[picks] + 1 | np.nonzero(b) | np.where(b) | np.flatnonzero(b) | np.where(b, x, y)
    np.where(x > 0.5, x, 0.0) | np.where(x > 0.5, x * 2, y - 1)
    np.select([x < 0.3, x < 0.6], [x, y], 0.0) | np.clip(x, 0.2, 0.8) | np.minimum(x, y)
    np.maximum(x, 0.0) | np.sign(x) | np.floor(x) | np.round(x, 2) | np.rint(x) | np.isfinite(x)
    np.isnan(holes) | np.nan_to_num(holes) | np.sqrt(x) | np.exp(x) | np.log(x) | np.sin(x)
    np.tanh(x) | np.exp(f) | np.sin(f) | np.sqrt(f) | np.arctan2(x, y) | np.hypot(x, y)
    np.exp(-x * x) | np.log1p(x) | np.power(x, 1.5) | np.exp(z) | np.angle(z) | np.conj(z)
    np.deg2rad(x) | np.cumsum(x) | np.cumprod(x) | np.cumsum(i) | np.diff(x) | np.diff(t, axis=0)
    np.gradient(x) | np.gradient(m) | np.trapezoid(x, y) | np.convolve(x, [1, 2, 1])
    np.correlate(x, [1.0, 2.0, 1.0]) | np.interp(x, [0, 0.5, 1], [0, 1, 0])
    np.interp(x, ordered[:1000], row.repeat(10)) | np.roll(x, 3) | np.roll(m, 1, axis=0)
    np.roll(m, 1, axis=1) | np.flip(x) | np.flipud(m) | np.fliplr(m) | np.rot90(m)
    np.concatenate((x, y)) | np.stack((x, y)) | np.stack((x, y), axis=1) | np.column_stack((x, y))
    np.vstack((t, t)) | np.hstack((t, t)) | np.tile(x, 2) | np.repeat(x, 2) | np.pad(x, 1)
    np.pad(m, 1) | np.pad(m, 1, mode="edge") | np.append(x, 1.0) | np.insert(x, 1, 2.0)
    np.delete(x, 3) | np.split(x, 4) | np.resize(x, n + 5) | np.sort(x) | np.sort(i)
    np.sort(t, axis=1) | np.sort(t, axis=0) | np.argsort(x) | np.argsort(i, kind="stable")
    np.partition(x, 10) | np.unique(i) | np.unique(i, return_counts=True) | np.unique(x)
    np.lexsort((x, i)) | np.searchsorted(ordered, x[: n // 10]) | np.searchsorted(row.cumsum(), x)
    np.digitize(x, [0.2, 0.5, 0.8]) | np.isin(i, [1, 2, 3, 50])
    np.in1d(i, j) if hasattr(np, "in1d") else np.isin(i, j) | np.intersect1d(i, j)
    np.union1d(i, j) | np.bincount(i) | np.bincount(i, x) | np.histogram(x, 50)
    np.histogram(x, row.cumsum()) | np.histogram2d(x, y, 20) | np.median(x) | np.percentile(x, 90)
    np.quantile(x, [0.1, 0.5, 0.9]) | np.median(t, axis=1) | np.median(t, axis=0)
    np.percentile(t, 50, axis=0) | np.cov(w[:10]) | np.corrcoef(w[:10])
    np.add.at(out, picks, 1.0) | np.add.reduceat(x, ordered[:50].argsort().cumsum())
    np.maximum.accumulate(x) | np.add.reduce(x) | np.add.outer(row, line)
    np.einsum("ij,ij->i", t, t) | np.einsum("ij,j", t, row) | np.einsum("ij,kj->ik", w, w)
    np.tensordot(t, t, axes=([0], [0])) | np.inner(t, row) | np.vdot(x, y) | np.kron(row, row)
    np.cross(v, v[::-1]) | np.trace(m) | np.diag(m) | np.triu(m) | np.tril(m)
    np.linalg.solve(small, small[0]) | np.linalg.inv(small) | np.linalg.svd(small)
    np.linalg.eigh(small) | np.linalg.det(small) | np.linalg.lstsq(t[:, :5], t[:, 7], rcond=None)
    np.linalg.qr(t[:, :5]) | np.fft.fft(x) | np.fft.rfft(x) | np.fft.fft2(m)
    np.fft.fft(t, axis=1) | np.fft.fft(t, axis=0) | np.fft.irfft(z) | np.fft.fftshift(m)
    np.fft.fftfreq(n) | np.zeros(n) | np.ones(n) | np.empty(n) | np.full(n, 2.0) | np.arange(n)
    np.arange(n) * 0.5 | np.linspace(0, 1, n) | np.zeros_like(x) | np.eye(edge)
    np.meshgrid(line, line) | np.indices((edge, edge)) | np.zeros((edge, edge)) + 1.0
    np.fromfunction(lambda a, b: a + b, (edge, edge)) | np.mgrid[:edge, :edge]
    np.logspace(0, 1, n) | np.polyval([1.0, 2.0, 3.0], x) | np.vander(x[: n // 10], 4)
    np.polyfit(x, y, 2) | np.piecewise(x, [x < 0.5], [0.0, 1.0]) | np.ma.masked_less(x, 0.5).sum()
    np.ma.array(x, mask=b).mean() | np.apply_along_axis(np.sum, 1, t[:1000])
    days + np.timedelta64(1, "D") | days.astype("M8[M]") | days > np.datetime64("1990-01-01")
    days.max() | np.lib.stride_tricks.sliding_window_view(x, 5).mean(-1)
    np.broadcast_to(row, t.shape) + t | t.ravel() + 1.0 | np.transpose(t) * 2.0
    t.swapaxes(0, 1).copy() | np.moveaxis(t, 0, 1) + 1.0 | t.flatten() | np.ascontiguousarray(t.T)
    np.packbits(b) | np.bitwise_and.reduce(i) | np.logical_or(b, d) | np.logical_and.reduce(b)
    x.dot(y) | draw.random(n) | draw.normal(size=n) | draw.integers(0, 100, n)
    draw.permutation(n) | draw.choice(x, n // 10) | np.random.rand(n) | np.random.randn(n)
    np.random.randint(0, 10, n) | np.sum(x * y) | np.mean((x - y) ** 2)
    np.sqrt(((t - row) ** 2).sum(1)) | np.argmin(((v - v[0]) ** 2).sum(1))
    np.exp(t - t.max(1, keepdims=True))
    m[1:-1, 1:-1] = 0.25 * (m[:-2, 1:-1] + m[2:, 1:-1] + m[1:-1, :-2] + m[1:-1, 2:])
    """.replace("\n", "|").split("|")
    if line.strip()
)


@dataclass(frozen=True, slots=True)
class Standing:
    """What one statement takes at one size, in seconds, in both libraries."""

    statement: str
    elements: int
    numpy_best: float
    numpy_median: float
    best: float
    median: float

    @property
    def ratio(self) -> float:
        """How many times faster than NumPy, by the best runs."""
        return self.numpy_best / self.best

    @property
    def surely(self) -> float:
        """The larger of the ratios of the best and of the median runs."""
        return max(self.ratio, self.numpy_median / self.median)


def looked_at(result: Any) -> None:
    """Have one element of what a statement gave."""
    if isinstance(result, tuple | list):
        for part in result[:8]:
            looked_at(part)
    elif getattr(result, "size", 0) and getattr(result, "shape", ()):
        result[(0,) * len(result.shape)]


def compiled(statement: str, names: dict[str, Any]) -> Callable[[], None]:
    """Return a function of one line that runs a statement and looks at its result."""
    try:
        compile(statement, "statement", "eval")
    except SyntaxError:
        target = re.split(r"\W", statement, maxsplit=1)[0]
        text = f"def run({target}={target}):\n    {statement}\n    looked_at({target})\n"
    else:
        text = f"def run():\n    looked_at({statement})\n"
    names = dict(names, looked_at=looked_at)
    exec(compile(text, f"<{statement}>", "exec"), names)  # noqa: S102 - text of our own
    run: Callable[[], None] = names["run"]
    return run


def child(module: str, link: Connection, seconds: float, between: int) -> None:
    """Time what is asked for, until nothing more is."""
    other = numpy.ones(between // 8)
    np = import_module(module)
    warnings.simplefilter("ignore")
    names: dict[str, Any] = {}
    while (asked := link.recv()) is not None:
        if isinstance(asked, int):
            names = {"np": np}
            exec(SETUP.replace("SIZE", str(asked)), names)  # noqa: S102 - text of our own
            link.send(None)
            continue
        statement, again = asked
        if not again:
            run = compiled(statement, names)
            began = time.perf_counter()
            for k in range(WARMUPS):
                run()
                if k > LEAST and time.perf_counter() - began > WARMING:
                    break
        link.send(timed(run, seconds, other))


def timed(run: Callable[[], None], seconds: float, other: numpy.ndarray) -> list[float]:
    """Return what runs of a statement took, in seconds; each begins after reading ``other``."""
    took: list[float] = []
    began = time.perf_counter()
    while len(took) < LEAST or (len(took) < MOST and time.perf_counter() - began < seconds):
        numpy.add.reduce(other)
        started = time.perf_counter()
        run()
        took.append(time.perf_counter() - started)
    return took


class Libraries:
    """Both libraries, each in a process of its own."""

    def __init__(self, seconds: float, between: int = 0) -> None:
        context = get_context("spawn")
        self.links: list[Connection] = []
        self.children = []
        for module in ("numpy", "dnumpy"):
            ours, theirs = context.Pipe()
            process = context.Process(target=child, args=(module, theirs, seconds, between))
            process.daemon = True
            process.start()
            self.links.append(ours)
            self.children.append(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for link in self.links:
            link.send(None)
        for process in self.children:
            process.join()

    def prepare(self, elements: int) -> None:
        """Make the operands."""
        for link in self.links:
            link.send(elements)
            link.recv()

    def standing(self, statement: str, elements: int, turns: int) -> Standing:
        """Return what a statement takes, by turns."""
        took: list[list[float]] = [[], []]
        for turn in range(turns):
            for link, kept in zip(self.links, took, strict=True):
                link.send((statement, turn > 0))
                kept.extend(link.recv())
        figures = [f(kept) for kept in took for f in (min, statistics.median)]
        return Standing(statement, elements, *figures)


def standings(
    libraries: Libraries, sizes: Sequence[int], statements: Sequence[str], options: Namespace
) -> list[Standing]:
    """Return what each statement takes at each size.

    What seems slow is measured again: all that disturbs a measurement makes it seem so.
    """
    found = []
    for elements in sizes:
        libraries.prepare(elements)
        for statement in statements:
            standing = libraries.standing(statement, elements, options.turns)
            for _ in range(options.again):
                if standing.surely >= options.below:
                    break
                other = libraries.standing(statement, elements, options.turns)
                standing = max(standing, other, key=lambda s: s.surely)
            found.append(standing)
    return found


def tables(found: Sequence[Standing], below: float) -> list[Table]:
    """Return the geometric means of each size, and what is surely below a ratio."""
    first = Table("elements", "statements", "geometric mean", "worst", f"below {below}")
    for elements in dict.fromkeys(s.elements for s in found):
        ratios = [s.ratio for s in found if s.elements == elements]
        slow = sum(s.surely < below for s in found if s.elements == elements)
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        row = (f"{elements:,}", str(len(ratios)), f"{mean:.2f}", f"{min(ratios):.2f}", str(slow))
        first.add_row(*row)
    second = Table("elements", "statement", "NumPy, us", "dnumpy, us", "best", "median")
    for s in sorted((s for s in found if s.surely < below), key=lambda s: s.surely):
        times = (f"{1e6 * s.numpy_best:.1f}", f"{1e6 * s.best:.1f}")
        ratios_of = (f"{s.ratio:.2f}", f"{s.numpy_median / s.median:.2f}")
        second.add_row(f"{s.elements:,}", s.statement, *times, *ratios_of)
    return [first, second]


def main(argv: Sequence[str]) -> None:
    """Print what was measured; store it where asked."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sweep", description=__doc__)
    parser.add_argument("--sizes", nargs="*", type=int, default=list(SIZES))
    parser.add_argument("--only", nargs="*", default=[""], help="statements that hold one of these")
    parser.add_argument("--turns", type=int, default=2, help="turns of each library")
    parser.add_argument("--again", type=int, default=2, help="times that what is slow is repeated")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each turn")
    parser.add_argument("--between", type=int, default=0, help="bytes read before each run")
    parser.add_argument("--below", type=float, default=0.9, help="ratio that is told by name")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args(argv)
    statements = [s for s in STATEMENTS if any(part in s for part in options.only)]
    with Libraries(options.seconds, options.between) as libraries:
        found = standings(libraries, options.sizes, statements, options)
    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    for table in tables(found, options.below):
        console.print(table, markup=False)
    if options.json:
        stored = {"machine": machine(), "statements": [asdict(s) for s in found]}
        options.json.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
