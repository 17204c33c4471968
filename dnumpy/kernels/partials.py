"""What the tiles of a fold over rows leave behind, and how it becomes the result."""

from __future__ import annotations

from math import isfinite, isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.kernels.sums import fold_in_python
from dnumpy.ops.families import Contraction, Reduction

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.expr.expr import Shape
    from dnumpy.rewrite.phase import Phase, Step


MOST_NUMBERS = 128  # of tiles, that Python folds sooner than NumPy is asked to
_FIRST: dict[np.ufunc, Callable[[list[Any]], Any]] = {np.maximum: max, np.minimum: min}


def partial_dtype(step: Step, operand_dtype: np.dtype) -> np.dtype:
    """Return the dtype of one tile's partial result."""
    if isinstance(step.op, Contraction):
        return step.dtype
    assert isinstance(step.op, Reduction)
    if step.op.ufunc is None:
        return np.dtype([("value", operand_dtype), ("index", np.int64)])
    if step.dtype == np.float16:
        return np.dtype(np.float32)  # NumPy itself sums halves in single precision
    return step.dtype


def room(phase: Phase, step: Step, tiles: int) -> np.ndarray:
    """Return memory for what so many tiles of a phase leave behind of a step."""
    return np.empty(*extents_of(phase, step, tiles))


def extents_of(phase: Phase, step: Step, tiles: int) -> tuple[Shape, np.dtype]:
    """Return the shape and the dtype of the same."""
    dtype = partial_dtype(step, phase.dtype_of(step.args[0]))
    return (tiles, *phase.partial_shape(step)), dtype


def combine(
    step: Step, partials: np.ndarray, note: Callable[[str, int], None] | None = None
) -> np.ndarray:
    """Fold the partial results of all tiles, in tile order, to the step's result.

    Summation goes up a binary tree over the tiles, so that the error grows with their logarithm.
    ``note`` is called with what floating-point fault happened.
    """
    few = _of_numbers(step, partials)
    if few is not None:
        return few
    if note is None:
        with np.errstate(all="ignore"):
            return fold_tiles(step, partials)
    with np.errstate(all="call", call=note):
        return fold_tiles(step, partials)


def _of_numbers(step: Step, partials: np.ndarray) -> np.ndarray | None:
    """Fold one number of each of a few tiles; None where NumPy's loops are to.

    So they are where somebody has to be told of something, and where it is theirs to choose: which
    of several NaNs, or zeros of either sign.
    """
    op, dtype = step.op, partials.dtype
    if partials.size != len(partials) or not 0 < partials.size <= MOST_NUMBERS:
        return None
    if not isinstance(op, Reduction) or op.ufunc is None or dtype != step.dtype:
        return None
    if step.params.initial is not None:  # type: ignore[attr-defined]
        return None
    if op.ufunc is np.add and dtype == np.float64:
        found = fold_in_python(partials.ravel().tolist())
        fits = isfinite(found)
    elif op.ufunc in _FIRST and dtype.kind in "iuf":
        numbers = partials.ravel().tolist()
        found = _FIRST[op.ufunc](numbers)
        fits = dtype.kind != "f" or (found != 0 and not isnan(sum(numbers)))
    else:
        return None
    if not fits:
        return None
    result = np.empty(step.shape, step.dtype)
    result.fill(found)
    return result


def fold_tiles(step: Step, partials: np.ndarray) -> np.ndarray:
    """Do what :func:`combine` does; faults go where the caller's error state says."""
    op, params = step.op, step.params
    if isinstance(op, Contraction):
        return np.ascontiguousarray(_up_the_tree(np.add, partials)[0]).reshape(step.shape)
    assert isinstance(op, Reduction)
    if op.ufunc is None:
        assert op.call is not None
        best = op.call(partials["value"], axis=0)
        index = np.take_along_axis(partials["index"], best[None], 0)[0]
        return np.ascontiguousarray(index, step.dtype).reshape(step.shape)
    folded = _up_the_tree(op.ufunc, partials)[0]
    if params.initial is not None:  # type: ignore[attr-defined]
        folded = op.ufunc(params.initial[0], folded)  # type: ignore[attr-defined]
    return np.ascontiguousarray(folded, step.dtype).reshape(step.shape)


def join_neighbours(step: Step, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return what the partial results of neighbours, two arrays of as many, make of each other."""
    op = step.op
    if isinstance(op, Contraction):
        return np.asarray(np.add(left, right))
    assert isinstance(op, Reduction)
    if op.ufunc is not None:
        return np.asarray(op.ufunc(left, right))
    assert op.call is not None
    both = np.stack([left, right])
    best = op.call(both["value"], axis=0)
    return np.asarray(np.take_along_axis(both, best[None], 0)[0])


def _up_the_tree(ufunc: np.ufunc, level: np.ndarray) -> np.ndarray:
    """Return one row: neighbours are joined pairwise, level by level, the odd one out going up."""
    if ufunc is np.add and level.dtype == np.float64 and level.size == len(level):
        folded = fold_in_python(level.ravel().tolist())
        if isfinite(folded):  # else somebody has to be told where that comes from
            return np.full((1, *level.shape[1:]), folded)
    if ufunc is np.add and level.flags.c_contiguous:
        sums = np.empty((1, *level.shape[1:]), level.dtype)
        if native.fold("fold_tree", level.reshape(len(level), -1), sums):
            return sums
    while len(level) > 1:
        paired = ufunc(level[0:-1:2], level[1::2])
        level = np.concatenate([paired, level[-1:]]) if len(level) % 2 else paired
    return level
