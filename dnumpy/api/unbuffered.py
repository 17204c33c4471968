"""``ufunc.at`` of arrays that lie on nodes: a scatter whose values change elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from dnumpy.api import calls, take, ufuncs
from dnumpy.api.array import facts, is_managed_dtype, ndarray
from dnumpy.api.record import Unmanaged, operand
from dnumpy.expr.expr import Const, Expr
from dnumpy.ops.indexing import AT


def at(wrapped: np.ufunc, array: Any, indices: Any, *values: Any) -> bool:
    """Record ``wrapped.at``; say whether that could be done.

    Elements named several times are changed as often, in the order of the index.
    """
    known = getattr(np, wrapped.__name__, None) is wrapped and wrapped.nin == 1 + len(values)
    if not known or not _may_change(array) or not take.is_far(array, indices, *values):
        return False
    try:
        return _recorded(wrapped, array, indices, values)
    except (take.Unplaced, Unmanaged):
        return False


def _recorded(wrapped: np.ufunc, array: ndarray, indices: Any, values: tuple[Any, ...]) -> bool:
    value: Expr | Const = _number_or_array(values[0]) if values else Const(np.False_)
    dtype = facts(array).dtype
    if not _takes(wrapped, dtype, value if values else None):
        return False
    try:
        found = take.placed(array, indices, value)
    except (IndexError, ValueError):
        return False  # NumPy says why, in the words of this call
    if found.axes[0]:
        return False
    take.scattered(found, value, AT, wrapped.__name__)
    return True


def _may_change(array: Any) -> bool:
    """Say whether these elements may be changed when they are next wanted, and not now."""
    if type(array) is not ndarray or array._np is not None or not array.size or not array.ndim:
        return False
    if array._readonly or array._buf.shared or ufuncs.errors_raise():
        return False
    return is_managed_dtype(facts(array).dtype)


def _number_or_array(value: Any) -> Expr | Const:
    """Return the operand; numbers of Python's are as NumPy makes arrays of them, not weak."""
    if type(value) is not ndarray:
        value = np.asarray(calls.unwrap(value))
        value = value if value.ndim else value[()]
    return operand(value)


def _takes(wrapped: np.ufunc, dtype: np.dtype, value: Expr | Const | None) -> bool:
    """Ask NumPy whether elements of the dtype may be changed so."""
    given = []
    if value is not None:
        kind = value.dtype if isinstance(value, Expr) else np.asarray(value.value).dtype
        given = [np.ones(0, kind)]
    try:
        wrapped.at(np.ones(1, dtype), np.zeros(0, np.intp), *given)
    except (TypeError, ValueError):
        return False
    return True
