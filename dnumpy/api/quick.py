"""The operators that loops are made of, recorded in few steps.

Two operands, arrays in C order or plain scalars, of which nothing special is to be seen: what is
recorded is what :mod:`dnumpy.api.ufuncs` records after looking at all that a call may ask for.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import engine, native
from dnumpy.api import calls, chosen
from dnumpy.api.array import (
    bare,
    concrete,
    facts,
    from_expr,
    is_managed_dtype,
    ndarray,
    reaches_far,
)
from dnumpy.api.buffer import Buffer, recorded
from dnumpy.api.layout import descends
from dnumpy.api.record import broadcast, constant, constants, resolve
from dnumpy.api.scalar import DeferredScalar
from dnumpy.config import EAGER_BELOW, config
from dnumpy.expr import laps, origin, race
from dnumpy.expr.expr import Const, Expr, make
from dnumpy.expr.origin import error_state, here_above
from dnumpy.expr.watch import sights, watch
from dnumpy.kernels import at_hand
from dnumpy.ops.families import elementwise_of
from dnumpy.ops.table import FULL, LEAF, VIEW
from dnumpy.runtime import window

if TYPE_CHECKING:
    from dnumpy.ops.families import Elementwise

_SCALARS = frozenset({float, bool, np.float64, np.float32, np.int64, np.int32, np.bool_})
_results: dict[tuple[Any, ...], np.dtype] = {}
_FRAMES = 4  # of this package at least: those of here_above, _recorded, binary, and an operator's
_SAFE_INT = 127  # fits every integer dtype, so that its value cannot change the answer


def row_of(ufunc: np.ufunc) -> Elementwise | None:
    """Return the row that records a ufunc; None for one whose operands decide more."""
    plain = ufunc.nout == 1 and ufunc.nin <= 2 and ufunc.signature is None
    return elementwise_of(ufunc) if plain and ufunc is not np.power else None


def unary(row: Elementwise, x: ndarray) -> ndarray | None:
    """Return the recorded result of a ufunc of one operand; None where it takes another look."""
    first = _content(x)
    if first is None:
        return _chosen(row, (x,))
    return _recorded(row, (first,), (row, first.dtype.num), first.shape)


def binary(row: Elementwise, x: ndarray, y: Any) -> ndarray | None:
    """Return the recorded result; None where it takes another look."""
    first = _content(x)
    if first is None:
        return _chosen(row, (x, y))
    shape = first.shape
    if type(y) is ndarray:
        second = _content(y)
        if second is None:
            return None
        if second.shape != shape:
            shape = broadcast(row.ufunc, [first, second])
        return _recorded(row, (first, second), (row, first.dtype.num, second.dtype.num), shape)
    kind = float if type(y) is float else _kind_of(y)
    if kind is None:
        return None
    return _recorded(row, (first, constant(y)), (row, first.dtype.num, kind), shape)


def _chosen(row: Elementwise, args: tuple[Any, ...]) -> ndarray | None:
    """Return the recorded result if the first operand is a selection by a mask."""
    x = args[0]
    if x._np is not None or type(x._buf) is not chosen.Chosen or calls.waiting:
        return None
    found = chosen.call(row.ufunc, args, {})  # type: ignore[arg-type]
    return None if found is NotImplemented else found


def reflected(row: Elementwise, x: Any, y: ndarray) -> ndarray | None:
    """Return the recorded result where the first operand is a scalar; None as above."""
    kind, second = _kind_of(x), _content(y)
    if kind is None or second is None:
        return None
    return _recorded(row, (constant(x), second), (row, kind, second.dtype.num), second.shape)


def into(row: Elementwise, x: ndarray, y: Any) -> bool:
    """Record ``x op= y``; False where it takes another look."""
    if x._np is not None or x._readonly or x._place is not None:
        return False
    if type(x._buf) is chosen.Chosen and not calls.waiting:
        return chosen.call(row.ufunc, (x, y), {"out": x}) is x  # type: ignore[arg-type]
    if type(y) is ndarray and not _is_like(y, x):
        return False  # the error of operands that do not fit speaks of three
    found = binary(row, x, y)
    if found is None:
        return False
    buffer, made = x._buf, found._buf
    expr = made.expr
    fits = expr.dtype.num == buffer.dtype.num and expr.shape == buffer.shape
    if not fits or expr.owner is None or expr.owner() is not made:
        return False
    with buffer.lock:
        made.hand_over(buffer)
    return True


def _is_like(y: ndarray, x: ndarray) -> bool:
    if y._np is not None or type(y._buf) is not Buffer:
        return False
    plain = y._place is None and y._seen is None
    return (y._buf.shape if plain else facts(y).shape) == x._buf.shape


def _recorded(
    row: Elementwise, args: tuple[Any, ...], key: tuple[Any, ...], shape: tuple[int, ...]
) -> ndarray | None:
    state, watched = error_state(), watch()
    if not shape or state.at_once or watched.at_once or config.accuracy != "exact":
        return None
    dtype = _results.get(key) or _ask(row, key, list(args))
    if dtype is None:
        return None
    expr = make(row, args, (), shape, dtype)
    if expr.origin is not None:  # somebody recorded the same, and may hold it
        expr.origin = expr.origin.and_at(here_above(_FRAMES, state, watched))
        return from_expr(expr)
    place = expr.origin = here_above(_FRAMES, state, watched)
    if place.site.alone:
        engine.compute_if_alone(expr)
        if expr.value is not None:
            return from_expr(expr)
    made = bare()
    made._np = made._place = made._seen = made._base = None
    made._buf = recorded(expr)
    made._readonly = False
    return made


def _kind_of(x: Any) -> Any:
    """Return what the result's dtype depends on of a scalar; None for other operands."""
    kind = type(x)
    if kind is int:
        return kind if 0 <= x <= _SAFE_INT else (int, x)
    return kind if kind in _SCALARS else None


