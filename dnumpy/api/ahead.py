"""What a program does next, read from its bytecode: whether nothing but this library runs until then.

What is recorded over memory that other code may write to (:mod:`dnumpy.api.lending`) has to be
computed before other code runs. In ``(a * b + c).sum()`` none does between the product and the sum,
nor in a line after it that only names arrays: then there is no need to compute each by itself.
From one operation the instructions are followed in a straight line to the next one. As soon as
something stands there of which it is not known that it runs no other code (a call of anything else,
an attribute of another object, a jump, an instruction of a newer Python) the answer is no.
"""

from __future__ import annotations

import dis
import inspect
import sys
from functools import cache
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.api import calls
from dnumpy.api.array import ndarray
from dnumpy.api.scalar import DeferredScalar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType, FrameType

# methods and functions that only read what they are given, and call nobody back
METHODS = frozenset({
    "all", "any", "argmax", "argmin", "astype", "clip", "conj", "conjugate", "cumprod", "cumsum",
    "dot", "max", "mean", "min", "prod", "ravel", "reshape", "round", "std", "sum", "swapaxes",
    "transpose", "var",
})  # fmt: skip
FUNCTIONS = frozenset({
    "abs", "absolute", "all", "amax", "amin", "any", "argmax", "argmin", "around", "average",
    "broadcast_to", "clip", "concatenate", "count_nonzero", "cumprod", "cumsum", "diff", "dot",
    "einsum", "empty_like", "expand_dims", "flip", "full_like", "hstack", "inner", "max", "mean",
    "min", "moveaxis", "ones_like", "outer", "prod", "ptp", "ravel", "reshape", "roll", "round",
    "squeeze", "stack", "std", "sum", "swapaxes", "tensordot", "transpose", "var", "vdot", "vstack",
    "where", "zeros_like",
})  # fmt: skip
_ARRAYS = frozenset({"T", "mT", "real", "imag"})  # attributes
_FACTS = frozenset({"shape", "ndim", "size", "dtype", "itemsize", "nbytes"})
_WRITING = frozenset({"out"})  # keywords

# what an operand is: one whose operation is sure to ask ``lending`` (HELD), another array of ours
# or a scalar of it, what is no array, anything else
HELD, OURS, PLAIN, OTHER = "held", "ours", "plain", "other"
SEVERAL = "several"  # a sequence in which arrays of ours are

Place = tuple[int, int]  # a frame, by id, and an instruction


class Symbol(NamedTuple):
    """Where a value on the stack comes from: a variable, a constant, an earlier instruction."""

    kind: str
    value: Any = None
    of: tuple[Symbol, ...] = ()
    stored: int = -1  # of a variable: the instruction that stores what it is made ``of``


class Step(NamedTuple):
    """An instruction that may run code: ``operator``, ``index``, ``call``, ``attribute``, ``return``.

    What follows ``end`` may be anything.
    """

    kind: str
    offset: int
    operands: tuple[Symbol, ...] = ()
    callee: Symbol | None = None
    names: tuple[str, ...] = ()
    guarded: bool = False  # what it raises may be caught in the same function


_UNKNOWN, _NULL = Symbol("unknown"), Symbol("null")
_END = Step("end", -1)


