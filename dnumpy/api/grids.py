"""Arrays that follow from their indices alone: identity, triangles, grids.

With workers, large ones are made by whoever owns their rows; otherwise NumPy makes them, whose
zeros cost nothing until they are written to.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import engine
from dnumpy.api import ufuncs
from dnumpy.api.array import from_expr, is_managed_dtype, ndarray
from dnumpy.api.creation import GENERATED_BYTES, maker
from dnumpy.api.transplant import transplanted
from dnumpy.expr.expr import make
from dnumpy.ops.table import ARANGE

if TYPE_CHECKING:
    from collections.abc import Callable

_INDEX = np.dtype(np.intp)
_plain_eye, _plain_tri = maker(np.eye), maker(np.tri)


def _counted(start: int, count: int) -> ndarray:
    """Return ``start``, ``start + 1``, ... as a recorded array of any length."""
    return from_expr(make(ARANGE, (), (start, 1), (count,), _INDEX))


def _made_by_nodes(rows: Any, columns: Any, dtype: Any) -> bool:
    """Say whether workers make an array of this shape; what is no plain shape is NumPy's."""
    if not engine.has_workers():
        return False
    try:
        extents = operator.index(rows), operator.index(rows if columns is None else columns)
        kind = np.dtype(dtype)
    except TypeError:
        return False
    size = extents[0] * extents[1] * kind.itemsize
    return is_managed_dtype(kind) and min(extents) > 0 and size >= GENERATED_BYTES


def _compared(compare: np.ufunc, rows: int, columns: int, k: int) -> ndarray:
    left, right = _counted(0, rows)[:, None], _counted(-k, columns)[None, :]
    found: ndarray = ufuncs.call(compare, (left, right), {})
    return found


def eye(
    N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: Any = "C", **kwargs: Any
) -> Any:
    """As ``numpy.eye``."""
    if order != "C" or kwargs or not _made_by_nodes(N, M, dtype):
        return _plain_eye(N, M, k, dtype, order, **kwargs)
    return _compared(np.equal, N, N if M is None else M, operator.index(k)).astype(dtype)


def identity(n: Any, dtype: Any = None, **kwargs: Any) -> Any:
    """As ``numpy.identity``."""
    return eye(n, dtype=float if dtype is None else dtype, **kwargs)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, **kwargs: Any) -> Any:
    """As ``numpy.tri``."""
    if kwargs or not _made_by_nodes(N, M, dtype):
        return _plain_tri(N, M, k, dtype, **kwargs)
    made = _compared(np.greater_equal, N, N if M is None else M, operator.index(k))
    return made.astype(dtype, copy=False)


def _with_workers(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return NumPy's code over our names where there are workers, else NumPy's function."""
    plain, over_ours = maker(function), transplanted(function)

    def made(*args: Any, **kwargs: Any) -> Any:
        return (over_ours if engine.has_workers() else plain)(*args, **kwargs)

    return made


GRIDS: dict[str, Callable[..., Any]] = {
    "eye": eye,
    "identity": identity,
    "tri": tri,
    **{
        name: _with_workers(getattr(np, name))
        for name in (
            "diag_indices", "fromfunction", "indices", "mask_indices", "tril_indices",
            "triu_indices",
        )
    },
}  # fmt: skip
