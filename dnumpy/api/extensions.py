"""Modules that other packages have compiled: what they offer is called with NumPy's arrays.

Compiled code asks for NumPy's class by its address, so that a function of Cython's with an argument
that is declared an array would refuse ours, and one of f2py's would take the memory that ours shows
for a copy that it may write to. All functions of modules that are no part of Python or of NumPy are
taught as the modules are loaded, and constructors and methods of classes. Of classes that pybind11
makes the constructors alone are: it takes what stands for a method for a program's own. When one is
first given an array of ours, its file is looked into: what does not so much as name NumPy, and
keeps objects or decorates functions, is given ours.

Where the module in C was not built, functions of f2py's alone are taught: they would return what is
wrong, where all others raise.
"""

from __future__ import annotations

import mmap
import sys
from contextlib import suppress
from importlib.machinery import ExtensionFileLoader
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.api.array import ndarray
from dnumpy.api.handing import Fortran, handed_over_inside
from dnumpy.api.scalar import DeferredScalar
from dnumpy.native import outside

if TYPE_CHECKING:
    from collections.abc import Callable

_FUNCTIONS = frozenset(  # the names of the classes of what is compiled
    ("builtin_function_or_method", "cython_function_or_method", "fused_cython_function", "fortran")
)
_METHODS = _FUNCTIONS | {
    "method_descriptor",
    "staticmethod",
    "classmethod",
    "classmethod_descriptor",
}
_NO_KEEPERS = frozenset((Fortran, FunctionType, ModuleType, type))
_OF_STREAMS = frozenset(
    ("numpy.random.mtrand", "numpy.random._generator", "numpy.random.bit_generator")
)
_INIT = "__init__"
_SLOTS = frozenset((_INIT, "__call__", "__getitem__", "__setitem__", "__delitem__"))
_HEAP, _IMMUTABLE = 1 << 9, 1 << 8  # Python's flags of classes
_OF_ARRAYS = ("compress", "view")  # methods of NumPy's that ask for the class of their arguments
_KNOWING = frozenset(  # that take ours for what they are, or whose functions are told by identity
    ("cupy", "cupy_backends", "dnumpy", "greenlet", "jaxlib", "llvmlite", "numba", "numpy", "torch")
)
_execute: list[Callable[[Any, ModuleType], None]] = []


def teach_all() -> None:
    """Teach what is imported already, and whatever will be."""
    execute = ExtensionFileLoader.exec_module
    if execute is _executed:
        return
    if native.built:
        outside.hand_over_by(_handed, (DeferredScalar,), _names_numpy)
        outside.hand_over_in(np.ndarray, _OF_ARRAYS, [True, ""], slots=False)
    taught: dict[int, Any] = {}  # also keeps the functions alive, so that each has its own number
    tops = set()
    for module in [*sys.modules.values()]:
        if isinstance(getattr(module, "__loader__", None), ExtensionFileLoader):
            own = teach(module)
            taught |= own
            tops |= {module.__name__.partition(".")[0]} if own else set()
    if taught:
        _put_where_imported(taught, tops)
    _execute[:] = [execute]
    ExtensionFileLoader.exec_module = _executed  # type: ignore[method-assign]


_others: dict[type, Callable[[Any], Any]] = {}


def also(kind: type, handed: Callable[[Any], Any]) -> None:
    """Let compiled code have what a function gives for each instance of a class of ours."""
    _others[kind] = handed
    if native.built:
        outside.hand_over_by(_handed, (DeferredScalar, *_others), _names_numpy)


def _handed(x: Any) -> Any:
    kind = type(x)
    if kind in _others:
        return _others[kind](x)
    return np.ndarray if x is ndarray else handed_over_inside(x)


