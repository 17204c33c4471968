"""Bind the operands of a task: which rows of which arrays it reads, and how they reach it.

Reads of one array that overlap (the shifted views of a stencil) share one window of rows, so that
only the rows that a node lacks travel to it, once.
"""

from __future__ import annotations

from itertools import groupby
from math import prod
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.expr.expr import Const, Expr
from dnumpy.expr.geometry import Geometry, contiguous_strides
from dnumpy.ops.table import VIEW
from dnumpy.runtime.chunked import Source, refuse_above_limit
from dnumpy.runtime.graph import Piece
from dnumpy.runtime.operands import Bindings, Inner, Literal, Read, Ref, Seen, Take
from dnumpy.runtime.parcels import Parcel
from dnumpy.runtime.stored import StoredRows

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from dnumpy.expr.expr import Shape
    from dnumpy.expr.geometry import RowMap
    from dnumpy.runtime.graph import Graph, Range


# Up to so many, an array at home that tasks read whole goes from here to each node that reads it.
# Of what nodes fetch from one another Dask drops all but one copy every two seconds.
TO_EACH_BYTES = 1 << 24
MESSAGE_BYTES = 1 << 26  # Dask sends a longer array in parts, which are put together on arrival


class Operand(NamedTuple):
    """What a stage reads: a scalar, or an array seen through views (the innermost first)."""

    source: Source | None
    value: Any = None
    views: tuple[Geometry, ...] = ()

    @property
    def shape(self) -> Shape:
        """Shape as the stage sees it."""
        if self.views:
            return self.views[-1].shape
        return self.source.shape if self.source is not None else ()

    @property
    def dtype(self) -> np.dtype:
        """Data type as the stage sees it."""
        assert self.source is not None
        return self.views[-1].dtype if self.views else self.source.dtype

    @property
    def passed_bytes(self) -> int:
        """Bytes of the source's memory from one row to the next, or those of a row if more."""
        row = prod(self.shape[1:]) * self.dtype.itemsize
        if len(self.views) == 1:
            return max(row, abs(self.views[0].strides[0]))
        return max(row, self.source.row_bytes) if self.source is not None else row

    @property
    def span_bytes(self) -> int:
        """Bytes of the source from the first that is read to the last."""
        assert self.source is not None
        if not self.views:
            return self.source.nbytes
        first = self.views[0]
        steps = zip(first.shape, first.strides, strict=True)
        span = first.dtype.itemsize + sum((n - 1) * abs(step) for n, step in steps)
        return min(span, self.source.nbytes) if prod(first.shape) else 0

    @property
    def depth(self) -> int:
        """Number of stages that led to the operand."""
        return self.source.depth if self.source is not None else 0


def operand_of(arg: Expr | Const, known: dict[int, Source]) -> Operand:
    """Return the operand that ``arg`` denotes; ``known``: this run's outputs by id of Expr."""
    if isinstance(arg, Const):
        return Operand(None, arg.value)
    views: list[Geometry] = []
    expr = arg
    while id(expr) not in known and expr.value is None:
        assert expr.op is VIEW, expr
        geometry = Geometry(*expr.params)
        base = expr.operands()[0]
        if not geometry.is_whole(base.shape, base.dtype):
            views.append(geometry)
        expr = base
    if id(expr) not in known:
        known[id(expr)] = source_of(expr)
    return Operand(known[id(expr)], None, tuple(reversed(views)))


def source_of(expr: Expr) -> Source:
    """Return the source of a stored value."""
    source = getattr(expr.value, "source", None)
    return source if source is not None else Source(expr.shape, expr.dtype, expr=expr)


class Want(NamedTuple):
    """Rows ``lo:hi`` of an operand, or all of it; with ``inner``, a part of each row."""

    operand: Operand
    lo: int | None = None
    hi: int | None = None
    inner: Inner = ()


class _Need(NamedTuple):
    """Rows of an array's memory that a want reads."""

    source: Source
    first: int
    stop: int
    stride: int
    inner: Inner = ()


def bind(
    graph: Graph,
    node: str,
    wants: Sequence[Want],
    data: list[Ref] | None = None,
    around: Sequence[Want] = (),
) -> tuple[Bindings, list[Ref]]:
    """Return how a task on ``node`` gets its operands, and the arguments that bring them.

    The arguments come after those in ``data``, which the task has already. ``around`` is what the
    task reads of the same operands altogether, where this is a part of it.
    """
    return _Binder(graph, node, data if data is not None else [], around).bind(wants)


