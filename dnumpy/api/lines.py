"""Functions that do the same to every line, matrix or element: threads share these out.

They are given arrays of NumPy's and return what NumPy would: each thread calls NumPy's own
function for some of the lines, so that the bits are the same. NotImplemented is returned where
NumPy is to do all of it: of other arguments, of too little work, and where a call raises or would
warn, which is then said once and at the program's line.
"""

from __future__ import annotations

import time
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api.array import room
from dnumpy.config import config, thread_count
from dnumpy.kernels.sharing import Sharing
from dnumpy.runtime.threads import share_out

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[..., Any]

LEAST_NANOSECONDS = 4e5  # of all lines together: waking threads takes a fifth of that
LARGEST_MATRIX = 64  # rows: of larger ones BLAS shares out the work of each by itself
PIECES = 2  # for each thread, of what runs without Python
_REFUSED = (ArithmeticError, ValueError, TypeError, IndexError, np.linalg.LinAlgError)


def shares(nanoseconds: float) -> bool:
    """Say whether work that takes one thread so long is shared out."""
    return nanoseconds >= LEAST_NANOSECONDS and config.mode == "default" and thread_count() > 1


def _silently() -> np.errstate:
    """Let what NumPy would warn of raise: it comes upon it again in the caller's thread."""
    said = np.geterr()
    kept: dict[str, Any] = {k: how if how == "ignore" else "raise" for k, how in said.items()}
    return np.errstate(**kept)


