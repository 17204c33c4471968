"""Ops on whole arrays by CuPy's libraries: cuBLAS, cuFFT, cuSOLVER, Thrust's sorts.

:data:`LIBRARY` maps the name of an op to a function of the library, the operands and the op's own
parameters. What is not there, or not for these operands, raises :class:`Unsupported` by name: NumPy
then computes it on the host. Nothing is computed in a lower precision than NumPy's: CuPy uses no
TF32 unless it is told to, though its own kernels may take subnormal numbers of single precision for
zero. Sums of products are taken in another order than NumPy's.

What repeats an index stores the last of its values, as NumPy does: only that one is scattered. A
stable order is the one that NumPy's stable sort gives; any other order of equal keys is left to
NumPy. The library is a parameter, so that the tests run the table on NumPy.
"""

from __future__ import annotations

from contextlib import contextmanager
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.geometry import Geometry
from dnumpy.kernels import cuda_linalg
from dnumpy.kernels.lower import Unsupported
from dnumpy.ops.families import Contraction, Leaf, Movement
from dnumpy.ops.table import ARANGE, CROSSPROD, EMPTY, FULL, VIEW

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dnumpy.ops.families import Op

    Shape = tuple[int, ...]
    Whole = Callable[[Any, Sequence[Any], Any, Shape, np.dtype], Any]

# attributes of CuPy that are used here; a test sees that they exist
NAMES = (
    "append", "arange", "argsort", "asarray", "ascontiguousarray", "bincount", "concatenate",
    "count_nonzero", "cumprod", "cumsum", "dot", "einsum", "empty", "equal", "full", "isin",
    "logical_not", "matmul", "minimum", "nonzero", "searchsorted", "sort", "stack", "take",
    "take_along_axis", "tensordot", "vdot",
)  # fmt: skip


def apply_on_device(
    op: Op, values: Sequence[Any], params: Any, shape: Shape, dtype: np.dtype, xp: Any = None
) -> Any:
    """Return what an op makes of whole arrays on the current device, as an array there.

    ``values`` are CuPy's arrays and scalars; ``params``, ``shape`` and ``dtype`` are the op's, as
    :func:`~dnumpy.kernels.reference.apply` takes them. A result of records comes back as an array
    of NumPy's, since CuPy has none. Elementwise ops and reductions run in phases, not here.

    Raises
    ------
    Unsupported
        Where NumPy must compute it; the text says why.
    """
    if xp is None:
        import cupy as xp  # type: ignore[no-redef]
    for value in values:
        if getattr(value, "dtype", np.dtype(float)).kind not in "biufc":
            msg = f"{op!r} of {value.dtype}"
            raise Unsupported(msg)
    with raising(xp):
        found = _applied(xp, op, values, params, shape, dtype)
    if dtype.names or dtype.hasobject:
        return found
    if found.dtype != dtype:
        found = found.astype(dtype)
    if op is VIEW:
        return found
    return xp.ascontiguousarray(found).reshape(shape)


def _applied(
    xp: Any, op: Op, values: Sequence[Any], params: Any, shape: Shape, dtype: np.dtype
) -> Any:
    if isinstance(op, Contraction):
        return _contract(xp, op, values, params, dtype)
    if isinstance(op, Movement):
        return _move(xp, op, values, params)
    if isinstance(op, Leaf):
        return _generate(xp, op, params, shape, dtype)
    function = LIBRARY.get(op.name)
    if function is None:
        msg = f"{op!r} has no form for a device"
        raise Unsupported(msg)
    return function(xp, values, params, shape, dtype)


@contextmanager
def raising(xp: Any) -> Iterator[None]:
    """Let cuSOLVER's failures be told, and NumPy tell the user of them in its own words."""
    try:
        if xp is np:
            yield
            return
        import cupyx

        with cupyx.errstate(linalg="raise"):
            yield
    except np.linalg.LinAlgError as error:
        raise Unsupported(str(error)) from error


# ---------------------------------------------------------------- products, movement, leaves


def _contract(xp: Any, op: Contraction, values: Sequence[Any], params: Any, dtype: np.dtype) -> Any:
    if dtype.kind == "b":
        msg = f"{op!r} of booleans"
        raise Unsupported(msg)
    if op is CROSSPROD:
        return xp.matmul(values[0].T, values[1])
    kwargs = dict(params)
    if op.name == "einsum":
        optimize = kwargs.get("optimize", False)
        return xp.einsum(kwargs["subscripts"], *values, optimize=bool(optimize))
    return getattr(xp, op.name)(*values, **kwargs)


