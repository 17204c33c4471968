"""Medians and quantiles of arrays that are long or on nodes, by NumPy's own code and exact.

NumPy's code partitions a line and reads it at a few ranks: it is given what stands for the line and
fetches these values alone. On nodes only the buckets in which the ranks fall are read, after blocks
were sorted where they lie; at home all threads select them. What is apart in rows is computed by
NumPy's functions on blocks of rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from dnumpy.api import blocks, calls, composites, ufuncs, weighted
from dnumpy.api.array import concrete, facts, from_expr, ghost, ndarray
from dnumpy.api.layout import order_given, permuted, restored
from dnumpy.api.record import content, fresh
from dnumpy.api.sorting import SHARED_BYTES, in_order, is_long, on_nodes
from dnumpy.config import thread_count
from dnumpy.ops.families import RowParams
from dnumpy.ops.sorting import QUANTILE_ROWS
from dnumpy.runtime import selection

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.api.sorting import Sorted

LANES_FOR_EACH = 8  # thread, of which one takes as long as the next
_PLAIN = frozenset({"q", "axis", "out", "overwrite_input", "method", "keepdims"})


class Ranked(np.ndarray):
    """Stands for a one-dimensional array that NumPy's code partitions and then reads.

    It has the length and dtype of the array, and of its elements those at which it was
    partitioned.
    """

    in_order: Sorted | Selected
    ranks: np.ndarray
    found: np.ndarray

    def partition(self, kth: Any, axis: Any = -1, kind: Any = None, order: Any = None) -> None:
        """Fetch the values at these ranks."""
        self.ranks = np.unique(np.asarray(kth).astype(np.intp) % len(self))
        self.found = self.in_order.at(self.ranks.tolist())

    def __getitem__(self, key: Any) -> Any:
        """Return values at ranks that were partitioned at."""
        first = key[0] if type(key) is tuple else key
        wanted = np.arange(*first.indices(len(self))) if type(first) is slice else first
        return self.found[np.searchsorted(self.ranks, np.asarray(wanted) % len(self))]

    def take(self, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
        """Return values at ranks that were partitioned at."""
        picked = self[np.asarray(indices)]
        if out is None:
            return picked
        out[...] = picked
        return out


@dataclass(frozen=True)
class Selected:
    """A line in the memory of this process, of which values at a few ranks are selected."""

    line: np.ndarray

    def at(self, ranks: Sequence[int]) -> np.ndarray:
        """Return what stands at these ranks, ascending."""
        return selection.at_ranks(self.line, ranks)


def _ranked(a: ndarray, length: int) -> Ranked:
    """Return what stands for the first ``length`` elements of ``a`` in order."""
    dtype = facts(a).dtype
    made = np.broadcast_to(np.zeros((), dtype), (length,)).view(Ranked)
    if on_nodes(a):
        made.in_order = in_order(content(a), stable=False, ranks=True)
    else:
        made.in_order = Selected(concrete(a))
    return made


def _statistic(name: str) -> Callable[..., Any]:
    """Return the median or quantile function called ``name``."""
    takes_q = "median" not in name
    wrapped = getattr(np, name)

    def quantile(
        a: Any,
        q: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: Any = False,
        method: Any = "linear",
        keepdims: Any = False,
        *,
        weights: Any = None,
    ) -> Any:
        if weights is not None and axis is not None and len(getattr(a, "shape", ())) > 1:
            found = weighted.by_lanes(name, (a, q, axis, weights), method, keepdims)
            if found is NotImplemented or not _takes(out, found):
                weighing = {"method": method, "keepdims": keepdims, "weights": weights}
                return calls.run(wrapped, (a, q, axis, out), weighing)  # NumPy's loop over lanes
            return _into(out, found)
        if weights is not None:
            return NotImplemented
        rest = (calls.unwrap(q),)
        return _computed(name, (a, rest, axis, out, keepdims), {"method": method})

    def median(
        a: Any,
        axis: Any = None,
        out: Any = None,
        overwrite_input: Any = False,
        keepdims: Any = False,
    ) -> Any:
        return _computed(name, (a, (), axis, out, keepdims), {})

    function: Callable[..., Any] = quantile if takes_q else median
    function.__qualname__ = name  # by which Python tells of arguments that are missing

    def run(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        plain = 0 < len(args) <= 3 and kwargs.keys() <= _PLAIN
        shared = plain and (_is_shared(name, args[0]) or _is_line(args[0]))
        if shared or any(blocks.spread(x) for x in given):
            return function(*args, **kwargs)
        return calls.run(wrapped, args, kwargs)

    return run


def _is_shared(name: str, a: Any) -> bool:
    """Say whether an array here has lanes enough for the threads of this process.

    What warns of lanes without numbers does so in NumPy's own time.
    """
    if type(a) is not ndarray or a._np is not None or thread_count() == 1 or "nan" in name:
        return False
    shape, dtype = facts(a)
    return len(shape) > 1 and prod(shape) * dtype.itemsize >= SHARED_BYTES and dtype.kind in "biuf"


def _is_line(a: Any) -> bool:
    """Say whether an array lies here as one line, from which several threads select."""
    if type(a) is not ndarray or a._np is not None:
        return False
    return selection.applies(ghost(a)) and not on_nodes(a)


def _line_here(a: Any, axis: Any) -> bool:
    """Say whether all of an array is one line, of which a statistic is asked for."""
    return _is_line(a) and (axis is None or (a.ndim == 1 and type(axis) is int and axis in (0, -1)))


def _lanes_here(name: str, a: Any, axis: Any) -> bool:
    """Say whether the threads of this process share the lanes of an array that lies here."""
    if axis is None or not _is_shared(name, a):
        return False
    try:
        axes = normalize_axis_tuple(axis, a.ndim)
    except (TypeError, ValueError):
        return False  # NumPy says why
    kept = prod([n for k, n in enumerate(a.shape) if k not in axes])
    long = len(axes) == 1 and is_long(a.shape, axes[0], a.dtype.itemsize)
    return kept >= LANES_FOR_EACH * thread_count() and not long


def _computed(name: str, given: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    a, rest, axis, out, keepdims = given
    if not (on_nodes(a) or _line_here(a, axis) or _lanes_here(name, a, axis)):
        return NotImplemented
    if not a.size or a.dtype.kind == "c" or not a.ndim:
        return NotImplemented  # NumPy says why
    keeps = keepdims is not np._NoValue and bool(keepdims)
    probe = getattr(np, name)(np.ones((1,), a.dtype), *rest, **kwargs)  # raises what NumPy raises
    axes = normalize_axis_tuple(range(a.ndim) if axis is None else axis, a.ndim)
    kept = [k for k in range(a.ndim) if k not in axes]
    if name.startswith("nan") and rest and np.ndim(rest[0]) > 1 and len(axes) > 1:
        return NotImplemented  # NumPy puts the axes of q first and last: its own code says where
    found = (_by_lanes if kept else _of_all)(name, a, (axes, kept), rest, kwargs)
    if found is NotImplemented:
        return NotImplemented
    if keeps:
        ones = tuple(1 if k in axes else n for k, n in enumerate(a.shape))
        shape = np.shape(probe) + ones
        lazy = type(found) is ndarray
        found = composites.reshape(found, shape) if lazy else np.reshape(found, shape)
    if not _takes(out, found):
        return NotImplemented  # NumPy says why
    if out is None and type(found) is ndarray and found.ndim > 1:
        numpys = partial(_numpys, name, rest, {**kwargs, "axis": tuple(axes), "keepdims": keeps})
        order = order_given(numpys, a)
        if order is not None:
            found = restored(fresh(content(permuted(found, order))), order)
    return _into(out, found)


def _numpys(name: str, rest: Any, named: dict[str, Any], a: np.ndarray) -> Any:
    return getattr(np, name)(a, *rest, **named)


def _takes(out: Any, found: Any) -> bool:
    """Say whether a result can be written to ``out``, where there is one, as it is."""
    if out is None:
        return True
    alike = type(out) is ndarray and out.dtype == getattr(found, "dtype", None)
    return alike and bool(out.shape == np.shape(found))


def _into(out: Any, found: Any) -> Any:
    if out is None:
        return found if type(found) is ndarray else calls.wrap_result(found)
    out[...] = found
    return out


def _of_all(name: str, a: ndarray, _axes: Any, rest: Any, kwargs: Any) -> Any:
    """Return the statistic of all elements, by NumPy's code over what it asks for."""
    line: Any = a if a.ndim == 1 else composites.reshape(a, -1)
    length = line.size
    if name.startswith("nan") and a.dtype.kind == "f":
        length -= int(ufuncs.call(np.isnan, (line,), {}).sum())
    if not length:
        return getattr(np, name)(np.full(1, np.nan, a.dtype), *rest, **kwargs)  # warns
    function = getattr(np, name.removeprefix("nan"))
    return function(_ranked(line, length), *rest, axis=0, overwrite_input=True, **kwargs)