def _cuts(extent: int, pieces: int) -> list[slice]:
    """Return where an axis is cut into so many pieces for each thread, as even as can be."""
    count = min(pieces * thread_count(), extent)
    bounds = [extent * k // count for k in range(count + 1)]
    return [slice(*ends) for ends in pairwise(bounds)]


def _sharing_of(what: Any, array: np.ndarray, cut: int) -> Sharing:
    """Return what is known of threads for such a call, of about so many lines of about such a size.

    The ``what`` is what one thread does of another call.
    """
    count = array.shape[cut]
    key = what, array.dtype.num, cut, count.bit_length(), (array.size // count).bit_length()
    if len(_known) >= _MOST_KNOWN:
        _known.clear()
    return _known.setdefault(key, Sharing())


_known: dict[tuple[Any, ...], Sharing] = {}
_MOST_KNOWN = 512


def in_pieces(
    what: Any, call: Call, arrays: tuple[np.ndarray, ...], cut: int, joint: int, pieces: int
) -> Any:
    """Return what ``call`` gives of arrays that are cut along an axis, as one.

    Parameters
    ----------
    what : hashable
        What tells such calls from those that take another time.
    call : callable
        Gives an array, or a tuple of some, for pieces of the arrays.
    arrays : tuple of ndarray
        As long as one another along ``cut``.
    cut, joint : int
        The axis along which the arrays are cut, and along which the results are joined.
    pieces : int
        For each thread.
    """
    extent = arrays[0].shape[cut]
    whole_axes, joint_axes = (slice(None),) * cut, (slice(None),) * joint

    def piece(some: slice) -> Any:
        return call(*[a[(*whole_axes, some)] for a in arrays])

    def made(like: np.ndarray) -> np.ndarray:
        return room((*like.shape[:joint], extent, *like.shape[joint + 1 :]), like.dtype)

    def compute(some: slice) -> None:
        found = piece(some)
        for whole, part in zip(results, found if several else (found,), strict=True):
            whole[(*joint_axes, some)] = part

    sharing = _sharing_of(what, arrays[0], cut)
    shared = sharing.pays(guess=True)
    started = time.perf_counter()
    try:
        with _silently():
            if not shared:
                found = call(*arrays)
                sharing.observe(time.perf_counter() - started, shared=False)
                return found
            first = piece(slice(0, 1))
            several = isinstance(first, tuple)
            results = [made(one) for one in (first if several else (first,))]
            share_out(compute, _cuts(extent, pieces))
    except _REFUSED:
        return NotImplemented
    sharing.observe(time.perf_counter() - started, shared=True)
    if not several:
        return results[0]
    return tuple(results) if type(first) is tuple else type(first)(*results)


def _axis_of(a: Any, axis: Any, cost: float) -> int | None:
    """Return the axis that lines go along; None where they are not shared out."""
    if (
        type(a) is not np.ndarray
        or a.ndim < 2
        or type(axis) is not int
        or a.dtype.kind not in "iufcb"
    ):
        return None
    if not (-a.ndim <= axis < a.ndim and a.flags.c_contiguous and a.dtype.isnative):
        return None
    own = axis % a.ndim
    return own if a.shape[_cut_of(own)] > 1 and shares(cost * a.size) else None


def _cut_of(axis: int) -> int:
    return 0 if axis else 1


def _lined(function: Call, cost: float) -> Call:
    """Return a function of lines along an axis, the last one unless told, each in its place."""

    def of_lines(a: Any, *args: Any, axis: Any = -1, **named: Any) -> Any:
        own = _axis_of(a, axis, cost)
        if own is None:
            return NotImplemented
        cut = _cut_of(own)
        call = partial(_with_axis, function, args, {**named, "axis": own})
        return in_pieces(function, call, (a,), cut, cut, PIECES)

    return of_lines


def _with_axis(function: Call, args: tuple[Any, ...], named: dict[str, Any], a: np.ndarray) -> Any:
    return function(a, *args, **named)


def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """Return lines in order; each is copied, and sorted where it lies."""
    own = _axis_of(a, axis, 8.0)
    if own is None or order is not None:
        return NotImplemented
    np.sort(np.empty(0), kind=kind, stable=stable)  # raises for a wrong kind
    cut = _cut_of(own)
    made = room(a.shape, a.dtype)

    def compute(some: slice) -> None:
        at = (slice(None),) * cut + (some,)
        made[at] = a[at]
        made[at].sort(axis=own, kind=kind, stable=stable)

    sharing = _sharing_of(("sort", kind, stable), a, cut)
    shared = sharing.pays(guess=True)
    started = time.perf_counter()
    if shared:
        share_out(compute, _cuts(a.shape[cut], PIECES))
    else:
        compute(slice(None))
    sharing.observe(time.perf_counter() - started, shared=shared)
    return made


def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    """Return the indices that sort lines."""
    if order is not None:
        return NotImplemented
    return _argsort(a, axis=axis, kind=kind, stable=stable)


def argpartition(
    a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    """Return the indices by which the smallest of lines come first."""
    return NotImplemented if order is not None else _argpartition(a, kth, axis=axis, kind=kind)


_argsort = _lined(np.argsort, 20.0)
_argpartition = _lined(np.argpartition, 10.0)


def _reduced(function: Call, a: Any, axis: Any, q: Any, named: dict[str, Any]) -> Any:
    """Return one number for each line of a matrix, or some that stand one below another."""
    own = _axis_of(a, axis, 3.0)  # a fifth of it: much of each call is in Python
    if own is None or a.ndim != 2 or np.ndim(q) > 1 or a.dtype.kind not in "iuf":
        return NotImplemented
    args = () if q is None else (q,)
    call = partial(_with_axis, function, args, {**named, "axis": own})
    joint = np.ndim(q) if q is not None else 0
    return in_pieces((function, np.size(q)), call, (a,), _cut_of(own), joint, 1)


def median(
    a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False
) -> Any:
    """Return the medians of lines."""
    if out is not None or overwrite_input or keepdims:
        return NotImplemented
    return _reduced(np.median, a, axis, None, {})


def _quantiles(function: Call) -> Call:
    def quantiles(
        a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False,
        method: Any = "linear", keepdims: Any = False, **others: Any,
    ) -> Any:  # fmt: skip
        if out is not None or overwrite_input or keepdims or others or type(method) is not str:
            return NotImplemented
        return _reduced(function, a, axis, q, {"method": method})

    return quantiles


def _transform(function: Call) -> Call:
    """Return a transform of lines, of their own length."""
    shared = _lined(function, 8.0)

    def transform(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
        if n is not None or out is not None:
            return NotImplemented
        return shared(a, axis=axis, norm=norm)

    return transform


def _transform_of_planes(name: str, then: str) -> Call:
    """Return a transform along the last axis, and then along the one before."""
    first, second = _transforms[name], _transforms[then]

    def transform(
        a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None
    ) -> Any:
        if s is not None or out is not None or axes != (-2, -1) or getattr(a, "ndim", 0) != 2:
            return NotImplemented
        found = first(a, axis=-1, norm=norm)
        if found is NotImplemented:
            return found
        both = second(found, axis=-2, norm=norm)
        return getattr(np.fft, then)(found, axis=-2, norm=norm) if both is NotImplemented else both

    return transform


def _of_matrices(function: Call, cost: float, operands: int = 1) -> Call:
    """Return a function of small matrices, of which there is a row."""

    def of_matrices(*args: Any, **named: Any) -> Any:
        stacks = args[:operands]
        if len(stacks) != operands or not all(type(a) is np.ndarray for a in stacks):
            return NotImplemented
        first = stacks[0]
        fits = first.ndim == 3 and max(first.shape[1:]) <= LARGEST_MATRIX and len(first) > 1
        same = all(a.ndim == 3 and len(a) == len(first) for a in stacks)
        kinds = all(a.dtype.kind in "iufc" and a.dtype.isnative for a in stacks)
        if not (fits and same and kinds and shares(cost * first.size)):
            return NotImplemented
        call = partial(_with_others, function, args[operands:], named)
        return in_pieces(function, call, stacks, 0, 0, PIECES)

    return of_matrices


def _with_others(
    function: Call, args: tuple[Any, ...], named: dict[str, Any], *stacks: np.ndarray
) -> Any:
    return function(*stacks, *args, **named)


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Return a function that is known at some points, at others."""
    arrays = all(type(a) is np.ndarray for a in (x, xp, fp))
    if not (
        arrays and period is None and x.ndim and x.flags.c_contiguous and shares(30.0 * x.size)
    ):
        return NotImplemented

    def call(values: np.ndarray) -> np.ndarray:
        return np.interp(values, xp, fp, left, right)

    return in_pieces(("interp", len(xp).bit_length()), call, (x,), 0, 0, PIECES)


_TRANSFORMS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
_transforms = {name: _transform(getattr(np.fft, name)) for name in _TRANSFORMS}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sort": sort,
    "argpartition": argpartition,
    "median": median,
    "percentile": _quantiles(np.percentile),
    "quantile": _quantiles(np.quantile),
    "interp": interp,
    **{f"fft.{name}": transform for name, transform in _transforms.items()},
    "fft.fft2": _transform_of_planes("fft", "fft"),
    "fft.ifft2": _transform_of_planes("ifft", "ifft"),
    "fft.rfft2": _transform_of_planes("rfft", "fft"),
    **{
        f"linalg.{name}": _of_matrices(getattr(np.linalg, name), 25.0)
        for name in ("eigh", "eigvalsh", "svd")  # of `eig` all tell what dtype it has
    },
    "linalg.inv": _of_matrices(np.linalg.inv, 12.0),
    "linalg.solve": _of_matrices(np.linalg.solve, 12.0, 2),
}
