"""The programs as one would write them by hand in Numba: fused loops, a thread for each core."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy
from threadpoolctl import threadpool_limits

from benchmarks.orders import BINS, COUNTERS
from benchmarks.peers import numba_orders
from benchmarks.peers.compiled import inlined, parallel, prange, threads

if TYPE_CHECKING:
    from benchmarks.programs import Host


def arrays(host: Host) -> Host:
    """Return the host arrays themselves."""
    return host


@inlined
def normal_cdf(x: Any) -> Any:
    """Return Abramowitz and Stegun's approximation 26.2.17."""
    t = 1.0 / (1.0 + 0.2316419 * abs(x))
    inner = -1.821255978 + 1.330274429 * t
    inner = t * (0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * inner)))
    tail = math.exp(-0.5 * x * x) * 0.3989422804014327 * inner
    return 1.0 - tail if x >= 0.0 else tail


@parallel
def black_scholes(spot: Any, strike: Any, years: Any) -> Any:
    """Price calls and puts."""
    call, put = numpy.empty_like(spot), numpy.empty_like(spot)
    for i in prange(len(spot)):
        spread = 0.25 * math.sqrt(years[i])
        d1 = (math.log(spot[i] / strike[i]) + (0.03 + 0.5 * 0.25**2) * years[i]) / spread
        discounted = strike[i] * math.exp(-0.03 * years[i])
        call[i] = spot[i] * normal_cdf(d1) - discounted * normal_cdf(d1 - spread)
        put[i] = call[i] - spot[i] + discounted
    return call, put


@parallel
def multiply_add_sum(a: Any, b: Any, c: Any) -> Any:
    """Sum a product and an addend."""
    total = 0.0
    for i in prange(len(a)):
        total += a[i] * b[i] + c[i]
    return total


@parallel
def normalise(x: Any) -> Any:
    """Give every row mean 0 and standard deviation 1."""
    rows, width = x.shape
    out = numpy.empty_like(x)
    for i in prange(rows):
        total = 0.0
        for j in range(width):
            total += x[i, j]
        mean, squares = total / width, 0.0
        for j in range(width):
            squares += (x[i, j] - mean) ** 2
        factor = 1.0 / math.sqrt(squares / width)
        for j in range(width):
            out[i, j] = (x[i, j] - mean) * factor
    return out


@parallel
def sweep(old: Any, new: Any) -> None:
    """Write the mean of the four neighbours into the interior."""
    rows, width = old.shape
    for i in prange(1, rows - 1):
        north, south, to = old[i - 1, 1:-1], old[i + 1, 1:-1], new[i, 1:-1]
        west, east = old[i, :-2], old[i, 2:]
        for j in range(width - 2):
            to[j] = 0.25 * (north[j] + south[j] + west[j] + east[j])


def jacobi(plate: Any) -> Any:
    """Sweep twenty times between two plates."""
    old, new = plate.copy(), plate.copy()
    for _ in range(20):
        sweep(old, new)
        old, new = new, old
    return old


