"""A phase with products as a chain of calls, which one machine code makes tile by tile.

Products are calls of NumPy's inner loops, and so are single steps that one call computes; all other
steps between two products are one compiled kernel (:mod:`dnumpy.kernels.sections`), or calls of
NumPy's loops where they cannot be one. Each call is a record: the address of the code, and how its
extents and its operands' addresses follow from the rows of the tile. The code that walks the
records is the same for all phases, so that it is compiled once and for all; it does not hold the
GIL, of which the tiled lowering has to ask for every step of every tile. Tiles and bits are those
of the tiled lowering.

A record holds, as 64-bit integers: loop, its data, whether the call is made once for each row (2:
it sums a row, by the helpers whose addresses stand in place of loop and data); four extents, and
how many each row adds to them; of three operands the address, the bytes from row to row, the bytes
from tile to tile, and the bytes from call to call; nine steps; then room for the addresses and
extents of the call at hand. That of a compiled kernel (3 in place of calls for rows) has its code
and its fields in place of loop and data, then the address and the number of entries of four: a
field that holds an address, the first one, and the bytes from row to row and from tile to tile.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.expr.geometry import Geometry, address_of, overlap
from dnumpy.kernels.codes import machine_code
from dnumpy.kernels.flags import ALL_FLAGS, fenv, forgets, noting, tells_faults, to_be_told
from dnumpy.kernels.helpers import STATE_BYTES, helper_source
from dnumpy.kernels.loops import InnerLoop, inner_loop, kinds_of, product_loop, resolved
from dnumpy.kernels.lower import code_of
from dnumpy.kernels.operands import (
    Lies,
    Unchained,
    adjacent,
    folded,
    one_step,
    spread,
    stacked,
    tall,
)
from dnumpy.kernels.sections import bound, by_width, in_order, section_of
from dnumpy.kernels.stretches import ANY_STRIDE, FORWARDS
from dnumpy.kernels.tiled import TOLD, Faults, TiledKernel
from dnumpy.ops.families import Contraction, Elementwise, Movement, Reduction
from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dnumpy.kernels.compile import Compiled
    from dnumpy.kernels.frames import Frame
    from dnumpy.kernels.operands import Home
    from dnumpy.kernels.sections import Bound
    from dnumpy.rewrite.phase import Phase, Step

_HEADER, _RECORD = 7, 40  # integers
_NOTING, _NOTED, _FORGETS = 3, 4, 39  # of the header the first two, as kernels/flags.py says
_DIMS, _MORE, _BASE, _BY_ROW, _BY_TILE, _BY_CALL, _STEPS = 3, 7, 11, 14, 17, 20, 23
_SUMS, _SECTION = 2, 3  # in place of whether there is a call for each row
_EXTREMES = (np.maximum, np.minimum)
_CELL = 16  # bytes of a constant

SOURCE = """\
def kernel(table, lo, hi):
    count = load_i8(table, 0, 0, 0)
    tile = load_i8(table, 1, 0, 0)
    at = lo - load_i8(table, 2, 0, 0)
    number = 0
    while lo < hi:
        rows = tile
        if hi - lo < rows:
            rows = hi - lo
        r = table + 56
        for _ in range(count):
            if load_i8(r, 2, 0, 0) == 3:
                e = load_i8(r, 3, 0, 0)
                for j in range(load_i8(r, 4, 0, 0)):
                    a = load_i8(e, 1, 0, 0) + at * load_i8(e, 2, 0, 0)
                    a += number * load_i8(e, 3, 0, 0)
                    store_i8(load_i8(e, 0, 0, 0), 0, a, 0, 0)
                    e += 32
                call_helper(load_i8(r, 0, 0, 0), load_i8(r, 1, 0, 0), 0, rows)
            else:
                calls = 1
                if load_i8(r, 2, 0, 0):
                    calls = rows
                for d in range(4):
                    extent = load_i8(r, 3 + d, 0, 0) + load_i8(r, 7 + d, 0, 0) * rows
                    store_i8(r, 35 + d, extent, 0, 0)
                for i in range(calls):
                    for k in range(3):
                        a = load_i8(r, 11 + k, 0, 0) + at * load_i8(r, 14 + k, 0, 0)
                        a += number * load_i8(r, 17 + k, 0, 0) + i * load_i8(r, 20 + k, 0, 0)
                        store_i8(r, 32 + k, a, 0, 0)
                    if load_i8(r, 2, 0, 0) == 2:
                        state = load_i8(r, 23, 0, 0)
                        store_i8(state, 0, 0, 0, 0)
                        n = load_i8(r, 35, 0, 0)
                        call_helper(load_i8(r, 0, 0, 0), load_i8(r, 32, 0, 0), n, state)
                        call_helper(load_i8(r, 1, 0, 0), state, load_i8(r, 33, 0, 0), 0)
                    else:
                        if load_i8(r, 39, 0, 0):
                            store_i8(table, 5, 0, 0, 0)
                            call_loop(load_i8(table, 3, 0, 0), 0, table + 40, ALL_FLAGS, 0)
                            raised = load_i8(table, 4, 0, 0) | load_i8(table, 5, 0, 0)
                            store_i8(table, 4, raised, 0, 0)
                        data = load_i8(r, 1, 0, 0)
                        call_loop(load_i8(r, 0, 0, 0), data, r + 256, r + 280, r + 184)
            r += 320
        at += rows
        lo += rows
        number += 1