def over(xp: Any, geometry: Geometry, base: Any) -> Any:
    """Return the view of contiguous memory that a geometry describes."""
    if xp is np:
        return geometry.over(base)
    memory = base.data + geometry.offset
    return xp.ndarray(geometry.shape, geometry.dtype, memptr=memory, strides=geometry.strides)


def _move(xp: Any, op: Op, values: Sequence[Any], params: Any) -> Any:
    geometry = Geometry(*params)
    if not values[0].flags.c_contiguous:
        msg = "a view of what does not lie in order"
        raise Unsupported(msg)
    if op is VIEW:
        return over(xp, geometry, values[0])
    updated = values[0].copy()
    over(xp, geometry, updated)[...] = values[1]
    return updated


def _generate(xp: Any, op: Op, params: Any, shape: Shape, dtype: np.dtype) -> Any:
    if op is EMPTY:
        return xp.empty(shape, dtype)
    if op is FULL:
        return xp.full(shape, params[0], dtype)
    if op is not ARANGE:
        msg = f"{op!r} generates nothing"
        raise Unsupported(msg)
    start, delta = (np.asarray(x, dtype)[()] for x in params)
    return start + xp.arange(shape[0]).astype(dtype) * delta


# ---------------------------------------------------------------- indexing


def _rows_of(table: Any, lead: int) -> Any:
    return table.reshape(prod(table.shape[:lead]), *table.shape[lead:])


def _columns_of(table: Any, lead: int) -> Any:
    shape = table.shape
    return table.reshape(shape[0], prod(shape[1 : lead + 1]), *shape[lead + 1 :])


