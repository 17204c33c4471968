"""The programs: plain NumPy code that takes the module as a parameter, and the data they run on."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy

from benchmarks import draws, orders

if TYPE_CHECKING:
    from collections.abc import Callable

Host = tuple[numpy.ndarray, ...]
TINY_ADDS = 10_000
SWEEPS = 20
LLOYD_STEPS = 3


@dataclass(frozen=True, slots=True)
class Work:
    """What a program cannot do without: bytes of main memory moved, floating-point operations.

    Arrays that do not fit the caches are read once for each pass that depends on the one before;
    temporaries are not counted. ``flops`` are those of matrix products in ``dtype``, whose rate is
    measured by such a product; others are not counted.
    """

    bytes_moved: float = 0.0
    flops: float = 0.0
    dtype: str = "float64"


@dataclass(frozen=True, slots=True)
class Program:
    """A program, what it runs on, and how near the two answers must be.

    Attributes
    ----------
    name : str
        What ``--programs`` calls it.
    title : str
        What it does, with its size at scale 1.
    make : callable
        ``make(scale)`` returns host arrays; ``scale`` multiplies the number of elements.
    run : callable
        ``run(np, data)`` returns the observed result.
    rtol : float
        Relative tolerance of the comparison; 0 where the results must be equal.
    work : callable
        ``work(*host)`` returns what the machine has to do at least.
    """

    name: str
    title: str
    make: Callable[[float], Host]
    run: Callable[[Any, Any], Any]
    rtol: float
    work: Callable[..., Work] = lambda *_: Work()


def passes(*factors: float) -> Callable[..., Work]:
    """Return the work that moves each host array so many times; outputs count as their equals."""

    def work(*host: numpy.ndarray) -> Work:
        return Work(sum(f * array.nbytes for f, array in zip(factors, host, strict=False)))

    return work


def scaled(size: int, scale: float) -> int:
    """Return ``size`` times ``scale``, at least 4."""
    return max(int(size * scale), 4)


def edge(size: int, scale: float) -> int:
    """Return the edge of a square that has ``scale`` times the elements, at least 8."""
    return max(int(size * scale**0.5), 8)


def make_tiny(_: float) -> Host:
    """Return two vectors of three elements at every scale."""
    return numpy.array([1.0, 2.0, 3.0]), numpy.array([4.0, 5.0, 6.0])


def tiny_add(_: Any, data: Any) -> Any:
    """Add two small vectors many times."""
    a, b = data
    for _ in repeat(None, TINY_ADDS):
        c = a + b
    return numpy.asarray(c)


def make_options(scale: float) -> Host:
    """Return spot prices, strike prices and years to expiry."""
    rng = numpy.random.default_rng(1973)
    n = scaled(20_000_000, scale)
    return rng.uniform(10.0, 50.0, n), rng.uniform(10.0, 50.0, n), rng.uniform(0.1, 2.0, n)


def normal_cdf(np: Any, x: Any) -> Any:
    """Return Abramowitz and Stegun's approximation 26.2.17."""
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    inner = -1.821255978 + 1.330274429 * t
    inner = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * inner)))
    tail = np.exp(-0.5 * x * x) * 0.3989422804014327 * inner
    return np.where(x >= 0.0, 1.0 - tail, tail)


def black_scholes_prices(np: Any, spot: Any, strike: Any, years: Any) -> Any:
    """Price calls and puts."""
    spread = 0.25 * np.sqrt(years)
    d1 = (np.log(spot / strike) + (0.03 + 0.5 * 0.25**2) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-0.03 * years)
    call = spot * normal_cdf(np, d1) - discounted * normal_cdf(np, d2)
    return call, call - spot + discounted


def black_scholes(np: Any, data: Any) -> Any:
    """Bring the prices of calls and puts home."""
    call, put = black_scholes_prices(np, *data)
    return numpy.asarray(call), numpy.asarray(put)


def make_triple(scale: float) -> Host:
    """Return three vectors."""
    rng = numpy.random.default_rng(40)
    n = scaled(40_000_000, scale)
    return rng.random(n), rng.random(n), rng.random(n)


def multiply_add_sum(_: Any, data: Any) -> Any:
    """Sum a product and an addend."""
    a, b, c = data
    return float((a * b + c).sum())


