"""Numbers of generated kernels as LLVM sees them: typed values, and instructions written as text.

The rules of arithmetic are Numba's, with NumPy's way of dividing: integers are widened to 64 bits
before they are computed with, and signed ones are said never to overflow.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

TYPES = {
    "b1": "i1",
    "i1": "i8",
    "i2": "i16",
    "i4": "i32",
    "i8": "i64",
    "u1": "i8",
    "u2": "i16",
    "u4": "i32",
    "u8": "i64",
    "f4": "float",
    "f8": "double",
}
Number = int | float
_INTEGER = {"+": "add", "-": "sub", "*": "mul"}
_FLOAT = {"+": "fadd", "-": "fsub", "*": "fmul", "/": "fdiv"}
_LOGIC = {"&": "and", "|": "or", "^": "xor"}
_ORDER = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_WIDE_INTEGERS = frozenset({"i8", "u8", "i4", "u4"})


class Unknown(Exception):  # noqa: N818 - an answer, not an error
    """A kernel says something that is not in the language, so Numba must look at it."""


class Value(NamedTuple):
    """A number: its code, its name or digits in LLVM's text, and what it is if that is known."""

    code: str
    text: str
    known: Number | None = None

    @property
    def typed(self) -> str:
        """Type and name, as most instructions want them."""
        return f"{TYPES[self.code]} {self.text}"


def constant(known: Number, code: str) -> Value:
    """Return a known number of a code."""
    if code == "b1":
        return Value(code, "true" if known else "false", bool(known))
    if code[0] == "f":
        with np.errstate(all="ignore"):
            exact = float(np.dtype(code).type(known))
        bits = struct.pack(">d", exact).hex().upper()  # a short one is written as a long one
        return Value(code, f"0x{bits}", exact)
    width = 8 * np.dtype(code).itemsize
    known = int(known) & ((1 << width) - 1)
    signed = known - (1 << width) if known >> (width - 1) else known
    return Value(code, str(signed), signed if code[0] == "i" else known)


def code_of_number(number: object) -> str:
    """Return the code of a number in Python's text, or of one of NumPy's."""
    if isinstance(number, np.generic):
        return f"{number.dtype.kind}{number.dtype.itemsize}"
    if isinstance(number, bool):
        return "b1"
    if isinstance(number, float):
        return "f8"
    if isinstance(number, int) and -(1 << 63) <= number < 1 << 63:
        return "i8"
    msg = f"the constant {number!r}"
    raise Unknown(msg)


def arithmetic_code(left: str, right: str) -> str:
    """Return the code in which Numba adds what has these two."""
    if left == right and left[0] == "f":
        return left
    if "f" in {left[0], right[0]}:
        other = right if left[0] == "f" else left
        if other[0] != "f" and other not in _WIDE_INTEGERS:
            msg = f"arithmetic of {left} and {right}"
            raise Unknown(msg)
        return "f8"
    if "b" in {left[0], right[0]} and "u" in {left[0], right[0]}:
        msg = f"arithmetic of {left} and {right}"
        raise Unknown(msg)
    return "u8" if left[0] == right[0] == "u" else "i8"


_WRAPPING = np.dtype("i4")


def _cast_word(source: str, code: str) -> str:
    """Return the instruction that casts, '' where the bits are the same."""
    before, after = np.dtype(source).itemsize, np.dtype(code).itemsize
    match source[0], code[0]:
        case "f", "f":
            return "fpext" if before < after else "fptrunc"
        case "f", kind:
            return "fptosi" if kind == "i" else "fptoui"
        case kind, "f":
            return "sitofp" if kind == "i" else "uitofp"
        case "b", _:
            return "zext"
        case kind, _ if before < after:
            return "sext" if kind == "i" else "zext"
        case _:
            return "trunc" if before > after else ""