class Lookout:
    """What one thread has waiting over lent memory, as far as it concerns what comes next."""

    def __init__(self, is_held: Callable[[ndarray], bool]) -> None:
        self.is_held = is_held
        self.places: set[Place] = set()  # of the operations whose results wait
        self.left: set[Place] = set()  # of functions that have returned

    def next_asked(self, frame: FrameType) -> tuple[CodeType, int] | None:
        """Return where the next operation is that is sure to ask; None if other code may run.

        The frame is about to go on after its current instruction, whose result waits.
        """
        found = self._standing(frame)
        if found is None or not _only_reads(found.step, found.scope):
            return None
        found.scope.kinds[frame.f_lasti] = HELD
        self.places.add((id(frame), frame.f_lasti))
        return self._following(found, _MOST_CALLS)

    def _standing(self, frame: FrameType) -> _Standing | None:
        """Return where a frame is, with what is known of the results before."""
        line, at = line_of(frame.f_code, frame.f_lasti)
        if not line:
            return None
        scope = _Scope(frame, self.is_held)
        for step in line[:at]:
            if (id(frame), step.offset) in self.places:
                scope.kinds[step.offset] = HELD
            elif step.kind != "return":
                found = scope.kind_of_step(step)
                scope.kinds[step.offset] = OURS if found in (HELD, SEVERAL) else found
        return _Standing(scope, line, at)

    def _following(self, start: _Standing, calls_left: int) -> tuple[CodeType, int] | None:
        scope = start.scope
        for step in start.line[start.at + 1 :]:
            if step.kind == "end" or not calls_left:
                return None
            if step.kind == "return":
                return self._after_return(scope, step, calls_left - 1)
            found = scope.kind_of_step(step)
            if found == OTHER:
                return self._within(scope, step, calls_left - 1)
            if step.kind != "attribute":
                if scope.asks:
                    return scope.code, step.offset
                if step.guarded:
                    return None
            scope.kinds[step.offset] = found
        return None

    def _within(self, scope: _Scope, call: Step, calls_left: int) -> tuple[CodeType, int] | None:
        """Go on in a function of the program's, which is about to be called."""
        function = scope.value_of(call.callee) if call.callee is not None else None
        if type(function) is not FunctionType or call.names or call.guarded:
            return None
        code = function.__code__
        operands = call.operands
        if operands and operands[0].kind == "self":  # the module that it was read from
            operands = operands[1:]
        if code.co_flags & _NO_PLAIN_FUNCTION or len(operands) != code.co_argcount:
            return None
        if code.co_kwonlyargcount:
            return None
        inner = _Scope(function, self.is_held)
        names = code.co_varnames
        inner.variables = {n: scope.bound(s) for n, s in zip(names, operands, strict=False)}
        return self._following(_Standing(inner, lines_of(code)[0], -1), calls_left)

    def _after_return(
        self, scope: _Scope, step: Step, calls_left: int
    ) -> tuple[CodeType, int] | None:
        """Go on in the function that called."""
        frame = scope.frame
        caller = None if frame is None else frame.f_back
        if frame is None or caller is None or frame.f_code.co_flags & _NO_PLAIN_FUNCTION:
            return None
        found = self._standing(caller)
        if found is None or found.step.kind != "call" or found.step.guarded:
            return None
        callee = found.step.callee
        function = found.scope.value_of(callee) if callee is not None else None
        if type(function) is not FunctionType or function.__code__ is not frame.f_code:
            return None
        (returned,) = step.operands
        kind = scope.kind_of(returned)
        found.scope.kinds[found.step.offset] = OTHER if kind == SEVERAL else kind
        following = self._following(found, calls_left)
        if following is not None:
            self._leave(frame)
            if kind == HELD:
                self.places.add((id(caller), found.step.offset))
        return following

    def _leave(self, frame: FrameType) -> None:
        """Note that a frame ends: its address may be another's soon."""
        own = {place for place in self.places if place[0] == id(frame)}
        self.places -= own
        self.left |= own

    def last_reads(self, frame: FrameType) -> set[Place]:
        """Return the operations of which nobody will see the results, once the current is done.

        Its own operands are, where they were never stored, and all that the function has where it
        returns now.
        """
        line, at = line_of(frame.f_code, frame.f_lasti)
        if not line:
            return set()
        current, following = line[at], line[at + 1]
        found = {s.value for s in current.operands if s.kind == "result"}
        if current.callee is not None and current.callee.kind == "attribute":
            found |= {s.value for s in current.callee.of if s.kind == "result"}
        found -= kept_of(frame.f_code)
        if following.kind == "return" and not frame.f_code.co_flags & _NO_PLAIN_FUNCTION:
            given = _results_in(following.operands[0], line)
            found |= {at for owner, at in self.places if owner == id(frame)} - given
        return {(id(frame), at) for at in found}


def _only_reads(step: Step, scope: _Scope) -> bool:
    """Say whether an operation that was made only reads."""
    return step.kind == "operator" or (step.kind == "call" and scope.may_call(step))


def _results_in(symbol: Symbol, line: tuple[Step, ...]) -> set[int]:
    """Return the operations whose results a symbol stands for, holds or may be a view of."""
    found: set[int] = set()
    to_see = [symbol]
    while to_see:
        seen = to_see.pop()
        to_see += seen.of
        if seen.kind == "result" and seen.value not in found:
            found.add(seen.value)
            step = next((s for s in line if s.offset == seen.value), _END)
            if step.kind != "operator":
                to_see += step.operands
                to_see += () if step.callee is None else step.callee.of
    return found


class _Standing(NamedTuple):
    """A place in a straight line."""

    scope: _Scope
    line: tuple[Step, ...]
    at: int

    @property
    def step(self) -> Step:
        return self.line[self.at]


class _Known(NamedTuple):
    """What is known of a value that is not there yet."""

    kind: str


_MOST_CALLS = 4  # of the program's own functions, begun or ended, that are looked through
_NO_PLAIN_FUNCTION = (
    inspect.CO_VARARGS | inspect.CO_VARKEYWORDS | inspect.CO_GENERATOR | inspect.CO_COROUTINE
    | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
)  # fmt: skip