def _ask(row: Elementwise, key: tuple[Any, ...], operands: list[Expr | Const]) -> np.dtype | None:
    assert row.ufunc is not None
    (dtype,) = resolve(row.ufunc, operands)
    if not is_managed_dtype(dtype):
        return None
    if len(_results) >= 1 << 12:
        _results.clear()
    _results[key] = dtype
    return dtype


def _content(x: ndarray) -> Expr | None:
    """Return what an array shows now; None where NumPy may have it, or another order than C."""
    if x._np is not None:
        return None
    buffer = x._buf
    if buffer.foreign or buffer._export is not None or type(buffer) is not Buffer:
        return None
    expr = buffer.expr
    if x._place is None:
        if expr.op is FULL and (expr.value is not None or expr.owner is None):
            return Expr(FULL, (), expr.params, expr.shape, expr.dtype)
        return expr
    if buffer.unmade:
        buffer.make()
    place = x._geo
    if place is None or not descends(place.shape, place.strides):
        return None
    dtype = place.dtype
    view = make(VIEW, (expr,), place, place.shape, dtype)
    wanted = expr.value is None or view.size >= config.eager_below or reaches_far(place)
    return view if wanted and is_managed_dtype(dtype) else None


def bind() -> None:
    """Tell the module in C, which records as this one does, of what is looked at."""
    native.bind_recorder(
        buffer_type=Buffer,
        site_type=origin.Site,
        race_type=race.Race,
        window=engine.window,
        results=_results,
        constants=constants,
        constant=constant,
        scalars=_SCALARS,
        context=origin.context,
        states=origin.states,
        sights=sights,
        warnings=vars(warnings),
        sites=origin.sites,
        inside=origin.libraries,
        note_file=origin.note_file,
        flush=engine.flush_if_due,
        view=VIEW,
        leaf=LEAF,
        ask=_ask,
        lent=calls.waiting,
        naming=origin.naming,
        deferred=DeferredScalar,
        most=window.MOST_ELEMENTS,
        little=window.LITTLE_ELEMENTS,
        less=window.LESS_ELEMENTS,
        little_bytes=window.LITTLE_BYTES,
    )
    bind_laps()


def bind_laps() -> None:
    """Tell the module in C which sizes are between, and have the laps of loops measured anew."""
    measured = laps.Laps(
        engine.flush,
        _way,
        _goes,
        at_hand.are_made_now,
        engine.compile_since,
        lambda: engine.window.evaluations,
        EAGER_BELOW,
    )
    native.bind_laps(
        least=laps.LEAST_ELEMENTS,
        most=EAGER_BELOW,
        ended=measured.ended,
        begins=measured.begins,
        site_here=origin.here,
        compute=concrete,
    )


def _goes(at_once: int, waits: bool) -> None:
    engine.window.at_once, engine.window.waits = at_once, waits


def _way() -> int | None:
    """Return the way that operations go; None where the faster one counts."""
    if not window.computes_here() or config.kernels != "auto":
        return laps.AS_EVER
    if config.middling == "auto":
        return None
    return laps.WAITING if config.middling == "wait" else laps.AS_EVER
