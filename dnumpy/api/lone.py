"""Operations whose results a program looks at one by one: NumPy's at once, however they come.

Recording an operation, evaluating it and keeping account of that takes 15 to 40 us, which at a
million elements is a fifth of what NumPy takes. Where a line of the program is known to want each
result by itself (:class:`dnumpy.expr.origin.Site`), and NumPy's own loop is as fast as ours, there
is nothing to be won by it.
"""

from __future__ import annotations

import operator
import sys
import time
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.api.array import ndarray
from dnumpy.api.buffer import Buffer
from dnumpy.api.scalar import DeferredScalar
from dnumpy.config import EAGER_BELOW, config
from dnumpy.expr import race
from dnumpy.expr.origin import Site, site_at, site_of
from dnumpy.kernels import counts
from dnumpy.ops.families import elementwise_of
from dnumpy.runtime import direct, find

if TYPE_CHECKING:
    from collections.abc import Callable

_array = np.ndarray
# copies, and folds that have the same bits in any order
METHODS = frozenset({
    _array.copy, _array.astype, _array.max, _array.min, _array.any, _array.all, _array.argmax,
    _array.argmin, _array.flatten, _array.clip, _array.round, _array.repeat, _array.take,
    _array.argsort, _array.nonzero, _array.compress, _array.choose, _array.searchsorted,
    _array.tolist, _array.tobytes, _array.conj, _array.conjugate,
})  # fmt: skip
# what only moves elements, in pieces: nothing of it can be fused with what comes after, as margins
# and turns (pad, roll) can. What joins columns is computed in one pass
MOVING = frozenset({
    "concatenate", "concat", "vstack", "append", "take", "count_nonzero", "nonzero", "flatnonzero",
    "argwhere", "compress", "extract",
})  # fmt: skip
# what gives the same bits whoever computes it, and no view of what it is given
EXACT = frozenset({
    "all", "allclose", "amax", "amin", "angle", "any", "argmax", "argmin", "argsort",
    "around", "array_equal", "choose", "clip", "column_stack", "convolve", "copy",
    "correlate", "cross", "delete", "diff", "digitize", "dstack", "ediff1d",
    "fft.fftshift", "fft.ifftshift", "gradient", "histogram", "hstack", "insert",
    "interp", "intersect1d", "isclose", "isin", "kron", "lexsort", "linalg.cross", "max", "median",
    "meshgrid", "min", "nan_to_num", "nanmax", "nanmedian", "nanmin", "outer", "packbits", "pad",
    "percentile", "piecewise", "polyval", "ptp", "quantile", "repeat", "resize", "roll", "round",
    "searchsorted", "select", "setdiff1d", "setxor1d", "sinc", "sort", "stack", "tile", "tril",
    "triu", "union1d", "unique", "unique_counts", "unique_values", "unpackbits", "vander", "where",
})  # fmt: skip
# of them, what small arrays make a large one by: broadcast together, or an element for each pair
FITTED = frozenset({"where"})
IN_PAIRS = frozenset({"outer"})
# and what reads little of the first array, however large, where few others or none are given
LOOKING = frozenset({"searchsorted", "shape", "ndim", "size", "iscomplexobj", "isrealobj"})
# what shows the elements of one array in another way, and never copies them. What gives the array
# another shape is left to Python: it lives on, and must not hold memory that is to be written over
VIEWS = frozenset({
    "flip", "fliplr", "flipud", "rot90", "diagonal", "moveaxis", "rollaxis", "swapaxes",
    "transpose", "permute_dims", "matrix_transpose", "split", "array_split", "hsplit", "vsplit",
    "dsplit", "trace",
})  # fmt: skip
# of what is not too large, as one block of it is (see kernels/blocked.py)
RUNS = frozenset({"cumsum", "cumprod"})
# methods: what shows its array, may end early, runs over it, multiplies, or looks an element up; as
# handle.h has
SAME_BITS = frozenset({
    "all", "any", "argmax", "argmin", "astype", "clip", "copy", "max", "min",
})  # fmt: skip
KINDS: dict[Any, int] = {
    _array.transpose: 0, _array.swapaxes: 0, _array.diagonal: 0,
    _array.any: 1, _array.all: 1, np.any: 1, np.all: 1,
    **{f: 1 for name, f in native.FASTER.items() if name in {"any", "all"}},
    **{f: 1 for name, f in native.FASTER_OF_ARRAYS.items() if name in {"any", "all"}},
    **{f: 2 for name, f in native.FASTER_OF_ARRAYS.items() if name in RUNS},
    _array.dot: 3, _array.item: 4, _array.searchsorted: 4,
}  # fmt: skip
METHODS |= {f for name, f in native.FASTER_OF_ARRAYS.items() if name in SAME_BITS}
PRODUCTS = frozenset({"dot", "vdot", "inner", "cov", "corrcoef"})  # those of one array with itself
MOST_MOVED = 96 << 20  # bytes read and written
_frame_at = sys._getframe  # the documented way to look at callers cheaply


