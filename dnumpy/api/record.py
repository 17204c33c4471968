"""Operations on managed arrays -> Exprs. NumPy is asked for every dtype, shape and error.

Dtype resolution calls the ufunc itself on empty arrays, so NEP 50, casting rules and their
exceptions are NumPy's own; the answers are cached by operand types.
"""

from __future__ import annotations

from itertools import zip_longest
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import engine, native
from dnumpy.api.array import (
    Facts,
    concrete,
    expr_of,
    facts,
    from_expr,
    is_managed_dtype,
    ndarray,
    reaches_far,
    runs_at_once,
)
from dnumpy.api.buffer import Buffer, shared_copy
from dnumpy.api.scalar import DeferredScalar, deferred
from dnumpy.config import config
from dnumpy.expr.expr import Const, Expr, Shape, leaf, make
from dnumpy.expr.geometry import same_dtype
from dnumpy.expr.origin import here, naming, told_at_once
from dnumpy.ops.families import elementwise_of
from dnumpy.ops.table import CAST, FULL, UPDATE, VIEW, WHERE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Params
    from dnumpy.expr.geometry import Geometry
    from dnumpy.ops.families import Op

Operand = Any  # ndarray, DeferredScalar, a NumPy or Python scalar, or anything np.asarray takes

_PYTHON_SCALARS = (int, float, complex, bool)
_WEAK = (int, float, complex)  # whose dtype that of an array decides
# ufuncs with a loop that makes bytes, or booleans, of bytes
BYTEWISE = frozenset(
    u
    for u in vars(np).values()
    if isinstance(u, np.ufunc) and any(set(t) <= set("?bB->") for t in u.types)
)
_empties: dict[tuple[np.dtype, int], np.ndarray] = {}
_resolved: dict[tuple[Any, ...], tuple[np.dtype, ...]] = {}
_loops: dict[tuple[np.ufunc, tuple[Any, ...], np.dtype], tuple[np.dtype, ...] | None] = {}
constants: dict[tuple[type, Any], Const] = {}
_MOST_CONSTANTS = 1 << 12
_MOST_LOOPS = 1 << 12
_SAFE_INT = 127  # fits every integer dtype, so that its value cannot change the answer


class Unmanaged(Exception):  # noqa: N818 - control flow, not an error
    """The engine does not record this; NumPy must run it now."""


def operand(x: Operand) -> Expr | Const:
    """Return the operand of a recorded operation: what ``x`` is now, whatever is written later."""
    kind = type(x)
    if kind is ndarray:
        if x._np is None:
            if x._geo is not None and not is_managed_dtype(x._geo.dtype):
                raise Unmanaged
            return expr_of(x)
        return _leaf_copy(x._np)
    if kind is DeferredScalar:
        return x.as_operand()
    if kind in _PYTHON_SCALARS:
        return constant(x)
    if isinstance(x, np.generic):
        if not is_managed_dtype(x.dtype):
            raise Unmanaged
        return Const(x)
    if kind is np.ndarray:
        return _leaf_copy(x)
    if kind in (list, tuple):
        return _leaf_copy(np.asarray(x))
    raise Unmanaged


def element_operand(x: Operand) -> Expr | Const:
    """Return the operand of an elementwise operation: what is full of one number is not read."""
    whole = type(x) is ndarray and x._np is None and x._geo is None
    found = x._buf.expr if whole and x._buf.unmade else operand(x)
    if type(found) is Expr and found.op is FULL and (found.value is not None or whole):
        return Expr(FULL, (), found.params, found.shape, found.dtype)  # each reader makes its own
    return found


def constant(x: Any) -> Const:
    """Return the one operand for a Python number: a loop's body is the same each time around."""
    if not x or x != x or len(constants) >= _MOST_CONSTANTS:  # noqa: PLR0124 - NaN; zeros have signs
        return Const(x)
    key = (type(x), x)
    found = constants.get(key)
    if found is None:
        found = constants[key] = Const(x)
    return found


def content(x: ndarray) -> Expr:
    """Return the operand of an array, which is no constant."""
    found = operand(x)
    assert isinstance(found, Expr)
    return found


def _leaf_copy(array: np.ndarray) -> Expr:
    if not is_managed_dtype(array.dtype):
        raise Unmanaged
    copied = shared_copy(array)
    return leaf(copied, copied.shape, copied.dtype)


