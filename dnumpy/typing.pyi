# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.

from numpy.typing import ArrayLike as ArrayLike, DTypeLike as DTypeLike, NBitBase as NBitBase
from dnumpy._typed._typing import NDArray as NDArray

__all__ = ["ArrayLike", "DTypeLike", "NBitBase", "NDArray"]
