"""Regions and views whose rows are no rows of their base: in memory order they nearly are.

A write through any strides is brought to the order in which its bytes lie; the rows of the base
that a block of it touches then follow from the block. A view read by rows whose axes lie in another
order in memory is exchanged once, instead of every node reading all of it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnumpy.expr.geometry import Geometry, contiguous_strides
from dnumpy.runtime import tasks
from dnumpy.runtime.bind import Operand, Want, bind
from dnumpy.runtime.operands import Bindings, Made
from dnumpy.runtime.producers import ByRanges, tile_rows_of, value_rows

if TYPE_CHECKING:
    from dnumpy.expr.expr import Shape
    from dnumpy.runtime.chunked import Source
    from dnumpy.runtime.graph import Graph, Range
    from dnumpy.runtime.operands import Ref

Axes = tuple[int, ...]


def memory_order(geometry: Geometry) -> Axes:
    """Return the axes, the one with the longest stride first; those of length one step nowhere."""
    shape, strides = geometry.shape, geometry.strides
    return tuple(sorted(range(len(strides)), key=lambda k: (shape[k] == 1, -abs(strides[k]))))


def with_axes(geometry: Geometry, axes: Axes) -> Geometry:
    """Return the geometry with its axes in another order."""
    shape = tuple(geometry.shape[k] for k in axes)
    strides = tuple(geometry.strides[k] for k in axes)
    return Geometry(geometry.offset, shape, strides, geometry.dtype)


def seen_through(operand: Operand, geometry: Geometry) -> Operand:
    """Return an operand whose last view is replaced."""
    return operand._replace(views=(*operand.views[:-1], geometry))


def last_view(operand: Operand) -> Geometry:
    """Return the operand's last view; one of its whole memory where it has none."""
    if operand.views:
        return operand.views[-1]
    strides = contiguous_strides(operand.shape, operand.dtype.itemsize)
    return Geometry(0, operand.shape, strides, operand.dtype)


def value_for(value: Operand, region: Geometry, axes: Axes) -> Operand:
    """Return the value of an update with its axes in the order of the region's."""
    if value.source is None or not value.shape:
        return value
    view = last_view(value)
    shape, strides = view.shape, view.strides
    while len(shape) > len(region.shape):
        shape, strides = shape[1:], strides[1:]
    lead = len(region.shape) - len(shape)
    full = Geometry(view.offset, (1,) * lead + shape, (0,) * lead + strides, view.dtype)
    ordered = with_axes(full, axes)
    whole = last_view(Operand(value.source, views=value.views[:-1]))
    if ordered == whole:
        return value._replace(views=value.views[:-1])
    return seen_through(value, ordered)


class SpanJob(NamedTuple):
    """A block of an updated base whose region reaches over the block's ends.

    The region lies in ``nbytes`` bytes of which the block begins at ``before``.
    """

    shape: Shape
    dtype: np.dtype
    region: Geometry
    before: int
    nbytes: int
    bindings: Bindings

    def reads(self) -> tuple[Bindings, ...]:
        """Return where its operands come from."""
        return (self.bindings,)


@tasks.saying_how_it_went
def run_span(job: SpanJob, *data: Ref) -> Made:
    """Return the block with its part of the region replaced."""
    started = time.perf_counter()
    base, value = job.bindings.values(data)
    memory = np.empty(job.nbytes, np.uint8)
    block: np.ndarray = np.ndarray(job.shape, job.dtype, memory, job.before)
    np.copyto(block, base)
    target = job.region.over(memory)

    def assign() -> None:
        target[...] = value

    faults = tasks.noted(assign)
    out = block if job.nbytes == block.nbytes else block.copy()
    return Made((out,), (), time.perf_counter() - started, faults)


