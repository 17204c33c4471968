"""What a program does next, read from its bytecode: whether none but this library runs until then.

What is recorded over memory that other code may write to (:mod:`dnumpy.api.lending`) has to be
computed before other code runs. In ``(a * b + c).sum()`` none does between the product and the sum,
nor in a line after it that only names arrays: then there is no need to compute each by itself.
From one operation the instructions are followed in a straight line to the next one. As soon as
something stands there of which it is not known that it runs no other code (a call of anything else,
an attribute of another object, a jump, an instruction of a newer Python) the answer is no.
"""

from __future__ import annotations

import builtins
import inspect
import sys
from collections.abc import Sequence
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.api import calls
from dnumpy.api.array import ndarray
from dnumpy.api.scalar import DeferredScalar
from dnumpy.expr.straight import END, UNKNOWN, Step, Symbol, kept_of, line_of, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType, FrameType

# methods and functions that only read what they are given, and call nobody back. All ask
ASKING_METHODS = frozenset({
    "all", "any", "argmax", "argmin", "clip", "cumprod", "cumsum", "dot", "max", "mean", "min",
    "prod", "round", "std", "sum", "var",
})  # fmt: skip
ASKING_FUNCTIONS = frozenset({
    "all", "amax", "amin", "any", "argmax", "argmin", "around", "average", "clip", "concatenate",
    "count_nonzero", "cumprod", "cumsum", "diff", "dot", "einsum", "hstack", "inner", "max", "mean",
    "min", "outer", "prod", "ptp", "roll", "round", "stack", "std", "sum", "tensordot", "var",
    "vdot", "vstack", "where",
})  # fmt: skip
# but these, which read nothing, or show their operand in another way
SHOWING_METHODS = frozenset({"astype", "ravel", "reshape", "swapaxes", "transpose"})
SHOWING_FUNCTIONS = frozenset({
    "broadcast_to", "empty_like", "expand_dims", "flip", "full_like", "moveaxis", "ones_like",
    "ravel", "reshape", "squeeze", "swapaxes", "transpose", "zeros_like",
})  # fmt: skip
_WITHOUT_OUT = frozenset({"where", "einsum"})  # by position
METHODS = ASKING_METHODS | SHOWING_METHODS
_VIEWS = frozenset({"T", "mT"})  # attributes
_FACTS = frozenset({"shape", "ndim", "size", "dtype", "itemsize", "nbytes"})
_WRITING = frozenset({"out"})  # keywords

# what an operand is: one whose operation is sure to ask ``lending`` (HELD), another array of ours
# or a scalar of it, what is no array, anything else
HELD, OURS, PLAIN, OTHER = "held", "ours", "plain", "other"
SEVERAL = "several"  # a sequence in which arrays are
NUMPYS = "numpys"  # an array of NumPy's
_ARRAYS = frozenset({HELD, OURS, NUMPYS, SEVERAL})

Place = tuple[int, int]  # a frame, by id, and an instruction
Way = Sequence[tuple["CodeType", int]]  # the operations up to one that asks


