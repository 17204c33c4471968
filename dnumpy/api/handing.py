"""NumPy's arrays and scalars in place of ours among the arguments of a function."""

from __future__ import annotations

import functools
import operator
from itertools import chain
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from dnumpy.api.array import exported, ndarray
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_CONTAINERS = frozenset({list, tuple, dict})
_HOLDING = _CONTAINERS | {ndarray, DeferredScalar}
_FEW = 1000  # items of a container that a function inside of a package looks through


def handed_over(x: Any) -> Any:
    """Return NumPy's array or scalar for ours, also where lists, tuples and dicts hold them."""
    kind = type(x)
    if kind is ndarray:
        return exported(x)
    if kind is DeferredScalar:
        return x.force()
    if kind not in _CONTAINERS:
        return x
    held = x.values() if kind is dict else x
    if _plain(held):
        return x
    items = [*map(handed_over, held)]
    if all(map(operator.is_, items, held)):
        return x
    return dict(zip(x, items, strict=True)) if kind is dict else kind(items)


def _plain(held: Collection[Any]) -> bool:
    """Whether the classes alone tell that nothing of ours is held, by rows of one class too."""
    kinds = set(map(type, held))
    if kinds == {dict}:
        kinds = set(map(type, chain.from_iterable(map(dict.values, held))))
    elif kinds in ({list}, {tuple}):
        kinds = set(map(type, chain.from_iterable(held)))
    return _HOLDING.isdisjoint(kinds)


def handed_over_inside(x: Any) -> Any:
    """Return the same, but large containers as they are: the public function looked through."""
    return x if type(x) in _CONTAINERS and len(x) > _FEW else handed_over(x)


def handed_over_alone(x: Any) -> Any:
    """Return the same, but containers as they are, where there never was a pending scalar."""
    return x if type(x) in _CONTAINERS and not DeferredScalar.made else handed_over_inside(x)


def handing_over(
    function: Callable[..., Any],
    handed: Callable[[Any], Any] = handed_over,
    *,
    always: bool = False,
) -> Callable[..., Any]:
    """Return the function, called with NumPy's arrays in place of ours, as ``handed`` gives them.

    With ``always``, more is to be handed over than arrays, scalars and containers.
    """

    @functools.wraps(function)
    def asked(*args: Any, **kwargs: Any) -> Any:
        # most calls are of the package's own, of what holds nothing: they are to lose no time
        if always or not _HOLDING.isdisjoint(map(type, args)):
            args = tuple(map(handed, args))
        if kwargs and (always or not _HOLDING.isdisjoint(map(type, kwargs.values()))):
            kwargs = {name: handed(x) for name, x in kwargs.items()}
        found = function(*args, **kwargs)
        return handed_over_inside(found) if type(found) in _HOLDING else found

    return asked


_CALLED = {FunctionType, MethodType, functools.partial}


class Answering:
    """A function that answers with NumPy's arrays, by its own name and signature."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        return handed_over(self._function(*args, **kwargs))


def answering(x: Any) -> Any:
    """Return a function that answers with NumPy's arrays for one of Python's, else what NumPy has.

    What is called by compiled code may be asked there for NumPy's class.
    """
    kind = type(x)
    if kind in _CALLED or (str(kind.__module__).startswith("dnumpy") and callable(x)):
        return Answering(x)
    return handed_over(x)


class Fortran:
    """A function of f2py's, which takes memory of ours that it is shown for its own copy.

    Or what f2py has for a module or a common block of Fortran's, which holds such and data.
    """

    def __init__(self, function: Any) -> None:
        vars(self)["_function"] = function
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it with NumPy's arrays, which it copies before it writes to them."""
        named = {name: answering(x) for name, x in kwargs.items()}
        return self._function(*map(answering, args), **named)

    def __getattr__(self, name: str) -> Any:
        found = getattr(vars(self)["_function"], name)
        return Fortran(found) if type(found) is type(self._function) else found

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "__doc__":
            vars(self)[name] = value
        else:
            setattr(self._function, name, handed_over(value))

    def __dir__(self) -> list[str]:
        return dir(self._function)

    def __repr__(self) -> str:
        return repr(self._function)
