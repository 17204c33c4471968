"""Operations whose results a program looks at one by one: NumPy's at once, however they come.

Recording an operation, evaluating it and keeping account of that takes 15 to 40 us, which at a
million elements is a fifth of what NumPy takes. Where a line of the program is known to want each
result by itself (:class:`dnumpy.expr.origin.Site`), and NumPy's own loop is as fast as ours, there
is nothing to be won by it.
"""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

import numpy as np

from dnumpy.config import EAGER_BELOW, config
from dnumpy.expr.origin import site_of
from dnumpy.ops.families import elementwise_of
from dnumpy.runtime import direct

_array = np.ndarray
# copies, and folds that have the same bits in any order
_METHODS = frozenset({
    _array.copy, _array.astype, _array.max, _array.min, _array.any, _array.all, _array.argmax,
    _array.argmin,
})  # fmt: skip
# what only moves elements: nothing of it can be fused with what comes after, as margins and turns
# (pad, roll) can
MOVING = frozenset({
    "concatenate", "concat", "stack", "vstack", "hstack", "dstack", "column_stack", "append",
    "take", "count_nonzero",
})  # fmt: skip
MOST_MOVED = 96 << 20  # bytes read and written
_frame_at = sys._getframe  # the documented way to look at callers cheaply


def runs_alone(function: Any, nbytes: int) -> bool:
    """Say whether the line that called wants this result by itself, and NumPy is to make it.

    Parameters
    ----------
    function : callable or None
        NumPy's ufunc or method; None for a comparison.
    nbytes : int
        Bytes read and written.
    """
    site = site_of(_frame_at(1))
    if site is None or site.alone < site.SURE:
        return False
    if config.accuracy != "exact" or not _is_free() or not direct.may_run(nbytes):
        return False
    return (function is None or _is_cheap(function)) and site.computes_at_once()


def may_move(nbytes: int) -> bool:
    """Say whether elements that lie here, of so many bytes read and written, are NumPy's to move.

    What comes of that is a copy in any case, and threads that share the memory gain little.
    """
    return _is_free() and direct.may_run(nbytes, MOST_MOVED)


def _is_free() -> bool:
    """Say whether nobody asked for large or for small arrays to wait."""
    return not config.memory_limit and config.eager_below >= EAGER_BELOW


@cache
def _is_cheap(function: Any) -> bool:
    """Say whether NumPy's loop is as fast as any: what takes longer is shared by the threads."""
    if not isinstance(function, np.ufunc):
        return function in _METHODS
    row = elementwise_of(function)
    return row is not None and row.loop in direct.CHEAP