def bind_in_turn(
    graph: Graph, node: str, blocks: Sequence[Sequence[Want]], around: Sequence[Want] = ()
) -> tuple[list[Bindings], list[Ref]]:
    """Return how a task gets the operands of blocks that it reads one after another.

    What is put together for one of them is let go of before the next.
    """
    found: list[Bindings] = []
    data: list[Ref] = []
    most = 0
    for wants in blocks:
        before = graph.reads.assembled(node)
        bindings, data = bind(graph, node, wants, data, around)
        found.append(bindings)
        copied = graph.reads.assembled(node) - before
        graph.reads.note_assembled(node, -copied)
        most = max(most, copied)
    graph.reads.note_assembled(node, most)
    return found, data


def bind_blocks(
    graph: Graph,
    rows: Range,
    grid: int,
    wants_of: Callable[[int, int], Sequence[Want]],
    data: list[Ref],
) -> tuple[list[Bindings], list[Ref]]:
    """Return how a task gets the operands of each block of ``grid`` rows.

    ``wants_of`` says what some rows read. Blocks that follow one another and lie in the same pieces
    are bound at once: binding takes longer than a short task.
    """
    found: list[Bindings] = []
    starts = range(rows.lo, rows.hi, grid)
    lying = ((_lies(graph, wants_of(lo, min(lo + grid, rows.hi)), lo), lo) for lo in starts)
    for together, blocks in groupby(lying, key=itemgetter(0)):
        los = [lo for _, lo in blocks]
        for some in [los] if together is not None else [[lo] for lo in los]:
            first, stop = some[0], min(some[-1] + grid, rows.hi)
            every, data = bind(graph, rows.node, wants_of(first, stop), data)
            if len(some) == 1:
                found.append(every)
                continue
            ends = [(lo - first, min(lo + grid, stop) - first) for lo in some]
            found += [every.block(lo, hi, together or ()) for lo, hi in ends]
    return found, data


def _lies(graph: Graph, wants: Sequence[Want], lo: int) -> tuple[int, ...] | None:
    """Return in which pieces a block lies that begins with a row: their first rows.

    It is -1 of what is read whole. None where it is to be bound by itself: where its rows are put
    together, sent, read from a file or made for it, and where it reads other rows than it gives.
    """
    found = []
    for want in wants:
        if want.lo is None:
            found.append(-1)
            continue
        source, need = want.operand.source, _need(want)
        passes = source is None or source in graph.passing or source.at_home() is not None
        if passes or need is None or want.lo != lo or want.inner:
            return None
        held = graph.require(need.source, need.first, need.stop)
        if len(held) != 1:
            return None
        found.append(held[0].start)
    return tuple(found)


def bind_by_rows(
    graph: Graph, node: str, wants: Sequence[Want], apart: Collection[int], rows: int
) -> tuple[Bindings, list[Ref]]:
    """Return the same for a task that reads the operands ``apart`` so many rows at a time.

    Where one lies in several pieces no more than those rows are put together.
    """
    before = graph.reads.assembled(node)
    bindings, data = bind(graph, node, wants)
    if graph.reads.assembled(node) == before:
        return bindings, data
    lying = [n for n, read in enumerate(bindings.reads) if isinstance(read, Read)]
    shared = {_window_of(bindings, n) for n in lying if n not in apart}
    spared: dict[int, int] = {}
    for number in apart:
        window, want = _window_of(bindings, number), wants[number]
        if bindings.lies_in_pieces(number) and window not in shared:
            assert want.operand.source is not None
            assert want.lo is not None
            assert want.hi is not None
            beyond = max(want.hi - want.lo - rows, 0)
            spared[window] = beyond * want.operand.source.row_bytes
    graph.reads.note_assembled(node, -sum(spared.values()))
    return bindings, data


def _window_of(bindings: Bindings, number: int) -> int:
    read = bindings.reads[number]
    return -1 if isinstance(read, Literal) else read.window


def in_one_piece(graph: Graph, wants: Sequence[Want]) -> bool:
    """Say whether no operand has to be put together from several pieces."""
    for need in map(_need, wants):
        if need is None or need.source.expr is not None:
            continue
        if len(graph.require(need.source, need.first, need.stop)) > 1:
            return False
    return True


def make_ready(graph: Graph, wants: Sequence[Want]) -> None:
    """Add the tasks that make what of these wants passes, each window of it at once."""
    needs = [need for want in wants if (need := _need(want)) is not None]
    for window in set(_merged([n for n in needs if n.source in graph.passing]).values()):
        graph.require(window.source, window.first, window.stop)