def _take(xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    table, index = values
    return xp.take(_rows_of(table, params.lead), index, axis=0)


def _take_inside(
    xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype
) -> Any:
    table, index = values
    return xp.take(_columns_of(table, params.lead), index, axis=1)


def _last_of_each(xp: Any, flat: Any) -> Any:
    """Return the places of those elements of an index that no later one repeats."""
    order = xp.argsort(flat, kind="stable")
    ordered = flat[order]
    changes = xp.append(ordered[1:] != ordered[:-1], xp.full(1, fill_value=True, dtype=bool))
    return order[xp.nonzero(changes)[0]]


def _put(xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    base, index, given = values
    made = xp.ascontiguousarray(base).copy()
    flat = index.reshape(-1)
    last = _last_of_each(xp, flat)
    if params.full:
        given = given.reshape(flat.size, *base.shape[params.lead :])[last]
    _rows_of(made, params.lead)[flat[last]] = given
    return made


def _put_inside(
    xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype
) -> Any:
    base, index, given = values
    made = xp.ascontiguousarray(base).copy()
    flat = index.reshape(-1)
    last = _last_of_each(xp, flat)
    if params.full:
        inner = base.shape[params.lead + 1 :]
        given = given.reshape(base.shape[0], flat.size, *inner)[:, last]
    _columns_of(made, params.lead)[:, flat[last]] = given
    return made


def _put_mask(xp: Any, values: Sequence[Any], _params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    base, mask, given = values
    made = base.copy()
    made[xp.nonzero(mask)] = given
    return made


def _nonzero(xp: Any, values: Sequence[Any], _params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    return xp.stack(xp.nonzero(values[0]), axis=1)


def _compress(xp: Any, values: Sequence[Any], _params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    rows, mask = values
    return rows[xp.nonzero(mask)]


def _permute(_xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    return values[0].transpose(params.axes)


def _along(xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    return xp.take_along_axis(*values, **dict(params.kwargs))


def _copy(_xp: Any, values: Sequence[Any], _params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    return values[0].copy()


# ---------------------------------------------------------------- scans, sorts and counts

_RUNNING = {"add": "cumsum", "multiply": "cumprod"}


def _running(xp: Any, values: Sequence[Any], params: Any, axis: int) -> Any:
    name = _RUNNING.get(getattr(params, "ufunc", "multiply"))
    if name is None or params.dtype.kind == "b" or params.dtype == np.float16:
        msg = f"running {params.ufunc} of {params.dtype}"
        raise Unsupported(msg)
    return getattr(xp, name)(values[0], axis=axis, dtype=params.dtype)


def _scan(xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    return _running(xp, values, params, 0)


def _scan_along(
    xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype
) -> Any:
    return _running(xp, values, params, params.axis)


def _sort_rows(xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    return xp.sort(values[0], axis=dict(params.kwargs).get("axis", -1))


def _sort_blocks(
    xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype
) -> Any:
    (rows,) = values
    starts = range(0, len(rows), params.block)
    axis = rows.ndim - 1
    return xp.concatenate([xp.sort(rows[k : k + params.block], axis=axis) for k in starts])


def _argsort(xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    kwargs = dict(params.kwargs)
    if kwargs.get("kind") not in {"stable", "mergesort"} and not kwargs.get("stable"):
        msg = "an order of equal keys that is NumPy's own"
        raise Unsupported(msg)
    axis = kwargs.get("axis", -1)
    if axis is None:
        msg = "an order of all elements together"
        raise Unsupported(msg)
    return xp.argsort(values[0], axis=axis, kind="stable")


def _search(xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    table, wanted = values
    return xp.searchsorted(table, xp.asarray(wanted), side=params.side)


def _isin_rows(xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    wanted, table = values
    at = xp.minimum(xp.searchsorted(table, wanted), len(table) - 1)
    found = xp.equal(table[at], wanted)
    return xp.logical_not(found) if dict(params.kwargs)["invert"] else found


def _members(xp: Any, values: Sequence[Any], _params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    return xp.isin(values[1], values[0])


def _counts(xp: Any, values: Sequence[Any], _params: Any, shape: Shape, _dtype: np.dtype) -> Any:
    if shape != (1,):
        msg = "counts of several blocks"
        raise Unsupported(msg)
    return xp.count_nonzero(values[0])


def _bincount(xp: Any, values: Sequence[Any], params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    weights = values[1] if params.weighted else None
    return xp.bincount(values[0], weights, params.bins or 0)


# ---------------------------------------------------------------- products of blocks


def _product(xp: Any, values: Sequence[Any], params: Any, _shape: Shape, dtype: np.dtype) -> Any:
    left, right = values
    if dtype.kind == "b":
        msg = "a product of booleans"
        raise Unsupported(msg)
    if left.dtype == right.dtype == np.float16:  # summed in float32 and rounded once
        left, right = left.astype(np.float32), right.astype(np.float32)
    if left.ndim == right.ndim == 1:
        return (xp.vdot if params.conjugate else xp.dot)(left, right)
    return xp.matmul(left.T, right)


def _product_rows(
    xp: Any, values: Sequence[Any], _params: Any, _shape: Shape, dtype: np.dtype
) -> Any:
    if dtype.kind == "b":
        msg = "a product of booleans"
        raise Unsupported(msg)
    return xp.matmul(*values)


def _einstein(xp: Any, values: Sequence[Any], params: Any, _shape: Shape, dtype: np.dtype) -> Any:
    if dtype.kind == "b" or dtype == np.float16:  # halves: each product would be rounded
        msg = f"a sum of products of {dtype}"
        raise Unsupported(msg)
    return xp.einsum(params.subscripts, *values, optimize=len(values) > 1, dtype=params.dtype)


def _cross(xp: Any, values: Sequence[Any], _params: Any, _shape: Shape, _dtype: np.dtype) -> Any:
    return xp.matmul(values[0].conj().T, values[1])


LIBRARY: dict[str, Whole] = {
    "take": _take,
    "take_inside": _take_inside,
    "put": _put,
    "put_inside": _put_inside,
    "put_mask": _put_mask,
    "nonzero": _nonzero,
    "compress": _compress,
    "permute": _permute,
    "numpy.copy": _copy,
    "numpy.take_along_axis": _along,
    "scan": _scan,
    "scan.products": _scan,
    "scan.along": _scan_along,
    "sort_rows": _sort_rows,
    "sort_blocks": _sort_blocks,
    "numpy.argsort": _argsort,
    "search": _search,
    "find": _search,
    "isin_rows": _isin_rows,
    "members": _members,
    "bincount": _bincount,
    "counts": _counts,
    "product": _product,
    "product.rows": _product_rows,
    "einstein.rows": _einstein,
    "einstein.fold": _einstein,
    "factor.cross": _cross,
    "gufunc": cuda_linalg.gufunc,
}
