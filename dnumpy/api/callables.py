"""Public objects of NumPy that are neither plain functions nor classes."""

from __future__ import annotations

import importlib
import inspect
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import calls
from dnumpy.api.array import exported, ndarray

if TYPE_CHECKING:
    from collections.abc import Callable

INDEXERS = tuple(type(x) for x in (np.r_, np.c_, np.mgrid, np.ogrid))
DISPATCHING = (type(np.sum), types.BuiltinFunctionType)  # what asks ``__array_function__``
_PLAIN_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    type(np.sum),
)


class Home:
    """The module that a built-in function is bound to, as NumPy's are to theirs.

    So bound it is no method of a class that holds it, and is called as fast as a plain function.
    """

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(self._name), name)

    def __deepcopy__(self, _memo: Any) -> Home:
        return self

    def __reduce__(self) -> Any:
        return Home, (self._name,)

    def __repr__(self) -> str:
        return f"<module {self._name!r}>"


class _Bound:
    """Tells the signature of a built-in function with the module that it is bound to."""

    def __init__(self, wrapped: Callable[..., Any]) -> None:
        self.__wrapped__ = wrapped

    @property
    def __signature__(self) -> inspect.Signature:
        """NumPy's signature after the module; raises ValueError where there is none."""
        theirs = inspect.signature(self.__wrapped__)
        module = inspect.Parameter("module", inspect.Parameter.POSITIONAL_ONLY)
        return theirs.replace(parameters=[module, *theirs.parameters.values()])


def builtin(made: Any, wrapped: Callable[..., Any]) -> types.MethodType:
    """Return a function whose first parameter is its module as what stands for a built-in one."""
    made.__wrapped__ = _Bound(wrapped)
    return types.MethodType(made, Home(made.__module__))


def in_module(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``function`` with its module as first parameter, which it has no use for."""

    def made(_module: Home, /, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return made


class CallableObject:
    """Stands for a callable of NumPy that has methods of its own, as ``np.ma.minimum`` has."""

    def __init__(
        self, made: Callable[..., Any], wrapped: Any, wrap: Callable[[Any, str], Any]
    ) -> None:
        self._made = made
        self._wrap = wrap
        self.__wrapped__ = wrapped
        self.__doc__ = made.__doc__
        self.__name__ = made.__name__
        self.__module__ = made.__module__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call as NumPy's object is called."""
        return self._made(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__dict__["__wrapped__"], name)
        return self._wrap(found, name) if callable(found) else found

    def __repr__(self) -> str:
        return repr(self.__wrapped__)

    def __reduce__(self) -> str:
        return self.__name__  # in its module, as a function


class Indexer:
    """Stands for an object of NumPy that makes arrays when it is indexed."""

    def __init__(self, wrapped: Any) -> None:
        self.__wrapped__ = wrapped
        self.__doc__ = wrapped.__doc__

    def __getitem__(self, key: Any) -> Any:
        if type(key) is str:  # a matrix of names: NumPy looks them up in the caller's frame
            frame = sys._getframe(1)
            return np.bmat(key, {**frame.f_locals}, frame.f_globals)
        return calls.wrap_result(self.__wrapped__[calls.unwrap(key)])

    def __len__(self) -> int:
        return len(self.__wrapped__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["__wrapped__"], name)


class Constructor(type):
    """Stands for a class of NumPy that cannot be derived from: its instances are NumPy's."""

    _wrapped: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Construct NumPy's object over memory that it shares with our arrays.

        Lists are copied first: NumPy reads them while our arrays are asked for their memory, and
        another thread may change them meanwhile.
        """
        given = [_handed_out(a) for a in args]
        return cls._wrapped(*given, **{k: _handed_out(v) for k, v in kwargs.items()})

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls._wrapped)

    @property
    def __signature__(cls) -> inspect.Signature | None:
        """NumPy's signature, where it has one."""
        try:
            return inspect.signature(cls._wrapped)
        except ValueError:
            return None

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls._wrapped, name)

    def __dir__(cls) -> list[str]:
        return dir(cls._wrapped)


def constructor_of(wrapped: type, kind: type[Constructor] = Constructor) -> Any:
    """Return the class that stands for one of NumPy's that iterates over arrays."""
    inside: dict[str, Any] = {k: v for k, v in vars(wrapped).items() if not k.startswith("_")}
    inside |= {"_wrapped": wrapped, "__doc__": wrapped.__doc__, "__module__": "dnumpy"}
    return kind(wrapped.__name__, (), inside)


def _handed_out(x: Any) -> Any:
    kind = type(x)
    if kind is ndarray:
        return exported(x)
    if kind is list or kind is tuple:
        return kind([_handed_out(e) for e in kind(x)])
    return calls.unwrap(x)


def has_methods(wrapped: Any) -> bool:
    """Say whether a callable is an object with a public face of its own."""
    return not isinstance(wrapped, _PLAIN_FUNCTIONS)


def bmat(obj: Any, ldict: Any = None, gdict: Any = None) -> Any:
    """Return a matrix of blocks; names in a string are looked up where this is called."""
    if isinstance(obj, str) and gdict is None:
        frame = sys._getframe(1)
        ldict, gdict = dict(frame.f_locals), frame.f_globals
    return np.bmat(calls.unwrap(obj), ldict, gdict)
