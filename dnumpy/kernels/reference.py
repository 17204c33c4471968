"""One op on whole operands, by NumPy: the meaning of every op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, assert_never

import numpy as np

from dnumpy import native
from dnumpy.expr.geometry import Geometry
from dnumpy.kernels import draws
from dnumpy.kernels.blocked import compute_rows, grid_rows, partial_results, row_bytes_of, shapes_of
from dnumpy.kernels.selection import choose_into
from dnumpy.ops.families import (
    Blocked,
    Contraction,
    Elementwise,
    Fold,
    Leaf,
    Movement,
    Op,
    Random,
    Reduction,
)
from dnumpy.ops.table import ARANGE, CAST, EMPTY, FULL, VIEW, WHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Params, Shape
    from dnumpy.rewrite.phase import ReduceParams


def apply(op: Op, args: Sequence[Any], params: Params, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Return a fresh C-contiguous array (for ``view``: a view) that holds the op's result."""
    family: Any = op
    match family:
        case Elementwise():
            out = np.empty(shape, dtype)
            elementwise_into(family, args, params, out)
            return out
        case Reduction():
            return np.ascontiguousarray(reduce(family, args, params)).reshape(shape)
        case Movement():
            return _move(op, args, params)
        case Leaf():
            out = np.empty(shape, dtype)
            generate_into(op, params, out, 0)
            return out
        case Random():
            out = np.empty(shape, dtype)
            draws.fill(args[0], out, 0)
            return out
        case Blocked():
            out = np.empty(shape, dtype)
            grid = grid_rows(family, shapes_of(args), params, shape[0], row_bytes_of(args, out))
            compute_rows(family, args, params, out, (0, shape[0], grid))
            return out
        case Fold():
            rows = args[0].shape[0]
            grid = grid_rows(family, shapes_of(args), params, rows, row_bytes_of(args))
            merged = family.merge(partial_results(family, args, params, (0, rows, grid)), params)
            return result_of_merge(merged, shape, dtype)
        case Contraction():
            assert family.call is not None
            result = family.call(*args, **dict(params))
            return np.ascontiguousarray(result, dtype).reshape(shape)
        case _:
            assert_never(family)


def contract_into(op: Op, args: Sequence[Any], params: Params, out: np.ndarray) -> None:
    """Compute a contraction into ``out``, C-contiguous, in no other memory where the op can."""
    writes = isinstance(op, Contraction) and op.writes
    if writes and all(arg.dtype == out.dtype for arg in args):
        op.call(*args, out=out, **dict(params))  # type: ignore[attr-defined]
    else:
        out[...] = apply(op, args, params, out.shape, out.dtype)


def result_of_merge(merged: Any, shape: Shape, dtype: np.dtype) -> np.ndarray:
    """Return a fold's result as an array of this shape; one of unknown size goes into a box."""
    if dtype.hasobject and not shape:
        box = np.empty((), object)
        box[()] = merged
        return box
    return np.ascontiguousarray(merged, dtype).reshape(shape)


def elementwise_into(op: Elementwise, args: Sequence[Any], params: Params, out: np.ndarray) -> None:
    """Compute an elementwise op into ``out``, whose shape is the broadcast one."""
    if op is CAST:
        given = np.asarray(args[0])
        discards = given.dtype.kind == "c" and out.dtype.kind not in "cbO"  # told when recorded
        if not native.copied(given, out):
            np.copyto(out, given.real if discards else given, casting="unsafe")
    elif op is WHERE:
        choose_into(args, out)
    elif params:
        _call_with(op, args, dict(params), out)
    else:
        op.ufunc(*args, out=out)  # type: ignore[misc]


def _call_with(
    op: Elementwise, args: Sequence[Any], params: dict[str, Any], out: np.ndarray
) -> None:
    ufunc = op.ufunc
    assert ufunc is not None
    picked = params.pop("output", None)
    if params.pop("chosen", False):
        _call_chosen(ufunc, args, out)
    elif params.pop("masked", False):
        *operands, mask, before = args
        np.copyto(out, before, casting="unsafe")
        ufunc(*operands, out=out, where=mask, **params)
    elif picked is None:
        ufunc(*args, out=out, **params)
    else:
        outs: list[np.ndarray | None] = [None] * ufunc.nout
        outs[picked] = out
        ufunc(*args, out=tuple(outs), **params)


def _call_chosen(ufunc: np.ufunc, args: Sequence[Any], out: np.ndarray) -> None:
    """Compute all elements, and tell of faults only where the last operand, a mask, is true."""
    *operands, mask = args
    faults: list[str] = []
    with np.errstate(all="call", call=lambda kind, _flag: faults.append(kind)):
        ufunc(*operands, out=out)
    if faults:
        ufunc(*operands, out=out, where=mask)


def reduce(op: Reduction, args: Sequence[Any], params: Params) -> Any:
    """Fold the axes of ``args[0]``; with ``masked`` the second operand says where."""
    p: ReduceParams = params  # type: ignore[assignment]
    operand = args[0]
    if op.ufunc is None:
        assert op.call is not None
        axis = p.axis[0] if len(p.axis) == 1 else None
        return op.call(operand, axis=axis, keepdims=p.keepdims)
    kwargs: dict[str, Any] = {}
    if p.masked:
        kwargs["where"] = args[1]
    if p.initial is not None:
        kwargs["initial"] = p.initial[0]  # type: ignore[index]
    return op.ufunc.reduce(operand, axis=p.axis, dtype=p.dtype, keepdims=p.keepdims, **kwargs)


def _move(op: Op, args: Sequence[Any], params: Params) -> np.ndarray:
    geometry = Geometry(*params)
    if op is VIEW:
        return geometry.over(args[0])
    updated: np.ndarray = args[0].copy()
    geometry.over(updated)[...] = args[1]
    return updated


def generate_into(op: Op, params: Params, out: np.ndarray, first_row: int) -> None:
    """Fill ``out`` with rows ``first_row`` and following of a generated array."""
    if op is EMPTY:
        return
    if op is FULL:
        out[...] = params[0]
    elif op is ARANGE:
        start, delta = params
        index = np.arange(first_row, first_row + out.shape[0])
        # NumPy fills arange as start + i * delta in the result's own dtype
        np.multiply(index.astype(out.dtype), np.asarray(delta, out.dtype), out=out)
        np.add(np.asarray(start, out.dtype), out, out=out)
    else:
        msg = f"{op!r} generates nothing"
        raise TypeError(msg)
