"""What the fast functions are written in: operations that LLVM vectorises and never branches on.

This module imports Numba, and is itself imported only when a fast function is compiled. Each
operation rounds once and is the same instruction in the body and in the tail of a vectorised
loop, so that a function has the same bits wherever an element lies. Nothing is contracted or
reordered: a fused multiplication and addition stands where :func:`fma` does.

LLVM knows nothing of floating-point flags. Functions that must raise no flag but NumPy's therefore
compare sizes as integers (to compare a vector of floats that has NaN by ``<`` raises one), choose
operands and not results, and never choose 1.0 for a factor or a divisor: LLVM would compute with
what stands in its place, and choose afterwards.
"""

# ruff: noqa: ARG001 - Numba reads the operands of an intrinsic off its parameters

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

inlined: Any = njit(error_model="numpy", forceinline=True)

_UNSIGNED: dict[Any, Any] = {types.float64: types.uint64, types.float32: types.uint32}
_FLOATS: dict[Any, Any] = {types.uint64: types.float64, types.uint32: types.float32}


def _fma(_typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return ``a * b + c``, rounded once."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return a(a, a, a), codegen


fma: Any = intrinsic(_fma)


def _choose(_typing: Any, condition: Any, this: Any, other: Any) -> Any:
    """Return ``this`` where ``condition`` holds, ``other`` elsewhere; both have been computed."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.select(*args)

    return this(types.boolean, this, this), codegen


choose: Any = intrinsic(_choose)


def _bits(_typing: Any, x: Any) -> Any:
    """Return the bits of a floating-point number."""
    result = _UNSIGNED[x]

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(result))

    return result(x), codegen


bits: Any = intrinsic(_bits)


def _real(_typing: Any, x: Any) -> Any:
    """Return the floating-point number with these bits."""
    result = _FLOATS[x]

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(result))

    return result(x), codegen


real: Any = intrinsic(_real)


def _signed(_typing: Any, size: Any, sign: Any) -> Any:
    """Return ``size`` with the sign of ``sign``."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        kind = args[0].type
        function = builder.module.declare_intrinsic(
            "llvm.copysign", [kind], ir.FunctionType(kind, [kind, kind])
        )
        return builder.call(function, args)

    return size(size, size), codegen


signed: Any = intrinsic(_signed)


def _is_or_nan(_typing: Any, x: Any, other: Any) -> Any:
    """Say whether ``x`` equals ``other`` or is NaN; no flag is raised."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fcmp_unordered("==", *args)

    return types.boolean(x, x), codegen


is_or_nan: Any = intrinsic(_is_or_nan)


def _lesser(_typing: Any, one: Any, other: Any) -> Any:
    """Return the lesser of two unsigned numbers."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.select(builder.icmp_unsigned("<", *args), *args)

    return one(one, one), codegen


lesser: Any = intrinsic(_lesser)


def word(number: int) -> Any:
    """Return an unsigned constant, which Numba does not take for a signed one."""
    return np.uint64(number)


def bits_of(number: float, kind: str = "f8") -> Any:
    """Return the bits of a constant."""
    return np.array(number, kind).view(f"u{kind[1]}")[()]


@inlined
def at_most(size: float, limit: int) -> float:
    """Return what is less of a number that is not negative and one of these bits; so too for NaN.

    Compared as an integer, since vectors of floats are compared with a flag for NaN.
    """
    return real(lesser(bits(size), limit))


def polynomial(*coefficients: float) -> Any:
    """Return the polynomial with these coefficients, the constant one first, by Horner's rule."""

    def evaluate(_typing: Any, x: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            (at,) = args
            *rest, value = [ir.Constant(at.type, c) for c in coefficients]
            for constant in reversed(rest):
                value = builder.fma(value, at, constant)
            return value

        return x(x), codegen

    return intrinsic(evaluate)
