"""Products of vectors and matrices in fixed blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnumpy.api import blocks
from dnumpy.api.record import result_of, view
from dnumpy.expr.geometry import Geometry, contiguous_strides
from dnumpy.kernels.blocked import fold_rows, most_rows
from dnumpy.ops.products import PRODUCT, PRODUCT_ROWS, ProductParams
from dnumpy.ops.table import VIEW

if TYPE_CHECKING:
    import numpy as np

    from dnumpy.expr.expr import Expr, Shape

VECTOR_ROWS = 8192  # of one call: the library runs no threads, whose number would change bits
MATRIX_ROWS = 256


def summed(left: Expr, right: Expr, dtype: np.dtype, *, conjugate: bool = False) -> Any:
    """Return the dot product of two vectors; with ``conjugate`` the first is conjugated."""
    block = max(1, min(left.size, VECTOR_ROWS, most_rows(left.size)))
    params = ProductParams((True, True), conjugate, block)
    return result_of(blocks.record(PRODUCT, [left, right], params, (), dtype))


def fixed(left: Expr, right: Expr, shape: Shape, dtype: np.dtype) -> Any:
    """Return a product of vectors or matrices, the same bits for any partition."""
    if left.ndim == right.ndim == 1:
        return summed(left, right, dtype)
    if left.ndim > 2 or right.ndim > 2:
        return NotImplemented  # one call on whole operands
    summed_over = left.shape[-1]
    if left.ndim == 1 or summed_over > 2 * max(shape):
        turned = left if left.ndim == 1 else _transposed(left)
        block = fold_rows(summed_over, max(shape) * dtype.itemsize)
        params = ProductParams((True, True), conjugate=False, block=block)
        return result_of(blocks.record(PRODUCT, [turned, right], params, shape, dtype))
    block = max(1, min(shape[0], MATRIX_ROWS, most_rows(shape[0])))
    params = ProductParams((True, False), conjugate=False, block=block)
    return result_of(blocks.record(PRODUCT_ROWS, [left, right], params, shape, dtype))


def transposed_of(expr: Expr) -> Expr | None:
    """Return the array of which ``expr`` is the transpose, None where it is no such view."""
    if expr.op is not VIEW or expr.value is not None:
        return None
    base, turned = expr.operands()[0], _turned(expr)
    if turned.is_whole(base.shape, base.dtype):
        return base
    inner = contiguous_strides(turned.shape, turned.dtype.itemsize)[1:]
    return view(base, turned) if turned.strides[1:] == inner else None


def _turned(expr: Expr) -> Geometry:
    geometry = Geometry(*expr.params)
    return geometry._replace(shape=geometry.shape[::-1], strides=geometry.strides[::-1])


def _transposed(expr: Expr) -> Expr:
    if expr.op is VIEW and expr.value is None:
        base, turned = expr.operands()[0], _turned(expr)
        return base if turned.is_whole(base.shape, base.dtype) else view(base, turned)
    strides = contiguous_strides(expr.shape, expr.dtype.itemsize)
    return view(expr, Geometry(0, expr.shape[::-1], strides[::-1], expr.dtype))
