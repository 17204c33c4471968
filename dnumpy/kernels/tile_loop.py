"""A phase's steps over its tiles by the module in C: one call for all tiles, shared among threads.

The tiled lowering is a loop over tiles, in which each step is one of NumPy's inner loops. In Python
each turn of it costs more than NumPy takes for a tile, and threads wait for the interpreter
between two steps. Here the loop is in C (``native/tiles.c``): operands are described once, as they
lie for the first tile, with how many bytes further they lie for the next one; each thread has
scratch of its own. The steps are those of :mod:`~dnumpy.kernels.stretches`, and folds in the order
of :mod:`~dnumpy.kernels.sums`, so that the bits are those of the steps one by one.

A product is one call of the loop of ``matmul`` a tile, as in the steps one by one: of other rows at
once a library may give other bits. Threads that draw tiles multiply by one thread each.

A phase of which one step is something else (a draw, the place of a maximum) is not run so, nor is a
run whose results lie in memory that it reads.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy import native
from dnumpy.expr.geometry import Geometry, overlap
from dnumpy.kernels import sums
from dnumpy.kernels.buffers import laid_out
from dnumpy.kernels.flags import fault_words, tells_faults
from dnumpy.kernels.loops import inner_loop, kinds_of, product_loop
from dnumpy.kernels.steps import view_of_tile
from dnumpy.kernels.stretches import NO_MASK, Cell, Writer, loop_code
from dnumpy.ops.families import Contraction, Movement, Reduction
from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from dnumpy.rewrite.phase import Phase, Step

    Faults = set[tuple[int, str]]

_LOOP, _FOLD, _FOLD_FROM_ZERO, _PRODUCT, _SUM = range(5)  # as native/tiles.c has them
_SUMS = ("tiles", "columns", "chunks", "rows", "numpys rows", "middle", "within")
_NUMBERS = 11  # of a record: its kind, and those of a stretch
# what an element may be folded into twice
_IDEMPOTENT = frozenset({
    np.maximum, np.minimum, np.fmax, np.fmin, np.logical_or, np.logical_and, np.bitwise_or,
    np.bitwise_and,
})  # fmt: skip
SIDE_BY_SIDE = "side by side"
_FROM_ZERO = frozenset({np.add, np.bitwise_xor, np.logical_xor})
MISSES = 3  # runs in a row, after which none is tried


class Folded(NamedTuple):
    """How a fold sees its operand and its result, each in a slot after all others.

    The operand is seen in the ``way`` of its sum, if it is one of floats, or has to lie ``side by
    side``; the result has one element along the ``axes``.
    """

    operand: int
    result: int
    axes: tuple[int, ...]
    way: str | None


class Cast(NamedTuple):
    """An operand in the dtype of the loop that reads it, in a slot after all constants.

    It lies in the scratch of the operands of this number, which the next step writes over.
    """

    given: int
    dtype: np.dtype
    number: int


class TileLoop(NamedTuple):
    """The records of a phase for inputs of some kinds, and what has slots after all others."""

    records: np.ndarray
    numbers: tuple[int, ...]  # of the step of each record
    views: tuple[tuple[int, int, Geometry], ...]  # the slots of views of arrays, and how they see
    cells: tuple[Cell, ...]
    casts: tuple[Cast, ...]
    folds: tuple[Folded, ...]
    casts_at: tuple[int, ...]  # where in scratch operands that are cast lie, by number
    scratch_bytes: int  # with theirs


class Tiles(NamedTuple):
    """So many ``rows`` from ``start`` on, in whole tiles but for one that has fewer.

    The inputs begin with row ``origin``, and partial results with the entry ``number``.
    """

    start: int
    rows: int
    origin: int
    number: int


class _CastingWriter(Writer):
    """Writes records of steps, and of the casts of what they read in another dtype."""

    casts: list[Cast]
    made: list[list[int]]  # the records of those for one step

    def operand(self, slot: int, dtype: np.dtype, *, unsafe: bool) -> int | None:
        """Return the slot in which an operand lies in this dtype; less than 0 for a cast."""
        found = super().operand(slot, dtype, unsafe=unsafe)
        return self.cast(slot, dtype) if found is None else found

    def cast(self, slot: int, dtype: np.dtype) -> int | None:
        """Return the number, less than 0, of what casts an operand; None where NumPy must."""
        given = self.phase.dtype_of(slot)
        address = self.own.get(f"{loop_code(given)} {loop_code(dtype)}")
        if address is None or (given.kind == "f" and dtype.kind in "iu"):
            return None
        self.casts.append(Cast(slot, dtype, len(self.made)))
        self.made.append([_LOOP, address, 0, 2, slot, -len(self.casts), 0, 0, 0, 0, NO_MASK])
        return -len(self.casts)


def tile_loop_of(
    phase: Phase, kinds: Sequence[Any], scratch: Collection[int], scratch_bytes: int
) -> TileLoop | None:
    """Return how the module in C runs a phase, None where a step is nothing that it can run.

    Parameters
    ----------
    phase
        What is to be run.
    kinds
        What NEP 50 sees of each input.
    scratch, scratch_bytes
        The slots of results that lie in scratch, views of such included, and what those take.
    """
    if not native.built or not tells_faults():
        return None
    return _Described(phase, kinds, scratch).loop(scratch_bytes)


class _Described:
    """The steps of a phase as records, as far as they can be."""

    def __init__(self, phase: Phase, kinds: Sequence[Any], scratch: Collection[int]) -> None:
        self.phase, self.scratch = phase, scratch
        self.rows = {o.slot for o in phase.outputs if not o.partial}
        self.partials = {o.slot for o in phase.outputs if o.partial}
        self.writer = _CastingWriter(phase, kinds, frozenset(scratch), self.rows)
        self.writer.casts = []
        self.records: list[list[int]] = []
        self.numbers: list[int] = []
        self.views: list[tuple[int, int, Geometry]] = []
        self.folds: list[tuple[int, Folded]] = []  # and the number of the record

    def loop(self, scratch_bytes: int) -> TileLoop | None:
        """Return all records, None where there is none of some step."""
        phase, first = self.phase, len(self.phase.inputs)
        for number, step in enumerate(phase.steps):
            slot = first + number
            self.writer.made = []
            if isinstance(step.op, Movement):
                if not self._sees(slot, step):
                    return None
                continue
            fold = isinstance(step.op, Reduction)
            if isinstance(step.op, Contraction):
                record = self._product(slot, step, step.op)
            else:
                record = self._fold(slot, step) if fold else self._call(slot, step)
            if record is None:
                return None
            self.records += [*self.writer.made, record]
            self.numbers += [number] * (len(self.writer.made) + 1)
            if fold:
                self.folds[-1] = len(self.records) - 1, self.folds[-1][1]
        return self._together(scratch_bytes) if self.records else None

    def _together(self, scratch_bytes: int) -> TileLoop:
        writer, phase = self.writer, self.phase
        casts = tuple(writer.casts)
        first_cast = len(phase.inputs) + len(phase.steps) + len(writer.cells)
        after = first_cast + len(casts)
        for k, (at, _) in enumerate(self.folds):
            self.records[at][4:6] = after + 2 * k, after + 2 * k + 1
        table = np.array(self.records, np.int64).reshape(-1, _NUMBERS)
        slots = table[:, 4:8]
        slots[slots < 0] = first_cast - 1 - slots[slots < 0]
        folds = [
            f if f.operand >= 0 else f._replace(operand=first_cast - 1 - f.operand)
            for _, f in self.folds
        ]
        sizes = [0] * (1 + max([c.number for c in casts], default=-1))
        for cast in casts:
            needed = self._count_of(cast.given) * cast.dtype.itemsize
            sizes[cast.number] = max(sizes[cast.number], needed)
        starts, end = laid_out(sizes)
        return TileLoop(
            table,
            tuple(self.numbers),
            tuple(self.views),
            tuple(writer.cells),
            casts,
            tuple(folds),
            tuple(scratch_bytes + start for start in starts),
            scratch_bytes + end,
        )

    def _count_of(self, slot: int) -> int:
        """Return how many elements an operand has of a tile."""
        phase, shape = self.phase, self.phase.shape_of(slot)
        whole = slot < len(phase.inputs) and phase.inputs[slot].access is Access.WHOLE
        return prod(shape) if whole else phase.tile_rows * prod(shape[1:])

    def _sees(self, slot: int, step: Step) -> bool:
        """Note a view: of scratch it is there already, of rows of an array it can be made."""
        if slot in self.scratch:
            return True
        given, inputs = step.args[0], self.phase.inputs
        moves = given in self.rows or given in {seen for seen, *_ in self.views}
        if given < len(inputs):
            moves = inputs[given].access is Access.ROWS
        if moves:
            self.views.append((slot, given, Geometry(*step.params)))
        return moves

    def _call(self, slot: int, step: Step) -> list[int] | None:
        record = None if slot in self.partials else self.writer.record(slot, step)
        return None if record is None else [_LOOP, *record]

    def _product(self, slot: int, step: Step, op: Contraction) -> list[int] | None:
        """Return the numbers of rows times what each tile reads whole, or of a fold of products."""
        phase, (left, right) = self.phase, step.args
        if op.folds != (slot in self.partials) or {*map(phase.dtype_of, step.args)} != {step.dtype}:
            return None
        whole = [
            s < len(phase.inputs) and phase.inputs[s].access is Access.WHOLE for s in step.args
        ]
        axes = len(phase.shape_of(left))
        if whole != [False, not op.folds] or axes > 2 or (axes < 2 and not op.folds):
            return None
        loop = product_loop(step.dtype)
        if loop is None or len(phase.shape_of(right)) > 2:
            return None
        slots = left, right, slot, 0
        return [_PRODUCT, loop.function, loop.data, 3, *slots, int(op.folds), 0, NO_MASK]

    def _fold(self, slot: int, step: Step) -> list[int] | None:
        """Return the numbers of a fold but for its slots, and note how it sees what it has."""
        phase, params, operand = self.phase, step.params, step.args[0]
        ufunc, axes = step.op.ufunc, tuple(params.axis)  # type: ignore[attr-defined]
        if ufunc is None or params.masked or params.initial is not None:  # type: ignore[attr-defined]
            return None
        shape = phase.shape_of(operand) if phase.is_array(operand) else ()
        if not axes or not shape or 0 in shape or (slot in self.partials) != (0 in axes):
            return None
        if ufunc is np.add and step.dtype.char in "fd":
            return self._sum(slot, step, shape, axes)
        found = self._loop_of(ufunc, phase.dtype_of(operand), step.dtype)
        if found is None:
            return None
        kind, way = _FOLD if ufunc in _IDEMPOTENT else _FOLD_FROM_ZERO, None
        if step.dtype.kind == "c":  # whose loop sums in pairs, as far as it is called for
            way = SIDE_BY_SIDE
            if axes != tuple(range(axes[0], len(shape))):
                return None
        self.folds.append((0, Folded(operand, slot, axes, way)))
        return [kind, *found, 2, *[0] * 6, NO_MASK]

    def _loop_of(self, ufunc: np.ufunc, given: np.dtype, dtype: np.dtype) -> tuple[int, int] | None:
        """Return the loop that folds elements in any order, and its data; None if NumPy must."""
        in_order = dtype.char in "FD" and ufunc is np.add
        extreme = dtype.char in "fd" and ufunc in _IDEMPOTENT
        if dtype.kind not in "biu" and not extreme and not in_order:
            return None
        if ufunc is np.add and not in_order:
            address = self.writer.own.get(f"sum {loop_code(given)} {loop_code(dtype)}")
            return address and (address, 0)
        if given != dtype or ufunc not in _IDEMPOTENT | _FROM_ZERO:
            return None
        loop = inner_loop(ufunc, (given,) * 3)
        return None if loop is None else (loop.function, loop.data)

    def _sum(
        self, slot: int, step: Step, shape: tuple[int, ...], axes: tuple[int, ...]
    ) -> list[int] | None:
        """Return the same of a sum of floats, whose order is ours."""
        operand: int | None = step.args[0]
        assert operand is not None
        way = sums.way_of(shape, _strides(shape, step.dtype.itemsize), axes)
        if way is None or sums.folds_short_axes(shape, axes):
            return None
        if self.phase.dtype_of(operand) != step.dtype:
            if way.kind not in {"tiles", "rows"}:  # NumPy casts as it goes, in an order of its own
                return None
            operand = self.writer.cast(operand, step.dtype)
            if operand is None:
                return None
        self.folds.append((0, Folded(operand, slot, axes, way.kind)))
        return [_SUM + _SUMS.index(way.kind), 0, 0, 2, *[0] * 6, NO_MASK]


def _strides(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Return the strides of an array whose elements lie side by side."""
    strides, by = [], itemsize
    for extent in reversed(shape):
        strides.append(by)
        by *= extent
    return tuple(reversed(strides))


