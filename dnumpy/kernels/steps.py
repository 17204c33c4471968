"""One step of a phase over some of its rows, by NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.geometry import Geometry
from dnumpy.kernels import draws, reference, sums
from dnumpy.ops.families import Contraction, Elementwise, Leaf, Movement, Random, Reduction

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.rewrite.phase import Step

    Bound = list[Any] | dict[int, Any]  # what slots hold now
    Call = Callable[[Bound, np.ndarray | None, int], Any]


def lower(step: Step) -> Call:
    """Return ``call(env, out, first_row)`` that computes the step into ``out`` and returns it."""
    op, args, params = step.op, step.args, step.params
    if isinstance(op, Reduction):
        return _lower_reduction(step)
    if isinstance(op, Movement):
        geometry = Geometry(*params)
        return lambda env, _out, _row: view_of_tile(env[args[0]], geometry)
    if isinstance(op, Leaf):

        def fill(_env: Bound, out: np.ndarray | None, row: int) -> Any:
            assert out is not None
            reference.generate_into(op, params, out, row)
            return out

        return fill
    if isinstance(op, Random):
        return _lower_draw(args)
    if isinstance(op, Contraction):
        return _lower_product(op, args)
    assert isinstance(op, Elementwise)
    if is_plain(step):
        assert op.ufunc is not None
        return _lower_ufunc(op.ufunc, args)

    def compute(env: Bound, out: np.ndarray | None, _row: int) -> Any:
        assert out is not None
        reference.elementwise_into(op, [env[a] for a in args], params, out)
        return out

    return compute


def are_of_one_call(step: Step, other: Step) -> bool:
    """Say whether two steps are the first and the second result of one call (``divmod``)."""
    op = step.op
    if not isinstance(op, Elementwise) or op.ufunc is None or op.ufunc.nout != 2:
        return False
    if op is not other.op or step.args != other.args:
        return False
    params = dict(step.params)
    return "masked" not in params and {**params, "output": 1} == dict(other.params)


def compute_both(step: Step, env: Bound, outs: tuple[np.ndarray | None, np.ndarray | None]) -> None:
    """Compute the two results of the call of which ``step`` is the first one."""
    assert isinstance(step.op, Elementwise)
    assert step.op.ufunc is not None
    named = {name: value for name, value in dict(step.params).items() if name != "output"}
    step.op.ufunc(*[env[a] for a in step.args], out=outs, **named)


def _lower_product(op: Contraction, args: tuple[int, ...]) -> Call:
    left, right = args
    if op.folds:
        return lambda env, out, _row: np.matmul(env[left].T, env[right], out)
    return lambda env, out, _row: np.matmul(env[left], env[right], out)


def _lower_draw(args: tuple[int, ...]) -> Call:
    (drawn,) = args

    def draw(env: Bound, out: np.ndarray | None, row: int) -> Any:
        assert out is not None
        draws.fill(env[drawn], out, row)
        return out

    return draw


def _lower_ufunc(ufunc: np.ufunc, args: tuple[int, ...]) -> Call:
    match args:
        case (a,):
            return lambda env, out, _row: ufunc(env[a], out=out)
        case (a, b):
            return lambda env, out, _row: ufunc(env[a], env[b], out=out)
        case _:
            return lambda env, out, _row: ufunc(*[env[a] for a in args], out=out)


def view_of_tile(tile: np.ndarray, geometry: Geometry) -> np.ndarray:
    """Return a view of some adjacent rows, of which ``geometry`` says how one of them is seen."""
    if not tile.flags.c_contiguous:
        tile = np.ascontiguousarray(tile)
    shape = (tile.shape[0], *geometry.shape[1:])
    view: np.ndarray = np.ndarray(shape, geometry.dtype, tile, geometry.offset, geometry.strides)
    return view


def _tile_initial(step: Step) -> object:
    """Return what a tile's fold starts from: what has no identity (max, min) may start twice."""
    assert isinstance(step.op, Reduction)
    assert step.op.ufunc is not None
    return step.params.initial if step.op.ufunc.identity is None else None  # type: ignore[attr-defined]


