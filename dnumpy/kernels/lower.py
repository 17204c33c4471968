"""Phase -> Program: the same computation in the terms of one loop nest.

A *unit* is a run of elements that the kernel walks from end to end: one row, or, in a *flat*
program, one whole tile. A *wide* value has one entry per element of the unit, a *narrow* one a
single entry per unit (a row's sum, say). What cannot be said in these terms raises
:class:`Unsupported`; the tiled lowering runs it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.geometry import Geometry, contiguous_strides
from dnumpy.kernels import fast
from dnumpy.kernels.loops import InnerLoop, inner_loop, resolved
from dnumpy.kernels.sums import BLOCK
from dnumpy.ops.families import ROWS, Elementwise, Leaf, Movement, Reduction
from dnumpy.ops.table import ARANGE, ARGMAX, ARGMIN, CAST, CHOSEN, FULL, VIEW, WHERE
from dnumpy.rewrite.phase import Access

if TYPE_CHECKING:
    from dnumpy.rewrite.phase import Phase, Step

# computed in registers
PLAIN = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8")
OPAQUE = ("c8", "c16")  # only passed by address to NumPy's loops


class Unsupported(Exception):  # noqa: N818 - an answer, not an error
    """A phase, or an op, has no such lowering; the text says why."""


@dataclass(frozen=True, slots=True)
class Arg:
    """A value as an operation reads it: in dtype ``code``."""

    value: int
    code: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A scalar given at run time: input ``index``, or parameter ``index`` of ``step``."""

    step: int | None
    index: int


@dataclass(slots=True)
class Node:
    """One operation.

    ``kind`` is ``map`` (``template`` in registers), ``call`` (NumPy's loop), or a fold: ``row`` (a
    unit to one entry), ``tile`` (a tile to one entry), ``column`` (the rows of a tile to one row).
    """

    value: int
    kind: str
    args: tuple[Arg, ...]
    code: str
    wide: bool
    template: str = ""
    loop: InnerLoop | None = None
    name: str = ""

    @property
    def picks(self) -> bool:
        """Say whether this is the index of the largest or smallest element of a unit."""
        return self.template in {"argmax", "argmin"}

    @property
    def fold(self) -> bool:
        """Say whether this folds elements away."""
        return self.kind in {"row", "tile", "column"}


@dataclass(slots=True)
class Program:
    """A phase in the kernel's terms; ``outputs`` pairs values with output positions."""

    width: int
    rest: tuple[int, ...]
    flat: bool
    codes: dict[int, str] = field(default_factory=dict)
    wide: dict[int, bool] = field(default_factory=dict)
    constants: dict[int, Constant] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)
    outputs: list[tuple[int, int]] = field(default_factory=list)
    whole_scalars: set[int] = field(default_factory=set)
    called: set[int] = field(default_factory=set)  # inputs that NumPy's loops read as they lie
    truncates: bool = False  # casts floats to integers


def code_of(dtype: np.dtype) -> str:
    """Return the short name of a native dtype that kernels handle."""
    code = f"{dtype.kind}{dtype.itemsize}"
    if not dtype.isnative or (code not in PLAIN and code not in OPAQUE):
        msg = f"dtype {dtype}"
        raise Unsupported(msg)
    return code


def lower(phase: Phase, kinds: tuple[Any, ...]) -> Program:
    """Return the program of ``phase``; ``kinds`` has the dtype or Python type of each input."""
    return _Lowering(phase, kinds).run()