def _by_lanes(name: str, a: ndarray, axes: Any, rest: Any, kwargs: Any) -> Any:
    reduced, kept = axes
    shape = a.shape
    if len(reduced) == 1 and is_long(shape, reduced[0], a.dtype.itemsize):
        return _line_by_line(name, a, axes, rest, kwargs)
    if name.startswith("nan") and a.dtype.kind == "f":
        weighted.warn_of_missing(int(ufuncs.call(np.isnan, (a,), {}).all(axis=reduced).sum()))
    order = (*kept, *reduced)
    moved = a.transpose(order) if order[0] == 0 else blocks.permuted(a, order)
    return _rows(name, moved, len(reduced), rest, kwargs)


def _line_by_line(name: str, a: ndarray, axes: Any, rest: Any, kwargs: Any) -> Any:
    reduced, kept = axes
    lines = composites.transpose(a, (*reduced, *kept))
    shape = lines.shape[1:]
    found = [
        np.asarray(_of_all(name, lines[(slice(None), *at)], None, rest, kwargs))
        for at in np.ndindex(shape)
    ]
    asked = found[0].shape
    return np.array(found).reshape(len(found), -1).T.reshape(asked + shape)


def _rows(name: str, a: ndarray, reduced: int, rest: Any, kwargs: Any) -> ndarray:
    axes = tuple(range(a.ndim - reduced, a.ndim))
    probe = getattr(np, name)(np.ones((1,) * a.ndim, a.dtype), *rest, axis=axes, **kwargs)
    several = probe.ndim - (a.ndim - reduced)
    lead, of_q = a.shape[: a.ndim - reduced], probe.shape[:several]
    shape = (*lead, prod(of_q)) if several else lead
    asked = tuple((tuple(np.ravel(q).tolist()), np.ndim(q)) for q in rest)
    params = RowParams(
        (True,), (("name", name), ("q", asked), ("axis", axes), ("options", tuple(kwargs.items())))
    )
    made = from_expr(blocks.record(QUANTILE_ROWS, [content(a)], params, shape, probe.dtype))
    if not several:
        return made
    return fresh(content(composites.reshape(composites.moveaxis(made, -1, 0), of_q + lead)))


NATIVE: dict[str, Callable[..., Any]] = {
    name: _statistic(name)
    for name in (
        "median", "percentile", "quantile", "nanmedian", "nanpercentile", "nanquantile",
    )
}  # fmt: skip
