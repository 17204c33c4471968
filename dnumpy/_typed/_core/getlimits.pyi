# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from functools import cached_property
from types import GenericAlias
from typing import Final, Generic, Self, overload
from typing_extensions import TypeVar

import dnumpy as np
from dnumpy._typed._typing import _CLongDoubleCodes, _Complex64Codes, _Complex128Codes, _DTypeLike, _Float16Codes, _Float32Codes, _Float64Codes, _Int8Codes, _Int16Codes, _Int32Codes, _Int64Codes, _IntPCodes, _LongDoubleCodes, _UInt8Codes, _UInt16Codes, _UInt32Codes, _UInt64Codes

__all__ = ["finfo", "iinfo"]

###

_IntegerT_co = TypeVar("_IntegerT_co", bound=np.integer, default=np.integer, covariant=True)
_FloatingT_co = TypeVar("_FloatingT_co", bound=np.floating, default=np.floating, covariant=True)

###

from numpy._core.getlimits import iinfo as iinfo

from numpy._core.getlimits import finfo as finfo
