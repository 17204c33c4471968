"""Blocks of an op as calls of that op by itself, which is all that a device knows.

What a block reads tells what the block is, for most ops; a few must be told where the block lies.
Scans whose order of joining matters to the last bits are not among them: a device adds up in an
order of its own, in which running sums of numbers that are not negative may descend.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.kernels.lower import Unsupported
from dnumpy.ops.blocked import CompressParams
from dnumpy.ops.families import Rowwise
from dnumpy.ops.indexing import MaskParams
from dnumpy.ops.scans import SCAN, rounds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.expr.expr import Params, Shape
    from dnumpy.kernels.device import Device
    from dnumpy.runtime.tasks import BlockJob, PartialJob


class Call(NamedTuple):
    """What a device applies an op to; the block is ``rows`` of what that gives."""

    values: Sequence[Any]
    params: Params
    shape: Shape
    rows: slice = slice(None)


# ops, besides those of rows, that make of a block what they make of the same operands by themselves
AS_THEY_ARE = frozenset({
    "take", "take_inside", "put_inside", "sort_blocks", "permute", "product.rows", "einstein.rows",
    "scan.along",
})  # fmt: skip


def check_block(job: BlockJob) -> None:
    """Raise Unsupported where blocks of an op are no calls of the op by itself."""
    op: Any = job.op
    if job.dtype.names or not (
        isinstance(op, Rowwise) or op.name in AS_THEY_ARE or op.name in _SPECIAL
    ):
        msg = f"blocks of {op.name}, of {job.dtype}"
        raise Unsupported(msg)
    if op.name in {"scan", "scan.along"}:
        _check_exact(job)


def block_of(device: Device, job: BlockJob, lo: int, hi: int, values: Sequence[Any]) -> Any:
    """Return rows ``lo:hi`` of a checked job on the device, where ``values`` are what they read."""
    special = _SPECIAL.get(job.op.name)
    if special is None:
        call = Call(values, job.params, (hi - lo, *job.shape[1:]))
    else:
        call = special(device, job, lo, hi, values)
    return device.apply(job.op, call.values, call.params, call.shape, job.dtype)[call.rows]


def _chosen(_device: Device, job: BlockJob, lo: int, hi: int, values: Sequence[Any]) -> Call:
    """Choose from the blocks that the rows fall in; some of those chosen come before or after."""
    starts = job.params.starts  # type: ignore[attr-defined]
    first, stop = bisect_right(starts, lo) - 1, bisect_right(starts, hi - 1)
    count, skipped = starts[stop] - starts[first], lo - starts[first]
    params = CompressParams(values[0].shape[0], (0, count))
    return Call(values, params, (count, *job.shape[1:]), slice(skipped, skipped + hi - lo))


def _masked(_device: Device, job: BlockJob, lo: int, hi: int, values: Sequence[Any]) -> Call:
    params: MaskParams = job.params  # type: ignore[assignment]
    k = lo // params.block
    count = params.starts[k + 1] - params.starts[k]
    own = MaskParams(hi - lo, (0, count), params.full)
    return Call(values, own, (hi - lo, *job.shape[1:]))


def _running(device: Device, job: BlockJob, lo: int, hi: int, values: Sequence[Any]) -> Call:
    """Run over what goes before the block and the block itself."""
    rows, *before = values
    if not lo or not before:
        return Call((rows,), job.params, (hi - lo, *job.shape[1:]))
    if np.promote_types(rows.dtype, before[0].dtype) != job.dtype:
        msg = f"{job.op.name} of {rows.dtype} in {job.dtype}"
        raise Unsupported(msg)
    together = device.joined([before[0], rows])
    return Call((together,), job.params, (1 + hi - lo, *job.shape[1:]), slice(1, None))


def _check_exact(job: BlockJob | PartialJob) -> None:
    params: Any = job.params
    if rounds(params):
        msg = f"running {params.ufunc} of {params.dtype} in blocks"
        raise Unsupported(msg)


_SPECIAL: dict[str, Callable[[Device, BlockJob, int, int, Sequence[Any]], Call]] = {
    "compress": _chosen,
    "put_mask": _masked,
    "scan": _running,
}


# ---------------------------------------------------------------- folds of blocks


_PARTIALS = frozenset({"counts", "bincount", "product", "einstein.fold"})


def check_partials(job: PartialJob) -> None:
    """Raise Unsupported where a fold of a block is no call of the fold by itself."""
    if job.op.name == "scan.before":
        _check_exact(job)
    elif job.op.name not in _PARTIALS or job.dtype == np.float16:  # halves are summed in float32
        msg = f"blocks of {job.op.name} to {job.dtype}"
        raise Unsupported(msg)
    elif getattr(job.params, "weighted", False):
        msg = f"{job.op.name} of weights, which a device adds up in no fixed order"
        raise Unsupported(msg)


def partial_of(device: Device, job: PartialJob, values: Sequence[Any]) -> Any:
    """Return what the fold of a checked job makes of a block that reads ``values``."""
    op, params = job.op, job.params
    if op.name == "scan.before":
        (rows,) = values
        running = device.apply(SCAN, (rows,), params, rows.shape, params.dtype)  # type: ignore[attr-defined]
        return device.get(running[-1:])[0]
    if op.name == "counts":
        return int(device.get(device.apply(op, values, params, (1,), job.dtype))[0])
    return device.get(device.apply(op, values, params, job.shape, job.dtype))
