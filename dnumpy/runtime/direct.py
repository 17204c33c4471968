"""One cheap pending operation over memory at home: NumPy's loop, and nothing around it.

Cutting a phase, binding it and walking its tiles takes about 0.1 ms, as long as NumPy takes for an
addition of 300,000 elements. Where one operation waits by itself, is cheap beside its memory and so
small that threads would not pay, there is nothing to fuse, to plan or to share out.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.config import EAGER_BELOW, config, threads_for
from dnumpy.expr.expr import Expr
from dnumpy.expr.geometry import Geometry
from dnumpy.kernels import reference, sums
from dnumpy.kernels.partials import combine, partial_dtype
from dnumpy.kernels.tiled import TiledKernel
from dnumpy.ops.families import Elementwise, Reduction
from dnumpy.ops.table import CAST, VIEW, folds_parts
from dnumpy.rewrite.build import build_phase
from dnumpy.rewrite.cut import ROUNDING
from dnumpy.runtime import find, gpus
from dnumpy.runtime.bound import settle, value_of
from dnumpy.runtime.faults import StepFault, collect
from dnumpy.runtime.memory import pool
from dnumpy.runtime.records import HERE, Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.kernels.tiled import Faults
    from dnumpy.rewrite.phase import Phase

MOST_BYTES = 24 << 20  # read and written: threads that share the memory gain nothing
FOLDED_BYTES = 9 << 20  # read by a fold
LITTLE_BYTES = 10 << 20  # read and written by a few operations that are not worth being fused
MOST_LITTLE = 4  # operations
FEW = 1 << 14  # elements of a result
CHEAP = frozenset({"arith", "cast", "compare", "div", "select"})  # classes of loops


def is_direct(order: Sequence[Expr]) -> bool:
    """Say whether what is pending, operands first, is one operation to be run as it stands.

    The last one: it may be of views, which are nothing to be computed.
    """
    if not order or order[-1].op is VIEW:
        return False
    for other in order[:-1]:
        if other.op is not VIEW:
            return False
    expr = order[-1]
    if type(expr.op) is Reduction and not _folds_exactly(expr) and not _is_summed_in_c(expr):
        return False
    return is_quick(expr)


def is_mean(order: Sequence[Expr]) -> bool:
    """Say whether what is pending, operands first, is a fold and one step with its few results."""
    last = order[-1]
    for arg in last.args:
        if type(arg) is Expr and arg.value is None:
            return type(arg.op) is Reduction and type(last.op) is Elementwise and arg.size <= FEW
    return False


def is_quick(expr: Expr) -> bool:
    """Say whether one operation takes so little that its evaluation is as dear."""
    if config.mode != "default":
        return False
    if type(expr.op) is Reduction:
        return len(expr.args) == 1 and _is_small(expr, FOLDED_BYTES)
    return _is_cheap(expr) and _is_small(expr, MOST_BYTES)


def may_run(nbytes: int, most: int = MOST_BYTES) -> bool:
    """Say whether an operation that reads and writes so much at home may be NumPy's."""
    return config.mode == "default" and nbytes <= most and not _is_sent(nbytes)


def is_little(order: Sequence[Expr]) -> bool:
    """Say whether what is pending is so little that the operations are best run one by one.

    What fusion saves of so few bytes is less than what it takes to put them together.
    """
    if len(order) > MOST_LITTLE or config.mode != "default":
        return False
    nbytes = 0
    for expr in order:
        if expr.shape and type(expr.op) is not Reduction and not _is_cheap(expr):
            return False
        if type(expr.op) is Elementwise and expr.op.loop == "select":  # NumPy's takes long
            return False
        nbytes += expr.nbytes + sum([a.nbytes for a in expr.args if type(a) is Expr])
    return nbytes <= LITTLE_BYTES


def _is_cheap(expr: Expr) -> bool:
    op = expr.op
    return type(op) is Elementwise and op.loop in CHEAP and bool(expr.shape)


