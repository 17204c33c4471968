"""Times on a device: rivals in turn, what the device can do at most, and what a launch costs."""

from __future__ import annotations

import gc
import math
import statistics
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy

import dnumpy
from benchmarks.gpu import fused
from benchmarks.gpu.kernels import Source
from benchmarks.gpu.session import (
    SUBJECT,
    as_cupy,
    check,
    computed,
    device_here,
    on_device,
    parts_of,
    rival,
)
from benchmarks.machine import Limits
from benchmarks.programs import Work
from dnumpy.kernels.cupy import CupyKernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.gpu.programs import GpuProgram
    from benchmarks.gpu.session import Rival

CHECK_SCALE = 1e-4  # at which results are compared with NumPy's
COPY_BYTES = 4e9
PRODUCT_EDGE = 8_192
ROUNDS = 5
LAUNCH_ELEMENTS = 1 << 16  # 512 KiB: what stays on the device, and takes it no time
LAUNCHES = 300
SMALL_SIZES = (1_000, 100_000)
SMALL_SECONDS = 0.05  # of one timing of a small expression


@dataclass(slots=True)
class Timing:
    """What one rival took: its first run, and the repeats after the warm-ups, in seconds."""

    first: float
    seconds: list[float] = field(default_factory=list)

    @property
    def best(self) -> float:
        """Seconds of the fastest repeat."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """Seconds of the middle repeat."""
        return statistics.median(self.seconds)


@dataclass(slots=True)
class Row:
    """One program: at which scale it was run, its work, times, and why others have none."""

    program: str
    title: str
    scale: float
    fused: bool = False
    elementwise: bool = False
    work: Work = field(default_factory=Work)
    timings: dict[str, Timing] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)

    def speed(self, peer: str) -> float:
        """Return the peer's median over dnumpy's; NaN where either has none."""
        if SUBJECT not in self.timings or peer not in self.timings:
            return math.nan
        return self.timings[peer].median / self.timings[SUBJECT].median


@dataclass(frozen=True, slots=True)
class Launch:
    """Seconds that a cached phase costs whose elements take no time, in the median.

    Attributes
    ----------
    launch : float or None
        Of the call that gives the device the phase's kernel; None where there was none.
    evaluation : float
        Of the whole expression: recorded, planned, launched, waited for.
    plain, fused : float
        Of the same expression in plain CuPy and as one kernel, waited for.
    """

    launch: float | None
    evaluation: float
    plain: float
    fused: float


@dataclass(frozen=True, slots=True)
class Small:
    """An expression on a small array at home: seconds of NumPy and of dnumpy, at best."""

    expression: str
    elements: int
    numpy_seconds: float
    dnumpy_seconds: float

    @property
    def ratio(self) -> float:
        """Times NumPy's time."""
        return self.dnumpy_seconds / self.numpy_seconds


def timed(one: Rival) -> tuple[float, Any]:
    """Return the seconds from a start with nothing pending to a finished result, and that."""
    device_here().wait()
    started = time.perf_counter()
    found = one.run()
    one.finish(found)
    return time.perf_counter() - started, found


def compare(
    program: GpuProgram, peers: Sequence[str], *, scale: float, repeats: int, warmups: int
) -> Row:
    """Return what dnumpy and its peers took in turn, each result compared with another's.

    At a small scale with NumPy's; at this one, which may be less than asked for, with the first
    rival's on CuPy that there is. NumPy runs once at full scale and is not repeated.
    """
    fits = program.fitting(scale, device_here().free_bytes())
    row = Row(program.name, program.title, fits, program.fused, program.elementwise)
    with told(row.errors, "data"):
        agreeing = agrees_with_numpy(program, peers, min(CHECK_SCALE, fits), row.errors)
        data = on_device(program, fits)
        row.work = program.work(*data)
        running = begun(program, agreeing, data, row)
        alternate(running, row, warmups=warmups, repeats=repeats)
    return row


def alternate(rivals: Sequence[Rival], row: Row, *, warmups: int, repeats: int) -> None:
    """Run the rivals in turn; the row has the seconds of what follows the warm-ups.

    A rival that fails now has no times.
    """
    turns = [one for one in rivals if one.name != "numpy"]
    for count in range(warmups + repeats):
        for one in [one for one in turns if one.name in row.timings]:
            gc.collect()
            with told(row.errors, one.name):
                seconds = timed(one)[0]
                if count >= warmups:
                    row.timings[one.name].seconds.append(seconds)
            if one.name in row.errors:
                del row.timings[one.name]


def agrees_with_numpy(
    program: GpuProgram, peers: Sequence[str], scale: float, errors: dict[str, str]
) -> list[str]:
    """Return the rivals, dnumpy last, that give NumPy's result; ``errors`` says what others do."""
    data = on_device(program, scale)
    expected = tuple(as_cupy(part) for part in parts_of(rival("numpy", program, data).run()))
    agreeing = []
    for name in (*peers, SUBJECT):
        with told(errors, name):
            _, found = timed(rival(name, program, data))
            check(program, *_comparable(found, expected))
            agreeing.append(name)
    return agreeing


def begun(
    program: GpuProgram, names: Sequence[str], data: tuple[Any, ...], row: Row
) -> list[Rival]:
    """Return the rivals whose first runs agree; the row has what these took."""
    running: list[Rival] = []
    expected: Any = None
    for name in sorted(names, key=("plain", "fused", "jax", "numpy", SUBJECT).index):
        with told(row.errors, name):
            one = rival(name, program, data)
            seconds, found = timed(one)
            if expected is None:
                expected = tuple(as_cupy(part) for part in parts_of(found))
            else:
                check(program, *_comparable(found, expected))
            once = [seconds] if name == "numpy" else []
            row.timings[name] = Timing(seconds, once)
            running.append(one)
    return running