def make_rows(scale: float) -> Host:
    """Return a tall matrix."""
    return (numpy.random.default_rng(20).normal(3.0, 2.0, (scaled(20_000, scale), 1_000)),)


def normalised(x: Any) -> Any:
    """Give every row mean 0 and standard deviation 1."""
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / x.std(axis=1, keepdims=True)


def normalise_rows(_: Any, data: Any) -> Any:
    """Give every row mean 0 and standard deviation 1, and bring the matrix home."""
    return numpy.asarray(normalised(*data))


def make_plate(scale: float) -> Host:
    """Return a cold plate with one hot edge."""
    n = edge(4_000, scale)
    plate = numpy.zeros((n, n))
    plate[0, :] = 100.0
    return (plate,)


def swept(plate: Any) -> Any:
    """Sweep twenty times in place, as in-place slices."""
    u = plate.copy()
    for _ in range(SWEEPS):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def jacobi(_: Any, data: Any) -> Any:
    """Sweep twenty times, and bring the plate home."""
    return numpy.asarray(swept(*data))


def make_points(scale: float) -> Host:
    """Return points around sixteen places, and starting centres."""
    rng = numpy.random.default_rng(16)
    places = rng.uniform(-10.0, 10.0, (16, 4))
    n = scaled(500_000, scale)
    points = places[rng.integers(0, 16, n)] + rng.normal(0.0, 1.0, (n, 4))
    return points, places + rng.normal(0.0, 0.5, places.shape)


def moved_centres(np: Any, points: Any, centres: Any) -> Any:
    """Take three steps of Lloyd's algorithm."""
    for _ in range(LLOYD_STEPS):
        squared = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        label = squared.argmin(axis=1)
        count = np.bincount(label, minlength=16)
        sums = [np.bincount(label, weights=points[:, axis], minlength=16) for axis in range(4)]
        centres = np.stack(sums, axis=1) / np.maximum(count, 1)[:, None]
    return centres


def kmeans(np: Any, data: Any) -> Any:
    """Take three steps of Lloyd's algorithm, and bring the centres home."""
    return numpy.asarray(moved_centres(np, *data))


def make_bodies(_: float) -> Host:
    """Return masses, positions and velocities of 100 bodies at every scale."""
    rng = numpy.random.default_rng(100)
    return rng.random(100), rng.normal(size=(100, 3)), 0.1 * rng.normal(size=(100, 3))


def nbody(np: Any, data: Any) -> Any:
    """Integrate softened gravity for 1,000 steps."""
    mass, position, velocity = data[0], data[1].copy(), data[2].copy()
    for _ in range(1_000):
        away = position[None, :, :] - position[:, None, :]
        inverse = (np.sum(away * away, axis=2) + 0.05) ** -1.5
        velocity += 1e-4 * np.sum(away * (mass * inverse)[:, :, None], axis=1)
        position += 1e-3 * velocity
    return numpy.asarray(position)


def make_complex_plane(scale: float) -> Host:
    """Return the points of the picture."""
    n = edge(800, scale)
    real, imaginary = numpy.linspace(-2.2, 0.8, n), numpy.linspace(-1.2, 1.2, n)
    return (real[None, :] + 1j * imaginary[:, None],)


def mandelbrot(np: Any, data: Any) -> Any:
    """Iterate the points that have not escaped, chosen by a mask."""
    (c,) = data
    z = np.zeros_like(c)
    times = np.zeros(c.shape, dtype=np.int64)
    alive = np.ones(c.shape, dtype=bool)
    for _ in range(40):
        z[alive] = z[alive] ** 2 + c[alive]
        alive &= z.real**2 + z.imag**2 <= 4.0
        times[alive] += 1
    return numpy.asarray(times)


def make_labelled(scale: float) -> Host:
    """Return features and labels."""
    rng = numpy.random.default_rng(1958)
    features = rng.normal(size=(scaled(500_000, scale), 20))
    chance = 1.0 / (1.0 + numpy.exp(-(features @ rng.normal(size=20))))
    return features, (rng.random(len(chance)) < chance).astype(float)


def logistic(np: Any, data: Any) -> Any:
    """Descend the gradient for twenty steps."""
    features, target = data
    weights = np.zeros(features.shape[1])
    for _ in range(20):
        p = 1.0 / (1.0 + np.exp(-(features @ weights)))
        weights -= features.T @ (p - target) / len(target)
    return numpy.asarray(weights)


