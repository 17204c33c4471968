# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
import abc
import decimal
from collections.abc import Iterator, Sequence
from typing import (
    Any,
    ClassVar,
    Generic,
    Literal,
    Self,
    SupportsIndex,
    TypeAlias,
    overload,
)
from typing_extensions import TypeIs, TypeVar

import dnumpy as np
import dnumpy.typing as npt
from dnumpy._typed._typing import _ArrayLikeComplex_co, _ArrayLikeFloat_co, _FloatLike_co, _NumberLike_co

from dnumpy._typed.polynomial._polytypes import _AnyInt, _Array2, _ArrayLikeCoef_co, _ArrayLikeCoefObject_co, _CoefLike_co, _CoefSeries, _Series, _SeriesLikeCoef_co, _SeriesLikeInt_co, _Tuple2

__all__ = ["ABCPolyBase"]

_NameT_co = TypeVar("_NameT_co", bound=str | None, default=str | None, covariant=True)
_PolyT = TypeVar("_PolyT", bound=ABCPolyBase)
_AnyOther: TypeAlias = ABCPolyBase | _CoefLike_co | _SeriesLikeCoef_co

from numpy.polynomial._polybase import ABCPolyBase as ABCPolyBase
