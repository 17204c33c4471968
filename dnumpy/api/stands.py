"""What NumPy is given for operands of classes that speak to it in our arrays and functions.

A class is spoken to in the NumPy that its module imports. Where that is dnumpy, its ``__array__``
returns an array of ours, which NumPy in C does not take for one, and its ``__array_ufunc__`` and
``__array_function__`` are to be handed our ufunc or function. NumPy is given a :class:`Stand` for
such an operand, which it asks in its own way, and which asks the operand in ours. Else it acts as
the operand does: it has the special methods of its class, and shows that class as its own.
"""

from __future__ import annotations

import inspect
import threading
import weakref
from collections import deque
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api.array import concrete, ndarray, wrap
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

functions: dict[Any, Any] = {}  # NumPy's function -> ours
_ufunc_of: list[Callable[[np.ufunc], Any]] = []  # what tells our ufunc for NumPy's
_verdicts: weakref.WeakKeyDictionary[type, dict[str, bool]] = weakref.WeakKeyDictionary()
_classes: weakref.WeakKeyDictionary[type, type[Stand]] = weakref.WeakKeyDictionary()
_alive: weakref.WeakValueDictionary[int, Stand] = weakref.WeakValueDictionary()
_asked: weakref.WeakKeyDictionary[type, type[Stand] | None] = weakref.WeakKeyDictionary()
MOST_AXES = 64  # of an array
_NEVER = (  # NumPy has a look at these, or at what they derive from, before it asks for an array
    np.ndarray, np.generic, int, float, complex, str, bytes, tuple, type, DeferredScalar,
)  # fmt: skip
_OPERATORS = (
    "add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "divmod", "pow", "lshift",
    "rshift", "and", "xor", "or",
)  # fmt: skip
_SPECIAL = frozenset(f"__{name}__" for name in (  # the methods that Python looks up in the class
    "len", "length_hint", "getitem", "setitem", "delitem", "iter", "next", "reversed", "contains",
    "call", "bool", "int", "float", "complex", "index", "round", "trunc", "floor", "ceil", "hash",
    "str", "format", "bytes", "fspath", "enter", "exit", "neg", "pos", "abs", "invert", "eq", "ne",
    "lt", "le", "gt", "ge", "copy", "deepcopy", "reduce", "reduce_ex", "dir",
    *[f"{side}{name}" for name in _OPERATORS for side in ("", "r", "i")],
))  # fmt: skip
_lately = threading.local()  # the arrays that operands of this thread have been converted to


def speak_of_ufuncs_with(of: Callable[[np.ufunc], Any]) -> None:
    """Let ``of`` be what tells our ufunc for NumPy's."""
    _ufunc_of[:] = [of]


def speaks(kind: type, protocol: str) -> bool:
    """Say whether a class that has the protocol is written for dnumpy."""
    known = _verdicts.setdefault(kind, {})
    found = known.get(protocol)
    if found is None:
        found = known[protocol] = _imports_dnumpy(kind, protocol)
    return found


def _imports_dnumpy(kind: type, protocol: str) -> bool:
    """Say whether the module of an override does, or, of an ``__array__``, imports no NumPy."""
    override = getattr(kind, protocol)
    if override is None or override is getattr(np.ndarray, protocol):
        return False
    names = getattr(inspect.unwrap(override), "__globals__", {})
    if not names or names.get("__name__", "").partition(".")[0] == "dnumpy":
        return False
    if any(_is_from("dnumpy", v) for v in names.values()):
        return True
    return protocol == "__array__" and not any(_is_from("numpy", v) for v in names.values())


def _is_from(package: str, x: Any) -> bool:
    module = getattr(x, "__name__" if isinstance(x, ModuleType) else "__module__", None)
    return isinstance(module, str) and module.partition(".")[0] == package


def is_stood_for(kind: type) -> bool:
    """Say whether objects of a class are asked in our arrays and functions, as far as is known."""
    return _class_of_asked(kind) is not None


def standing(x: Any) -> Any:
    """Return what NumPy is given for ``x``: a stand if it is asked in our arrays and functions."""
    return x if _class_of_asked(type(x)) is None else stand_for(x)


def standing_in(x: Any) -> Any:
    """Return ``x`` with what NumPy is given for its parts, arrays of ours as they are."""
    kind = type(x)
    return kind(map(standing_in, x)) if kind is list or kind is tuple else standing(x)


def stand_for(x: Any) -> Stand:
    """Return what stands for ``x``: one and the same as long as NumPy holds it."""
    found = _alive.get(id(x))
    if found is None:
        found = _alive[id(x)] = class_for(type(x))(x)
    return found


def _class_of_asked(kind: type) -> type[Stand] | None:
    try:
        return _asked[kind]
    except KeyError:
        pass
    except TypeError:  # of a metaclass without a hash
        return None
    asked = (
        [] if issubclass(kind, (*_NEVER, Stand)) else [p for p in _PROTOCOLS if hasattr(kind, p)]
    )
    found = class_for(kind) if any(speaks(kind, p) for p in asked) else None
    _asked[kind] = found
    return found


def converted(x: Any) -> Any:
    """Return ``x`` with a stand for all that has an ``__array__``, inside lists and tuples too."""
    kind = type(x)
    if kind is list or kind is tuple:
        return kind([converted(e) for e in x])
    if issubclass(kind, (*_NEVER, Stand, ndarray)) or not hasattr(x, "__array__"):
        return x
    return stand_for(x)


class StandType(type):
    """What stands for operands of one class; NumPy asks a subclass of theirs before them."""

    stood_for: weakref.ref[type]

    def __instancecheck__(cls, instance: Any) -> bool:
        kind = cls.stood_for()
        return kind is not None and isinstance(operand_of(instance), kind)