def make_layers(scale: float) -> Host:
    """Return examples, and the weights and biases of two layers, in single precision."""
    rng = numpy.random.default_rng(1986)
    shapes = ((scaled(50_000, scale), 256), (256, 512), (512,), (512, 10), (10,))
    return tuple(rng.normal(0.0, 0.1, shape).astype(numpy.float32) for shape in shapes)


def softmax(np: Any, s: Any) -> Any:
    """Return each row's exponentials as shares of their sum."""
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def probabilities(np: Any, x: Any, hidden: Any, hidden_bias: Any, out: Any, out_bias: Any) -> Any:
    """Run a hidden layer and a softmax."""
    h = np.maximum(x @ hidden + hidden_bias, 0.0)
    return softmax(np, h @ out + out_bias)


def perceptron(np: Any, data: Any) -> Any:
    """Run a hidden layer and a softmax, and bring the probabilities home."""
    return numpy.asarray(probabilities(np, *data))


def make_tensors(scale: float) -> Host:
    """Return two stacks of matrices, a chain of three matrices, and two stacks of vectors."""
    rng = numpy.random.default_rng(1916)
    count, n = scaled(64, scale), edge(120, scale)
    stacks = rng.normal(size=(2, count, 128, 128))
    vectors = rng.normal(size=(2, 16 * count, 100))
    chain = rng.normal(size=(3, n, n))
    return (*stacks, *chain, *vectors)


def contracted(np: Any, data: Any) -> Any:
    """Multiply two stacks of matrices, a chain of three, and rows with rows."""
    a, b, first, second, third, u, v = data
    products = np.einsum("bij,bjk->bik", a, b)
    chained = np.einsum("ij,jk,kl", first, second, third)
    return products, chained, np.einsum("bi,bj->bij", u, v)


def einstein_sums(np: Any, data: Any) -> Any:
    """Multiply two stacks of matrices, a chain of three, and rows with rows; bring all home."""
    return tuple(numpy.asarray(found) for found in contracted(np, data))


def make_signal(scale: float) -> Host:
    """Return a noisy vector."""
    return (numpy.random.default_rng(8).normal(size=scaled(20_000_000, scale)),)


def boolean_filter(_: Any, data: Any) -> Any:
    """Take what lies in a band, and its mean and spread."""
    (x,) = data
    kept = x[(x > -0.5) & (x < 1.5)]
    return float(kept.mean()), float(kept.std())


def make_board(scale: float) -> Host:
    """Return a board of cells."""
    n = edge(2_000, scale)
    return ((numpy.random.default_rng(1970).random((n, n)) < 0.3).astype(numpy.uint8),)


def life(np: Any, data: Any) -> Any:
    """Run ten generations on a torus."""
    (board,) = data
    for _ in range(10):
        around = np.zeros_like(board)
        for shift in [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]:
            around += np.roll(board, shift, axis=(0, 1))
        board = ((around == 3) | ((board == 1) & (around == 2))).astype(board.dtype)
    return numpy.asarray(board)


def layer_work(x: Any, hidden: Any, _: Any, out: Any, __: Any) -> Work:
    """Return the two products' operations, and their rows read and written once."""
    n, classes = len(x), out.shape[1]
    return Work(x.nbytes + 4.0 * n * classes, 2.0 * n * (hidden.size + out.size), "float32")


def tensor_work(a: Any, _: Any, first: Any, *rest: Any) -> Work:
    """Return the operations of the products, and the bytes of the outer products."""
    u = rest[2]
    flops = 2.0 * a.size * a.shape[-1] + 4.0 * len(first) ** 3
    return Work(8.0 * u.size * u.shape[1] + 3.0 * a.nbytes, flops)


def drawn(size: int) -> Callable[..., Work]:
    """Return the work of writing so many bytes for each value drawn."""
    return lambda count: Work(float(size * int(count)))


