"""Einstein sums at home as products of matrices, two operands at a time.

NumPy's own loop takes every combination of all labels one by one. Two operands whose common labels
are summed over are one product of matrices, or a stack of them where a label is kept, once their
axes are in order; several operands meet pairwise in the order that opt_einsum finds. The sums are
the same up to rounding, as they are between NumPy's own ways through a product.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy._core.einsumfunc import _parse_einsum_input

from dnumpy.runtime.threads import one_blas_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.expr.expr import Shape

LEAST = 1 << 15  # multiply-adds of NumPy's own loop; fewer take less time than looking for better
LEAST_OF_A_STACK = (
    1 << 12
)  # multiply-adds of each product of a stack: a call of the library's worth


class Side(NamedTuple):
    """How an operand enters: ``summed`` axes go first, then it is transposed and reshaped."""

    summed: tuple[int, ...]
    axes: tuple[int, ...]
    shape: Shape


class Pair(NamedTuple):
    """Two of the operands that are left, and what becomes of them, the last of those left.

    ``inner`` axes of an elementwise product are summed over; None: it is a product of matrices. The
    result has ``shape`` before its axes are put in order.
    """

    positions: tuple[int, int]
    left: Side
    right: Side
    inner: tuple[int, ...] | None
    shape: Shape
    axes: tuple[int, ...] | None


class Module(NamedTuple):
    """The functions that compute a sum: NumPy's, or ours."""

    matmul: Callable[..., Any]
    multiply: Callable[..., Any]


@lru_cache(maxsize=512)
def pairs_of(subscripts: str, shapes: tuple[Shape, ...]) -> tuple[Pair, ...] | None:
    """Return the products that give an Einstein sum, None where NumPy's loop does as well."""
    if len(shapes) < 2:
        return None
    parsed = _labels(subscripts, shapes)
    if parsed is None:
        return None
    *inputs, out = parsed
    sizes = {k: n for x, s in zip(inputs, shapes, strict=True) for k, n in zip(x, s, strict=True)}
    if prod(sizes.values()) < LEAST or len(set(out)) < len(out):
        return None
    terms, pairs = list(inputs), []
    for positions in _path(inputs, out, shapes):
        if len(positions) != 2:
            return None
        first, second = sorted(positions)
        b, a = terms.pop(second), terms.pop(first)
        last = not terms
        kept = out if last else _ordered({*"".join(terms), *out} & {*a, *b}, a + b)
        made, pair = _pair((first, second), a, b, kept, sizes, ordered=last)
        if pair is None:
            return None
        terms.append(made)
        pairs.append(pair)
    return tuple(pairs) if len(shapes) > 2 or _gains(pairs[0]) else None


def _gains(pair: Pair) -> bool:
    """Say whether two operands meet faster so than in NumPy's loop: each entry is read often.

    What reads each entry once waits for memory either way.
    """
    if pair.inner is not None:
        return not pair.inner
    columns = len(pair.right.shape) == len(pair.left.shape) and pair.right.shape[-1] > 1
    return columns and len(pair.left.shape) > 1 and pair.left.shape[-2] > 1


def _labels(subscripts: str, shapes: tuple[Shape, ...]) -> list[str] | None:
    """Return the labels of each operand and of the result; None for what NumPy must see itself."""
    stand_ins = [np.broadcast_to(np.empty(()), shape) for shape in shapes]
    try:
        given, out, _ = _parse_einsum_input([subscripts, *stand_ins])
    except (ValueError, TypeError, KeyError):
        return None
    inputs = given.split(",")
    sizes: dict[str, int] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        if len(labels) != len(shape) or len(set(labels)) < len(labels):
            return None
        if any(sizes.setdefault(k, n) != n for k, n in zip(labels, shape, strict=True)):
            return None
    return None if 0 in sizes.values() else [*inputs, out]


def _path(inputs: Sequence[str], out: str, shapes: tuple[Shape, ...]) -> Sequence[tuple[int, ...]]:
    if len(inputs) == 2:
        return [(0, 1)]
    from opt_einsum import contract_path

    path, _ = contract_path(",".join(inputs) + "->" + out, *shapes, shapes=True, optimize="auto")
    return [tuple(int(k) for k in pair) for pair in path]


def _ordered(labels: set[str], order: str) -> str:
    return "".join(k for k in dict.fromkeys(order) if k in labels)