def _folds_exactly(expr: Expr) -> bool:
    """Say whether a fold has the same bits in any order, so that it may be NumPy's."""
    op = expr.op
    return type(op) is Reduction and (
        op.ufunc not in ROUNDING
        or expr.dtype.kind in "biu"  # of which a sum wraps around
        or not folds_parts(op)
        or _is_left_to_numpy(expr)
        or _is_of_few(expr)
    )


def _is_of_few(fold: Expr) -> bool:
    """Say whether a fold reads so few elements that it is NumPy's, as where these are at hand."""
    (operand,) = fold.operands() if len(fold.operands()) == 1 else (None,)
    return operand is not None and operand.size < config.eager_below == EAGER_BELOW


def _is_left_to_numpy(expr: Expr) -> bool:
    """Say whether a sum of floats is NumPy's in every lowering."""
    params: Any = expr.params
    (operand,) = expr.args if len(expr.args) == 1 else (None,)
    if type(operand) is not Expr or type(operand.value) is not np.ndarray:
        return False
    plain = params.initial is None and expr.dtype == operand.dtype
    adjacent = plain and operand.value.flags.c_contiguous
    return adjacent and sums.are_numpys(operand.shape, params.axis)


def _is_summed_in_c(expr: Expr) -> bool:
    """Say whether a fold that rounds is a sum that the module in C passes as fast as any kernel."""
    params: Any = expr.params
    (operand,) = expr.args if len(expr.args) == 1 else (None,)
    adds = type(expr.op) is Reduction and expr.op.ufunc is np.add
    if not native.built or not adds or type(operand) is not Expr:
        return False
    if params.initial is not None or expr.dtype != operand.dtype or expr.dtype.char not in "fd":
        return False
    if type(operand.value) is np.ndarray:
        strides = operand.value.strides
    elif operand.op is VIEW:
        strides = Geometry(*operand.params).strides
    else:
        return False
    return sums.way_of(operand.shape, strides, params.axis) is not None


def is_numpys(operands: Sequence[Expr], size: int, spreads: Callable[[Expr], bool]) -> bool:
    """Say whether an operation that nothing fuses with is NumPy's as it is recorded.

    Its operands lie here, or are little and will, and so will its result, of ``size`` elements: so
    few that what is computed from them is computed at once too. What is pending ``spreads`` if it
    will be computed on workers.
    """
    if size > FEW or config.mode != "default" or config.memory_limit:
        return False
    nbytes = sum([expr.nbytes for expr in operands])
    if config.eager_below < EAGER_BELOW or _is_sent(nbytes):
        return False
    if all(map(_is_home, operands)):
        return True
    if nbytes > LITTLE_BYTES or not computes_little():
        return False
    if find.is_only_here(find.LEAST_BYTES):
        return True
    return not gpus.might_be() and not any(map(spreads, operands))


def computes_little() -> bool:
    """Say whether what is computed from little arrays here need not wait."""
    waits = config.mode != "default" or config.memory_limit or config.eager_below < EAGER_BELOW
    return not waits and config.accuracy == "exact"


def _is_small(expr: Expr, most: int) -> bool:
    """Say whether an operation reads little, and all of it lies at home."""
    size = expr.nbytes
    for arg in expr.args:
        if type(arg) is Expr:
            size += arg.nbytes
            if not _is_home(arg):
                return False
    return size <= most and not _is_sent(size)


def _is_sent(nbytes: int) -> bool:
    """Say whether work on so many bytes goes to the user's workers."""
    if config.cluster == "off" or nbytes < find.LEAST_BYTES:
        return False
    return find.current_client() is not None


def _is_home(expr: Expr) -> bool:
    if expr.value is None and expr.op is VIEW:
        base = expr.args[0]
        return type(base) is Expr and type(base.value) is np.ndarray and not _passes(base)
    return type(expr.value) is np.ndarray