class Stand:
    """Stands for an operand while NumPy looks at it."""

    __slots__ = ()
    _operand: Any

    def __init__(self, operand: Any) -> None:
        object.__setattr__(self, "_operand", operand)
        if isinstance(operand, list):
            list.extend(self, operand)  # type: ignore[arg-type]

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class of the operand: NumPy asks subclasses of ndarray before ndarray."""
        return type(self._operand)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._operand, name)
        asked = _OF_OBJECTS.get(name)
        return found if asked is None else partial(asked, self)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._operand, name, value)

    def __repr__(self) -> str:
        return repr(self._operand)


def _array(self: Any, *args: Any, **kwargs: Any) -> Any:
    made = self._operand.__array__(*args, **kwargs)
    if type(made) is not ndarray:
        return made
    kind = type(self._operand)
    if _asked.get(kind) is None and not issubclass(kind, np.ndarray):
        _asked[kind] = class_for(kind)  # from now on NumPy is given a stand at once
    _noted().append(weakref.ref(made))
    return concrete(made)


def _array_function(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    kind = type(self._operand)
    kinds: dict[Any, Any] = {type(s): type(s._operand) for s in _stands((args, kwargs))}
    kinds |= {ndarray: np.ndarray, DeferredScalar: np.ndarray, type(self): kind}
    seen = tuple(dict.fromkeys(kinds.get(t, t) for t in types))
    if speaks(kind, "__array_function__"):
        func = functions.get(func, func)
    override: Any = kind.__array_function__
    return override(self._operand, func, seen, restored(args), restored(kwargs))


def _array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    kind = type(self._operand)
    if speaks(kind, "__array_ufunc__"):
        ufunc = _ufunc_of[0](ufunc)
    override: Any = kind.__array_ufunc__
    return override(self._operand, ufunc, method, *restored(inputs), **restored(kwargs))


def _array_wrap(self: Any, array: Any, *more: Any) -> Any:
    """Hand on as many arguments as there are: NumPy tries with fewer where a class takes fewer."""
    kind = type(self._operand)
    spoken = hasattr(kind, "__array_wrap__") and speaks(kind, "__array_wrap__")
    if more and type(more[0]) is tuple:
        ufunc, *rest = more[0]
        more = ((_ufunc_of[0](ufunc) if spoken else ufunc, *restored(rest)), *more[1:])
    given = wrap(array) if spoken and type(array) is np.ndarray else array
    return self._operand.__array_wrap__(given, *more)


_OF_OBJECTS = {"__array__": _array, "__array_wrap__": _array_wrap}  # not looked up in the class
_PROTOCOLS: dict[str, Callable[..., Any]] = {
    "__array__": _array,
    "__array_function__": _array_function,
    "__array_ufunc__": _array_ufunc,
}


def class_for(kind: type) -> type[Stand]:
    """Return the class of what stands for operands of a class; messages show it as that class."""
    found = _classes.get(kind)
    if found is None:
        shown: dict[str, Any] = {"__slots__": ("__weakref__", "_operand")}
        shown |= {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
        shown |= {name: _asking(kind, name) for name in _PROTOCOLS if hasattr(kind, name)}
        has = set().union(*map(vars, kind.__mro__))  # its metaclass has more
        for name in has.intersection(_SPECIAL):
            shown[name] = None if getattr(kind, name) is None else _forwarded(name)
        bases = (Stand, list) if issubclass(kind, list) else (Stand,)  # C looks into a list
        made: Any = StandType(kind.__name__, bases, shown)
        made.stood_for = weakref.ref(kind)
        found = _classes[kind] = made
    return found


def _asking(kind: type, protocol: str) -> Any:
    return None if getattr(kind, protocol) is None else _PROTOCOLS[protocol]


def _forwarded(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._operand, name)(*map(operand_of, args), **kwargs)

    return method


def operand_of(x: Any) -> Any:
    """Return the operand that ``x`` stands for, or ``x`` itself."""
    return x._operand if issubclass(type(x), Stand) else x


def restored(x: Any) -> Any:
    """Return ``x`` with the operands in place of what stands for them."""
    kind = type(x)
    if kind is list or kind is tuple:
        return kind([restored(e) for e in x])
    if kind is dict:
        return {k: restored(v) for k, v in x.items()}
    return operand_of(x)


def put_back(found: np.ndarray) -> None:
    """Let an array of objects hold the operands that NumPy did not convert, not their stands."""
    for index, item in np.ndenumerate(found):
        if type(type(item)) is StandType:
            found[index] = item._operand


def any_in(values: Iterable[Any], depth: int = MOST_AXES) -> bool:
    """Say whether there is a stand among the values, or in a list of them.

    What lies deeper than NumPy looks for axes is none: a list may even hold itself.
    """
    return any(
        (depth > 0 and any_in(x, depth - 1))
        if type(x) is list or type(x) is tuple
        else type(type(x)) is StandType
        for x in values
    )


def _stands(x: Any) -> Iterator[Stand]:
    kind = type(x)
    if issubclass(kind, Stand):
        yield x
    elif kind in (list, tuple, dict):
        for e in x.values() if kind is dict else x:
            yield from _stands(e)


_REMEMBERED = 4  # arrays: what a call of NumPy's converts, it converts just before it returns


def _noted() -> deque[Any]:
    found: deque[Any] | None = getattr(_lately, "arrays", None)
    if found is None:
        found = _lately.arrays = deque(maxlen=_REMEMBERED)
    return found


def taken_lately() -> list[ndarray]:
    """Return the arrays that operands were converted to of late, and forget them."""
    found = [array for seen in _noted() if (array := seen()) is not None]
    _noted().clear()
    return found
