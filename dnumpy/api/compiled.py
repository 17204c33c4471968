"""Neighbours that are compiled, or look a class up in tables of theirs: they are taught ours.

OpenCV's functions and methods are replaced by ones that hand over NumPy's arrays, which share the
memory that it draws in. JAX learns how an array of ours is read from how one of NumPy's is. What
numexpr writes to is handed over; it looks for variables in the frame of its caller, which a
wrapper is not.
"""

from __future__ import annotations

import functools
import sys
from types import BuiltinFunctionType, GetSetDescriptorType, MethodDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api.array import ndarray
from dnumpy.api.handing import handed_over, handing_over
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from collections.abc import Callable

_JAX_TABLES = (
    ("jax._src.core", "pytype_aval_mappings"),
    ("jax._src.core", "literalable_types"),
    ("jax._src.ad_util", "raw_jaxval_adders"),
    ("jax._src.interpreters.mlir", "_constant_handlers"),
    ("jax._src.interpreters.mlir", "_attribute_handlers"),
    ("jax._src.interpreters.pxla", "shard_arg_handlers"),
    ("jax._src.abstract_arrays", "array_types"),
    ("jax._src.numpy.util", "_arraylike_types"),
    ("jax._src.numpy.array_methods", "_accepted_binop_types"),
)


def teach_opencv() -> None:
    """Let all functions and methods of OpenCV's take arrays of ours."""
    known: dict[int, Any] = {}
    for title, module in [*sys.modules.items()]:
        if (title == "cv2" or title.startswith("cv2.")) and isinstance(module, ModuleType):
            for name, value in [*vars(module).items()]:
                if isinstance(value, BuiltinFunctionType):
                    setattr(module, name, _known(known, value, handing_over))
                elif isinstance(value, type) and value.__module__.startswith("cv2"):
                    _known(known, value, _with_methods)


def _known(known: dict[int, Any], value: Any, make: Callable[[Any], Any]) -> Any:
    """Return what is made of a value, the same for each of its names."""
    found = known.get(id(value))
    if found is None:
        found = known[id(value)] = make(value)
        known[id(found)] = found
    return found


def _with_methods(kind: type) -> type:
    for name, value in [*vars(kind).items()]:
        found: Any = None
        if isinstance(value, MethodDescriptorType) and not name.startswith("_"):
            found = handing_over(value)
        elif isinstance(value, GetSetDescriptorType) and not name.startswith("_"):
            found = _attribute(value)
        elif isinstance(value, staticmethod) and isinstance(value.__func__, BuiltinFunctionType):
            found = staticmethod(handing_over(value.__func__))
        if found is not None:
            setattr(kind, name, found)
    return kind


def _attribute(descriptor: Any) -> property:
    def assign(self: Any, value: Any) -> None:
        descriptor.__set__(self, handed_over(value))

    return property(descriptor.__get__, assign, doc=descriptor.__doc__)


def teach_jax() -> None:
    """Let JAX read arrays of ours as it reads NumPy's, and our scalars."""
    for title, name in _JAX_TABLES:
        home = sys.modules.get(title)
        table = getattr(home, name, None)
        if isinstance(table, dict):
            for ours, numpys in ((ndarray, np.ndarray), (DeferredScalar, np.float64)):
                if numpys in table:
                    table[ours] = handing_over(table[numpys])
        elif isinstance(table, set):
            table |= {ndarray, DeferredScalar}
        elif isinstance(table, tuple):
            setattr(home, name, (*table, ndarray, DeferredScalar))
    dtypes: Any = sys.modules.get("jax._src.dtypes")
    handlers = getattr(dtypes, "canonicalize_value_handlers", None)
    if handlers is not None:
        for ours in (ndarray, DeferredScalar):
            handlers[ours] = lambda x: dtypes.canonicalize_value(handed_over(x))


def teach_numexpr() -> None:
    """Let numexpr write to arrays of ours."""
    title = "numexpr.necompiler"
    replaced = {}
    for name, depth in (("evaluate", 3), ("validate", 2)):
        function = getattr(sys.modules.get(title), name, None)
        if function is not None:
            replaced[id(function)] = _one_frame_up(function, depth)
    for module in [*sys.modules.values()]:
        if getattr(module, "__name__", "").partition(".")[0] == "numexpr":
            for name, value in [*vars(module).items()]:
                if id(value) in replaced:
                    setattr(module, name, replaced[id(value)])


def _one_frame_up(function: Callable[..., Any], depth: int) -> Callable[..., Any]:
    @functools.wraps(function)
    def asked(*args: Any, **kwargs: Any) -> Any:
        named = {name: handed_over(x) for name, x in kwargs.items()}
        named["_frame_depth"] = named.get("_frame_depth", depth) + 1
        return function(*map(handed_over, args), **named)

    return asked