class Lookout:
    """What one thread has waiting over lent memory, as far as it concerns what comes next."""

    def __init__(self, is_held: Callable[[ndarray], bool]) -> None:
        self.is_held = is_held
        self.places: set[Place] = set()  # of the operations whose results wait
        self.left: set[Place] = set()  # of functions that have returned

    def next_asked(self, frame: FrameType, *, waits: bool) -> Way | None:
        """Return the way to the next operation that is sure to ask; None if other code may run.

        The frame is about to go on after its current instruction, whose result ``waits``, or is a
        number that is known.
        """
        found = self._standing(frame)
        if found is None or not _only_reads(found.step, found.scope):
            return None
        scope = found.scope
        scope.kinds[found.step.offset] = HELD if waits else PLAIN
        if waits:
            self.places.add((id(frame), found.step.offset))
        scope.stores = self._outlasts(frame, frozenset())
        return self._following(found, [], _MOST_CALLS)

    def _outlasts(self, frame: FrameType, ended: frozenset[int]) -> bool:
        """Say whether something that waits is seen after what raises here: it is no operand."""
        kept = kept_of(frame.f_code)
        return any(
            owner not in ended and (owner != id(frame) or at in kept) for owner, at in self.places
        )

    def _standing(self, frame: FrameType) -> _Standing | None:
        """Return where a frame is, with what is known of the results before."""
        line, at = line_of(frame.f_code, frame.f_lasti)
        if not line:
            return None
        scope = _Scope(frame, self.is_held)
        scope.before = line[:at]
        scope.kinds = {at: HELD for owner, at in self.places if owner == id(frame)}
        return _Standing(scope, line, at)

    def _following(
        self, start: _Standing, way: list[tuple[CodeType, int]], calls_left: int
    ) -> Way | None:
        scope = start.scope
        for k, step in enumerate(start.line[start.at + 1 :], start.at + 1):
            if step.kind == "end" or not calls_left:
                return None
            if scope.stores and (step.guarded or not scope.is_function):
                return None  # somebody may catch what is raised, and look at what waits
            if step.kind == "return":
                return self._after_return(scope, step, way, calls_left - 1)
            found = scope.kind_of_step(step)
            if found == OTHER:
                return self._within(_Standing(scope, start.line, k), way, calls_left - 1)
            if step.kind != "attribute":
                way.append((scope.code, step.offset))
                if scope.asks:
                    return way
            scope.kinds[step.offset] = found
        return None

    def _within(
        self, caller: _Standing, way: list[tuple[CodeType, int]], calls_left: int
    ) -> Way | None:
        """Go on in a function of the program's, which is about to be called."""
        scope, call = caller.scope, caller.step
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
        inner.caller = caller
        inner.stores = True
        names = code.co_varnames
        inner.variables = {n: scope.bound(s) for n, s in zip(names, operands, strict=False)}
        return self._following(_Standing(inner, lines_of(code)[0], -1), way, calls_left)

    def _after_return(
        self, scope: _Scope, step: Step, way: list[tuple[CodeType, int]], calls_left: int
    ) -> Way | None:
        """Go on in the function that called."""
        if scope.caller is not None:
            kind = scope.kind_of(step.operands[0])
            scope.caller.scope.kinds[scope.caller.step.offset] = OTHER if kind == SEVERAL else kind
            return self._following(scope.caller, way, calls_left)
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
        found.scope.ended = scope.ended | {id(frame)}
        found.scope.stores = self._outlasts(caller, found.scope.ended)
        following = self._following(found, way, calls_left)
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
        current = line[at]
        operands = [*current.operands, *[e for s in current.operands for e in s.of]]
        found = {s.value for s in operands if s.kind == "result"}
        if current.callee is not None and current.callee.kind == "attribute":
            found |= {s.value for s in current.callee.of if s.kind == "result"}
        found -= kept_of(frame.f_code)
        following = self._return_after(frame)
        if following is not None and not frame.f_code.co_flags & _NO_PLAIN_FUNCTION:
            given = _results_in(following.operands[0], line[:at])
            own = {at for owner, at in self.places if owner == id(frame)}
            found |= own - given if given is not None else set()
        return {(id(frame), at) for at in found}

    def _return_after(self, frame: FrameType) -> Step | None:
        """Return the step that ends a function, if no operation comes before it."""
        found = self._standing(frame)
        if found is None:
            return None
        found.scope.kinds[found.step.offset] = OURS
        for step in found.line[found.at + 1 :]:
            if step.kind != "call" or not found.scope.looks(step):
                return step if step.kind == "return" else None
        return None


def offset_of(frame: FrameType) -> int:
    """Return the offset of the instruction that a frame is at: some wait at the end of it."""
    line, at = line_of(frame.f_code, frame.f_lasti)
    return line[at].offset if line else frame.f_lasti


def _only_reads(step: Step, scope: _Scope) -> bool:
    """Say whether an operation that was made only reads."""
    return step.kind in ("operator", "index") or (step.kind == "call" and scope.may_call(step))


