"""Functions of which NumPy makes more operations than their results take.

Recorded one by one, as the rest of NumPy's Python is (see :mod:`dnumpy.api.transplant`), each of
those takes as long as NumPy has for some ten thousand elements. NotImplemented leaves other
arguments, and what NumPy warns of, to its own code.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import composites, reductions, ufuncs
from dnumpy.api.array import ndarray
from dnumpy.expr.origin import here

if TYPE_CHECKING:
    from collections.abc import Callable

_NO_VALUE = np._NoValue
_INTP = np.dtype(np.intp)


def _is_real(x: Any, chars: str = "fd") -> bool:
    """Say whether this is an array of real numbers that a copy of NumPy's lies like."""
    real = type(x) is ndarray and x.ndim > 0 and x.dtype.char in chars and x.size > 0
    return real and x.flags.forc


def nan_to_num(
    x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Replace what is no finite number; by default infinities by the largest ones that are."""
    if not _is_real(x) or copy is not True:
        return NotImplemented
    limits = np.finfo(x.dtype)
    wanted = nan, limits.max if posinf is None else posinf, limits.min if neginf is None else neginf
    plain = all(type(n) in (int, float, x.dtype.type) for n in wanted)
    if not plain or not all(limits.min <= n <= limits.max for n in wanted):
        return NotImplemented
    number, high, low = map(x.dtype.type, wanted)
    if posinf is None and neginf is None:
        found = composites.clip(x, low, high)
    else:
        found = composites.where(ufuncs.call(np.equal, (x, -np.inf), {}), low, x)
        found = composites.where(ufuncs.call(np.equal, (x, np.inf), {}), high, found)
    return composites.where(ufuncs.call(np.isnan, (x,), {}), number, found)


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    """Return the lengths of the vectors along an axis."""
    if not _is_real(x) or not (ord is None or (type(ord) is int and ord == 2)):
        return NotImplemented
    if type(axis) is not int or not -x.ndim <= axis < x.ndim or type(keepdims) is not bool:
        return NotImplemented
    squares = ufuncs.call(np.multiply, (x, x), {})
    total = reductions.sum_(squares, axis, None, None, keepdims)
    return ufuncs.call(np.sqrt, (total,), {})


def _counted(a: Any, axis: Any, keepdims: Any) -> tuple[Any, Any]:
    """Return where an array has numbers, and how many there are in each line."""
    there = ufuncs.call(np.logical_not, (ufuncs.call(np.isnan, (a,), {}),), {})
    return there, reductions.sum_(there, axis, _INTP, None, keepdims)


def _is_plain_mean(a: Any, axis: Any, others: tuple[Any, ...], keepdims: Any) -> bool:
    axes = axis is None or (type(axis) is int and -a.ndim <= axis < a.ndim)
    given = any(one is not None and one is not _NO_VALUE for one in others)
    return axes and not given and (keepdims is _NO_VALUE or type(keepdims) is bool)


def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _NO_VALUE,
    *, where: Any = _NO_VALUE,
) -> Any:  # fmt: skip
    """Return the means of the numbers in lines; both sums are of one pass."""
    if not _is_real(a, "d") or not _is_plain_mean(a, axis, (dtype, out, where), keepdims):
        return NotImplemented
    keeps = keepdims is True
    there, count = _counted(a, axis, keeps)
    total = reductions.sum_(composites.where(there, a, np.float64(0)), axis, None, None, keeps)
    if not _all_positive(count):
        _warn("Mean of empty slice")
    return _quotient(total, count)


def _all_positive(count: Any) -> bool:
    return bool((count > 0).all()) if getattr(count, "ndim", 0) else bool(count > 0)


def _warn(text: str) -> None:
    origin = here()
    warnings.warn_explicit(text, RuntimeWarning, origin.file, origin.line, origin.module)


def _quotient(total: Any, count: Any) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):
        if type(total) is ndarray:
            return ufuncs.call(np.true_divide, (total, count), {})
        return total / count


def _variance(a: Any, axis: Any, ddof: Any, keeps: bool) -> Any:
    there, count = _counted(a, axis, True)
    zero = np.float64(0)
    total = reductions.sum_(composites.where(there, a, zero), axis, None, None, True)
    plenty = _all_positive(count - ddof)
    apart = ufuncs.call(np.subtract, (a, _quotient(total, count)), {})
    apart = composites.where(there, apart, zero)
    squares = reductions.sum_(ufuncs.call(np.multiply, (apart, apart), {}), axis, None, None, keeps)
    if not keeps:
        count = count.reshape(squares.shape) if type(squares) is ndarray else count.reshape(())[()]
    free = count - ddof
    found = _quotient(squares, free)
    if plenty:
        return found
    _warn("Degrees of freedom <= 0 for slice.")
    if type(found) is ndarray:
        return composites.where(
            ufuncs.call(np.less_equal, (free, 0), {}), np.float64(np.nan), found
        )
    return np.float64(np.nan)


def _spread(name: str) -> Callable[..., Any]:
    def spread(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0,
        keepdims: Any = _NO_VALUE, *, where: Any = _NO_VALUE, mean: Any = _NO_VALUE,
        correction: Any = _NO_VALUE,
    ) -> Any:  # fmt: skip
        others = dtype, out, where, mean, correction
        if not _is_real(a, "d") or not _is_plain_mean(a, axis, others, keepdims):
            return NotImplemented
        if type(ddof) is not int:
            return NotImplemented
        found = _variance(a, axis, ddof, keepdims is True)
        if name == "nanvar":
            return found
        return ufuncs.call(np.sqrt, (found,), {}) if type(found) is ndarray else np.sqrt(found)

    return spread


NATIVE: dict[str, Callable[..., Any]] = {
    "nan_to_num": nan_to_num,
    "nanmean": nanmean,
    "nanvar": _spread("nanvar"),
    "nanstd": _spread("nanstd"),
}