class _Lowering:
    def __init__(self, phase: Phase, kinds: tuple[Any, ...]) -> None:
        self.phase = phase
        self.kinds = kinds
        self.first = len(phase.inputs)
        self.rest = _widest_rest(phase)
        self.program = Program(prod(self.rest), self.rest, flat=False)
        self.value_of: dict[int, int] = {}
        self.folded = {a for s in phase.steps if isinstance(s.op, Reduction) for a in s.args}
        self.next_value = self.first + len(phase.steps)
        self.partial = {o.slot: k for k, o in enumerate(phase.outputs) if o.partial}
        self.given = {o.slot: k for k, o in enumerate(phase.outputs) if not o.partial}

    def run(self) -> Program:
        if not self.program.width:
            msg = "empty rows"
            raise Unsupported(msg)
        for slot in range(self.first):
            self._enter_input(slot)
        for slot, step in enumerate(self.phase.steps, start=self.first):
            self._enter_step(slot, step)
            if slot in self.given:
                value = self.value_of[slot]
                if value != slot:
                    msg = "a view that leaves the phase"
                    raise Unsupported(msg)
                self.program.outputs.append((value, self.given[slot]))
        program = self.program
        program.flat = program.width < BLOCK and not any(map(self._needs_rows, program.nodes))
        self._check_short_rows()
        return program

    def _needs_rows(self, node: Node) -> bool:
        """Say whether a node has, or folds, one entry per row."""
        if node.kind in {"row", "column"} or not (node.wide or node.fold):
            return True
        return node.fold and not self.program.wide[node.args[0].value]

    def _check_short_rows(self) -> None:
        """Short rows are summed a tile at a time: what is summed needs a buffer of its own."""
        program = self.program
        if program.flat or program.width >= BLOCK:
            return
        kept = {value for value, _ in program.outputs}
        for node in program.nodes:
            value = node.args[0].value
            summed = node.kind == "tile" and node.template == "sum" and program.wide[value]
            if summed and (value < self.first or value in kept):
                msg = "a sum over a tile of short rows that are stored elsewhere"
                raise Unsupported(msg)

    def _enter_input(self, slot: int) -> None:
        given, program = self.phase.inputs[slot], self.program
        self.value_of[slot] = slot
        if given.access is Access.CONST:
            program.constants[slot] = Constant(None, slot)
            program.wide[slot] = False
            return
        assert given.dtype is not None
        program.codes[slot] = code_of(given.dtype)
        if given.access is Access.WHOLE:
            program.wide[slot] = prod(given.shape) != 1
            if not program.wide[slot]:
                program.whole_scalars.add(slot)
        else:
            program.wide[slot] = self.program.width == 1 or prod(given.shape[1:]) != 1

    def _enter_step(self, slot: int, step: Step) -> None:
        op: Any = step.op
        match op:
            case Reduction():
                self._fold(slot, step, op)
            case Movement():
                self._alias(slot, step)
            case Leaf():
                self._generate(slot, step)
            case Elementwise():
                self._elementwise(slot, step, op)
            case _:
                msg = f"{op!r}"
                raise Unsupported(msg)

    def _is_wide(self, shape: tuple[int, ...], *, kept: bool) -> bool:
        """Say whether a computed row value is wide; ``kept`` forbids computing it redundantly."""
        rest = shape[1:]
        if rest == self.rest or self.program.width == 1:
            return True
        if prod(rest) == 1:
            return False
        if kept or len(rest) != len(self.rest) or prod(rest) >= self.program.width:
            msg = f"rows of shape {rest} beside {self.rest}"
            raise Unsupported(msg)
        return True

    def _add(self, node: Node) -> int:
        if node.kind == "map" and not {node.code, *[a.code for a in node.args]}.isdisjoint(OPAQUE):
            msg = "complex numbers in registers"
            raise Unsupported(msg)
        self.program.nodes.append(node)
        self.program.codes[node.value] = node.code
        self.program.wide[node.value] = node.wide
        return node.value

    def _fresh(self) -> int:
        self.next_value += 1
        return self.next_value - 1

    def _elementwise(self, slot: int, step: Step, op: Elementwise) -> None:
        kept = slot in self.given or self._is_folded(slot)
        wide = self._is_wide(step.shape, kept=kept)
        code = code_of(step.dtype)
        self.value_of[slot] = slot
        if op is WHERE:
            args = self._args(step, (np.dtype(bool), step.dtype, step.dtype))
            self._add(Node(slot, "map", args, code, wide, op.scalar))
        elif op is CAST:
            self._add(Node(slot, "map", self._args(step, (step.dtype,)), code, wide, "{0}"))
        elif op.ufunc is None:  # made by another pass over the phase, of operands of its dtype
            args = self._args(step, (step.dtype,) * len(step.args))
            self._add(Node(slot, "map", args, code, wide, op.scalar, name=op.name))
        else:
            self._ufunc(slot, step, op, wide=wide)

    def _is_folded(self, slot: int) -> bool:
        return slot in self.folded

    def _ufunc(self, slot: int, step: Step, op: Elementwise, *, wide: bool) -> None:
        mask = None
        if step.params == CHOSEN:  # what the mask leaves out may raise flags: NumPy then looks
            mask = step.args[-1]
            step = replace(step, args=step.args[:-1], params=())
        if step.params or op.ufunc is None or ROWS.get(op.name) is not op:
            msg = f"{op.name} with {step.params}"
            raise Unsupported(msg)
        kinds = tuple(self.kinds[a] if a < self.first else self._dtype(a) for a in step.args)
        types = resolved(op.ufunc, kinds)
        if types is None or types[-1] != step.dtype:
            msg = f"no loop of {op.name} for {kinds}"
            raise Unsupported(msg)
        code = code_of(step.dtype)
        if op.scalar and _template_holds(op, types):
            args = self._args(step, types[:-1])
            template = op.scalar
            self.program.truncates |= op.name in fast.BOUNDED
            if mask is not None and op.loop in {"div", "sqrt"}:
                template = self._guarded(op.scalar, args)
                args = (*args, Arg(self.value_of[mask], "b1"))
            self._add(Node(slot, "map", args, code, wide, template, name=op.name))
            return
        loop = inner_loop(op.ufunc, types)
        raises = op.ufunc is np.power and step.dtype.kind in "iu"
        if loop is None or raises or len(step.args) > 3:
            msg = f"no trusted loop of {op.name} for {types}"
            raise Unsupported(msg)
        args = tuple(self._in_memory(a, wide=wide) for a in self._args(step, types[:-1]))
        self._note_called(step, args)
        self._add(Node(slot, "call", args, code, wide, loop=loop, name=op.name))

    def _guarded(self, template: str, args: tuple[Arg, ...]) -> str:
        """Return a template that computes with 1 what a mask, its last operand, leaves out."""
        mask = f"{{{len(args)}}}"
        return template.format(
            *[
                f"{{{k}}}"
                if a.value in self.program.constants
                else f"({{{k}}} if {mask} else {a.code}(1))"
                for k, a in enumerate(args)
            ]
        )

    def _note_called(self, step: Step, args: tuple[Arg, ...]) -> None:
        constants = self.program.constants
        self.program.called |= {
            a.value for a in args if a.value < self.first and a.value not in constants
        }
        for slot in step.args:
            if slot >= self.first and prod(self.phase.shape_of(slot)[1:]) not in {
                1,
                self.program.width,
            }:
                msg = "a loop over broadcast rows"
                raise Unsupported(msg)

    def _dtype(self, slot: int) -> np.dtype:
        return self.phase.steps[slot - self.first].dtype

    def _args(self, step: Step, dtypes: tuple[np.dtype, ...]) -> tuple[Arg, ...]:
        args = []
        for slot, dtype in zip(step.args, dtypes, strict=True):
            value, code = self.value_of[slot], code_of(dtype)
            if value in self.program.constants:
                self._check_constant(slot, dtype)
            else:
                self._check_cast(self.program.codes[value], code)
            args.append(Arg(value, code))
        return tuple(args)

    def _check_constant(self, slot: int, dtype: np.dtype) -> None:
        kind = self.kinds[slot]
        if kind is complex and dtype.kind != "c":
            msg = "a complex constant made real"
            raise Unsupported(msg)

    def _check_cast(self, source: str, target: str) -> None:
        if source == target:
            return
        if source in OPAQUE or target in OPAQUE:
            msg = f"cast from {source} to {target}"
            raise Unsupported(msg)
        if source[0] == "f" and target[0] in "iu":
            self.program.truncates = True
            if target not in {"i4", "i8"} and not _wraps_around(source, target):
                msg = f"cast from {source} to {target}"
                raise Unsupported(msg)

    def _in_memory(self, arg: Arg, *, wide: bool) -> Arg:
        """Return ``arg`` as a value that has its own code, cast by a map of its own if need be."""
        if arg.value in self.program.constants or self.program.codes[arg.value] == arg.code:
            return arg
        wide = wide and self.program.wide[arg.value]
        made = self._add(Node(self._fresh(), "map", (arg,), arg.code, wide, "{0}"))
        return Arg(made, arg.code)

    def _generate(self, slot: int, step: Step) -> None:
        code = code_of(step.dtype)
        wide = self._is_wide(step.shape, kept=True)
        self.value_of[slot] = slot
        count = 1 if step.op is FULL else 2 if step.op is ARANGE else 0
        if not count or code in OPAQUE:
            msg = f"{step.op!r} of {code}"
            raise Unsupported(msg)
        args = []
        for index in range(count):
            value = self._fresh()
            self.program.constants[value] = Constant(slot - self.first, index)
            self.program.wide[value] = False
            args.append(Arg(value, code))
        if step.op is FULL:
            template = "{0}"
        else:
            if len(step.shape) != 1 or code == "b1":
                msg = f"arange of shape {step.shape}, {code}"
                raise Unsupported(msg)
            template = f"({{0}} + {code}({code}(INDEX) * {{1}}))"
        self._add(Node(slot, "map", tuple(args), code, wide, template))

    def _alias(self, slot: int, step: Step) -> None:
        geometry, (base, *_) = Geometry(*step.params), step.args
        plain = contiguous_strides(geometry.shape, geometry.dtype.itemsize)
        same = (
            step.op is VIEW
            and geometry.offset == 0
            and all(
                extent == 1 or a == b
                for extent, a, b in zip(geometry.shape, geometry.strides, plain, strict=True)
            )
        )
        value = self.value_of.get(base)
        if not same or value is None or prod(geometry.shape) != prod(self.phase.shape_of(base)):
            msg = "a view inside rows"
            raise Unsupported(msg)
        if geometry.dtype != self.phase.steps[slot - self.first].dtype or (
            code_of(geometry.dtype) != self.program.codes[value]
        ):
            msg = "a view that reinterprets"
            raise Unsupported(msg)
        if self._is_wide(step.shape, kept=True) != self.program.wide[value]:
            msg = "a view that changes rows"
            raise Unsupported(msg)
        self.value_of[slot] = value

    def _fold(self, slot: int, step: Step, op: Reduction) -> None:
        params: Any = step.params
        if op.ufunc is None:
            self._pick(slot, step, op)
            return
        if params.masked or ROWS.get(op.name) is not op:
            msg = f"{op.name} {params}"
            raise Unsupported(msg)
        operand = self.phase.shape_of(step.args[0])
        kind = self._fold_kind(operand, params)
        dtype = fold_dtype(op.ufunc, self._kind_of(step.args[0]), params.dtype)
        if dtype is None or dtype != step.dtype or (kind == "row" and params.initial is not None):
            msg = f"{op.name} to {step.dtype}"
            raise Unsupported(msg)
        if not isinstance(self._kind_of(step.args[0]), np.dtype):
            msg = "a fold of a constant"
            raise Unsupported(msg)
        loop = inner_loop(op.ufunc, (dtype, dtype, dtype))
        if loop is None or dtype.kind == "c":
            msg = f"no trusted loop of {op.name} for {dtype}"
            raise Unsupported(msg)
        (arg,) = self._args(step, (dtype,))
        arg = self._in_memory(arg, wide=True)
        summing = op.ufunc is np.add and arg.code in {"f4", "f8"}
        self.value_of[slot] = slot
        wide = kind == "column"
        node = Node(slot, kind, (arg,), arg.code, wide, "sum" if summing else "", loop, op.name)
        self._add(node)
        if slot in self.partial:
            self.program.outputs.append((slot, self.partial[slot]))

    def _pick(self, slot: int, step: Step, op: Reduction) -> None:
        """Enter the index of the largest or smallest element of each row."""
        params: Any = step.params
        operand = self.phase.shape_of(step.args[0])
        dtype = self._kind_of(step.args[0])
        if op not in {ARGMAX, ARGMIN} or self._fold_kind(operand, params) != "row":
            msg = f"{op.name} of {operand} along {params.axis}"
            raise Unsupported(msg)
        if not isinstance(dtype, np.dtype) or dtype.kind == "c":
            msg = f"{op.name} of {dtype}"
            raise Unsupported(msg)
        (arg,) = self._args(step, (np.dtype(np.uint8) if dtype.kind == "b" else dtype,))
        arg = self._in_memory(arg, wide=True)
        self.value_of[slot] = slot
        self._add(Node(slot, "row", (arg,), code_of(step.dtype), wide=False, template=op.name))

    def _kind_of(self, slot: int) -> Any:
        return self.kinds[slot] if slot < self.first else self._dtype(slot)

    def _fold_kind(self, operand: tuple[int, ...], params: Any) -> str:
        kept = prod(n for k, n in enumerate(operand) if k and k not in params.axis)
        folded = prod(n for k, n in enumerate(operand) if k and k in params.axis)
        wide = operand[1:] == self.rest or self.program.width == 1
        if not wide and prod(operand[1:]) != 1:
            msg = f"a fold of rows of shape {operand[1:]} beside {self.rest}"
            raise Unsupported(msg)
        if 0 in params.axis and kept == 1:
            return "tile"
        if 0 in params.axis and folded == 1 and wide:
            return "column"
        if 0 not in params.axis and kept == 1 and folded == self.program.width > 1:
            return "row"
        msg = f"a fold of {operand} along {params.axis}"
        raise Unsupported(msg)