def _results_in(symbol: Symbol, line: tuple[Step, ...]) -> set[int] | None:
    """Return the operations whose results a symbol stands for, holds or may be a view of.

    Those of the line are looked through. None where it is not known.
    """
    found: set[int] = set()
    to_see = [symbol]
    while to_see:
        seen = to_see.pop()
        if seen.kind == "unknown":
            return None
        to_see += seen.of
        if seen.kind == "result" and seen.value not in found:
            found.add(seen.value)
            step = next((s for s in line if s.offset == seen.value), END)
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

    def __init__(self, where: FrameType | FunctionType, is_held: Callable[[ndarray], bool]) -> None:
        self._is_held = is_held
        self.kinds: dict[int, str] = {}  # of results
        self.before: tuple[Step, ...] = ()  # which were made
        self.asks = False  # whether the last step is sure to ask
        self.stores = False  # whether what waits outlasts what raises here
        self.ended: frozenset[int] = frozenset()  # functions that return on the way here
        self.variables: Mapping[str, Any] | None = None
        self.frame: FrameType | None = None
        self.caller: _Standing | None = None  # of a function to be called
        self.last = -1  # instruction that was run
        if isinstance(where, FunctionType):
            self.code, self._globals = where.__code__, where.__globals__
        else:
            self.code, self._globals = where.f_code, where.f_globals
            self.frame, self.last = where, where.f_lasti
        self.is_function = bool(self.code.co_flags & inspect.CO_NEWLOCALS)

    def kind_of_step(self, step: Step) -> str:
        """Return what the result of a step is; OTHER where it may run other code."""
        self.asks = False
        if step.kind == "attribute":
            return self._kind_of_attribute(step.operands[0], step.callee)
        kinds = [self.kind_of(symbol) for symbol in step.operands]
        if OTHER in kinds:
            return OTHER
        if not self._fits(step, kinds):
            return OTHER
        if step.kind == "index":
            return self._kind_of_item(kinds, step.operands[1])
        if step.kind == "call" and self.looks(step):
            return PLAIN
        reads = step.kind != "call" or self._asks(step)
        self.asks = reads and (HELD in kinds or SEVERAL in kinds)
        if self.asks:
            return HELD
        if step.kind != "call" and _ARRAYS.isdisjoint(kinds):
            return PLAIN
        return OURS if {HELD, OURS, SEVERAL}.intersection(kinds) or step.kind == "call" else NUMPYS

    def _fits(self, step: Step, kinds: list[str]) -> bool:
        """Say whether a step on operands of these kinds is one of ours that runs no other code."""
        if step.kind == "call":
            return self.may_call(step) or self.looks(step)
        if SEVERAL in kinds[: 1 if step.kind == "index" else len(kinds)]:
            return False
        if step.kind == "store":
            into, by, value = kinds
            return into == OURS and by != HELD and value == HELD
        # what NumPy multiplies, mostly, had better be computed before
        return NUMPYS not in kinds or "@" not in step.names

    def _kind_of_item(self, kinds: list[str], key: Symbol) -> str:
        """Return what ``a[key]`` is: a selection, a view, or a number whose kind is never asked."""
        base, by = kinds
        if base == PLAIN and by == PLAIN:
            return PLAIN
        if base not in (HELD, OURS) or by not in (HELD, OURS, PLAIN):
            return OTHER
        if by != PLAIN:
            self.asks = HELD in kinds
            return HELD if self.asks else OURS
        return base if base == OURS or _shows(key) else OTHER

    def _asks(self, step: Step) -> bool:
        """Say whether a function that may be called is one that asks."""
        callee = step.callee
        assert callee is not None
        if callee.kind == "attribute" and self.kind_of(callee.of[0]) in (HELD, OURS):
            return callee.value in ASKING_METHODS
        return id(self.value_of(callee)) not in _showing

    def _kind_of_attribute(self, base: Symbol, whole: Symbol | None) -> str:
        assert whole is not None
        kind = self.kind_of(base)
        if kind in (HELD, OURS):
            known = whole.value in _VIEWS or whole.value in _FACTS or whole.value in METHODS
            return self.kind_of(whole) if known else OTHER
        return OTHER if self.value_of(whole) is UNKNOWN else PLAIN  # in a module

    def looks(self, step: Step) -> bool:
        """Say whether a call of Python's own only looks at its operand, an array or a number."""
        callee = step.callee
        if callee is None or callee.kind not in ("global", "name") or len(step.operands) != 1:
            return False
        if self.value_of(callee) is not UNKNOWN or not hasattr(builtins, callee.value):
            return False
        return getattr(builtins, callee.value) in _LOOKING

    def may_call(self, step: Step) -> bool:
        """Say whether a call only reads, and calls nobody back."""
        callee = step.callee
        if callee is None or not _WRITING.isdisjoint(step.names):
            return False
        given = step.operands[: len(step.operands) - len(step.names)]
        if callee.kind == "attribute" and self.kind_of(callee.of[0]) in (HELD, OURS):
            return callee.value in METHODS and self._are_plain(given[_MAY_BE_OUT:])
        if given and given[0].kind == "self":  # the module that it was read from
            given = given[1:]
        function = id(self.value_of(callee))
        most = _readers().get(function)
        if most is None or len(given) > most:
            return False
        return function not in _with_axis or self._are_plain(given[_MAY_BE_OUT:])

    def _are_plain(self, symbols: tuple[Symbol, ...]) -> bool:
        return all(self.kind_of(s) == PLAIN for s in symbols)

    def kind_of(self, symbol: Symbol) -> str:
        """Return what a symbol stands for."""
        kind = symbol.kind
        if kind == "constant":
            return PLAIN if _is_plain(symbol.value) else OTHER
        if kind == "result":
            found = self.kinds.get(symbol.value)
            return self._kind_before(symbol.value) if found is None else found
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

    def _kind_before(self, offset: int) -> str:
        """Return what an operation gave that was made, and does not wait."""
        step = next((s for s in self.before if s.offset == offset), None)
        if step is None or step.kind == "return":
            return OTHER
        asked = self.asks
        kind = self.kind_of_step(step)
        self.asks = asked
        found = self.kinds[offset] = OURS if kind in (HELD, SEVERAL) else kind
        return found

    def _kind_of_value(self, value: Any) -> str:
        kind = type(value)
        if kind is ndarray:
            return HELD if self._is_held(value) else OURS
        if kind is _Known:
            return str(value.kind)
        if kind is DeferredScalar:
            return OURS
        if kind is np.ndarray:
            return NUMPYS
        return PLAIN if _is_plain(value) else OTHER

    def bound(self, symbol: Symbol) -> Any:
        """Return the value of an argument, or what is known of it."""
        found = self.value_of(symbol)
        return _Known(self.kind_of(symbol)) if found is UNKNOWN else found

    def value_of(self, symbol: Symbol) -> Any:
        """Return the value that a symbol stands for, if it is there by now."""
        kind, name = symbol.kind, symbol.value
        if kind in ("local", "name"):
            if symbol.stored > self.last:
                return self.value_of(symbol.of[0])
            if self.variables is None:
                assert self.frame is not None
                self.variables = _locals_of(self.frame)
            found = self.variables.get(name, UNKNOWN)
            return self._global(name) if kind == "name" and found is UNKNOWN else found
        if kind == "global":
            return self._global(name)
        if kind == "constant":
            return name
        if kind == "attribute":
            base = self.value_of(symbol.of[0])
            return vars(base).get(name, UNKNOWN) if type(base) is ModuleType else UNKNOWN
        return UNKNOWN

    def _global(self, name: str) -> Any:
        return self._globals.get(name, UNKNOWN)  # of Python's own functions none is waited for


