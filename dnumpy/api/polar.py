"""The polar decomposition of a matrix whose rows lie on nodes, and the products that it needs.

It is the iteration of Nakatsukasa, Bai and Gygi (2010), whose weights follow the least singular
value. The weights that it has for a very small one take a QR factorisation of the iterate over the
identity, of rows that differ by a factor of up to 1e11; the reflectors of a panel that lies on
several nodes are exact beside the largest row only, which cost eight digits. So weights are bounded
by what a Cholesky factorisation does without loss, and small singular values take more steps, each
of products, one factorisation and two substitutions: about seven where the condition is 1000, and
eighteen where there is no inverse. The least singular value is estimated on the way.

No matrix is whole in one place: products read some columns of the right factor at a time. Blocks
are of fixed sizes, so that the bits do not depend on the partition.
"""

from __future__ import annotations

from math import cbrt, log2, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy import engine
from dnumpy.api import blocks, factors, ufuncs
from dnumpy.api.array import from_expr
from dnumpy.api.record import content, operand
from dnumpy.kernels.blocked import most_rows
from dnumpy.ops.factor import DIVIDE, TAKE_COLUMNS, ColumnParams, DivideParams
from dnumpy.ops.products import PRODUCT_ROWS, ProductParams

if TYPE_CHECKING:
    from collections.abc import Iterator

EPS = float(np.finfo(np.float64).eps)
COLUMN_BYTES = 1 << 26  # of the right factor that every node reads at a time
FEWEST_CHUNKS = 4  # in which a right factor is read
PRODUCT_ROWS_MOST = 256  # of one call of the library
LEAST_PLANNED = 0.051  # the least singular value for which weights are chosen: c is 98 there
MOST_RAISING = 16  # steps that raise smaller ones, each 18 times: none but zero stays small
MOST_STEPS = 40
PROBES = 4  # vectors by which the least singular value is sought
POWERS = 6
INDEPENDENT = 1e-8  # of the largest square of a length: shorter directions are rounding
NEARLY_ONE = 0.9  # singular values from here on need no estimate any more
MISSING = 0.01  # of a vector: a singular value is zero, or was taken for a larger one

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # SplitMix64: Steele, Lea and Flood (2014)
_MIXING = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)


def settled(array: Any) -> Any:
    """Return an array, computed now, so that what made it can be let go."""
    engine.compute([content(array)])
    return array


def columns(array: Any, start: int, stop: int) -> Any:
    """Return a copy of columns; nothing else is read."""
    expr = content(array)
    if (start, stop) == (0, expr.shape[1]):
        return array
    shape = (expr.shape[0], stop - start)
    params = ColumnParams(start, stop)
    return from_expr(blocks.record(TAKE_COLUMNS, [expr], params, shape, expr.dtype))