def facts_of(x: Expr | Const) -> Facts:
    """Return shape and dtype; a constant has shape ()."""
    if isinstance(x, Expr):
        return Facts(x.shape, x.dtype)
    return Facts(
        (), np.dtype(type(x.value)) if not isinstance(x.value, np.generic) else x.value.dtype
    )


def empty_like(dtype: np.dtype) -> np.ndarray:
    """Return the shared empty array of a dtype, with which NumPy is asked for rules."""
    found = _empties.get((dtype, dtype.num))  # int64 and longlong compare equal
    if found is None:
        found = _empties[dtype, dtype.num] = np.empty((0,), dtype)
    return found


def resolve(ufunc: np.ufunc, operands: list[Expr | Const], **kwargs: Any) -> tuple[np.dtype, ...]:
    """Return the output dtypes of ``ufunc``; raises what NumPy raises."""
    key: list[Any] = [ufunc, *kwargs.items()]
    for x in operands:
        if isinstance(x, Expr):
            # 0-d arrays and arrays promote alike under NEP 50
            key.append((x.dtype, x.dtype.num))
        elif isinstance(x.value, np.generic):
            key.append((np.generic, x.value.dtype, x.value.dtype.num))
        elif type(x.value) is int and not 0 <= x.value <= _SAFE_INT:
            key.append((int, x.value))
        else:
            key.append(type(x.value))
    found = _resolved.get(tuple(key))
    if found is None:
        inputs = [empty_like(x.dtype) if isinstance(x, Expr) else x.value for x in operands]
        if not any(isinstance(x, Expr) for x in operands):
            inputs[0] = np.asarray(inputs[0])[None][:0]
        with np.errstate(all="ignore"):
            result = ufunc(*inputs, **kwargs)
        results = result if isinstance(result, tuple) else (result,)
        found = tuple(np.asarray(r).dtype for r in results)
        if len(_resolved) < 1 << 16:
            _resolved[tuple(key)] = found
    return found


def broadcast(ufunc: np.ufunc | None, operands: list[Expr | Const]) -> Shape:
    """Return the broadcast shape; raises NumPy's error for this ufunc."""
    shape: Shape = ()
    for x in operands:
        if isinstance(x, Expr) and x.shape != shape:
            if shape == ():
                shape = x.shape
            elif x.shape != ():
                return _broadcast_slowly(ufunc, operands)
    return shape


def _broadcast_slowly(ufunc: np.ufunc | None, operands: list[Expr | Const]) -> Shape:
    shapes = [x.shape for x in operands if isinstance(x, Expr)]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        if ufunc is None:
            raise
    ghosts = [
        np.broadcast_to(np.empty((), x.dtype), x.shape) if isinstance(x, Expr) else x.value
        for x in operands
    ]
    ufunc(*ghosts)  # raises: the shapes do not fit
    msg = f"operands could not be broadcast together with shapes {shapes}"
    raise ValueError(msg)


def record(
    op: Op,
    args: Sequence[Expr | Const],
    params: Params,
    shape: Shape,
    dtype: np.dtype,
    *,
    waits: bool = False,
) -> Expr:
    """Record an op at the user's line; it ``waits`` however its results were looked at so far."""
    if native.built and not naming.name:
        found: Expr | None = native.record(op, tuple(args), params, shape, dtype)
        if found is not None:
            return found
    expr = make(op, tuple(args), params, shape, dtype)
    if expr.origin is None:
        origin = expr.origin = here()
        if origin.site.alone and not waits and not native.records_between():
            engine.compute_if_alone(expr)
    else:
        expr.origin = expr.origin.and_at(here())
    return expr


def ufunc_exprs(
    ufunc: np.ufunc,
    operands: list[Expr | Const],
    kwargs: dict[str, Any],
    mask: Operand = None,
    outs: tuple[Any, ...] = (),
) -> list[Expr]:
    """Record a ufunc call; one Expr per output."""
    dtypes = resolve(ufunc, operands, **kwargs)
    if not all(is_managed_dtype(d) for d in dtypes):
        raise Unmanaged
    shape = broadcast(ufunc, operands)
    if kwargs.get("dtype") is not None:
        operands, kwargs = _with_casts(ufunc, operands, kwargs, dtypes[0])
    params: tuple[Any, ...] = tuple(kwargs.items())
    if "dtype" in kwargs or "signature" in kwargs:
        params = (*params, ("casting", kwargs.get("casting", "same_kind")))
    if mask is not None:
        masked = operand(mask)
        if facts_of(masked).dtype != bool:
            raise Unmanaged  # NumPy says why
        before = operand(outs[0])
        shape = broadcast(None, [*operands, masked])
        operands = [*operands, masked, before]
        params = (*params, ("masked", True))
    row = elementwise_of(ufunc)
    if ufunc.nout == 1:
        return [record(row, operands, tuple(dict(params).items()), shape, dtypes[0])]
    found = [
        record(row, operands, (*dict(params).items(), ("output", k)), shape, d)
        for k, d in enumerate(dtypes)
    ]
    if told_at_once():  # each is computed by itself then: the first one tells of all their faults
        for expr in found[1:]:
            expr.origin = expr.origin and expr.origin.silent()
    return found


