"""The primitive that sums a short run in eight lanes, as NumPy's pairwise loop does.

It imports Numba: see :mod:`~dnumpy.kernels.primitives`.
"""

# ruff: noqa: ARG001 - Numba reads the operands of an intrinsic off its parameters

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

if TYPE_CHECKING:
    from collections.abc import Callable

LANES = 8
_I64 = ir.IntType(64)
_I32 = ir.IntType(32)


def _meet(builder: Any, lanes: Any, scalar: ir.Type) -> Any:
    """Return ``((r0 + r1) + (r2 + r3)) + ((r4 + r5) + (r6 + r7))``."""
    count = LANES
    while count > 1:
        half = ir.VectorType(_I32, count // 2)
        even, odd = (
            builder.shuffle_vector(
                lanes, lanes, ir.Constant(half, [_I32(k) for k in range(first, count, 2)])
            )
            for first in (0, 1)
        )
        lanes, count = builder.fadd(even, odd), count // 2
    return builder.extract_element(lanes, _I32(0))


def make_lane_sum(scalar: ir.Type, result: Any, size: int) -> Callable[..., Any]:
    """Return ``sum_lanes(address, groups)``: the sum of ``8 * groups`` adjacent elements.

    There is at least one group. Lane ``k`` is element ``k`` of each group added to the one before;
    then neighbouring lanes meet, pair by pair.
    """
    vector = ir.VectorType(scalar, LANES)

    def load(builder: Any, address: Any, group: Any) -> Any:
        base = builder.inttoptr(address, vector.as_pointer())
        value = builder.load(builder.gep(base, [group], inbounds=True))
        value.align = size
        return value

    def sum_lanes(_typing: Any, address: Any, groups: Any) -> Any:
        def codegen(_context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            lanes = cgutils.alloca_once(builder, vector)
            builder.store(load(builder, args[0], _I64(0)), lanes)
            with cgutils.for_range_slice(builder, _I64(1), args[1], _I64(1)) as (group, _):
                new = load(builder, args[0], group)
                builder.store(builder.fadd(builder.load(lanes), new), lanes)
            return _meet(builder, builder.load(lanes), scalar)

        return result(types.int64, types.int64), codegen

    return intrinsic(sum_lanes)
