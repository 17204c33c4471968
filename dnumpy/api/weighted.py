"""Weighted quantiles of lanes of arrays on nodes, by NumPy's own function on blocks of lanes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from dnumpy import engine
from dnumpy.api import blocks, calls, composites, installed, ufuncs
from dnumpy.api.array import from_expr, ndarray
from dnumpy.api.record import content, fresh, is_lazy
from dnumpy.api.sorting import as_array, is_long, on_nodes
from dnumpy.api.transplant import transplanted
from dnumpy.expr.origin import here
from dnumpy.ops.sorting import WEIGHTED_ROWS, WeightedParams


def by_lanes(name: str, given: tuple[Any, ...], method: Any, keepdims: Any) -> Any:
    """Return weighted quantiles along some axes; NotImplemented where NumPy must find them.

    ``given`` are the array, the quantiles, the axes and the weights.
    """
    a, q, axis, weights = given
    if np.ndim(q) > 1 and type(q) is not ndarray and not name.startswith("nan"):
        # of nan functions NumPy's own code says where the axes of q come to be
        several = np.asarray(q)
        given = (a, several.ravel(), axis, weights)
        found = by_lanes(name, given, method, keepdims)
        if found is NotImplemented:
            return NotImplemented
        return composites.reshape(found, several.shape + found.shape[1:])
    wanted = _quantiles(q)
    if not on_nodes(a) or not a.size or a.dtype.kind == "c" or wanted is None:
        return NotImplemented
    weighing = as_array(weights)
    if method != "inverted_cdf" or weighing is None or not weighing.ndim:
        return NotImplemented
    try:
        axes = normalize_axis_tuple(axis, a.ndim)
    except (TypeError, ValueError):
        return NotImplemented
    if not _fits(name, a, axes, weighing):
        return NotImplemented
    kept = [k for k in range(a.ndim) if k not in axes]
    order = (*kept, *axes)
    full = weighing.shape == a.shape
    lanes = _in_order(a, order)
    weighing = _in_order(weighing, order) if full else weighing
    if not kept or (len(axes) == 1 and is_long(a.shape, axes[0], a.dtype.itemsize)):
        found = _one_by_one(name, lanes, len(axes), q, weighing)
    else:
        if name.startswith("nan") and a.dtype.kind == "f":
            warn_of_missing(int(ufuncs.call(np.isnan, (a,), {}).all(axis=axes).sum()))
        found = _rows(name, lanes, len(axes), wanted, weighing)
    if keepdims is np._NoValue or not keepdims:
        return found
    ones = tuple(1 if k in axes else n for k, n in enumerate(a.shape))
    return composites.reshape(found, np.shape(q) + ones)


def warn_of_missing(missing: int) -> None:
    """Warn at the user's line, as often as NumPy: once for each lane without a number."""
    origin = here()
    for _ in range(missing if origin is not None else 0):
        text = "All-NaN slice encountered"
        warnings.warn_explicit(text, RuntimeWarning, origin.file, origin.line)


def _in_order(a: ndarray, axes: tuple[int, ...]) -> ndarray:
    moved: ndarray = a.transpose(axes)
    return moved if axes[0] == 0 else blocks.permuted(a, axes)


def _one_by_one(name: str, a: ndarray, reduced: int, q: Any, weights: ndarray) -> Any:
    """Return the quantiles of a few long lanes, each of which lies on all nodes."""
    function = transplanted(getattr(np, name))
    apart = a.shape[: a.ndim - reduced]
    found = []
    for at in np.ndindex(apart):
        lane = composites.reshape(a[at], -1)
        own = weights[at] if weights.ndim == a.ndim else weights
        weighing = composites.reshape(own, -1)
        found.append(function(lane, q, weights=weighing, method="inverted_cdf"))
    if not apart:
        return found[0]
    stacked = np.stack([np.asarray(f) for f in found], axis=-1)
    return calls.wrap_result(stacked.reshape(np.shape(q) + apart))


def _rows(
    name: str, a: ndarray, reduced: int, wanted: tuple[Any, str], weights: ndarray
) -> ndarray:
    """Return the quantiles of many lanes, each of which goes to one node."""
    apart = a.shape[: a.ndim - reduced]
    q, kind = wanted
    axes = tuple(range(len(apart), a.ndim))
    params = WeightedParams((True, weights.ndim == a.ndim), name, q, kind, axes)
    shape = apart + np.shape(q)
    exprs = [content(a), content(weights)]
    expr = blocks.record(WEIGHTED_ROWS, exprs, params, shape, a.dtype)
    engine.compute([expr])  # weights of a lane that are all zero raise in this call
    made = from_expr(expr)
    return fresh(content(composites.moveaxis(made, -1, 0))) if np.ndim(q) else made


def _quantiles(q: Any) -> tuple[Any, str] | None:
    """Return the quantiles, and their dtype where they are no number of Python's."""
    if type(q) in (int, float):
        return q, ""
    if is_lazy(q) or type(q) is ndarray:
        return None
    wanted = np.asarray(q)
    if wanted.ndim > 1 or wanted.dtype.kind not in "iuf":
        return None
    values = wanted.tolist()
    return (tuple(values) if wanted.ndim else values), wanted.dtype.str


def _fits(name: str, a: ndarray, axes: tuple[int, ...], weights: ndarray) -> bool:
    """Say whether NumPy takes these weights."""
    full = weights.shape == a.shape
    if len(axes) > 1 and not installed.weighs_over_axes():
        return False
    if not full and (weights.shape != tuple(a.shape[k] for k in axes) or name.startswith("nan")):
        return False
    return weights.dtype.kind in "biuf" and not ufuncs.call(np.less, (weights, 0), {}).any()
