"""Every public NumPy name: what stands for it and of which class it is.

A module of ours mirrors each public NumPy module: functions are wrapped, ufuncs are ours, and what
is neither (dtypes, scalars, constants, exceptions, classes over NumPy's own arrays) is NumPy's
object itself.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import (
    assertions,
    callables,
    dispatch,
    mixins,
    printing,
    row_blocks,
    stand_ins,
    ufuncs,
    vectorized,
    walk,
)
from dnumpy.api.array import ndarray
from dnumpy.api.flat import flatiter
from dnumpy.api.native import COMPOSITE, CREATION, PRIMITIVE, TRANSPLANTED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# functions of NumPy that return no array and take none: they need no wrapping
_PASS_THROUGH = frozenset({
    "set_printoptions", "get_printoptions", "printoptions", "show_config", "show_runtime", "info",
    "get_include", "seterr", "geterr", "seterrcall", "geterrcall", "setbufsize", "getbufsize",
    "errstate", "test", "may_share_memory_", "typename", "issubdtype", "isdtype", "mintypecode",
    "promote_types", "format_float_positional", "format_float_scientific", "base_repr",
    "binary_repr",     "broadcast_shapes", "get_array_wrap",
})  # fmt: skip
_KEPT_MODULES = frozenset({"typing", "f2py", "distutils", "core", "ctypeslib"})


_NATIVE = (
    (PRIMITIVE, "primitive", "recorded as one op"),
    (TRANSPLANTED, "composite", "NumPy's own code over dnumpy"),
    (stand_ins.NATIVE, "composite", "asked of NumPy with shapes and dtypes alone"),
    (printing.NATIVE, "composite", "text of the items that are shown"),
    ({**COMPOSITE, **CREATION}, "composite", "written over primitives"),
)


def classify(name: str, value: Any, module: str = "numpy") -> tuple[str, str]:
    """Return (class, reason) of a public NumPy name: exactly one class each."""
    if module != "numpy" and callable(value) and vars(np).get(name) is value:
        module = "numpy"  # the same object by another path
    key = f"{module}.{name}".removeprefix("numpy.").replace("emath.", "lib.scimath.", 1)
    if isinstance(value, np.ufunc):
        how = "elementwise ufunc" if value.signature is None else "ufunc by rows of its loop"
        return "primitive", how
    for names, kind, how in _NATIVE:
        if key in names:
            return kind, how
    if module == "numpy.random" and name in _streams():
        return "composite", "written over primitives"
    return _class_of(name, value, module)


def _streams() -> dict[str, Any]:
    """Return what stands for names of NumPy's random module, which NumPy too loads when asked."""
    from dnumpy.api.random import OVERRIDES

    while _to_describe:
        _to_describe.pop()(OVERRIDES)
    return OVERRIDES


_to_describe: list[Callable[[dict[str, Any]], None]] = []


def describe_streams_with(describe: Callable[[dict[str, Any]], None]) -> None:
    """Let ``describe`` give what stands for random streams its documentation once it is there."""
    _to_describe[:] = [describe]


def _class_of(name: str, value: Any, module: str) -> tuple[str, str]:
    """Return (class, reason) of a name that nothing of ours computes."""
    if isinstance(value, type):
        return "type", "NumPy's own class" if value is not np.ndarray else "dnumpy's array"
    if isinstance(value, types.ModuleType):
        return "module", "mirrored" if name not in _KEPT_MODULES else "NumPy's own"
    if not callable(value):
        return "constant", "NumPy's own object"
    if module.startswith("numpy.testing"):
        return "type", "NumPy's own function, given NumPy's arrays to compare"
    if name in _PASS_THROUGH:
        return "type", "settings, dtypes and text: NumPy's own function"
    return "fallback", "gathers its operands and runs in NumPy"


def public_names(module: types.ModuleType) -> list[str]:
    """Return the public names of a NumPy module, lazily loaded ones included."""
    names = set(getattr(module, "__all__", ())) | {n for n in dir(module) if not n.startswith("_")}
    return sorted(names)


_CLASSES: dict[type, Any] = {
    np.ndarray: ndarray,
    np.ufunc: ufuncs.ufunc,
    np.flatiter: flatiter,
    np.memmap: row_blocks.memmap,
    np.vectorize: vectorized.vectorize,
    np.nditer: callables.constructor_of(np.nditer, walk.Walking),
    np.ndenumerate: walk.ndenumerate,
    np.broadcast: callables.constructor_of(np.broadcast),
    np.lib.mixins.NDArrayOperatorsMixin: mixins.NDArrayOperatorsMixin,
}


