"""Values at an index: what a section of a CUDA kernel computes for each element, as C++ text.

A value is asked for at an index, an affine expression per axis. That asks for its operands at
indices of their own: 0 where they are broadcast, shifted or transposed ones through a view. What is
asked for is gathered first, from the last step to the first, so that each value is computed once
per index, in a local variable.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from dnumpy.kernels.cuda_lower import Call, Fold, Lowered, View
from dnumpy.kernels.cuda_words import cast, cast_fault, op_fault
from dnumpy.kernels.lower import Unsupported
from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MOST_VALUES = 3000  # of a section; a chain of shifted sums may ask for very many


class Affine(NamedTuple):
    """``start + step * variable`` along one axis; no variable where it is constant."""

    variable: str = ""
    step: int = 1
    start: int = 0

    def moved(self, start: int, step: int) -> Affine:
        """Return ``start + step * self``."""
        return Affine(self.variable, step * self.step, start + step * self.start)


ZERO = Affine("", 0, 0)
Index = tuple[Affine, ...]


class Fields:
    """The words that a kernel is given, each with what it holds; equal asks give equal words."""

    def __init__(self) -> None:
        self.at: dict[tuple[Any, ...], int] = {}
        self.size = 0

    def word(self, what: tuple[Any, ...], words: int = 1) -> int:
        """Return where ``what`` begins among the words."""
        if what not in self.at:
            self.at[what] = self.size
            self.size += words
        return self.at[what]

    def long(self, *what: Any) -> str:
        """Return the text of a 64-bit integer."""
        return f"a.w[{self.word(what)}]"

    def index(self, *what: Any) -> str:
        """Return the text of an integer that takes part in index arithmetic."""
        return f"(idx)a.w[{self.word(what)}]"

    def pointer(self, *what: Any) -> str:
        """Return the text of an address."""
        return f"(char*)a.w[{self.word(what)}]"

    def constant(self, code: str, *what: Any) -> str:
        """Return the text of a scalar that lies in two words."""
        at = self.word((*what, code), 2)
        return f"load<{code}>((const char*)&a.w[{at}])"


class Scope:
    """The body of one loop: ``lines`` of text that hold the values asked for.

    ``canonical`` is the index of the walked shape and ``flat`` the text of an element's number in
    it; inputs in ``linear`` lie as it is walked. ``lane`` replaces loads where vectors were loaded.
    """

    def __init__(
        self,
        lowered: Lowered,
        fields: Fields,
        *,
        told: int,
        canonical: tuple[tuple[int, ...], Index],
        flat: str,
        linear: frozenset[int],
        faults: Callable[[int, str], str],
        lane: str = "",
    ) -> None:
        self.lowered, self.fields, self.told = lowered, fields, told
        self.phase = lowered.phase
        self.first = len(lowered.phase.inputs)
        self.canonical, self.flat, self.linear = canonical, flat, linear
        self.fault_line = faults
        self.lane = lane
        self.lines: list[str] = []
        self.names: dict[tuple[int, Index], str] = {}
        self.loads: list[int] = []
        self._through: dict[tuple[int, Index], Index] = {}

    def values(self, asked: Sequence[tuple[int, Index]]) -> list[str]:
        """Return the names of the values asked for, once the lines have run."""
        needed: dict[int, dict[Index, None]] = {}
        for slot, index in asked:
            needed.setdefault(slot, {})[index] = None
        count = 0
        for slot in range(max(needed), self.first - 1, -1):
            for index in needed.get(slot, ()):
                for arg, at in self._operands(slot, index):
                    needed.setdefault(arg, {})[at] = None
                count += 1
            if count > MOST_VALUES:
                msg = f"more than {MOST_VALUES} values in one kernel"
                raise Unsupported(msg)
        for slot in sorted(needed):
            for index in needed[slot]:
                if (slot, index) not in self.names:
                    self._compute(slot, index)
        return [self.names[pair] for pair in asked]

    def text(self, index: Affine) -> str:
        """Return an index along one axis as text."""
        start = self.fields.index("number", index.start) if index.start else ""
        if not index.variable or not index.step:
            return start or "0"
        times = "" if index.step == 1 else f"{self.fields.index('number', index.step)} * "
        text = f"{times}{index.variable}"
        return f"({start} + {text})" if start else text

    # where operands are read

    def _operands(self, slot: int, index: Index) -> list[tuple[int, Index]]:
        step = self.lowered.steps[slot]
        if isinstance(step, Fold):
            return []
        if isinstance(step, View):
            return [(step.base, self._seen(slot, step, index))]
        slots = [a for a, _ in step.args]
        slots += [s for s in (step.mask, step.before) if s is not None]
        return [(a, self.broadcast(a, index)) for a in slots]

    def broadcast(self, slot: int, index: Index) -> Index:
        """Return where a value is read that is broadcast to what ``index`` walks."""
        if not self.phase.is_array(slot):
            return ()
        shape = self.phase.shape_of(slot)
        mine = index[len(index) - len(shape) :]
        rows = slot >= self.first or self.phase.inputs[slot].access is Access.ROWS
        return tuple(
            at if extent != 1 or (rows and axis == 0) else ZERO
            for axis, (extent, at) in enumerate(zip(shape, mine, strict=True))
        )

    def _seen(self, slot: int, view: View, index: Index) -> Index:
        known = self._through.get((slot, index))
        if known is not None:
            return known
        if view.axes is not None:
            found = (index[0], *[self._along(axis, index) for axis in view.axes])
        else:
            found = self._counted(slot, view, index)
        self._through[slot, index] = found
        return found

    @staticmethod
    def _along(axis: tuple[int | None, int, int], index: Index) -> Affine:
        which, start, step = axis
        return Affine("", 0, start) if which is None else index[which + 1].moved(start, step)

    def _counted(self, slot: int, view: View, index: Index) -> Index:
        """Return the index in the base of the element whose number in its row the view gives."""
        mark = f"q{slot}_{len(self._through)}"
        terms = [self.fields.index("number", view.start)] if view.start else []
        for at, step in zip(index[1:], view.steps, strict=True):
            if step and (at.variable or at.start):
                terms.append(f"{self.fields.index('number', step)} * {self.text(at)}")
        self.lines.append(f"idx {mark} = {' + '.join(terms) or '0'};")
        extents = self.phase.shape_of(view.base)[1:]
        return (index[0], *unravelled(self.lines, mark, extents, self._extent(view.base)))

    def _extent(self, slot: int) -> Callable[[int], str]:
        return lambda axis: self.fields.index("extent", slot, axis + 1)

    # text

    def _compute(self, slot: int, index: Index) -> None:
        name = f"v{slot}_{len(self.names)}"
        self.names[slot, index] = name
        code = self.lowered.codes[slot]
        if slot < self.first:
            if not self.phase.is_array(slot):
                self.names[slot, index] = ""  # read in the dtype of whoever asks
                return
            self.lines.append(f"const {code} {name} = {self._load(slot, index)};")
            return
        step = self.lowered.steps[slot]
        match step:
            case Fold():
                text = f"load<{code}>({self.home(slot, index)})"
            case View():
                inner = self.names[step.base, self._seen(slot, step, index)]
                text = f"{inner}.{step.part}" if step.part else inner
            case Call():
                self._call(slot, step, index, name)
                return
        self.lines.append(f"const {code} {name} = {text};")

    def _load(self, slot: int, index: Index) -> str:
        code, shape = self.lowered.codes[slot], self.phase.shape_of(slot)
        if slot in self.linear and (shape, index) == self.canonical:
            self.loads.append(slot)
            if self.lane:
                return f"load<{code}>((const char*)&x{slot}.v[{self.lane}])"
            size = _size(code)
            return (
                f"load<{code}>({self.fields.pointer('input', slot)} + (i8)({self.flat}) * {size})"
            )
        return f"load<{code}>({self.address(('input', slot), ('stride', slot), index)})"

    def address(self, base: tuple[Any, ...], stride: tuple[Any, ...], index: Index) -> str:
        """Return the address of an element of an array that has strides."""
        terms = [self.fields.pointer(*base)]
        for axis, at in enumerate(index):
            if at.variable or at.start:
                terms.append(f"(i8)({self.text(at)}) * {self.fields.long(*stride, axis)}")
        return " + ".join(terms)

    def home(self, slot: int, index: Index) -> str:
        """Return the address of what an earlier section has folded, for one row."""
        output = self.lowered.homes[slot]
        if output is not None:
            return self.address(("output", output), ("ostride", output), index)
        fold = self.lowered.steps[slot]
        assert isinstance(fold, Fold)
        number = "0"
        for axis, extent in enumerate(self.phase.shape_of(slot)):
            if axis and extent != 1:
                times = self.fields.index("extent", slot, axis)
                number = f"({number} * {times} + {self.text(index[axis])})"
        entries = prod(self.phase.shape_of(slot)[1:])
        rows = f"(i8)({index[0].variable} - u0)"
        if entries != 1:
            rows = f"({rows} * {self.fields.long('entries', slot)} + {number})"
        block = f"(i8)blockIdx.x * {self.fields.long('scratch step')}"
        base = f"{self.fields.pointer('scratch')} + {self.fields.long('scratch at', slot)}"
        return f"{base} + {block} + {rows} * {_size(fold.stored)}"

    def read(self, slot: int, index: Index, code: str) -> str:
        """Return the text of a value that has been computed, as ``code``."""
        if not self.phase.is_array(slot):
            return self.fields.constant(code, "constant", slot)
        name = self.names[slot, self.broadcast(slot, index)]
        return cast(name, self.lowered.codes[slot], code)

    def _call(self, slot: int, call: Call, index: Index, name: str) -> None:
        texts = [self.read(a, index, code) for a, code in call.args]
        result = name if call.before is None else f"{name}_r"
        match call.kind:
            case "op":
                names = self._locals(name, texts, [code for _, code in call.args])
                text = f"{call.function}({', '.join(names)})"
                codes = [c for _, c in call.args]
                fault = op_fault(call.name, codes, result, names, call.output)
            case "cast":
                ((_, source),) = call.args
                text, fault = (
                    cast(texts[0], source, call.code),
                    cast_fault(texts[0], source, call.code),
                )
            case "where":
                text, fault = f"({texts[0]} ? {texts[1]} : {texts[2]})", ""
            case "full":
                text, fault = self._full(slot, call), ""
            case _:
                text, fault = self._arange(slot, call, index), ""
        self.lines.append(f"const {call.code} {result} = {text};")
        self._note(slot, call, fault, index)
        if call.before is not None:
            assert call.mask is not None
            mask = self.read(call.mask, index, "b1")
            before = self.read(call.before, index, call.code)
            self.lines.append(f"const {call.code} {name} = {mask} ? {result} : {before};")

    def _locals(self, name: str, texts: Sequence[str], codes: Sequence[str]) -> list[str]:
        """Return names of operands: a cast has a variable of its own."""
        names = []
        for k, (text, code) in enumerate(zip(texts, codes, strict=True)):
            if text.isidentifier():
                names.append(text)
                continue
            names.append(f"{name}_{k}")
            self.lines.append(f"const {code} {name}_{k} = {text};")
        return names

    def _note(self, slot: int, call: Call, fault: str, index: Index) -> None:
        if not fault or not self.told:
            return
        if call.mask is not None:
            fault = f"{self.read(call.mask, index, 'b1')} ? {fault} : 0u"
        self.lines.append(self.fault_line(slot - self.first, fault))

    def _full(self, slot: int, call: Call) -> str:
        if call.name != "full":
            return f"{call.code}()"
        return self.fields.constant(call.code, "parameter", slot - self.first, 0)

    def _arange(self, slot: int, call: Call, index: Index) -> str:
        start, delta = (
            self.fields.constant(call.code, "parameter", slot - self.first, k) for k in (0, 1)
        )
        row = f"as<{call.code}>::from({self.fields.long('lo')} + (i8){self.text(index[0])})"
        return f"op_add({start}, op_multiply({row}, {delta}))"


def unravelled(
    lines: list[str], name: str, extents: Sequence[int], extent: Callable[[int], str]
) -> list[Affine]:
    """Write lines that take the number ``name``, a variable, apart; return the index per axis."""
    wide = [k for k, n in enumerate(extents) if n != 1]
    found = [ZERO] * len(extents)
    for k in reversed(wide):
        variable = f"{name}_{k}"
        found[k] = Affine(variable)
        if k == wide[0]:
            lines.append(f"const idx {variable} = {name};")
        else:
            lines.append(f"const idx {variable} = {name} % {extent(k)}; {name} /= {extent(k)};")
    return found


def _size(code: str) -> int:
    return int(code[1:])
