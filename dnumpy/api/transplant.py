"""NumPy's own Python functions, run over dnumpy.

Most of NumPy above its ufuncs is Python written over a few dozen primitives. Run with dnumpy's
names in place of NumPy's it records what it computes, so that it fuses and distributes with the
rest, and keeps NumPy's rules, warnings and error texts because it *is* NumPy's code.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import calls, overrides, ufuncs
from dnumpy.api.stand_ins import REPLACED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_made: dict[Any, Any] = {}
_spaces: dict[str, dict[str, Any]] = {}


def transplanted(function: Callable[..., Any], **instead: Any) -> Callable[..., Any]:
    """Return NumPy's ``function`` over dnumpy's names; it is made when it is first called.

    ``instead`` gives, by global name, what this one function should find in place of NumPy's
    helpers.
    """
    source = getattr(function, "_implementation", function)
    assert isinstance(source, types.FunctionType), function
    made: list[Callable[..., Any]] = []

    def run(*args: Any, **kwargs: Any) -> Any:
        if not made:
            made.append(_rebuilt(source, instead))
        return made[0](*args, **kwargs)

    run.__name__ = source.__name__
    run.__wrapped__ = source
    return run


def put_in_place(function: Callable[..., Any], ours: Callable[..., Any]) -> None:
    """Let all code that is transplanted find ``ours`` in place of a helper of NumPy's."""
    _made[function] = ours


def _rebuilt(source: types.FunctionType, instead: Mapping[str, Any] | None = None) -> Any:
    if not instead and source in _made:
        return _made[source]
    space = _space(source.__globals__)
    if instead:
        space = _Space(source.__globals__)
        space.update(instead)
    made = types.FunctionType(
        source.__code__, space, source.__name__, source.__defaults__, source.__closure__
    )
    made.__kwdefaults__ = source.__kwdefaults__
    made.__qualname__ = source.__qualname__
    if not instead:
        _made[source] = made
    return made


class _Space(dict[str, Any]):
    """The globals of a NumPy module, each replaced by ours when it is first used."""

    def __init__(self, source: dict[str, Any]) -> None:
        super().__init__(__builtins__=source["__builtins__"], __name__=source["__name__"])
        self._source = source

    def __missing__(self, name: str) -> Any:
        if name not in self._source:
            raise KeyError(name)  # a builtin
        made = self[name] = ours(self._source[name])
        return made


def _space(source: dict[str, Any]) -> dict[str, Any]:
    name = source["__name__"]
    if name not in _spaces:
        _spaces[name] = _Space(source)
    return _spaces[name]


class _Names:
    """A module of NumPy as code that is transplanted sees it."""

    def __init__(self, module: types.ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        made = ours(getattr(self._module, name))
        setattr(self, name, made)
        return made


def ours(value: Any) -> Any:
    """Return what code that is transplanted finds in place of an object of NumPy's."""
    if isinstance(value, type) and value in REPLACED:
        return REPLACED[value]
    if isinstance(value, types.ModuleType):
        return _Names(value) if value.__name__.partition(".")[0] == "numpy" else value
    public = _public(value)
    if public is not None:
        return public
    if isinstance(value, types.FunctionType):
        home = value.__module__ or ""
        return _rebuilt(value) if home.startswith("numpy.") else value
    if isinstance(value, types.BuiltinFunctionType) and _is_numpys(value):
        return _over_numpy(value)
    return value


def _is_numpys(value: Any) -> bool:
    return str(getattr(value, "__module__", "") or "").startswith("numpy")


def _over_numpy(builtin: Callable[..., Any]) -> Callable[..., Any]:
    """Return a compiled function of NumPy's that is not public, for our arrays."""

    def run(*args: Any, **kwargs: Any) -> Any:
        return calls.run(builtin, args, kwargs)

    return run


def _public(value: Any) -> Any:
    """Return dnumpy's object for a public one of NumPy's, None for what is not public."""
    if isinstance(value, np.ufunc):
        return ufuncs.of(value)
    value = _dispatcher_of(value)
    if isinstance(value, types.FunctionType) and value.__name__.startswith("_"):
        return None  # a helper that a namespace may show too: what it calls is to be ours
    try:
        known = overrides.registered(value)
    except TypeError:  # not hashable
        return None
    if known is not None:
        return known
    home, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    module = sys.modules.get(home) if isinstance(home, str) else None
    if value is np.ndarray or (callable(value) and not isinstance(value, type)):
        if module is None or not isinstance(name, str) or getattr(module, name, None) is not value:
            return None
        if home == "numpy" or home in _MIRRORED:
            mirror = importlib.import_module("dnumpy" + home.removeprefix("numpy"))
            return getattr(mirror, name)
    return None


def _dispatcher_of(value: Any) -> Any:
    """Return the public function whose implementation ``value`` is, if it is one's."""
    if isinstance(value, types.BuiltinFunctionType | types.FunctionType):
        public = getattr(np, value.__name__, None)
        if getattr(public, "_implementation", None) is value:
            return public
    return value


_MIRRORED = frozenset({"numpy.linalg", "numpy.fft", "numpy.lib.stride_tricks"})
