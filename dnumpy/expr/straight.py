"""The straight lines of a function: what its instructions work on, up to the next jump.

A stack is followed as far as it is known: what lies on it comes from a variable, a constant or an
earlier instruction. What an instruction of a newer Python does is not known, and ends a line.
"""

from __future__ import annotations

import dis
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType


class Symbol(NamedTuple):
    """Where a value on the stack comes from: a variable, a constant, an earlier instruction."""

    kind: str
    value: Any = None
    of: tuple[Symbol, ...] = ()
    stored: int = -1  # of a variable: the instruction that stores what it is made ``of``


class Step(NamedTuple):
    """An instruction that may run code; its kind is one of those below.

    ``operator``, ``index``, ``store``, ``call``, ``attribute``, ``return``; what follows ``end``
    may be anything.
    """

    kind: str
    offset: int
    operands: tuple[Symbol, ...] = ()
    callee: Symbol | None = None
    names: tuple[str, ...] = ()  # of keywords, or of the operator
    guarded: bool = False  # what it raises may be caught in the same function


UNKNOWN, _NULL = Symbol("unknown"), Symbol("null")
END = Step("end", -1)
_MOST_KNOWN = 4096  # places, and functions


def line_of(code: CodeType, offset: int) -> tuple[tuple[Step, ...], int]:
    """Return the straight line of the step at an offset, and its place there; none if unknown."""
    key = id(code), offset
    found = _known.get(key)
    if found is None or found[0] is not code:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        found = _known[key] = (code, *_found_in(code, offset))
    return found[1], found[2]


_known: dict[tuple[int, int], tuple[CodeType, tuple[Step, ...], int]] = {}


def _found_in(code: CodeType, offset: int) -> tuple[tuple[Step, ...], int]:
    # a frame that waits for a call stands at the end of that instruction's caches
    offset = max((i.offset for i in dis.get_instructions(code) if i.offset <= offset), default=-1)
    for line in lines_of(code):
        for k, step in enumerate(line[:-1]):  # but its end
            if step.offset == offset:
                return line, k
    return (), 0


@lru_cache(_MOST_KNOWN)
def lines_of(code: CodeType) -> tuple[tuple[Step, ...], ...]:
    """Return the steps of each straight line of a code object, in order."""
    guarded = _guarded_of(code)
    lines: list[tuple[Step, ...]] = []
    line = _Line(code, guarded)
    for instruction in dis.get_instructions(code):
        if instruction.is_jump_target and line.steps:
            lines.append((*line.steps, END))
        if instruction.is_jump_target:
            line = _Line(code, guarded)
        if not line.takes(instruction):
            lines.append((*line.steps, END))
            line = _Line(code, guarded)
    lines.append((*line.steps, END))
    return tuple(lines)


@lru_cache(_MOST_KNOWN)
def kept_of(code: CodeType) -> frozenset[int]:
    """Return the offsets of what is stored in a variable, or may be, as far as is known."""
    kept: set[int] = set()
    line = _Line(code, ())
    for instruction in dis.get_instructions(code):
        if instruction.is_jump_target:
            line = _Line(code, ())
        if not line.takes(instruction):
            kept |= line.kept
            line = _Line(code, ())
        kept |= line.kept
    return frozenset(kept)


def _guarded_of(code: CodeType) -> tuple[tuple[int, int], ...]:
    entries = getattr(dis.Bytecode(code), "exception_entries", ())
    return tuple((e.start, e.end) for e in entries)


def _reads(symbol: Symbol, name: str) -> bool:
    """Say whether a symbol stands for what a variable held, or for something made of that."""
    is_it = symbol.kind in ("local", "name") and symbol.value == name
    return is_it or any(_reads(part, name) for part in symbol.of)


