"""Eigenvalues of a large Hermitian matrix, and singular values of a large square one, on nodes.

What LAPACK does reads all of the matrix at every step, so that one node must hold it. Where none
can, the spectrum is divided (Nakatsukasa and Higham, 2013): the sign of a shifted matrix, its
unitary polar factor, tells the invariant subspace below the shift from that above. In bases of both
the matrix falls apart into two, and so on until a node can take what is left. Singular values are
the eigenvalues of the Hermitian polar factor.

That takes products and factorisations of whole matrices, all on nodes, and several times LAPACK's
operations; :func:`fits_one_node` is where it is decided. All is in float64 or complex128.
"""

from __future__ import annotations

from contextvars import ContextVar
from math import isfinite, sqrt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy import engine
from dnumpy.api import blocks, composites, factors, ufuncs
from dnumpy.api.array import from_expr
from dnumpy.api.factors import count
from dnumpy.api.polar import (
    EPS,
    MISSING,
    adjoint,
    columns,
    hermitian_part,
    norm_bound,
    polar,
    power_of_two,
    product,
    random_matrix,
    settled,
    square_sum,
)
from dnumpy.api.record import content
from dnumpy.config import config, memory_limit_bytes
from dnumpy.ops.table import VIEW

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKSPACE = 5.0  # times its own bytes: what LAPACK needs for a matrix, with results and workspace
LEAF_PANELS = 4  # of a matrix that one node takes in the split mode
_UNSURE = 0.1  # of a vector between two subspaces: its eigenvalue is the shift itself

_lapack: Any = np.linalg._umath_linalg
_DECIDED: ContextVar[bool] = ContextVar("decided", default=False)


class NotFinite(Exception):  # noqa: N818 - the caller raises what NumPy raises
    """An element is infinite or no number."""


class NotDivided(Exception):  # noqa: N818 - likewise
    """No shift was found that divides the spectrum."""


def fits_one_node(a: Any) -> bool:
    """Say whether LAPACK on one node should take a matrix: wherever it fits.

    It takes a fraction of the operations that dividing takes, and gives NumPy's own bits. In the
    split mode nodes have no memory of their own, and what is larger than a few panels is divided.
    """
    if _DECIDED.get():
        return True
    if config.mode == "split":
        return bool(min(a.shape) <= LEAF_PANELS * factors.panel_width())
    itemsize = 16 if a.dtype.kind == "c" else 8
    room = min(engine.room(content(a)), float(memory_limit_bytes()))
    return bool(WORKSPACE * a.size * itemsize <= room)


def on_one_node(wrapped: Any, matrix: Any) -> Any:
    """Return what LAPACK gives for a matrix that fits, however much room is free by then."""
    token = _DECIDED.set(True)
    try:
        return ufuncs.call(wrapped, (matrix,), {})
    finally:
        _DECIDED.reset(token)


# ---------------------------------------------------------------- Hermitian matrices


class Eigen(NamedTuple):
    """Eigenvalues, ascending, here; and the matrix of vectors by columns, where asked for."""

    values: np.ndarray
    vectors: Any


class _Block(NamedTuple):
    """A Hermitian matrix, in the columns of ``basis``; None for those of the identity."""

    matrix: Any
    basis: Any


def eigh(a: Any, *, upper: bool, vectors: bool) -> Eigen:
    """Return eigenvalues of the Hermitian matrix of which only one triangle is read.

    Raises NotFinite, or NotDivided where rounding hides the spectrum.
    """
    matrix = settled(_from_triangle(by_rows(a), upper=upper))
    factor = unit_scale(matrix)
    if not factor:
        return _of_zero(matrix, vectors=vectors)
    found = hermitian(settled(matrix * factor), vectors=vectors)
    return found._replace(values=found.values / factor)


def hermitian(matrix: Any, *, vectors: bool) -> Eigen:
    """Return eigenvalues of a Hermitian matrix of about unit size, divided until they fit."""
    norm = sqrt(square_sum(matrix))
    stack = [_Block(matrix, None)]
    done: list[Eigen] = []
    while stack:
        block = stack.pop()
        found = _at_once(block.matrix, norm, vectors=vectors)
        if found is None:
            stack += _divided(block, norm, vectors=vectors)
        else:
            done.append(_in_basis(found, block.basis))
    values = np.concatenate([e.values for e in done])
    # those of neighbours may overlap by rounding: vectors stay in order
    every = settled(factors.joined([e.vectors for e in done], 1)) if vectors else None
    return Eigen(np.sort(values), every)