def _with_casts(
    ufunc: np.ufunc, operands: list[Expr | Const], kwargs: dict[str, Any], made: np.dtype
) -> tuple[list[Expr | Const], dict[str, Any]]:
    """Return operands in the dtypes of the loop that ``dtype=`` names, which then goes without.

    So they are fused as any others. What names the loop, which makes ``made``, may be a class of
    dtypes. Both are as they were where a cast could meet a fault, or where the operands alone would
    have another loop.
    """
    given = tuple(x.dtype if isinstance(x, Expr) else type(x.value) for x in operands)
    kept = kwargs.keys() <= {"dtype", "casting"} and ufunc.nout == 1 and ufunc.signature is None
    if not kept or not all(isinstance(x, np.dtype) or x in _WEAK for x in given):
        return operands, kwargs
    key = (ufunc, given, made)
    if key not in _loops:
        if len(_loops) >= _MOST_LOOPS:
            _loops.clear()
        _loops[key] = _loop_alone(*key)
    loop = _loops[key]
    if loop is None:
        return operands, kwargs
    found = [
        cast(x, dtype, x.shape) if isinstance(x, Expr) else x
        for x, dtype in zip(operands, loop, strict=True)
    ]
    return found, {}


def _loop_alone(
    ufunc: np.ufunc, given: tuple[Any, ...], asked: np.dtype
) -> tuple[np.dtype, ...] | None:
    """Return the operands' dtypes in the loop that makes ``asked``.

    None where they alone do not lead there, and where one cannot be cast without a fault.
    """
    among = (None,) * len(given)
    loop = ufunc.resolve_dtypes((*given, None), signature=(*among, asked), casting="unsafe")
    dtypes = loop[: len(given)]
    cast_to = tuple(d if isinstance(x, np.dtype) else x for x, d in zip(given, dtypes, strict=True))
    safe = all(
        not isinstance(x, np.dtype) or np.can_cast(x, d, "safe")
        for x, d in zip(given, dtypes, strict=True)
    )
    alone = safe and ufunc.resolve_dtypes((*cast_to, None)) == loop
    return dtypes if alone else None


def result_of(expr: Expr) -> Any:
    """Return what NumPy returns for a result: an array, or a scalar where it has no axes."""
    return from_expr(expr) if expr.shape else deferred(expr)


def cast(expr: Expr | Const, dtype: np.dtype, shape: Shape) -> Expr:
    """Return ``expr`` with another dtype, elementwise."""
    if isinstance(expr, Expr) and same_dtype(expr.dtype, dtype) and expr.shape == shape:
        return expr
    return record(CAST, [expr], (), shape, dtype)


def where(condition: Expr | Const, x: Expr | Const, y: Expr | Const) -> Expr:
    """Record ``np.where`` with three operands."""
    if facts_of(condition).dtype != bool:
        condition = cast(condition, np.dtype(bool), facts_of(condition).shape)
    dtype = _where_dtype(x, y)
    x, y = (_choice(v, dtype) for v in (x, y))
    shape = broadcast(None, [condition, x, y])
    return record(WHERE, [condition, x, y], (), shape, dtype)


def _choice(x: Expr | Const, dtype: np.dtype) -> Expr | Const:
    """Return a constant as ``np.where`` converts it: by C's rules, whatever its size."""
    if isinstance(x, Expr):
        return x
    with np.errstate(all="ignore"):
        return Const(np.asarray(x.value).astype(dtype)[()])


def _where_dtype(x: Expr | Const, y: Expr | Const) -> np.dtype:
    sample = [empty_like(v.dtype) if isinstance(v, Expr) else v.value for v in (x, y)]
    return np.where(empty_like(np.dtype(bool)), *sample).dtype


def view(expr: Expr, geometry: Geometry) -> Expr:
    """Record a view of ``expr``."""
    return make(VIEW, (expr,), tuple(geometry), geometry.shape, geometry.dtype)


