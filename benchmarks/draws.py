"""Programs that draw random numbers; each run starts from the same seed."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from collections.abc import Callable

TINY_DRAWS = 10_000


def make_count(scale: float) -> tuple[numpy.ndarray, ...]:
    """Return how many values to draw."""
    return (numpy.array(max(int(10_000_000 * scale), 4)),)


def drawing(draw: Callable[[Any, int], Any]) -> Callable[[Any, Any], Any]:
    """Return the program that draws ``draw(generator, count)`` into memory."""
    return lambda np, data: numpy.asarray(draw(np.random.default_rng(1), int(data[0])))


def pi(np: Any, data: Any) -> Any:
    """Return the share of random points that lie inside the circle."""
    generator, count = np.random.default_rng(1), int(data[0])
    x, y = generator.random(count), generator.random(count)
    return float((x * x + y * y < 1.0).mean()) * 4.0


def tiny_draws(np: Any, _: Any) -> Any:
    """Draw one value and an array of three, many times."""
    generator = np.random.default_rng(1)
    for _ in repeat(None, TINY_DRAWS):
        one = generator.random()
        three = generator.random(3)
    return numpy.asarray(three) + one


doubles = drawing(lambda generator, count: generator.random(count))
singles = drawing(lambda generator, count: generator.random(count, dtype=numpy.float32))
powers = drawing(lambda generator, count: generator.integers(0, 1 << 20, count))
hundreds = drawing(lambda generator, count: generator.integers(0, 100, count))
uniforms = drawing(lambda generator, count: generator.uniform(-1.0, 1.0, count))
laplaces = drawing(lambda generator, count: generator.laplace(0.0, 1.0, count))
normals = drawing(lambda generator, count: generator.standard_normal(count))
