"""Vectorised loops of our own for transcendental functions, a few units in the last place off.

They are used where ``config.accuracy = "fast"`` asks for them. Each is a real ufunc over a loop
that LLVM vectorises for the CPU at hand, so that every lowering can call it as it calls NumPy's;
the Numba lowering inlines the function instead, and the loop around it is vectorised as a whole.
The bits of a result depend on the operand alone: not on where it lies, nor on the lowering. Only a
GPU has CUDA's functions in their place, as it has in that of NumPy's: :mod:`.cuda_header` says how
far those are off.

:data:`FUNCTIONS` has them all, each with the largest error found over its whole domain (by
``python -m benchmarks.accuracy``, which also measures their speed; the tests hold them to it).
Infinities, NaN, zeros and subnormals give what they give in NumPy, and the same floating-point
warnings; but underflow may be told of where NumPy does not (which is ignored unless asked for).

=========================  ========================================================================
names                      method
=========================  ========================================================================
exp, exp2, expm1, tanh     a multiple of log(2) taken off, a polynomial, a power of two
cosh, sinh                 half of exp and its quarter's inverse; sinh up to 1 by a polynomial
log, log2, log10, log1p    the exponent, and the series of (1 + s) / (1 - s) with s up to 0.172
sin, cos, tan              Cody-Waite reduction by three parts of pi/2 (161 bits), the polynomials
                           of fdlibm; beyond 2**30 (float64) or 2**17 (float32) the C library
arctan, arctan2            reduction by the tangents of pi/8 and 3 pi/8, a polynomial
arcsin, arccos             a polynomial up to a half, that of the root of (1 - x) / 2 above
cbrt                       a polynomial for its inverse, two of Newton's steps
hypot                      scaled by a power of two, then the root of the sum of squares
=========================  ========================================================================

A function is used on a CPU where it has been measured to be faster than NumPy's loop there: NumPy
has loops for AVX-512 of its own that are as fast as some of ours, and computes nearly all of these
functions one by one elsewhere. Without fused multiplication and addition none is used.

There is no power: to a few units in the last place it takes a logarithm of twice the precision.
"""

from __future__ import annotations

import ctypes
import platform
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.ops.families import LATE, ROWS, Elementwise, row

if TYPE_CHECKING:
    from dnumpy.kernels.compile import Compiled


class Fast(NamedTuple):
    """A function of ours: how many operands, and the largest error in units of the last place.

    ``wide`` says that it is also faster than NumPy's loops for AVX-512.
    """

    inputs: int
    ulps: float
    wide: bool = True


FUNCTIONS = {
    "fast_exp_f8": Fast(1, 1.05),
    "fast_exp2_f8": Fast(1, 0.95, wide=False),
    "fast_expm1_f8": Fast(1, 1.95),
    "fast_log_f8": Fast(1, 0.75, wide=False),
    "fast_log2_f8": Fast(1, 0.9, wide=False),
    "fast_log10_f8": Fast(1, 0.75, wide=False),
    "fast_log1p_f8": Fast(1, 1.45, wide=False),
    "fast_sin_f8": Fast(1, 0.8),
    "fast_cos_f8": Fast(1, 0.8),
    "fast_tan_f8": Fast(1, 2.3),
    "fast_sinh_f8": Fast(1, 1.7, wide=False),
    "fast_cosh_f8": Fast(1, 1.5),
    "fast_tanh_f8": Fast(1, 2.75),
    "fast_arcsin_f8": Fast(1, 2.1),
    "fast_arccos_f8": Fast(1, 1.15),
    "fast_arctan_f8": Fast(1, 1.95),
    "fast_arctan2_f8": Fast(2, 1.95),
    "fast_cbrt_f8": Fast(1, 0.55, wide=False),
    "fast_hypot_f8": Fast(2, 1.2),
    "fast_exp_f4": Fast(1, 1.05),
    "fast_exp2_f4": Fast(1, 0.95, wide=False),
    "fast_expm1_f4": Fast(1, 1.95, wide=False),
    "fast_log_f4": Fast(1, 0.75, wide=False),
    "fast_log2_f4": Fast(1, 0.9, wide=False),
    "fast_log10_f4": Fast(1, 0.75, wide=False),
    "fast_log1p_f4": Fast(1, 1.45, wide=False),
    "fast_sin_f4": Fast(1, 0.8),
    "fast_cos_f4": Fast(1, 0.8),
    "fast_tan_f4": Fast(1, 2.3, wide=False),
    "fast_sinh_f4": Fast(1, 1.7, wide=False),
    "fast_cosh_f4": Fast(1, 1.5, wide=False),
    "fast_tanh_f4": Fast(1, 2.75),
    "fast_arcsin_f4": Fast(1, 2.1),
    "fast_arccos_f4": Fast(1, 1.15, wide=False),
    "fast_arctan_f4": Fast(1, 1.9),
    "fast_arctan2_f4": Fast(2, 1.95, wide=False),
    "fast_hypot_f4": Fast(2, 0.51),
}

