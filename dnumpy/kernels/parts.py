"""Phase -> Phase in which every complex number is two real ones, so that registers can hold it.

Real and imaginary parts of stored arrays are views of them, and ``z.real`` costs nothing. The
arithmetic is NumPy's, to the bit: its loops multiply with a fused operation where the CPU has one.
Which way they go is found out by asking NumPy for some products; where neither way gives its
answers, and for all other functions of complex numbers, NumPy's own loops are called as before.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.geometry import Geometry, contiguous_strides
from dnumpy.kernels.unroll import Unrolled
from dnumpy.ops.families import Elementwise, Leaf, Movement, lookup
from dnumpy.ops.table import CAST, CHOSEN, FULL, VIEW, WHERE
from dnumpy.rewrite.phase import Access, Input, Output, Phase, Step

if TYPE_CHECKING:
    from dnumpy.expr.expr import Shape

COMPLEX, REAL = np.dtype(np.complex128), np.dtype(np.float64)
FMA = Elementwise("fma", loop="arith", scalar="fma({0}, {1}, {2})")
_ADD, _SUBTRACT, _MULTIPLY, _NEGATIVE = (
    lookup(name) for name in ("add", "subtract", "multiply", "negative")
)
# of an absolute value: the larger part times sqrt(1 + (smaller / larger)**2), infinite if one is
_ABSOLUTE = lookup("absolute")
_LARGER = Elementwise("larger", loop="compare", scalar="({0} if {0} >= {1} or {0} != {0} else {1})")
_SMALLER = Elementwise(
    "smaller", loop="compare", scalar="({0} if {0} <= {1} or {0} != {0} else {1})"
)
_MOST = repr(float(np.finfo(np.float64).max))
_RATIO = Elementwise(
    "ratio",
    loop="div",
    scalar=f"(({{0}} if {{0}} <= {_MOST} else 0.0) / ({{1}} if {{1}} != 0.0 else 1.0))",
)
_FUSED_HYPOT = Elementwise("hypot1", loop="sqrt", scalar="sqrt(fma({0}, {0}, 1.0))")
_PLAIN_HYPOT = Elementwise("hypot1", loop="sqrt", scalar="sqrt({0} * {0} + 1.0)")
_UNLESS_INFINITE = Elementwise(
    "unless_infinite",
    loop="select",
    scalar=f"({{1}} if {{1}} > {_MOST} else ({{2}} if {{2}} > {_MOST} else {{0}}))",
)

Parts = tuple[int, int]  # slots of the real and the imaginary part


class _Refused(Exception):  # noqa: N818 - an answer, not an error
    """The phase has complex values that must stay whole."""


def in_parts(phase: Phase) -> Unrolled | None:
    """Return the phase over real numbers; None where it has no complex ones or must keep them."""
    dtypes = [x.dtype for x in phase.inputs] + [x.dtype for x in phase.steps]
    if COMPLEX not in dtypes:
        return None
    try:
        return _Splitting(phase).run()
    except _Refused:
        return None


class _Splitting:
    """Inputs are numbered from -1 down until all are known."""

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self.first = len(phase.inputs)
        self.inputs: list[Input] = []
        self.sources: list[tuple[int, Any]] = []
        self.steps: list[Step] = []
        self.known: dict[tuple[int, str | None], int] = {}
        self.parts: dict[int, Parts] = {}
        self.fused = fuses()

    def run(self) -> Unrolled:
        for slot, step in enumerate(self.phase.steps, start=self.first):
            self._enter(slot, step)
        count = len(self.inputs)
        steps = tuple(
            replace(s, args=tuple(count + a if a >= 0 else -1 - a for a in s.args))
            for s in self.steps
        )
        outputs: list[Output] = []
        targets: list[tuple[int, str | None]] = []
        for k, output in enumerate(self.phase.outputs):
            if output.slot in self.parts:
                for part, slot in zip(("real", "imag"), self.parts[output.slot], strict=True):
                    outputs.append(Output(count + self._own(slot, outputs, count), partial=False))
                    targets.append((k, part))
            else:
                outputs.append(Output(count + self.known[output.slot, None], output.partial))
                targets.append((k, None))
        phase = Phase(
            self.phase.rows, self.phase.tile_rows, tuple(self.inputs), steps, tuple(outputs)
        )
        return Unrolled(phase, tuple(self.sources), tuple(targets))

    def _own(self, slot: int, outputs: list[Output], count: int) -> int:
        """Return a slot that is given out once; a part that is another's too is refused."""
        if slot < 0 or any(o.slot == count + slot for o in outputs):
            raise _Refused
        return slot

    def _add(self, op: Any, args: tuple[int, ...], like: Step, dtype: np.dtype = REAL) -> int:
        self.steps.append(Step(op, args, (), like.shape, dtype))
        return len(self.steps) - 1

    def _input(self, k: int, part: str | None) -> int:
        if (k, part) not in self.known:
            given = self.phase.inputs[k]
            constant = given.access is Access.CONST
            dtype = given.dtype if part is None or constant else REAL
            self.inputs.append(replace(given, dtype=dtype))
            self.sources.append((k, part))
            self.known[k, part] = -len(self.inputs)
        return self.known[k, part]

    def _whole(self, slot: int) -> int:
        """Return a value that is no complex one."""
        if slot in self.parts:
            raise _Refused
        if slot < self.first:
            if self.phase.inputs[slot].dtype == COMPLEX:
                raise _Refused
            return self._input(slot, None)
        return self.known[slot, None]

    def _pair(self, slot: int, like: Step) -> Parts:
        """Return the parts of a value, complex or made complex."""
        if slot in self.parts:
            return self.parts[slot]
        if slot < self.first:
            given = self.phase.inputs[slot]
            if given.access is Access.CONST or given.dtype == COMPLEX:
                self.parts[slot] = self._input(slot, "real"), self._input(slot, "imag")
                return self.parts[slot]
        if self.phase.dtype_of(slot).kind == "c":
            raise _Refused
        if slot < self.first and self.phase.inputs[slot].access is Access.WHOLE:
            return self._whole(slot), self._zero(like.shape)  # no row value, but read as one
        real = self._add(CAST, (self._whole(slot),), replace(like, shape=self.phase.shape_of(slot)))
        return real, self._zero(self.phase.shape_of(slot))

    def _zero(self, shape: Shape) -> int:
        self.steps.append(Step(FULL, (), (0.0,), shape, REAL))
        return len(self.steps) - 1

    def _enter(self, slot: int, step: Step) -> None:
        if isinstance(step.op, Movement):
            self._view(slot, step)
        elif step.dtype == COMPLEX:
            self.parts[slot] = self._made(step)
        elif step.op is _ABSOLUTE and self.phase.dtype_of(step.args[0]) == COMPLEX:
            self.known[slot, None] = self._modulus(self._pair(step.args[0], step), step)
        else:
            args = tuple(self._whole(a) for a in step.args)
            self.steps.append(replace(step, args=args))
            self.known[slot, None] = len(self.steps) - 1

    def _view(self, slot: int, step: Step) -> None:
        """The real or imaginary part of all of a complex value is at hand."""
        geometry, (base, *_) = Geometry(*step.params), step.args
        strides = contiguous_strides(geometry.shape, COMPLEX.itemsize)
        whole = geometry.shape == self.phase.shape_of(base) and geometry.strides == strides
        if step.op is not VIEW or not whole or geometry.dtype != REAL or base < self.first:
            raise _Refused
        part = {0: 0, REAL.itemsize: 1}.get(geometry.offset)
        if base not in self.parts or part is None:
            raise _Refused
        self.known[slot, None] = self.parts[base][part]

    def _made(self, step: Step) -> Parts:
        op: Any = step.op
        if isinstance(op, Leaf):
            if op is not FULL:
                raise _Refused
            value = complex(step.params[0])
            self.steps.append(replace(step, params=(value.real,), dtype=REAL))
            self.steps.append(replace(step, params=(value.imag,), dtype=REAL))
            return len(self.steps) - 2, len(self.steps) - 1
        args = step.args[:-1] if step.params == CHOSEN else step.args
        if (step.params and step.params != CHOSEN) or not isinstance(op, Elementwise):
            raise _Refused
        if op is WHERE:
            condition = self._whole(args[0])
            x, y = (self._pair(a, step) for a in args[1:])
            real, imag = (
                self._add(WHERE, (condition, p, q), step) for p, q in zip(x, y, strict=True)
            )
            return real, imag
        return self._arithmetic(op.name, [self._pair(a, step) for a in args], step)

    def _arithmetic(self, name: str, pairs: list[Parts], like: Step) -> Parts:
        (a, b), (c, d) = pairs[0], pairs[-1]
        match name:
            case "add" | "subtract":
                op = _ADD if name == "add" else _SUBTRACT
                return self._add(op, (a, c), like), self._add(op, (b, d), like)
            case "negative":
                return self._add(_NEGATIVE, (a,), like), self._add(_NEGATIVE, (b,), like)
            case "cast" | "positive":
                return self._add(CAST, (a,), like), self._add(CAST, (b,), like)
            case "multiply" | "square":
                return self._product((a, b), (c, d), like)
            case _:
                raise _Refused

    def _modulus(self, parts: Parts, like: Step) -> int:
        fused = fuses_modulus()
        if fused is None:
            raise _Refused
        like = replace(like, params=())
        x, y = (self._add(_ABSOLUTE, (part,), like) for part in parts)
        larger, smaller = self._add(_LARGER, (x, y), like), self._add(_SMALLER, (x, y), like)
        ratio = self._add(_RATIO, (smaller, larger), like)
        hypot = self._add(_FUSED_HYPOT if fused else _PLAIN_HYPOT, (ratio,), like)
        found = self._add(_MULTIPLY, (hypot, larger), like)
        return self._add(_UNLESS_INFINITE, (found, x, y), like)

    def _product(self, left: Parts, right: Parts, like: Step) -> Parts:
        (a, b), (c, d) = left, right
        if self.fused is None:
            raise _Refused
        apart, beside = self._add(_MULTIPLY, (b, d), like), self._add(_MULTIPLY, (b, c), like)
        if self.fused:
            apart = self._add(_NEGATIVE, (apart,), like)
            return self._add(FMA, (a, c, apart), like), self._add(FMA, (a, d, beside), like)
        real, imag = self._add(_MULTIPLY, (a, c), like), self._add(_MULTIPLY, (a, d), like)
        return self._add(_SUBTRACT, (real, apart), like), self._add(_ADD, (imag, beside), like)


