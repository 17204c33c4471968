"""Halves of a run of a phase's rows: each brings the rows of its operands that it reads alone.

They are cut where tiles end, so that what tiles leave behind has the bits that it has of the whole.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from dnumpy.rewrite.phase import Access
from dnumpy.runtime.operands import Bindings, Read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dnumpy.expr.expr import Shape
    from dnumpy.expr.geometry import Geometry
    from dnumpy.rewrite.phase import Phase
    from dnumpy.runtime.operands import Literal, Ref, Take, Window

    Run = tuple[int, int, Bindings]
    ShapeOf = Callable[[Take], tuple[Shape, int]]


def halves(run: Run, phase: Phase, least: int, data: Sequence[Ref]) -> tuple[Run, ...]:
    """Return two runs in place of one, none where a half would have less than ``least`` rows.

    ``data`` are the arguments that the bindings name.
    """
    lo, hi, bindings = run
    tile = phase.tile_rows
    middle = (lo + hi) // 2 // tile * tile
    if hi - lo < 2 * max(least, tile) or not lo < middle < hi:
        return ()
    by_rows = [given.access is Access.ROWS for given in phase.inputs]

    def bound(first: int, stop: int) -> Run:
        fewer = narrowed(bindings, by_rows, (first - lo, stop - lo), data)
        return first, stop, fewer

    return bound(lo, middle), bound(middle, hi)


def narrowed(
    bindings: Bindings, by_rows: Sequence[bool], rows: tuple[int, int], data: Sequence[Ref]
) -> Bindings:
    """Return what brings these of the rows of operands that are read ``by_rows``, others whole."""
    reads = [
        _fewer(read, *rows) if each and isinstance(read, Read) else read
        for read, each in zip(bindings.reads, by_rows, strict=True)
    ]
    windows = list(bindings.windows)
    for number, window in enumerate(windows):
        readers = [k for k, r in enumerate(reads) if isinstance(r, Read) and r.window == number]
        if all(by_rows[k] for k in readers):
            windows[number] = _narrow(window, readers, reads, data)
    return Bindings(tuple(windows), tuple(reads))


def _fewer(read: Read, first: int, stop: int) -> Read:
    """Return the read of some of its rows."""
    if read.rows is not None:
        start = read.rows.start
        return read._replace(rows=slice(start + first, start + stop))
    if not read.views:
        return read._replace(rows=slice(first, stop))
    *inside, last = read.views
    moved = last._replace(
        offset=last.offset + first * last.strides[0], shape=(stop - first, *last.shape[1:])
    )
    return read._replace(views=(*inside, moved))


def _narrow(
    window: Window, readers: Sequence[int], reads: list[Read | Literal], data: Sequence[Ref]
) -> Window:
    """Return the rows of a window in which all lies that its readers see; move their reads.

    All of the window where that is not known.
    """
    shapes = [_shape(take, data) for take in window]
    if not all(shape for shape, _ in shapes):
        return window
    shape, itemsize = shapes[0]
    row_bytes = 0 if window[0].inner else prod(shape[1:]) * itemsize
    mine = [read for k in readers if isinstance(read := reads[k], Read)]
    spans = [span for read in mine if (span := _span(read, row_bytes)) is not None]
    if len(spans) < len(mine) or not spans:
        return window
    low, high = min(first for first, _ in spans), max(stop for _, stop in spans)
    found: list[Take] = []
    at = 0
    for take, (whole, _) in zip(window, shapes, strict=True):
        start, stop, step = (take.rows or slice(None)).indices(whole[0])
        count = len(range(start, stop, step))
        first, last = max(low - at, 0), min(high - at, count) - 1
        if first <= last:
            part = slice(start + first * step, start + last * step + 1, step)
            found.append(take._replace(rows=part))
        at += count
    for k, read in zip(readers, mine, strict=True):
        reads[k] = _moved(read, low, row_bytes)
    return tuple(found)


def _shape(take: Take, data: Sequence[Ref]) -> tuple[Shape, int]:
    """Return the shape of the array that a take is of, and the bytes of an element."""
    piece: Any = data[take.arg] if take.item is None else data[take.arg].rows[take.item]
    array = getattr(piece, "host", piece)  # of what lies on a device too, the one at home
    return tuple(array.shape), array.dtype.itemsize


def _span(read: Read, row_bytes: int) -> tuple[int, int] | None:
    """Return the rows of its window in which a read lies, None where that is not known."""
    if not read.views and read.rows is not None:
        return read.rows.start, read.rows.stop
    if len(read.views) != 1 or read.rows is not None or not row_bytes:
        return None
    return _spanned(read.views[0], row_bytes)


def _spanned(view: Geometry, row_bytes: int) -> tuple[int, int] | None:
    if 0 in view.shape:
        return None
    low, high = view.offset, view.offset + view.dtype.itemsize
    for extent, stride in zip(view.shape, view.strides, strict=True):
        reach = (extent - 1) * stride
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low // row_bytes, -(-high // row_bytes)


def _moved(read: Read, low: int, row_bytes: int) -> Read:
    """Return the read in a window that begins ``low`` rows later."""
    if read.rows is not None:
        return read._replace(rows=slice(read.rows.start - low, read.rows.stop - low))
    (view,) = read.views
    return read._replace(views=(view._replace(offset=view.offset - low * row_bytes),))
