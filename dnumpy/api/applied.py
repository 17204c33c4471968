"""``apply_along_axis`` where the lines lie: the user's function runs on the nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from dnumpy import engine
from dnumpy.api import blocks
from dnumpy.api.array import from_expr, is_managed_dtype
from dnumpy.api.record import content, to_numpy
from dnumpy.ops.applied import APPLY, ApplyParams

if TYPE_CHECKING:
    from collections.abc import Callable


def apply_along_axis(
    func1d: Callable[..., Any], axis: Any, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """Call ``func1d`` with NumPy's arrays, once here to see what it gives, then on the nodes."""
    if not blocks.spread(arr) or arr.ndim < 2 or not arr.size or not is_managed_dtype(arr.dtype):
        return NotImplemented
    axis = normalize_axis_index(axis, arr.ndim)
    lines = blocks.turned(arr, (*(k for k in range(arr.ndim) if k != axis), axis))
    first = engine.value(content(lines[(0,) * (arr.ndim - 1)]))
    try:
        given = func1d(first, *args, **kwargs)
    except Exception:  # noqa: BLE001 - with arrays of dnumpy it succeeds, or raises for the user
        return NotImplemented
    if issubclass(type(given), np.ndarray) and type(given) is not np.ndarray:
        return NotImplemented  # a class of its own, which NumPy's code knows how to keep
    seen = np.asarray(to_numpy(given))
    params = ApplyParams((True,), func1d, args, tuple(kwargs.items()), seen.dtype)
    try:
        hash(params)
    except TypeError:
        return NotImplemented
    if not is_managed_dtype(seen.dtype) or not seen.size:
        return NotImplemented
    lead = lines.shape[:-1]
    expr = blocks.record(APPLY, [content(lines)], params, lead + seen.shape, seen.dtype)
    engine.compute([expr])  # what the function raises is raised by this call
    found, inner = from_expr(expr), range(len(lead), len(lead) + seen.ndim)
    return blocks.turned(found, (*range(axis), *inner, *range(axis, len(lead))))


NATIVE: dict[str, Callable[..., Any]] = {"apply_along_axis": apply_along_axis}