_WIDE = frozenset({"X86_V4", "AVX512_SKX"})  # as NumPy calls the CPUs that have it

# operands beyond a bound are left to the C library, one by one; compiled loops that meet one raise
# the flag for invalid operations and are run again
BOUNDED = frozenset({"fast_sin_f8", "fast_cos_f8", "fast_tan_f8"})
BOUNDED |= {"fast_sin_f4", "fast_cos_f4", "fast_tan_f4"}

DTYPES = frozenset({np.dtype(name.rpartition("_")[2]) for name in FUNCTIONS})
LATE.update(dict.fromkeys(FUNCTIONS, __name__))


def plain(name: str) -> str:
    """Return the name of NumPy's function that an op's name stands for: its own, or ours for it."""
    return name.split("_")[1] if name in FUNCTIONS else name


def __getattr__(name: str) -> Any:
    """Return a ufunc by its name, which is how it is found when it is unpickled."""
    if name not in FUNCTIONS:
        raise AttributeError(name)
    return made(name)


@lru_cache(maxsize=1024)
def instead(ufunc: np.ufunc, dtype: np.dtype) -> np.ufunc | None:
    """Return what is faster on this CPU than ``ufunc`` over operands of ``dtype``, None if nothing.

    Every node then computes the same function: it is chosen where an operation is recorded.
    """
    name = f"fast_{ufunc.__name__}_{dtype.kind}{dtype.itemsize}"
    if name not in FUNCTIONS or getattr(np, ufunc.__name__, None) is not ufunc:
        return None
    if not _multiplies_and_adds():
        return None
    if not FUNCTIONS[name].wide and _numpys_target(ufunc, dtype) in _WIDE:
        return None
    return made(name)


def _multiplies_and_adds() -> bool:
    """Say whether this CPU rounds a product and a sum once, in one instruction."""
    core: Any = vars(import_module("numpy._core._multiarray_umath"))
    x86 = platform.machine() in {"x86_64", "AMD64"}
    return not x86 or bool(core["__cpu_features__"].get("FMA3"))


def _numpys_target(ufunc: np.ufunc, dtype: np.dtype) -> str:
    """Return the kind of CPU that NumPy's loop has been compiled for, '' if it does not say."""
    from numpy.lib.introspect import opt_func_info

    signature = dtype.char * ufunc.nargs
    found = opt_func_info(func_name=f"^{ufunc.__name__}$")
    loops = found.get(ufunc.__name__, {})
    return str(loops.get(signature, {}).get("current", ""))


@lru_cache(maxsize=128)
def made(name: str) -> np.ufunc:
    """Return the ufunc called ``name``, compiled when it is first asked for, with a row for it."""
    from dnumpy.kernels.compile import compiled
    from dnumpy.kernels.fast_loops import loop_source

    inputs = FUNCTIONS[name].inputs
    ufunc = _ufunc(name, compiled(loop_source(name, inputs, bounded=name in BOUNDED)), inputs)
    if name not in ROWS:
        operands = ", ".join(f"{{{k}}}" for k in range(inputs))
        scalar = f"{name}({operands})"
        row(Elementwise(name, ufunc=ufunc, loop="exp", flops=30.0, scalar=scalar))
    return ufunc


# ---------------------------------------------------------------- a ufunc around a loop

_MAKE = 1  # PyUFunc_FromFuncAndData in NumPy's public table of ufunc functions
_NO_IDENTITY = -1
_alive: list[Any] = []  # a ufunc refers to its loop, data, types and texts; it never ends


def _ufunc(name: str, kernel: Compiled, inputs: int) -> np.ufunc:
    from dnumpy.kernels.llvm import loop_of_kernels

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    functions: Any = vars(import_module("numpy._core._multiarray_umath"))
    table = get(functions["_UFUNC_API"], None)
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p, *[ctypes.c_int] * 4,
        ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int,
    )(ctypes.cast(table, ctypes.POINTER(ctypes.c_void_p))[_MAKE])  # fmt: skip
    loops = (ctypes.c_void_p * 1)(loop_of_kernels())
    data = (ctypes.c_void_p * 1)(kernel.address)
    code = name.rpartition("_")[2]
    types = bytes([np.dtype(code).num] * (inputs + 1))
    texts = name.encode(), f"{plain(name)} of {np.dtype(code)}, fast".encode()
    _alive.append((kernel, loops, data, types, texts))
    at = [ctypes.cast(x, ctypes.c_void_p) for x in (loops, data)]
    return make(*at, types, 1, inputs, 1, _NO_IDENTITY, *texts, 0)
