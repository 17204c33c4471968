"""Phase -> Lowered: what a CUDA kernel computes, section by section, before it is text.

A *unit* is the rows that a block of threads computes together: a tile of the phase's grid where
tiles leave partial results, else as many rows as keep the block busy. A *section* walks the unit
once: it folds, several folds of equal shape together, or stores row values of one shape. What a
section reads it computes on the way, from the inputs and from what earlier sections have folded.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.geometry import Geometry, contiguous_strides
from dnumpy.kernels.cuda_words import code_of, function_of
from dnumpy.kernels.fast import plain
from dnumpy.kernels.loops import resolved
from dnumpy.kernels.lower import Unsupported, fold_dtype
from dnumpy.kernels.partials import partial_dtype
from dnumpy.ops.families import ROWS, Elementwise, Leaf, Movement, Reduction
from dnumpy.ops.table import ARANGE, ARGMAX, ARGMIN, CAST, EMPTY, FULL, REORDERABLE, VIEW, WHERE
from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from dnumpy.rewrite.phase import Phase, ReduceParams, Step

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """An elementwise step: ``kind`` is ``op``, ``cast``, ``where``, ``full`` or ``arange``.

    ``args`` are (slot, code to read it in); ``mask`` is where faults count, and ``before`` what
    stays where the mask is false.
    """

    kind: str
    name: str
    function: str
    args: tuple[tuple[int, str], ...]
    code: str
    output: int = 0
    mask: int | None = None
    before: int | None = None


@dataclass(frozen=True, slots=True)
class View:
    """A step that sees rows of another one in another way.

    ``axes`` has (axis of the view or None, start, step) for each axis of the base within rows;
    None where elements are counted through: ``start`` and ``steps``, one per axis of the view.
    ``part`` is which half of complex numbers is seen.
    """

    base: int
    axes: tuple[tuple[int | None, int, int], ...] | None
    start: int = 0
    steps: tuple[int, ...] = ()
    part: str = ""


@dataclass(frozen=True, slots=True)
class Fold:
    """A reduction; ``work`` is the code that it computes in, ``stored`` that of what it leaves.

    What has no identity (the largest, the smallest) may start from an initial value many times.
    """

    operand: int
    axes: tuple[int, ...]
    name: str
    work: str
    stored: str
    partial: bool
    picks: bool = False
    strict: bool = False
    mask: int | None = None
    starts: bool = False  # each lane starts from ``start``, and takes what the mask lets through
    start: object = None
    joined: object = None  # an initial value, which is joined once
    rest: int = 1  # elements per row, which indices count


@dataclass(frozen=True, slots=True)
class Section:
    """One walk over a unit: ``slots`` are folded or stored; ``shape`` is that of what is walked."""

    fold: bool
    slots: tuple[int, ...]
    shape: Shape
    axes: tuple[int, ...] = ()  # that are folded
    partial: bool = False
    strict: bool = False  # folds keep their order

    @property
    def kept(self) -> int:
        """Entries that a row (or a tile, if partial) leaves."""
        return prod(n for k, n in enumerate(self.shape) if k and k not in self.axes)

    @property
    def folded(self) -> int:
        """Elements of a row that meet in one entry."""
        return prod(n for k, n in enumerate(self.shape) if k and k in self.axes)


@dataclass(frozen=True, slots=True)
class Lowered:
    """A phase in the kernel's terms; ``homes`` has the output that keeps each fold, or None."""

    phase: Phase
    kinds: tuple[Any, ...]
    codes: tuple[str, ...]  # '' for constants
    steps: dict[int, Call | View | Fold]
    sections: tuple[Section, ...]
    homes: dict[int, int | None]
    nonnegative: tuple[int, ...] = ()  # constants that must not be negative

    @property
    def folds(self) -> bool:
        """Whether blocks of threads work together."""
        return any(s.fold for s in self.sections)

    @property
    def partial(self) -> bool:
        """Whether tiles leave partial results."""
        return any(s.partial for s in self.sections)

    @property
    def width(self) -> int:
        """Elements of the widest row that is walked."""
        return max(prod(s.shape[1:]) for s in self.sections)


