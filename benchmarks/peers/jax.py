"""The programs in JAX: pure functions under ``jit``, in double precision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy
from jax import lax

from benchmarks.orders import BINS, COUNTERS
from benchmarks.programs import TINY_ADDS, black_scholes_prices

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.programs import Host

jax.config.update("jax_enable_x64", True)


def arrays(host: Host) -> tuple[Any, ...]:
    """Return the data on JAX's first device."""
    return tuple(jnp.asarray(array) for array in host)


def whole(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function compiled; its results are brought home."""
    compiled = jax.jit(function)

    def run(*data: Any) -> Any:
        found = compiled(*data)
        if isinstance(found, tuple):
            return tuple(numpy.asarray(part) for part in found)
        return numpy.asarray(found)

    return run


def normalise(x: Any) -> Any:
    """Give every row mean 0 and standard deviation 1."""
    return (x - x.mean(axis=1, keepdims=True)) / x.std(axis=1, keepdims=True)


def jacobi(plate: Any) -> Any:
    """Sweep twenty times; each sweep gives a new plate."""

    def sweep(_: Any, u: Any) -> Any:
        mean = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return u.at[1:-1, 1:-1].set(mean)

    return lax.fori_loop(0, 20, sweep, plate)


def kmeans(points: Any, centres: Any) -> Any:
    """Take three steps of Lloyd's algorithm."""

    def step(_: Any, centres: Any) -> Any:
        squared = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        label = squared.argmin(axis=1)
        count = jnp.bincount(label, length=16)
        sums = jax.ops.segment_sum(points, label, num_segments=16)
        return sums / jnp.maximum(count, 1)[:, None]

    return lax.fori_loop(0, 3, step, centres)


def mandelbrot(c: Any) -> Any:
    """Count the steps until each point escapes; all points take all steps."""

    def step(_: Any, state: Any) -> Any:
        z, alive, times = state
        z = jnp.where(alive, z**2 + c, z)
        alive &= z.real**2 + z.imag**2 <= 4.0
        return z, alive, times + alive

    start = jnp.zeros_like(c), jnp.ones(c.shape, bool), jnp.zeros(c.shape, jnp.int64)
    return lax.fori_loop(0, 40, step, start)[2]


def boolean_filter(x: Any) -> Any:
    """Return mean and spread of what lies in a band; shapes cannot depend on values."""
    inside = (x > -0.5) & (x < 1.5)
    return x.mean(where=inside), x.std(where=inside)


def perceptron(x: Any, hidden: Any, hidden_bias: Any, out: Any, out_bias: Any) -> Any:
    """Run a hidden layer and a softmax."""
    h = jax.nn.relu(x @ hidden + hidden_bias)
    return jax.nn.softmax(h @ out + out_bias, axis=1)


def logistic(features: Any, target: Any) -> Any:
    """Descend the gradient for twenty steps."""

    def step(_: Any, weights: Any) -> Any:
        p = 1.0 / (1.0 + jnp.exp(-(features @ weights)))
        return weights - features.T @ (p - target) / len(target)

    return lax.fori_loop(0, 20, step, jnp.zeros(features.shape[1]))


def life(board: Any) -> Any:
    """Run ten generations on a torus."""
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]

    def generation(_: Any, board: Any) -> Any:
        around = sum(jnp.roll(board, shift, axis=(0, 1)) for shift in shifts)
        return ((around == 3) | ((board == 1) & (around == 2))).astype(board.dtype)

    return lax.fori_loop(0, 10, generation, board)


def einstein_sums(a: Any, b: Any, first: Any, second: Any, third: Any, u: Any, v: Any) -> Any:
    """Multiply two stacks of matrices, a chain of three, and rows with rows."""
    products = jnp.einsum("bij,bjk->bik", a, b)
    chained = jnp.einsum("ij,jk,kl", first, second, third)
    return products, chained, jnp.einsum("bi,bj->bij", u, v)


def nbody(mass: Any, position: Any, velocity: Any) -> Any:
    """Integrate softened gravity for 1,000 steps."""

    def step(_: Any, state: Any) -> Any:
        position, velocity = state
        away = position[None, :, :] - position[:, None, :]
        inverse = (jnp.sum(away * away, axis=2) + 0.05) ** -1.5
        velocity += 1e-4 * jnp.sum(away * (mass * inverse)[:, :, None], axis=1)
        return position + 1e-3 * velocity, velocity

    return lax.fori_loop(0, 1_000, step, (position, velocity))[0]


def tiny_add(a: Any, b: Any) -> Any:
    """Add two small vectors many times."""
    for _ in range(TINY_ADDS):
        c = a + b
    return numpy.asarray(c)


PROGRAMS = {
    "black_scholes": whole(lambda *data: black_scholes_prices(jnp, *data)),
    "fma_sum": whole(lambda a, b, c: (a * b + c).sum()),
    "normalise": whole(normalise),
    "jacobi": whole(jacobi),
    "kmeans": whole(kmeans),
    "mandelbrot": whole(mandelbrot),
    "filter": whole(boolean_filter),
    "mlp": whole(perceptron),
    "logistic": whole(logistic),
    "life": whole(life),
    "einsum": whole(einstein_sums),
    "histogram": whole(lambda x: jnp.histogram(x, bins=BINS)),
    "bincount": whole(lambda x: jnp.bincount(x, length=COUNTERS)),
    "cumsum": whole(jnp.cumsum),
    "gather": whole(lambda values, places: values[places]),
    "sort": whole(jnp.sort),
    "argsort": whole(jnp.argsort),
    "nbody": whole(nbody),
    "tiny_add": tiny_add,
}
