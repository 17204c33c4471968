"""Random phases with values to bind, for the laws of the lowerings."""

from __future__ import annotations

import itertools
import signal
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import strategies as st

from dnumpy.expr.expr import Const, Expr, leaf, make
from dnumpy.expr.walk import pending_in_order
from dnumpy.kernels import reference
from dnumpy.kernels.partials import combine, partial_dtype
from dnumpy.ops.families import lookup
from dnumpy.ops.table import CAST, WHERE
from dnumpy.rewrite.cut import Grain, cut
from dnumpy.rewrite.phase import Access, ReduceParams, verify
from dnumpy.rewrite.stages import FusedStage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dnumpy.rewrite.phase import Phase

UNARY = (
    "negative",
    "absolute",
    "square",
    "sqrt",
    "exp",
    "log",
    "tanh",
    "sin",
    "floor",
    "isnan",
    "isfinite",
    "logical_not",
    "sign",
    "reciprocal",
)
BINARY = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "maximum",
    "minimum",
    "fmax",
    "greater",
    "less_equal",
    "equal",
    "not_equal",
    "arctan2",
    "logical_and",
    "logical_or",
    "bitwise_and",
    "bitwise_xor",
    "power",
    "floor_divide",
    "remainder",
    "hypot",
    "copysign",
)
FOLDS = ("add", "maximum", "minimum", "multiply", "logical_or", "logical_and")
DTYPES = tuple(map(np.dtype, ("f8", "f4", "i8", "i4", "u1", "i2", "?", "c16")))
SPECIALS = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1e-310, 1e308, -1.0, 0.5])
SCALARS = (2, -1, 0, 1.5, -0.0, float("nan"), True, np.float32(0.1), np.float64(3.25), np.int16(7))