@parallel
def lloyd(points: Any, centres: Any, parts: Any) -> Any:
    """Take one step: each thread adds up its own part."""
    n, k = len(points), len(centres)
    sums = numpy.zeros((parts, k, 16))  # four coordinates, the count, and room between them
    for t in prange(parts):
        own = sums[t]
        for i in range(n * t // parts, n * (t + 1) // parts):
            best, label = numpy.inf, 0
            for c in range(k):
                d = (points[i, 0] - centres[c, 0]) ** 2 + (points[i, 1] - centres[c, 1]) ** 2
                d += (points[i, 2] - centres[c, 2]) ** 2 + (points[i, 3] - centres[c, 3]) ** 2
                if d < best:
                    best, label = d, c
            for axis in range(4):
                own[label, axis] += points[i, axis]
            own[label, 4] += 1.0
    total = sums.sum(axis=0)
    out = numpy.empty_like(centres)
    for c in range(k):
        out[c] = total[c, :4] / max(total[c, 4], 1.0)
    return out


def kmeans(points: Any, centres: Any) -> Any:
    """Take three steps of Lloyd's algorithm."""
    for _ in range(3):
        centres = lloyd(points, centres, threads())
    return centres


@parallel
def mandelbrot(c: Any) -> Any:
    """Count the steps until each point escapes."""
    rows, width = c.shape
    times = numpy.empty(c.shape, numpy.int64)
    for i in prange(rows):
        for j in range(width):
            x = y = 0.0
            count = 0
            while count < 40:
                x, y = x * x - y * y + c[i, j].real, 2.0 * x * y + c[i, j].imag
                if not x * x + y * y <= 4.0:
                    break
                count += 1
            times[i, j] = count
    return times


@parallel
def boolean_filter(x: Any) -> Any:
    """Return mean and spread of what lies in a band, in two passes without a copy."""
    count, total, squares = 0, 0.0, 0.0
    for i in prange(len(x)):
        inside = (x[i] > -0.5) & (x[i] < 1.5)
        count += inside
        total += x[i] if inside else 0.0
    mean = total / count
    for i in prange(len(x)):
        inside = (x[i] > -0.5) & (x[i] < 1.5)
        squares += (x[i] - mean) ** 2 if inside else 0.0
    return mean, math.sqrt(squares / count)


@parallel
def gradient(features: Any, target: Any, weights: Any, parts: Any) -> Any:
    """Return the gradient in one pass over the features."""
    n, width = features.shape
    sums = numpy.zeros((parts, width + 8))
    for t in prange(parts):
        own = sums[t]
        for i in range(n * t // parts, n * (t + 1) // parts):
            dot = 0.0
            for j in range(width):
                dot += features[i, j] * weights[j]
            off = 1.0 / (1.0 + math.exp(-dot)) - target[i]
            for j in range(width):
                own[j] += features[i, j] * off
    return sums.sum(axis=0)[:width] / n


def logistic(features: Any, target: Any) -> Any:
    """Descend the gradient for twenty steps."""
    weights = numpy.zeros(features.shape[1])
    for _ in range(20):
        weights -= gradient(features, target, weights, threads())
    return weights


@parallel
def perceptron(x: Any, hidden: Any, hidden_bias: Any, out: Any, out_bias: Any) -> Any:
    """Run a hidden layer and a softmax; the products are the BLAS library's."""
    h = numpy.dot(x, hidden)
    for i in prange(len(h)):
        for j in range(h.shape[1]):
            h[i, j] = max(h[i, j] + hidden_bias[j], numpy.float32(0.0))
    s = numpy.dot(h, out)
    for i in prange(len(s)):
        s[i] += out_bias
        s[i] = numpy.exp(s[i] - s[i].max())
        s[i] /= s[i].sum()
    return s


@parallel
def generation(old: Any, new: Any) -> None:
    """Write the next generation on a torus: sums of three rows, then of three of these sums."""
    rows, width = old.shape
    for i in prange(rows):
        up, here, down, to = old[i - 1], old[i], old[(i + 1) % rows], new[i]
        sums = numpy.empty(width + 2, numpy.uint8)  # few streams in a loop: it is vectorised
        inner = sums[1:-1]
        for j in range(width):
            inner[j] = up[j] + here[j] + down[j]
        sums[0], sums[-1] = inner[-1], inner[0]
        left, right = sums[:-2], sums[2:]
        for j in range(width):
            nine = numpy.uint8(left[j] + inner[j] + right[j])
            to[j] = (nine == 3) | ((nine == 4) & (here[j] == 1))


def life(board: Any) -> Any:
    """Run ten generations."""
    old, new = board.copy(), numpy.empty_like(board)
    for _ in range(10):
        generation(old, new)
        old, new = new, old
    return old


@parallel
def products_of(a: Any, b: Any, u: Any, v: Any) -> Any:
    """Multiply two stacks of matrices, and rows with rows."""
    products = numpy.empty_like(a)
    outer = numpy.empty((u.shape[0], u.shape[1], v.shape[1]))
    for i in prange(len(a)):
        numpy.dot(a[i], b[i], products[i])
    for i in prange(len(u)):
        for j in range(u.shape[1]):
            for k in range(v.shape[1]):
                outer[i, j, k] = u[i, j] * v[i, k]
    return products, outer


def einstein_sums(a: Any, b: Any, first: Any, second: Any, third: Any, u: Any, v: Any) -> Any:
    """Multiply two stacks of matrices, a chain of three, and rows with rows."""
    with threadpool_limits(1, "blas"):  # each of our threads calls the library for itself
        products, outer = products_of(a, b, u, v)
    return products, first @ second @ third, outer


@parallel
def leap(mass: Any, position: Any, velocity: Any, moved: Any) -> None:
    """Take one step of softened gravity."""
    for i in prange(len(mass)):
        ax = ay = az = 0.0
        for j in range(len(mass)):
            x = position[j, 0] - position[i, 0]
            y = position[j, 1] - position[i, 1]
            z = position[j, 2] - position[i, 2]
            squared = x * x + y * y + z * z + 0.05
            pull = mass[j] / (squared * math.sqrt(squared))
            ax, ay, az = ax + x * pull, ay + y * pull, az + z * pull
        velocity[i, 0] += 1e-4 * ax
        velocity[i, 1] += 1e-4 * ay
        velocity[i, 2] += 1e-4 * az
        moved[i] = position[i] + 1e-3 * velocity[i]


def nbody(mass: Any, position: Any, velocity: Any) -> Any:
    """Integrate for 1,000 steps."""
    position, velocity, moved = position.copy(), velocity.copy(), position.copy()
    for _ in range(1_000):
        leap(mass, position, velocity, moved)
        position, moved = moved, position
    return position


PROGRAMS = {
    "black_scholes": black_scholes,
    "fma_sum": multiply_add_sum,
    "normalise": normalise,
    "jacobi": jacobi,
    "kmeans": kmeans,
    "mandelbrot": mandelbrot,
    "filter": boolean_filter,
    "mlp": perceptron,
    "logistic": logistic,
    "life": life,
    "einsum": einstein_sums,
    "nbody": nbody,
    "histogram": lambda x: numba_orders.histogram(x, BINS, threads()),
    "bincount": lambda x: numba_orders.bincount(x, COUNTERS, threads()),
    "cumsum": lambda x: numba_orders.cumsum(x, 8 * threads()),
    "gather": numba_orders.gather,
    "sort": numba_orders.sort,
    "argsort": numba_orders.argsort,
}
