"""Hypothesis strategies: dtypes, shapes, arrays with specials, keys, chunkings, random Exprs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.expr.geometry import Geometry
from dnumpy.ops.families import elementwise_of, reduction_of
from dnumpy.ops.table import ARGMAX, CAST, MATMUL, UPDATE, VIEW, WHERE
from dnumpy.rewrite.phase import ReduceParams

if TYPE_CHECKING:
    from collections.abc import Callable

MANAGED = tuple(np.dtype(c) for c in "?bBhHiIlLefdgFDG")
EXACT = tuple(np.dtype(c) for c in "?bBhHiIlL")
SPECIALS = (np.nan, np.inf, -np.inf, -0.0, 0.0)

managed_dtypes = st.sampled_from(MANAGED)
shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7)
filled_shapes = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=7)


def some_values(dtype: np.dtype, count: int, seed: int = 0) -> np.ndarray:
    """Return ``count`` values that go to the edges of ``dtype``, specials included."""
    draw = np.random.default_rng(seed)
    if dtype.kind == "b":
        return draw.random(count) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        edges = np.array([info.min, info.max, 0, 1, 2, 3], dtype)
        small = draw.integers(0 if dtype.kind == "u" else -9, 10, count)
        return np.where(draw.random(count) < 0.3, draw.choice(edges, count), small.astype(dtype))
    if dtype.kind == "c":
        part = np.empty(0, dtype).real.dtype
        made = np.empty(count, dtype)
        made.real, made.imag = (
            some_values(part, count, seed + 1),
            some_values(part, count, seed + 2),
        )
        return made
    plain = (draw.standard_normal(count) * 4).astype(dtype)
    return np.where(draw.random(count) < 0.3, draw.choice(np.array(SPECIALS, dtype), count), plain)


@st.composite
def arrays(
    draw: Any,
    dtypes: st.SearchStrategy[np.dtype] = managed_dtypes,
    sizes: st.SearchStrategy[tuple[int, ...]] = shapes,
) -> np.ndarray:
    """Arrays of every managed dtype with edges and specials."""
    shape = draw(sizes)
    values = some_values(draw(dtypes), int(np.prod(shape)), draw(st.integers(0, 1 << 16)))
    return values.reshape(shape)


@st.composite
def chunkings(draw: Any, rows: int) -> tuple[int, ...]:
    """Uneven cuts of ``rows``: start, ..., stop, some of them equal."""
    inner = draw(st.lists(st.integers(0, rows), max_size=5))
    return (0, *sorted(inner), rows)


def keys(shape: tuple[int, ...]) -> st.SearchStrategy[Any]:
    """Basic indices that fit ``shape``: ints, slices of any sign, newaxis, Ellipsis."""
    return hnp.basic_indices(shape, allow_newaxis=True, allow_ellipsis=True)


# ---------------------------------------------------------------- random Exprs

_UNARY = (np.negative, np.square, np.absolute, np.sign)
_BINARY = (np.add, np.subtract, np.multiply, np.maximum, np.minimum)
_FOLDS = (np.add, np.multiply, np.maximum, np.minimum)


@st.composite
def programs(draw: Any) -> list[Expr]:
    """Return Exprs in the order of recording: leaves, then ops over them; integers, so exact."""
    seed = draw(st.integers(0, 1 << 16))
    rows, columns = draw(st.integers(1, 12)), draw(st.integers(1, 6))
    exprs = [
        _stored(np.int64, (rows, columns), seed),
        _stored(np.int32, (rows, 1), seed + 1),
        _stored(np.int64, (columns,), seed + 2),
        _stored(np.bool_, (rows, columns), seed + 3),
    ]
    for _ in range(draw(st.integers(1, 14))):
        step: Callable[[Any, list[Expr]], Expr | None] = draw(st.sampled_from(_STEPS))
        made = step(draw, exprs)
        if made is not None:
            exprs.append(made)
    return exprs


def _stored(kind: type, shape: tuple[int, ...], seed: int) -> Expr:
    values = np.random.default_rng(seed).integers(0, 5, shape).astype(kind)
    return leaf(values, shape, values.dtype)


def _pick(draw: Any, exprs: list[Expr], *, ndim: int = 0) -> Expr:
    found: Expr = draw(st.sampled_from([e for e in exprs if e.ndim >= ndim]))
    return found


def _unary(draw: Any, exprs: list[Expr]) -> Expr | None:
    x = _pick(draw, exprs)
    ufunc = draw(st.sampled_from(_UNARY))
    if x.dtype == bool:
        return make(CAST, (x,), (), x.shape, np.dtype(np.int64))
    return make(elementwise_of(ufunc), (x,), (), x.shape, x.dtype)


def _binary(draw: Any, exprs: list[Expr]) -> Expr | None:
    x, y = _pick(draw, exprs), _pick(draw, exprs)
    ufunc = draw(st.sampled_from(_BINARY))
    if bool in (x.dtype, y.dtype):
        return None
    args: tuple[Expr | Const, ...] = (x, y) if draw(st.booleans()) else (x, Const(3))
    given = [np.empty(0, a.dtype) if isinstance(a, Expr) else a.value for a in args]
    try:
        shape = np.broadcast_shapes(*[a.shape for a in args if isinstance(a, Expr)])
    except ValueError:
        return None
    return make(elementwise_of(ufunc), args, (), shape, ufunc(*given).dtype)


def _choose(draw: Any, exprs: list[Expr]) -> Expr | None:
    mask = next(e for e in exprs if e.dtype == bool)
    x = draw(st.sampled_from([e for e in exprs if e.shape == mask.shape]))
    return make(WHERE, (mask, x, Const(x.dtype.type(1))), (), x.shape, x.dtype)


def _fold(draw: Any, exprs: list[Expr]) -> Expr | None:
    x = _pick(draw, exprs, ndim=1)
    if x.dtype == bool:
        return None
    axes = tuple(sorted(draw(st.sets(st.integers(0, x.ndim - 1), min_size=1))))
    keepdims = draw(st.booleans())
    shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape) if keepdims or k not in axes)
    if draw(st.integers(0, 4)) == 0 and len(axes) == 1:
        params = ReduceParams(axes, keepdims, None, None, masked=False)
        return make(ARGMAX, (x,), params, shape, np.dtype(np.intp))
    ufunc = draw(st.sampled_from(_FOLDS))
    dtype = ufunc.reduce(np.ones(1, x.dtype)).dtype
    initial = draw(st.sampled_from((None, (dtype.type(2),))))
    params = ReduceParams(axes, keepdims, None, initial, masked=False)
    return make(reduction_of(ufunc), (x,), params, shape, dtype)


def _geometry(draw: Any, expr: Expr) -> Geometry:
    """Return a view of ``expr`` by a random index, sometimes transposed."""
    memory = np.empty(expr.shape, expr.dtype)
    view = memory[draw(keys(expr.shape))]
    view = view.T if isinstance(view, np.ndarray) and draw(st.booleans()) else memory
    offset = view.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    return Geometry(offset if view.size else 0, view.shape, view.strides, view.dtype)


def _view(draw: Any, exprs: list[Expr]) -> Expr | None:
    x = _pick(draw, exprs, ndim=1)
    geometry = _geometry(draw, x)
    if x.op is VIEW or geometry.is_whole(x.shape, x.dtype) or 0 in geometry.shape:
        return None
    return make(VIEW, (x,), tuple(geometry), geometry.shape, geometry.dtype)


def _update(draw: Any, exprs: list[Expr]) -> Expr | None:
    base = _pick(draw, exprs, ndim=1)
    geometry = _geometry(draw, base)
    if base.op is VIEW or 0 in geometry.shape:
        return None
    fitting = [e for e in exprs if e.shape == geometry.shape and e.dtype == base.dtype]
    value = draw(st.sampled_from([Const(base.dtype.type(1)), *fitting]))
    return make(UPDATE, (base, value), tuple(geometry), base.shape, base.dtype)


def _matmul(draw: Any, exprs: list[Expr]) -> Expr | None:
    x, y = _pick(draw, exprs, ndim=2), _pick(draw, exprs, ndim=1)
    if x.ndim != 2 or y.ndim != 1 or x.shape[1] != y.shape[0] or bool in (x.dtype, y.dtype):
        return None
    return make(MATMUL, (x, y), (), x.shape[:1], np.result_type(x.dtype, y.dtype))


_STEPS: tuple[Callable[[Any, list[Expr]], Expr | None], ...] = (
    _unary, _binary, _binary, _binary, _choose, _fold, _fold, _view, _update, _update, _matmul,
)  # fmt: skip