def kind_of(key: str) -> str:
    """Return which arguments of a public function that only reads them NumPy may have."""
    kinds = {
        "views": VIEWS,
        "moves": MOVING,
        "fitted": FITTED,
        "pairs": IN_PAIRS,
        "looks": LOOKING,
        "exact": EXACT,
        "product": PRODUCTS,
        "runs": RUNS,
    }
    return next((kind for kind, names in kinds.items() if key in names), "arrays")


def turn_of(function: Any, nbytes: int) -> Site | None:
    """Return the place of the line that called, if NumPy is to make its result now.

    What it takes is to be told to that (:meth:`Site.took`).

    Parameters
    ----------
    function : callable or None
        NumPy's ufunc, function or method; None for a comparison.
    nbytes : int
        Bytes read and written.
    """
    site = site_of(_frame_at(1))
    if site is None:
        return None
    race = site.race
    if race is not None and race.by_numpy:
        return site if nbytes <= race.most and may_be_numpys(function, nbytes) else None
    if site.alone < site.SURE or (race is not None and race.is_won()):
        return None
    if not _waits_for_nobody() or not direct.may_run(nbytes):
        return None
    may = (function is None or _is_cheap(function)) and site.computes_at_once()
    return site if may else None


def run_ours(
    slow: Callable[..., Any], nbytes: int, args: tuple[Any, ...], named: dict[str, Any] | None
) -> Any:
    """Call a function of ours with large arrays that lie here, and note what it takes.

    What is pending afterwards is noted when it is evaluated.
    """
    site = site_at(_frame_at(1)) if nbytes <= race.MOST_BYTES and is_free(nbytes) else None
    if site is None or race.is_held() or site.is_timed():
        return slow(*args, **(named or {}))
    started = time.perf_counter()
    with race.held():
        r = slow(*args, **(named or {}))
    seconds = time.perf_counter() - started
    if _is_computed(r):
        race.evaluated((site,), nbytes, nbytes, seconds, cheap=True)
    else:
        site.recorded(seconds)
    return r


def _is_computed(r: Any) -> bool:
    if isinstance(r, tuple):
        return all(map(_is_computed, r))
    if isinstance(r, list):  # of numbers or lists of them, or of a few arrays
        return not r or type(r[0]) is not ndarray or all(map(_is_computed, r))
    if type(r) is DeferredScalar:
        return not r.is_pending
    if type(r) is not ndarray or r._np is not None:
        return True
    return type(r._buf) is Buffer and not r._buf.pending  # to look at a selection would make it


def may_be_numpys(function: Any, nbytes: int) -> bool:
    """Say whether NumPy may run a function, None for a comparison, in a round that is its own."""
    if function is not None and not has_same_bits(function):
        return False
    return _waits_for_nobody() and find.is_only_here(nbytes)


def is_free(nbytes: int) -> bool:
    """Say whether work on so many bytes that lie here may be NumPy's at once."""
    return _waits_for_nobody() and find.is_only_here(nbytes)


def may_move(nbytes: int) -> bool:
    """Say whether elements that lie here, of so many bytes read and written, are NumPy's to move.

    What comes of that is a copy in any case, and threads that share the memory gain little.
    """
    return _waits_for_nobody() and direct.may_run(nbytes, MOST_MOVED)


def _waits_for_nobody() -> bool:
    """Say whether nobody asked for large or for small arrays to wait, or for other bits."""
    free = not config.memory_limit and config.eager_below >= EAGER_BELOW
    return free and config.accuracy == "exact" and config.kernels == "auto"


@cache
def has_same_bits(function: Any) -> bool:
    """Say whether what NumPy's function gives has the bits that ours gives."""
    if isinstance(function, np.ufunc):
        row = elementwise_of(function)
        return row is not None
    return function in METHODS or function in _functions()


@cache
def _functions() -> frozenset[Any]:
    numpys = [operator.attrgetter(name)(np) for name in EXACT if _is_there(name)]
    sooner = [f for name, f in native.FASTER.items() if name in EXACT]
    return frozenset([*numpys, *sooner, counts.histogram])


def _is_there(name: str) -> bool:
    module, _, own = name.rpartition(".")
    return hasattr(operator.attrgetter(module)(np) if module else np, own)


@cache
def _is_cheap(function: Any) -> bool:
    """Say whether NumPy's loop is as fast as any: what takes longer is shared by the threads."""
    if not isinstance(function, np.ufunc):
        return function in METHODS
    row = elementwise_of(function)
    return row is not None and row.loop in direct.CHEAP
