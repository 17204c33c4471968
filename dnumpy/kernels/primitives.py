"""What generated kernels are written in, for Numba: loads, stores and calls at raw addresses.

This module imports Numba, and is itself imported only when Numba compiles a kernel: one that says
what :mod:`~dnumpy.kernels.ir` does not know, or one to compare with. Every load and
store names the memory it touches by a small number (its *place*) out of how many there are; LLVM
is told that different places never overlap, which is what lets it vectorise a loop over many
arrays without checking each pair of them at run time.
"""

# ruff: noqa: ARG001 - Numba reads the operands of an intrinsic off its parameters

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from dnumpy.kernels.lanes import make_lane_sum
from dnumpy.kernels.picking import make_pick

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBA_TYPES: dict[str, Any] = {
    "b1": types.boolean,
    "i1": types.int8,
    "i2": types.int16,
    "i4": types.int32,
    "i8": types.int64,
    "u1": types.uint8,
    "u2": types.uint16,
    "u4": types.uint32,
    "u8": types.uint64,
    "f4": types.float32,
    "f8": types.float64,
}
_I64 = ir.IntType(64)
_I8 = ir.IntType(8)
_I32 = ir.IntType(32)


def _memory_type(code: str) -> ir.Type:
    if code == "f4":
        return ir.FloatType()
    if code == "f8":
        return ir.DoubleType()
    return ir.IntType(8 * np.dtype(code).itemsize)


def _mark(builder: Any, instruction: Any, place: int, places: int) -> None:
    """Tell LLVM that this access touches ``place`` and no other one."""
    module = builder.module
    domain = module.add_metadata(["dnumpy"])
    scopes = [module.add_metadata([f"dnumpy.{k}", domain]) for k in range(places)]
    instruction.set_metadata("alias.scope", module.add_metadata([scopes[place]]))
    others = [s for k, s in enumerate(scopes) if k != place]
    if others:
        instruction.set_metadata("noalias", module.add_metadata(others))


def _at(builder: Any, address: Any, index: Any, kind: ir.Type) -> Any:
    base = builder.inttoptr(address, kind.as_pointer())
    return builder.gep(base, [index], inbounds=True)


def _literal(value: Any) -> int:
    if not isinstance(value, types.IntegerLiteral):
        msg = "a place is a literal integer"
        raise TypingError(msg)
    return int(value.literal_value)


def _make_load(code: str) -> Callable[..., Any]:
    kind, result = _memory_type(code), NUMBA_TYPES[code]

    def load(_typing: Any, address: Any, index: Any, place: Any, places: Any) -> Any:
        here, of = _literal(place), _literal(places)

        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            value = builder.load(_at(builder, args[0], args[1], kind))
            value.align = np.dtype(code).itemsize
            if of:
                _mark(builder, value, here, of)
            if code == "b1":
                return builder.icmp_unsigned("!=", value, kind(0))
            return value

        return result(types.int64, types.int64, place, places), codegen

    return intrinsic(prefer_literal=True)(load)


def _make_store(code: str) -> Callable[..., Any]:
    kind, given = _memory_type(code), NUMBA_TYPES[code]

    def store(_typing: Any, address: Any, index: Any, value: Any, place: Any, places: Any) -> Any:
        here, of = _literal(place), _literal(places)

        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            bits = builder.zext(args[2], kind) if code == "b1" else args[2]
            done = builder.store(bits, _at(builder, args[0], args[1], kind))
            done.align = np.dtype(code).itemsize
            if of:
                _mark(builder, done, here, of)
            return _context.get_dummy_value()

        return types.void(types.int64, types.int64, given, place, places), codegen

    return intrinsic(prefer_literal=True)(store)


LOADS = {code: _make_load(code) for code in NUMBA_TYPES}
STORES = {code: _make_store(code) for code in NUMBA_TYPES}


def _slots(builder: Any, kind: ir.Type, values: list[Any]) -> Any:
    """Return the address of a stack array that holds ``values``."""
    array = cgutils.alloca_once(builder, ir.ArrayType(kind, len(values)))
    for k, value in enumerate(values):
        builder.store(value, builder.gep(array, [_I32(0), _I32(k)], inbounds=True))
    return builder.gep(array, [_I32(0), _I32(0)], inbounds=True)


def _make_call(operands: int) -> Callable[..., Any]:
    """Return ``call(function, data, n, address, step, ...)``, which runs one of NumPy's loops."""
    text = _I8.as_pointer()
    kind = ir.FunctionType(
        ir.VoidType(), [text.as_pointer(), _I64.as_pointer(), _I64.as_pointer(), text]
    )
    signature = types.void(*[types.int64] * (3 + 2 * operands))

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        function, data, count, *pairs = args
        addresses = [builder.inttoptr(a, text) for a in pairs[0::2]]
        builder.call(
            builder.inttoptr(function, kind.as_pointer()),
            [
                _slots(builder, text, addresses),
                _slots(builder, _I64, [count]),
                _slots(builder, _I64, pairs[1::2]),
                builder.inttoptr(data, text),
            ],
        )
        return context.get_dummy_value()

    # intrinsics have a fixed number of parameters
    if operands == 2:

        def call2(_t: Any, f: Any, d: Any, n: Any, a: Any, s: Any, b: Any, u: Any) -> Any:
            return signature, codegen

        return intrinsic(call2)
    if operands == 3:

        def call3(
            _t: Any, f: Any, d: Any, n: Any, a: Any, s: Any, b: Any, u: Any, c: Any, v: Any
        ) -> Any:
            return signature, codegen

        return intrinsic(call3)

    def call4(
        _t: Any,
        f: Any,
        d: Any,
        n: Any,
        a: Any,
        s: Any,
        b: Any,
        u: Any,
        c: Any,
        v: Any,
        e: Any,
        w: Any,
    ) -> Any:
        return signature, codegen

    return intrinsic(call4)