@lru_cache(maxsize=1)
def fuses() -> bool | None:
    """Say whether NumPy multiplies complex numbers by fused operations; None if by neither way."""
    draw = np.random.default_rng(106)
    values = draw.normal(size=(4, 61))
    x, y = values[0] + 1j * values[1], values[2] + 1j * values[3]
    for fused in (True, False):
        product = _product_of(x, y, fused=fused)
        square = _product_of(x, x, fused=fused)
        if np.array_equal(product, x * y) and np.array_equal(square, np.square(x)):
            return fused
    return None


@lru_cache(maxsize=1)
def fuses_modulus() -> bool | None:
    """Say whether NumPy's absolute value of a complex number is made with a fused operation.

    None where it is made in another way, as by the C library.
    """
    parts = np.random.default_rng(107).normal(size=(2, 61))
    parts[0] *= np.logspace(-3, 3, 61)
    found = np.abs(parts[0] + 1j * parts[1])
    x, y = np.abs(parts)
    larger, ratio = np.maximum(x, y), np.minimum(x, y) / np.maximum(x, y)
    for fused in (True, False):
        ones = [both(q, q, 1.0, fused=fused) for q in ratio.tolist()]
        if np.array_equal(np.sqrt(ones) * larger, found):
            return fused
    return None


def both(a: float, b: float, c: float, *, fused: bool) -> float:
    """Return ``a * b + c``, rounded once if ``fused``."""
    return float(Fraction(a) * Fraction(b) + Fraction(c)) if fused else a * b + c


def _product_of(x: np.ndarray, y: np.ndarray, *, fused: bool) -> np.ndarray:
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    return np.array([
        complex(
            both(u.real, v.real, -(u.imag * v.imag), fused=fused),
            both(u.real, v.imag, u.imag * v.real, fused=fused),
        )
        for u, v in pairs
    ])  # fmt: skip