@lru_cache(maxsize=64)
def _wraps_around(source: str, target: str) -> bool:
    """Say whether NumPy makes small integers of the lowest bits of larger ones, as kernels do.

    C says nothing of what does not fit, and compilers differ.
    """
    if np.dtype(target).itemsize >= np.dtype("i4").itemsize:
        return False
    near, far = np.linspace(-70_000.5, 70_000.5, 999), np.linspace(-(2.0**31), 2.0**31 - 256, 999)
    values = np.concatenate([near, far]).astype(source)
    with np.errstate(invalid="ignore"):
        return all(
            np.array_equal(x.astype(target), x.astype("i4").astype(target))
            for x in (values, values[::3], values[:3])
        )


def _widest_rest(phase: Phase) -> tuple[int, ...]:
    """Return the shape of one row of the widest row value."""
    folded = {output.slot - len(phase.inputs) for output in phase.outputs if output.partial}
    shapes = [s.shape for k, s in enumerate(phase.steps) if k not in folded]
    shapes += [phase.shape_of(s.args[0]) for s in phase.steps if isinstance(s.op, Reduction)]
    return max((s[1:] for s in shapes), key=lambda rest: (prod(rest), len(rest)))


@lru_cache(maxsize=1024)
def fold_dtype(ufunc: np.ufunc, operand: np.dtype, wanted: np.dtype | None) -> np.dtype | None:
    """Return the one dtype that the fold works in, or None if there is not just one."""
    signature: Any = {} if wanted is None else {"signature": (wanted, None, None)}
    try:
        found = ufunc.resolve_dtypes((None, operand, None), reduction=True, **signature)
    except TypeError:
        return None
    return found[0] if found[0] == found[1] == found[2] else None


