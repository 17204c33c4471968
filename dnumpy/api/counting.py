"""Counts per bin, and functions of one dimension, of managed arrays.

Each returns NotImplemented for what the engine does not record; NumPy then runs it, and says what
is wrong with the call. The ends of the values are computed at once, since they decide the bins.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import engine
from dnumpy.api import (
    blocks,
    calls,
    composites,
    contractions,
    installed,
    products,
    reductions,
)
from dnumpy.api.array import (
    concrete,
    from_expr,
    ghost,
    is_managed_dtype,
    managed,
    ndarray,
    view_of,
)
from dnumpy.api.buffer import unmade
from dnumpy.api.record import Unmanaged, content, is_lazy, operand, write
from dnumpy.api.scalar import DeferredScalar
from dnumpy.api.transplant import transplanted
from dnumpy.config import config
from dnumpy.expr import bounds
from dnumpy.expr.expr import Expr
from dnumpy.kernels.blocked import most_rows
from dnumpy.ops.counting import (
    BINCOUNT,
    CORRELATE,
    HISTOGRAM,
    ON_GRID,
    PACKBITS,
    UNPACKBITS,
    BinParams,
    BitParams,
    GridParams,
    SlideParams,
)
from dnumpy.runtime import counts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BLOCK = 65_536  # rows: NumPy's own block of a histogram, so that weights are added in its order
LABELS = 16_384  # rows of labels: nodes that have others may have made them, cut at fewer rows
LONG = 1 << 20  # rows of which whole numbers are counted: in a short call threads wait for Python
FEWEST = 16  # blocks that are made longer
ONE_BLOCK = 400_000  # rows of labels that one thread adds up as soon as several


def block_rows(rows: int, partial_size: int, *, exact: bool = False, block: int = BLOCK) -> int:
    """Return the rows counted at a time: blocks are few beside the size of their counts.

    ``exact`` says that sums of counts are the same in any order.
    """
    block *= max(1, -(-partial_size // block))
    if exact:
        block = max(block, min(LONG, rows // FEWEST))
    return max(1, min(rows, block, most_rows(rows)))


def _numbers(a: Any, kinds: str = "iuf") -> bool:
    managed = type(a) is ndarray and is_managed_dtype(a.dtype) and a.size > 0
    return managed and a.dtype.kind in kinds and a.ndim > 0


def ends(a: ndarray) -> np.ndarray:
    """Return the least and the greatest element, computed now in one pass, or before."""
    expr = content(a) if a.dtype.kind in "biu" else None
    known = None if expr is None else bounds.noted(expr)
    if known is not None:
        return np.array([known.low, known.high], a.dtype)
    found = _ends_now(a)
    if expr is not None:
        bounds.note(expr, *(int(end) for end in found))
    return found


def _ends_now(a: ndarray) -> np.ndarray:
    both = [reductions.amin(a), reductions.amax(a)]
    pending = [x.expr for x in both if type(x) is DeferredScalar and x.expr is not None]
    engine.compute(pending)
    return np.array([calls.unwrap(x) for x in both], a.dtype)


def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """Count by NumPy's rules; the greatest value decides the length.

    It is computed now, but where it is known that ``minlength`` is longer.
    """
    if not _numbers(x, "biu") or x.ndim != 1 or not np.can_cast(x.dtype, np.intp):
        return NotImplemented
    if weights is None and not blocks.spread(x):
        return _counted_here(x, minlength)
    if weights is not None:
        weights = np.asarray(weights) if type(weights) in (list, tuple) else weights
        if getattr(weights, "shape", None) != x.shape or weights.dtype.kind not in "biuf":
            return NotImplemented
    least = calls.unwrap(minlength)
    # labels that no other nodes can have made are counted in longer blocks
    alone = config.mode == "default" and not engine.has_workers()
    shortest = LABELS if not alone else x.size if x.size <= ONE_BLOCK else x.size // FEWEST
    if alone and type(least) is int and least >= 0 and _lies_here(x) and _lies_here(weights):
        return _weighed_here(x, weights, least, shortest)
    within = bounds.bounds(content(x))
    settled = isinstance(least, int) and within and within.low >= 0 and within.high < least
    low, high = within if settled and within else ends(x).tolist()
    if low < 0 or not isinstance(least, int | np.integer) or least < 0:
        np.bincount(np.array([low]), minlength=least)  # says why
        return NotImplemented
    size = max(int(high) + 1, operator.index(least))
    dtype = np.dtype(np.intp if weights is None else np.float64)
    by_rows = (True,) if weights is None else (True, True)
    block = block_rows(x.size, size, block=max(shortest, LABELS))
    params = BinParams(by_rows, size, (), weights is not None, block)
    args = [content(x)] if weights is None else [content(x), operand(weights)]
    return from_expr(blocks.record(BINCOUNT, args, params, (size,), dtype))


def _lies_here(a: Any) -> bool:
    """Say whether an array is computed, and in the memory of this process."""
    if type(a) is not ndarray:
        return isinstance(a, np.ndarray)
    return a._np is not None or not (a._buf.pending or blocks.spread(a))


def _weighed_here(x: ndarray, weights: Any, least: int, shortest: int) -> Any:
    """Add weights that lie here, in the order in which what waits adds them."""
    values = concrete(x)
    if x.size <= shortest:  # one block, whatever there is to count
        return calls.wrap_result(np.bincount(values, calls.unwrap(weights), least))
    weighs = np.asarray(calls.unwrap(weights))
    found = counts.weighed(
        values, weighs, least, lambda size: block_rows(x.size, size, block=max(shortest, LABELS))
    )
    return calls.wrap_result(found)


def _counted_here(x: ndarray, minlength: Any) -> Any:
    """Count at home; NotImplemented where NumPy is to do it, or to say why not."""
    least = calls.unwrap(minlength)
    if type(least) is not int or least < 0:
        return NotImplemented
    found = counts.bincount(concrete(x), least)
    return NotImplemented if found is None else calls.wrap_result(found)


# ---------------------------------------------------------------- histograms

_numpys_edges = transplanted(np.histogram_bin_edges)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Count in NumPy's bins: the edges come first, from the ends of the values."""
    if not _numbers(a) or not (weights is None or _weighs(weights, a)):
        return NotImplemented
    a = composites.reshape(a, -1)
    weights = None if weights is None else composites.reshape(weights, -1)
    if a is NotImplemented or weights is NotImplemented:
        return NotImplemented
    number, limits, edges = _bins(a, bins, range, weights)
    size = len(edges) - 1
    dtype = np.dtype(np.intp) if weights is None else weights.dtype
    args: list[Any] = [content(a)] if weights is None else [content(a), content(weights)]
    by_rows = (True,) * len(args)
    if number is None:
        args.append(operand(edges))
        by_rows += (False,)
    step = block_rows(a.size, size, exact=weights is None)
    params = BinParams(by_rows, number, limits, weights is not None, step)
    if not size:
        return NotImplemented
    counted: Any = _in_bins_here(a, edges) if number is not None and weights is None else None
    if counted is None:
        counted = from_expr(blocks.record(HISTOGRAM, args, params, (size,), dtype))
    found = calls.wrap_result(edges)
    if not density:
        return counted, found
    widths = np.array(np.diff(edges), float)
    return counted / widths / counted.sum(), found