""".replace("ALL_FLAGS", str(ALL_FLAGS))


class _Place(NamedTuple):
    """An address to be entered: that of ``home``, in this position of the table."""

    position: int
    home: Home
    offset: int


@dataclass(slots=True)
class _Table:
    """The records of a phase for values that lie in one way, without the addresses."""

    numbers: np.ndarray
    places: list[_Place] = field(default_factory=list)
    cells: list[tuple[int, np.dtype]] = field(default_factory=list)  # input, dtype
    sizes: list[int] = field(default_factory=list)  # of scratch buffers, in bytes
    sections: list[tuple[int, Bound]] = field(default_factory=list)  # position of the record


class ChainKernel:
    """Runs one phase; safe to run from several threads at once (scratch is per thread)."""

    lowering = "chain"

    def __init__(self, phase: Phase, tiled: TiledKernel | None = None) -> None:
        self.phase = phase
        self.tiled = tiled or TiledKernel(phase)
        self._variants: dict[tuple[Any, ...], Chain | None] = {}

    def run(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        lo: int,
        hi: int,
        origin: int = 0,
        told: Collection[str] = TOLD,
    ) -> Faults:
        """Compute rows ``lo:hi``; what is no chain runs tiled."""
        variant = self.variant_for(values, outs)
        if variant is not None and variant.run(values, outs, lo, hi, origin, told):
            return set()
        return self.tiled.run(values, outs, lo, hi, origin)

    def variant_for(self, values: Sequence[Any], outs: Sequence[np.ndarray]) -> Chain | None:
        """Return the chain for values that lie as these do, None where only NumPy will do."""
        kinds = kinds_of(self.phase, values)
        arrays = [v for v, i in zip(values, self.phase.inputs, strict=True) if i.dtype is not None]
        steps = tuple(a.strides for a in (*arrays, *outs))
        key = (kinds, steps)
        if key not in self._variants:
            try:
                made = Chain(self.phase, self.tiled, kinds, values, outs)
            except Unchained:
                made = None
            self._variants[key] = made
        found = self._variants[key]
        if found is None or not all(a.flags.aligned for a in (*arrays, *outs)):
            return None
        return found


class Chain:
    """The records of one phase, bound to data run by run."""

    source = SOURCE

    def __init__(
        self,
        phase: Phase,
        tiled: TiledKernel,
        kinds: tuple[Any, ...],
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
    ) -> None:
        if not tells_faults():
            raise Unchained
        self.phase = phase
        self.key = f"chain {hash(phase)}"
        self._table = _Writer(phase, tiled, kinds, values, outs).table()
        self._truncates = any(s.variant.program.truncates for _, s in self._table.sections)
        self._local = threading.local()
        self._code: Compiled | None = None
        self._helpers: dict[Home, int] = {}

    def _helper_homes(self) -> list[Home]:
        homes = {place.home for place in self._table.places}
        return sorted(home for home in homes if home[0] in {"sum", "finish"})

    @property
    def helpers(self) -> tuple[str, ...]:
        """The texts of the helpers and sections that the chain calls."""
        called = [helper_source(*map(str, home)) for home in self._helper_homes()]
        return (*called, *[text for _, made in self._table.sections for text in made.texts])

    @property
    def ready(self) -> bool:
        """Whether it is compiled."""
        return self._code is not None

    def run(
        self,
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
        lo: int,
        hi: int,
        origin: int = 0,
        told: Collection[str] = TOLD,
    ) -> bool:
        """Compute rows ``lo:hi``; False means that NumPy must compute them (again)."""
        if self._code is None:
            self._code = machine_code(SOURCE)
            self._helpers = {
                home: machine_code(helper_source(*map(str, home))).address
                for home in self._helper_homes()
            }
            for _, section in self._table.sections:
                section.variant.compile()
        arrays = [v for v in values if isinstance(v, np.ndarray)]
        if overlap(arrays, outs):
            return False
        numbers, homes, cells, frames = self._frame()
        homes.update((("in", k), address_of(v)) for k, v in enumerate(values) if _is_array(v))
        homes.update((("out", k), address_of(out)) for k, out in enumerate(outs))
        try:
            kept = self._enter_sections(numbers, frames, values, homes)
            for (given, dtype), cell in zip(self._table.cells, cells, strict=True):
                cell[...] = np.asarray(values[given], None if _is_number(values[given]) else dtype)
        except OverflowError:  # a Python integer beyond the dtype: NumPy knows what that means
            return False
        for position, home, offset in self._table.places:
            numbers[position] = homes[home] + offset
        numbers[2], numbers[_NOTING], numbers[_NOTED] = origin, noting(), 0
        flags = fenv()
        flags.feclearexcept(ALL_FLAGS)
        self._code(address_of(numbers), lo, hi)
        raised = flags.fetestexcept(ALL_FLAGS) | int(numbers[_NOTED])
        for frame in frames:
            raised |= int(frame.noted[0])
        del kept  # what sections read has to stay where it is until now
        return not to_be_told(raised, told, truncates=self._truncates)

    def _enter_sections(
        self,
        numbers: np.ndarray,
        frames: Sequence[Frame],
        values: Sequence[Any],
        homes: dict[Home, int],
    ) -> list[Any]:
        """Enter what the sections are to compute with; return what is to be kept meanwhile."""
        kept: list[Any] = []
        for (at, section), frame in zip(self._table.sections, frames, strict=True):
            entries, read = section.entered(frame, values, homes)
            frame.noted[0] = 0
            numbers[at], numbers[at + 1] = (
                section.variant.compile().address,
                address_of(frame.fields),
            )
            numbers[at + 3], numbers[at + 4] = address_of(entries), len(entries)
            kept += [entries, read]
        return kept

    def _frame(self) -> Any:
        """Return this thread's table, addresses of its scratch, constants, sections' frames."""
        try:
            found: Any = self._local.frame
        except AttributeError:
            buffers = [np.empty(size + 64, np.uint8) for size in self._table.sizes]
            homes = {("scratch", k): -(-address_of(b) // 64) * 64 for k, b in enumerate(buffers)}
            room = np.zeros((len(self._table.cells) + 1, _CELL), np.uint8)
            cells = [
                np.ndarray((), dtype, room[k]) for k, (_, dtype) in enumerate(self._table.cells)
            ]
            homes.update((("cell", k), address_of(c)) for k, c in enumerate(cells))
            codes = {home[1] for home in self._helper_homes()}
            states = {code: np.zeros(STATE_BYTES // 8, np.int64) for code in codes}
            homes.update((("state", code), address_of(state)) for code, state in states.items())
            homes.update(self._helpers)
            frames = [section.variant.take_frame() for _, section in self._table.sections]
            found = self._local.frame = (self._table.numbers.copy(), homes, cells, frames)
            self._local.buffers = buffers, room, states
        return found


def _is_array(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def _is_number(value: Any) -> bool:
    return isinstance(value, np.generic)


class _Writer:
    """Writes the records of a phase for values that lie as the given ones do."""

    def __init__(
        self,
        phase: Phase,
        tiled: TiledKernel,
        kinds: tuple[Any, ...],
        values: Sequence[Any],
        outs: Sequence[np.ndarray],
    ) -> None:
        self.phase = phase
        self.tiled = tiled
        self.kinds = kinds
        self.values = values
        self.outs = outs
        self.first = len(phase.inputs)
        numbers = np.zeros(_HEADER + 2 * _RECORD * len(phase.steps), np.int64)
        numbers[1] = phase.tile_rows
        self.made = _Table(numbers)
        self.lies: dict[int, Lies] = {}
        for slot, (given, value) in enumerate(zip(phase.inputs, values, strict=True)):
            if given.access is not Access.CONST:
                self.lies[slot] = _lies_as(slot, given.access, value)

    def table(self) -> _Table:
        """Return the table."""
        for found in in_order(self.phase):
            if isinstance(found, int):
                self._step(found)
            elif not self._section(found):
                for slots in by_width(self.phase, found):
                    if not self._section(slots):
                        for slot in slots:
                            self._step(slot)
        return self.made

    def _section(self, slots: Sequence[int]) -> bool:
        """Enter steps as one compiled kernel, if they can be that and are worth it."""
        section = section_of(self.phase, slots)
        if not section.steps:
            return True
        if self._is_one_call(section.steps):
            return False
        for slot in section.inputs:
            self._look_at(slot)
        self.lies.update((slot, self._result(slot)) for slot in section.outputs)
        made = bound(section, self.values, self.lies)
        if made is None:
            for slot in reversed(section.outputs):
                lies = self.lies.pop(slot)
                if lies.home == ("scratch", len(self.made.sizes) - 1):
                    self.made.sizes.pop()
            return False
        at = self._record()
        self.made.numbers[at + 2] = _SECTION
        self.made.sections.append((at, made))
        return True

    def _is_one_call(self, slots: Sequence[int]) -> bool:
        """Say whether one call of NumPy's loop computes all rows of a tile: nothing is faster."""
        steps = [self.phase.steps[slot - self.first] for slot in slots]
        arrays = [a for step in steps for a in step.args if self.phase.is_array(a)]
        return (
            len(steps) == 1
            and isinstance(steps[0].op, Elementwise)
            and steps[0].op.ufunc is not None
            and {self.phase.shape_of(a) for a in arrays} == {steps[0].shape}
        )

    def _step(self, slot: int) -> None:
        """Enter one step as calls of NumPy's loop."""
        step = self.phase.steps[slot - self.first]
        op = step.op
        for arg in step.args:
            self._look_at(arg)
        if isinstance(op, Movement):  # found once somebody reads it
            return
        self.lies[slot] = self._result(slot)
        if isinstance(op, Contraction):
            self._product(self._record(), slot, step)
        elif isinstance(op, Elementwise):
            self._elementwise(self._record(), slot, step, op)
        elif isinstance(op, Reduction) and op.ufunc is np.add:
            self._sum(self._record(), slot, step)
        elif isinstance(op, Reduction) and op.ufunc in _EXTREMES:
            self._extreme(slot, step, op.ufunc)
        else:
            raise Unchained

    def _look_at(self, slot: int) -> None:
        """Find out where a view lies that somebody reads."""
        if slot in self.lies or not self.phase.is_array(slot):
            return
        step = self.phase.steps[slot - self.first]
        self._look_at(step.args[0])
        self.lies[slot] = self._view(step)

    def _record(self) -> int:
        """Return the position of a new record."""
        count = self.made.numbers[0]
        self.made.numbers[0] += 1
        return _HEADER + _RECORD * int(count)

    def _view(self, step: Step) -> Lies:
        base, geometry = self.lies[step.args[0]], Geometry(*step.params)
        size = base.dtype.itemsize
        dense = base.steps == adjacent(base.rest, size) and base.row == prod(base.rest) * size
        if not dense or (not base.by_row and base.home[0] != "scratch"):
            raise Unchained
        return replace(
            base,
            rest=geometry.shape[1:],
            steps=geometry.strides[1:],
            dtype=geometry.dtype,
            offset=base.offset + geometry.offset,
        )

    def _folded_row(self, slot: int, step: Step) -> tuple[Lies, Lies, int]:
        """Return where an operand and the fold of its rows lie, and the elements of a row."""
        params: Any = step.params
        operand, out = self.lies[step.args[0]], self.lies[slot]
        axes = tuple(range(1, 1 + len(operand.rest)))
        plain = params.initial is None and not params.masked and operand.dtype == step.dtype
        if not plain or tuple(sorted(params.axis)) != axes or step.dtype.char not in "fd":
            raise Unchained
        if operand.steps != adjacent(operand.rest, step.dtype.itemsize):
            raise Unchained
        return operand, out, prod(operand.rest)

    def _sum(self, at: int, slot: int, step: Step) -> None:
        operand, out, width = self._folded_row(slot, step)
        numbers = self.made.numbers
        numbers[at + 2], numbers[at + _DIMS] = _SUMS, width
        code = code_of(step.dtype)
        if inner_loop(np.add, (step.dtype,) * 3) is None:
            raise Unchained
        for k, name in enumerate(("sum", "finish")):
            self.made.places.append(_Place(at + k, (name, code), 0))
        self.made.places.append(_Place(at + _STEPS, ("state", code), 0))
        for k, lies in enumerate((operand, out)):
            numbers[at + _BY_CALL + k] = lies.row
            self._enter(at, k, lies)

    def _extreme(self, slot: int, step: Step, ufunc: np.ufunc) -> None:
        """Enter a copy of each row's first element, and the fold of the others into it."""
        operand, out, width = self._folded_row(slot, step)
        if len(operand.rest) != 1 or width == 1:
            raise Unchained
        numbers, at = self.made.numbers, self._record()
        self._call(at, inner_loop(np.positive, (step.dtype,) * 2))
        numbers[at + _MORE] = 1
        for k, lies in enumerate((operand, out)):
            numbers[at + _STEPS + k] = lies.row
            self._enter(at, k, lies)
        at, size = self._record(), step.dtype.itemsize
        self._call(at, inner_loop(ufunc, (step.dtype,) * 3))
        numbers[at + 2], numbers[at + _DIMS] = 1, width - 1
        numbers[at + _STEPS + 1] = size
        rest = replace(operand, offset=operand.offset + size)
        for k, lies in enumerate((out, rest, out)):
            numbers[at + _BY_CALL + k] = lies.row
            self._enter(at, k, lies)

    def _result(self, slot: int) -> Lies:
        step = self.phase.steps[slot - self.first]
        kind, where = self.tiled.target(slot)
        rest = step.shape[1:]
        if kind == "scratch":  # of its own: steps run in another order than they are written in
            steps = adjacent(rest, step.dtype.itemsize)
            row = prod(rest) * step.dtype.itemsize
            self.made.sizes.append(self.phase.tile_rows * row)
            home = ("scratch", len(self.made.sizes) - 1)
            return Lies(home, rest, steps, row, step.dtype, by_row=False)
        out = self.outs[where]
        if kind == "partial":
            tile = out.strides[0]
            return Lies(("out", where), out.shape[1:], out.strides[1:], 0, step.dtype, tile=tile)
        if kind != "rows":
            raise Unchained
        return Lies(("out", where), rest, out.strides[1:], out.strides[0], step.dtype)

    def _enter(self, at: int, k: int, lies: Lies) -> None:
        """Enter where operand ``k`` of the record lies."""
        self.made.places.append(_Place(at + _BASE + k, lies.home, lies.offset))
        if lies.by_row:
            self.made.numbers[at + _BY_ROW + k] = lies.row

    def _call(self, at: int, loop: InnerLoop | None, *, product: bool = False) -> None:
        if loop is None:
            raise Unchained
        self.made.numbers[at : at + 2] = loop.function, loop.data
        self.made.numbers[at + _FORGETS] = not product and forgets(loop)

    def _product(self, at: int, slot: int, step: Step) -> None:
        numbers, out = self.made.numbers, self.lies[slot]
        left, right = (self.lies[arg] for arg in step.args)
        if not left.dtype == right.dtype == step.dtype:
            raise Unchained
        self._call(at, product_loop(step.dtype), product=True)
        assert isinstance(step.op, Contraction)
        if step.op.folds:
            extents, more, steps = folded(left, right, out)
            numbers[at + _BY_TILE + 2] = out.tile
        elif len(left.rest) > 1:
            extents, more, steps = stacked(left, right, out)
        else:
            extents, more, steps = tall(left, right, out)
        numbers[at + _DIMS : at + _DIMS + 4] = extents
        numbers[at + _MORE : at + _MORE + 4] = more
        numbers[at + _STEPS : at + _STEPS + 9] = steps
        for k, lies in enumerate((left, right, out)):
            self._enter(at, k, lies)

    def _elementwise(self, at: int, slot: int, step: Step, op: Elementwise) -> None:
        if op.ufunc is None or step.params or op.ufunc.nout != 1 or len(step.args) > 2:
            raise Unchained
        kinds = tuple(self.kinds[a] if a < self.first else self.lies[a].dtype for a in step.args)
        types = resolved(op.ufunc, kinds)
        if types is None or types[-1] != step.dtype:
            raise Unchained
        self._call(at, inner_loop(op.ufunc, types))
        operands = [
            self._operand(arg, dtype, step) for arg, dtype in zip(step.args, types, strict=False)
        ]
        self._walk(at, [*operands, self.lies[slot]], step, op)

    def _operand(self, slot: int, dtype: np.dtype, step: Step) -> Lies:
        """Return where an operand of a loop over ``dtype`` lies, spread to the step's rows."""
        if slot not in self.lies:
            self.made.cells.append((slot, dtype))
            home = ("cell", len(self.made.cells) - 1)
            rest = step.shape[1:]
            return Lies(home, rest, (0,) * len(rest), 0, dtype, by_row=False)
        lies = self.lies[slot]
        if lies.dtype != dtype:
            raise Unchained
        return spread(lies, step.shape[1:])

    def _walk(self, at: int, operands: Sequence[Lies], step: Step, op: Elementwise) -> None:
        """Enter extents and steps: one call for all rows where that is one run, else one a row."""
        numbers, width = self.made.numbers, prod(step.shape[1:])
        within = [one_step(x) for x in operands]
        if width == 1:
            within = [x.row for x in operands]
        flat = all(x.row == width * inner for x, inner in zip(operands, within, strict=True))
        numbers[at + _DIMS], numbers[at + _MORE] = (0, width) if flat else (width, 0)
        numbers[at + 2] = not flat
        for k, (lies, inner) in enumerate(zip(operands, within, strict=True)):
            apart = inner not in (0, lies.dtype.itemsize) and op.loop not in ANY_STRIDE
            if apart or (inner < 0 and op.loop in FORWARDS):
                raise Unchained
            numbers[at + _STEPS + k] = inner
            numbers[at + _BY_CALL + k] = 0 if flat else lies.row
            self._enter(at, k, lies)


def _lies_as(slot: int, access: Access, value: np.ndarray) -> Lies:
    if access is Access.WHOLE:
        return Lies(("in", slot), value.shape, value.strides, 0, value.dtype, by_row=False)
    return Lies(("in", slot), value.shape[1:], value.strides[1:], value.strides[0], value.dtype)
