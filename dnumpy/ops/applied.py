"""A function of the user's on each line of elements along the last axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.ops.families import Rowwise, read_by_rows, row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


class ApplyParams(NamedTuple):
    """``function(line, *args, **kwargs)`` gives an array of ``dtype``, of one shape for all."""

    by_rows: tuple[bool, ...]
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...]
    dtype: np.dtype


def _apply(pieces: Sequence[Any], params: ApplyParams, _lo: int, _hi: int, out: Any) -> None:
    kwargs = dict(params.kwargs)

    def one(line: np.ndarray) -> np.ndarray:
        return np.asarray(params.function(line, *params.args, **kwargs)).astype(params.dtype)

    out[...] = np.apply_along_axis(one, -1, pieces[0])


APPLY = row(Rowwise("apply_along_axis", read_by_rows, _apply, loop="other", flops=64.0))


class ElementParams(NamedTuple):
    """``function(*elements)`` gives an element of ``dtype``."""

    by_rows: tuple[bool, ...]
    function: Callable[..., Any]
    dtype: np.dtype


def _each(pieces: Sequence[Any], params: ElementParams, _lo: int, _hi: int, out: Any) -> None:
    elementwise = np.frompyfunc(params.function, len(pieces), 1)
    # NumPy's vectorize hands Python's own scalars to the function, too
    out[...] = elementwise(*[np.asanyarray(p, object) for p in pieces])


EACH = row(Rowwise("vectorize", read_by_rows, _each, loop="other", flops=64.0))
