"""Vectorised loops of our own for functions of float64 that NumPy computes one by one.

They are used where ``config.accuracy = "fast"`` asks for them. Each is a real ufunc over a loop
that LLVM vectorises for the CPU at hand, so that every lowering calls it as it calls NumPy's.
Elements beyond a bound, infinities and NaN are left to the C library, one by one. Operands near
zero may be told of as underflow, which NumPy ignores unless it is asked not to.

=====  ==============================================  ==================================
name   method                                          largest error found
=====  ==============================================  ==================================
sin    Cody-Waite reduction by three parts of pi/2     0.94 ulp for abs(x) <= 1.6e6
       (119 bits), the polynomials of fdlibm           (beyond: the C library's)
cos    the same                                        0.94 ulp for abs(x) <= 1.6e6
hypot  scaled by a power of two, then the root of the  1.19 ulp everywhere
       sum of squares
=====  ==============================================  ==================================
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from dnumpy.ops.families import LATE, ROWS, Elementwise, row

INPUTS = {"fast_sin": 1, "fast_cos": 1, "fast_hypot": 2}
INSTEAD = {getattr(np, name.removeprefix("fast_")): name for name in INPUTS}
LATE.update(dict.fromkeys(INPUTS, __name__))


def __getattr__(name: str) -> Any:
    """Return a ufunc by its name, which is how it is found when it is unpickled."""
    if name not in INPUTS:
        raise AttributeError(name)
    return made(name)


@lru_cache(maxsize=16)
def made(name: str) -> np.ufunc:
    """Return the ufunc called ``name``, compiled when it is first asked for, with a row for it."""
    from dnumpy.kernels.fast_loops import compiled

    ufunc = _ufunc(name, compiled(name), INPUTS[name])
    if name not in ROWS:
        row(Elementwise(name, ufunc=ufunc, loop="exp", flops=30.0))
    return ufunc


# ---------------------------------------------------------------- a ufunc around a loop

_MAKE = 1  # PyUFunc_FromFuncAndData in NumPy's public table of ufunc functions
_NO_IDENTITY = -1
_alive: list[Any] = []  # a ufunc refers to its loop, data, types and texts; it never ends


def _ufunc(name: str, compiled: Any, inputs: int) -> np.ufunc:
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    functions: Any = vars(import_module("numpy._core._multiarray_umath"))
    table = get(functions["_UFUNC_API"], None)
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, *[ctypes.c_int] * 4,
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int,
    )(ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[_MAKE])  # fmt: skip
    loops, data = (ctypes.c_void_p * 1)(compiled.address), (ctypes.c_void_p * 1)(None)
    types = bytes([np.dtype(np.float64).num] * (inputs + 1))
    texts = name.encode(), f"{name.removeprefix('fast_')}, fast".encode()
    _alive.append((compiled, loops, data, types, texts))
    at = [ctypes.cast(x, ctypes.c_void_p) for x in (loops, data)]
    return make(*at, types, 1, inputs, 1, _NO_IDENTITY, *texts, 0)
