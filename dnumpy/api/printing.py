"""repr and str: NumPy's own, of which a large array gives only the items at its edges.

NumPy's summary reads the first and last ``edgeitems`` of every long axis and nothing else: their
digits decide the format. So NumPy is handed an array of just these (and of one item between them,
which becomes the dots), and the true shape beside it.

Of a large pending array the edges alone are computed, here, from the edges of what it is made of:
``engine.compute`` would compute all that is pending, which may take long and is not asked for. That
works through elementwise operations, views, regions written to and generated arrays; anything else
on the way is computed as usual. Floating point faults of the edges are told when the array itself
is computed. Of an array on nodes the edges alone come home.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import engine
from dnumpy.api.array import concrete, ghost, looked_at, ndarray
from dnumpy.expr import unread
from dnumpy.expr.expr import Const, Expr, make
from dnumpy.expr.geometry import Geometry, contiguous_strides
from dnumpy.kernels import reference
from dnumpy.ops.families import Elementwise
from dnumpy.ops.table import ARANGE, CAST, FULL, UPDATE, VIEW

if TYPE_CHECKING:
    from collections.abc import Callable

Box = tuple[tuple[int, int], ...]  # (first, last + 1) per axis

LARGE = 1_000_000  # elements: from here on a pending array is not computed to be printed
_DEEPEST = 200  # operations looked through, one above the other
_MOST = 5_000  # operations looked through in all
_WIDEST = 100_000  # items of a base that the edges of a view may span

_printing: Any = vars(np)["_core"].arrayprint


class _OutOfReach(Exception):  # noqa: N818 - control flow, not an error
    """The edges cannot be had without computing the array."""


def text_of(array: ndarray, plain: Callable[[Any], str], template: Callable[..., str]) -> str:
    """Return what ``plain`` (repr or str) says of NumPy's array of the same content.

    ``template`` is NumPy's implementation of it, which leaves the items to another function.
    """
    if array._np is not None:
        return plain(array._np)
    options = np.get_printoptions()
    edge = options["edgeitems"]
    whole = array.size <= options["threshold"] or options.get("override_repr") is not None
    if whole or edge < 1 or not _worth_it(array):
        return plain(looked_at(array))
    try:
        corner = _corner(array, edge)
    except _OutOfReach:
        return plain(concrete(array))

    def items(_shown: Any, *args: Any, **kwargs: Any) -> str:
        return np.array2string(corner, *args, threshold=0, **kwargs)

    return template(ghost(array), array2string=items)


def repr_of(array: ndarray) -> str:
    """Return NumPy's repr."""
    return text_of(array, repr, _printing._array_repr_implementation)


def str_of(array: ndarray) -> str:
    """Return NumPy's str."""
    return text_of(array, str, _printing._array_str_implementation)


def array_repr(arr: Any, *args: Any, **kwargs: Any) -> Any:
    """As ``numpy.array_repr``; of a large array the edges are enough."""
    return _with_options(np.array_repr, _printing._array_repr_implementation, arr, args, kwargs)


def array_str(a: Any, *args: Any, **kwargs: Any) -> Any:
    """As ``numpy.array_str``; of a large array the edges are enough."""
    return _with_options(np.array_str, _printing._array_str_implementation, a, args, kwargs)