def _passes(base: Expr) -> bool:
    """Say whether a view of an array is read in blocks: a few columns are in all of its pages."""
    return 0 < config.memory_limit < 2 * base.nbytes


def run(expr: Expr) -> tuple[Record, list[StepFault]]:
    """Give ``expr`` its value; raises what NumPy raises, and then leaves it pending."""
    started = time.perf_counter()
    args = [value_of(a) for a in expr.args]
    op: Any = expr.op
    if type(op) is Reduction and not _folds_exactly(expr):
        out, found = _summed_in_c(expr, args[0]) or _folded_in_tiles(expr, args[0])
    else:
        out, found = _by_numpy(op, args, expr)
    nbytes = out.nbytes + sum([a.nbytes for a in args if type(a) is np.ndarray])
    faults = collect((expr,), found) if found else []
    settle(expr, out)
    seconds = time.perf_counter() - started
    where = ((HERE, expr.shape[0] if expr.shape else 1),)
    return Record(op.name, where, seconds, nbytes, "numpy", (seconds,), started=started), faults


def _by_numpy(op: Any, args: list[Any], expr: Expr) -> tuple[np.ndarray, Faults]:
    found: Faults = set()

    def note(kind: str, _flag: int) -> None:
        found.add((0, kind))

    with np.errstate(all="call", call=note):
        if type(op) is Reduction:
            return reference.apply(op, args, expr.params, expr.shape, expr.dtype), found
        out = pool.empty(expr.shape, expr.dtype)
        copies = op is CAST and type(args[0]) is np.ndarray
        if not copies or not native.copied(args[0], out, threads_for(out.nbytes)):
            reference.elementwise_into(op, args, expr.params, out)
        return out, found


def _summed_in_c(expr: Expr, operand: np.ndarray) -> tuple[np.ndarray, Faults] | None:
    """Return a sum as :func:`_folded_in_tiles` does, with nothing around it; None where NumPy must.

    It must, where a fault is to be told of.
    """
    if not _is_summed_in_c(expr):
        return None
    phase = _fold_of(expr, operand).phase
    out = pool.empty(expr.shape, expr.dtype)
    params: Any = expr.params
    way = sums.way_of(operand.shape, operand.strides, params.axis)
    if way is None:
        return None
    threads = threads_for(operand.nbytes)
    return (out, set()) if sums.total(operand, way, phase.tile_rows, out, None, threads) else None


def _folded_in_tiles(expr: Expr, operand: np.ndarray) -> tuple[np.ndarray, Faults]:
    """Return a fold that rounds, in the order in which all lowerings fold it."""
    kernel = _fold_of(expr, operand)
    phase = kernel.phase
    (step,), (given,) = phase.steps, phase.outputs
    if not given.partial:
        out = pool.empty(expr.shape, expr.dtype)
        return out, kernel.run([operand], [out], 0, phase.rows)
    shape, dtype = phase.partial_shape(step), partial_dtype(step, operand.dtype)
    parts = np.empty((phase.tiles, *shape), dtype)
    found = kernel.run([operand], [parts], 0, phase.rows)
    return combine(step, parts, lambda kind, _flag: found.add((0, kind))), found


_MOST_FOLDS = 1024
_folds: dict[tuple[Any, ...], TiledKernel] = {}


def _fold_of(expr: Expr, operand: np.ndarray) -> TiledKernel:
    sizes = (config.tile_bytes, config.tile_rows_max)
    key = (expr.op, expr.params, expr.shape, expr.dtype, operand.shape, operand.dtype, sizes)
    found = _folds.get(key)
    if found is None:
        if len(_folds) >= _MOST_FOLDS:
            _folds.clear()
        found = _folds[key] = TiledKernel(phase_alone(expr, sizes))
    return found


def phase_alone(expr: Expr, sizes: tuple[int, int]) -> Phase:
    """Return the phase of one operation, of which no more is known than itself."""
    phase, _, _ = build_phase([expr], [expr], *sizes, lambda _reader, _read: True)
    return phase
