# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from collections.abc import Callable, Iterable, Sequence
from typing import (
    Any,
    ClassVar,
    Final,
    Literal,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
    type_check_only,
)

import dnumpy as np
import dnumpy.typing as npt
from numpy._typing._dtype_like import _DTypeLikeNested

_T = TypeVar("_T")

@type_check_only
class _NameValidatorKwargs(TypedDict, total=False):
    excludelist: Iterable[str] | None
    deletechars: Iterable[str] | None
    case_sensitive: Literal["upper", "lower"] | bool | None
    replace_space: str

###

__docformat__: Final = "restructuredtext en"

from numpy.lib._iotools import ConverterError as ConverterError
from numpy.lib._iotools import ConverterLockError as ConverterLockError
from numpy.lib._iotools import ConversionWarning as ConversionWarning

from numpy.lib._iotools import LineSplitter as LineSplitter

from numpy.lib._iotools import NameValidator as NameValidator

from numpy.lib._iotools import StringConverter as StringConverter

def _decode_line(line: str | bytes, encoding: str | None = None) -> str: ...
def _is_string_like(obj: object) -> bool: ...
def _is_bytes_like(obj: object) -> bool: ...
def has_nested_fields(ndtype: np.dtype[np.void]) -> bool: ...
def flatten_dtype(ndtype: np.dtype[np.void], flatten_base: bool = False) -> type[np.dtype]: ...
@overload
def str2bool(value: Literal["false", "False", "FALSE"]) -> Literal[False]: ...
@overload
def str2bool(value: Literal["true", "True", "TRUE"]) -> Literal[True]: ...
def easy_dtype(
    ndtype: str | Sequence[_DTypeLikeNested],
    names: str | Sequence[str] | None = None,
    defaultfmt: str = "f%i",
    **validationargs: Unpack[_NameValidatorKwargs],
) -> np.dtype[np.void]: ...