# Chained reductions may differ in the last bits; what is elementwise must be equal.
TABLE = (
    Program(
        "black_scholes",
        "Black-Scholes, 20M options",
        make_options,
        black_scholes,
        0.0,
        passes(1, 2, 2),  # three read, two written
    ),
    Program("fma_sum", "(a*b+c).sum(), 40M", make_triple, multiply_add_sum, 1e-12, passes(1, 1, 1)),
    Program(
        "normalise",
        "row normalisation, 20,000 x 1,000",
        make_rows,
        normalise_rows,
        1e-9,
        passes(2),
    ),
    Program("jacobi", "Jacobi, 4,000 x 4,000, 20 sweeps", make_plate, jacobi, 0.0, passes(42)),
    Program("kmeans", "k-means, 500,000 x 4, 16 centres", make_points, kmeans, 1e-9, passes(3)),
    Program(
        "mandelbrot",
        "Mandelbrot with masks, 800 x 800",
        make_complex_plane,
        mandelbrot,
        0.0,
        passes(1.5),
    ),
    Program(
        "filter",
        "boolean filter, mean and spread, 20M",
        make_signal,
        boolean_filter,
        1e-9,
        passes(1),
    ),
    Program(
        "mlp",
        "MLP layer with softmax, 50,000 x 256 x 512 x 10",
        make_layers,
        perceptron,
        1e-3,
        layer_work,
    ),
    Program(
        "logistic",
        "logistic regression, 500,000 x 20",
        make_labelled,
        logistic,
        1e-9,
        passes(20, 20),
    ),
    Program("life", "Game of Life, 2,000 x 2,000", make_board, life, 0.0, passes(20)),
    Program(
        "einsum",
        "einsum: 64 products of 128 x 128, a chain of three 120 x 120, 1,024 outer",
        make_tensors,
        einstein_sums,
        1e-9,
        tensor_work,
    ),
    Program("histogram", "histogram, 20M", orders.make_normal, orders.histogram, 1e-12, passes(2)),
    Program("bincount", "bincount, 20M", orders.make_numbers, orders.bincount, 0.0, passes(1)),
    Program("cumsum", "cumsum, 50M", orders.make_steps, orders.cumsum, 1e-9, passes(2)),
    Program("gather", "random gather, 20M", orders.make_places, orders.gather, 0.0, passes(2, 1)),
    Program("sort", "sort, 10M", orders.make_unsorted, orders.sort, 0.0, passes(2)),
    Program("argsort", "argsort, 10M", orders.make_unsorted, orders.argsort, 0.0, passes(2)),
    Program("nbody", "100-body n-body, 1,000 steps", make_bodies, nbody, 1e-7),
    Program("tiny_add", f"3-element add, {TINY_ADDS:,} times", make_tiny, tiny_add, 0.0),
)
DRAWS = (
    Program(
        "tiny_draws",
        f"random() and random(3), {draws.TINY_DRAWS:,} times",
        draws.make_count,
        draws.tiny_draws,
        0.0,
    ),
    Program("doubles", "random, 10M", draws.make_count, draws.doubles, 0.0, drawn(8)),
    Program("singles", "random float32, 10M", draws.make_count, draws.singles, 0.0, drawn(4)),
    Program("powers", "integers(0, 2**20), 10M", draws.make_count, draws.powers, 0.0, drawn(8)),
    Program("hundreds", "integers(0, 100), 10M", draws.make_count, draws.hundreds, 0.0, drawn(8)),
    Program("uniforms", "uniform, 10M", draws.make_count, draws.uniforms, 0.0, drawn(8)),
    Program("laplaces", "laplace, 10M", draws.make_count, draws.laplaces, 0.0, drawn(8)),
    Program("normals", "standard_normal, 10M", draws.make_count, draws.normals, 0.0, drawn(8)),
    Program("pi", "pi by 10M random points", draws.make_count, draws.pi, 0.0),
)
PROGRAMS = (*TABLE, *DRAWS)
GROUPS = {"table": TABLE, "draws": DRAWS, "all": PROGRAMS}


def chosen(names: str) -> list[Program]:
    """Return the programs named in a comma-separated list of programs and groups.

    Raises
    ------
    ValueError
        No program has one of the names.
    """
    by_name = {program.name: (program,) for program in PROGRAMS} | GROUPS
    unknown = [name for name in names.split(",") if name not in by_name]
    if unknown:
        msg = f"no program {', '.join(unknown)}; there are {', '.join(by_name)}"
        raise ValueError(msg)
    return list(dict.fromkeys(program for name in names.split(",") for program in by_name[name]))