class Binding:
    """What the slots of a phase hold for its first tile, and by how much that moves on."""

    def __init__(self, loop: TileLoop, phase: Phase) -> None:
        self._loop, self._phase = loop, phase
        self._after = len(phase.inputs) + len(phase.steps)
        size = self._after + len(loop.cells) + len(loop.casts) + 2 * len(loop.folds)
        self.values: list[Any] = [None] * size
        self.moves = np.zeros((size, 2), np.int64)

    def binds(
        self,
        tiles: Tiles,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        views: dict[int, np.ndarray],
        scratch: np.ndarray,
    ) -> bool:
        """Bind all that the records read and write; False where it does not lie as it has to.

        The ``views`` are those of the first thread's ``scratch``.
        """
        for slot, view in views.items():
            self.values[slot] = view
            self.moves[slot, 1] = self._loop.scratch_bytes
        self._bind_rows(tiles, values, outs)
        if not self._bind_views() or not self._bind_constants(values):
            return False
        self._bind_casts(scratch)
        return self._bind_folds()

    def _bind_rows(self, tiles: Tiles, values: Sequence[Any], outs: Sequence[np.ndarray]) -> None:
        held, moves, size = self.values, self.moves, self._phase.tile_rows
        start = tiles.start - tiles.origin
        stop = start + min(size, tiles.rows)
        for k, given in enumerate(self._phase.inputs):
            if given.access is Access.ROWS:
                held[k] = values[k][start:stop]
                moves[k, 0] = size * values[k].strides[0]
            elif given.access is Access.WHOLE:
                held[k] = values[k]
        for output, out in zip(self._phase.outputs, outs, strict=True):
            if output.partial:
                held[output.slot] = out[tiles.number : tiles.number + 1]
                moves[output.slot, 0] = out.strides[0]
            else:
                held[output.slot] = out[start:stop]
                moves[output.slot, 0] = size * out.strides[0]

    def _bind_views(self) -> bool:
        for slot, given, geometry in self._loop.views:
            rows = self.values[given]
            if not rows.flags.c_contiguous:
                return False
            self.values[slot] = view_of_tile(rows, geometry)
            self.moves[slot] = self.moves[given]
        return True

    def _bind_constants(self, values: Sequence[Any]) -> bool:
        cells = self._loop.cells
        if not cells:
            return True
        try:
            with np.errstate(all="raise", under="ignore"):
                made = [cell.in_memory(values) for cell in cells]
        except (OverflowError, FloatingPointError):
            return False  # NumPy has something to tell of a constant
        self.values[self._after : self._after + len(cells)] = made
        return True

    def _bind_casts(self, scratch: np.ndarray) -> None:
        loop, held = self._loop, self.values
        for at, cast in enumerate(loop.casts, start=self._after + len(loop.cells)):
            start = loop.casts_at[cast.number]
            held[at] = np.ndarray(held[cast.given].shape, cast.dtype, scratch, start)
            self.moves[at, 1] = loop.scratch_bytes

    def _bind_folds(self) -> bool:
        held, moves = self.values, self.moves
        at = self._after + len(self._loop.cells) + len(self._loop.casts)
        for folded in self._loop.folds:
            seen = _seen(held[folded.operand], folded)
            result = _kept(held[folded.result], held[folded.operand].shape, folded.axes)
            if seen is None or result is None:
                return False
            held[at], held[at + 1] = seen, result
            moves[at], moves[at + 1] = moves[folded.operand], moves[folded.result]
            at += 2
        return True


