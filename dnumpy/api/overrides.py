"""Operands of classes that override NumPy's functions (NEP 13 and NEP 18), and our functions.

A class is spoken to in the NumPy that its module imports: where that is dnumpy, its
``__array_ufunc__`` and ``__array_function__`` are handed our ufunc or function, so that ``func is
np.sum`` and tables keyed by functions work there. Other classes (pandas, xarray, ...) are asked by
NumPy itself.

NumPy still decides whether a call can be overridden, by which operands, and in which order they are
asked: each of them is replaced by a :class:`_Stand`, whose class is one for each class of operands,
and NumPy asks that.
"""

from __future__ import annotations

import inspect
import sys
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import calls
from dnumpy.api.array import ndarray
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_LOOKED_AT = 8  # elements of a sequence that are looked at
_LOOKED_INTO = {"__array_function__": (list, tuple), "__array_ufunc__": (tuple,)}  # ``out`` is one
_UNREMARKABLE = frozenset({
    ndarray, DeferredScalar, np.ndarray, int, float, complex, bool, str, bytes, type(None), type,
    slice, np.dtype, np.float64, np.int64, np.float32, np.int32, np.bool_,
})  # fmt: skip
_verdicts: weakref.WeakKeyDictionary[type, dict[str, bool]] = weakref.WeakKeyDictionary()


def overridden(values: Iterable[Any], protocol: str) -> bool:
    """Say whether a value, or one of the first in a list, is of a class that must be asked."""
    for v in values:
        kind = type(v)
        if kind in _UNREMARKABLE:
            continue
        if kind is list or kind is tuple:
            if v and kind in _LOOKED_INTO[protocol] and overridden(v[:_LOOKED_AT], protocol):
                return True
        elif hasattr(kind, protocol) and _is_asked(kind, protocol):
            return True
    return False


def _is_asked(kind: type, protocol: str) -> bool:
    known = _verdicts.setdefault(kind, {})
    found = known.get(protocol)
    if found is None:
        found = known[protocol] = _imports_dnumpy(kind, protocol)
    return found


def _has_numpys(kind: type, protocol: str) -> bool:
    """Say whether a class has what NumPy's array does for functions, which NumPy asks in its turn.

    That knows the classes of the other operands, but not of what stands for them.
    """
    if protocol != "__array_function__":
        return False
    return getattr(kind, protocol) is np.ndarray.__array_function__


def _imports_dnumpy(kind: type, protocol: str) -> bool:
    override = getattr(kind, protocol)
    if override is None or override is getattr(np.ndarray, protocol) or kind in _UNREMARKABLE:
        return False
    names = getattr(inspect.unwrap(override), "__globals__", {})
    if names.get("__name__", "").partition(".")[0] == "dnumpy":
        return False
    package = sys.modules.get("dnumpy")
    return any(v is package or _is_from_dnumpy(v) for v in names.values())


def _is_from_dnumpy(x: Any) -> bool:
    module = getattr(x, "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] == "dnumpy"


class _StandType(type):
    """What stands for operands of one class; NumPy asks a subclass of theirs before them."""

    stood_for: weakref.ref[type]

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = cls.stood_for()
        return kind is not None and isinstance(_operand_of(instance), kind)


class _Stand:
    """Stands for an operand while NumPy finds out whom to ask."""

    __slots__ = ("_operand", "_public")

    def __init__(self, operand: Any, public: Any) -> None:
        self._operand = operand
        self._public = public

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class of the operand: NumPy asks subclasses of ndarray before ndarray."""
        return type(self._operand)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operand, name)

    def __repr__(self) -> str:
        return repr(self._operand)


class _Convertible(_Stand):
    """Stands for an operand that can be converted to an array."""

    __slots__ = ()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return calls.unwrap(self._operand.__array__(*args, **kwargs))


class _FunctionStand(_Stand):
    __slots__ = ()

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        kinds: dict[Any, Any] = {type(s): type(s._operand) for s in _stands((args, kwargs))}
        kinds |= {ndarray: np.ndarray, DeferredScalar: np.ndarray, type(self): self.__class__}
        seen = tuple(dict.fromkeys(kinds.get(t, t) for t in types))
        override: Any = self.__class__.__array_function__
        return override(self._operand, self._public, seen, _restored(args), _restored(kwargs))


class _UfuncStand(_Stand):
    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        override: Any = self.__class__.__array_ufunc__
        given = _restored(inputs)
        return override(self._operand, self._public, method, *given, **_restored(kwargs))


_STANDS: dict[str, type[_Stand]] = {
    "__array_function__": _FunctionStand,
    "__array_ufunc__": _UfuncStand,
}
_made: weakref.WeakKeyDictionary[type, dict[str, type[_Stand]]] = weakref.WeakKeyDictionary()


def _standing_for(kind: type, protocol: str) -> type[_Stand]:
    """Return the class of what stands for operands of a class; messages show it as that class."""
    known = _made.setdefault(kind, {})
    found = known.get(protocol)
    if found is None:
        bases = (_STANDS[protocol], _Convertible if hasattr(kind, "__array__") else _Stand)
        shown = {"__slots__": (), "__module__": kind.__module__, "__qualname__": kind.__qualname__}
        made: Any = _StandType(kind.__name__, bases, shown)
        made.stood_for = weakref.ref(kind)
        found = known[protocol] = made
    return found


def _operand_of(x: Any) -> Any:
    return x._operand if issubclass(type(x), _Stand) else x


functions: dict[Any, Any] = {}  # NumPy's function -> ours


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
    stand = _replacer(functions.get(wrapped, wrapped), "__array_function__")
    given, named = stand(args), stand(kwargs)  # kept: NumPy borrows what it is given as ``like``
    return calls.wrap_result(wrapped(*given, **named), args)


def call_ufunc(public: Any, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a method of NumPy's ufunc; classes that override it are handed ``public``."""
    stand = _replacer(public, "__array_ufunc__")
    return calls.wrap_result(getattr(public._np, method)(*stand(args), **stand(kwargs)), args)


def _replacer(public: Any, protocol: str) -> Callable[[Any], Any]:
    def replaced(x: Any) -> Any:
        kind = type(x)
        if kind in _UNREMARKABLE:
            return x
        if kind in _LOOKED_INTO[protocol]:
            return kind([replaced(e) for e in x])
        if kind is dict:
            return {k: replaced(v) for k, v in x.items()}
        if hasattr(kind, protocol) and (_is_asked(kind, protocol) or _has_numpys(kind, protocol)):
            return _standing_for(kind, protocol)(x, public)
        return x

    return replaced


def _restored(x: Any) -> Any:
    kind = type(x)
    if kind is list or kind is tuple:
        return kind([_restored(e) for e in x])
    if kind is dict:
        return {k: _restored(v) for k, v in x.items()}
    return _operand_of(x)


def _stands(x: Any) -> Iterator[_Stand]:
    kind = type(x)
    if issubclass(kind, _Stand):
        yield x
    elif kind in (list, tuple, dict):
        for e in x.values() if kind is dict else x:
            yield from _stands(e)
