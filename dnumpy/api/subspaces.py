"""Eigenvalues and vectors of a large matrix that is not Hermitian, on nodes.

The sign of a matrix (each eigenvalue becomes 1 or -1, by the side of the imaginary axis that it is
on) tells two invariant subspaces apart. It is found by Newton's iteration, of inverses alone, on
the matrix less a shift, or on what maps a circle or a turned line to that axis; in orthonormal
bases of both the matrix becomes two smaller ones, and so on until a node can take what is left
(Bai and Demmel, 1993; with random vectors for the bases, Demmel, Dumitriu and Holtz, 2007). The
bases of the two subspaces are not orthogonal to each other, so that eigenvectors are only ever
multiplied by orthonormal columns and no equation is solved for them.

An inverse may lose what the matrix holds, where eigenvalues lie near the line or a small change
moves them far. So every division is measured: what the matrix maps out of a subspace must be
rounding, ``size * EPS`` of its norm, or another line is tried. Where none divides (a Jordan block,
the discretised operators whose eigenvalues no rounding leaves in place) :class:`NotDivided` is
raised, and LAPACK on one node is what remains.
"""

from __future__ import annotations

from itertools import islice
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.api import composites, factors, spectral, ufuncs
from dnumpy.api.factors import count
from dnumpy.api.polar import EPS, adjoint, columns, product, random_matrix, settled, square_sum
from dnumpy.api.spectral import (
    Eigen,
    NotDivided,
    by_rows,
    diagonal_of,
    off_diagonal,
    unit_scale,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MOST_FAILURES = 5  # curves that told nothing: rounding hides the spectrum from all of them
MOST_STEPS = 30  # of Newton's iteration: twelve are usual
SCALED_ABOVE = 1e-2  # moves below this fraction of the norm: it converges by the second power
CONVERGED = 1e-6
STALLED = 1e-3  # moves below this that no longer halve are rounding
_UNSURE = 0.1  # of an eigenvalue between two sides: it is on the line itself

# of the spread of the eigenvalues; the mean has some on either side, if they are not all on a line
_LINES = (1 / 97, -1 / 103, 1 / 29, -1 / 31, 1 / 11, -1 / 7, 1 / 3.1, -1 / 4.3, 1 / 997, -1 / 1009)
_RADII = (0.9, 0.5, 0.7, 1.1, 0.3, 0.1)

_lapack: Any = np.linalg._umath_linalg


class _Block(NamedTuple):
    """The matrix in an invariant subspace, and orthonormal columns; None for all of space."""

    matrix: Any
    basis: Any


def eig(a: Any, *, vectors: bool) -> Eigen:
    """Return complex eigenvalues in no order, and vectors of length one by columns if asked.

    The largest element of every vector is real, as LAPACK's are. Raises NotFinite, or NotDivided.
    """
    a = by_rows(a)
    factor = unit_scale(a)
    matrix = settled(a * factor) if factor else a
    norm = sqrt(square_sum(matrix))
    stack, done = [_Block(matrix, None)], []
    while stack:
        block = stack.pop()
        found = _at_once(block.matrix, norm, vectors=vectors)
        if found is None:
            stack += _divided(block, norm, vectors=vectors)
        else:
            done.append(_in_basis(found, block.basis))
    values = np.concatenate([e.values for e in done]) / (factor or 1.0)
    if not vectors:
        return Eigen(values, None)
    return Eigen(values, _turned(settled(factors.joined([e.vectors for e in done], 1))))


def _at_once(matrix: Any, norm: float, *, vectors: bool) -> Eigen | None:
    """Return what one node finds, or what a matrix shows; None if it is to be divided."""
    if spectral.fits_one_node(matrix):
        if not vectors:
            return Eigen(np.asarray(spectral.on_one_node(_lapack.eigvals, matrix)), None)
        values, found = spectral.on_one_node(_lapack.eig, matrix)
        return Eigen(np.asarray(values), found)
    diagonal = diagonal_of(matrix)
    if not vectors and _triangular(matrix):
        return Eigen(diagonal.astype(np.complex128), None)
    if off_diagonal(matrix, diagonal) > EPS * norm:
        return None
    size = len(diagonal)
    dtype = np.dtype(np.complex128)
    return Eigen(diagonal.astype(dtype), factors.identity(size, size, dtype) if vectors else None)


def _triangular(matrix: Any) -> bool:
    """Say whether all is zero on one side of the diagonal."""
    across = count(matrix.shape[0])
    sides = [ufuncs.call(side, (across[:, None], across), {}) for side in (np.less, np.greater)]
    zero = matrix.dtype.type(0)
    return not all(bool((composites.where(side, matrix, zero) != 0).any()) for side in sides)


def _in_basis(found: Eigen, basis: Any) -> Eigen:
    if found.vectors is None or basis is None:
        return found
    vectors = settled(found.vectors)
    if basis.dtype.kind == "c":
        return found._replace(vectors=product(basis, vectors))
    real, imaginary = (product(basis, settled(v.copy())) for v in (vectors.real, vectors.imag))
    return found._replace(vectors=settled(real + imaginary * 1j))


def _turned(vectors: Any) -> Any:
    """Return the columns, each times a number of size one that makes its largest element real."""
    square = vectors.real**2 + vectors.imag**2
    largest = np.asarray(square.argmax(axis=0))
    named = ufuncs.call(np.equal, (count(vectors.shape[0])[:, None], largest), {})
    kept = np.asarray(composites.where(named, vectors, 0.0).sum(axis=0))
    return settled(vectors * (kept.conj() / np.abs(kept)))


# ---------------------------------------------------------------- division


def _divided(block: _Block, norm: float, *, vectors: bool) -> list[_Block]:
    """Return the matrix in two invariant subspaces; raises NotDivided."""
    matrix = block.matrix
    enough = matrix.shape[0] * EPS * norm
    for sign, above in islice(_signs(matrix), MOST_FAILURES):
        if sign is None:
            continue
        parts = [_restricted(matrix, q) for q in _bases(sign, above)]
        if all(part.missed <= enough for part in parts):
            return [_Block(p.matrix, _within(block.basis, p.basis, vectors)) for p in parts]
    raise NotDivided


def _within(outer: Any, basis: Any, vectors: bool) -> Any:
    """Return the columns in the space that the outer ones are in; None where no vector is asked."""
    if not vectors:
        return None
    return basis if outer is None else product(outer, basis)


class _Restricted(NamedTuple):
    """``missed`` is the norm of what the matrix maps out of the subspace."""

    matrix: Any
    basis: Any
    missed: float


def _restricted(matrix: Any, basis: Any) -> _Restricted:
    mapped = product(matrix, basis)
    inner = product(settled(adjoint(basis)), mapped)
    return _Restricted(inner, basis, sqrt(square_sum(settled(mapped - product(basis, inner)))))


def _signs(matrix: Any) -> Iterator[tuple[Any, int]]:
    """Give signs with how many eigenvalues are positive, where some are and some are not.

    None stands for a sign that was not found, or that does not tell how many.

    In every family of curves there are fewer beyond a curve the larger its parameter is, so that
    what one shows of all eigenvalues saves others.
    """
    size = matrix.shape[0]
    mean = diagonal_of(matrix).sum() / size
    centred = settled(matrix - factors.identity(size, size, matrix.dtype) * mean)
    spread = sqrt(square_sum(centred) / size)
    for curve, parameters in _families(matrix.dtype):
        every, none = -inf, inf
        for parameter in parameters:
            if not every < parameter < none:
                continue
            sign = _sign_beyond(curve, centred, parameter * spread)
            above = None if sign is None else _positive(sign)
            if above is None or 0 < above < size:
                yield (sign, above) if above else (None, 0)
            elif above:
                every = max(every, parameter)
            else:
                none = min(none, parameter)


def _positive(sign: Any) -> int | None:
    """Return how many eigenvalues of a sign are 1; None where rounding hides it."""
    size = sign.shape[0]
    share = (size + float(diagonal_of(sign).sum().real)) / 2
    sure = 0 <= round(share, 1) <= size and abs(share - round(share)) <= _UNSURE
    return round(share) if sure else None


def _families(dtype: np.dtype) -> Iterator[tuple[Callable[[Any, float], Any], tuple[float, ...]]]:
    """Give what maps a matrix so that a curve becomes the imaginary axis, and its parameters.

    The eigenvalues of a real matrix come in conjugate pairs, which lines upright and circles around
    a real number keep together: no complex number is needed.
    """
    yield _line(1.0), _LINES
    yield _circle, _RADII
    if dtype.kind == "c":
        for angle in (90, 45, 135):
            yield _line(np.exp(-1j * np.deg2rad(angle))), _LINES


def _line(turn: complex) -> Callable[[Any, float], Any]:
    """Return what maps a line at a distance from 0, turned by an angle, to the imaginary axis."""

    def mapped(matrix: Any, distance: float) -> Any:
        size = matrix.shape[0]
        turned = matrix if turn == 1.0 else matrix * turn
        return settled(turned - factors.identity(size, size, matrix.dtype) * distance)

    return mapped


def _circle(matrix: Any, radius: float) -> Any:
    """Return ``(A - r) / (A + r)``: the circle around 0 becomes the imaginary axis."""
    size = matrix.shape[0]
    shift = settled(factors.identity(size, size, matrix.dtype) * radius)
    return settled(factors.solve(settled(matrix + shift), settled(matrix - shift)))


def _sign_beyond(curve: Callable[[Any, float], Any], matrix: Any, parameter: float) -> Any:
    """Return the sign of the mapped matrix; None where an eigenvalue is on the curve."""
    try:
        return matrix_sign(curve(matrix, parameter))
    except ZeroDivisionError:
        return None


def matrix_sign(x: Any) -> Any:
    """Return the sign of a matrix by Newton's iteration, scaled by norms (Higham, 2008, chapter 5).

    None where it does not converge. Raises ZeroDivisionError where an inverse is missing.
    """
    size, last, scaled = x.shape[0], inf, True
    identity = settled(factors.identity(size, size, x.dtype))
    for _ in range(MOST_STEPS):
        inverse = settled(factors.solve(x, identity))
        weight = sqrt(sqrt(square_sum(inverse) / square_sum(x))) if scaled else 1.0
        if not isfinite(weight) or not weight:
            return None
        found = settled(x * (0.5 * weight) + inverse * (0.5 / weight))
        moved = sqrt(square_sum(found - x) / square_sum(found))
        x = found
        if moved < CONVERGED or (not scaled and last / 2 < moved < STALLED):
            return settled(x * 1.5 - product(x, product(x, x)) * 0.5)
        scaled = scaled and moved > SCALED_ABOVE
        last = moved
    return None


def _bases(sign: Any, above: int) -> list[Any]:
    """Return orthonormal columns in the subspaces where the sign is 1 and where it is -1."""
    size = sign.shape[0]
    mixed = random_matrix((size, size), sign.dtype)
    found = []
    for start, stop, side in ((0, above, 1.0), (above, size, -1.0)):
        q = settled(columns(mixed, start, stop))
        for _ in range(2):  # the second makes good what the random vectors' condition cost
            q = settled(q + product(sign, q) * side)
            q = settled(factors.orthogonal_factor(factors.factored(q), size, stop - start))
        found.append(q)
    return found
