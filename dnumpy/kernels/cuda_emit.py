"""Lowered -> CUDA C++: one kernel, as text that says nothing of extents.

Extents, strides, addresses and scalars come as words of one argument, so that phases that differ in
them share a kernel. A kernel without folds gives each thread elements of its own; one with folds
gives each block of threads one unit of rows after the other, and its threads meet at barriers. What
a fold adds up goes in an order that the phase fixes: each lane takes every so manieth element, and
lanes are joined pairwise. The lanes of a sum of floats add blocks of 64 first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from dnumpy.kernels.cuda_faults import PER_STEP, STEPS_PER_WORD
from dnumpy.kernels.cuda_header import header
from dnumpy.kernels.cuda_lower import Fold, Lowered, Section
from dnumpy.kernels.cuda_values import ZERO, Affine, Fields, Index, Scope
from dnumpy.kernels.cuda_words import WORDS, cast
from dnumpy.kernels.lower import Unsupported

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

THREADS = 256  # of a block
MOST_WORDS = 500  # of the argument: a kernel takes 4 KiB
MOST_UNROLLED = 40  # lines that are worth to be repeated, so that loads overlap
BLOCK = 64  # floats that a lane adds up before it joins them with those before
POOL_BYTES = 24  # of shared memory per thread: the widest thing folded is a complex number's index
_CORE = ("flags", "lo", "rows", "unit rows")


@dataclass(frozen=True, slots=True)
class Variant:
    """How a kernel is specialised when it is launched.

    ``wide`` means 64-bit index arithmetic, ``told`` the faults looked for (see ``cuda_faults``);
    inputs and outputs in ``linear`` and ``dense`` are C-contiguous; ``lanes`` elements are loaded
    at a time, where it is not 0; blocks have at most so many ``threads``.
    """

    wide: bool = False
    told: int = 0
    linear: frozenset[int] = frozenset()
    dense: frozenset[int] = frozenset()
    lanes: int = 0
    threads: int = THREADS


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """A kernel: its text, the words of its argument, and what decides how it is launched.

    Equal texts have equal names, so that the name is a key of caches. ``fields`` says what lies
    at which word. With ``blocks``, blocks of threads work on units; one that ``tells`` of faults
    sets bits of the words that the first word of its argument points to.
    """

    lowered: Lowered = field(repr=False)
    variant: Variant
    before: str = field(repr=False)
    text: str = field(repr=False)
    name: str
    fields: tuple[tuple[tuple[Any, ...], int], ...]
    size: int
    blocks: bool
    tells: bool

    @property
    def source(self) -> str:
        """The whole text that is compiled."""
        return self.before + self.text


def emit(lowered: Lowered, variant: Variant) -> CudaKernel:
    """Return the kernel of a phase for one way in which its operands lie."""
    return _Emitter(lowered, variant).run()


def can_load_lanes(lowered: Lowered) -> int:
    """Return how many elements may be loaded at once where all operands are contiguous, or 0."""
    if lowered.folds or len(lowered.sections) != 1:
        return 0
    section, phase = lowered.sections[0], lowered.phase
    scope = _scope_of(lowered, section, Fields(), frozenset(range(len(phase.inputs))))
    scope.values([(slot, scope.canonical[1]) for slot in section.slots])
    arrays = [slot for slot, _ in scope.names if slot < scope.first and phase.is_array(slot)]
    scattered = [
        slot
        for slot, index in scope.names
        if slot in arrays and (phase.shape_of(slot), index) != scope.canonical and any(index)
        and any(at.variable for at in index)
    ]  # fmt: skip
    if scattered or any(line.startswith("idx q") for line in scope.lines):
        return 0
    if any(getattr(step, "kind", "") == "arange" for step in lowered.steps.values()):
        return 0
    sizes = [int(lowered.codes[s][1:]) for s in (*scope.loads, *section.slots)]
    return max(1, 16 // max(sizes)) if max(sizes) <= 8 else 0


def _canonical(section: Section, names: str) -> Index:
    return tuple(
        Affine("r") if axis == 0 else Affine(f"{names}{axis}") if extent != 1 else ZERO
        for axis, extent in enumerate(section.shape)
    )


def _scope_of(lowered: Lowered, section: Section, fields: Fields, linear: frozenset[int]) -> Scope:
    """Return a scope of which only what it asks for is looked at."""
    return Scope(
        lowered, fields, told=0, canonical=(section.shape, _canonical(section, "j")), flat="e",
        linear=linear, faults=lambda _step, text: text,
    )  # fmt: skip


class _Emitter:
    def __init__(self, lowered: Lowered, variant: Variant) -> None:
        self.lowered, self.variant = lowered, variant
        self.phase = lowered.phase
        self.fields = Fields()
        for name in _CORE:
            self.fields.word((name,))
        self.lines: list[str] = []
        self.fault_words: set[int] = set()

    def run(self) -> CudaKernel:
        blocks = self.lowered.folds
        body: list[str] = []
        for number, section in enumerate(self.lowered.sections):
            self.lines = []
            if section.fold:
                self._fold(number, section)
            elif blocks:
                self._map(number, section, "threadIdx.x", "blockDim.x")
            else:
                self._flat(number, section)
            body += [f"{{  // section {number}", *self.lines, "}"]
            if blocks:
                body.append("__syncthreads();")
        body = self._units(body) if blocks else ["const idx u0 = 0, count = rows;", *body]
        if self.fields.size > MOST_WORDS:
            msg = f"{self.fields.size} words of arguments"
            raise Unsupported(msg)
        return self._kernel(body, blocks=blocks)

    def _kernel(self, body: list[str], *, blocks: bool) -> CudaKernel:
        complex_numbers = any(code[:1] == "c" for code in self._all_codes())
        words = sorted(self.fault_words)
        raised = [f"if (fault{k}) atomicOr((u4*)a.w[0] + {k}, fault{k});" for k in words]
        lines = [
            f"#define idx {'i8' if self.variant.wide else 'i4'}",
            f"struct words {{ i8 w[{self.fields.size}]; }};",
            f'extern "C" __global__ void __launch_bounds__({self.variant.threads})',
            "NAME(const words a) {",
            f"const idx rows = {self.fields.index('rows')};",
            *[f"u4 fault{k} = 0;" for k in words],
            *body,
            *raised,
            "}",
            "#undef idx",
        ]
        text = "\n".join(lines) + "\n"
        before = header(complex_numbers=complex_numbers)
        name = "dnumpy_" + blake2b((before + text).encode(), digest_size=16).hexdigest()
        fields = tuple(self.fields.at.items())
        text = text.replace("struct words", f"struct {name}_words")
        text = text.replace("const words a", f"const {name}_words a").replace("NAME", name)
        return CudaKernel(
            self.lowered,
            self.variant,
            before,
            text,
            name,
            fields,
            self.fields.size,
            blocks,
            tells=bool(words),
        )

    def _all_codes(self) -> list[str]:
        codes = list(self.lowered.codes)
        for step in self.lowered.steps.values():
            codes += [c for _, c in step.args] if hasattr(step, "args") else []
        return codes

    def _units(self, body: list[str]) -> list[str]:
        unit = self.fields.index("unit rows")
        pool = self.variant.threads * POOL_BYTES // 8
        return [
            f"__shared__ f8 pool[{pool}];",
            f"const idx units = (rows + {unit} - 1) / {unit};",
            "for (idx u = blockIdx.x; u < units; u += gridDim.x) {",
            f"const idx u0 = u * {unit}, left = rows - u0;",
            f"const idx count = left < {unit} ? left : {unit};",
            *body,
            "}",
        ]

    def _faults(self, step: int, text: str) -> str:
        word, place = divmod(step, STEPS_PER_WORD)
        self.fault_words.add(word)
        return f"fault{word} |= (({text}) & {self.variant.told}u) << {place * PER_STEP};"

    def _extent(self, number: int) -> Callable[[int], str]:
        return lambda axis: self.fields.index("walked", number, axis)

    def _scope(self, section: Section, index: Index, flat: str, lane: str = "") -> Scope:
        return Scope(
            self.lowered, self.fields, told=self.variant.told, canonical=(section.shape, index),
            flat=flat, linear=self.variant.linear if flat else frozenset(), faults=self._faults,
            lane=lane,
        )  # fmt: skip

    # storing row values

    def _flat(self, number: int, section: Section) -> None:
        self.lines.append("const i8 tid = (i8)blockIdx.x * blockDim.x + threadIdx.x;")
        self.lines.append("const i8 step = (i8)gridDim.x * blockDim.x;")
        if self.variant.lanes:
            self._lanes(section)
        self._map(number, section, "(idx)tid", "(idx)step")

    def _lanes(self, section: Section) -> None:
        """Write a loop over whole vectors, which leaves the last elements to the next one."""
        many = self.variant.lanes
        index = _canonical(section, "j")
        scope = self._scope(section, index, "e", lane="k")
        names = scope.values([(slot, index) for slot in section.slots])
        codes = self.lowered.codes
        held = {s: f"lanes<{_stored(codes[s])}, {many}>" for s in {*scope.loads, *section.slots}}
        self.lines += [
            f"const idx full = rows * {self.fields.index('width', 0)} / {many};",
            "for (i8 g = tid; g < full; g += step) {",
        ]
        for slot in dict.fromkeys(scope.loads):
            base = self.fields.pointer("input", slot)
            self.lines.append(f"const {held[slot]} x{slot} = (({held[slot]}*)({base}))[g];")
        self.lines += [f"{held[slot]} y{slot};" for slot in section.slots]
        self.lines += ["#pragma unroll", f"for (i4 k = 0; k < {many}; k++) {{", *scope.lines]
        for slot, name in zip(section.slots, names, strict=True):
            self.lines.append(f"store((char*)&y{slot}.v[k], {name});")
        self.lines.append("}")
        for slot in section.slots:
            base = self.fields.pointer("output", self._output(slot))
            self.lines.append(f"(({held[slot]}*)({base}))[g] = y{slot};")
        self.lines.append("}")

    def _output(self, slot: int) -> int:
        return next(k for k, o in enumerate(self.phase.outputs) if o.slot == slot)

    def _map(self, number: int, section: Section, first: str, step: str) -> None:
        index = _canonical(section, "j")
        width = self.fields.index("width", number)
        scope = self._scope(section, index, f"u0 * {width} + e")
        names = scope.values([(slot, index) for slot in section.slots])
        begin = "0"
        self.lines.append(f"const idx end = count * {width};")
        if self.variant.lanes:
            many = self.variant.lanes
            begin = f"rows * {width} / {many} * {many}"
            self.lines.append("#pragma unroll 1")
        self.lines += [
            f"for (idx e = {begin} + {first}; e < end; e += {step}) {{",
            *self._row_and_rest(number, "e", index),
            *scope.lines,
        ]
        for slot, name in zip(section.slots, names, strict=True):
            output = self._output(slot)
            if output in self.variant.dense:
                size = int(self.lowered.codes[slot][1:])
                base = self.fields.pointer("output", output)
                where = f"{base} + (i8)(u0 * {width} + e) * {size}"
            else:
                where = scope.address(("output", output), ("ostride", output), index)
            self.lines.append(f"store({where}, {name});")
        self.lines.append("}")

    def _row_and_rest(self, number: int, flat: str, index: Index) -> list[str]:
        """Return lines that take an element's number in the unit apart, row first."""
        lines = [f"idx t = {flat};"]
        wide = [k for k in range(1, len(index)) if index[k].variable]
        for k in reversed(wide):
            extent = self.fields.index("walked", number, k)
            lines.append(f"const idx {index[k].variable} = t % {extent}; t /= {extent};")
        return [*lines, "const idx r = u0 + t;"]

    # folds

    def _fold(self, number: int, section: Section) -> None:
        shape = section.shape
        kept = [k for k in range(1, len(shape)) if k not in section.axes and shape[k] != 1]
        folded = [k for k in range(1, len(shape)) if k in section.axes and shape[k] != 1]
        index = tuple(
            Affine("r") if k == 0 else Affine(f"j{k}") if n != 1 else ZERO
            for k, n in enumerate(shape)
        )
        lanes = self.fields.index("lanes", number)
        entries, elements = self.fields.index("kept", number), self.fields.index("folded", number)
        rows_by = ("1", "count") if section.partial else ("count", "1")
        adjacent = not kept or (bool(folded) and folded[-1] > kept[-1])  # lanes side by side
        first, second = ("lane", "place") if adjacent else ("place", "lane")
        many = "lanes_" if adjacent else "places"
        self.lines += [
            f"const idx lanes_ = {lanes}, places = (idx)blockDim.x / lanes_;",
            f"const idx {first} = (idx)threadIdx.x % {many}, {second} = (idx)threadIdx.x / {many};",
            f"const idx hop = {'1' if adjacent else 'places'};",
            f"const idx ends = {rows_by[0]} * {entries}, length = {rows_by[1]} * {elements};",
            "for (idx base = 0; base < ends; base += places) {",
            "const idx e = base + place;",
            "const bool live = e < ends;",
        ]
        flat = self._flat_of(number, section, kept, folded)
        scope = self._scope(section, index, flat)
        asked = self._asked(section, scope, index)
        names = dict(zip(asked, scope.values(asked), strict=True)) if asked else {}
        where = self._split(number, "e", kept, index, row=not section.partial)
        body = self._split(number, "f", folded, index, row=section.partial)
        self._accumulate(section, scope, names, [where, body], index)
        for slot in section.slots:
            self._join(slot)
            self._leave(number, section, slot, kept, index)
        self.lines.append("}")

    def _flat_of(
        self, number: int, section: Section, kept: Sequence[int], folded: Sequence[int]
    ) -> str:
        """Return an element's number in the rows, where folded axes come together; else ''."""
        before = f"u0 * {self.fields.index('width', number)}"
        if section.partial:
            if kept and folded and folded[-1] > kept[0]:
                return ""
            return f"{before} + f * ends + e"
        if kept and folded and kept[-1] > folded[0]:
            return ""
        return f"{before} + e * length + f"

    def _asked(self, section: Section, scope: Scope, index: Index) -> list[tuple[int, Index]]:
        asked = []
        for slot in section.slots:
            fold = self._of(slot)
            asked.append((fold.operand, index))
            if fold.mask is not None and self.phase.is_array(fold.mask):
                asked.append((fold.mask, scope.broadcast(fold.mask, index)))
        return list(dict.fromkeys(asked))

    def _of(self, slot: int) -> Fold:
        fold = self.lowered.steps[slot]
        assert isinstance(fold, Fold)
        return fold

    def _split(
        self, number: int, flat: str, axes: Sequence[int], index: Index, *, row: bool
    ) -> list[str]:
        """Return lines that take a number apart into axes, after the row where ``row`` says so."""
        lines = [f"idx t{flat} = {flat};"]
        for k in reversed(axes):
            variable, extent = index[k].variable, self.fields.index("walked", number, k)
            if k == axes[0] and not row:
                lines.append(f"const idx {variable} = t{flat};")
            else:
                lines.append(f"const idx {variable} = t{flat} % {extent}; t{flat} /= {extent};")
        return [*lines, *([f"const idx r = u0 + t{flat};"] if row else [])]

    def _accumulate(
        self,
        section: Section,
        scope: Scope,
        names: dict[tuple[int, Index], str],
        where: list[list[str]],
        index: Index,
    ) -> None:
        """Write the loop in which each lane folds its elements."""
        sums = False
        for slot in section.slots:
            fold = self._of(slot)
            kind = self._type(fold)
            start = f"{kind}()"
            if fold.starts:
                start = self.fields.constant(fold.work, "start", slot)
            self.lines.append(f"{kind} acc{slot} = {start};")
            if self._sums(fold):
                sums = True
                self.lines.append(f"{kind} sum{slot} = {kind}(0);")
        few = len(scope.lines) < MOST_UNROLLED
        self.lines += ["if (live) {", *where[0]]
        if sums:
            self.lines += [
                "bool some = false;",
                f"const idx many = {BLOCK} * lanes_;",
                "for (idx g = lane; g < length; g += many) {",
                "const idx stop = length - g < many ? length : g + many;",
            ]
        begin, end = ("g", "stop") if sums else ("lane", "length")
        self.lines += [
            *(["#pragma unroll 4"] if few else []),
            f"for (idx f = {begin}; f < {end}; f += lanes_) {{",
            *where[1],
            *scope.lines,
        ]
        for slot in section.slots:
            self._take(section, slot, scope, names[self._of(slot).operand, index], index)
        self.lines.append("}")
        if sums:
            self._close(section)
            self.lines.append("}")
        self.lines.append("}")

    def _close(self, section: Section) -> None:
        """Join the blocks that lanes have added up with what came before."""
        for slot in section.slots:
            if self._sums(self._of(slot)):
                self._step_to(slot, f"acc{slot}", f"sum{slot}", first="!some")
        self.lines.append("some = true;")

    def _sums(self, fold: Fold) -> bool:
        return fold.name == "add" and fold.work[0] == "f" and not fold.starts

    def _type(self, fold: Fold) -> str:
        return f"pick<{fold.work}>" if fold.picks else fold.work

    def _take(self, section: Section, slot: int, scope: Scope, name: str, index: Index) -> None:
        """Fold one more element into what a lane has."""
        fold = self._of(slot)
        value = cast(name, self.lowered.codes[fold.operand], fold.work)
        if fold.picks:
            value = f"at_index({value}, {self._position(section, fold)})"
        if self._sums(fold):
            self._step_to(slot, f"sum{slot}", value, first="f == g")
        elif not fold.starts:
            self._step_to(slot, f"acc{slot}", value, first="f == lane")
        else:
            mask = "true" if fold.mask is None else scope.read(fold.mask, index, "b1")
            self.lines.append(f"if ({mask}) {{")
            self._step_to(slot, f"acc{slot}", value, first="")
            self.lines.append("}")

    def _position(self, section: Section, fold: Fold) -> str:
        """Return the index that argmin tells of an element."""
        if not section.partial:
            return "(i8)f"
        row = f"{self.fields.long('lo')} + (i8)u0"
        return f"({row}) * {self.fields.long('rest', fold.rest)} + (i8)f"

    def _step_to(self, slot: int, target: str, value: str, *, first: str) -> None:
        """Write ``target = op(target, value)``, or the value alone where it is the first."""
        fold = self._of(slot)
        combined = f"op_{fold.name}({target}, x)"
        word = WORDS.get(fold.name)
        self.lines.append(f"{{ const {self._type(fold)} x = {value};")
        if first:
            self.lines.append(f"if ({first}) {target} = x; else {{")
        self.lines.append(f"const {self._type(fold)} y = {combined};")
        if self.variant.told and word is not None and not word.quiet and fold.work[0] in "fc":
            pole = f"pole_{word.pole}({target}, x)" if word.pole else "false"
            step = slot - len(self.phase.inputs)
            self.lines.append(self._faults(step, f"fault({pole}, y, {target}, x)"))
        self.lines.append(f"{target} = y;" + (" } }" if first else " }"))

    def _join(self, slot: int) -> None:
        """Write how the lanes of an entry become one, pairwise."""
        kind = self._type(self._of(slot))
        self.lines += [
            "if (lanes_ > 1) {",
            f"{kind}* shared = ({kind}*)pool; const idx me = (idx)threadIdx.x;",
            f"shared[me] = acc{slot};",
            "for (idx half = lanes_ >> 1; half; half >>= 1) {",
            "__syncthreads();",
            "if (live && lane < half && lane + half < length) {",
            f"{kind} joined = shared[me];",
        ]
        self._step_to(slot, "joined", "shared[me + half * hop]", first="")
        self.lines += [
            "shared[me] = joined; } }",
            f"acc{slot} = shared[me];",
            "__syncthreads();",
            "}",
        ]

    def _leave(
        self, number: int, section: Section, slot: int, kept: Sequence[int], index: Index
    ) -> None:
        """Write an entry to where it stays."""
        fold = self._of(slot)
        entry = self._split(number, "e", kept, index, row=not section.partial)
        self.lines += ["if (live && lane == 0) {", *entry]
        if fold.joined is not None:
            self._step_to(
                slot, f"acc{slot}", self.fields.constant(fold.work, "joined", slot), first=""
            )
        value = f"acc{slot}"
        if fold.name == "add" and fold.work[0] == "f":
            value = f"{value} + {fold.work}(0)"  # a sum of -0.0 alone is 0.0
        if section.partial:
            self._leave_partial(slot, fold, value, index)
        else:
            result = _result_index(self.phase.shape_of(slot), section, index)
            scope = self._scope(section, index, "")
            text = f"{value}.index" if fold.picks else cast(f"({value})", fold.work, fold.stored)
            self.lines.append(f"store({scope.home(slot, result)}, {text});")
        self.lines.append("}")

    def _leave_partial(self, slot: int, fold: Fold, value: str, index: Index) -> None:
        output = self._output(slot)
        terms = [
            self.fields.pointer("output", output),
            f"(i8)u * {self.fields.long('ostride', output, 0)}",
        ]
        terms += [
            f"(i8){at.variable} * {self.fields.long('ostride', output, k)}"
            for k, at in enumerate(index)
            if k and at.variable and k not in fold.axes
        ]
        self.lines.append(f"char* there = {' + '.join(terms)};")
        if fold.picks:
            self.lines.append(f"store(there, {value}.value);")
            self.lines.append(f"store_bytes(there + {int(fold.work[1:])}, {value}.index);")
        else:
            self.lines.append(f"store(there, {cast(f'({value})', fold.work, fold.stored)});")


def _result_index(shape: tuple[int, ...], section: Section, index: Index) -> Index:
    """Return where a row fold's entry lies in its result, whose folded axes may be gone."""
    if len(shape) == len(section.shape):
        return tuple(ZERO if k in section.axes else at for k, at in enumerate(index))
    return tuple(at for k, at in enumerate(index) if k not in section.axes)


def _stored(code: str) -> str:
    """Return the type that a value has in memory."""
    return {"b1": "u1", "f2": "u2"}.get(code, code)
