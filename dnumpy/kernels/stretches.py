"""Steps of a tile that the module in C runs one after the other, by NumPy's own inner loops.

A call of NumPy's begins with Python and ends with waiting for the interpreter, which costs more
than the loop over a tile takes. A *stretch* is a run of adjacent steps that are such loops (ufuncs,
casts, ``where``) and views of what they gave: it is one call (``native/stretches.c``), for which
nobody holds the interpreter. Operands, scratch, order and bits are those of the single calls. Where
one operand lies as NumPy would copy it, NumPy runs that step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy import native
from dnumpy.kernels.flags import fault_words, tells_faults
from dnumpy.kernels.loops import inner_loop, resolved
from dnumpy.kernels.steps import is_plain
from dnumpy.ops.families import Elementwise, Movement
from dnumpy.ops.table import CAST, CHOSEN, FULL, WHERE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet

    from dnumpy.rewrite.phase import Phase, Step

_MOST_OPERANDS = 4  # the result is one
NO_MASK = -1  # of a record
_NUMBERS = 10  # of a record: loop, data, count, slots, which steps matter, if it stops, mask
_KINDS = "biufc"
# classes of loops whose bits do not depend on how far apart their operands' elements lie; those
# of FORWARDS do where some lie backwards, of which NumPy's ufuncs make the other way round
ANY_STRIDE = frozenset({"arith", "div", "sqrt", "exp", "compare", "cast", "select"})
FORWARDS = frozenset({"exp"})


class Untold(Exception):  # noqa: N818 - an answer, not an error
    """NumPy has something to tell of a constant, at the step that reads it."""


class Cell(NamedTuple):
    """A constant in memory, in the dtype of its loop; cast ``unsafe`` where ``where`` reads it.

    It is an input's, or a ``value`` where there is no input ``given``.
    """

    given: int
    dtype: np.dtype
    unsafe: bool
    value: Any = None

    def in_memory(self, values: Sequence[Any]) -> np.ndarray:
        """Return it; raises OverflowError where the dtype cannot hold it."""
        value = self.value if self.given < 0 else values[self.given]
        if self.unsafe or isinstance(value, np.generic | np.ndarray):
            return np.asarray(value).astype(self.dtype, casting="unsafe")
        return np.array(value, self.dtype)


class Stretch(NamedTuple):
    """Steps ``first:stop`` of a phase. NumPy runs them one by one where there are no records.

    ``numbers`` are those of the steps that have records, ``placed`` of those whose results are not
    scratch.
    """

    first: int
    stop: int
    records: np.ndarray | None
    numbers: tuple[int, ...] = ()
    placed: tuple[int, ...] = ()


class Stretches(NamedTuple):
    """All steps of a phase in order, and the constants that have slots after all others."""

    parts: tuple[Stretch, ...]
    cells: tuple[Cell, ...]

    def fill(self, values: Sequence[Any]) -> list[np.ndarray]:
        """Return the constants in memory; raises Untold where a dtype cannot hold one as it is."""
        try:
            with np.errstate(all="raise", under="ignore"):
                return [cell.in_memory(values) for cell in self.cells]
        except (OverflowError, FloatingPointError) as error:
            raise Untold from error


def stretches_of(
    phase: Phase, kinds: Sequence[Any], scratch: AbstractSet[int], rows: AbstractSet[int]
) -> Stretches | None:
    """Return the phase's steps in stretches, None where that would save nothing.

    Parameters
    ----------
    phase
        What is to be run.
    kinds
        What NEP 50 sees of each input.
    scratch, rows
        The slots of results that lie in scratch, views of such included, and in outputs.
    """
    if not native.built or not tells_faults():
        return None
    writer = Writer(phase, kinds, scratch, rows)
    parts = tuple(writer.parts())
    if len(parts) == len(phase.steps):
        return None
    return Stretches(parts, tuple(writer.cells))


def run_stretch(env: list[Any], stretch: Stretch, begin: int) -> tuple[int, Iterable[Any]]:
    """Run the records from ``begin`` on.

    Returns the number of the first one that NumPy has to run, and ``(record, what happened)`` of
    those that were run.
    """
    found = native.run_stretch(env, stretch.records, begin)
    if type(found) is int:
        return found, ()
    stop, raised = found
    return stop, [(record, word) for record, flags in raised for word in fault_words(flags)]


class Writer:
    """Writes the records of a phase."""

    def __init__(
        self,
        phase: Phase,
        kinds: Sequence[Any],
        scratch: AbstractSet[int],
        rows: AbstractSet[int],
    ) -> None:
        self.phase, self.kinds = phase, kinds
        self.scratch, self.rows = scratch, rows
        self.first = len(phase.inputs)
        self.cells: list[Cell] = []
        self.own = native.own_loops()

    def parts(self) -> Iterable[Stretch]:
        """Yield the steps in order, as many together as may be."""
        begin, records, numbers, placed = 0, [], [], []
        for number, step in enumerate(self.phase.steps):
            slot = self.first + number
            lies = slot in self.scratch or slot in self.rows
            if isinstance(step.op, Movement) and slot in self.scratch:
                continue
            record = self.record(slot, step) if lies else None
            if record is not None:
                records.append(record)
                numbers.append(number)
                placed += [number] if slot in self.rows else []
                continue
            if begin < number:
                yield _stretch(begin, number, records, numbers, placed)
            yield Stretch(number, number + 1, None)
            begin, records, numbers, placed = number + 1, [], [], []
        if begin < len(self.phase.steps):
            yield _stretch(begin, len(self.phase.steps), records, numbers, placed)

    def record(self, slot: int, step: Step) -> list[int] | None:
        """Return the numbers of a step, None where only NumPy can run it."""
        op, args = step.op, step.args
        if op is FULL and step.dtype.kind in _KINDS:
            return self._fill(slot, step)
        if not isinstance(op, Elementwise) or step.dtype.kind not in _KINDS:
            return None
        chosen = stops = step.params == CHOSEN
        if op is CAST or op is WHERE:
            loop = self._own(step)
            stops = op is CAST and step.dtype.kind in "iu"  # of what does not fit
        elif is_plain(step) or (chosen and op.ufunc is not None):
            args = args[:-1] if chosen else args
            loop = self._numpys(step, op, args)
        else:
            loop = None
        if loop is None or len(args) >= _MOST_OPERANDS:
            return None
        function, data, dtypes = loop
        slots: list[int] = []
        for arg, dtype in zip(args, dtypes, strict=True):
            found = self.operand(arg, dtype, unsafe=op is WHERE)
            if found is None:
                return None
            slots.append(found)
        filled = [*slots, slot, *[0] * (_MOST_OPERANDS - 1 - len(slots))]
        is_masked = chosen and self.phase.is_array(step.args[-1])
        mask = step.args[-1] if is_masked else NO_MASK
        return [function, data, len(slots) + 1, *filled, _matters(op.loop), stops, mask]

    def _fill(self, slot: int, step: Step) -> list[int] | None:
        """Return the numbers of what fills its result with a constant."""
        function = self.own.get(f"{loop_code(step.dtype)} {loop_code(step.dtype)}")
        if function is None:
            return None
        given = self._constant(Cell(-1, step.dtype, unsafe=False, value=step.params[0]))
        return [function, 0, 2, given, slot, 0, 0, 0, 0, NO_MASK]

    def _kind(self, slot: int) -> Any:
        return self.kinds[slot] if slot < self.first else self.phase.dtype_of(slot)

    def _numpys(
        self, step: Step, op: Elementwise, args: tuple[int, ...]
    ) -> tuple[int, int, tuple[np.dtype, ...]] | None:
        assert op.ufunc is not None
        if op.name.startswith("foreign."):  # another library's, which may know nothing of types
            return None
        types = resolved(op.ufunc, tuple(map(self._kind, args)))
        if op.ufunc.nout != 1 or types is None or types[-1] != step.dtype:
            return None
        if any(t.kind not in _KINDS for t in types):
            return None
        loop = inner_loop(op.ufunc, types)
        return None if loop is None else (loop.function, loop.data, types[:-1])

    def _own(self, step: Step) -> tuple[int, int, tuple[np.dtype, ...]] | None:
        if not self.phase.is_array(step.args[0]):
            return None
        given = self._kind(step.args[0])
        if step.op is CAST:
            function = self.own.get(f"{loop_code(given)} {loop_code(step.dtype)}")
            return function and (function, 0, (given,))
        function = self.own.get(f"where {step.dtype.itemsize}")
        if function is None or given != np.dtype(bool):
            return None
        return function, 0, (given, step.dtype, step.dtype)

    def operand(self, slot: int, dtype: np.dtype, *, unsafe: bool) -> int | None:
        """Return the slot in which an operand lies in this dtype."""
        if self.phase.is_array(slot):
            return slot if self._kind(slot) == dtype else None
        return self._constant(Cell(slot, dtype, unsafe))

    def _constant(self, cell: Cell) -> int:
        """Return the slot of a constant, after all others."""
        self.cells.append(cell)
        return self.first + len(self.phase.steps) + len(self.cells) - 1


def loop_code(dtype: np.dtype) -> str:
    """Return the short name of a dtype, as the loops of stretches.c are called by."""
    return f"{dtype.kind}{dtype.itemsize}"


def _matters(loop: str) -> int:
    """Return which steps between elements NumPy has to see to, as native/calls.h has it."""
    if loop not in ANY_STRIDE:
        return 1
    return 2 if loop in FORWARDS else 0


def _stretch(
    first: int, stop: int, records: list[list[int]], numbers: list[int], placed: list[int]
) -> Stretch:
    table = np.array(records, np.int64).reshape(-1, _NUMBERS)
    return Stretch(first, stop, table, tuple(numbers), tuple(placed))