def _pair(
    positions: tuple[int, int],
    a: str,
    b: str,
    out: str,
    sizes: dict[str, int],
    *,
    ordered: bool,
) -> tuple[str, Pair | None]:
    """Return the labels of the product of two operands, and how it is computed."""
    summed_a = tuple(k for k, x in enumerate(a) if x not in b and x not in out)
    summed_b = tuple(k for k, x in enumerate(b) if x not in a and x not in out)
    rest_a = "".join(x for k, x in enumerate(a) if k not in summed_a)
    rest_b = "".join(x for k, x in enumerate(b) if k not in summed_b)
    inner = [x for x in rest_a if x in rest_b and x not in out]
    stack = [x for x in out if x in rest_a and x in rest_b]
    left = [x for x in out if x in rest_a and x not in rest_b]
    right = [x for x in out if x in rest_b and x not in rest_a]

    def side(rest: str, summed: tuple[int, ...], labels: Sequence[str], shape: Shape) -> Side:
        return Side(summed, tuple(rest.index(x) for x in labels if x in rest), shape)

    def extents(labels: Sequence[str]) -> Shape:
        return tuple(sizes[x] for x in labels)

    if not inner or (stack and not left and not right):
        labels = [*out, *inner]
        spread = [
            side(rest, summed, labels, tuple(sizes[x] if x in rest else 1 for x in labels))
            for rest, summed in ((rest_a, summed_a), (rest_b, summed_b))
        ]
        folded = tuple(range(len(out), len(labels)))
        return out, Pair(positions, spread[0], spread[1], folded, extents(out), None)
    if stack and prod(extents([*left, *right, *inner])) < LEAST_OF_A_STACK:
        return out, None
    turned = bool(right) and (not left or out.index(right[0]) < out.index(left[0]))
    if turned:  # so that the result's axes are in order
        positions = positions[::-1]
        rest_a, rest_b, summed_a, summed_b = rest_b, rest_a, summed_b, summed_a
        left, right = right, left
    made = "".join([*stack, *left, *right])
    shape_a = (*_flat(extents(stack)), *_flat(extents(left)), prod(extents(inner)))
    shape_b = (*_flat(extents(stack)), prod(extents(inner)), *_flat(extents(right)))
    axes = tuple(made.index(x) for x in out) if ordered and made != out else None
    if stack and not right:
        shape_b = (*shape_b, 1)
    pair = Pair(
        positions,
        side(rest_a, summed_a, [*stack, *left, *inner], shape_a),
        side(rest_b, summed_b, [*stack, *inner, *right], shape_b),
        None,
        extents(made),
        axes,
    )
    return (out if axes is not None else made), pair


def _flat(extents: Shape) -> Shape:
    """Return the extent of several axes as one; nothing for no axes."""
    return (prod(extents),) if extents else ()


def contracted(pairs: Sequence[Pair], operands: Sequence[Any], module: Module) -> Any:
    """Return the sum; the operands have one dtype."""
    left = list(operands)
    for pair in pairs:
        first, second = (left[k] for k in pair.positions)
        for k in sorted(pair.positions, reverse=True):
            del left[k]
        left.append(
            _product(pair, _entered(first, pair.left), _entered(second, pair.right), module)
        )
    return left[0]


def _entered(array: Any, side: Side) -> Any:
    if side.summed:
        array = array.sum(axis=side.summed, dtype=array.dtype)
    if side.axes != tuple(range(len(side.axes))):
        array = array.transpose(side.axes)
    return array if array.shape == side.shape else array.reshape(side.shape)


def _product(pair: Pair, first: Any, second: Any, module: Module) -> Any:
    if pair.inner is None:
        made = module.matmul(first, second)
    else:
        made = module.multiply(first, second)
        made = made.sum(axis=pair.inner) if pair.inner else made
    if getattr(made, "shape", ()) != pair.shape:
        made = made.reshape(pair.shape)
    return made if pair.axes is None else made.transpose(pair.axes).copy()


def of_matrices(pairs: Sequence[Pair]) -> bool:
    """Say whether some step is a product of matrices, which NumPy's loop takes longer for."""
    return any(pair.inner is None for pair in pairs)


try:  # what np.einsum calls, after a look for overrides and words
    from numpy._core.einsumfunc import c_einsum as _einsum
except ImportError:
    _einsum = np.einsum

_PLAIN = Module(np.matmul, np.multiply)
_SINGLE = {id(np.dtype(kind)): kind for kind in "fdFD"}  # a dtype's hash takes longer than its id


_PLAIN_ALONE = frozenset({np.ndarray})


@lru_cache(maxsize=1024)
def _by_matrices(
    subscripts: str, shapes: tuple[Shape, ...], kinds: tuple[str, ...]
) -> tuple[Pair, ...] | None:
    """Return the steps of an ``einsum`` of which one pays as a product of matrices, else None."""
    if not kinds[0] or kinds.count(kinds[0]) < len(kinds):
        return None
    pairs = pairs_of(subscripts, shapes)
    return pairs if pairs is not None and of_matrices(pairs) else None


def einsum_of_small(*operands: Any, **named: Any) -> Any:
    """Return ``np.einsum`` of arrays of NumPy's, by products of matrices where that pays."""
    if named or not operands:
        return np.einsum(*operands, **named)
    subscripts, *arrays = operands
    if type(subscripts) is str and len(arrays) > 1 and _PLAIN_ALONE.issuperset(map(type, arrays)):
        if len(arrays) == 2 and arrays[0].size * arrays[1].size < LEAST:
            return _einsum(*operands)  # which is known without a look at the subscripts
        pairs = _by_matrices(
            subscripts,
            tuple([a.shape for a in arrays]),
            tuple([_SINGLE.get(id(a.dtype), "") for a in arrays]),
        )
        if pairs is not None:
            with np.errstate(all="ignore"), one_blas_thread():  # as NumPy's loop has one
                return contracted(pairs, arrays, _PLAIN)
    return np.einsum(*operands)