def _seen(operand: np.ndarray, folded: Folded) -> np.ndarray | None:
    if folded.way is None or folded.way == SIDE_BY_SIDE:
        return operand if folded.way is None or operand.flags.c_contiguous else None
    way = sums.way_of(operand.shape, operand.strides, folded.axes)
    if way is None or way.kind != folded.way:
        return None
    return operand.reshape(way.shape)


def _kept(result: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray | None:
    """Return a result with one element along the axes that were folded, None if it were a copy."""
    kept = tuple([1 if k in axes else n for k, n in enumerate(shape)])
    if result.shape == kept:
        return result
    seen = result.reshape(kept)
    return seen if np.may_share_memory(seen, result) else None


class TileLoops:
    """A phase's loop over tiles in C, for inputs of each kind that has come."""

    def __init__(self, phase: Phase) -> None:
        self._phase = phase
        self._known: dict[tuple[Any, ...], TileLoop | None] = {}
        self._missed = 0  # runs in a row that had to go another way

    @property
    def may_run(self) -> bool:
        """Whether a run may go this way, as far as is known."""
        return self._missed < MISSES

    def loop_for(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        scratch: Callable[[], Collection[int]],
        scratch_bytes: int,
    ) -> TileLoop | None:
        """Return the loop that runs on such values, None where steps have to be run one by one.

        See :func:`tile_loop_of` for what ``scratch`` gives, and its bytes.
        """
        kinds = kinds_of(self._phase, values)
        if kinds not in self._known:
            self._known[kinds] = tile_loop_of(self._phase, kinds, scratch(), scratch_bytes)
        loop = self._known[kinds]
        if loop is not None and overlap([v for v in values if type(v) is np.ndarray], outs):
            loop = None
        self._missed += loop is None
        return loop

    def run(
        self,
        loop: TileLoop,
        lent: tuple[np.ndarray, Callable[[np.ndarray, int], dict[int, np.ndarray]]],
        arrays: tuple[Sequence[Any], Sequence[np.ndarray]],
        where: tuple[int, int, int],
        shares: tuple[int, int],
    ) -> Faults | None:
        """Compute rows ``lo:hi`` of arrays, values and outputs, that begin with row ``origin``.

        What is ``lent`` is scratch for all threads, and what gives the first one's for so many
        rows; ``shares`` says how many tiles a batch has, and how many threads draw them. Returns
        the faults of each step; None where steps have to be run one by one, from the first tile on.
        """
        (scratch, views), (lo, hi, origin), (batch, threads) = lent, where, shares
        size = self._phase.tile_rows
        full, rest = divmod(hi - lo, size)
        parts = [(Tiles(lo, full * size, origin, 0), full)] if full else []
        if rest:
            parts.append((Tiles(hi - rest, rest, origin, full), 1))
        faults: Faults = set()
        for tiles, count in parts:
            raised, bound = None, Binding(loop, self._phase)
            if bound.binds(tiles, *arrays, views(scratch, min(size, tiles.rows)), scratch):
                raised = native.run_tiles(
                    bound.values, loop.records, bound.moves, count, batch, min(threads, count)
                )
            if raised is None or raised is False:
                self._missed += 1
                return None
            for record, flags in raised:
                faults.update((loop.numbers[record], word) for word in fault_words(flags))
        self._missed = 0
        return faults