def write(target: ndarray, value: Expr | Const) -> None:
    """Make ``value``, already broadcastable and castable, the content of ``target``."""
    buffer = target._buf
    shape, dtype = facts(target)
    if target._geo is None:
        content_now = converted(value, dtype, shape)
        with target._buf.lock:
            buffer.set(content_now)
        return
    if isinstance(value, Expr) and (value.dtype != dtype) and value.size:
        value = cast(value, dtype, value.shape)
    origin = here()
    with target._buf.lock, engine.lock:  # a write of another thread comes before or after
        if buffer.unmade:
            buffer.make()
        base = buffer.expr
        updated = make(UPDATE, (base, value), tuple(target._geo), buffer.shape, buffer.dtype)
        del base
        if updated.origin is None:
            updated.origin = origin
        buffer.set(updated)


def _owned(expr: Expr) -> Expr:
    """Return an Expr that only the Buffer written to will hold: never another array's content."""
    if expr.op is VIEW or expr.value is not None or expr.owner is not None:
        fresh = Expr(CAST, (expr,), (), expr.shape, expr.dtype)
        fresh.origin = here()
        return fresh
    return expr


def converted(value: Expr | Const, dtype: np.dtype, shape: Shape) -> Expr:
    """Return ``value`` in this dtype and shape, as :func:`_owned` does.

    What has just been recorded is nobody else's, though it may be computed by now.
    """
    found = cast(value, dtype, shape)
    return found if found is not value and found.owner is None else _owned(found)


def fresh(expr: Expr) -> ndarray:
    """Return an array with memory of its own and the content of ``expr``."""
    return from_expr(_owned(expr))


def grows(*args: Any) -> bool:
    """Say whether arrays that NumPy reads at once make one that it is not done with at once.

    They do where some are repeated along the axes of others; native/growing.c says the same.
    """
    shapes = [x.shape for x in args if type(x) is ndarray]
    if len(shapes) < 2 or shapes.count(shapes[0]) == len(shapes):
        return False
    size = 1
    for extents in zip_longest(*[shape[::-1] for shape in shapes], fillvalue=1):
        others = {n for n in extents if n != 1}
        if len(others) > 1:
            return False
        size *= others.pop() if others else 1
    return size >= config.eager_below


def widens(loop: np.ufunc | None, *args: Any) -> bool:
    """Say whether a ufunc reads many elements of one byte as larger ones, or makes them larger.

    None is a comparison. See native/growing.c.
    """
    limit = config.eager_below
    large = [x for x in args if type(x) is ndarray and x._np is None and x.size >= limit]
    if not large:
        return False
    if large[-1].dtype.kind == "b" and any(type(x) is int for x in args):
        return True
    return (loop is not None and loop not in BYTEWISE) or any(map(_is_wide, args))


def _is_wide(x: Any) -> bool:
    if isinstance(x, int):
        return False
    return not hasattr(x, "dtype") or x.dtype.itemsize > 1


def grows_in_pairs(x: Any, y: Any) -> bool:
    """Say the same of a result that has an element for each pair of theirs."""
    both = type(x) is ndarray and type(y) is ndarray
    return both and x.size * y.size >= config.eager_below


def is_lazy(x: Any) -> bool:
    """Say whether an operand asks for the engine: a managed array or a deferred scalar.

    Computed scalars, small arrays and small views of computed memory do not: NumPy reads them at
    once.
    """
    kind = type(x)
    if kind is not ndarray:
        return kind is DeferredScalar and x.is_pending
    if x._np is not None:
        return False
    seen = x._seen
    if seen is not None and seen[0] is x._buf.expr.value:
        small = runs_at_once(seen[1].size, seen[1].itemsize)
        return not small or (config.memory_limit > 0 and reaches_far(seen[1]))
    geometry, buffer = x._geo, x._buf
    if type(buffer) is not Buffer or type(buffer.expr.value) is not np.ndarray:
        return True
    if geometry is None:
        return not runs_at_once(buffer.expr.value.size, buffer.expr.value.itemsize)
    size, itemsize = prod(geometry.shape), geometry.dtype.itemsize
    return not runs_at_once(size, itemsize) or reaches_far(geometry)


def to_numpy(x: Any) -> Any:
    """Return a dnumpy object's content for use inside the library; anything else unchanged."""
    if type(x) is ndarray:
        return concrete(x)
    if type(x) is DeferredScalar:
        return x.force()
    return x