def _in_bins_here(a: ndarray, edges: np.ndarray) -> Any:
    """Return the counts in equal bins of an array at home, if the module in C counts them."""
    if a.dtype != np.float64 or blocks.spread(a) or config.mode != "default":
        return None
    found = counts.histogram(concrete(a), edges)
    return None if found is None else calls.wrap_result(found)


def _weighs(weights: Any, a: ndarray) -> bool:
    return (
        type(weights) is ndarray
        and weights.shape == a.shape
        and weights.dtype.kind in "iufc"
        and is_managed_dtype(weights.dtype)
    )


def _bins(
    a: ndarray, bins: Any, range: Any, weights: Any
) -> tuple[int | None, tuple[Any, ...], np.ndarray]:
    """Return the number of equal bins, their ends, and the edges; no number for edges given."""
    bins, range = calls.unwrap(bins), calls.unwrap(range)
    if isinstance(bins, str):
        edges = calls.unwrap(_numpys_edges(a, bins, range, weights))
        bins = len(edges) - 1
    if np.ndim(bins) != 0:
        return None, (), np.histogram_bin_edges(np.empty(0, a.dtype), bins, range)
    extent = ends(a)
    edges = np.histogram_bin_edges(extent, bins, range)
    return operator.index(bins), tuple(extent if range is None else range), edges


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Count on a grid whose edges come first, from the ends of each coordinate."""
    columns = _columns(sample)
    if columns is None:
        return NotImplemented
    if weights is not None and getattr(weights, "shape", None) != columns[0].shape[:1]:
        return NotImplemented
    bins, range = calls.unwrap(bins), calls.unwrap(range)
    each = columns if len(columns) > 1 or columns[0].ndim == 1 else list(columns[0].T)
    extents = [ends(column) for column in each]
    edges = [np.asarray(e) for e in np.histogramdd(np.stack(extents, axis=1), bins, range)[1]]
    shape = tuple(len(e) - 1 for e in edges)
    try:
        args = [operand(x) for x in (*columns, *([] if weights is None else [weights]), *edges)]
    except Unmanaged:
        return NotImplemented
    by_rows = (*[True] * (len(args) - len(edges)), *[False] * len(edges))
    block = block_rows(columns[0].shape[0], int(np.prod(shape)))
    params = GridParams(by_rows, len(columns), weights is not None, block)
    counts = blocks.record(ON_GRID, args, params, shape, np.dtype(float))
    found = [calls.wrap_result(e) for e in edges]
    return (_density(from_expr(counts), edges) if density else _inside(counts)), found


def _inside(counts: Expr) -> ndarray:
    """Return counts as what NumPy returns: the middle of a grid with a margin for outliers."""
    grid = tuple(n + 2 for n in counts.shape)
    whole = managed(unmade(np.float64(0), grid, counts.dtype), None)
    middle = view_of(whole, ghost(whole)[(slice(1, -1),) * len(grid)])
    write(middle, counts)
    return middle


def _columns(sample: Any) -> list[ndarray] | None:
    """Return the points as one array of rows, or an array for each coordinate."""
    if type(sample) is ndarray:
        return [sample] if _numbers(sample) and sample.ndim <= 2 else None
    if type(sample) not in (list, tuple) or not sample:
        return None
    if not all(_numbers(x) and x.ndim == 1 and x.size == sample[0].size for x in sample):
        return None
    same = len({x.dtype for x in sample}) == 1  # NumPy would make one array of them
    return list(sample) if same else None


def _density(counts: Any, edges: Sequence[np.ndarray]) -> Any:
    """Divide as NumPy does: by the widths of each axis in turn, then by the sum of the counts."""
    total = counts.sum()
    for k, e in enumerate(edges):
        shape = np.ones(len(edges), int)
        shape[k] = len(e) - 1
        counts = counts / np.diff(e).reshape(shape)
    return counts / total


# ---------------------------------------------------------------- by rows


def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Interpolate rows of ``x`` in the whole table."""
    if not _numbers(x, "biuf"):
        return NotImplemented
    table = [np.asarray(t) if type(t) in (list, tuple) else t for t in (xp, fp)]
    shapes = {getattr(t, "shape", None) for t in table}
    plain = all(v is None or isinstance(v, int | float | complex) for v in (left, right, period))
    if len(shapes) != 1 or len(next(iter(shapes)) or ()) != 1 or not plain or period == 0:
        return NotImplemented
    if table[0].dtype.kind not in "biuf" or table[1].dtype.kind not in "biufc" or not table[0].size:
        return NotImplemented
    dtype = np.dtype(complex if table[1].dtype.kind == "c" else float)
    args = [content(x), *[operand(t) for t in table]]
    how = {"left": left, "right": right, "period": period}
    return blocks.rowwise("numpy.interp", args, (True, False, False), (x.shape, dtype), **how)


