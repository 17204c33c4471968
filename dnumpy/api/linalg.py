"""Linear algebra of one matrix whose rows lie on nodes.

``numpy.linalg`` itself is NumPy's Python over the generalised ufuncs of LAPACK; what stands here is
asked by :mod:`dnumpy.api.gufuncs` when such a ufunc is called with one large matrix on nodes, so
that shapes, dtypes, errors and results stay NumPy's. Eigenvalues of a Hermitian matrix, and the
singular values of one that is about as long as wide, are one task on one node where it fits there,
and else :mod:`dnumpy.api.spectral` divides it.

Eigenvalues of any other matrix (``eig``, ``eigvals``) are one task likewise where it fits, and else
:mod:`dnumpy.api.subspaces` divides it. Where a spectrum cannot be divided, LAPACK on one node is
what remains, and PlanInfeasible says how much memory is missing where none has it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import (
    blocks,
    calls,
    composites,
    factors,
    lone,
    products,
    spectral,
    subspaces,
    ufuncs,
)
from dnumpy.api.array import lying_here, ndarray
from dnumpy.api.creation import asarray
from dnumpy.api.polar import product
from dnumpy.api.record import content
from dnumpy.api.transplant import put_in_place, transplanted
from dnumpy.config import config

if TYPE_CHECKING:
    from collections.abc import Callable

Results = list[Any]

ONE_NODE_BYTES = 32 << 20  # a matrix below this is factored by one node sooner than by several
LEAST_ROWS = 32  # or columns: below, the steps cost more than all else, in whatever mode
_INVALID = 8  # the flag of an invalid operation, as NumPy tells a handler of errors


def is_large(a: Any) -> bool:
    """Say whether a matrix lies on nodes and is worth factoring there."""
    return (
        type(a) is ndarray
        and a.ndim == 2
        and bool(a.size)
        and max(a.shape) >= LEAST_ROWS
        and a.dtype.kind in "biufc"
        and blocks.spread(a)
        and (config.mode == "split" or a.nbytes >= ONE_NODE_BYTES)
    )


def _square(a: Any) -> bool:
    return is_large(a) and a.shape[0] == a.shape[1] > factors.panel_width()


def _oblong(a: Any) -> bool:
    """Say whether one node is no place for a matrix, but one may be for its square triangle."""
    if not is_large(a) or a.shape[0] == a.shape[1]:
        return False
    return max(a.shape) >= 2 * min(a.shape) or not spectral.fits_one_node(a)


def _too_large(a: Any) -> bool:
    """Say whether one node is no place for a square matrix."""
    return is_large(a) and a.shape[0] == a.shape[1] and not spectral.fits_one_node(a)


def _as_asked(a: Any, kwargs: dict[str, Any]) -> Any:
    """Return the matrix in the dtype that the ufunc computes in."""
    signature = str(kwargs.get("signature") or kwargs.get("dtype") or "")
    kind = "D" if "D" in signature or a.dtype.kind == "c" else "d"
    return a if a.dtype == kind else a.astype(kind)


def _failed() -> None:
    """Tell NumPy's handler, where there is one: it raises LinAlgError with its own text."""
    handler = np.geterrcall()
    if callable(handler):
        handler("invalid value", _INVALID)


def _quietly(function: Callable[..., Any], *args: Any) -> Any:
    """Call without NumPy's handler for what is met on the way."""
    with np.errstate(all="ignore"):
        return function(*args)


def _times(x: Any, y: Any) -> Any:
    """Return the matrix product, the same bits on any nodes.

    No node has ``y`` whole that none has room for.
    """
    ours = type(x) is type(y) is ndarray and x.ndim == y.ndim == 2 and x.dtype == y.dtype
    if not ours or x.dtype.kind not in "fc" or not (x.size and y.size):
        return ufuncs.call(np.matmul, (x, y), {})
    if is_large(y) and not spectral.fits_one_node(y):
        return product(x, y)
    return products.fixed(content(x), content(y), (x.shape[0], y.shape[1]), x.dtype)


# ---------------------------------------------------------------- square matrices


