"""The programs that rivals run on a device: data, one function of the module, sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy

from benchmarks.programs import (
    Work,
    black_scholes_prices,
    contracted,
    edge,
    make_plate,
    make_points,
    moved_centres,
    normalised,
    probabilities,
    scaled,
    softmax,
    swept,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from benchmarks.programs import Host

GB = 1e9
COLUMNS = 1_000
SAMPLES = 4_096  # of each signal
ESCAPE_STEPS = 40
MEMORY_SHARE = 0.8  # of the free device memory, that a program may take


@dataclass(frozen=True, slots=True)
class GpuProgram:
    """A program for a device.

    Attributes
    ----------
    name : str
        What ``--programs`` calls it.
    title : str
        What it does, with its size at scale 1.
    make : callable
        ``make(scale)`` gives host arrays one after the other; only one has to be held at a time.
    run : callable
        ``run(np, data)`` returns an array or a tuple of arrays, which may be computed later.
    tolerance : float
        Largest difference between two rivals' elements, as a share of the largest element.
    device_bytes : float
        The most device memory that a rival or a comparison takes at scale 1, the data included.
    work : callable
        ``work(*data)`` returns what a device has to do at least.
    fused : bool
        Whether one kernel can do what plain CuPy does in several.
    elementwise : bool
        Whether it is bound by copying elements, so that a share of the bandwidth is aimed at.
    strays : float
        Share of the elements that may differ by more.
    """

    name: str
    title: str
    make: Callable[[float], Iterable[numpy.ndarray]]
    run: Callable[[Any, Any], Any]
    tolerance: float
    device_bytes: float
    work: Callable[..., Work]
    fused: bool = False
    elementwise: bool = False
    strays: float = 0.0

    def fitting(self, scale: float, free_bytes: float) -> float:
        """Return the scale, or the largest one that the free memory of a device allows."""
        return min(scale, MEMORY_SHARE * free_bytes / self.device_bytes)


def passes(*factors: float) -> Callable[..., Work]:
    """Return the work that moves each array so many times; outputs count as their equals."""

    def work(*data: Any) -> Work:
        return Work(sum(f * array.nbytes for f, array in zip(factors, data, strict=False)))

    return work


def make_options(dtype: type, scale: float) -> Iterable[numpy.ndarray]:
    """Give spot prices, strike prices and years to expiry."""
    rng = numpy.random.default_rng(1973)
    n = scaled(100_000_000, scale)
    for low, high in ((10, 50), (10, 50), (0.1, 2.0)):
        drawn = rng.random(n, dtype)
        drawn *= high - low
        drawn += low
        yield drawn


def make_triple(scale: float) -> Iterable[numpy.ndarray]:
    """Give three vectors."""
    rng = numpy.random.default_rng(40)
    for _ in range(3):
        yield rng.random(scaled(500_000_000, scale))


def multiply_add_sum(_: Any, data: Any) -> Any:
    """Sum a product and an addend."""
    a, b, c = data
    return (a * b + c).sum()


def make_rows(dtype: type, scale: float) -> Host:
    """Return a tall matrix."""
    shape = scaled(100_000, scale), COLUMNS
    return (numpy.random.default_rng(20).standard_normal(shape, dtype) * dtype(2) + dtype(3),)


def make_layers(scale: float) -> Iterable[numpy.ndarray]:
    """Give examples, and the weights and biases of two layers, in single precision."""
    rng = numpy.random.default_rng(1986)
    shapes = (scaled(100_000, scale), 1_024), (1_024, 1_024), (1_024,), (1_024, 16), (16,)
    for shape in shapes:
        yield rng.standard_normal(shape, numpy.float32) * numpy.float32(0.05)


def layer_work(x: Any, hidden: Any, _: Any, out: Any, __: Any) -> Work:
    """Return the two products' operations, and their rows read and written once."""
    n, classes = len(x), out.shape[1]
    return Work(x.nbytes + 4.0 * n * classes, 2.0 * n * (hidden.size + out.size), "float32")


def make_unsorted(scale: float) -> Host:
    """Return a vector."""
    return (numpy.random.default_rng(77).random(scaled(100_000_000, scale)),)


def sort(np: Any, data: Any) -> Any:
    """Sort a vector."""
    return np.sort(data[0])


