"""Generalised ufuncs on managed arrays: recorded by rows of their loop.

NumPy is asked for shapes and dtypes with a loop of length zero. A call without a loop is one task
on one node.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from dnumpy import engine
from dnumpy.api import blocks, composites, contractions, ufuncs
from dnumpy.api.array import facts, from_expr, is_managed_dtype, ndarray
from dnumpy.api.record import Unmanaged, fresh, operand, result_of, view, write
from dnumpy.api.scalar import DeferredScalar
from dnumpy.expr.expr import Expr
from dnumpy.expr.geometry import Geometry, contiguous_strides
from dnumpy.ops.gufuncs import GUFUNC, OVERWRITING, GufuncParams, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dnumpy.expr.expr import Shape

# What runs a call with one matrix or vector on nodes, by the ufunc's name: of the operands, then
# shape and dtype of the outputs that were given, it makes the results, or None where one task on
# one node is right.
ALONE: dict[str, Callable[[tuple[Any, ...], dict[str, Any]], list[Any] | None]] = {}

_RAISED = {"call": "raise", "log": "call", "print": "call", "warn": "call"}


def record(wrapped: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record a call; raises Unmanaged for what NumPy must run."""
    if wrapped is np.matmul:
        return _matmul(args, kwargs)
    kwargs = dict(kwargs)
    outs = _outs(wrapped, kwargs.pop("out", None))
    ranks = _core_ranks(wrapped)
    if len(args) != wrapped.nin or {"order", "subok", "where"}.intersection(kwargs):
        raise Unmanaged
    kept = _kept_axes(ranks, outs, kwargs)
    moves = _axes(wrapped, ranks, kwargs)
    args = tuple(_as_array(x) for x in args)
    if moves is not None:
        args = tuple(_moved(x, m) for x, m in zip(args, moves, strict=False))
    exprs = _operands(args, ranks[0])
    loop = _loop(exprs, ranks[0])
    if 0 in loop or (not loop and not blocks.spread(*args)):
        raise Unmanaged
    into = (
        None
        if outs is None
        else tuple(_core_of(o, moves, k, wrapped.nin) for k, o in enumerate(outs))
    )
    with _told():
        results = None if loop else _alone(wrapped, (*args, *(into or ())), kwargs)
        if results is None:
            results = _results(wrapped, exprs, (loop, ranks), kwargs, into)
            results = _without_overwritten(wrapped, args, results)
        if moves is not None:
            back = moves[wrapped.nin :]
            results = [_moved_back(r, m) for r, m in zip(results, back, strict=True)]
        if kept:
            results = [_with_axes(r, kept) for r in results]
        if outs is not None:
            results = _written(outs, results)
        if ufuncs.errors_raise():
            _settle(results)
    return results[0] if len(results) == 1 else tuple(results)


def _without_overwritten(wrapped: np.ufunc, args: Sequence[Any], results: list[Any]) -> list[Any]:
    """Write what the call leaves in place of its first operand there; return the other results."""
    if path_of(wrapped) not in OVERWRITING:
        return results
    overwritten, *others = results
    write(args[0], operand(overwritten))
    return others


def _kept_axes(
    ranks: tuple[list[int], list[int]], outs: Any, kwargs: dict[str, Any]
) -> tuple[int, ...]:
    """Return which axes, of length one, the results are to have in place of the core's."""
    if not kwargs.pop("keepdims", False):
        return ()
    if any(ranks[1]) or len(set(ranks[0])) > 1 or outs is not None or "axes" in kwargs:
        raise Unmanaged  # NumPy says why, or runs it
    axis = kwargs.get("axis")
    return tuple(range(-ranks[0][0], 0)) if axis is None else (axis,)


def _with_axes(result: Any, axes: tuple[int, ...]) -> Any:
    if type(result) is not ndarray:
        return composites.reshape(from_expr(blocks.copied(operand(result))), (1,) * len(axes))  # type: ignore[arg-type]
    return composites.expand_dims(result, axes)


def _written(outs: tuple[Any, ...], results: list[Any]) -> list[Any]:
    """Make the results, which nobody else has, the content of the arrays given for them."""
    for out, result in zip(outs, results, strict=True):
        value = operand(result)
        if isinstance(value, Expr) and value.value is None:
            value.owner = None
        write(out, value)
    return list(outs)


