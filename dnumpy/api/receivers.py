"""What methods and attributes of our class do with arrays that are not of it.

A subclass of ``np.ndarray`` in a program is one of NumPy's class, and calls
``np.ndarray.sum(self)`` or ``np.ndarray.__getitem__(self, k)``: what our class has by a name of
NumPy's does then what NumPy has by that name, which also refuses what is no array, in its words.
"""

from __future__ import annotations

import functools
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.api import calls
from dnumpy.api.array import handed_out, ndarray

if TYPE_CHECKING:
    from collections.abc import Callable

# what keeps an array that it is given, or makes a view of it
_KEEPING = frozenset({"__array_wrap__", "__setstate__", "view"})
_GIVING_NUMPYS = frozenset({"__array__"})
# what NumPy calls with the operands of any class
_OF_ANY = {np.ndarray.__array_ufunc__: "__array_ufunc__"}
_OF_ANY[np.ndarray.__array_function__] = "__array_function__"
_FEWEST = 3  # arguments of those that NumPy refuses


def called(numpys: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what NumPy's method gives, where the first argument is no array of ours.

    As ``super()`` finds it in a subclass: special methods are given what they are called with, and
    NumPy asks an array of ours for what it needs.
    """
    if not args or not issubclass(type(args[0]), np.ndarray):
        return numpys(*args, **kwargs)  # raises what NumPy raises
    name = numpys.__name__
    if numpys in _OF_ANY and len(args) > _FEWEST:
        return _own[_OF_ANY[numpys]](*args, **kwargs)
    if name in _KEEPING:
        found = numpys(*map(_kept, args), **{k: _kept(v) for k, v in kwargs.items()})
    elif name.startswith("__"):
        found = numpys(*args, **kwargs)
    else:
        return calls.run(numpys, args, kwargs)
    if found is args[0] or name in _GIVING_NUMPYS:
        return found
    return calls.wrap_result(found, args)


def _kept(x: Any) -> Any:
    return np.ndarray if x is ndarray else handed_out(x)


class _Attribute:
    """An attribute of the class where the module in C was not built."""

    def __init__(self, mine: property, theirs: Any) -> None:
        self._mine = mine
        self._theirs = theirs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._theirs, name)

    def __repr__(self) -> str:
        return repr(self._theirs)

    def __get__(self, array: Any, kind: type | None = None) -> Any:
        if array is None:
            return self
        if type(array) is ndarray:
            return self._mine.__get__(array, kind)
        return called(self._theirs.__get__, (array,), {})

    def __set__(self, array: Any, value: Any) -> None:
        if type(array) is ndarray:
            self._mine.__set__(array, value)
        else:
            called(self._theirs.__set__, (array, value), {})

    def __delete__(self, array: Any) -> None:
        if type(array) is ndarray:
            self._mine.__delete__(array)
        else:
            called(self._theirs.__delete__, (array,), {})


def _unbound(mine: Callable[..., Any], theirs: Any) -> Callable[..., Any]:
    """Return a method as the class shows it where the module in C was not built."""

    @functools.wraps(mine)
    def method(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is ndarray:
            return mine(*args, **kwargs)
        return called(theirs, args, kwargs)

    return method


_SLOTS = types.WrapperDescriptorType
_METHODS = types.MethodDescriptorType
_own: dict[str, Any] = {}  # what the class has by its names of NumPy's
_shown: dict[str, Any] = {}  # what stands for it where the module in C was not built


class _Shown:
    """What the metaclass does then when an attribute of the class is looked up."""

    def __get__(self, cls: type, kind: type) -> Callable[[str], Any]:
        return functools.partial(self._found, cls)

    @staticmethod
    def _found(of: type, name: str) -> Any:
        found = type.__getattribute__(of, name)
        return _shown[name] if name in _shown and found is _own[name] else found


def _shown_by_c(name: str, mine: Any, theirs: Any) -> None:
    """Let the class have an attribute that knows of NumPy's arrays."""
    if name not in vars(ndarray):
        native.show_special(theirs)
    elif isinstance(mine, types.FunctionType):
        setattr(ndarray, name, native.method(mine, theirs, "own"))
    elif isinstance(mine, property):
        setattr(ndarray, name, native.property_(mine, name))


def _shown_by_python(name: str, mine: Any, theirs: Any) -> None:
    """Let the metaclass show one; instances have what they had."""
    if isinstance(mine, types.FunctionType):
        _shown[name] = _unbound(mine, theirs)
    elif isinstance(mine, property):
        _shown[name] = _Attribute(mine, theirs)


def install() -> None:
    """Let all that the class has by a name of NumPy's know of NumPy's arrays; run once, as last."""
    show = _shown_by_c if native.built else _shown_by_python
    for name, theirs in vars(np.ndarray).items():
        if isinstance(theirs, _SLOTS | _METHODS | types.GetSetDescriptorType):
            mine = getattr(ndarray, name, None)
            _own[name] = mine
            if mine is not None:
                show(name, mine, theirs)
    native.take_buffers()
    if not native.built:
        type(ndarray).__getattribute__ = _Shown()  # type: ignore[assignment,method-assign]
