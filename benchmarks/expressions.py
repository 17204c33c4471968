"""Small expressions of every kind that a phase can hold; what kernels they cause is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

if TYPE_CHECKING:
    from collections.abc import Callable

ROWS, WIDTH = 60, 600  # rows of more than a block of summation are walked one by one


class Data(NamedTuple):
    """Arrays of several dtypes: matrices but for the last, which is one row."""

    x: Any
    y: Any
    single: Any
    whole: Any
    mask: Any
    complex: Any
    row: Any


def data(np: Any) -> Data:
    """Return the same arrays every time, as arrays of the module."""
    rng, shape = numpy.random.default_rng(4), (ROWS, WIDTH)
    x, y, row = rng.random(shape), rng.random(shape), rng.random(WIDTH)
    whole = rng.integers(1, 9, shape)
    arrays = (x, y, x.astype("f4"), whole, x > 0.5, x + 1j * y, row)
    return Data(*(np.array(array) for array in arrays))


def stencil(_: Any, d: Data) -> Any:
    """Average neighbours in place."""
    u = d.x.copy()
    u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u


def masked(_: Any, d: Data) -> Any:
    """Write where a mask says."""
    u = d.x.copy()
    u[d.mask] = d.y[d.mask] * 2.0
    return u


def softmax(np: Any, d: Data) -> Any:
    """Normalise the exponentials of each row."""
    e = np.exp(d.x - d.x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


EXPRESSIONS: dict[str, Callable[[Any, Data], Any]] = {
    "chain": lambda _, d: d.x * d.y + d.x / 3.0,
    "casts": lambda _, d: (d.single * 2 + d.whole).astype("f4"),
    "integers": lambda _, d: (d.whole * 3 - 1) // 2 % 5,
    "comparisons": lambda _, d: (d.x > 0.25) & (d.y <= d.x) | d.mask,
    "where": lambda np, d: np.where(d.mask, d.x * 2.0, d.y - 1.0),
    "transcendental": lambda np, d: np.exp(-d.x) * np.sin(d.y) + np.log(d.x + 1.0),
    "complex": lambda np, d: np.abs(d.complex * d.complex + 1.0),
    "parts": lambda _, d: d.complex.real**2 + d.complex.imag**2,
    "broadcast row": lambda _, d: (d.x - d.row) * d.row,
    "outer": lambda _, d: d.row[:, None] * d.row[None, :] + 1.0,
    "transpose": lambda _, d: d.x.T * 2.0 + d.y.T,
    "strided": lambda _, d: d.x[::2, ::2] + d.y[::2, ::2] * 0.5,
    "sum": lambda _, d: (d.x * d.y + 1.0).sum(),
    "row sums": lambda _, d: (d.x * d.y).sum(axis=1),
    "column sums": lambda _, d: (d.x * d.y).sum(axis=0),
    "several sums": lambda _, d: (d.x * d.y).sum() / (d.x * d.x).sum(),
    "extremes": lambda _, d: (d.x * 2.0).max(axis=1) - (d.x * 2.0).min(axis=1),
    "all and any": lambda _, d: ((d.x + d.y) > 0.1).all(axis=1),
    "variance": lambda _, d: (d.x + 1.0).var(axis=1),
    "argmin": lambda _, d: ((d.x - d.y) ** 2).argmin(axis=1),
    "masked sum": lambda _, d: (d.x * 2.0)[d.mask].sum(),
    "distances": lambda _, d: ((d.x[:, None, :4] - d.y[None, :8, :4]) ** 2).sum(axis=2),
    "matrix product": lambda np, d: np.maximum(d.x @ d.y.T + 1.0, 0.0),
    "softmax": softmax,
    "stencil": stencil,
    "masked write": masked,
}
