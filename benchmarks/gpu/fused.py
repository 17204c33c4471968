"""The programs by hand with CuPy: the kernels of this package, and libraries called sparingly.

A function takes the data and returns what the program's own function returns. Where one call of a
library does all of it, as for a sort, that is the version by hand. A kernel is compiled by its
first launch, and kept.
"""

from __future__ import annotations

from functools import cache
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import numpy

from benchmarks.gpu import kernels
from benchmarks.gpu.kernels import PACK_BYTES, RUN, TEAM, Source
from benchmarks.gpu.programs import ESCAPE_STEPS, SAMPLES
from benchmarks.programs import LLOYD_STEPS, SWEEPS

if TYPE_CHECKING:
    from collections.abc import Callable

# attributes of CuPy that are used here; a test sees that they exist
NAMES = (
    "RawModule", "cuda.Device", "cuda.runtime.deviceGetAttribute", "empty", "empty_like",
    "fft.irfft", "fft.rfft", "matmul", "sort", "zeros",
)  # fmt: skip
BLOCKS = 8  # for each multiprocessor, of kernels whose threads take many elements
MULTIPROCESSORS = 16  # cudaDevAttrMultiProcessorCount
REALS = {"float32": "float", "float64": "double"}
Grid = tuple[int, ...]


def _cupy() -> Any:
    import cupy

    return cupy


@cache
def compiled(source: Source) -> Any:
    """Return a text's module on the current device."""
    return _cupy().RawModule(code=source.text, options=source.options, backend="nvrtc")


@cache
def filling() -> int:
    """Return how many blocks keep the current device busy."""
    xp = _cupy()
    device = xp.cuda.Device().id
    return BLOCKS * int(xp.cuda.runtime.deviceGetAttribute(MULTIPROCESSORS, device))


def start(
    source: Source, name: str, grid: Grid, *args: Any, team: int = TEAM, shared: int = 0
) -> None:
    """Launch a kernel; lengths are given as NumPy's integers of the parameter's size."""
    compiled(source).get_function(name)(grid, (team,), args, shared_mem=shared)


def over(count: int, each: int = TEAM) -> int:
    """Return how many groups of ``each`` hold so many."""
    return -(-count // each)


def busy(count: int) -> Grid:
    """Return a grid for so many elements: no more blocks than the device has room for."""
    return (max(1, min(over(count), filling())),)


def black_scholes(spot: Any, strike: Any, years: Any) -> Any:
    """Price calls and puts in one kernel."""
    call, put = _cupy().empty_like(spot), _cupy().empty_like(spot)
    source = kernels.BLACK_SCHOLES.of(REALS[spot.dtype.name])
    grid = (over(spot.nbytes, TEAM * PACK_BYTES),)
    start(source, "black_scholes", grid, spot, strike, years, call, put, numpy.int64(spot.size))
    return call, put


def fma_sum(a: Any, b: Any, c: Any) -> Any:
    """Sum a product and an addend in one kernel."""
    out = _cupy().zeros((), a.dtype)
    source = kernels.FMA_SUM.of(REALS[a.dtype.name])
    start(source, "fma_sum", busy(a.size), a, b, c, out, numpy.int64(a.size))
    return out


def by_rows(name: str) -> Callable[[Any], Any]:
    """Return the kernel that gives each row of a matrix a block."""

    def run(x: Any) -> Any:
        rows, columns = x.shape
        out = _cupy().empty_like(x)
        source = kernels.ROWS.of(REALS[x.dtype.name])
        shared = columns * x.dtype.itemsize
        start(source, name, (rows,), x, out, numpy.int32(columns), shared=shared)
        return out

    return run


def jacobi(plate: Any) -> Any:
    """Sweep from one plate to another and back, which reads and writes each element once."""
    rows, columns = plate.shape
    grid = over(columns), over(rows, RUN)
    source, plates = plate, cycle((_cupy().empty_like(plate), _cupy().empty_like(plate)))
    for to in islice(plates, SWEEPS):
        start(kernels.JACOBI, "jacobi", grid, source, to, numpy.int32(rows), numpy.int32(columns))
        source = to
    return source


def mlp(x: Any, hidden: Any, hidden_bias: Any, out: Any, out_bias: Any) -> Any:
    """Run a hidden layer and a softmax: two products, and a kernel after each, in place."""
    h = _cupy().matmul(x, hidden)
    rows, columns = (numpy.int32(n) for n in h.shape)
    grid = over(int(columns)), min(int(rows), filling())
    start(kernels.LAYER, "bias_relu", grid, h, hidden_bias, rows, columns)
    s = _cupy().matmul(h, out)
    columns = numpy.int32(s.shape[1])
    start(kernels.LAYER, "bias_softmax", (over(int(rows)),), s, out_bias, rows, columns)
    return s


def kmeans(points: Any, centres: Any) -> Any:
    """Take three steps of Lloyd's algorithm, two kernels each."""
    count, axes = centres.shape
    centres, sums = centres.copy(), _cupy().zeros(count * (axes + 1))
    for _ in range(LLOYD_STEPS):
        n = numpy.int64(len(points))
        start(kernels.KMEANS, "nearest", busy(len(points)), points, centres, sums, n)
        start(kernels.KMEANS, "move", (1,), sums, centres, team=centres.size)
    return centres


def fft(signals: Any, response: Any) -> Any:
    """Filter signals; the inverse's scale goes into the filter."""
    xp = _cupy()
    spectrum = xp.fft.rfft(signals)
    spectrum *= response * (1.0 / SAMPLES)
    return xp.fft.irfft(spectrum, SAMPLES, norm="forward")


def einsum(a: Any, b: Any, first: Any, second: Any, third: Any, u: Any, v: Any) -> Any:
    """Multiply two stacks of matrices, a chain of three, and rows with rows."""
    xp = _cupy()
    chained = xp.matmul(xp.matmul(first, second), third)
    return xp.matmul(a, b), chained, u[:, :, None] * v[:, None, :]


def mandelbrot(points: Any) -> Any:
    """Count each point's steps in one kernel."""
    times = _cupy().empty(points.shape, numpy.int64)
    args = points, times, numpy.int64(points.size), numpy.int32(ESCAPE_STEPS)
    start(kernels.MANDELBROT, "escape", (over(points.size),), *args)
    return times


PROGRAMS: dict[str, Callable[..., Any]] = {
    "black_scholes_f32": black_scholes,
    "black_scholes_f64": black_scholes,
    "fma_sum": fma_sum,
    "normalise": by_rows("normalise"),
    "jacobi": jacobi,
    "softmax": by_rows("softmax"),
    "mlp": mlp,
    "kmeans": kmeans,
    "sort": lambda x: _cupy().sort(x),
    "fft": fft,
    "einsum": einsum,
    "mandelbrot": mandelbrot,
}