_LOOKING = (float, int, bool, complex, len)
_MAY_BE_OUT = 2  # operands, itself included, behind which one may be an output
_MOST = 8  # operands of a function


def _shows(key: Symbol) -> bool:
    """Say whether an index without arrays gives a view, whatever it is of."""
    if key.kind == "tuple":
        return all(map(_shows, key.of))
    if key.kind == "constant":
        parts = key.value if type(key.value) is tuple else (key.value,)
        return all(p is None or p is Ellipsis or type(p) is slice for p in parts)
    return key.kind == "slice"


def _is_plain(value: Any) -> bool:
    kind = type(value)
    if kind is tuple:
        return all(map(_is_plain, value))
    if kind is type:
        return value.__module__ in ("builtins", "numpy")  # others may have operators of their own
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
_showing: set[int] = set()
_with_axis: set[int] = set()  # and an output behind it, where it has one


def _readers() -> dict[int, int]:
    """Return the ids of public functions that only read -> how many operands they take."""
    if not _reading:
        public = sys.modules["dnumpy"]
        for name, numpys in vars(np).items():
            if isinstance(numpys, np.ufunc):
                _reading[id(getattr(public, name))] = numpys.nin
        for name in ASKING_FUNCTIONS | SHOWING_FUNCTIONS:
            found = id(getattr(public, name))
            _reading[found] = _MOST
            if name in SHOWING_FUNCTIONS:
                _showing.add(found)
            if name not in _WITHOUT_OUT:
                _with_axis.add(found)
    return _reading