def _solve(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
    if not _square(args[0]) or not args[1].size or args[1].shape[0] != args[0].shape[0]:
        return None
    a, b = (_as_asked(x, kwargs) for x in args)
    try:
        found = _quietly(factors.solve, a, b if b.ndim == 2 else b[:, None])
    except ZeroDivisionError:
        _failed()
        return None
    return [found if b.ndim == 2 else composites.ravel(found)]


def _inv(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
    if not _square(args[0]):
        return None
    a = _as_asked(args[0], kwargs)
    return _solve((a, factors.identity(a.shape[0], a.shape[1], a.dtype)), kwargs)


def _slogdet(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
    if not _square(args[0]):
        return None
    return list(_quietly(factors.slogdet, _as_asked(args[0], kwargs)))


def _det(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
    found = _slogdet(args, kwargs)
    return None if found is None else [found[0] * np.exp(found[1])]


def _cholesky(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
    if not _square(args[0]):
        return None
    try:
        return [_quietly(factors.cholesky, _as_asked(args[0], kwargs))]
    except factors.NotDefinite:
        _failed()
        return None


def _cholesky_up(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
    if not _square(args[0]):
        return None
    found = _cholesky((crossed_over(args[0]),), kwargs)
    return None if found is None else [crossed_over(found[0])]


def crossed_over(a: Any) -> Any:
    """Return the conjugate transpose, in memory of its own, exchanged between the nodes."""
    turned = blocks.permuted(a, (1, 0))
    return _quietly(turned.conj) if a.dtype.kind == "c" else turned


# ---------------------------------------------------------------- QR


def _qr(a: Any, mode: str = "reduced") -> Any:
    """As ``numpy.linalg.qr`` for one large matrix on nodes; else NotImplemented."""
    if mode not in ("reduced", "complete", "r", "raw") or not is_large(a):
        return NotImplemented
    if min(a.shape) <= factors.panel_width() and max(a.shape) < 2 * min(a.shape):
        return NotImplemented
    if a.dtype.char not in "?bBhHiIlLqQfdFD":
        return NotImplemented  # NumPy says why
    result = {"f": np.dtype("f"), "F": np.dtype("F")}.get(a.dtype.char)
    with np.errstate(all="ignore"):
        parts = _qr_parts(_as_asked(a, {}), mode)
    parts = [p if result is None else p.astype(result) for p in parts]
    if mode == "r":
        return parts[0]
    return np.linalg._linalg.QRResult(*parts) if mode != "raw" else tuple(parts)


def _qr_parts(a: Any, mode: str) -> list[Any]:
    rows, columns = a.shape
    found = factors.factored(a, reflectors=mode in ("complete", "raw"))
    r = factors.upper_factor(found)
    if mode == "r":
        return [r]
    if mode == "raw":
        return _raw(found, r, rows, columns)
    if mode == "reduced" or rows <= columns:
        return [factors.orthogonal_factor(found, rows, min(rows, columns)), r]
    return [factors.orthogonal_factor(found, rows, rows), factors.padded(r, rows)]


def _raw(found: factors.Factored, r: Any, rows: int, columns: int) -> list[Any]:
    """Return the transpose of R over the reflectors, and their factors."""
    h = factors.padded(r, rows)
    for panel, start in zip(found.panels, found.starts, strict=True):
        width = panel.y.shape[1]
        part = h[start:, start : start + width]
        below = panel.y - factors.identity(rows - start, width, r.dtype)
        h[start:, start : start + width] = part + below
    taus = np.concatenate([panel.t.diagonal() for panel in found.panels])
    return [h.T, factors.managed_copy(taus)]


# ---------------------------------------------------------------- singular values


class _Triangle:
    """A tall matrix is Q times a triangle, a wide one its conjugate transpose times Q^H."""

    def __init__(self, a: Any, *, reflectors: bool) -> None:
        self.tall = a.shape[0] >= a.shape[1]
        self.rows = max(a.shape)
        self.found = factors.factored(a if self.tall else crossed_over(a), reflectors=reflectors)
        self.r = factors.upper_factor(self.found)

    def core(self) -> Any:
        """Return the square matrix with the same singular values."""
        return self.r if self.tall else crossed_over(self.r)

    def q(self, *, whole: bool = False) -> Any:
        """Return Q; all its columns where asked."""
        columns = self.rows if whole else self.r.shape[1]
        return factors.orthogonal_factor(self.found, self.rows, columns)

    def outer(self, vectors: Any, *, whole: bool) -> Any:
        """Return Q times the square ``vectors``; with ``whole`` also what completes the basis."""
        q = self.q(whole=whole)
        if not whole:
            return _times(q, vectors)
        count = vectors.shape[0]
        return factors.joined([_times(q[:, :count], vectors), q[:, count:]], 1)


def _svd_with(whole: bool) -> Callable[..., Results | None]:
    def svd(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
        if not _oblong(args[0]):
            return _svd_of_square(args, kwargs)
        a = _as_asked(args[0], kwargs)
        split = _quietly(lambda: _Triangle(a, reflectors=whole))
        u, s, vh = ufuncs.call(_lapack.svd_s, (split.core(),), kwargs)
        with np.errstate(all="ignore"):
            if split.tall:
                return [split.outer(u, whole=whole), s, vh]
            right = split.outer(crossed_over(vh), whole=whole)
            return [u, s, crossed_over(right)]

    return svd


def _svd_values(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
    if not _oblong(args[0]):
        return _values_of_square(args, kwargs)
    a = _as_asked(args[0], kwargs)
    split = _quietly(lambda: _Triangle(a, reflectors=False))
    return [ufuncs.call(_lapack.svd, (split.core(),), kwargs)]


def _lstsq(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
    a, b, rcond = args
    if not b.size:
        return None
    if not _oblong(a):
        return _lstsq_of_square(args, kwargs)
    a, b = _as_asked(a, kwargs), _as_asked(b, kwargs)
    split = _quietly(lambda: _Triangle(a, reflectors=False))
    if not split.tall:
        y, _, rank, s = ufuncs.call(_lapack.lstsq, (split.core(), b, rcond), kwargs)
        with np.errstate(all="ignore"):
            return [split.q() @ y, y[0] * 0, rank, s]
    with np.errstate(all="ignore"):
        q = split.q()
        seen = factors.crossed(q, b)
        left = b - q @ seen
        square = left.real**2 + left.imag**2 if left.dtype.kind == "c" else left**2
        missed = square.sum(axis=0)
    x, _, rank, s = ufuncs.call(_lapack.lstsq, (split.r, seen, rcond), kwargs)
    return [x, missed, rank, s]


# ---------------------------------------------------------------- what no node has room for


def _divided(function: Callable[..., Any], *args: Any, **how: Any) -> Any:
    """Return what dividing a spectrum gives; raises NumPy's LinAlgError where nothing does."""
    try:
        return _quietly(lambda: function(*args, **how))
    except (spectral.NotFinite, spectral.NotDivided) as error:
        _failed()
        msg = "no eigenvalues or singular values were found"
        raise np.linalg.LinAlgError(msg) from error


def _eigh(*, upper: bool, vectors: bool) -> Callable[..., Results | None]:
    def eigh(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
        if not _too_large(args[0]):
            return None
        a = _as_asked(args[0], kwargs)
        found = _divided(spectral.eigh, a, upper=upper, vectors=vectors)
        values = factors.managed_copy(found.values)
        return [values, found.vectors] if vectors else [values]

    return eigh


def _eig(*, vectors: bool) -> Callable[..., Results | None]:
    def eig(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
        if not _too_large(args[0]):
            return None
        a = _as_asked(args[0], {})  # the signature names the results' complex numbers
        try:
            found = _quietly(lambda: subspaces.eig(a, vectors=vectors))
        except (spectral.NotFinite, spectral.NotDivided):
            return None  # one node's, or nobody's
        values = factors.managed_copy(found.values)
        return [values, found.vectors] if vectors else [values]

    return eig


def _svd_of_square(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
    if not _too_large(args[0]):
        return None
    found = _divided(spectral.svd, _as_asked(args[0], kwargs), vectors=True)
    return [found.left, factors.managed_copy(found.values), found.right]


def _values_of_square(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
    if not _too_large(args[0]):
        return None
    found = _divided(spectral.svd, _as_asked(args[0], kwargs), vectors=False)
    return [factors.managed_copy(found.values)]


def _lstsq_of_square(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Results | None:
    if not _too_large(args[0]):
        return None
    a, b = (_as_asked(x, kwargs) for x in args[:2])
    x, rank, values = _divided(spectral.lstsq, a, b, float(args[2]))
    return [x, np.zeros(b.shape[1]), np.intc(rank), factors.managed_copy(values)]


def _makearray(a: Any) -> tuple[Any, Callable[..., Any]]:
    """Return ``a`` as an array, and what makes a result one of its class."""
    made = asarray(None, a)
    if type(a) is np.ndarray:  # whose results are ours
        return made, lambda result: result
    wrap = getattr(a, "__array_wrap__", made.__array_wrap__)
    if issubclass(type(a), np.ndarray):  # a subclass, which wraps NumPy's arrays
        return made, lambda result: wrap(calls.unwrap(result))
    return made, wrap


put_in_place(np.linalg._linalg._makearray, _makearray)

_lapack: Any = np.linalg._umath_linalg

ALONE: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], Results | None]] = {
    "solve": _solve, "solve1": _solve, "inv": _inv, "det": _det, "slogdet": _slogdet,
    "cholesky_lo": _cholesky, "cholesky_up": _cholesky_up, "svd": _svd_values,
    "svd_s": _svd_with(whole=False), "svd_f": _svd_with(whole=True), "lstsq": _lstsq,
    "eigh_lo": _eigh(upper=False, vectors=True), "eigh_up": _eigh(upper=True, vectors=True),
    "eigvalsh_lo": _eigh(upper=False, vectors=False),
    "eigvalsh_up": _eigh(upper=True, vectors=False),
    "eig": _eig(vectors=True), "eigvals": _eig(vectors=False),
}  # fmt: skip


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """Return the 2-norm of all that an array shows here: the root of NumPy's product with itself.

    All other norms, and those of what is yet to be computed, are NumPy's code over our names.
    """
    if ord is not None or axis is not None or keepdims is not False or type(x) is not ndarray:
        return NotImplemented
    memory = lying_here(x)
    if memory is None or memory.dtype.kind != "f" or config.reproducible:
        return NotImplemented
    return np.linalg.norm(memory) if lone.is_free(memory.nbytes) else NotImplemented


NATIVE: dict[str, Callable[..., Any]] = {
    "linalg.norm": _norm,
    "linalg.qr": _qr,
    "linalg.pinv": transplanted(np.linalg.pinv, matmul=_times),
}
