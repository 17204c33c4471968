"""The arithmetic of the fast functions, and loops over it that LLVM vectorises.

This module imports Numba, and is itself imported only when such a function is asked for. All is
computed without branches; what is out of bounds is replaced by a number that raises no flags.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import cfunc, njit, types

from dnumpy.kernels.primitives import LOADS, STORES

if TYPE_CHECKING:
    from collections.abc import Callable

load, store = LOADS["f8"], STORES["f8"]

BOUND = 1_647_099.0  # 2**20 * pi/2: the quotient and a third of pi/2 have an exact product
_TINY = 2.0**-27  # below, sin(x) is x and cos(x) is 1
_LARGE, _SMALL = 2.0**500, 2.0**-500  # squares of what lies between are in range

inlined = njit(error_model="numpy")

# pi/2 in parts of 33 bits, and the rest; the coefficients of fdlibm's kernels on [-pi/4, pi/4]
_ROUND = 1.5 * 2.0**52
_QUOTIENT = 6.36619772367581382433e-01
_P1, _P2, _P3 = 1.57079632673412561417e00, 6.07710050630396597660e-11, 2.02226624871116645580e-21
_P4 = 8.47842766036889956997e-32
_S1, _S2, _S3 = -1.66666666666666324348e-01, 8.33333333332248946124e-03, -1.98412698298579493134e-04
_S4, _S5, _S6 = 2.75573137070700676789e-06, -2.50507602534068634195e-08, 1.58969099521155010221e-10
_C1, _C2, _C3 = 4.16666666666666019037e-02, -1.38888888888741095749e-03, 2.48015872894767294178e-05
_C4, _C5, _C6 = -2.75573143513906633035e-07, 2.08757232129817482790e-09, -1.13596475577881948265e-11


@inlined
def _wave(x: float, turn: int) -> float:
    """Return sin of ``x`` plus ``turn`` quarters of a circle; ``x`` is in bounds."""
    quotient = (x * _QUOTIENT + _ROUND) - _ROUND  # the nearest integer
    first = x - quotient * _P1
    second = first - quotient * _P2
    lost = (first - second) - quotient * _P2
    rest = (quotient * _P3 + quotient * _P4) - lost
    y = second - rest
    tail = (second - y) - rest
    z = y * y
    cube = z * y
    odd = _S2 + z * (_S3 + z * (_S4 + z * (_S5 + z * _S6)))
    sine = y - ((z * (0.5 * tail - cube * odd) - tail) - cube * _S1)
    even = z * (_C1 + z * (_C2 + z * _C3)) + z * z * z * z * (_C4 + z * (_C5 + z * _C6))
    half = 0.5 * z
    near = 1.0 - half
    cosine = near + (((1.0 - near) - half) + (z * even - y * tail))
    quarter = np.int32(quotient) + np.int32(turn)
    found = cosine if quarter & np.int32(1) else sine
    return -found if quarter & np.int32(2) else found


@inlined
def _sin(x: float) -> float:
    size = abs(x)
    plain = (size <= BOUND) & (size >= _TINY)
    found = _wave(x if plain else 1.0, 0)
    return found if plain else x


@inlined
def _cos(x: float) -> float:
    size = abs(x)
    plain = (size <= BOUND) & (size >= _TINY)
    found = _wave(x if plain else 1.0, 1)
    return found if plain else 1.0


@inlined
def _hypot(x: float, y: float) -> float:
    x, y = abs(x), abs(y)
    large = max(x, y)
    scale = 2.0**-600 if large > _LARGE else (2.0**600 if large < _SMALL else 1.0)
    back = 2.0**600 if large > _LARGE else (2.0**-600 if large < _SMALL else 1.0)
    x, y = x * scale, y * scale
    return math.sqrt(x * x + y * y) * back


@inlined
def _waves_alone(x: float) -> bool:
    return not abs(x) <= BOUND


@inlined
def _lengths_alone(x: float, y: float) -> bool:
    return not (abs(x) + abs(y) < np.inf)


_RUN = 256  # elements looked at before they are computed, since they may be computed in place


def unary(fast: Any, alone: Any, library: Any) -> Callable[..., None]:
    """Return a loop over ``fast`` as NumPy calls it, the ``library`` called where it must be."""

    def loop(args: Any, dims: Any, steps: Any, _data: Any) -> None:
        count, x, out = dims[0], args[0], args[1]
        from_, to = steps[0] // 8, steps[1] // 8
        for start in range(0, count, _RUN):
            stop = min(start + _RUN, count)
            rest = 0
            for k in range(start, stop):
                rest |= int(alone(load(x, k * from_, 0, 0)))
            if rest:
                for k in range(start, stop):
                    value = load(x, k * from_, 0, 0)
                    found = fast(1.0 if alone(value) else value)
                    store(out, k * to, library(value) if alone(value) else found, 0, 0)
            elif from_ == 1 and to == 1:
                for k in range(start, stop):
                    store(out, k, fast(load(x, k, 0, 2)), 1, 2)
            else:
                for k in range(start, stop):
                    store(out, k * to, fast(load(x, k * from_, 0, 0)), 0, 0)

    return loop


def binary(fast: Any, alone: Any, library: Any) -> Callable[..., None]:
    """Return a loop of two operands, likewise."""

    def loop(args: Any, dims: Any, steps: Any, _data: Any) -> None:
        count, x, y, out = dims[0], args[0], args[1], args[2]
        left, right, to = steps[0] // 8, steps[1] // 8, steps[2] // 8
        for start in range(0, count, _RUN):
            stop = min(start + _RUN, count)
            rest = 0
            for k in range(start, stop):
                rest |= int(alone(load(x, k * left, 0, 0), load(y, k * right, 0, 0)))
            if rest:
                for k in range(start, stop):
                    a, b = load(x, k * left, 0, 0), load(y, k * right, 0, 0)
                    beyond = alone(a, b)
                    found = fast(1.0 if beyond else a, 1.0 if beyond else b)
                    store(out, k * to, library(a, b) if beyond else found, 0, 0)
            elif left == 1 and right == 1 and to == 1:
                for k in range(start, stop):
                    store(out, k, fast(load(x, k, 0, 3), load(y, k, 1, 3)), 2, 3)
            else:
                for k in range(start, stop):
                    a, b = load(x, k * left, 0, 0), load(y, k * right, 0, 0)
                    store(out, k * to, fast(a, b), 0, 0)

    return loop


_INTEGERS = types.CPointer(types.int64)
_SIGNATURE = types.void(_INTEGERS, _INTEGERS, _INTEGERS, types.voidptr)
_PARTS: dict[str, Any] = {
    "fast_sin": (unary, _sin, _waves_alone, math.sin),
    "fast_cos": (unary, _cos, _waves_alone, math.cos),
    "fast_hypot": (binary, _hypot, _lengths_alone, math.hypot),
}


def compiled(name: str) -> Any:
    """Return a loop as NumPy calls it, compiled for this CPU; it has an ``address``."""
    build, *parts = _PARTS[name]
    return cfunc(_SIGNATURE, error_model="numpy")(build(*parts))