def counterpart(name: str, value: Any, module: str) -> Any:
    """Return what stands for ``module.name``."""
    if module.startswith("numpy.testing") and not isinstance(value, types.ModuleType):
        return assertions.counterpart(name, value)
    if isinstance(value, type) and value in _CLASSES:
        return _CLASSES[value]
    if isinstance(value, np.ufunc):
        return ufuncs.of(value)
    if module == "numpy.random" and name in _streams():
        return _streams()[name]
    if isinstance(value, types.ModuleType):
        return _mirrored(value)
    if isinstance(value, callables.INDEXERS):
        return callables.Indexer(value)
    if isinstance(value, type) or not callable(value) or name in _PASS_THROUGH:
        return value
    return dispatch.function(name, value, f"{module}.{name}", classify(name, value, module)[0])


def _mirrored(value: types.ModuleType) -> Any:
    path = value.__name__
    if not path.startswith("numpy.") or _private(path):
        return value
    return importlib.import_module("dnumpy" + path.removeprefix("numpy"))


def _private(path: str) -> bool:
    parts = path.split(".")[1:]
    return parts[0] in _KEPT_MODULES or any(p.startswith("_") for p in parts)


_FEW = 100  # names of a module that are made together: a millisecond


class Mirror(types.ModuleType):
    """A module whose names are made from NumPy's when first used.

    A small one makes all of them then and is a plain module from there on: Python looks names up in
    a plain module in a tenth of the time.
    """

    def __init__(self, name: str, source: types.ModuleType) -> None:
        super().__init__(name, source.__doc__)
        names = _made(self)
        names["_source"] = source
        names["__path__"] = []
        if "__all__" in vars(source):  # older modules that have moved warn of every other look
            names["__all__"] = source.__all__
        names["__getattr__"] = self._found
        names["__dir__"] = self._listed

    def _found(self, name: str) -> Any:
        names = _made(self)
        source = names["_source"]
        value = getattr(source, name)
        made = value if name.startswith("__") else _counterpart_in(name, value, source)
        names[name] = made
        if type(self) is Mirror and not name.startswith("_") and len(vars(source)) <= _FEW:
            self.__class__ = types.ModuleType  # type: ignore[assignment]
            Mirror.__dict__["__dict__"].fget(self)
        return made

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """Every name of the module: programs that wrap a whole module walk through it."""
        names = _made(self)
        for name in vars(names["_source"]):
            if not name.startswith("__") and name not in names:
                getattr(self, name)
        return names

    def _listed(self) -> list[str]:
        names = _made(self)
        return sorted({*dir(names["_source"]), *names} - {"_source", "__dir__", "__getattr__"})


_made = types.ModuleType.__dict__["__dict__"].__get__  # the names that a mirror has made so far


_ANNOTATIONS = frozenset(
    {"numpy.typing", "numpy._typing"}
)  # hold no functions, yet what is callable


def _counterpart_in(name: str, value: Any, source: types.ModuleType) -> Any:
    if ".".join(source.__name__.split(".")[:2]) in _ANNOTATIONS:
        return value
    top = vars(np).get(name)
    if top is value and callable(value) and not isinstance(value, types.ModuleType):
        return getattr(sys.modules["dnumpy"], name)  # one object per NumPy object
    return counterpart(name, value, source.__name__)


class MirrorFinder:  # to be told what finders are like, the import system takes 5 ms
    """Finds ``dnumpy.x`` where NumPy has a public module ``numpy.x`` and dnumpy has none.

    It is asked before the finder of files: folders that hold type stubs alone are no packages.
    """

    def __init__(self) -> None:
        """Note which modules the package has itself."""
        package = Path(__file__).parent.parent
        self._own = {
            p.stem for p in package.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
        }

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return a spec for a mirrored module."""
        if not fullname.startswith("dnumpy.") or fullname.split(".")[1] in self._own:
            return None
        source = "numpy" + fullname.removeprefix("dnumpy")
        try:
            importlib.import_module(source)
        except ImportError:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return the mirror."""
        source = sys.modules["numpy" + spec.name.removeprefix("dnumpy")]
        return Mirror(spec.name, source)

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing runs: names are made when first used."""


def find_mirrors() -> None:
    """Let the import system find mirrored modules."""
    if not any(type(f).__name__ == "MirrorFinder" for f in sys.meta_path):
        sys.meta_path.insert(0, MirrorFinder())


def build() -> dict[str, Any]:
    """Return the names of the main namespace, modules left to be imported when asked for."""
    found: dict[str, Any] = {}
    for name in public_names(np):
        if name in _LAZY:
            continue
        value = getattr(np, name)
        if not isinstance(value, types.ModuleType):
            found[name] = counterpart(name, value, "numpy")
    return found


_LAZY = frozenset(
    n
    for n in public_names(np)
    if n not in np.__dict__ or isinstance(np.__dict__[n], types.ModuleType)
)


def late(name: str) -> Any:
    """Return a name that is resolved when first used: a module, or what NumPy loads lazily."""
    value = getattr(np, name)
    return counterpart(name, value, "numpy")