class _Binder:
    def __init__(
        self, graph: Graph, node: str, data: list[Ref], around: Sequence[Want] = ()
    ) -> None:
        self.graph = graph
        self.node = node
        self.data = data
        needs = [need for want in around if (need := _need(want)) is not None]
        self.around = set(_merged(needs).values())
        self.windows: list[tuple[Take, ...]] = []
        self._argument = {id(arg): number for number, arg in enumerate(data)}
        self._placed: dict[_Need, int] = {}
        self._parcels = {arg.origin: arg for arg in data if type(arg) is Parcel}

    def bind(self, wants: Sequence[Want]) -> tuple[Bindings, list[Ref]]:
        needs = [_need(want) for want in wants]
        merged = _merged([need for need in needs if need is not None])
        reads: list[Read | Literal] = []
        for want, need in zip(wants, needs, strict=True):
            if want.operand.source is None:
                reads.append(Literal(want.operand.value))
            elif need is None:
                reads.append(self._seen_at_home(want))
            else:
                reads.append(self._read(want, need, merged[need]))
        return Bindings(tuple(self.windows), tuple(reads)), self.data

    def _seen_at_home(self, want: Want) -> Read:
        """Look through the views at home, and send what is seen."""
        source = want.operand.source
        assert source is not None
        array = source.at_home()
        assert isinstance(array, np.ndarray)
        what = Seen(want.operand.views)
        if want.lo is not None and want.hi is not None:
            what = Seen(want.operand.views, (want.lo, want.hi, 1), want.inner)
        array = what.of(array)
        argument = self.graph.place(source, what, array, self.node)
        return Read(self._window([_whole_of(argument, array)]))

    def _read(self, want: Want, need: _Need, window: _Need) -> Read:
        if window not in self._placed:
            self._placed[window] = self._fetch(window, whole=want.lo is None)
        number = self._placed[window]
        views = want.operand.views
        if want.lo is None and len(views) == 1 and not window.source.is_here():
            return Read(number, (_moved(want, window),), None, want.inner)
        if want.lo is None or len(views) > 1:
            rows = None if want.lo is None else slice(want.lo, want.hi)
            return Read(number, views, rows, want.inner)
        assert want.hi is not None
        if not views:
            return Read(number, (), _rows(need.first - window.first, want.hi - want.lo, window))
        row_map = _row_map(want)
        if row_map is None:
            return Read(number, (_moved(want, window),), None, want.inner)
        return _local_read(number, want, row_map, window)._replace(inner=want.inner)

    def _fetch(self, need: _Need, *, whole: bool) -> int:
        source = need.source
        array = source.at_home()
        rows = need.stop - need.first
        plain = need.stride == 1 and not need.inner
        file = self.graph.file(source)
        if file is not None:
            rows_read = slice(need.first, need.stop, need.stride)
            return self._window([Piece(file, None, rows_read, need.inner, 0, 0)])
        apart = self.graph.sends_rows(source, rows) and plain
        if whole and source.nbytes <= TO_EACH_BYTES and not self.graph.segments(source):
            apart = False
        if array is not None and apart:
            self.graph.send_missing(source, self.node, need.first, need.stop)
        elif array is not None:
            part = isinstance(array, StoredRows) or _is_part(need, array)
            what = Seen((), (need.first, need.stop, need.stride) if part else None, need.inner)
            array = what.of(array)
            ref = self.graph.place(source, what, array, self.node)
            return self._window([_whole_of(ref, array)])
        if rows >= max(source.shape[0] if source.shape else 1, 1) and not need.inner:
            refuse_above_limit(source.nbytes, f"an operand of shape {source.shape} needed whole")
        wanted = (need.first, need.stop, need.stride)
        around = self._around(need) if plain else None
        pieces = self.graph.pieces(source, self.node, wanted, need.inner, self._parcels, around)
        if not pieces:  # an array without rows
            segment = self.graph.segments(source)[0]
            pieces = [Piece(segment.arg, segment.item, None, (), 0, 0)]
        return self._window(pieces)

    def _around(self, need: _Need) -> tuple[int, int] | None:
        """Return the rows that the task reads altogether, those of this need among them."""
        for window in self.around:
            inside = window.first <= need.first and need.stop <= window.stop
            if window.source is need.source and inside and window.stride == 1 and not window.inner:
                return window.first, window.stop
        return None

    def _window(self, pieces: list[Piece]) -> int:
        reads = self.graph.reads
        for piece in pieces:
            if not self.graph.lets_go(piece.arg):
                reads.note(self.node, piece, self._latest(piece))
        if self.graph.block is None and len(pieces) > 1:
            reads.note_assembled(self.node, sum(piece.nbytes for piece in pieces))
        elif self.graph.block is None and pieces[0].arrives and pieces[0].held > MESSAGE_BYTES:
            reads.note_joined(self.node, pieces[0])
        takes = [Take(self._argument_number(p.arg), p.item, p.rows, p.inner) for p in pieces]
        self.windows.append(tuple(takes))
        return len(self.windows) - 1

    def _latest(self, piece: Piece) -> int:
        """Return how late the task was added that gives what arrives; 0 for what is there."""
        if not piece.arrives:
            return 0
        given = piece.arg.data if type(piece.arg) is Parcel else [piece.arg]
        return max(map(self.graph.latest, given))

    def _argument_number(self, arg: Ref) -> int:
        identity = id(arg)
        if identity not in self._argument:
            self._argument[identity] = len(self.data)
            self.data.append(arg)
        return self._argument[identity]