@lru_cache(maxsize=1024)
def _template_holds(op: Elementwise, types: tuple[np.dtype, ...]) -> bool:
    """Say whether the row's scalar expression gives the ufunc's answers on special values.

    It may not: adding booleans is ``or``; whether 0.0 or -0.0 is the maximum depends on the CPU.
    """
    assert op.ufunc is not None
    if any(f"{t.kind}{t.itemsize}" not in PLAIN for t in types):
        return False
    operands = np.meshgrid(*[_specials(t) for t in types[:-1]])
    text = op.scalar.format(*[f"x[{k}]" for k in range(len(operands))])
    program = compile(text, op.name, "eval")
    flat = [o.ravel() for o in operands]
    with np.errstate(all="ignore"):
        expected = op.ufunc(*flat, signature=types)
        try:
            given = [
                eval(program, {"x": row, "abs": abs, "sqrt": np.sqrt, op.name: op.ufunc})  # noqa: S307 - our table
                for row in zip(*flat, strict=True)
            ]
        except TypeError:
            return False
        found = np.array(given).astype(types[-1])
    same = (
        (found == expected) & (np.signbit(found) == np.signbit(expected))
        if types[-1].kind == "f"
        else (found == expected)
    )
    return bool(np.all(same | ((found != found) & (expected != expected))))  # noqa: PLR0124 - NaN


def _specials(dtype: np.dtype) -> np.ndarray:
    if dtype.kind == "f":
        tiny, big = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
        return np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, tiny, big], dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    info = np.iinfo(dtype)
    return np.array([0, 1, 3, info.max, info.min, info.max // 2], dtype)