CALLS = {operands: _make_call(operands) for operands in (2, 3, 4)}


@intrinsic
def call_loop(_typing: Any, function: Any, data: Any, args: Any, dims: Any, steps: Any) -> Any:
    """Run one of NumPy's loops; the last three are addresses of the arrays that it is given."""
    text = _I8.as_pointer()
    counts = _I64.as_pointer()
    kind = ir.FunctionType(ir.VoidType(), [text.as_pointer(), counts, counts, text])

    def codegen(context: Any, builder: Any, _signature: Any, given: Any) -> Any:
        loop, extra, addresses, extents, strides = given
        builder.call(
            builder.inttoptr(loop, kind.as_pointer()),
            [
                builder.inttoptr(addresses, text.as_pointer()),
                builder.inttoptr(extents, counts),
                builder.inttoptr(strides, counts),
                builder.inttoptr(extra, text),
            ],
        )
        return context.get_dummy_value()

    return types.void(*[types.int64] * 5), codegen


@intrinsic
def call_helper(_typing: Any, function: Any, a: Any, b: Any, c: Any) -> Any:
    """Call a compiled kernel (three integers, no result) at an address."""
    text = _I8.as_pointer()
    kind = ir.FunctionType(_I32, [text.as_pointer(), text.as_pointer(), _I64, _I64, _I64])

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        result, error = _slots(builder, text, [text(None)]), _slots(builder, text, [text(None)])
        builder.call(builder.inttoptr(args[0], kind.as_pointer()), [result, error, *args[1:]])
        return context.get_dummy_value()

    return types.void(*[types.int64] * 4), codegen


@intrinsic
def fma(_typing: Any, a: Any, b: Any, c: Any) -> Any:
    """Return ``a * b + c``, rounded once."""

    def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), codegen


@intrinsic(prefer_literal=True)
def copy_item(_typing: Any, target: Any, source: Any, size: Any) -> Any:
    """Copy ``size`` (a literal) bytes."""
    kind = ir.ArrayType(_I8, _literal(size))

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        value = builder.load(builder.inttoptr(args[1], kind.as_pointer()))
        value.align = 1
        builder.store(value, builder.inttoptr(args[0], kind.as_pointer())).align = 1
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, size), codegen


@intrinsic
def stream(_typing: Any, target: Any, source: Any, lines: Any) -> Any:
    """Copy ``lines`` lines of 64 bytes to memory past the caches.

    The target begins with a whole line.
    """
    kind = ir.VectorType(_I64, 8)

    def codegen(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
        to, there = (builder.inttoptr(a, kind.as_pointer()) for a in args[:2])
        past = builder.module.add_metadata([_I32(1)])
        with cgutils.for_range_slice(builder, _I64(0), args[2], _I64(1)) as (number, _):
            line = builder.load(builder.gep(there, [number], inbounds=True))
            line.align = 8
            done = builder.store(line, builder.gep(to, [number], inbounds=True))
            done.align = 64
            done.set_metadata("nontemporal", past)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3), codegen


@intrinsic
def prefetch(_typing: Any, base: Any, lines: Any) -> Any:
    """Ask for nothing: it would only be sooner there."""

    def codegen(context: Any, _builder: Any, _signature: Any, _args: Any) -> Any:
        return context.get_dummy_value()

    return types.void(base, lines), codegen


@intrinsic
def fence(_typing: Any) -> Any:
    """Let what was written past the caches be there before whatever is written later."""

    def codegen(context: Any, builder: Any, _signature: Any, _args: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), codegen


PICKS = {
    f"{name}_{code}": make_pick(code, _memory_type(code), largest=name == "argmax")
    for name in ("argmin", "argmax")
    for code in NUMBA_TYPES
    if code != "b1"
}
LANE_SUMS = {
    f"sum_lanes_{code}": make_lane_sum(
        _memory_type(code), NUMBA_TYPES[code], np.dtype(code).itemsize
    )
    for code in ("f4", "f8")
}


def namespace() -> dict[str, Any]:
    """Return the global names of a generated kernel."""
    from dnumpy.kernels.fast_inlined import functions

    names: dict[str, Any] = {f"load_{c}": f for c, f in LOADS.items()}
    names |= {f"store_{c}": f for c, f in STORES.items()}
    names |= {f"call_{n}": f for n, f in CALLS.items()}
    names |= functions()
    names |= PICKS
    names |= LANE_SUMS
    names |= {c: t for c, t in NUMBA_TYPES.items() if c != "b1"}
    return names | {
        "call_helper": call_helper,
        "call_loop": call_loop,
        "copy_item": copy_item,
        "fence": fence,
        "fma": fma,
        "prefetch": prefetch,
        "sqrt": math.sqrt,
        "stream": stream,
    }