@dataclass(frozen=True, slots=True, eq=False)
class SpannedRows(ByRanges):
    """Rows of a copy of the base with one region replaced, whose axes are in memory order."""

    base: Source
    value: Operand
    region: Geometry

    def depth(self) -> int:
        """Return the number of stages that led here."""
        return max(self.base.depth, self.value.depth)

    def granule(self) -> int:
        """Return the rows at whose multiples ranges are cut."""
        return tile_rows_of(self.base.shape, self.base.row_bytes)

    def task(self, graph: Graph, r: Range) -> Ref:
        """Add the task for rows ``r``."""
        row_bytes = self.base.row_bytes
        low, high = r.lo * row_bytes, r.hi * row_bytes
        shape = (r.hi - r.lo, *self.base.shape[1:])
        first, stop = slabs_within(self.region, low, high)
        rows = Want(Operand(self.base), r.lo, r.hi)
        if first >= stop:
            bindings, data = bind(graph, r.node, [rows])
            plain = tasks.UpdateJob(shape, self.base.dtype, None, bindings)
            return graph.add("update", r.node, tasks.run_update, plain, *data)
        ends = _ends_of(self.region, first, stop)
        begin, end = min(ends[0], low), max(ends[1], high)
        begin -= begin % self.base.dtype.itemsize
        stride = self.region.strides[0]
        part = (stop - first, *self.region.shape[1:])
        region = self.region._replace(
            offset=self.region.offset + first * stride - begin, shape=part
        )
        bindings, data = bind(
            graph, r.node, [rows, value_rows(self.value, self.region, first, stop)]
        )
        job = SpanJob(shape, self.base.dtype, region, low - begin, end - begin, bindings)
        return graph.add("update", r.node, run_span, job, *data)


def _ends_of(region: Geometry, first: int, stop: int) -> tuple[int, int]:
    """Return the first byte of slabs ``first:stop`` of a region, and the byte after the last."""
    low = region.offset + first * region.strides[0]
    high = low + region.dtype.itemsize
    extents = (stop - first, *region.shape[1:])
    for extent, stride in zip(extents, region.strides, strict=True):
        reach = (extent - 1) * stride
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low, high


def slabs_within(region: Geometry, low: int, high: int) -> tuple[int, int]:
    """Return which slabs along axis 0 have a byte among ``low:high``."""
    count, stride = region.shape[0], region.strides[0]
    begin, end = _ends_of(region, 0, 1)
    if count == 1 or not stride:
        return (0, count) if begin < high and end > low else (0, 0)
    if stride > 0:
        first, stop = (low - end) // stride + 1, -(-(high - begin) // stride)
    else:
        first, stop = (begin - high) // -stride + 1, -(-(end - low) // -stride)
    first = min(max(first, 0), count)
    return first, max(min(stop, count), first)


def rows_beginning(operand: Operand, first: int, stop: int, rows: int) -> tuple[int, int]:
    """Return which of an operand's ``rows`` rows begin in rows ``first:stop`` of its memory."""
    source = operand.source
    assert source is not None
    if not operand.views:
        return first, stop
    view = operand.views[0]
    if len(operand.views) > 1 or not view.strides[0] or not source.row_bytes:
        return 0, 0
    stride = view.strides[0]
    low, high = (end * source.row_bytes - view.offset for end in (first, stop))
    if stride > 0:
        lo, hi = -(-low // stride), -(-high // stride)
    else:
        lo, hi = -high // -stride + 1, -low // -stride + 1
    lo = min(max(lo, 0), rows)
    return lo, max(min(hi, rows), lo)


def exchanged_axes(operand: Operand) -> Axes | None:
    """Return the memory order of a view that every node would have to read whole, else None."""
    source = operand.source
    if source is None or source.expr is not None or len(operand.views) != 1:
        return None
    view = operand.views[0]
    if prod(view.shape) > prod(source.shape) or 0 in view.shape:
        return None
    axes = memory_order(view)
    long = [k for k in axes if view.shape[k] > 1]
    if not long or long[0] == min(long):
        return None
    if view.row_map(source.shape, source.dtype) is not None:
        return None
    return axes