def _chunks(shape: tuple[int, ...], itemsize: int) -> Iterator[tuple[int, int]]:
    """Return which columns of a right factor are read at a time."""
    rows, count = shape
    fitting = COLUMN_BYTES // max(rows * itemsize, 1)
    width = max(1, factors.panel_width(), min(-(-count // FEWEST_CHUNKS), fitting))
    for start in range(0, count, width):
        yield start, min(start + width, count)


def product(a: Any, b: Any) -> Any:
    """Return ``a @ b``, computed, of which no node has ``b`` whole at any time."""
    left = content(a)
    rows = max(1, min(left.shape[0], PRODUCT_ROWS_MOST, most_rows(left.shape[0])))
    params = ProductParams((True, False), conjugate=False, block=rows)
    pieces = []
    for start, stop in _chunks(b.shape, left.dtype.itemsize):
        args = [left, content(columns(b, start, stop))]
        shape = (left.shape[0], stop - start)
        made = blocks.record(PRODUCT_ROWS, args, params, shape, left.dtype)
        pieces.append(settled(from_expr(made)))
    return settled(factors.joined(pieces, 1))


def adjoint(a: Any) -> Any:
    """Return the conjugate transpose, in memory of its own, exchanged between the nodes."""
    turned = blocks.permuted(a, (1, 0))
    return turned.conj() if a.dtype.kind == "c" else turned


def hermitian_part(a: Any) -> Any:
    """Return the mean of a matrix and its conjugate transpose, computed."""
    return settled((a + adjoint(a)) * 0.5)


def square_sum(a: Any) -> float:
    """Return the sum of the squares of all sizes."""
    squares = a.real**2 + a.imag**2 if a.dtype.kind == "c" else a * a
    return float(squares.sum())


def random_matrix(shape: tuple[int, int], dtype: np.dtype) -> Any:
    """Return a matrix of numbers between -1/2 and 1/2, always the same ones, made on the nodes."""
    rows, across = (factors.count(extent).astype(np.uint64) for extent in shape)
    mixed = (rows[:, None] * np.uint64(shape[1]) + across + np.uint64(1)) * _GOLDEN
    for shift, factor in _MIXING:
        mixed = (mixed ^ (mixed >> shift)) * factor
    return settled(((mixed >> np.uint64(11)) * 2.0**-53 - 0.5).astype(dtype))


def norm_bound(a: Any) -> float:
    """Return a bound of the largest singular value; not finite where an element is not."""
    size = ufuncs.call(np.abs, (a,), {})
    rows, across = float(size.sum(axis=1).max()), float(size.sum(axis=0).max())
    return sqrt(rows) * sqrt(across)


def power_of_two(size: float) -> float:
    """Return about ``1 / size``, by which nothing is rounded."""
    return float(2.0 ** min(-round(log2(size)), 1000))


class Polar(NamedTuple):
    """``unitary`` is the factor with singular values one, but for ``missing`` that are zero."""

    unitary: Any
    missing: float


def polar(a: Any, *, hermitian: bool = False) -> Polar:
    """Return the unitary polar factor of a square matrix with finite elements, not all zero.

    That of a Hermitian matrix is its sign, and Hermitian too.
    """
    x = settled(a * (1.0 / norm_bound(a)))
    least, missing = 0.0, 0.0
    for count in range(MOST_STEPS):
        weights = _weights(max(least, LEAST_PLANNED))
        found, solved = _step(x, weights, hermitian=hermitian)
        if least < NEARLY_ONE:
            least = _least_singular(x, solved, weights.c, hermitian=hermitian)
        least = 1.0 if count >= MOST_RAISING else min(1.0, weights.of(least))
        moved = sqrt(square_sum(found - x))
        x = found
        if moved > cbrt(4 * EPS):  # it converges by the third power
            continue
        missing = x.shape[0] - square_sum(x)
        if missing < MISSING or count > MOST_RAISING:
            break
        least = 0.0
    return Polar(x, missing)


def _least_singular(x: Any, solved: Any, c: float, *, hermitian: bool) -> float:
    """Return about the least singular value, seldom less; 0 for what is small beside 1/sqrt(c).

    Of the inverse of ``identity + c x^H x``, which is ``identity - c x^H solved``, it is the
    largest, and that is sought in the space of a few vectors and what its powers make of them.
    """
    left = x if hermitian else settled(adjoint(x))
    vectors = random_matrix((x.shape[0], PROBES), x.dtype)
    powers = [vectors]
    for _ in range(POWERS):
        vectors = settled(vectors - product(left, product(solved, vectors)) * c)
        powers.append(vectors)
    every = settled(factors.joined(powers, 1))
    largest = _largest_seen(factors.home(factors.crossed(every, every)))
    return sqrt(max(1.0 / largest - 1.0, 0.0) / c)


def _largest_seen(gram: np.ndarray) -> float:
    """Return the largest eigenvalue in the space of vectors, from all products of their powers."""
    size = np.sqrt(gram.diagonal().real[:-PROBES])
    products = gram[:-PROBES, :-PROBES] / np.outer(size, size)
    mapped = gram[:-PROBES, PROBES:] / np.outer(size, size)
    lengths, axes = np.linalg.eigh((products + products.conj().T) / 2)
    kept = lengths > INDEPENDENT * lengths[-1]
    axes = axes[:, kept] / np.sqrt(lengths[kept])
    seen = axes.conj().T @ mapped @ axes
    return float(np.linalg.eigvalsh((seen + seen.conj().T) / 2)[-1])


class _Weights(NamedTuple):
    """A step maps a singular value s to ``s (a + b s^2) / (1 + c s^2)``."""

    a: float
    b: float
    c: float

    def of(self, value: float) -> float:
        """Return what becomes of a singular value."""
        return value * (self.a + self.b * value**2) / (1 + self.c * value**2)


def _weights(least: float) -> _Weights:
    """Return the weights that raise the ``least`` singular value most, and leave 1 where it is."""
    square = least * least
    d = cbrt(4.0 * (1.0 - square) / (square * square))
    root = sqrt(1.0 + d)
    under = 8.0 - 4.0 * d + 8.0 * (2.0 - square) / (square * root)
    a = root + 0.5 * sqrt(max(under, 0.0))
    b = (a - 1.0) ** 2 / 4.0
    return _Weights(a, b, a + b - 1.0)


def _step(x: Any, weights: _Weights, *, hermitian: bool) -> tuple[Any, Any]:
    """Return the next iterate, and ``x @ inv(identity + c x^H x)``, by Cholesky's factor."""
    a, b, c = weights
    size = x.shape[0]
    gram = product(x if hermitian else settled(adjoint(x)), x)
    system = settled(gram * c + factors.identity(size, size, x.dtype))
    solved = _divided(x, settled(factors.cholesky(system)))
    found = settled(x * (b / c) + solved * (a - b / c))
    return hermitian_part(found) if hermitian else found, solved


def _divided(x: Any, lower: Any) -> Any:
    """Return ``x @ inv(lower @ lower^H)`` for a factor of small condition."""
    size = lower.shape[0]
    width = factors.panel_width()
    starts = range(0, size, width)
    inverses = {}
    for start in starts:
        stop = min(start + width, size)
        panel = factors.home(columns(lower, start, stop)[start:])
        inverses[start] = inverse = np.linalg.inv(panel[: stop - start])
        rest = panel[stop - start :].conj().T
        x = _divide(x, inverse.conj().T, rest, DivideParams(start, stop, stop))
    for start in reversed(starts):
        stop = min(start + width, size)
        rest = factors.home(lower[start:stop])[:, :start]
        x = _divide(x, inverses[start], rest, DivideParams(start, stop, 0))
    return x


def _divide(x: Any, inverse: Any, rest: Any, params: DivideParams) -> Any:
    expr = content(x)
    args = [expr, operand(np.ascontiguousarray(inverse)), operand(np.ascontiguousarray(rest))]
    return settled(from_expr(blocks.record(DIVIDE, args, params, expr.shape, expr.dtype)))