def _names_numpy(path: str) -> bool:
    """Whether a compiled file has NumPy's name in it, as all have that use its interface in C.

    One that is gone since it was loaded, or lies in an archive, is taken for one that has.
    """
    try:
        with (
            Path(path).open("rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text,
        ):
            return text.find(b"numpy") >= 0
    except OSError:
        return True


def _home(module: ModuleType) -> list[Any]:
    path = getattr(module, "__file__", None)
    return [None, path] if path else [True, ""]


def _executed(self: ExtensionFileLoader, module: ModuleType) -> None:
    """Execute a compiled module, as ``exec_module`` does, and teach it."""
    _execute[0](self, module)
    teach(module)


def teach(module: ModuleType) -> dict[int, Any]:
    """Have a compiled module's functions and classes called with NumPy's arrays.

    Returns
    -------
    dict of int to object
        By the identity of each function what stands in its place, and keeps it alive.
    """
    taught: dict[int, Any] = {}
    if native.built and module.__name__ in _OF_STREAMS:
        _teach_streams(module)
    if _knows(module.__name__):
        return taught
    top = module.__name__.partition(".")[0]
    home = _home(module)
    answered = top != "scipy" or not native.built  # SciPy's call no functions of the program's
    for name, value in [*vars(module).items()]:
        kind = type(value).__name__
        if kind in _FUNCTIONS and (native.built or kind == "fortran"):
            if _knows(str(getattr(value, "__module__", ""))):
                continue  # imported from there
            if name.startswith("delete_"):
                continue  # SWIG looks into what it is told is its own: see native/compiled.c
            if id(value) not in taught:
                by_fortran = kind == "fortran" and answered
                made = Fortran(value) if by_fortran else outside.handing(value, home)
                taught[id(value)] = made
            setattr(module, name, taught[id(value)])
        elif native.built and isinstance(value, type):
            _teach_class(value, module, home)
    return taught


def _teach_streams(module: ModuleType) -> None:
    """Have NumPy's own streams shuffle and fill our arrays, which are views to what they are not.

    So that rows that they swap would be there twice.
    """
    for name, value in [*vars(module).items()]:
        whose = type(getattr(value, "__self__", None)).__name__
        if isinstance(value, type) and value.__module__.startswith("numpy.random"):
            _teach_class(value, module, [True, ""])
        elif whose == "RandomState":  # a method of the one that the module's functions draw from
            setattr(module, name, outside.handing(value, [True, ""]))


def _knows(module: str) -> bool:
    top = module.partition(".")[0]
    return top in _KNOWING or top in sys.stdlib_module_names


def _teach_class(kind: type, module: ModuleType, home: list[Any]) -> None:
    homes = {module.__name__.partition(".")[0], module.__spec__.name.partition(".")[0]}  # type: ignore[union-attr]
    if str(kind.__module__).partition(".")[0] not in homes or issubclass(kind, BaseException):
        return
    if type(kind) is type:
        names = [name for name, value in vars(kind).items() if type(value).__name__ in _METHODS]
        stated = not {"__dict__", "__weakref__"}.isdisjoint(vars(kind))  # by a class statement
        methods = tuple(name for name in names if not name.startswith("__"))
        outside.hand_over_in(kind, methods, home, slots=not stated)
        if not stated:
            _find_again(kind)
    elif type(vars(kind).get(_INIT)).__name__ == "instancemethod":
        setattr(kind, _INIT, outside.handing(vars(kind)[_INIT], home))


def _find_again(kind: type) -> None:
    """Have classes that a program has derived already look up what was changed.

    They hold what they inherited until a method of the name comes or goes.
    """
    found: list[type] = type.__subclasses__(kind)
    for derived in found:
        if derived.__flags__ & _HEAP and not derived.__flags__ & _IMMUTABLE:
            for name in _SLOTS - vars(derived).keys():
                if hasattr(derived, name):
                    type.__setattr__(derived, name, None)
                    type.__delattr__(derived, name)
        _find_again(derived)


def _put_where_imported(taught: dict[int, Any], tops: set[str]) -> None:
    """Put what stands for functions wherever their packages have these.

    In modules, in the lists and dicts there, and in objects of their own classes in those.
    """
    for title, module in [*sys.modules.items()]:
        if title.partition(".")[0] in tops:
            _put(getattr(module, "__dict__", {}), taught, 2)


def _put(holder: dict[Any, Any] | list[Any], taught: dict[int, Any], depth: int) -> None:
    for place, value in [*(holder.items() if type(holder) is dict else enumerate(holder))]:
        if id(value) in taught:
            holder[place] = taught[id(value)]
        elif depth and type(value) in (dict, list):
            _put(value, taught, depth - 1)
        elif depth and type(value) not in _NO_KEEPERS:
            with suppress(
                AttributeError
            ):  # asked of the object itself, not of what it may stand for
                kept = object.__getattribute__(value, "__dict__")
                if type(kept) is dict:
                    _put(kept, taught, depth - 1)