class _Scope:
    """What the symbols of a straight line stand for, in a frame or in a function to be called."""

    def __init__(
        self, where: FrameType | FunctionType, is_held: Callable[[ndarray], bool]
    ) -> None:
        self._is_held = is_held
        self.kinds: dict[int, str] = {}  # of results
        self.asks = False  # whether the last step is sure to ask
        self.variables: Mapping[str, Any] | None = None
        self.frame: FrameType | None = None
        self.last = -1  # instruction that was run
        if isinstance(where, FunctionType):
            self.code, self._globals = where.__code__, where.__globals__
        else:
            self.code, self._globals = where.f_code, where.f_globals
            self.frame, self.last = where, where.f_lasti

    def kind_of_step(self, step: Step) -> str:
        """Return what the result of a step is; OTHER where it may run other code."""
        self.asks = False
        if step.kind == "attribute":
            return self._kind_of_attribute(step.operands[0], step.callee)
        kinds = [self.kind_of(symbol) for symbol in step.operands]
        if OTHER in kinds:
            return OTHER
        if step.kind == "call":
            if not self.may_call(step):
                return OTHER
        elif SEVERAL in kinds[: len(kinds) if step.kind == "operator" else 1]:
            return OTHER
        if step.kind == "index":
            return _kind_of_item(kinds, step.operands[1])
        self.asks = HELD in kinds or SEVERAL in kinds
        if self.asks:
            return HELD
        return OURS if OURS in kinds else PLAIN

    def _kind_of_attribute(self, base: Symbol, whole: Symbol | None) -> str:
        assert whole is not None
        kind = self.kind_of(base)
        if kind in (HELD, OURS):
            known = whole.value in _ARRAYS or whole.value in _FACTS or whole.value in METHODS
            return self.kind_of(whole) if known else OTHER
        return OTHER if self.value_of(whole) is _UNKNOWN else PLAIN  # in a module

    def may_call(self, step: Step) -> bool:
        """Say whether a call only reads, and calls nobody back."""
        callee = step.callee
        if callee is None or not _WRITING.isdisjoint(step.names):
            return False
        if callee.kind == "attribute" and self.kind_of(callee.of[0]) in (HELD, OURS):
            return callee.value in METHODS and len(step.operands) <= _MOST_OF_A_METHOD
        most = _readers().get(id(self.value_of(callee)))
        is_read_from_module = bool(step.operands) and step.operands[0].kind == "self"
        count = len(step.operands) - len(step.names) - is_read_from_module
        return most is not None and count <= most

    def kind_of(self, symbol: Symbol) -> str:
        """Return what a symbol stands for."""
        kind = symbol.kind
        if kind == "constant":
            return PLAIN if _is_plain(symbol.value) else OTHER
        if kind == "result":
            return self.kinds.get(symbol.value, OTHER)
        if symbol.stored > self.last:  # a variable that is to have another value
            return self.kind_of(symbol.of[0])
        if kind in ("tuple", "slice"):
            kinds = {self.kind_of(s) for s in symbol.of}
            return OTHER if OTHER in kinds else PLAIN if kinds <= {PLAIN} else SEVERAL
        if kind == "self":  # of a method, or the module that a function was read from
            (base,) = symbol.of
            return PLAIN if type(self.value_of(base)) is ModuleType else self.kind_of(base)
        if kind == "attribute" and self.kind_of(symbol.of[0]) in (HELD, OURS):
            return PLAIN if symbol.value in _FACTS else self.kind_of(symbol.of[0])
        return self._kind_of_value(self.value_of(symbol))

    def _kind_of_value(self, value: Any) -> str:
        kind = type(value)
        if kind is ndarray:
            return HELD if self._is_held(value) else OURS
        if kind is _Known:
            return str(value.kind)
        if kind is DeferredScalar or kind is np.ndarray:
            return OURS
        return PLAIN if _is_plain(value) else OTHER

    def bound(self, symbol: Symbol) -> Any:
        """Return the value of an argument, or what is known of it."""
        found = self.value_of(symbol)
        return _Known(self.kind_of(symbol)) if found is _UNKNOWN else found

    def value_of(self, symbol: Symbol) -> Any:
        """Return the value that a symbol stands for, if it is there by now."""
        kind, name = symbol.kind, symbol.value
        if kind in ("local", "name"):
            if symbol.stored > self.last:
                return self.value_of(symbol.of[0])
            if self.variables is None:
                assert self.frame is not None
                self.variables = _locals_of(self.frame)
            found = self.variables.get(name, _UNKNOWN)
            return self._global(name) if kind == "name" and found is _UNKNOWN else found
        if kind == "global":
            return self._global(name)
        if kind == "constant":
            return name
        if kind == "attribute":
            base = self.value_of(symbol.of[0])
            return vars(base).get(name, _UNKNOWN) if type(base) is ModuleType else _UNKNOWN
        return _UNKNOWN

    def _global(self, name: str) -> Any:
        return self._globals.get(name, _UNKNOWN)  # of Python's own functions none is waited for