def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    """Pack along axis 0, or rows apart."""
    along = _bit_axis(a, axis, bitorder, "biu")
    if along is None:
        return NotImplemented
    a, axis = along
    shape = tuple(-(-n // 8) if k == axis else n for k, n in enumerate(a.shape))
    result = (shape, np.dtype(np.uint8))
    if axis:
        how = {"axis": axis, "bitorder": bitorder}
        return blocks.rowwise("numpy.packbits", [content(a)], (True,), result, **how)
    return from_expr(blocks.record(PACKBITS, [content(a)], BitParams(bitorder), *result))


def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    """Unpack along axis 0, or rows apart."""
    along = _bit_axis(a, axis, bitorder, "u")
    if along is None or count is not None or a.dtype != np.uint8:
        return NotImplemented
    a, axis = along
    shape = tuple(n * 8 if k == axis else n for k, n in enumerate(a.shape))
    result = (shape, np.dtype(np.uint8))
    if axis:
        how = {"axis": axis, "bitorder": bitorder}
        return blocks.rowwise("numpy.unpackbits", [content(a)], (True,), result, **how)
    return from_expr(blocks.record(UNPACKBITS, [content(a)], BitParams(bitorder), *result))


def _bit_axis(a: Any, axis: Any, bitorder: Any, kinds: str) -> tuple[ndarray, int] | None:
    if not _numbers(a, kinds) or not blocks.spread(a) or bitorder not in ("big", "little"):
        return None
    if axis is None:
        flat = composites.reshape(a, -1)
        return None if flat is NotImplemented else (flat, 0)
    if not isinstance(axis, int) or not -a.ndim <= axis < a.ndim:
        return None
    return a, axis % a.ndim


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Slide the shorter operand, whole, over blocks of the longer one."""
    pair = _sequences(a, v, mode)
    if pair is None:
        return NotImplemented
    long, short = pair if pair[0].size >= pair[1].size else pair[::-1]
    return _slid(long, _conjugate(short[::-1]), mode)


def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    """Slide the shorter operand, whole, over blocks of the longer one."""
    pair = _sequences(a, v, mode)
    if pair is None:
        return NotImplemented
    a, v = pair
    if v.size <= a.size:
        return _slid(a, v, mode)
    found = _slid(_conjugate(v), _conjugate(a), mode)
    return composites.copy(found[::-1])


def _conjugate(x: Any) -> Any:
    return x.conj() if x.dtype.kind == "c" else x


def _sequences(a: Any, v: Any, mode: Any) -> tuple[Any, Any] | None:
    if mode not in ("full", "same", "valid"):
        return None
    pair = [np.asarray(x) if type(x) in (list, tuple) else x for x in (a, v)]
    return (pair[0], pair[1]) if all(_is_sequence(x) for x in pair) else None


def _is_sequence(x: Any) -> bool:
    if not isinstance(x, ndarray | np.ndarray):
        return False
    seen: Any = x
    numbers = seen.dtype.kind in "biufc" and is_managed_dtype(seen.dtype)
    return bool(numbers and seen.ndim == 1 and seen.size)


def _slid(long: Any, short: Any, mode: str) -> ndarray:
    count, width = long.size, short.size
    skipped = {"full": 0, "same": (width - 1) // 2, "valid": width - 1}[mode]
    rows = {"full": count + width - 1, "same": count, "valid": count - width + 1}[mode]
    dtype = np.correlate(np.ones(1, long.dtype), np.ones(1, short.dtype)).dtype
    args = [operand(long), operand(short)]
    return from_expr(blocks.record(CORRELATE, args, SlideParams(skipped), (rows,), dtype))


# ---------------------------------------------------------------- products


def vdot(a: Any, b: Any, /) -> Any:
    """Sum the products of all elements, the first conjugated."""
    if not (blocks.spread(a, b) or config.reproducible):
        return NotImplemented
    flat = [composites.reshape(x, -1) if type(x) is ndarray else x for x in (a, b)]
    with np.errstate(all="ignore"):  # as NumPy's function, which looks at no flags
        return _product(*flat, conjugate=True)


def inner(a: Any, b: Any, /) -> Any:
    """Sum products over the last axes, where the operands lie on nodes."""
    in_blocks = blocks.spread(a, b) or config.reproducible
    if not in_blocks or not getattr(a, "ndim", 0) or not getattr(b, "ndim", 0):
        return NotImplemented
    if a.ndim == b.ndim == 1:
        with installed.telling_as_dot():
            return _product(a, b, conjugate=False)
    return contractions.tensordot(a, b, axes=(-1, -1))


def _product(a: Any, b: Any, *, conjugate: bool) -> Any:
    """Return the dot product of vectors where blocks of it are apart."""
    if not (blocks.spread(a, b) or config.reproducible) or not is_lazy(a):
        return NotImplemented
    shapes = {getattr(x, "shape", None) for x in (a, b)}
    if len(shapes) != 1 or len(a.shape) != 1 or not a.size or a.dtype == bool:
        return NotImplemented
    try:
        left, right = operand(a), operand(b)
    except Unmanaged:
        return NotImplemented
    if not isinstance(left, Expr) or not isinstance(right, Expr):
        return NotImplemented
    dtype = np.result_type(a.dtype, b.dtype)
    return products.summed(left, right, dtype, conjugate=conjugate)


NATIVE: dict[str, Callable[..., Any]] = {
    "bincount": bincount,
    "convolve": convolve,
    "correlate": correlate,
    "histogram": histogram,
    "histogramdd": histogramdd,
    "inner": inner,
    "interp": interp,
    "packbits": packbits,
    "unpackbits": unpackbits,
    "vdot": vdot,
}