def _lower_reduction(step: Step) -> Call:
    op, params = step.op, step.params
    assert isinstance(op, Reduction)
    partial = 0 in params.axis  # type: ignore[attr-defined]
    if op.ufunc is None:
        return _lower_arg_reduction(step, partial=partial)
    rounds = op.ufunc is np.add or op.ufunc is np.multiply
    if rounds and step.dtype.char in "fd" and not params.masked:  # type: ignore[attr-defined]
        return _lower_sum(step, partial=partial)
    return _lower_fold(step, partial=partial)


def _lower_fold(step: Step, *, partial: bool) -> Call:
    op, args = step.op, step.args
    params: Any = step.params
    assert isinstance(op, Reduction)
    if partial:
        params = params._replace(keepdims=True, initial=_tile_initial(step))
        if step.dtype == np.float16:
            params = params._replace(dtype=np.dtype(np.float32))

        def fold(env: Bound, out: np.ndarray | None, _row: int) -> Any:
            assert out is not None
            out[...] = reference.reduce(op, [env[a] for a in args], params)[0]
            return out

        return (
            fold if params.masked or params.initial is not None else _quick_fold(op, args, params)
        )

    def fold_rows(env: Bound, out: np.ndarray | None, _row: int) -> Any:
        assert out is not None
        out[...] = reference.reduce(op, [env[a] for a in args], params)
        return out

    return fold_rows


def _quick_fold(op: Reduction, args: tuple[int, ...], params: Any) -> Call:
    assert op.ufunc is not None
    reduce: Any = op.ufunc.reduce
    (arg, *_), axis, dtype = args, params.axis, params.dtype

    def fold(env: Bound, out: np.ndarray | None, _row: int) -> Any:
        assert out is not None
        reduce(env[arg], axis, dtype, out[None], True)
        return out

    return fold


def _lower_sum(step: Step, *, partial: bool) -> Call:
    """Return the lowering of a sum or product of floats, in the order that all lowerings keep."""
    assert isinstance(step.op, Reduction)
    ufunc: Any = step.op.ufunc
    by_numpy = _lower_fold(step, partial=partial)
    params: Any = step.params

    def fold(env: Bound, out: np.ndarray | None, row: int) -> Any:
        assert out is not None
        tile = env[step.args[0]]
        if params.initial is None and sums.folds_short_axes(tile.shape, params.axis):
            folded = sums.fold_short_axes(ufunc, tile, len(params.axis), step.dtype)
            out[...] = folded.reshape(out.shape)
            return out
        kept = (n for k, n in enumerate(tile.shape) if k and k not in params.axis)
        if ufunc is not np.add or any(n > 1 for n in kept):
            adds = ufunc is np.add and params.initial is None and tile.dtype == step.dtype
            if adds and sums.sum_tiles_over(tile, params.axis, len(tile), out):
                return out
            return by_numpy(env, out, row)
        runs = np.asarray(tile, step.dtype).reshape(tile.shape[0], -1)
        if partial:
            out[...] = sums.sum_tile(runs)
        elif params.initial is None:
            out[...] = sums.sum_runs(runs).reshape(out.shape)
        else:
            out[...] = (params.initial[0] + sums.sum_runs(runs)).reshape(out.shape)
        return out

    return fold


def _lower_arg_reduction(step: Step, *, partial: bool) -> Call:
    """Return the lowering of argmin/argmax; a partial holds (value, index) records."""
    op, (arg, *_), params = step.op, step.args, step.params
    assert isinstance(op, Reduction)
    if not partial:

        def find(env: Bound, out: np.ndarray | None, _row: int) -> Any:
            assert out is not None
            out[...] = reference.reduce(op, [env[arg]], params)
            return out

        return find
    flat = len(params.axis) > 1  # type: ignore[attr-defined]

    def find_partial(env: Bound, out: np.ndarray | None, row: int) -> Any:
        assert out is not None
        assert op.call is not None
        tile = env[arg]
        if flat or tile.ndim == 1:
            at = op.call(tile)
            out["value"] = tile.flat[at] if tile.ndim > 1 else tile[at]
            out["index"] = at + row * (tile.size // tile.shape[0])
        else:
            at = op.call(tile, axis=0)
            out["value"] = np.take_along_axis(tile, at[None], 0)[0]
            out["index"] = at + row
        return out

    return find_partial


def is_plain(step: Step) -> bool:
    """Say whether a step is one call of a ufunc over all elements."""
    op = step.op
    return isinstance(op, Elementwise) and op.ufunc is not None and not step.params