class _Line:
    """The stack along a straight line, as far as it is known."""

    def __init__(self, code: CodeType, guarded: tuple[tuple[int, int], ...]) -> None:
        self._code, self._guarded = code, guarded
        self._stack: list[Symbol] = []
        self._variables: dict[str, Symbol] = {}
        self._names: tuple[str, ...] = ()
        self.steps: list[Step] = []
        self.kept: set[int] = set()  # results that are stored, or copied

    def takes(self, instruction: dis.Instruction) -> bool:
        """Follow an instruction; False where it may run anything, or is not known."""
        name = instruction.opname
        if name in _NOTHING:
            return True
        handler = _HANDLERS.get(name)
        return handler is not None and handler(self, instruction)

    def _pop(self) -> Symbol:
        return self._stack.pop() if self._stack else UNKNOWN

    def _popped(self, count: int) -> tuple[Symbol, ...]:
        return tuple(self._pop() for _ in range(count))[::-1]

    def _step(
        self,
        kind: str,
        at: dis.Instruction,
        operands: tuple[Symbol, ...],
        callee: Symbol | None = None,
        names: tuple[str, ...] = (),
    ) -> bool:
        offset = at.offset
        guarded = any(start <= offset < end for start, end in self._guarded)
        self.steps.append(Step(kind, offset, operands, callee, names, guarded))
        return True

    def _push_result(self, at: dis.Instruction) -> bool:
        self._stack.append(Symbol("result", at.offset))
        return True

    # what each instruction does; ``at`` is the instruction

    def constant(self, at: dis.Instruction) -> bool:
        self._stack.append(Symbol("constant", at.argval))
        return True

    def null(self, _at: dis.Instruction) -> bool:
        self._stack.append(_NULL)
        return True

    def _load(self, name: str, kind: str = "local") -> None:
        self._stack.append(self._variables.get(name) or Symbol(kind, name))

    def _store(self, name: str, at: dis.Instruction) -> None:
        value = self._pop()
        if value.kind in ("local", "name") and value.stored >= 0:
            (value,) = value.of  # what it is made of, which another value of that does not change
        self._keep(value)
        kind = "name" if at.opname == "STORE_NAME" else "local"
        self._stack = [UNKNOWN if _reads(s, name) else s for s in self._stack]
        for other, known in self._variables.items():
            if _reads(known, name):
                self._variables[other] = known._replace(of=(UNKNOWN,))
        self._variables[name] = Symbol(kind, name, (value,), at.offset)

    def _keep(self, symbol: Symbol) -> None:
        if symbol.kind == "result":
            self.kept.add(symbol.value)
        for part in symbol.of:
            self._keep(part)

    def local(self, at: dis.Instruction) -> bool:
        self._load(at.argval)
        return True

    def locals_(self, at: dis.Instruction) -> bool:
        for name in at.argval:
            self._load(name)
        return True

    def store(self, at: dis.Instruction) -> bool:
        self._store(at.argval, at)
        return True

    def store_load(self, at: dis.Instruction) -> bool:
        self._store(at.argval[0], at)
        self._load(at.argval[1])
        return True

    def store_store(self, at: dis.Instruction) -> bool:
        for name in at.argval:
            self._store(name, at)
        return True

    def delete(self, at: dis.Instruction) -> bool:
        self._variables[at.argval] = Symbol("local", at.argval, (UNKNOWN,), at.offset)
        return True

    def name(self, at: dis.Instruction) -> bool:
        self._load(at.argval, "name")
        return True

    def global_(self, at: dis.Instruction) -> bool:
        found = Symbol("global", at.argval)
        with_null = (at.arg or 0) & 1
        pushed = [found, _NULL] if sys.version_info >= (3, 13) else [_NULL, found]
        self._stack += pushed if with_null else [found]
        return True

    def attribute(self, at: dis.Instruction) -> bool:
        base = self._pop()
        found = Symbol("attribute", at.argval, (base,))
        self._step("attribute", at, (base,), found)
        is_method = at.opname == "LOAD_METHOD" or (
            sys.version_info >= (3, 12) and (at.arg or 0) & 1
        )
        self._stack += [found, Symbol("self", None, (base,))] if is_method else [found]
        return True

    def call(self, at: dis.Instruction) -> bool:
        names, self._names = self._names, ()
        if at.opname == "CALL_KW":
            names = self._pop().value
        operands = self._popped(at.arg or 0)
        upper, lower = self._pop(), self._pop()
        if upper == _NULL:
            callee = lower
        elif lower == _NULL:
            callee = upper
        else:
            callee, operands = lower, (upper, *operands)
        self._step("call", at, operands, callee, names or ())
        return self._push_result(at)

    def keywords(self, at: dis.Instruction) -> bool:
        self._names = self._code.co_consts[at.arg or 0]
        return True

    def binary(self, at: dis.Instruction) -> bool:
        right, left = self._pop(), self._pop()
        if at.argrepr == "[]":
            self._step("index", at, (left, right))
        elif at.argrepr.endswith("="):
            return False  # in place
        else:
            self._step("operator", at, (left, right), names=(at.argrepr,))
        return self._push_result(at)

    def compare(self, at: dis.Instruction) -> bool:
        right, left = self._pop(), self._pop()
        if at.argrepr.startswith("bool("):
            return False
        self._step("operator", at, (left, right))
        return self._push_result(at)

    def store_item(self, at: dis.Instruction) -> bool:
        key, container, value = self._pop(), self._pop(), self._pop()
        return self._step("store", at, (container, key, value))

    def index(self, at: dis.Instruction) -> bool:
        right, left = self._pop(), self._pop()
        self._step("index", at, (left, right))
        return self._push_result(at)

    def slice_of(self, at: dis.Instruction) -> bool:
        bounds = self._popped(2)
        self._step("index", at, (self._pop(), Symbol("slice", None, bounds)))
        return self._push_result(at)

    def unary(self, at: dis.Instruction) -> bool:
        self._step("operator", at, (self._pop(),))
        return self._push_result(at)

    def sequence(self, at: dis.Instruction) -> bool:
        self._stack.append(Symbol("tuple", None, self._popped(at.arg or 0)))
        return True

    def make_slice(self, at: dis.Instruction) -> bool:
        self._stack.append(Symbol("slice", None, self._popped(at.arg or 0)))
        return True

    def returned(self, at: dis.Instruction) -> bool:
        self._step("return", at, (self._pop(),))
        return False

    def pop(self, _at: dis.Instruction) -> bool:
        self._pop()
        return True

    def copy(self, at: dis.Instruction) -> bool:
        depth = at.arg or 1
        found = self._stack[-depth] if depth <= len(self._stack) else UNKNOWN
        self._keep(found)
        self._stack.append(found)
        return True

    def swap(self, at: dis.Instruction) -> bool:
        depth = at.arg or 2
        if depth > len(self._stack):
            return False
        self._stack[-1], self._stack[-depth] = self._stack[-depth], self._stack[-1]
        return True

    def unpack(self, at: dis.Instruction) -> bool:
        found = self._pop()
        if found.kind != "tuple" or len(found.of) != at.arg:
            return False
        self._stack += found.of[::-1]
        return True


