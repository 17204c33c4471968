"""Operands of classes that override NumPy's functions (NEP 13 and NEP 18), and our functions.

A class is spoken to in the NumPy that its module imports: where that is dnumpy, its
``__array_ufunc__`` and ``__array_function__`` are handed our ufunc or function, so that ``func is
np.sum`` and tables keyed by functions work there. Other classes (pandas, xarray, ...) are asked by
NumPy itself.

NumPy still decides whether a call can be overridden, by which operands, and in which order they are
asked: each of them is replaced by what stands for it, which NumPy asks (:mod:`dnumpy.api.stands`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import calls
from dnumpy.api.array import ndarray
from dnumpy.api.scalar import DeferredScalar
from dnumpy.api.stands import functions, speaks, stand_for, standing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LOOKED_AT = 8  # elements of a sequence that are looked at
_LOOKED_INTO = {"__array_function__": (list, tuple), "__array_ufunc__": (tuple,)}  # ``out`` is one
_UNREMARKABLE = frozenset({
    ndarray, DeferredScalar, np.ndarray, int, float, complex, bool, str, bytes, type(None), type,
    slice, np.dtype, np.float64, np.int64, np.float32, np.int32, np.bool_,
})  # fmt: skip


def overridden(values: Iterable[Any], protocol: str) -> bool:
    """Say whether a value, or one of the first in a list, is of a class that must be asked."""
    for v in values:
        kind = type(v)
        if kind in _UNREMARKABLE:
            continue
        if kind is list or kind is tuple:
            if not v or kind not in _LOOKED_INTO[protocol]:
                continue
            some = v[:_LOOKED_AT]
            if not _UNREMARKABLE.issuperset(map(type, some)) and overridden(some, protocol):
                return True
        elif hasattr(kind, protocol) and speaks(kind, protocol):
            return True
    return False


def _has_numpys(kind: type, protocol: str) -> bool:
    """Say whether a class has what NumPy's array does for functions, which NumPy asks in its turn.

    That knows the classes of the other operands, but not of what stands for them.
    """
    if protocol != "__array_function__":
        return False
    return getattr(kind, protocol) is np.ndarray.__array_function__


def register(wrapped: Any, public: Any) -> None:
    """Remember which function of ours stands for NumPy's; what is unhashable is never looked up."""
    if getattr(type(wrapped), "__hash__", None) is not None:
        functions.setdefault(wrapped, public)


def registered(wrapped: Any) -> Any:
    """Return what stands for NumPy's ``wrapped`` already, if anything does."""
    hashable = getattr(type(wrapped), "__hash__", None) is not None
    return functions.get(wrapped) if hashable else None


def call_function(
    wrapped: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Call NumPy's function; classes that override it are handed ours."""
    protocol = "__array_function__"
    given, named = _replaced(args, protocol), _replaced(kwargs, protocol)  # NumPy borrows ``like``
    return calls.wrap_result(wrapped(*given, **named), args)


def call_ufunc(public: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method of NumPy's ufunc; classes that override it are handed ``public``."""
    protocol = "__array_ufunc__"
    given, named = _replaced(args, protocol), _replaced(kwargs, protocol)
    return calls.wrap_result(getattr(public._np, method)(*given, **named), args)


def _replaced(x: Any, protocol: str) -> Any:
    kind = type(x)
    if kind in _UNREMARKABLE:
        return x
    if kind in _LOOKED_INTO[protocol]:
        return kind([_replaced(e, protocol) for e in x])
    if kind is dict:
        return {k: _replaced(v, protocol) for k, v in x.items()}
    if hasattr(kind, protocol) and (speaks(kind, protocol) or _has_numpys(kind, protocol)):
        return stand_for(x)
    return standing(x)