@dataclass(frozen=True)
class Bound:
    """A phase, the values of its inputs, and the Exprs that it computes."""

    phase: Phase
    values: list[Any]
    exprs: tuple[Expr, ...]

    def allocate(self) -> list[np.ndarray]:
        """Return outputs for all rows, filled with a pattern that no kernel writes by chance."""
        phase, outs = self.phase, []
        for output in phase.outputs:
            step = phase.steps[output.slot - len(phase.inputs)]
            if output.partial:
                dtype = partial_dtype(step, phase.dtype_of(step.args[0]))
                outs.append(np.zeros((phase.tiles, *phase.partial_shape(step)), dtype))
            else:
                outs.append(np.zeros(step.shape, step.dtype))
        for out in outs:
            out.view(np.uint8).fill(0x5A if out.dtype != bool else 1)
        return outs

    def run(self, kernel: Any, cuts: Sequence[int] = ()) -> list[np.ndarray]:
        """Return the outputs of ``kernel`` run part by part; ``cuts`` are where parts begin."""
        phase, outs = self.phase, self.allocate()
        edges = [
            0,
            *[c * phase.tile_rows for c in sorted(set(cuts)) if 0 < c < phase.tiles],
            phase.rows,
        ]
        for lo, hi in itertools.pairwise(edges):
            mine, values = [], []
            for out, given in zip(outs, phase.outputs, strict=True):
                mine.append(out[lo // phase.tile_rows :] if given.partial else out[lo:hi])
            for value, read in zip(self.values, phase.inputs, strict=True):
                values.append(value[lo:hi] if read.access is Access.ROWS else value)
            kernel.run(values, mine, lo, hi, lo)
        return outs

    def settled(self, outs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Return outputs with partial results folded."""
        phase = self.phase
        return [
            combine(phase.steps[given.slot - len(phase.inputs)], out) if given.partial else out
            for out, given in zip(outs, phase.outputs, strict=True)
        ]


def bits(array: np.ndarray) -> bytes:
    """Return the content with all NaN made the same."""
    array = np.array(array)
    if array.dtype.kind == "f":
        array[np.isnan(array)] = np.nan
    if array.dtype.kind == "c":
        array.real[np.isnan(array.real)] = np.nan
        array.imag[np.isnan(array.imag)] = np.nan
    return array.tobytes()


def expected(roots: Sequence[Expr]) -> list[np.ndarray]:
    """Return what NumPy gives for ``roots``, op by op on whole arrays."""
    known: dict[int, Any] = {}

    def value(arg: Expr | Const) -> Any:
        if isinstance(arg, Const):
            return arg.value
        return arg.value if arg.value is not None else known[id(arg)]

    with np.errstate(all="ignore"):
        for e in pending_in_order(roots):
            known[id(e)] = reference.apply(
                e.op, [value(a) for a in e.args], e.params, e.shape, e.dtype
            )
    return [value(root) for root in roots]


def bound(roots: Sequence[Expr], tile_bytes: int, tile_rows: int = 1 << 62) -> list[Bound]:
    """Return the phases that compute ``roots``, those that read only stored arrays."""
    found = []
    for stage in cut(pending_in_order(roots), roots, Grain(1, tile_bytes, tile_rows)):
        if isinstance(stage, FusedStage) and all(e.value is not None for e in stage.inputs):
            verify(stage.phase)
            found.append(Bound(stage.phase, [e.value for e in stage.inputs], stage.outputs))
    return found


def apply(name: str, *args: Expr | Const) -> Expr | None:
    """Return the Expr of a ufunc over broadcast operands, None where NumPy has no such loop."""
    ufunc: np.ufunc = getattr(np, name)
    kinds = []
    for a in args:
        if isinstance(a, Expr):
            kinds.append(a.dtype)
        else:
            kinds.append(
                type(a.value) if type(a.value) in {int, float} else np.asarray(a.value).dtype
            )
    try:
        dtype = ufunc.resolve_dtypes((*kinds, None))[-1]
        with np.errstate(all="ignore"):
            ufunc(*[np.ones(1, a.dtype) if isinstance(a, Expr) else a.value for a in args])
    except (TypeError, OverflowError, ValueError):  # no such loop, or a scalar that does not fit
        return None
    if name == "power" and dtype.kind in "iu":
        return None  # negative powers of integers raise
    try:
        shape = np.broadcast_shapes(*[a.shape for a in args if isinstance(a, Expr)])
    except ValueError:
        return None
    return make(lookup(name), args, (), shape, dtype)


def fold(name: str, arg: Expr, axis: tuple[int, ...], *, keepdims: bool) -> Expr | None:
    """Return the Expr of a reduction, None where NumPy has none."""
    try:
        dtype = getattr(np, name).resolve_dtypes((None, arg.dtype, None), reduction=True)[-1]
    except TypeError:
        return None
    shape = tuple(
        1 if k in axis else n for k, n in enumerate(arg.shape) if keepdims or k not in axis
    )
    params = ReduceParams(axis, keepdims, None, None, masked=False)
    return make(lookup(f"{name}.reduce"), (arg,), params, shape, dtype)


def pick(name: str, arg: Expr, axis: int, *, keepdims: bool) -> Expr:
    """Return the Expr of ``argmin`` or ``argmax`` along an axis."""
    shape = tuple(1 if k == axis else n for k, n in enumerate(arg.shape) if keepdims or k != axis)
    params = ReduceParams((axis,), keepdims, None, None, masked=False)
    return make(lookup(name), (arg,), params, shape, np.dtype(np.int64))


def filled(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, *, plain: bool
) -> Any:
    """Return random content, with special values unless ``plain``."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low, high = (0 if dtype.kind == "u" else -5, 9) if plain else (info.min, info.max)
        return rng.integers(low, high, shape, dtype, endpoint=True)
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    numbers = rng.standard_normal(shape) * 3
    if dtype.kind == "c":
        return (numbers + 1j * rng.standard_normal(shape)).astype(dtype)
    if not plain:
        numbers = np.where(rng.random(shape) < 0.2, rng.choice(SPECIALS, shape), numbers)
    with np.errstate(all="ignore"):
        return numbers.astype(dtype)


@st.composite
def arrays(draw: Callable[..., Any], shape: tuple[int, ...], *, plain: bool) -> np.ndarray:
    """Draw an array of some dtype and layout."""
    dtype = draw(st.sampled_from(DTYPES))
    rng = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    layout = draw(st.sampled_from(("plain", "plain", "steps", "fortran", "reversed", "broadcast")))
    if layout == "steps":
        wide = filled(rng, tuple(2 * n for n in shape), dtype, plain=plain)
        return wide[tuple(slice(None, None, 2) for _ in shape)]
    array = filled(rng, shape, dtype, plain=plain)
    if layout == "fortran":
        return np.asfortranarray(array)
    if layout == "reversed":
        return array[tuple(slice(None, None, -1) for _ in shape)]
    if layout == "broadcast" and len(shape) > 1:
        return np.broadcast_to(array[:, :1], shape)
    return array


@st.composite
def programs(draw: Callable[..., Any], *, plain: bool = False, folds: bool = True) -> list[Expr]:
    """Draw roots over arrays with whole rows, with one entry per row, and whole operands."""
    rows = draw(st.sampled_from((1, 2, 7, 30, 700)))
    rest = draw(
        st.sampled_from(
            ((), (1,), (3,), (40,), (600,), (1100,), (2, 3), (4, 150), (5, 12), (3, 2, 2))
        )
    )
    if rows == 700 and rest not in {(), (1,), (3,)}:
        rows = 9
    shape = (rows, *rest)
    shapes = [shape, shape, (rows, *[1] * len(rest)), rest, (1,) * len(shape), ()]
    pool: list[Expr] = []
    for _ in range(draw(st.integers(1, 4))):
        array = draw(arrays(draw(st.sampled_from(shapes)), plain=plain))
        pool.append(leaf(array, array.shape, array.dtype))
    array = draw(arrays(shape, plain=plain))
    pool.append(leaf(array, array.shape, array.dtype))
    made: list[Expr] = []
    for _ in range(draw(st.integers(1, 9))):
        new = draw(_step(pool, shape, folds=folds))
        if new is None or not new.shape or new.shape[0] != rows:
            if new is not None and new.op.name.endswith(".reduce"):
                made.append(new)
            continue
        pool.append(new)
        made.append(new)
    if not made:
        made = [make(CAST, (pool[-1],), (), shape, np.dtype("f8"))]
    return list(
        {id(e): e for e in [made[-1], *draw(st.lists(st.sampled_from(made), max_size=2))]}.values()
    )


@st.composite
def short_folds(draw: Callable[..., Any]) -> list[Expr]:
    """Draw roots that fold a few last entries of rows away, and go on with what is left."""
    rows, kept = draw(st.sampled_from((1, 7, 30))), draw(st.sampled_from((2, 9, 40)))
    tail = draw(st.sampled_from(((2,), (3,), (4,), (8,), (11,), (16,), (2, 2), (3, 4))))
    shape, ones = (rows, kept, *tail), (1,) * len(tail)
    shapes = [shape, shape, (rows, 1, *tail), (1, kept, *tail), tail, (rows, kept, *ones), ()]
    pool: list[Expr] = []
    for _ in range(draw(st.integers(1, 3))):
        array = draw(arrays(draw(st.sampled_from(shapes)), plain=False))
        pool.append(leaf(array, array.shape, array.dtype))
    array = draw(arrays(shape, plain=False))
    last = leaf(array, array.shape, array.dtype)
    for _ in range(draw(st.integers(0, 4))):
        name = draw(st.sampled_from(("add", "subtract", "multiply", "maximum", "greater", "power")))
        last = apply(name, last, draw(st.sampled_from([*pool, last]))) or last
    axes = tuple(range(2, len(shape)))
    folded = fold(draw(st.sampled_from(FOLDS)), last, axes, keepdims=draw(st.booleans()))
    if folded is None or last.dtype.kind == "c":
        return [last]
    after = apply("multiply", folded, Const(2)) or folded
    picked = pick("argmin", after, 1, keepdims=False)
    roots = draw(st.lists(st.sampled_from([folded, after, picked]), min_size=1, max_size=3))
    return list({id(e): e for e in roots}.values())


@st.composite
def _step(
    draw: Callable[..., Any], pool: list[Expr], shape: tuple[int, ...], *, folds: bool
) -> Expr | None:
    operands = st.sampled_from(pool)
    either = st.one_of(operands, operands, st.sampled_from(SCALARS).map(Const))
    kind = draw(
        st.sampled_from(("unary", "binary", "binary", "cast", "where", "fold", "fold", "pick"))
    )
    if kind == "unary":
        return apply(draw(st.sampled_from(UNARY)), draw(operands))
    if kind == "binary":
        pair = (draw(operands), draw(either))
        return apply(draw(st.sampled_from(BINARY)), *(pair if draw(st.booleans()) else pair[::-1]))
    if kind == "cast":
        arg, dtype = draw(operands), draw(st.sampled_from(DTYPES))
        return make(CAST, (arg,), (), arg.shape, dtype) if arg.dtype.kind != "c" else None
    if kind == "where":
        chosen, other = draw(operands), draw(operands)
        condition = apply("greater", draw(operands), Const(0))
        if condition is None:
            return None
        result = np.result_type(chosen.dtype, other.dtype)
        try:
            full = np.broadcast_shapes(condition.shape, chosen.shape, other.shape)
        except ValueError:
            return None
        return make(WHERE, (condition, chosen, other), (), full, result)
    arg = draw(operands)
    if kind == "pick":
        if not folds or arg.dtype.kind == "c" or arg.shape[:1] != shape[:1] or arg.ndim < 2:
            return None
        axis = draw(st.integers(1, arg.ndim - 1))
        name = draw(st.sampled_from(("argmax", "argmin")))
        return pick(name, arg, axis, keepdims=draw(st.booleans()))
    if not folds or arg.shape != shape:
        return None
    trailing = tuple(range(1, len(shape)))
    axes = [(0,), tuple(range(len(shape)))] + [trailing] * 2 * bool(trailing)
    axes += [trailing[k:] for k in range(1, len(trailing))] * 2
    return fold(
        draw(st.sampled_from(FOLDS)), arg, draw(st.sampled_from(axes)), keepdims=draw(st.booleans())
    )


with_timer = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="no timer here sends signals"
)


def long_work() -> Bound:
    """Return a phase that takes minutes."""
    x = np.broadcast_to(np.linspace(0.1, 0.9, 1 << 12), (1 << 21, 1 << 12))
    y: Any = leaf(x, x.shape, x.dtype)
    for _ in range(8):
        y = apply("sin", y)
    summed = fold("add", y, (1,), keepdims=False)
    assert summed is not None
    (found,) = bound([summed], 1 << 16)
    return found


@contextmanager
def interrupted(after: float = 0.3) -> Iterator[None]:
    """Send a signal after so many seconds, whose handler raises, and expect that error."""

    def interrupt(*_given: object) -> None:
        msg = "now"
        raise InterruptedError(msg)

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        with pytest.raises(InterruptedError, match="now"):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
