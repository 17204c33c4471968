"""Sums of products whose operands lie on nodes.

Every one is an Einstein sum. One label is chosen along which the work is shared out: operands that
have it go by rows (those that have it first, as they lie; the others after an exchange), those that
lack it go whole to every node, and a label that is summed over gives partial results, which are
added up a tree. The label is the one for which the fewest bytes move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy import engine
from dnumpy.api import blocks
from dnumpy.api.record import view
from dnumpy.config import config
from dnumpy.expr.geometry import Geometry
from dnumpy.ops.blocked import PERMUTE, PermuteParams
from dnumpy.ops.einstein import STRIP, SUM_FOLD, SUM_ROWS, StripParams, SumParams
from dnumpy.ops.gufuncs import GUFUNC, GufuncParams
from dnumpy.ops.table import DOT, EINSUM, MATMUL, TENSORDOT, VIEW

if TYPE_CHECKING:
    from dnumpy.expr.expr import Expr, Params, Shape
    from dnumpy.ops.families import Op

LEAST_BYTES = 1 << 20  # of the largest operand; less is gathered sooner than shared out
WHOLE_BYTES = 1 << 30  # of an operand that every node holds whole
STRIP_BYTES = 1 << 27  # of the rows of a larger one that a node holds at a time
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Term(NamedTuple):
    """An operand and the labels of its axes."""

    expr: Expr
    labels: str


def recorded(op: Op, args: list[Any], params: Params, shape: Shape, dtype: np.dtype) -> Expr | None:
    """Return the contraction as recorded for operands on nodes; None where it need not be."""
    if config.mode != "split" and max(e.nbytes for e in args) < LEAST_BYTES:
        return None
    if config.reproducible or not any(_far(e) for e in args) or not shape or 0 in shape:
        return None  # one call on whole operands gives the same bits at home and on nodes
    if dtype == np.float16:  # sums are rounded once
        return None
    if op is MATMUL and max(e.ndim for e in args) > 2:
        return _stacked(args, shape, dtype)
    labels = _labels(op, args, params)
    if labels is None or len(args) > 2 or any(len(set(x)) < len(x) for x in labels):
        return None
    *inputs, out = labels
    terms = [_as_it_lies(e, x) for e, x in zip(args, inputs, strict=True)]
    sizes = {
        k: n for e, x in zip(args, inputs, strict=True) for k, n in zip(x, e.shape, strict=True)
    }
    if any(
        sizes[k] != n
        for e, x in zip(args, inputs, strict=True)
        for k, n in zip(x, e.shape, strict=True)
    ):
        return None  # an axis of length one is repeated
    best = min(sizes, key=lambda k: _moved_bytes(terms, out, k, sizes, dtype))
    if op in (MATMUL, DOT) and args[0].ndim == 2 and best == inputs[0][0]:
        return _by_strips(args, shape, dtype)
    return _along(terms, out, best, sizes, dtype)


def _far(expr: Expr) -> bool:
    base = expr
    while base.value is None and base.op is VIEW:
        base = base.operands()[0]
    return engine.spreads(base)


def _labels(op: Op, args: list[Any], params: Params) -> list[str] | None:
    """Return the labels of the operands' axes, and of the result's."""
    if op is EINSUM:
        given = dict(params)["subscripts"]
        inputs, _, out = given.partition("->")
        return [*inputs.split(","), out]
    first = _LETTERS[: args[0].ndim]
    second = list(_LETTERS[args[0].ndim : args[0].ndim + args[1].ndim])
    if op is TENSORDOT:
        pairs = dict(params)["axes"]
    elif op in (MATMUL, DOT):
        pairs = ((args[0].ndim - 1,), (max(args[1].ndim - 2, 0),))
    else:
        return None
    for k, j in zip(*pairs, strict=True):
        second[j] = first[k]
    common = {first[k] for k in pairs[0]}
    out = "".join(x for x in [*first, *second] if x not in common)
    return [first, "".join(second), out]


def _as_it_lies(expr: Expr, labels: str) -> Term:
    """Return a view with its axes as they lie in memory, slowest first, or what it is a view of."""
    if expr.op is not VIEW or expr.value is not None:
        return Term(expr, labels)
    base, geometry = expr.operands()[0], Geometry(*expr.params)
    order = sorted(range(expr.ndim), key=lambda k: -abs(geometry.strides[k]))
    lies = geometry._replace(
        shape=tuple(expr.shape[k] for k in order),
        strides=tuple(geometry.strides[k] for k in order),
    )
    labels = "".join(labels[k] for k in order)
    whole = lies.is_whole(base.shape, base.dtype)
    return Term(base if whole else view(base, lies), labels)


def _moved_bytes(
    terms: list[Term], out: str, label: str, sizes: dict[str, int], dtype: np.dtype
) -> int:
    moved = sum(_held_bytes(t.expr) for t in terms if not t.labels.startswith(label))
    written = dtype.itemsize * int(np.prod([sizes[k] for k in out], dtype=float))
    return moved if out.startswith(label) else moved + written


def _held_bytes(expr: Expr) -> int:
    """Return the bytes that are read for all of an operand: those of what it is a view of."""
    return expr.operands()[0].nbytes if expr.op is VIEW and expr.value is None else expr.nbytes


def _along(terms: list[Term], out: str, label: str, sizes: dict[str, int], dtype: np.dtype) -> Expr:
    terms = sorted((_led_by(t, label) for t in terms), key=lambda t: label not in t.labels)
    by_rows = tuple(label in t.labels for t in terms)
    order = label + out.replace(label, "") if label in out else out
    subscripts = ",".join(t.labels for t in terms) + "->" + order
    params = SumParams(by_rows, subscripts, dtype)
    shape = tuple(sizes[k] for k in order)
    op = SUM_ROWS if label in out else SUM_FOLD
    found = blocks.record(op, [t.expr for t in terms], params, shape, dtype)
    if order == out:
        return found
    return _exchanged(found, tuple(order.index(k) for k in out))


def _led_by(term: Term, label: str) -> Term:
    if label not in term.labels or term.labels.startswith(label):
        return term
    labels = label + term.labels.replace(label, "")
    return Term(_exchanged(term.expr, tuple(term.labels.index(k) for k in labels)), labels)


def _exchanged(expr: Expr, axes: tuple[int, ...]) -> Expr:
    shape = tuple(expr.shape[k] for k in axes)
    return blocks.record(PERMUTE, [expr], PermuteParams(axes), shape, expr.dtype)


def _stacked(args: list[Any], shape: Shape, dtype: np.dtype) -> Expr | None:
    """Return products of matrices in stacks, by rows of the stack."""
    batch = np.broadcast_shapes(*(e.shape[:-2] for e in args))
    by_rows = tuple(e.ndim - 2 == len(batch) and e.shape[0] == batch[0] for e in args)
    params = GufuncParams(by_rows, "numpy.matmul", (), single=False, outputs=(), errors=())
    return blocks.record(GUFUNC, args, params, shape, dtype)


def _by_strips(args: list[Any], shape: Shape, dtype: np.dtype) -> Expr | None:
    """Return a product whose second operand is too large for a node, strip after strip."""
    first, second = args
    if second.nbytes <= WHOLE_BYTES or second.ndim != 2 or first.dtype != second.dtype:
        return None
    rows = first.shape[1]
    step = max(1, STRIP_BYTES // max(second.nbytes // rows, 1))
    sums: list[Any] = []
    for start in range(0, rows, step):
        params = StripParams(start, min(start + step, rows))
        sums = [blocks.record(STRIP, [first, second, *sums], params, shape, dtype)]
    return sums[0]