def _is_part(need: _Need, array: np.ndarray) -> bool:
    return bool(array.ndim) and (need.first, need.stop, need.stride) != (0, len(array), 1)


def _whole_of(arg: Ref, array: np.ndarray) -> Piece:
    """Return all of an array of this process, which ``arg`` brings to the node."""
    return Piece(arg, None, None, (), array.nbytes, array.nbytes)


def _row_map(want: Want) -> RowMap | None:
    operand = want.operand
    if want.lo is None or len(operand.views) != 1 or operand.source is None:
        return None
    return operand.views[0].row_map(operand.source.shape, operand.source.dtype)


def _need(want: Want) -> _Need | None:
    """Return the rows of memory that a want reads; None for scalars and what is seen at home."""
    source = want.operand.source
    if source is None:
        return None
    row_map = _row_map(want)
    everything = _Need(source, 0, source.shape[0] if source.shape else 1, 1)
    if want.lo is None and len(want.operand.views) == 1 and not source.is_here():
        return _Need(source, *_spanned(want, source), 1)  # a few elements, as a rule
    if want.lo is None or want.hi is None or len(want.operand.views) > 1:
        seen_at_home = source.is_here() and want.operand.views
        return None if seen_at_home else everything
    if row_map is not None:
        last = want.hi - 1
        ends = (row_map.start + row_map.step * want.lo, row_map.start + row_map.step * last)
        return _Need(source, min(ends), max(ends) + 1, abs(row_map.step))
    if not want.operand.views:
        return _Need(source, want.lo, want.hi, 1, want.inner)
    if source.is_here():
        return None
    return _Need(source, *_spanned(want, source), 1)


def _spanned(want: Want, source: Source) -> tuple[int, int]:
    """Return the rows of the memory in which the wanted rows of a view lie."""
    view = _wanted_of_view(want)
    if not source.shape or not source.row_bytes or 0 in view.shape:
        return 0, source.shape[0] if source.shape else 1
    low, high = view.offset, view.offset + view.dtype.itemsize
    for extent, stride in zip(view.shape, view.strides, strict=True):
        reach = (extent - 1) * stride
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low // source.row_bytes, -(-high // source.row_bytes)


def _wanted_of_view(want: Want) -> Geometry:
    view = want.operand.views[0]
    if want.lo is None or want.hi is None:
        return view
    offset = view.offset + want.lo * view.strides[0]
    return Geometry(offset, (want.hi - want.lo, *view.shape[1:]), view.strides, view.dtype)


def _moved(want: Want, window: _Need) -> Geometry:
    """Return where the wanted rows of a view lie in a window of rows of its base."""
    view = _wanted_of_view(want)
    return view._replace(offset=view.offset - window.first * window.source.row_bytes)


def _merged(needs: Sequence[_Need]) -> dict[_Need, _Need]:
    """Map each need to its window: the union of the unit-stride needs that overlap it."""
    windows = {need: need for need in needs}
    dense = [need for need in windows if need.stride == 1 and not need.inner]
    for source in {need.source for need in dense}:
        run: list[_Need] = []
        for need in sorted((n for n in dense if n.source is source), key=lambda n: n.first):
            if run and need.first >= max(n.stop for n in run):
                run = []
            run.append(need)
            union = _Need(source, run[0].first, max(n.stop for n in run), 1)
            windows.update(dict.fromkeys(run, union))
    return windows


def _rows(begin: int, count: int, window: _Need) -> slice | None:
    length = -(-(window.stop - window.first) // window.stride)
    return None if (begin, count) == (0, length) else slice(begin, begin + count)


def _local_read(number: int, want: Want, row_map: RowMap, window: _Need) -> Read:
    """Return the read of a view's rows from a window of rows of its base."""
    source, view = want.operand.source, want.operand.views[0]
    assert source is not None
    assert want.lo is not None
    assert want.hi is not None
    count = want.hi - want.lo
    begin = (row_map.start + row_map.step * want.lo - window.first) // window.stride
    low = view.offset - row_map.start * source.row_bytes
    shape = (count, *view.shape[1:])
    plain = contiguous_strides(source.shape, source.dtype.itemsize)[1:]
    if (
        row_map.step > 0
        and low == 0
        and view.dtype == source.dtype
        and view.shape[1:] == source.shape[1:]
        and view.strides[1:] == plain
    ):
        return Read(number, (), _rows(begin, count, window))
    direction = 1 if row_map.step > 0 else -1
    strides = (direction * source.row_bytes, *view.strides[1:])
    offset = begin * source.row_bytes + low
    return Read(number, (Geometry(offset, shape, strides, view.dtype),))