_NOTHING = frozenset({"NOP", "RESUME", "CACHE", "PRECALL", "EXTENDED_ARG", "NOT_TAKEN"})
_HANDLERS: dict[str, Callable[[_Line, dis.Instruction], bool]] = {
    "LOAD_CONST": _Line.constant, "LOAD_SMALL_INT": _Line.constant, "PUSH_NULL": _Line.null,
    "LOAD_FAST": _Line.local, "LOAD_FAST_CHECK": _Line.local, "LOAD_FAST_BORROW": _Line.local,
    "LOAD_FAST_LOAD_FAST": _Line.locals_,
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": _Line.locals_,
    "STORE_FAST": _Line.store, "STORE_FAST_LOAD_FAST": _Line.store_load,
    "STORE_FAST_STORE_FAST": _Line.store_store, "DELETE_FAST": _Line.delete,
    "LOAD_NAME": _Line.name, "STORE_NAME": _Line.store, "LOAD_GLOBAL": _Line.global_,
    "LOAD_ATTR": _Line.attribute, "LOAD_METHOD": _Line.attribute, "CALL": _Line.call,
    "CALL_KW": _Line.call, "KW_NAMES": _Line.keywords, "BINARY_OP": _Line.binary,
    "COMPARE_OP": _Line.compare, "BINARY_SUBSCR": _Line.index, "BINARY_SLICE": _Line.slice_of,
    "STORE_SUBSCR": _Line.store_item,
    "UNARY_NEGATIVE": _Line.unary, "UNARY_INVERT": _Line.unary, "UNARY_POSITIVE": _Line.unary,
    "BUILD_TUPLE": _Line.sequence, "BUILD_LIST": _Line.sequence,
    "BUILD_SLICE": _Line.make_slice, "POP_TOP": _Line.pop, "COPY": _Line.copy,
    "RETURN_VALUE": _Line.returned, "SWAP": _Line.swap, "UNPACK_SEQUENCE": _Line.unpack,
}  # fmt: skip
