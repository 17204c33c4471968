"""Contractions of managed arrays: products of matrices, ``tensordot``, ``einsum``.

Each has NumPy's parameters and returns NotImplemented for what it does not cover; NumPy then runs
it.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy._core.einsumfunc import _parse_einsum_input
from numpy.lib.array_utils import normalize_axis_index

from dnumpy import engine, native
from dnumpy.api import blocks, calls, installed, lone, pairwise, products, ufuncs
from dnumpy.api.array import from_expr, is_managed_dtype, lying_here, ndarray
from dnumpy.api.composites import through_ghost
from dnumpy.api.layout import contracted_order, restored
from dnumpy.api.record import Unmanaged, operand, record, resolve, result_of
from dnumpy.config import config
from dnumpy.expr.expr import Const, Expr
from dnumpy.expr.origin import told_as
from dnumpy.ops.table import CROSSPROD, DOT, EINSUM, MATMUL, TENSORDOT
from dnumpy.runtime import direct

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dnumpy.expr.expr import Shape
    from dnumpy.ops.families import Contraction


def _contract(
    op: Contraction, args: list[Any], params: tuple[Any, ...], shape: Any, dtype: Any
) -> Any:
    if not is_managed_dtype(dtype) or not all(isinstance(a, Expr) for a in args):
        return NotImplemented
    if ufuncs.errors_raise():
        return NotImplemented
    # what NumPy makes by a reshape at last is an array, whatever its shape
    made = from_expr if op is TENSORDOT else result_of
    found = _on_nodes[0](op, args, params, shape, dtype) if _on_nodes else None
    return made(record(op, args, params, shape, dtype) if found is None else found)


CROSSED_SHARE = 16  # of a tile: the most that each tile of a product summed over rows may give
TALL = 4  # times the edges of such a product: rows that are summed over, at least

_on_nodes: list[Any] = []


def contract_on_nodes_with(record: Any) -> None:
    """Let ``record`` say how operands on nodes are contracted; it returns None where as here."""
    _on_nodes[:] = [record]


def matmul(x1: Any, x2: Any, /, out: Any = None, **kwargs: Any) -> Any:
    """Matrix product."""
    if out is not None or kwargs:
        return NotImplemented
    try:
        a, b = operand(x1), operand(x2)
    except Unmanaged:
        return NotImplemented
    if isinstance(a, Const) or isinstance(b, Const) or not a.shape or not b.shape:
        return NotImplemented
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner or not a.size or not b.size:
        return NotImplemented
    try:
        batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        return NotImplemented
    shape = batch + a.shape[-2:-1] + (b.shape[-1:] if b.ndim > 1 else ())
    if direct.is_numpys((a, b), prod(shape), engine.spreads) and not config.reproducible:
        return NotImplemented
    dtype = resolve(np.multiply, [a, b])[0]
    vectors = a.ndim == b.ndim == 1 and blocks.spread(x1, x2)
    if (config.reproducible or vectors) and dtype.kind in "iufc" and not ufuncs.errors_raise():
        found = products.fixed(a, b, shape, dtype)
        if found is not NotImplemented:
            return found
    rows_first = _rows_first(a, b, shape, dtype)
    if rows_first is not None:
        return _contract(CROSSPROD, [rows_first, b], (), shape, dtype)
    return _contract(MATMUL, [a, b], (), shape, dtype)


def _rows_first(a: Expr, b: Expr, shape: Shape, dtype: np.dtype) -> Expr | None:
    """Return ``x`` if ``a @ b`` is ``x.T @ b``, best summed up over blocks of their many rows.

    What each block adds must be small beside the rows that are read.
    """
    if max(a.ndim, b.ndim) > 2 or dtype == np.float16 or config.reproducible:
        return None  # halves are rounded once
    if CROSSED_SHARE * prod(shape) * dtype.itemsize > config.tile_bytes:
        return None
    if b.shape[0] < TALL * max(shape, default=1):
        return None
    return a if a.ndim == 1 else products.transposed_of(a)


def dot(a: Any, b: Any, out: Any = None) -> Any:
    """Dot product; a matrix product up to two axes."""
    if out is not None:
        return NotImplemented
    try:
        left, right = operand(a), operand(b)
    except Unmanaged:
        return NotImplemented
    if isinstance(left, Const) or isinstance(right, Const) or not left.shape or not right.shape:
        return NotImplemented
    if left.ndim <= 2 and right.ndim <= 2:
        with installed.telling_as_dot():
            return matmul(a, b)
    if right.ndim == 1 or left.shape[-1] != right.shape[-2]:
        return NotImplemented
    shape = left.shape[:-1] + right.shape[:-2] + right.shape[-1:]
    dtype = resolve(np.multiply, [left, right])[0]
    with installed.telling_as_dot():
        return _contract(DOT, [left, right], (), shape, dtype)


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Contract the given axes."""
    native.begins_product(a, b)
    try:
        left, right = operand(a), operand(b)
    except Unmanaged:
        return NotImplemented
    if isinstance(left, Const) or isinstance(right, Const) or not left.size or not right.size:
        return NotImplemented
    pairs = _tensordot_axes(axes, left.ndim, right.ndim)
    if pairs is None or [left.shape[k] for k in pairs[0]] != [right.shape[k] for k in pairs[1]]:
        return NotImplemented
    shape = tuple(n for k, n in enumerate(left.shape) if k not in pairs[0])
    shape += tuple(n for k, n in enumerate(right.shape) if k not in pairs[1])
    dtype = resolve(np.multiply, [left, right])[0]
    with installed.telling_as_dot():
        return _contract(TENSORDOT, [left, right], (("axes", pairs),), shape, dtype)


