# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
import ctypes as ct
import re
from collections.abc import Callable, Iterable
from typing import Any, Final, Generic, Self, overload
from typing_extensions import TypeVar

import dnumpy as np
import dnumpy.typing as npt
from numpy.ctypeslib import c_intp

_CastT = TypeVar("_CastT", bound=ct._CanCastTo)
_T_co = TypeVar("_T_co", covariant=True)
_CT = TypeVar("_CT", bound=ct._CData)
_PT_co = TypeVar("_PT_co", bound=int | None, default=None, covariant=True)

###

IS_PYPY: Final[bool] = ...

format_re: Final[re.Pattern[str]] = ...
sep_re: Final[re.Pattern[str]] = ...
space_re: Final[re.Pattern[str]] = ...

###

# TODO: Let the likes of `shape_as` and `strides_as` return `None`
# for 0D arrays once we've got shape-support

class _ctypes(Generic[_PT_co]):
    @overload
    def __init__(self: _ctypes[None], /, array: npt.NDArray[Any], ptr: None = None) -> None: ...
    @overload
    def __init__(self, /, array: npt.NDArray[Any], ptr: _PT_co) -> None: ...

    #
    @property
    def data(self) -> _PT_co: ...
    @property
    def shape(self) -> ct.Array[c_intp]: ...
    @property
    def strides(self) -> ct.Array[c_intp]: ...
    @property
    def _as_parameter_(self) -> ct.c_void_p: ...

    #
    def data_as(self, /, obj: type[_CastT]) -> _CastT: ...
    def shape_as(self, /, obj: type[_CT]) -> ct.Array[_CT]: ...
    def strides_as(self, /, obj: type[_CT]) -> ct.Array[_CT]: ...

from numpy._core._internal import dummy_ctype as dummy_ctype

def array_ufunc_errmsg_formatter(dummy: object, ufunc: np.ufunc, method: str, *inputs: object, **kwargs: object) -> str: ...
def array_function_errmsg_formatter(public_api: Callable[..., object], types: Iterable[str]) -> str: ...
def npy_ctypes_check(cls: type) -> bool: ...
