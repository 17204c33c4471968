"""Loops over the fast functions as NumPy calls them.

This module imports Numba, and is itself imported only when a fast function is compiled.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cfunc, types

from dnumpy.kernels.fast_bits import choose, inlined
from dnumpy.kernels.fast_inlined import functions
from dnumpy.kernels.primitives import LOADS, STORES

if TYPE_CHECKING:
    from collections.abc import Callable

_LIBRARY = {"sin": math.sin, "cos": math.cos, "tan": math.tan}  # beyond the bound
_RUN = 256  # elements looked at before they are computed, since they may be computed in place

_INTEGERS = types.CPointer(types.int64)
_SIGNATURE = types.void(_INTEGERS, _INTEGERS, _INTEGERS, types.voidptr)


def compiled(name: str, inputs: int) -> Any:
    """Return a loop as NumPy calls it, compiled for this CPU; it has an ``address``."""
    _, plain, code = name.split("_")
    fast = functions()[name]
    if plain in _LIBRARY:
        loop = _bounded(fast, _LIBRARY[plain], code)
    else:
        loop = (_unary if inputs == 1 else _binary)(fast, code)
    return cfunc(_SIGNATURE, error_model="numpy")(loop)


def _walk(fast: Any, code: str) -> Any:
    """Return what applies ``fast`` to a run of elements."""
    load, store, size = LOADS[code], STORES[code], np.dtype(code).itemsize

    @inlined
    def walk(x: int, out: int, from_: int, to: int, count: int) -> None:
        if from_ == size and to == size:
            for k in range(count):
                store(out, k, fast(load(x, k, 0, 2)), 1, 2)
        else:
            for k in range(count):
                store(out + k * to, 0, fast(load(x + k * from_, 0, 0, 0)), 0, 0)

    return walk


def _unary(fast: Any, code: str) -> Callable[..., None]:
    walk = _walk(fast, code)

    def loop(args: Any, dims: Any, steps: Any, _data: Any) -> None:
        walk(args[0], args[1], steps[0], steps[1], dims[0])

    return loop


def _binary(fast: Any, code: str) -> Callable[..., None]:
    load, store, size = LOADS[code], STORES[code], np.dtype(code).itemsize

    def loop(args: Any, dims: Any, steps: Any, _data: Any) -> None:
        count, x, y, out = dims[0], args[0], args[1], args[2]
        left, right, to = steps[0], steps[1], steps[2]
        if left == size and right == size and to == size:
            for k in range(count):
                store(out, k, fast(load(x, k, 0, 3), load(y, k, 1, 3)), 2, 3)
        else:
            for k in range(count):
                found = fast(load(x + k * left, 0, 0, 0), load(y + k * right, 0, 0, 0))
                store(out + k * to, 0, found, 0, 0)

    return loop


def _bounded(fast: Any, library: Any, code: str) -> Callable[..., None]:
    """Return a loop over a function with a bound, the ``library`` called beyond it."""
    load, size = LOADS[code], np.dtype(code).itemsize
    beyond = functions()[f"fast_beyond_{code}"]

    @inlined
    def wherever(x: float) -> float:
        far = beyond(x)
        near = fast(choose(far, x - x, x))  # whatever LLVM computes beforehand raises no flags
        return library(x) if far else near

    walk, rare = _walk(fast, code), _walk(wherever, code)

    @inlined
    def any_beyond(x: int, from_: int, count: int) -> bool:
        found = 0
        if from_ == size:
            for k in range(count):
                found |= int(beyond(load(x, k, 0, 0)))
        else:
            for k in range(count):
                found |= int(beyond(load(x + k * from_, 0, 0, 0)))
        return found != 0

    def loop(args: Any, dims: Any, steps: Any, _data: Any) -> None:
        count, from_, to = dims[0], steps[0], steps[1]
        for start in range(0, count, _RUN):
            run = min(_RUN, count - start)
            x, out = args[0] + start * from_, args[1] + start * to
            if any_beyond(x, from_, run):
                rare(x, out, from_, to, run)
            else:
                walk(x, out, from_, to, run)

    return loop