def _at_once(matrix: Any, norm: float, *, vectors: bool) -> Eigen | None:
    """Return what one node finds, or what a diagonal matrix shows; None if it is to be divided."""
    if fits_one_node(matrix):
        if not vectors:
            return Eigen(np.asarray(on_one_node(_lapack.eigvalsh_lo, matrix)), None)
        values, found = on_one_node(_lapack.eigh_lo, matrix)
        return Eigen(np.asarray(values), found)
    diagonal = diagonal_of(matrix).real
    if off_diagonal(matrix, diagonal) > EPS * norm:
        return None
    order = np.argsort(diagonal, kind="stable")
    permutation = _equal(count(len(order))[:, None], order).astype(matrix.dtype)
    return Eigen(diagonal[order], permutation if vectors else None)


def _in_basis(found: Eigen, basis: Any) -> Eigen:
    if found.vectors is None or basis is None:
        return found
    return found._replace(vectors=product(basis, found.vectors))


def _divided(block: _Block, norm: float, *, vectors: bool) -> list[_Block]:
    """Return the blocks above and below a shift."""
    below, q, turned = _division(block.matrix, norm)
    size = turned.shape[0]
    parts = []
    for start, stop in ((below, size), (0, below)):
        basis = columns(q, start, stop) if vectors else None
        if basis is not None:
            basis = settled(basis) if block.basis is None else product(block.basis, basis)
        parts.append(_Block(settled(columns(turned, start, stop)[start:stop].copy()), basis))
    return parts


def _division(matrix: Any, norm: float) -> tuple[int, Any, Any]:
    """Return how many eigenvalues lie below a shift, and a basis of their vectors, then the others.

    The third is the matrix in that basis: what lies off its two blocks is rounding.
    """
    size = matrix.shape[0]
    enough = 10.0 * sqrt(size) * EPS * norm
    for shift in _shifts(matrix):
        moved = settled(matrix - factors.identity(size, size, matrix.dtype) * shift)
        sign = polar(moved, hermitian=True).unitary
        share = (size - float(diagonal_of(sign).real.sum())) / 2
        below = round(share)
        if not 0 < below < size or abs(share - below) > _UNSURE:
            continue
        q = _bases(sign, below)
        turned = hermitian_part(product(settled(adjoint(q)), product(matrix, q)))
        if sqrt(square_sum(columns(turned, 0, below)[below:])) <= enough:
            return below, q, turned
    raise NotDivided


def _shifts(matrix: Any) -> Iterator[float]:
    """Give shifts that divide the spectrum in the middle, if it can be, then others.

    None is a round number, which often is an eigenvalue. Some eigenvalue lies above the mean of the
    diagonal and some below, the median of the diagonal may lie outside of all.
    """
    diagonal = diagonal_of(matrix).real
    median, mean = float(np.median(diagonal)), float(np.mean(diagonal))
    around = sqrt(off_diagonal(matrix, diagonal) ** 2 + float(np.sum((diagonal - mean) ** 2)))
    spread = around / sqrt(len(diagonal))
    yield median + spread / 97
    for part in (101, -103, 31, -29, 11, -7, 3, -3):
        yield mean + spread / part
        yield median - spread / part


def _bases(sign: Any, below: int) -> Any:
    """Return orthonormal columns: ``below`` of them in the subspace where the sign is -1."""
    size = sign.shape[0]
    first = count(size) < below
    mixed = _separated(sign, random_matrix((size, size), sign.dtype), first)
    q = settled(factors.orthogonal_factor(factors.factored(mixed), size, size))
    nearly = _separated(sign, q, first)
    gram = product(settled(adjoint(nearly)), nearly)
    return settled(nearly * 1.5 - product(nearly, gram) * 0.5)  # orthonormal, by Newton's step