def _with_options(
    plain: Any, template: Any, array: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    if type(array) is not ndarray:
        return NotImplemented

    def summary(shown: Any, *, array2string: Any) -> str:
        text: str = template(shown, *args, array2string=array2string, **kwargs)
        return text

    return text_of(array, lambda values: plain(values, *args, **kwargs), summary)


def array2string(a: Any, *args: Any, **kwargs: Any) -> Any:
    """As ``numpy.array2string``; of a large array the edges are enough."""
    if type(a) is not ndarray or {"threshold", "edgeitems"}.intersection(kwargs):
        return NotImplemented

    def summary(_shown: Any, *, array2string: Any) -> str:
        text: str = array2string(None, *args, **kwargs)
        return text

    return text_of(a, lambda values: np.array2string(values, *args, **kwargs), summary)


NATIVE: dict[str, Callable[..., Any]] = {
    "array2string": array2string,
    "array_repr": array_repr,
    "array_str": array_str,
}


def format_of(array: ndarray, spec: str) -> str:
    """Return what NumPy's ``__format__`` returns."""
    return str_of(array) if array.ndim and not spec else format(concrete(array), spec)


def _worth_it(array: ndarray) -> bool:
    buffer = array._buf
    if buffer.pending:
        return prod(buffer.shape) >= LARGE
    return buffer.is_far


def _corner(array: ndarray, edge: int) -> np.ndarray:
    """Return the first ``edge + 1`` and the last ``edge`` items of every longer axis."""
    ranges = [
        ((0, edge + 1), (n - edge, n)) if n > 2 * edge + 1 else ((0, n),) for n in array.shape
    ]
    view = make(VIEW, (array._buf.expr,), _geometry(array), array.shape, array.dtype)
    boxes = list(product(*ranges))
    try:
        found = _Reach().all_of(view, boxes)
    except _OutOfReach:
        engine.compute([array._buf.expr])
        found = _Reach().all_of(view, boxes)
    corner = np.empty([sum(hi - lo for lo, hi in axis) for axis in ranges], array.dtype)
    split = (slice(0, edge + 1), slice(edge + 1, None))
    places = [split if len(axis) == len(split) else (slice(None),) for axis in ranges]
    for place, block in zip(product(*places), found, strict=True):
        corner[place] = block
    return corner


def _geometry(array: ndarray) -> Geometry:
    if array._geo is not None:
        return array._geo
    shape, dtype = array._buf.shape, array._buf.dtype
    return Geometry(0, shape, contiguous_strides(shape, dtype.itemsize), dtype)


class _Reach:
    """Computes boxes of an expression from boxes of its operands, each once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Box], np.ndarray] = {}
        self._depth = 0

    def all_of(self, expr: Expr, boxes: list[Box]) -> list[np.ndarray]:
        """Return the content of every box; raises _OutOfReach where it takes more than boxes."""
        with np.errstate(all="ignore"):
            return [self.box(expr, box) for box in boxes]

    def box(self, expr: Expr, box: Box) -> np.ndarray:
        key = (id(expr), box)
        found = self._known.get(key)
        if found is None:
            if self._depth >= _DEEPEST or len(self._known) >= _MOST:
                raise _OutOfReach
            self._depth += 1
            found = self._known[key] = self._made(expr, box)
            self._depth -= 1
        return found

    def _made(self, expr: Expr, box: Box) -> np.ndarray:
        shape = tuple(hi - lo for lo, hi in box)
        if expr.value is not None:
            return _of_value(expr, box, shape)
        if isinstance(expr.op, Elementwise):
            args = [self._operand(a, expr.shape, box) for a in expr.args]
            return reference.apply(expr.op, args, expr.params, shape, expr.dtype)
        if expr.op is FULL:
            return np.full(shape, expr.params[0], expr.dtype)
        if expr.op is ARANGE:
            out = np.empty(shape, expr.dtype)
            reference.generate_into(expr.op, expr.params, out, box[0][0])
            return out
        if expr.op is VIEW:
            return self._seen(expr, box)
        if expr.op is UPDATE:
            return self._updated(expr, box)
        raise _OutOfReach

    def _operand(self, arg: Expr | Const, shape: tuple[int, ...], box: Box) -> Any:
        """Return what of an operand meets the box of the result that it is broadcast to."""
        if not isinstance(arg, Expr):
            return arg.value
        skipped = len(shape) - arg.ndim
        own = zip(arg.shape, box[skipped:], strict=True)
        return self.box(arg, tuple((0, 1) if n == 1 else span for n, span in own))

    def _seen(self, expr: Expr, box: Box) -> np.ndarray:
        """Return a box of a view: some box of its base holds all the items."""
        (base,) = expr.operands()
        geometry = Geometry(*expr.params)
        if isinstance(base.value, np.ndarray):
            return geometry.over(base.value)[tuple(slice(lo, hi) for lo, hi in box)]
        if geometry.dtype != base.dtype or not base.shape:
            raise _OutOfReach
        places = np.asarray(geometry.offset)
        for (lo, hi), stride in zip(box, geometry.strides, strict=True):
            places = places[..., None] + np.arange(lo, hi) * stride
        places, rest = np.divmod(places, base.dtype.itemsize)
        if rest.any():
            raise _OutOfReach
        index = np.unravel_index(places, base.shape)
        spans = tuple((int(i.min()), int(i.max()) + 1) for i in index)
        if prod(hi - lo for lo, hi in spans) > _WIDEST:
            raise _OutOfReach
        found = self.box(base, spans)
        return found[tuple(i - lo for i, (lo, _) in zip(index, spans, strict=True))]

    def _updated(self, expr: Expr, box: Box) -> np.ndarray:
        """Return a box of an array of which a box was replaced."""
        before, value = expr.args
        assert isinstance(before, Expr)
        region = Geometry(*expr.params)
        written = region.box_in(expr.shape, expr.dtype)
        if written is None or region.shape != tuple(hi - lo for lo, hi in written):
            raise _OutOfReach
        both = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(box, written, strict=True))
        if any(lo >= hi for lo, hi in both):
            return self.box(before, box)
        inside = tuple((lo - w, hi - w) for (lo, hi), (w, _) in zip(both, written, strict=True))
        items = self._operand(value, region.shape, inside)
        if both == box:
            return np.array(np.broadcast_to(items, [hi - lo for lo, hi in box]), expr.dtype)
        found = self.box(before, box).copy()
        at = tuple(slice(lo - b, hi - b) for (lo, hi), (b, _) in zip(both, box, strict=True))
        np.copyto(found[at], items, casting="unsafe")
        return found


def _of_value(expr: Expr, box: Box, shape: tuple[int, ...]) -> np.ndarray:
    """Return a box of computed content; of an array on nodes only that comes home."""
    unread.note_read(expr)
    if isinstance(expr.value, np.ndarray):
        return expr.value[tuple(slice(lo, hi) for lo, hi in box)]
    strides = contiguous_strides(expr.shape, expr.dtype.itemsize)
    offset = sum(lo * stride for (lo, _), stride in zip(box, strides, strict=True))
    geometry = Geometry(offset, shape, strides, expr.dtype)
    seen = make(VIEW, (expr,), tuple(geometry), shape, expr.dtype)
    shown = Expr(CAST, (seen,), (), shape, expr.dtype)
    engine.compute_apart([shown])
    return engine.gather(shown.value)