def _comparable(found: Any, expected: tuple[Any, ...]) -> tuple[Any, Any, Any]:
    import cupy

    return cupy, tuple(as_cupy(part) for part in parts_of(found)), expected


@contextmanager
def told(errors: dict[str, str], name: str) -> Iterator[None]:
    """Let one rival fail, of whatever its library raises, and the others go on."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - printed, stored, and the exit status is 1
        errors[name] = f"{type(error).__name__}: {error}"


def give_back() -> None:
    """Give memory that nothing uses back to the device."""
    gc.collect()
    device_here().trim()


def fastest(call: Callable[[], object]) -> float:
    """Return the seconds of the fastest of several calls, after one that is not counted."""
    device = device_here()
    found = []
    for _ in range(1 + ROUNDS):
        device.wait()
        started = time.perf_counter()
        call()
        device.wait()
        found.append(time.perf_counter() - started)
    return min(found[1:])


def measured_limits(free_bytes: float) -> Limits:
    """Return the device's rates of copying, reading and writing counted, and of products."""
    import cupy

    count = int(min(COPY_BYTES, free_bytes / 4) / 8)
    copied = fastest(partial(cupy.copyto, cupy.ones(count), cupy.ones(count)))
    give_back()
    edge = int(min(PRODUCT_EDGE, (free_bytes / 64) ** 0.5))
    rates = {}
    for dtype in ("float64", "float32"):
        square, out = cupy.ones((edge, edge), dtype), cupy.ones((edge, edge), dtype)
        seconds = fastest(partial(cupy.matmul, square, square, out=out))
        rates[dtype] = 2.0 * edge**3 / seconds
    return Limits(16.0 * count / copied, rates)


LINE = Source(
    """
extern "C" __global__ void line(const double* x, double* out, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * 2.0 + 1.0;
}
""",
    ("line",),
)


def launch_costs() -> Launch:
    """Return what a cached phase costs on a small array on the device."""
    import cupy

    data = cupy.ones(LAUNCH_ELEMENTS)
    ours: Any = dnumpy.at(data, dnumpy.GPU(0))
    grid, n = (fused.over(LAUNCH_ELEMENTS),), numpy.int32(LAUNCH_ELEMENTS)

    def by_hand() -> Any:
        out = cupy.empty_like(data)
        fused.start(LINE, "line", grid, data, out, n)
        device_here().wait()
        return out

    def plain() -> Any:
        out = data * 2.0 + 1.0
        device_here().wait()
        return out

    def recorded() -> Any:
        out = ours * 2.0 + 1.0
        computed(out)
        return out

    for call in (by_hand, plain, recorded):
        for _ in range(LAUNCHES // 10):
            call()
    found: dict[str, list[float]] = {"by_hand": [], "plain": [], "recorded": []}
    with noted_launches() as launches:
        for _ in range(LAUNCHES):
            for call in (by_hand, plain, recorded):
                started = time.perf_counter()
                call()
                found[call.__name__].append(time.perf_counter() - started)
    launch = statistics.median(launches) if launches else None
    middle = {name: statistics.median(seconds) for name, seconds in found.items()}
    return Launch(launch, middle["recorded"], middle["plain"], middle["by_hand"])


@contextmanager
def noted_launches() -> Iterator[list[float]]:
    """Note the seconds of each call that gives the device a phase."""
    seconds: list[float] = []
    launch = CupyKernel.launch

    def noted(self: CupyKernel, *args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        found = launch(self, *args, **kwargs)
        seconds.append(time.perf_counter() - started)
        return found

    CupyKernel.launch = noted  # type: ignore[method-assign]
    try:
        yield seconds
    finally:
        CupyKernel.launch = launch  # type: ignore[method-assign]


SMALL: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    "a * b + c": lambda _, a, b, c: numpy.asarray(a * b + c),
    "(a * b + c).sum()": lambda _, a, b, c: float((a * b + c).sum()),
    "exp(a) / sqrt(b)": lambda np, a, b, _: numpy.asarray(np.exp(a) / np.sqrt(b)),
}


def small_costs(sizes: Sequence[int] = SMALL_SIZES, rounds: int = 2 * ROUNDS) -> list[Small]:
    """Return what small arrays at home cost, NumPy and dnumpy in turn."""
    found = []
    for size in sizes:
        rng = numpy.random.default_rng(5)
        home = [rng.random(size) + 0.5 for _ in range(3)]
        for name, expression in SMALL.items():
            best = dict.fromkeys(("numpy", "dnumpy"), math.inf)
            pairs: dict[str, tuple[Any, Any]] = {
                "numpy": (numpy, home),
                "dnumpy": (dnumpy, [dnumpy.array(a) for a in home]),
            }
            for _ in range(rounds):
                for module, (np, data) in pairs.items():
                    seconds = repeated(partial(expression, np, *data))
                    best[module] = min(best[module], seconds)
            found.append(Small(name, size, best["numpy"], best["dnumpy"]))
    return found


def repeated(call: Callable[[], object]) -> float:
    """Return the seconds of one call, the mean of as many as take a moment."""
    count, started = 0, time.perf_counter()
    while (spent := time.perf_counter() - started) < SMALL_SECONDS or not count:
        call()
        count += 1
    return spent / count