def _separated(sign: Any, vectors: Any, first: Any) -> Any:
    """Return the parts of the first vectors where the sign is -1, and of the others where +1."""
    turned = product(sign, vectors)
    return settled(composites.where(first, vectors - turned, vectors + turned) * 0.5)


# ---------------------------------------------------------------- singular values


class Singular(NamedTuple):
    """``left @ diag(values) @ right``; both factors None where they were not asked for."""

    left: Any
    values: np.ndarray
    right: Any


def svd(a: Any, *, vectors: bool) -> Singular:
    """Return singular values of a square matrix, descending; raises as :func:`eigh` does."""
    a = by_rows(a)
    factor = unit_scale(a)
    if not factor:
        values, identity = _of_zero(a, vectors=vectors)
        return Singular(identity, values, identity)
    matrix = settled(a * factor)
    unitary = _unitary_factor(matrix)
    found = hermitian(hermitian_part(product(settled(adjoint(unitary)), matrix)), vectors=vectors)
    values = np.maximum(found.values[::-1], 0.0) / factor
    if not vectors:
        return Singular(None, values, None)
    right = settled(found.vectors[:, ::-1].copy())
    return Singular(product(unitary, right), values, settled(adjoint(right)))


def _unitary_factor(matrix: Any) -> Any:
    """Return a unitary polar factor, of a matrix without an inverse too."""
    found = polar(matrix)
    if found.missing < MISSING:
        return found.unitary
    size = matrix.shape[0]
    rounding = EPS * min(norm_bound(matrix), sqrt(square_sum(matrix))) / sqrt(size)
    return polar(settled(matrix + random_matrix((size, size), matrix.dtype) * rounding)).unitary


def lstsq(a: Any, b: Any, rcond: float) -> tuple[Any, int, np.ndarray]:
    """Return the shortest least-squares solution for a square matrix, rank and singular values."""
    left, values, right = svd(a, vectors=True)
    least = (EPS if rcond < 0 else rcond) * values[0]
    rank = int(np.count_nonzero(values > least))
    inverse = np.zeros_like(values)
    inverse[:rank] = 1.0 / values[:rank]
    seen = product(settled(adjoint(left)), b)
    return product(settled(adjoint(right)), settled(seen * inverse[:, None])), rank, values


# ---------------------------------------------------------------- parts of a matrix


def by_rows(a: Any) -> Any:
    """Return the matrix in memory of its own, row by row, so that each of its rows is in one."""
    expr = content(a)
    return settled(from_expr(blocks.copied(expr))) if expr.op is VIEW else a


def diagonal_of(matrix: Any) -> np.ndarray:
    """Return the diagonal, here."""
    k = count(matrix.shape[0])
    kept = composites.where(_equal(k[:, None], k), matrix, matrix.dtype.type(0))
    return np.asarray(kept.sum(axis=1))


def off_diagonal(matrix: Any, diagonal: np.ndarray) -> float:
    """Return the norm of what is not on the diagonal."""
    k = count(len(diagonal))
    kept = composites.where(_equal(k[:, None], k), matrix.dtype.type(0), matrix)
    return sqrt(square_sum(kept))


def _from_triangle(a: Any, *, upper: bool) -> Any:
    """Return the Hermitian matrix whose upper or lower triangle is that of ``a``."""
    across = count(a.shape[0])
    rows = across[:, None]
    named = ufuncs.call(np.less if upper else np.greater, (rows, across), {})
    whole = composites.where(named, a, adjoint(a))
    if a.dtype.kind != "c":
        return whole
    return composites.where(_equal(rows, across), a.real.astype(a.dtype), whole)


def unit_scale(a: Any) -> float:
    """Return a power of two that brings a matrix to about unit size; 0 for one of zeros."""
    largest = float(ufuncs.call(np.abs, (a,), {}).max())
    if not isfinite(largest):
        raise NotFinite
    return power_of_two(largest) if largest else 0.0


def _of_zero(a: Any, *, vectors: bool) -> Eigen:
    size = a.shape[0]
    return Eigen(np.zeros(size), factors.identity(size, size, a.dtype) if vectors else None)


def _equal(x: Any, y: Any) -> Any:
    return ufuncs.call(np.equal, (x, y), {})