def _tensordot_axes(
    axes: Any, left: int, right: int
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    try:
        if isinstance(axes, int):
            if not 0 <= axes <= min(left, right):
                return None
            return tuple(range(left - axes, left)), tuple(range(axes))
        first, second = (np.atleast_1d(x).tolist() for x in axes)
        pairs = (
            tuple(normalize_axis_index(k, left) for k in first),
            tuple(normalize_axis_index(k, right) for k in second),
        )
        return pairs if all(len(set(p)) == len(p) for p in pairs) else None
    except (TypeError, ValueError):
        return None


def einsum(  # noqa: C901, PLR0912 - one way out for each thing that NumPy must answer
    *operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any
) -> Any:
    """Einstein summation; the order of contraction comes from opt_einsum."""
    if out is not None or kwargs or not operands or type(operands[0]) is not str:
        return NotImplemented
    if type(optimize) is not bool and optimize not in ("greedy", "optimal"):
        return NotImplemented
    native.begins_product(*operands)
    if not optimize and (found := _einsum_now(operands)) is not None:
        return found
    try:
        exprs: list[Any] = [operand(x) for x in operands[1:]]
    except Unmanaged:
        return NotImplemented
    if not all(isinstance(e, Expr) for e in exprs):
        return NotImplemented
    stand_ins = [np.broadcast_to(np.empty((), e.dtype), e.shape) for e in exprs]
    try:
        inputs, output, _ = _parse_einsum_input([operands[0], *stand_ins])
    except (ValueError, TypeError, KeyError):
        return NotImplemented  # NumPy says why
    sizes: dict[str, int] = {}
    for labels, expr in zip(inputs.split(","), exprs, strict=True):
        for label, extent in zip(labels, expr.shape, strict=False):
            if sizes.setdefault(label, extent) not in (1, extent) and extent != 1:
                return NotImplemented
            sizes[label] = max(sizes[label], extent)
    if not all(e.size for e in exprs):
        return NotImplemented
    if len(exprs) == 1 and set(inputs) == set(output):
        return _einsum_view(operands[1], inputs, output)
    if len(exprs) <= 2:  # else it depends on the order of contraction
        axes = contracted_order(f"{inputs}->{output}", operands[1:], optimize=optimize)
        if axes is not None:
            inner = "".join(output[k] for k in axes)
            return restored(_einsum(inputs, inner, operands, exprs, sizes, optimize), axes)
    return _einsum(inputs, output, operands, exprs, sizes, optimize)


def _einsum(
    inputs: str, output: str, operands: Any, exprs: list[Any], sizes: dict[str, int], optimize: Any
) -> Any:
    subscripts = f"{inputs}->{output}"
    dtype = np.result_type(*[e.dtype for e in exprs])
    tells = bool(optimize) and len(exprs) > 1  # NumPy's loop tells of nothing, its ufuncs do
    at_home = all(type(x) is ndarray for x in operands[1:]) and not blocks.spread(*operands[1:])
    if at_home and dtype.char in "fdFD" and not config.reproducible:
        pairs = pairwise.pairs_of(subscripts, tuple(e.shape for e in exprs))
        if pairs is not None:
            return _by_products(pairs, operands[1:], dtype, tells=tells)
    shape = tuple(sizes[label] for label in output)
    params = (("subscripts", subscripts), ("optimize", bool(optimize) or len(exprs) > 2))
    if at_home and not optimize and len(exprs) <= 2:
        _note_loop(operands)
    if tells:
        with told_as(_numpys_step(inputs, output)):
            return _contract(EINSUM, exprs, params, shape, dtype)
    with np.errstate(all="ignore"):
        return _contract(EINSUM, exprs, params, shape, dtype)


_MOST_KNOWN = 1024
_loops: set[tuple[Any, ...]] = set()  # Einstein sums of arrays here that are NumPy's own loop


def _looks(operands: Sequence[Any]) -> tuple[Any, ...]:
    settings = config.reproducible, config.eager_below, config.mode
    return operands[0], settings, *[(x.shape, x.dtype) for x in operands[1:]]


def _note_loop(operands: Sequence[Any]) -> None:
    if len(_loops) >= _MOST_KNOWN:
        _loops.clear()
    _loops.add(_looks(operands))


def _einsum_now(operands: Sequence[Any]) -> Any:
    """Return an Einstein sum for which all that would be recorded is NumPy's loop; None of others.

    To look into what is summed, to record it and to evaluate that takes longer than the loop over a
    few 100,000 elements.
    """
    arrays = operands[1:]
    if not all(type(x) is ndarray for x in arrays) or _looks(operands) not in _loops:
        return None
    lying: list[Any] = [lying_here(x) for x in arrays]
    if any(x is None for x in lying) or not lone.is_free(sum([x.nbytes for x in arrays])):
        return None
    return calls.wrap_result(np.einsum(operands[0], *lying))


def _numpys_step(inputs: str, output: str) -> str:
    """Return which ufunc NumPy calls first: labels of more operands are multiplied to the last."""
    summed = {*inputs} - {*output, ","}
    given = inputs.split(",")
    return "matmul" if any(sum(k in x for x in given) == 2 for k in summed) else "multiply"


def _by_products(
    pairs: Sequence[pairwise.Pair], operands: Sequence[Any], dtype: Any, *, tells: bool
) -> Any:
    """Return an Einstein sum as what follows from products of our arrays.

    One that ``tells`` tells of faults of the products, as NumPy does of what is no loop of its own.
    """
    asked: dict[str, Any] = dict(np.geterr()) if tells else {}
    sums = any(pair.inner for pair in pairs)  # which NumPy computes as stacks of products

    def multiply(a: Any, b: Any) -> Any:
        with np.errstate(**asked), told_as("matmul" if sums else "multiply"):
            return ufuncs.call(np.multiply, (a, b), {})

    def product(a: Any, b: Any) -> Any:
        with np.errstate(**asked):
            return ufuncs.call(np.matmul, (a, b), {})

    with np.errstate(all="ignore"):  # NumPy's loop tells of nothing either
        arrays = [x.astype(dtype, copy=False) for x in operands]
        return pairwise.contracted(pairs, arrays, pairwise.Module(product, multiply))


def _einsum_view(a: Any, inputs: str, output: str) -> Any:
    """Return what ``einsum`` gives where nothing is summed: a view."""
    if len(inputs) != a.ndim:
        return NotImplemented  # NumPy says why
    extents = dict(zip(inputs, a.shape, strict=True))
    if not a.shape or [extents[k] for k in inputs] != list(a.shape):
        return NotImplemented
    return through_ghost(a, lambda g: np.einsum(f"{inputs}->{output}", g))
