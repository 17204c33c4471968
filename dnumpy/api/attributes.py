"""The attributes of an ndarray: what a ghost can answer is asked of one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.api import calls, composites
from dnumpy.api.array import bare, concrete, exported, ghost, ghost_geometry, ndarray, small
from dnumpy.api.buffer import holders
from dnumpy.api.composites import through_ghost
from dnumpy.api.flags import Flags, set_writeable
from dnumpy.api.flat import fill, flatiter
from dnumpy.api.locks import writing

if TYPE_CHECKING:
    from collections.abc import Callable

_np_array = np.ndarray


def _attribute(name: str) -> property:
    """Return a property that a ghost can answer."""

    def read(self: ndarray) -> Any:
        a = self._np
        return getattr(a if a is not None else ghost(self), name)

    def change(self: ndarray, value: Any) -> None:
        _change(self, lambda array: setattr(array, name, value))

    def remove(self: ndarray) -> None:
        delattr(concrete(self), name)

    return property(read, change, remove)


def _change(self: ndarray, how: Callable[[np.ndarray], None]) -> None:
    """Let an array show its memory as NumPy's array does after ``how``."""
    a = self._np
    if a is not None:
        how(a)
        return
    seen = ghost(self)[...]
    how(seen)
    geometry = ghost_geometry(seen)
    whole = geometry.is_whole(self._buf.shape, self._buf.dtype)
    self._geo = None if whole else geometry


def _setter(name: str) -> Callable[[ndarray, Any], None]:
    """Return NumPy's method that sets an attribute, and warns of nothing."""

    def change(self: ndarray, value: Any, /) -> None:
        _change(self, lambda array: getattr(array, name)(value))

    return change


# of NumPy 2.5 and later, in which to set the attribute is deprecated
SETTERS = {name: _setter(name) for name in ("_set_dtype", "_set_shape") if hasattr(_np_array, name)}


def _dtype(self: ndarray) -> np.dtype:
    """Return the dtype, for which nothing has to be counted or computed."""
    a = self._np
    if a is not None:
        return a.dtype
    seen: Any = self._seen[1] if self._seen is not None else self._place or self._buf
    dtype: np.dtype = seen.dtype
    return dtype


def _read_only(name: str) -> property:
    """Return a property that a ghost can answer, and that NumPy does not let be set."""
    return property(_attribute(name).fget, _refusing(name))


def _refusing(name: str) -> Callable[[ndarray, Any], None]:
    """Return what refuses to set an attribute, in NumPy's words."""

    def refuse(_self: ndarray, _value: Any) -> None:
        msg = f"attribute {name!r} of 'numpy.ndarray' objects is not writable"
        raise AttributeError(msg)

    return refuse


def _data_attribute(name: str) -> property:
    """Return a property of the exported memory."""
    return property(lambda self: getattr(exported(self), name))


def _transposed(self: ndarray) -> ndarray:
    a = self._np
    if a is not None:
        made = bare()
        made._np = a.T
        made._base = self
        return made
    return composites.transpose(self)


def _matrix_transposed(self: ndarray) -> ndarray:
    a = self._np
    if a is not None:
        return small(a.mT, self)
    return through_ghost(self, lambda g: g.mT)


def _part(name: str) -> property:
    ours = getattr(composites, name)

    def read(self: ndarray) -> Any:
        found = ours(self)
        if found is NotImplemented:
            return calls.wrap_result(getattr(concrete(self), name), (self,))
        return found

    def change(self: ndarray, value: Any) -> None:
        if self._np is not None or self.dtype.kind != "c":
            with writing(self):
                setattr(calls.for_writing(self), name, calls.unwrap(value))
        else:
            ours(self)[...] = value

    return property(read, change)


def _base(self: ndarray) -> Any:
    a = self._np
    if a is None:
        return holders.get(self._buf) if self._base is None and holders else self._base
    base = a.base
    if base is None:
        return None
    parent = getattr(self, "_base", None)
    while parent is not None:  # NumPy's base is the array that owns the memory
        if parent._np is base:
            return parent
        parent = getattr(parent, "_base", None)
    return small(base) if type(base) is _np_array else base


def _flags(self: ndarray) -> Any:
    a = self._np
    return a.flags if a is not None else Flags(self)


def setflags(self: ndarray, write: Any = None, align: Any = None, uic: Any = None) -> None:
    """As ``numpy.ndarray.setflags``."""
    a = self._np
    if a is not None:
        a.setflags(write=write, align=align, uic=uic)
    elif write is not None:
        set_writeable(self, write)


def _flat(self: ndarray) -> flatiter:
    return flatiter(self)


def _set_flat(self: ndarray, value: Any) -> None:
    if fill(self, value):
        return
    plain = calls.unwrap(value)
    with writing(self):
        calls.for_writing(self).flat = plain


def install() -> None:
    """Give the class its attributes; run once when the package is imported."""
    ndarray.shape = native.attribute(_attribute("shape"), "shape", is_fact=True)
    ndarray.strides = native.attribute(_attribute("strides"), "strides")
    dtype = property(_dtype, _attribute("dtype").fset, _attribute("dtype").fdel)
    ndarray.dtype = native.attribute(dtype, "dtype", is_fact=True)
    for name in ("ndim", "size", "itemsize", "nbytes"):
        setattr(ndarray, name, native.attribute(_read_only(name), name, is_fact=True))
    ndarray.data = _data_attribute("data")
    for name in ("real", "imag"):
        setattr(ndarray, name, native.attribute(_part(name), name))
    ndarray.T = native.attribute(property(_transposed, _refusing("T")), "T", is_view=True)
    ndarray.mT = native.attribute(property(_matrix_transposed, _refusing("mT")), "mT", is_view=True)
    for name in {"itemset", "newbyteorder", "ptp"} & {*dir(_np_array)}:
        setattr(ndarray, name, _attribute(name))  # raises, and says what stands in its place
    ndarray.base = property(_base, _refusing("base"))
    ndarray.flags = native.attribute(property(_flags, _refusing("flags")), "flags")
    ndarray.flat = property(_flat, _set_flat)