def make_signals(scale: float) -> Iterable[numpy.ndarray]:
    """Give noisy signals, and what a filter answers to each frequency."""
    rng = numpy.random.default_rng(1965)
    yield rng.standard_normal((scaled(24_000, scale), SAMPLES))
    frequency = numpy.arange(SAMPLES // 2 + 1)
    yield 1.0 / (1.0 + 1j * frequency / 100.0)


def filtered(np: Any, data: Any) -> Any:
    """Filter signals by their frequencies."""
    signals, response = data
    return np.fft.irfft(np.fft.rfft(signals) * response, SAMPLES)


def make_tensors(scale: float) -> Iterable[numpy.ndarray]:
    """Give two stacks of matrices, a chain of three matrices, and two stacks of vectors."""
    rng = numpy.random.default_rng(1916)
    count, n = scaled(8_192, scale), edge(4_000, scale)
    for shape in (*[(count, 128, 128)] * 2, *[(n, n)] * 3, *[(6 * count, 64)] * 2):
        yield rng.standard_normal(shape)


def tensor_work(a: Any, _: Any, first: Any, *rest: Any) -> Work:
    """Return the operations of the products, and the bytes of the stacks and outer products."""
    u = rest[2]
    flops = 2.0 * a.size * a.shape[-1] + 4.0 * len(first) ** 3
    return Work(8.0 * u.size * u.shape[1] + 3.0 * a.nbytes, flops)


def make_plane(scale: float) -> Host:
    """Return the points of the picture."""
    n = edge(4_000, scale)
    real, imaginary = numpy.linspace(-2.2, 0.8, n), numpy.linspace(-1.2, 1.2, n)
    return (real[None, :] + 1j * imaginary[:, None],)


def escape_times(np: Any, data: Any) -> Any:
    """Iterate the points that have not escaped, chosen by a mask.

    Squares are products: CuPy has the logarithm of a zero in its power of complex numbers.
    """
    (c,) = data
    z = np.zeros_like(c)
    times = np.zeros(c.shape, dtype=np.int64)
    alive = np.ones(c.shape, dtype=bool)
    for _ in range(ESCAPE_STEPS):
        chosen = z[alive]
        z[alive] = chosen * chosen + c[alive]
        alive &= z.real**2 + z.imag**2 <= 4.0
        times[alive] += 1
    return times


def options(name: str, dtype: type, device_bytes: float, tolerance: float) -> GpuProgram:
    """Return Black-Scholes in a precision."""
    return GpuProgram(
        name,
        f"Black-Scholes, 100M, {numpy.dtype(dtype)}",
        partial(make_options, dtype),
        lambda np, data: black_scholes_prices(np, *data),
        tolerance,
        device_bytes,
        passes(1, 2, 2),  # three read, two written
        fused=True,
        elementwise=True,
    )


PROGRAMS = (
    options("black_scholes_f32", numpy.float32, 8 * GB, 2e-5),
    options("black_scholes_f64", numpy.float64, 16 * GB, 1e-12),
    GpuProgram(
        "fma_sum",
        "(a*b+c).sum(), 500M, float64",
        make_triple,
        multiply_add_sum,
        1e-11,
        22 * GB,
        passes(1, 1, 1),
        fused=True,
        elementwise=True,
    ),
    GpuProgram(
        "normalise",
        "row normalisation, 100,000 x 1,000, float64",
        partial(make_rows, numpy.float64),
        lambda _, data: normalised(*data),
        1e-11,
        7 * GB,
        passes(2),
        fused=True,
    ),
    GpuProgram(
        "jacobi",
        "Jacobi in place, 16,000 x 16,000, 20 sweeps, float64",
        lambda scale: make_plate(16.0 * scale),
        lambda _, data: swept(*data),
        1e-12,
        17 * GB,
        passes(40),
        fused=True,
        elementwise=True,
    ),
    GpuProgram(
        "softmax",
        "softmax, 100,000 x 1,000, float32",
        partial(make_rows, numpy.float32),
        lambda np, data: softmax(np, *data),
        1e-5,
        4 * GB,
        passes(2),
        fused=True,
    ),
    GpuProgram(
        "mlp",
        "MLP layer with softmax, 100,000 x 1,024 x 1,024 x 16, float32",
        make_layers,
        lambda np, data: probabilities(np, *data),
        1e-4,
        5 * GB,
        layer_work,
    ),
    GpuProgram(
        "kmeans",
        "k-means, 10M x 4, 16 centres, 3 steps, float64",
        lambda scale: make_points(20.0 * scale),
        lambda np, data: moved_centres(np, *data),
        1e-6,  # a point between two centres may go to either
        16 * GB,
        passes(3),
        fused=True,
    ),
    GpuProgram("sort", "sort, 100M, float64", make_unsorted, sort, 0.0, 6 * GB, passes(2)),
    GpuProgram(
        "fft",
        "filter by FFT, 24,000 x 4,096, float64",
        make_signals,
        filtered,
        1e-11,
        9 * GB,
        passes(2),
    ),
    GpuProgram(
        "einsum",
        "einsum: 8,192 products of 128 x 128, a chain of three 4,000 x 4,000, 49,152 outer",
        make_tensors,
        contracted,
        1e-10,
        16 * GB,
        tensor_work,
    ),
    GpuProgram(
        "mandelbrot",
        f"Mandelbrot with masks, 4,000 x 4,000, {ESCAPE_STEPS} steps",
        make_plane,
        escape_times,
        0.0,
        4 * GB,
        passes(1.5),
        fused=True,
        strays=1e-3,  # those whose distance from the circle is one of rounding
    ),
)


def chosen(names: str) -> tuple[GpuProgram, ...]:
    """Return the programs named in a comma-separated list, each once.

    Raises
    ------
    ValueError
        No program has one of the names.
    """
    by_name = {program.name: program for program in PROGRAMS}
    if names == "all":
        return PROGRAMS
    unknown = [name for name in names.split(",") if name not in by_name]
    if unknown:
        msg = f"no program {', '.join(unknown)}; there are all, {', '.join(by_name)}"
        raise ValueError(msg)
    return tuple(dict.fromkeys(by_name[name] for name in names.split(",")))
