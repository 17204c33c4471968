# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from typing import Any, TypeVar, overload
from typing_extensions import deprecated

import dnumpy as np
from dnumpy import floating, object_
from dnumpy._typed._typing import NDArray, _ArrayLikeFloat_co, _ArrayLikeObject_co, _FloatLike_co

__all__ = ["fix", "isneginf", "isposinf"]

_ArrayT = TypeVar("_ArrayT", bound=NDArray[Any])

@overload
@deprecated("np.fix will be deprecated in NumPy 2.5 in favor of np.trunc", category=PendingDeprecationWarning)
def fix(x: _FloatLike_co, out: None = None) -> floating: ...
@overload
@deprecated("np.fix will be deprecated in NumPy 2.5 in favor of np.trunc", category=PendingDeprecationWarning)
def fix(x: _ArrayLikeFloat_co, out: None = None) -> NDArray[floating]: ...
@overload
@deprecated("np.fix will be deprecated in NumPy 2.5 in favor of np.trunc", category=PendingDeprecationWarning)
def fix(x: _ArrayLikeObject_co, out: None = None) -> NDArray[object_]: ...
@overload
@deprecated("np.fix will be deprecated in NumPy 2.5 in favor of np.trunc", category=PendingDeprecationWarning)
def fix(x: _ArrayLikeFloat_co | _ArrayLikeObject_co, out: _ArrayT) -> _ArrayT: ...

@overload
def isposinf(  # type: ignore[misc]
    x: _FloatLike_co,
    out: None = None,
) -> np.bool: ...
@overload
def isposinf(
    x: _ArrayLikeFloat_co,
    out: None = None,
) -> NDArray[np.bool]: ...
@overload
def isposinf(
    x: _ArrayLikeFloat_co,
    out: _ArrayT,
) -> _ArrayT: ...

@overload
def isneginf(  # type: ignore[misc]
    x: _FloatLike_co,
    out: None = None,
) -> np.bool: ...
@overload
def isneginf(
    x: _ArrayLikeFloat_co,
    out: None = None,
) -> NDArray[np.bool]: ...
@overload
def isneginf(
    x: _ArrayLikeFloat_co,
    out: _ArrayT,
) -> _ArrayT: ...
