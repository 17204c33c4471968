"""Every method of NumPy's random classes, called in several ways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from collections.abc import Callable

Call = tuple[tuple[Any, ...], dict[str, Any]]


def call(*args: Any, **kwargs: Any) -> Call:
    """Return the operands of one call."""
    return args, kwargs


def sized(*args: Any) -> list[Call]:
    """Return calls for one value, for some, and for an array of many."""
    return [call(*args, **named) for named in ({}, {"size": 5}, {"size": (7, 3)}, {"size": [2, 2]})]


_MATRIX = [[2.0, 0.3], [0.3, 1.0]]
_SPREAD = numpy.array([0.5, 1.0, 2.0])  # broadcast with the size

COMMON: dict[str, list[Call]] = {
    "beta": [*sized(1.5, 2.0), call(_SPREAD, 2.0)],
    "binomial": [*sized(10, 0.3), *sized(100, 0.5), call(10, [0.1, 0.9], size=(4, 2))],
    "bytes": [call(1), call(13), call(40)],
    "chisquare": sized(3),
    "choice": [
        call(5), call(5, 11), call(7, 6, False), call([3, 1, 4], (3, 4)),
        call(3, 9, p=[0.2, 0.3, 0.5]), call(numpy.arange(6.0), 4, replace=False),
    ],
    "dirichlet": [call([1.0, 2.0, 3.0]), call([0.5, 0.5], 6)],
    "exponential": [*sized(2.0), call(_SPREAD, size=(4, 3)), call()],
    "f": sized(2.0, 3.0),
    "gamma": [*sized(2.0, 3.0), call(_SPREAD)],
    "geometric": [*sized(0.2), *sized(0.7)],
    "gumbel": [*sized(1.0, 2.0), call(_SPREAD)],
    "hypergeometric": [*sized(10, 8, 5), *sized(100, 80, 50)],
    "laplace": [*sized(1.0, 2.0), call(_SPREAD)],
    "logistic": sized(1.0, 2.0),
    "lognormal": sized(0.5, 2.0),
    "logseries": sized(0.6),
    "multinomial": [call(10, [0.2, 0.8]), call(10, [0.2, 0.3, 0.5], size=4)],
    "multivariate_normal": [call([0.0, 1.0], _MATRIX), call([0.0, 1.0], _MATRIX, 6)],
    "negative_binomial": sized(5, 0.4),
    "noncentral_chisquare": sized(3.0, 2.0),
    "noncentral_f": sized(3.0, 4.0, 1.0),
    "normal": [*sized(1.0, 2.0), call(_SPREAD, 1.0), call(size=12)],
    "pareto": sized(3.0),
    "permutation": [call(9), call([3, 1, 4, 1]), call(numpy.arange(12).reshape(4, 3))],
    "poisson": [*sized(0.5), *sized(40.0), call([1.0, 30.0], (3, 2))],
    "power": sized(2.5),
    "rayleigh": sized(2.0),
    "standard_cauchy": sized(),
    "standard_gamma": [*sized(2.0), call(_SPREAD)],
    "standard_t": sized(4.0),
    "triangular": [*sized(0.0, 1.0, 3.0), call(0.0, _SPREAD, 4.0)],
    "uniform": [*sized(), call(-1.0, 2.5, 6), call(0, 3, size=(5, 2)), call(0.0, _SPREAD)],
    "vonmises": sized(1.0, 2.0),
    "wald": sized(1.0, 2.0),
    "weibull": sized(2.0),
    "zipf": sized(2.5),
}  # fmt: skip

GENERATOR: dict[str, list[Call]] = COMMON | {
    "integers": [
        *sized(10), *sized(-3, 9), *sized(0, 2**40), *sized(0, 1 << 20),
        call(0, 2**32, 9), call(0, 2**32 - 1, 9), call(3, 4, 5), call(0, 2**63 - 1, 7),
        call(0, 2**64, 6, dtype="u8"), call(0, 256, 13, dtype=numpy.uint8),
        call(-128, 127, 13, numpy.int8, True), call(0, 8, 7, dtype="i1"), call(0, 7, 7, dtype="i1"),
        call(0, 2**16, (3, 3), dtype="u2"), call(0, 16, 5, dtype="i2"), call(0, 2, 40, dtype=bool),
        call(0, 2**32, 5, dtype="u4"), call(-8, 8, 5, dtype="i4"), call([1, 5, 9], 12),
        call(2, 9, 11),
        call(0, [4, 2**35], (3, 2)), call(7, size=3, endpoint=True), call(0, 4, 0),
    ],
    "multivariate_hypergeometric": [call([4, 5, 6], 7), call([4, 5, 6], 7, size=5)],
    "permuted": [call([3, 1, 4, 1]), call(numpy.arange(12).reshape(4, 3), axis=1)],
    "random": [
        *sized(), call(5, "f4"), call(8, dtype=numpy.float32), call((3, 5), numpy.float32),
        call(None, "f4"), call(0), call(()),
    ],
    "standard_exponential": [
        *sized(), call(6, method="inv"), call(7, "f4", "inv"), call(7, "f4", "zig"),
    ],
    "standard_normal": [*sized(), call(5, "f4")],
    "standard_gamma": [*COMMON["standard_gamma"], call(2.0, 5, "f4")],
    "shuffle": [call(numpy.arange(9)), call(numpy.arange(12).reshape(4, 3), axis=1)],
    "spawn": [call(2)],
}  # fmt: skip

RANDOM_STATE: dict[str, list[Call]] = COMMON | {
    "get_state": [call(), call(legacy=False)],
    "rand": [call(), call(5), call(4, 3)],
    "randint": [*sized(10), *sized(-3, 9), call(0, 256, 13, dtype=numpy.uint8), call(0, [4, 9])],
    "randn": [call(), call(5), call(4, 3)],
    "random": sized(),
    "random_integers": [call(5, size=4)],
    "random_sample": sized(),
    "seed": [call(3), call([3, 4])],
    "set_state": [],  # in a test of its own
    "shuffle": [call(numpy.arange(9))],
    "standard_exponential": sized(),
    "standard_normal": sized(),
    "tomaxint": [call(), call(5)],
}

FAULTY: list[Callable[[Any], Any]] = [
    lambda g: g.random(-1),
    lambda g: g.random((3, -2)),
    lambda g: g.random(1 << 62),
    lambda g: g.random((1 << 40, 1 << 40)),
    lambda g: g.integers(0, 8, 1 << 61),
    lambda g: g.random("many"),
    lambda g: g.random(5, dtype=int),
    lambda g: g.random(2.5),
    lambda g: g.random(3, out=numpy.empty(4)),
    lambda g: g.random(out=numpy.empty(4, "f4")),
    lambda g: g.random(3, 4, 5, 6),
    lambda g: g.random(count=3),
    lambda g: g.uniform(3.0, 1.0, 10),
    lambda g: g.uniform(0.0, float("inf"), 10),
    lambda g: g.uniform(0.0, "one", 10),
    lambda g: g.integers(5, 5, 10),
    lambda g: g.integers(0, 300, 10, dtype="u1"),
    lambda g: g.integers(-1, 3, 10, dtype=bool),
    lambda g: g.integers(0, 5, 10, dtype=float),
    lambda g: g.normal(0.0, -1.0, 10),
    lambda g: g.laplace(0.0, -1.0, 10),
    lambda g: g.triangular(2.0, 1.0, 3.0, 10),
    lambda g: g.choice(0, 10),
    lambda g: g.choice(-3, 10),
    lambda g: g.choice(3, 10, replace=False),
    lambda g: g.exponential(-1.0, 10),
]
