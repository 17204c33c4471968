"""NumPy's generalised ufuncs, transforms and factorisations, by cuFFT and cuSOLVER.

A gufunc of NumPy's is known by its path. Factorisations of a matrix are unique up to signs and
phases only; cuSOLVER may choose others than LAPACK does. What fails is left to NumPy, which tells
the user of it in its own words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.kernels.lower import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Shape = tuple[int, ...]
    Call = Callable[..., Any]

# attributes of CuPy that are used here; a test sees that they exist
NAMES = (
    "fft.fft", "fft.ifft", "fft.irfft", "fft.rfft", "linalg.cholesky", "linalg.det", "linalg.eigh",
    "linalg.eigvalsh", "linalg.inv", "linalg.qr", "linalg.slogdet", "linalg.solve", "linalg.svd",
    "isfinite", "matmul", "ascontiguousarray",
)  # fmt: skip


def gufunc(xp: Any, values: Sequence[Any], params: Any, shape: Shape, dtype: np.dtype) -> Any:
    """Return what a call of a gufunc gives; records, of several results, as an array of NumPy's."""
    path = params.target if isinstance(params.target, str) else repr(params.target)
    home, _, name = path.rpartition(".")
    if home == "numpy.fft._pocketfft_umath":
        return _transformed(xp, name, values, params, shape)
    function = _SOLVERS.get(name) if home == "numpy.linalg._umath_linalg" else None
    kwargs = dict(params.kwargs)
    if function is None or set(kwargs) - {"signature"}:
        msg = f"{path} with {kwargs}"
        raise Unsupported(msg)
    given = [xp.asarray(v).astype(_working(dtype, v), copy=False) for v in values]
    with np.errstate(all="ignore"):
        found = function(xp, *given)
    results = found if isinstance(found, tuple) else (found,)
    _check(xp, given, results)
    if dtype.names is None:
        return results[0]
    packed = np.empty(shape, dtype)
    for field, result in zip(params.outputs, results, strict=True):
        packed[field] = result.get() if hasattr(result, "get") else result
    return packed


def _working(dtype: np.dtype, value: Any) -> np.dtype:
    """Return the dtype in which a factorisation works: single or double, real or complex."""
    kinds = [dtype[k] for k in range(len(dtype.names))] if dtype.names else [dtype]
    single = all(kind.base.char in "fF" for kind in kinds)
    is_complex = value.dtype.kind == "c" or any(kind.base.kind == "c" for kind in kinds)
    return np.dtype(("c8" if single else "c16") if is_complex else ("f4" if single else "f8"))


def _check(xp: Any, given: Sequence[Any], results: Sequence[Any]) -> None:
    """Raise Unsupported where numbers have become infinite or NaN on the way."""
    if all(bool(xp.isfinite(g).all()) for g in given):
        if all(bool(xp.isfinite(r).all()) for r in results):
            return
        msg = "a matrix that has no such factorisation"
        raise Unsupported(msg)
    msg = "a matrix that is not finite"
    raise Unsupported(msg)


_TRANSFORMS = {"fft": "fft", "ifft": "ifft", "rfft_n_even": "rfft", "rfft_n_odd": "rfft"}


def _transformed(xp: Any, name: str, values: Sequence[Any], params: Any, shape: Shape) -> Any:
    """Return a Fourier transform times NumPy's factor; its length is that of the result."""
    sequence, factor = values
    kwargs = dict(params.kwargs)
    axes = kwargs.pop("axes", None)
    axis = axes[0][0] if axes else -1
    name_of = {**_TRANSFORMS, "irfft": "irfft"}.get(name)
    if kwargs or name_of is None or np.ndim(factor) or sequence.ndim != len(shape) - params.single:
        msg = f"{name} with {kwargs}"
        raise Unsupported(msg)
    core = shape[1:] if params.single else shape
    others = [np.delete(extents, axis).tolist() for extents in (core, sequence.shape)]
    if others[0] != others[1]:
        msg = f"{name} of {sequence.shape} along {axis} to {core}"
        raise Unsupported(msg)
    count = core[axis]
    if name_of == "rfft":
        count = 2 * (count - 1) + (name == "rfft_n_odd")
    inverse = {"norm": "forward"} if name_of in {"ifft", "irfft"} else {}
    found = getattr(xp.fft, name_of)(sequence, n=count, axis=axis, **inverse)
    scale = np.asarray(factor.get() if hasattr(factor, "get") else factor)[()]
    return found if scale == 1 else found * scale


def _solve_one(xp: Any, a: Any, b: Any) -> Any:
    return xp.linalg.solve(a, b[..., None])[..., 0]


_SOLVERS: dict[str, Call] = {
    "inv": lambda xp, a: xp.linalg.inv(a),
    "det": lambda xp, a: xp.linalg.det(a),
    "slogdet": lambda xp, a: tuple(xp.linalg.slogdet(a)),
    "solve": lambda xp, a, b: xp.linalg.solve(a, b),
    "solve1": _solve_one,
    "cholesky_lo": lambda xp, a: xp.linalg.cholesky(a),
    "cholesky_up": lambda xp, a: (
        xp.linalg.cholesky(a.swapaxes(-1, -2).conj()).swapaxes(-1, -2).conj()
    ),
    "eigh_lo": lambda xp, a: tuple(xp.linalg.eigh(a, "L")),
    "eigh_up": lambda xp, a: tuple(xp.linalg.eigh(a, "U")),
    "eigvalsh_lo": lambda xp, a: xp.linalg.eigvalsh(a, "L"),
    "eigvalsh_up": lambda xp, a: xp.linalg.eigvalsh(a, "U"),
    "svd": lambda xp, a: xp.linalg.svd(a, compute_uv=False),
    "svd_s": lambda xp, a: tuple(xp.linalg.svd(a, full_matrices=False)),
    "svd_f": lambda xp, a: tuple(xp.linalg.svd(a, full_matrices=True)),
}
