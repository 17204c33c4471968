"""Where the memory of an array lies: ``ctypes``, ``__array_interface__``, ``__array_struct__``.

A program may keep an address for as long as it keeps the array, and C code may read and write there
at any time. So a Buffer whose address was told is *pinned*: its memory stays where it is, and is
read and written at once, for good.

NumPy too looks for the two interfaces, before ``__array__``, when it is given an array that is not
its own, and then nobody would know when it has let go. So they are shown to code that names them.
Each look costs it half a microsecond: where it cannot ask for the memory itself before, which takes
Python 3.12 or the module in C, there is but the one that programs use.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.api.array import exported, ndarray

if TYPE_CHECKING:
    from types import CodeType

    from dnumpy.api.buffer import Buffer

_Ctypes: Any = type(np.empty(0).ctypes)
_caller_at = sys._getframe


class Pointers(_Ctypes):  # type: ignore[misc]
    """NumPy's ``ctypes`` object, whose pointers keep the memory shared for as long as they live.

    The bare address, which keeps nothing, pins the Buffer.
    """

    def __init__(self, memory: np.ndarray, buffer: Buffer) -> None:
        super().__init__(memory, memory.ctypes.data)
        self._buffer = buffer

    @property
    def data(self) -> int:
        """The address of the first element."""
        self._buffer.pin()
        address: int = self._data.value or 0
        return address


def _pointers(self: ndarray) -> Any:
    memory = exported(self)
    if self._np is None:
        return Pointers(memory, self._buf)
    _keep_in_place(self)
    return memory.ctypes


def _keep_in_place(array: ndarray) -> None:
    """Leave the memory of an array that runs at once where it is: somebody knows its address.

    What is referred to twice is not handed to the engine (native/laps.c), which moves it.
    """
    array._buf = array._np  # type: ignore[assignment]
    base = getattr(array, "_base", None)  # which one that is no view may lack
    if type(base) is ndarray and base._np is not None:
        base._buf = base._np  # type: ignore[assignment]


def _interface(name: str) -> property:
    """Return one of the two interfaces."""
    refusal = f"{name!r} is for code that names it; NumPy calls '__array__'"

    def read(self: ndarray) -> Any:
        code = _caller_at(1).f_code
        if name not in code.co_names and not _asks_for(code, name):
            raise AttributeError(refusal)
        found = getattr(exported(self), name)
        if self._np is None:
            self._buf.pin()
        else:
            _keep_in_place(self)
        return found

    return property(read)


def _asks_for(code: CodeType, name: str) -> bool:
    """Say whether code hands the name to ``getattr`` or ``hasattr``."""
    return not _ASKING.isdisjoint(code.co_names) and any(
        name in constant if type(constant) is tuple else constant == name
        for constant in code.co_consts
    )


_ASKING = frozenset({"getattr", "hasattr"})


def install() -> None:
    """Give the class what tells where it lies; run once when the package is imported."""
    ndarray.ctypes = property(_pointers)
    ndarray.__array_interface__ = _interface("__array_interface__")
    if native.built or sys.version_info >= (3, 12):  # where NumPy asks for the memory before
        ndarray.__array_struct__ = _interface("__array_struct__")


install()