class Writer:
    """The text of one LLVM function, line by line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.entry: list[str] = []  # stack memory, which LLVM turns into registers
        self.declared: dict[str, str] = {}
        self.nodes: dict[str, int] = {}  # metadata by its text
        self.block = "start"
        self._count = 0

    # lines

    def name(self) -> str:
        """Return a new name."""
        self._count += 1
        return f"%t{self._count}"

    def add(self, line: str) -> None:
        """Write an instruction without a result."""
        self.lines.append("  " + line)

    def make(self, code: str, instruction: str) -> Value:
        """Write an instruction and return its result."""
        name = self.name()
        self.lines.append(f"  {name} = {instruction}")
        return Value(code, name)

    def pointer(self, instruction: str) -> str:
        """Write an instruction and return the name of its result, no number of the kernel's."""
        name = self.name()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def stack(self, kind: str) -> str:
        """Return the address of stack memory for one value of a type."""
        name = self.name()
        self.entry.append(f"  {name} = alloca {kind}")
        return name

    def labels(self, count: int) -> list[str]:
        """Return new names of blocks."""
        self._count += count
        return [f"b{self._count - k}" for k in range(count)]

    def begin(self, label: str) -> None:
        """Go on in a new block."""
        self.lines.append(f"{label}:")
        self.block = label

    def jump(self, label: str) -> None:
        """End the block."""
        self.add(f"br label %{label}")

    def part(self, condition: Value, this: str, other: str) -> None:
        """End the block by a choice."""
        self.add(f"br {self.truth(condition).typed}, label %{this}, label %{other}")

    def node(self, text: str) -> str:
        """Return the name of a metadata node."""
        return f"!{self.nodes.setdefault(text, len(self.nodes))}"

    def intrinsic(self, name: str, *values: Value) -> Value:
        """Call one of LLVM's functions over numbers of one code; the result has it too."""
        kind = TYPES[values[0].code]
        full = f"llvm.{name}.{'f64' if values[0].code == 'f8' else 'f32'}"
        return self.external(full, kind, values)

    def external(self, name: str, kind: str, values: Iterable[Value], pure: str = "") -> Value:
        """Call a function that is declared and not defined."""
        given = list(values)
        kinds = ", ".join(TYPES[v.code] for v in given)
        self.declared[name] = f"declare {kind} @{name}({kinds}){pure}"
        passed = ", ".join(v.typed for v in given)
        return self.make(given[0].code, f"call {kind} @{name}({passed})")

    # numbers

    def cast(self, value: Value, code: str) -> Value:
        """Return a number in another code, as C casts it; what is true is any but zero."""
        source = value.code
        if source == code:
            return value
        if code == "b1":
            return self.truth(value)
        if value.known is not None and (source[0] != "f" or code[0] == "f"):
            return constant(value.known, code)
        if source[0] == "f" and code[0] in "iu" and np.dtype(code).itemsize < _WRAPPING.itemsize:
            value = self.cast(value, _WRAPPING.str[1:])  # what does not fit wraps: see lower.py
        how = _cast_word(value.code, code)
        if not how:
            return Value(code, value.text)
        return self.make(code, f"{how} {value.typed} to {TYPES[code]}")

    def truth(self, value: Value) -> Value:
        """Say whether a number is any but zero."""
        if value.code == "b1":
            return value
        return self.compare("!=", value, constant(0, value.code))

    def arithmetic(self, sign: str, left: Value, right: Value) -> Value:
        """Return ``left`` ``sign`` ``right`` for one of ``+ - * / // % & | ^ << >>``."""
        if sign in {"<<", ">>"}:
            return self._shift(sign, left, right)
        if sign in _LOGIC and left.code == right.code == "b1":
            return self.make("b1", f"{_LOGIC[sign]} {left.typed}, {right.text}")
        code = arithmetic_code(left.code, right.code)
        if sign == "/" and code[0] != "f":
            code = "f8"
        left, right = self.cast(left, code), self.cast(right, code)
        if code[0] == "f":
            if sign not in _FLOAT:
                msg = f"{sign} of {code}"
                raise Unknown(msg)
            return self.make(code, f"{_FLOAT[sign]} {left.typed}, {right.text}")
        if sign in {"//", "%"}:
            quotient, rest = self._divided(left, right)
            return quotient if sign == "//" else rest
        if sign in _LOGIC:
            return self.make(code, f"{_LOGIC[sign]} {left.typed}, {right.text}")
        flags = " nsw" if code == "i8" else ""
        return self.make(code, f"{_INTEGER[sign]}{flags} {left.typed}, {right.text}")

    def _shift(self, sign: str, left: Value, right: Value) -> Value:
        if left.code[0] not in "iu" or right.code[0] not in "iu":
            msg = f"{left.code} {sign} {right.code}"
            raise Unknown(msg)
        code = left.code[0] + "8"
        left, right = self.cast(left, code), self.cast(right, code)
        how = "shl" if sign == "<<" else "ashr" if code == "i8" else "lshr"
        return self.make(code, f"{how} {left.typed}, {right.text}")

    def _divided(self, left: Value, right: Value) -> tuple[Value, Value]:
        """Return quotient, rounded down, and rest; zeros where there is no answer."""
        code, zero = left.code, constant(0, left.code)
        broken = self.compare("==", right, zero)
        if code == "i8":
            least = self.compare("==", left, constant(-(1 << 63), code))
            last = self.compare("==", right, constant(-1, code))
            broken = self.arithmetic("|", broken, self.arithmetic("&", least, last))
        by = self.select(broken, constant(1, code), right)
        letter = "s" if code == "i8" else "u"
        quotient = self.make(code, f"{letter}div {left.typed}, {by.text}")
        rest = self.make(code, f"{letter}rem {left.typed}, {by.text}")
        if code == "i8":
            apart = self.compare("<", self.arithmetic("^", rest, by), zero)
            down = self.arithmetic("&", self.compare("!=", rest, zero), apart)
            lower = self.arithmetic("-", quotient, constant(1, code))
            quotient = self.select(down, lower, quotient)
            rest = self.select(down, self.arithmetic("+", rest, by), rest)
        return self.select(broken, zero, quotient), self.select(broken, zero, rest)

    def select(self, condition: Value, this: Value, other: Value) -> Value:
        """Return ``this`` where the condition holds, else ``other``; both have been computed."""
        return self.make(this.code, f"select {condition.typed}, {this.typed}, {other.typed}")

    def compare(self, sign: str, left: Value, right: Value) -> Value:
        """Return whether the relation holds; NaN is in none but ``!=``."""
        if left.known is not None and right.known is not None:
            return constant(_holds(sign, left.known, right.known), "b1")
        if "f" in {left.code[0], right.code[0]}:
            code = left.code if left.code == right.code else "f8"
            left, right = self.cast(left, code), self.cast(right, code)
            how = "fcmp " + ("une" if sign == "!=" else "o" + _ORDER[sign])
            return self.make("b1", f"{how} {left.typed}, {right.text}")
        code = _comparable(left, right)
        left, right = self.cast(left, code), self.cast(right, code)
        letter = "" if sign in {"==", "!="} else "s" if code[0] == "i" else "u"
        return self.make("b1", f"icmp {letter}{_ORDER[sign]} {left.typed}, {right.text}")

    def negative(self, value: Value) -> Value:
        """Return ``-value``."""
        if value.known is not None and value.code in {"i8", "f4", "f8"}:
            return constant(-value.known, value.code)
        if value.code[0] == "f":
            return self.make(value.code, f"fneg {value.typed}")
        if value.code == "b1":
            value = self.cast(value, "i8")
        negated = self.make(value.code, f"sub {TYPES[value.code]} 0, {value.text}")
        return self.cast(negated, value.code[0] + "8")

    def inverse(self, value: Value) -> Value:
        """Return an integer with all bits turned."""
        if value.code[0] not in "iu":
            msg = f"the bits of {value.code}"
            raise Unknown(msg)
        turned = self.make(value.code, f"xor {value.typed}, -1")
        return self.cast(turned, value.code[0] + "8")

    def absolute(self, value: Value) -> Value:
        """Return a number without its sign."""
        if value.code[0] == "f":
            return self.intrinsic("fabs", value)
        if value.code == "b1":
            return self.cast(value, "i8")
        if value.code[0] == "u":
            return value
        below = self.compare("<", value, constant(0, value.code))
        negated = self.make(value.code, f"sub {TYPES[value.code]} 0, {value.text}")
        return self.select(below, negated, value)


def _holds(sign: str, left: Number, right: Number) -> bool:
    match sign:
        case "==":
            return left == right
        case "!=":
            return left != right
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right


def _comparable(left: Value, right: Value) -> str:
    """Return an integer code that holds both numbers."""
    kinds = {left.code[0], right.code[0]}
    if left.code == right.code and left.code != "b1":
        return left.code
    if kinds == {"u"}:
        return "u8"
    for one, other in ((left, right), (right, left)):
        if one.code == "u8" and other.code[0] != "u":
            if other.known is not None and other.known >= 0:
                return "u8"
            msg = f"whether {left.code} is less than {right.code}"
            raise Unknown(msg)
    return "i8"
