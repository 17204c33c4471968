"""The primitive that finds the first best element of a run, several lanes at a time.

It imports Numba: see :mod:`~dnumpy.kernels.primitives`.
"""

# ruff: noqa: ARG001 - Numba reads the operands of an intrinsic off its parameters

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable

_LANES = 8
_I64 = ir.IntType(64)
_I32 = ir.IntType(32)


class _Picker:
    """Emits the search; a running best is a pair of a value (or vector) and its index."""

    def __init__(self, builder: Any, code: str, scalar: ir.Type, *, largest: bool) -> None:
        self.builder = builder
        self.code = code
        self.scalar = scalar
        self.sign = ">" if largest else "<"
        self.index: ir.Type = _I64 if np.dtype(code).itemsize == 8 else _I32

    def better(self, new: Any, old: Any) -> Any:
        """Say whether ``new`` is beyond ``old``; NaN is beyond all numbers."""
        b = self.builder
        if self.code[0] == "f":
            return b.and_(b.fcmp_unordered(self.sign, new, old), b.fcmp_ordered("ord", old, old))
        return (b.icmp_signed if self.code[0] == "i" else b.icmp_unsigned)(self.sign, new, old)

    def load(self, address: Any, at: Any, kind: ir.Type) -> Any:
        b = self.builder
        where = b.gep(b.inttoptr(address, self.scalar.as_pointer()), [at], inbounds=True)
        value = b.load(b.bitcast(where, kind.as_pointer()))
        value.align = np.dtype(self.code).itemsize
        return value

    def number(self, at: Any) -> Any:
        """Return an ``i64`` as wide as indices are; a chunk is short."""
        return at if self.index is _I64 else self.builder.trunc(at, self.index)

    def lanes(self, address: Any, groups: Any) -> tuple[Any, Any]:
        """Return the best value of each lane, and where it first is."""
        b = self.builder
        many, where = ir.VectorType(self.scalar, _LANES), ir.VectorType(self.index, _LANES)
        steps = ir.Constant(where, [ir.Constant(self.index, k) for k in range(_LANES)])
        best, index = cgutils.alloca_once(b, many), cgutils.alloca_once(b, where)
        b.store(self.load(address, _I64(0), many), best)
        b.store(steps, index)
        with cgutils.for_range_slice(b, _I64(1), groups, _I64(1)) as (group, _):
            first = b.mul(group, _I64(_LANES))
            new = self.load(address, first, many)
            take = self.better(new, b.load(best))
            start = b.insert_element(ir.Constant(where, ir.Undefined), self.number(first), _I32(0))
            spread = b.shuffle_vector(
                start, start, ir.Constant(ir.VectorType(_I32, _LANES), [_I32(0)] * _LANES)
            )
            b.store(b.select(take, new, b.load(best)), best)
            b.store(b.select(take, b.add(spread, steps), b.load(index)), index)
        return b.load(best), b.load(index)

    def halve(self, best: Any, index: Any) -> tuple[Any, Any]:
        """Return the best of all lanes, the first one of equals."""
        b, lanes = self.builder, _LANES
        while lanes > 1:
            lanes //= 2
            low = ir.Constant(ir.VectorType(_I32, lanes), [_I32(k) for k in range(lanes)])
            high = ir.Constant(
                ir.VectorType(_I32, lanes), [_I32(k) for k in range(lanes, 2 * lanes)]
            )
            old, new = b.shuffle_vector(best, best, low), b.shuffle_vector(best, best, high)
            here, there = (b.shuffle_vector(index, index, half) for half in (low, high))
            earlier = b.and_(b.not_(self.better(old, new)), b.icmp_signed("<", there, here))
            take = b.or_(self.better(new, old), earlier)
            best, index = b.select(take, new, old), b.select(take, there, here)
        return b.extract_element(best, _I32(0)), b.extract_element(index, _I32(0))

    def search(self, address: Any, count: Any) -> Any:
        """Return the index of the best of ``count`` elements, at least one."""
        b = self.builder
        value, at = cgutils.alloca_once(b, self.scalar), cgutils.alloca_once(b, _I64)
        b.store(self.load(address, _I64(0), self.scalar), value)
        b.store(_I64(0), at)
        groups = b.udiv(count, _I64(_LANES))
        with b.if_then(b.icmp_unsigned(">", groups, _I64(0))):
            best, index = self.halve(*self.lanes(address, groups))
            b.store(best, value)
            b.store(index if self.index is _I64 else b.zext(index, _I64), at)
        with cgutils.for_range_slice(b, b.mul(groups, _I64(_LANES)), count, _I64(1)) as (k, _):
            new = self.load(address, k, self.scalar)
            take = self.better(new, b.load(value))
            b.store(b.select(take, new, b.load(value)), value)
            b.store(b.select(take, k, b.load(at)), at)
        return b.load(at)


def make_pick(code: str, scalar: ir.Type, *, largest: bool) -> Callable[..., Any]:
    """Return ``pick(address, count)``: the index that NumPy's argmax or argmin would give."""

    def pick(_typing: Any, address: Any, count: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            return _Picker(builder, code, scalar, largest=largest).search(*args)

        return types.int64(types.int64, types.int64), codegen

    return intrinsic(pick)
