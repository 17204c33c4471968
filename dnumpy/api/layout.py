"""The memory order of fresh results: NumPy keeps that of the operands (its order 'K').

It is seen in strides, and in whether ``ravel`` and ``reshape`` alias. A result in another order
than C is recorded over permuted operands, so that its base is C-contiguous, and shown with its axes
put back.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dnumpy.api.array import (
    _Ghostly,
    geometry_over,
    ghost,
    managed,
    ndarray,
    view_of,
)
from dnumpy.expr.geometry import Geometry, contiguous_strides

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Axes = tuple[int, ...]


def result_order(operands: Sequence[Any]) -> Axes | None:
    """Return the axes of a fresh elementwise result, slowest first; None for C order."""
    for x in operands:
        if type(x) is ndarray:
            if x._np is None:
                if x._geo is not None and not descends(x._geo.shape, x._geo.strides):
                    break
            elif not descends(x._np.shape, x._np.strides):
                break
        elif type(x) is np.ndarray and not descends(x.shape, x.strides):
            break
    else:
        return None
    return _ask(operands)


def descends(shape: Axes, strides: Axes) -> bool:
    """Say whether no axis has larger strides than one before it."""
    last = None
    for extent, stride in zip(shape, strides, strict=True):
        if extent > 1 and stride:
            if last is not None and abs(stride) > last:
                return False
            last = abs(stride)
    return True


def _ask(operands: Sequence[Any]) -> Axes | None:
    """Return the axes of a result, slowest first, as NumPy allocates it; None for C order."""
    return _allocated(tuple([_lies(x) for x in operands if isinstance(x, ndarray)]))


def _lies(x: Any) -> tuple[Axes, Axes]:
    """Return shape and strides of an array of either kind."""
    own = x._np if type(x) is ndarray else x
    if own is not None:
        return own.shape, own.strides
    geometry = x._geo
    if geometry is not None:
        return geometry.shape, geometry.strides
    shape = x._buf.shape
    return shape, contiguous_strides(shape, x._buf.dtype.itemsize)


@lru_cache(maxsize=1024)
def _allocated(lies: tuple[tuple[Axes, Axes], ...]) -> Axes | None:
    """Let NumPy allocate the result of operands of at most two elements per axis."""
    stand_ins = [_stand_in(*given) for given in lies]
    flags = [["readonly"]] * len(stand_ins) + [["writeonly", "allocate"]]
    try:
        np.broadcast_shapes(*[shape for shape, _ in lies])
        asked = np.nditer([*stand_ins, None], ["zerosize_ok"], flags, order="K")
    except ValueError:
        return None  # they do not broadcast: whoever records them says so
    strides = asked.operands[-1].strides
    axes = tuple(sorted(range(len(strides)), key=lambda k: -strides[k]))
    return None if axes == tuple(range(len(axes))) else axes


def copy_order(arrays: Sequence[Any]) -> Axes | None:
    """Return the axes of a copy, or of arrays joined, slowest first; None for C order.

    NumPy's own stable sort by strides: where arrays differ, C order wins.
    """
    seen = [_seen(x) for x in arrays]
    axes: list[int] = []
    for k in range(seen[0].ndim):
        place = len(axes)
        for at in range(len(axes) - 1, -1, -1):
            outer = [
                abs(s.strides[k]) > abs(s.strides[axes[at]])
                for s in seen
                if s.shape[k] != 1 and s.shape[axes[at]] != 1
            ]
            if outer and not all(outer):
                break
            place = at if outer else place
        axes.insert(place, k)
    return None if axes == sorted(axes) else tuple(axes)


def kept_order(x: ndarray) -> Axes | None:
    """Return the axes of a copy that keeps the order of one array, slowest first; None for C order.

    Axes of one element stand where NumPy puts them, as its strides show; no element moves for them.
    """
    if copy_order([x]) is None:
        return None
    seen = _seen(x)
    axes = range(seen.ndim)
    if seen.flags.f_contiguous:
        return tuple(reversed(axes))
    return tuple(sorted(axes, key=lambda k: -abs(seen.strides[k])))


def _seen(x: Any) -> np.ndarray:
    if type(x) is not ndarray:
        return np.asarray(x)
    return ghost(x) if x._np is None else x._np


def _stand_in(shape: Axes, strides: Axes) -> np.ndarray:
    few = tuple(min(n, 2) for n in shape)
    return np.asarray(_Ghostly(Geometry(0, few, strides, np.dtype("u1")), readonly=True))


def arranged(operands: Sequence[Any]) -> tuple[Sequence[Any], Axes | None]:
    """Return the operands, their axes in the order of the result, and that order (None for C)."""
    if result_order(operands) is None:
        return operands, None
    given = [np.asarray(x) if type(x) in (list, tuple) else x for x in operands]
    axes = _ask(given)
    return (operands, None) if axes is None else ([permuted(x, axes) for x in given], axes)


def contracted_order(subscripts: str, operands: Sequence[Any], *, optimize: Any) -> Axes | None:
    """Return the axes of an Einstein sum in memory, slowest first; None for C order."""
    return _contracted(subscripts, tuple(_ranked(_seen(x)) for x in operands), optimize)


def _ranked(seen: Any) -> tuple[Axes, Axes]:
    """Return at most two elements per axis, and strides of as many in the same order."""
    known = sorted({abs(s) for s in seen.strides if s})
    strides = tuple(8 << known.index(abs(s)) if s else 0 for s in seen.strides)
    return tuple(min(n, 2) for n in seen.shape), strides


@lru_cache(maxsize=256)
def _contracted(
    subscripts: str, operands: tuple[tuple[Axes, Axes], ...], optimize: Any
) -> Axes | None:
    """Let NumPy contract stand-ins."""
    room = np.zeros(1 << max([1, *(2 * len(shape) for shape, _ in operands)]))
    stand_ins = [as_strided(room, *given, writeable=False) for given in operands]
    strides = np.einsum(subscripts, *stand_ins, optimize=optimize).strides
    axes = tuple(sorted(range(len(strides)), key=lambda k: -strides[k]))
    return None if axes == tuple(range(len(axes))) else axes


def order_given(function: Callable[[np.ndarray], Any], x: Any) -> Axes | None:
    """Return the axes, slowest first, of what a function of NumPy's gives of an array that lies so.

    None for C order. The function is asked of a few elements.
    """
    shape, strides = _ranked(_seen(x))
    room = np.ones(1 << (1 + len(shape)))
    found = np.asarray(function(as_strided(room, shape, strides, writeable=False)))
    long = [k for k, n in enumerate(found.shape) if n > 1]
    turned = sorted(long, key=lambda k: -found.strides[k])
    if turned == long:
        return None
    places = dict(zip(long, turned, strict=True))
    return tuple(places.get(k, k) for k in range(found.ndim))


def permuted(x: Any, axes: Axes) -> Any:
    """Return an operand with its axes in the given order; scalars and 0-d arrays as they are."""
    if not isinstance(x, ndarray) or not x.ndim:
        return x
    key = (None,) * (len(axes) - x.ndim)
    if type(x) is ndarray:
        if x._np is None:
            return view_of(x, ghost(x)[(*key, ...)].transpose(axes))
        x = x._np
    return x[(*key, ...)].transpose(axes)


def restored(result: Any, axes: Axes) -> Any:
    """Return a fresh result, recorded over permuted operands, with its axes put back."""
    if type(result) is not ndarray or result._np is not None:
        return result
    seen = ghost(result).transpose(np.argsort(axes))
    return managed(result._buf, geometry_over(result._buf, seen))