def _alone(wrapped: np.ufunc, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
    known = ALONE.get(wrapped.__name__)
    return None if known is None else known(args, kwargs)


def _matmul(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    found = contractions.matmul(*args, **kwargs)
    if found is NotImplemented:
        raise Unmanaged
    return found


def _operands(args: tuple[Any, ...], ranks: list[int]) -> list[Any]:
    exprs = [operand(x) for x in args]
    if not all(isinstance(e, Expr) for e in exprs) and any(ranks):
        exprs = [operand(x if hasattr(x, "shape") else np.asarray(x)) for x in args]
    return exprs


def _as_array(x: Any) -> Any:
    return np.asarray(x) if type(x) in (list, tuple) else x


def _core_ranks(wrapped: np.ufunc) -> tuple[list[int], list[int]]:
    """Return the number of core dimensions of each input and output."""
    signature = wrapped.signature
    assert signature is not None
    if any(mark in signature for mark in "?|"):
        raise Unmanaged
    sides = signature.replace(" ", "").split("->")
    inputs, outputs = (
        [len([d for d in part.strip("()").split(",") if d]) for part in side.split("),(")]
        for side in sides
    )
    return inputs, outputs


def _axes(
    wrapped: np.ufunc, ranks: tuple[list[int], list[int]], kwargs: dict[str, Any]
) -> list[tuple[int, ...]] | None:
    """Return each operand's core axes, inputs then outputs, as the call names them."""
    axis, axes = kwargs.pop("axis", None), kwargs.pop("axes", None)
    every = [*ranks[0], *ranks[1]]
    if axis is not None:
        if axes is not None or any(r > 1 for r in every):
            raise Unmanaged  # NumPy says why
        return [(axis,) * r for r in every]
    if axes is None:
        return None
    named = [(a,) if isinstance(a, int) else tuple(a) for a in axes]
    if len(named) == wrapped.nin and not any(ranks[1]):
        named += [()] * wrapped.nout
    if [len(a) for a in named] != every:
        raise Unmanaged
    return named


def _moved(x: Any, axes: tuple[int, ...]) -> Any:
    last = tuple(range(-len(axes), 0))
    if not axes or axes == last:
        return x
    if type(x) is not ndarray:
        return np.moveaxis(np.asarray(x), axes, last)
    order = [normalize_axis_index(a, x.ndim) for a in axes]
    perm = (*(k for k in range(x.ndim) if k not in order), *order)
    return blocks.turned(x, perm)


def _moved_back(x: Any, axes: tuple[int, ...]) -> Any:
    if not axes or type(x) is not ndarray:
        return x
    order = [normalize_axis_index(a, x.ndim) for a in axes]
    rest = iter(range(x.ndim - len(order)))
    core = {a: x.ndim - len(order) + k for k, a in enumerate(order)}
    perm = tuple(core[k] if k in core else next(rest) for k in range(x.ndim))
    return blocks.turned(x, perm)


def _loop(exprs: Sequence[Any], ranks: Sequence[int]) -> Shape:
    shapes = []
    for e, rank in zip(exprs, ranks, strict=True):
        shape = e.shape if isinstance(e, Expr) else ()
        if len(shape) < rank:
            raise Unmanaged  # NumPy says why
        shapes.append(shape[: len(shape) - rank])
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as error:
        raise Unmanaged from error


def _outs(wrapped: np.ufunc, out: Any) -> tuple[Any, ...] | None:
    if out is None:
        return None
    outs = out if type(out) is tuple else (out,)
    if all(o is None for o in outs):
        return None
    plain = all(type(o) is ndarray and o._np is None for o in outs)
    if len(outs) != wrapped.nout or not plain or any(o._readonly or o._buf.shared for o in outs):
        raise Unmanaged
    return outs


def _core_of(out: ndarray, moves: Any, position: int, inputs: int) -> tuple[Shape, np.dtype]:
    """Return the core shape of an output that was given, and its dtype."""
    shape, dtype = facts(out)
    if moves is None:
        return shape, dtype
    order = [normalize_axis_index(a, len(shape)) for a in moves[inputs + position]]
    return tuple(n for k, n in enumerate(shape) if k not in order) + tuple(
        shape[k] for k in order
    ), dtype


def _results(
    wrapped: np.ufunc,
    exprs: list[Any],
    loops: tuple[Shape, tuple[list[int], list[int]]],
    kwargs: dict[str, Any],
    into: tuple[tuple[Shape, np.dtype], ...] | None,
) -> list[Any]:
    loop, ranks = loops
    facts_of_results = _asked(wrapped, exprs, (loop, ranks), kwargs, into)
    target = path_of(wrapped)
    if target in OVERWRITING:
        target = OVERWRITING[target]
        first = exprs[0]
        facts_of_results.insert(0, (first.shape[len(loop) :], first.dtype))
    if not all(is_managed_dtype(dtype) for _, dtype in facts_of_results):
        raise Unmanaged
    by_rows = tuple(
        isinstance(e, Expr) and bool(loop) and e.ndim - r == len(loop) and e.shape[0] == loop[0]
        for e, r in zip(exprs, ranks[0], strict=True)
    )
    errors = tuple((k, _RAISED.get(v, v)) for k, v in np.geterr().items())
    several = len(facts_of_results) > 1
    names = tuple(f"f{k}" for k in range(len(facts_of_results))) if several else ()
    params = GufuncParams(by_rows, target, tuple(kwargs.items()), not loop, names, errors)
    rows = loop or (1,)
    if not several:
        ((core, dtype),) = facts_of_results
        expr = blocks.record(GUFUNC, exprs, params, rows + core, dtype)
        return [from_expr(expr) if loop else _only(expr, 0, core, dtype)]
    packed = np.dtype([(n, d, c) for n, (c, d) in zip(names, facts_of_results, strict=True)])
    expr = blocks.record(GUFUNC, exprs, params, rows, packed)
    return [_field(expr, packed, name, loop) for name in names]


def _only(expr: Expr, offset: int, core: Shape, dtype: np.dtype) -> Any:
    strides = contiguous_strides(core, dtype.itemsize)
    seen = view(expr, Geometry(offset, core, strides, dtype))
    return fresh(seen) if core else result_of(blocks.copied(seen))


def _field(expr: Expr, packed: np.dtype, name: str, loop: Shape) -> Any:
    dtype, offset = packed.fields[name][:2]
    base, core = dtype.subdtype if dtype.subdtype is not None else (dtype, ())
    if not loop:
        return _only(expr, offset, core, base)
    strides = contiguous_strides(loop, packed.itemsize) + contiguous_strides(core, base.itemsize)
    return fresh(view(expr, Geometry(offset, loop + core, strides, base)))


def _asked(
    wrapped: np.ufunc,
    exprs: Sequence[Any],
    loops: tuple[Shape, tuple[list[int], list[int]]],
    kwargs: dict[str, Any],
    into: tuple[tuple[Shape, np.dtype], ...] | None,
) -> list[tuple[Shape, np.dtype]]:
    """Return core shape and dtype of each result: NumPy is asked with a loop of length zero."""
    loop, ranks = loops
    probes = [
        np.empty((0, *e.shape[e.ndim - r :]), e.dtype) if isinstance(e, Expr) else e.value
        for e, r in zip(exprs, ranks[0], strict=True)
    ]
    outs = None
    if into is not None:
        outs = tuple(
            np.empty((0, *shape[len(shape) - r :]), dtype)
            for (shape, dtype), r in zip(into, ranks[1], strict=True)
        )
        if any(
            shape[: len(shape) - r] != loop for (shape, _), r in zip(into, ranks[1], strict=True)
        ):
            raise Unmanaged
    try:
        found = wrapped(*probes, **kwargs, **({} if outs is None else {"out": outs}))
    except (ValueError, TypeError) as error:
        raise Unmanaged from error  # NumPy says why, with the real shapes
    return [(r.shape[1:], r.dtype) for r in (found if type(found) is tuple else (found,))]


def _settle(results: Sequence[Any]) -> None:
    """Compute now, since the caller wants to be told of faults during the call."""
    pending = [r._buf.expr for r in results if type(r) is ndarray and r._np is None]
    pending += [r.expr for r in results if type(r) is DeferredScalar and r.expr is not None]
    engine.compute(pending)


@contextmanager
def _told() -> Iterator[None]:
    """Call the handler of the error state for a fault met while what is recorded is computed."""
    try:
        yield
    except FloatingPointError as error:
        handler = np.geterrcall()
        if "call" not in np.geterr().values() or handler is None:
            raise
        handler(str(error).partition(" encountered")[0], 8)


ufuncs.record_generalised_with(record)