_MOST_OF_A_METHOD = 4  # arguments, itself included: an ``out`` by position stands behind these


def _kind_of_item(kinds: list[str], key: Symbol) -> str:
    """Return what ``a[key]`` is: a view, or a number, of which the kind is never asked."""
    base, by = kinds
    if by != PLAIN:
        return OTHER  # a selection reads the array, and asks nobody
    if base != HELD:
        return base
    parts = key.of if key.kind == "tuple" else (key,)
    views = all(
        p.kind == "slice" or (p.kind == "constant" and (p.value is None or p.value is Ellipsis))
        for p in parts
    )
    return HELD if views else OTHER


def _is_plain(value: Any) -> bool:
    kind = type(value)
    if kind is tuple:
        return all(map(_is_plain, value))
    return kind in calls.PLAIN or kind is range


def _locals_of(frame: FrameType) -> Mapping[str, Any]:
    """Return the local variables, without a copy that Python keeps until the function returns."""
    shown = frame.f_locals
    if type(shown) is not dict or not frame.f_code.co_flags & inspect.CO_OPTIMIZED:
        return shown
    found = shown.copy()
    if sys.getrefcount(shown) <= _OF_A_FREE_DICT:  # no ``locals()`` of the program's
        shown.clear()
    return found


_OF_A_FREE_DICT = 3  # the frame, a variable, and the argument of the count


_reading: dict[int, int] = {}


def _readers() -> dict[int, int]:
    """Return the ids of public functions that only read -> how many operands they take."""
    if not _reading:
        import dnumpy
        from dnumpy.api.ufuncs import ufunc

        for name in dir(dnumpy):
            public = getattr(dnumpy, name)
            if type(public) is ufunc and public.signature is None:
                _reading[id(public)] = public.nin
            elif name in FUNCTIONS:
                _reading[id(public)] = _MOST_OF_A_METHOD - 1
        _reading[id(dnumpy.matmul)] = 2
    return _reading


# ---------------------------------------------------------------- from instructions


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
_MOST_KNOWN = 4096


def _found_in(code: CodeType, offset: int) -> tuple[tuple[Step, ...], int]:
    # a frame that waits for a call stands at the end of that instruction's caches
    offset = max((i.offset for i in dis.get_instructions(code) if i.offset <= offset), default=-1)
    for line in lines_of(code):
        for k, step in enumerate(line):
            if step.offset == offset:
                return line, k
    return (), 0


@cache
def lines_of(code: CodeType) -> tuple[tuple[Step, ...], ...]:
    """Return the steps of each straight line of a code object, in order."""
    guarded = _guarded_of(code)
    lines: list[tuple[Step, ...]] = []
    line = _Line(code, guarded)
    for instruction in dis.get_instructions(code):
        if instruction.is_jump_target and line.steps:
            lines.append((*line.steps, _END))
        if instruction.is_jump_target:
            line = _Line(code, guarded)
        if not line.takes(instruction):
            lines.append((*line.steps, _END))
            line = _Line(code, guarded)
    lines.append((*line.steps, _END))
    return tuple(lines)


@cache
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
        return self._stack.pop() if self._stack else _UNKNOWN

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
        self._keep(value)
        kind = "name" if at.opname == "STORE_NAME" else "local"
        self._stack = [_UNKNOWN if _reads(s, name) else s for s in self._stack]
        for other, known in self._variables.items():
            if _reads(known, name):
                self._variables[other] = known._replace(of=(_UNKNOWN,))
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
        self._variables[at.argval] = Symbol("local", at.argval, (_UNKNOWN,), at.offset)
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
            self._step("operator", at, (left, right))
        return self._push_result(at)

    def compare(self, at: dis.Instruction) -> bool:
        right, left = self._pop(), self._pop()
        if at.argrepr.startswith("bool("):
            return False
        self._step("operator", at, (left, right))
        return self._push_result(at)

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
        found = self._stack[-depth] if depth <= len(self._stack) else _UNKNOWN
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
    "UNARY_NEGATIVE": _Line.unary, "UNARY_INVERT": _Line.unary, "UNARY_POSITIVE": _Line.unary,
    "BUILD_TUPLE": _Line.sequence, "BUILD_LIST": _Line.sequence,
    "BUILD_SLICE": _Line.make_slice, "POP_TOP": _Line.pop, "COPY": _Line.copy,
    "RETURN_VALUE": _Line.returned, "SWAP": _Line.swap, "UNPACK_SEQUENCE": _Line.unpack,
}  # fmt: skip