def lower(phase: Phase, kinds: tuple[Any, ...]) -> Lowered:
    """Return the program of ``phase``; ``kinds`` has the dtype or Python type of each input."""
    return _Lowering(phase, kinds).run()


class _Lowering:
    def __init__(self, phase: Phase, kinds: tuple[Any, ...]) -> None:
        self.phase, self.kinds = phase, kinds
        self.first = len(phase.inputs)
        self.partial = {o.slot: k for k, o in enumerate(phase.outputs) if o.partial}
        self.given = {o.slot: k for k, o in enumerate(phase.outputs) if not o.partial}
        self.steps: dict[int, Call | View | Fold] = {}
        self.depth: dict[int, int] = dict.fromkeys(range(self.first), 0)
        self.nonnegative: list[int] = []

    def run(self) -> Lowered:
        codes = [
            "" if given.access is Access.CONST else code_of(phase_dtype(given.dtype))
            for given in self.phase.inputs
        ]
        for slot, step in enumerate(self.phase.steps, start=self.first):
            if isinstance(step.op, Elementwise | Reduction):
                self._check_row_operands(step)
            made = self._step(slot, step)
            self.steps[slot] = made
            self.depth[slot] = max((self.depth[a] for a in step.args), default=0)
            self.depth[slot] += isinstance(made, Fold)
            codes.append(made.stored if isinstance(made, Fold) else code_of(step.dtype))
        homes = {
            s: self.given.get(s)
            for s, m in self.steps.items()
            if isinstance(m, Fold) and not m.partial
        }
        return Lowered(
            self.phase,
            self.kinds,
            tuple(codes),
            self.steps,
            self._sections(),
            homes,
            tuple(self.nonnegative),
        )

    def _sections(self) -> tuple[Section, ...]:
        """Return folds, those first that others read, and then what is stored."""
        grouped: dict[tuple[Any, ...], list[int]] = {}
        for slot, made in self.steps.items():
            if isinstance(made, Fold):
                shape = self.phase.shape_of(made.operand)
                key = (
                    self.depth[slot],
                    True,
                    shape,
                    tuple(sorted(made.axes)),
                    made.partial,
                    made.strict,
                )
                grouped.setdefault(key, []).append(slot)
        last = max(self.depth.values(), default=0) + 1
        for slot in self.given:
            if not isinstance(self.steps[slot], Fold):
                shape = self.phase.shape_of(slot)
                grouped.setdefault((last, False, shape, (), False, False), []).append(slot)
        order = sorted(grouped, key=lambda key: key[0])
        if not order:
            msg = "nothing to compute"
            raise Unsupported(msg)
        if any(0 in key[2] for key in order):
            msg = "empty rows"
            raise Unsupported(msg)
        return tuple(Section(k[1], tuple(grouped[k]), *k[2:]) for k in order)

    def _step(self, slot: int, step: Step) -> Call | View | Fold:
        op: Any = step.op
        match op:
            case Reduction():
                return self._fold(slot, step, op)
            case Movement():
                return self._view(step)
            case Leaf():
                return self._generate(step)
            case Elementwise():
                return self._elementwise(step, op)
            case _:
                msg = f"{op!r}"
                raise Unsupported(msg)

    def _has_rows(self, slot: int) -> bool:
        return slot >= self.first or self.phase.inputs[slot].access is Access.ROWS

    def _check_row_operands(self, step: Step) -> None:
        fold = isinstance(step.op, Reduction)
        frame = self.phase.shape_of(step.args[0]) if fold else step.shape
        for arg in step.args:
            shape = self.phase.shape_of(arg)
            rows = self._has_rows(arg)
            whole = not rows and len(shape) == len(frame) and shape[0] == self.phase.rows > 1
            if (rows and len(shape) != len(frame)) or len(shape) > len(frame) or whole:
                msg = f"an operand of shape {shape} beside {frame}"
                raise Unsupported(msg)

    def _kind_of(self, slot: int) -> Any:
        return self.kinds[slot] if slot < self.first else self.phase.dtype_of(slot)

    def _arg(self, slot: int, dtype: np.dtype) -> tuple[int, str]:
        if self._kind_of(slot) is complex and dtype.kind != "c":
            msg = "a complex constant made real"
            raise Unsupported(msg)
        return slot, code_of(dtype)

    def _elementwise(self, step: Step, op: Elementwise) -> Call:
        code = code_of(step.dtype)
        if op is WHERE:
            types = (np.dtype(bool), step.dtype, step.dtype)
            args = tuple(self._arg(a, t) for a, t in zip(step.args, types, strict=True))
            return Call("where", "where", "", args, code)
        if op is CAST:
            (arg,) = step.args
            read = "" if self.phase.is_array(arg) else code
            return Call("cast", "cast", "", ((arg, read or code_of(self._kind_of(arg))),), code)
        return self._ufunc(step, op)

    def _ufunc(self, step: Step, op: Elementwise) -> Call:
        params = dict(step.params)
        output = params.pop("output", 0)
        chosen, masked = params.pop("chosen", False), params.pop("masked", False)
        if params or op.ufunc is None or ROWS.get(op.name) is not op:
            msg = f"{op.name} with {step.params}"
            raise Unsupported(msg)
        args, mask, before = step.args, None, None
        if masked:
            *operands, mask, before = args
            args = tuple(operands)
        elif chosen:
            *operands, mask = args
            args = tuple(operands)
        types = resolved(op.ufunc, tuple(map(self._kind_of, args)))
        if types is None or types[op.ufunc.nin + output] != step.dtype:
            msg = f"no loop of {op.name} for {[self._kind_of(a) for a in args]}"
            raise Unsupported(msg)
        codes = [code_of(t) for t in types[: op.ufunc.nin]]
        name = plain(op.name)  # CUDA has no other functions for who is content with less
        function = function_of(name, codes, output)
        if op.ufunc is np.power and types[0].kind == "i":
            self._check_exponent(args[1])
        given = tuple(self._arg(a, t) for a, t in zip(args, types, strict=False))
        return Call("op", name, function, given, code_of(step.dtype), output, mask, before)

    def _check_exponent(self, slot: int) -> None:
        if self.phase.is_array(slot):
            msg = "an integer power, which raises where exponents are negative"
            raise Unsupported(msg)
        self.nonnegative.append(slot)

    def _generate(self, step: Step) -> Call:
        code = code_of(step.dtype)
        if step.op is EMPTY or step.op is FULL:
            return Call("full", step.op.name, "", (), code)
        if step.op is not ARANGE or len(step.shape) != 1 or code in {"b1", "c8", "c16"}:
            msg = f"{step.op!r} of {code}"
            raise Unsupported(msg)
        return Call("arange", "arange", "", (), code)

    def _view(self, step: Step) -> View:
        geometry, (base, *_) = Geometry(*step.params), step.args
        if step.op is not VIEW or not step.shape or step.shape[0] != self.phase.rows:
            msg = f"{step.op!r} inside rows"
            raise Unsupported(msg)
        shape, dtype = self.phase.shape_of(base), self._kind_of(base)
        size, offset, part = dtype.itemsize, geometry.offset, ""
        if geometry.dtype != dtype:
            halves = dtype.kind == "c" and geometry.dtype.kind == "f"
            if not halves or 2 * geometry.dtype.itemsize != size:
                msg = "a view that reinterprets"
                raise Unsupported(msg)
            part = "im" if offset % size else "re"
            offset -= offset % size
        strides = geometry.strides[1:]
        if offset % size or any(s % size for s in strides):
            msg = "a view between elements"
            raise Unsupported(msg)
        start, steps = offset // size, tuple(s // size for s in strides)
        axes = _axes_of(start, geometry.shape[1:], steps, shape[1:])
        return View(base, axes, start, steps, part)

    def _fold(self, slot: int, step: Step, op: Reduction) -> Fold:
        params: ReduceParams = step.params  # type: ignore[assignment]
        operand, partial = step.args[0], slot in self.partial
        dtype = self._kind_of(operand)
        if not isinstance(dtype, np.dtype) or not self._has_rows(operand):
            msg = "a fold of a constant"
            raise Unsupported(msg)
        axes = tuple(params.axis)
        if op.ufunc is None:
            return self._pick(op, operand, axes, partial=partial)
        if ROWS.get(op.name) is not op:
            msg = op.name
            raise Unsupported(msg)
        found = fold_dtype(op.ufunc, dtype, params.dtype)
        if found is None or found != step.dtype:
            msg = f"{op.name} to {step.dtype}"
            raise Unsupported(msg)
        name, code = op.ufunc.__name__, code_of(found)
        function_of(name, (code, code), 0)
        strict = op.ufunc not in REORDERABLE
        if op.ufunc is np.power:
            msg = "a fold by power, which NumPy's loop computes in a way of its own"
            raise Unsupported(msg)
        initial = params.initial[0] if params.initial is not None else None  # type: ignore[index]
        if partial and op.ufunc.identity is not None:
            initial = None
        if strict and (initial is not None or params.masked):
            msg = f"{op.name} {params}"
            raise Unsupported(msg)
        identity = op.ufunc.identity
        starts = params.masked or (initial is not None and identity is None)
        start = initial if identity is None else identity
        if starts and start is None:
            msg = f"{op.name} of nothing"
            raise Unsupported(msg)
        stored = partial_dtype(step, dtype) if partial else step.dtype
        work = "f4" if code == "f2" and not strict else code
        mask = step.args[1] if params.masked else None
        return Fold(
            operand, axes, name, work, code_of(stored), partial, strict=strict, mask=mask,
            starts=starts, start=start, joined=None if identity is None else initial,
        )  # fmt: skip

    def _pick(self, op: Reduction, operand: int, axes: tuple[int, ...], *, partial: bool) -> Fold:
        if op is not ARGMAX and op is not ARGMIN:
            msg = op.name
            raise Unsupported(msg)
        code = code_of(self._kind_of(operand))
        shape = self.phase.shape_of(operand)
        if not partial and len(axes) > 1:
            msg = f"{op.name} along {axes}"
            raise Unsupported(msg)
        rest = prod(shape[1:]) if len(axes) > 1 else 1
        return Fold(operand, axes, op.name, code, "i8", partial, picks=True, rest=rest)


def phase_dtype(dtype: np.dtype | None) -> np.dtype:
    """Return the dtype of an input that is an array."""
    assert dtype is not None
    return dtype


def _axes_of(
    start: int, extents: Shape, steps: tuple[int, ...], base: Shape
) -> tuple[tuple[int | None, int, int], ...] | None:
    """Return for each axis of the base which axis of the view walks it, from where, by how much."""
    strides = contiguous_strides(base, 1)
    firsts, rest = [], start
    for stride, extent in zip(strides, base, strict=True):
        at, rest = divmod(rest, stride)
        if at >= extent:
            return None
        firsts.append(at)
    found: list[tuple[int | None, int, int]] = [(None, at, 0) for at in firsts]
    for axis, (count, step) in enumerate(zip(extents, steps, strict=True)):
        if count == 1 or step == 0:
            continue
        fitting = [
            k
            for k, (stride, extent) in enumerate(zip(strides, base, strict=True))
            if extent > 1 and step % stride == 0 and found[k][0] is None
            and 0 <= firsts[k] + (count - 1) * (step // stride) < extent
        ]  # fmt: skip
        if not fitting:
            return None
        k = fitting[0]
        found[k] = (axis, firsts[k], step // strides[k])
    return tuple(found)
