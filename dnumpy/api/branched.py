"""``select`` and ``piecewise`` as choices between whole operands, in one pass.

NumPy's own fill an array and copy into it under one mask after the other; so do these where an
operand or a function needs it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api.array import from_expr, is_managed_dtype, ndarray
from dnumpy.api.record import Unmanaged, cast, facts_of, operand, where
from dnumpy.api.transplant import transplanted
from dnumpy.expr.expr import Const

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.expr.expr import Expr

_numpys_select = transplanted(np.select)
_numpys_piecewise = transplanted(np.piecewise)
_PLAIN = (bool, int, float)
_EXACT = 1 << 53  # integers below have a float64 of their own


def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """Choose elementwise by the first condition that holds."""
    found = _selected(condlist, choicelist, default)
    return _numpys_select(condlist, choicelist, default) if found is None else found


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Choose numbers elementwise by the last condition that holds."""
    found = None if args or kw else _by_pieces(x, condlist, funclist)
    return _numpys_piecewise(x, condlist, funclist, *args, **kw) if found is None else found


def _selected(conditions: Any, choices: Any, default: Any) -> ndarray | None:
    """Return the choices; None where they are NumPy's to make, or to say what is wrong."""
    lists = type(conditions) in (list, tuple) and type(choices) in (list, tuple)
    if not lists or len(conditions) != len(choices) or not _are_masks(conditions):
        return None
    given = [*choices, default]
    if not all(type(x) in _PLAIN or _is_array(x) for x in given):
        return None
    try:
        dtype = np.result_type(*[x.dtype if _is_array(x) else x for x in given])
        if not is_managed_dtype(dtype):
            return None
        shape = np.broadcast_shapes(*[x.shape for x in (*conditions, *given) if _is_array(x)])
        operands = [_as_dtype(x, dtype) for x in given]
        return _chosen(conditions[::-1], operands[-2::-1], operands[-1], shape)
    except (Unmanaged, TypeError, ValueError):
        return None


def _by_pieces(x: Any, conditions: Any, values: Any) -> ndarray | None:
    """Return the same of one array's conditions and numbers, as its elements are assigned."""
    lists = type(conditions) in (list, tuple) and type(values) in (list, tuple)
    if not lists or not _are_masks(conditions) or type(x) is not ndarray or x.ndim == 0:
        return None
    numbers = all(type(v) in _PLAIN for v in values)
    if not numbers or not is_managed_dtype(x.dtype) or not x.flags.c_contiguous:
        return None
    if len(values) - len(conditions) not in (0, 1) or any(c.shape != x.shape for c in conditions):
        return None
    otherwise = values[-1] if len(values) > len(conditions) else 0
    try:
        operands = [_as_dtype(v, x.dtype) for v in values[: len(conditions)]]
        return _chosen(conditions, operands, _as_dtype(otherwise, x.dtype), x.shape)
    except (Unmanaged, ValueError):
        return None


def _are_masks(conditions: Sequence[Any]) -> bool:
    return len(conditions) > 0 and all(_is_array(c) and c.dtype == bool for c in conditions)


def _is_array(x: Any) -> bool:
    return type(x) is ndarray or type(x) is np.ndarray


def _as_dtype(x: Any, dtype: np.dtype) -> Expr | Const:
    """Return an operand in the dtype of the result; Unmanaged of a number that it changes."""
    if _is_array(x):
        given = operand(x)
        return cast(given, dtype, facts_of(given).shape)
    if type(x) is not float and abs(x) > _EXACT:
        raise Unmanaged
    with np.errstate(all="ignore"):
        value = np.array(x).astype(dtype)[()]
    if x == x and value != x and not (dtype.kind in "fc" and np.isfinite(value)):  # noqa: PLR0124 - NaN
        raise Unmanaged
    if dtype.kind in "biu" and not np.isfinite(x):
        raise Unmanaged
    return Const(value)


def _chosen(
    conditions: Sequence[Any], operands: Sequence[Any], otherwise: Any, shape: tuple[int, ...]
) -> ndarray | None:
    """Return what was chosen last where a condition holds, and otherwise what there is."""
    found = otherwise
    for condition, given in zip(conditions, operands, strict=True):
        found = where(operand(condition), given, found)
    return from_expr(found) if shape and found.shape == shape else None


NATIVE: dict[str, Callable[..., Any]] = {"select": select, "piecewise": piecewise}
