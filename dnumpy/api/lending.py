"""Reading memory that code outside dnumpy may write to: without a copy, before the call returns.

What is recorded must say what its operands were then. Of memory that only this library writes to
that is so; a NumPy array of the program's, or one of ours that was handed out (to pandas, to a
plot), may have changed by the time it is read. It is copied while it is little. What is large is
*lent*: the call is made again with handles that stand over the same memory as if it were ours, and
all that was recorded with them is computed before other code goes on. A copy of 80 MB takes as
long as ten products with a vector.

Where the program's next operation is sure to come here too, and nothing but this library runs until
then (:mod:`dnumpy.api.ahead`), what was recorded waits for it: ``(a * b + c).sum()`` passes over
what is lent once.
"""

from __future__ import annotations

import inspect
import weakref
from contextlib import contextmanager
from functools import cache, lru_cache
from math import inf
from threading import get_ident
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy import engine, native
from dnumpy.api import calls, replays
from dnumpy.api.ahead import Lookout, offset_of
from dnumpy.api.array import adopt, concrete, is_managed_dtype, managed, ndarray, wrap
from dnumpy.api.buffer import LARGE_BYTES, Buffer, SharedRead, readers
from dnumpy.api.chosen import Chosen, forget, selection
from dnumpy.api.record import Unmanaged, is_lazy
from dnumpy.api.scalar import DeferredScalar
from dnumpy.config import config
from dnumpy.expr.expr import Expr, leaf
from dnumpy.expr.origin import users_frame
from dnumpy.expr.walk import stored_operands
from dnumpy.ops.table import LEAF

_ONE_RESULT: Any = (ndarray, DeferredScalar, np.generic)  # and no list or tuple of several
GAINS_BYTES = 1 << 24  # of an array of NumPy's: what is less NumPy itself passes as fast

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from dnumpy.api.ahead import Place, Way


def recorded_by(ours: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return what ``ours`` records; NotImplemented where it leaves the call to NumPy.

    It does so where it does not take as many arguments, or does not know one by its name: newer
    versions of NumPy have more of them, and where NumPy has no such either, the error is to be
    NumPy's.
    """
    if not takes(ours, len(args), kwargs):
        return NotImplemented
    try:
        found = call(ours, args, kwargs)
        if found is NotImplemented and type(kwargs.get("out")) is ndarray:
            return _written_out(ours, args, kwargs)
    except Unmanaged:
        return NotImplemented
    return found


def recorded_at_once(
    ours: Callable[..., Any] | None, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return what ``ours`` records where nothing about the arguments has to be asked first.

    NotImplemented where something has, or where :func:`recorded_by` would say so.
    """
    if ours is None or calls.waiting or not native.built or not native.all_wait(args, kwargs):
        return NotImplemented
    if not takes(ours, len(args), kwargs):
        return NotImplemented
    try:
        if ours in replays.functions:
            return native.learn(ours, *args, **kwargs)
        return ours(*args, **kwargs)
    except Unmanaged:
        return NotImplemented


def asks_engine(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Say whether an operand, or one in a list of operands, is managed."""
    for a in args:
        kind = type(a)
        if kind is ndarray:
            if a._np is None and is_lazy(a):
                return True
        elif (kind is list or kind is tuple) and a and _holds_managed(a):
            return True
    return bool(kwargs) and any(is_lazy(v) for v in kwargs.values())


_MAY_BE_MANAGED = frozenset({ndarray, DeferredScalar, list, tuple})


def _holds_managed(sequence: Any) -> bool:
    if _MAY_BE_MANAGED.isdisjoint(map(type, sequence)):
        return False
    for e in sequence:
        kind = type(e)
        if ((kind is list or kind is tuple) and _holds_managed(e)) or is_lazy(e):
            return True
    return False


def _written_out(ours: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return ``out``, which is assigned what the call gives without it.

    NumPy's functions agree that this is what they do where nothing is cast and the rows of ``out``
    follow each other; half precision is left to NumPy, whose means round what they add up there.
    """
    out = kwargs["out"]
    if out.dtype.char == "e" or not (out.flags.c_contiguous and out.flags.writeable):
        return NotImplemented
    others = {name: value for name, value in kwargs.items() if name != "out"}
    if not asks_engine(args, others):  # which what is recorded may take for granted
        return NotImplemented
    if "dtype" in others and isinstance(args[0], (list, tuple)):
        return NotImplemented  # what joins arrays takes one or the other, as NumPy will say
    found: Any = call(ours, args, others)
    if not isinstance(found, _ONE_RESULT):
        return NotImplemented
    if (found.dtype, found.shape) != (out.dtype, out.shape):
        return NotImplemented
    out[...] = found
    return out


def takes(function: Callable[..., Any], count: int, names: Iterable[str]) -> bool:
    """Say whether a function has parameters for so many arguments by position and these names."""
    return _takes(function, count, tuple(names))


@lru_cache(maxsize=4096)
def _takes(function: Callable[..., Any], count: int, names: tuple[str, ...]) -> bool:
    known = _parameters_of(function)
    if not known.least - len(known.needed.intersection(names)) <= count <= known.most:
        return False
    return known.open_ended or known.names.issuperset(names)


class _Parameters(NamedTuple):
    """The names, and how many arguments are taken by position."""

    names: frozenset[str]
    needed: frozenset[str]  # of those by position or name that have no default
    least: int
    most: float
    open_ended: bool


@cache
def _parameters_of(function: Callable[..., Any]) -> _Parameters:
    found = inspect.signature(function, follow_wrapped=False).parameters.values()
    by_position = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in by_position if p.default is p.empty]
    return _Parameters(
        frozenset(p.name for p in found),
        frozenset(p.name for p in needed if p.kind is p.POSITIONAL_OR_KEYWORD),
        len(needed),
        inf if any(p.kind is p.VAR_POSITIONAL for p in found) else len(by_position),
        any(p.kind is p.VAR_KEYWORD for p in found),
    )


def call(
    ours: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    outs: tuple[Any, ...] = (),
) -> Any:
    """Return ``ours(*args, **kwargs)``, for which large shared operands are lent if it reads them.

    Where it returns views of its operands, it reads nothing, and they show the operands' memory.
    Raises Unmanaged where one of the arguments is an output, ``outs`` or a keyword, that is shared:
    NumPy writes to it.
    """
    loans = calls.waiting.get(get_ident()) if calls.waiting else None
    if loans is not None and not loans.goes_on():
        loans = None
    if not _any_shared(args) and not (kwargs and _any_shared(kwargs.values())):
        return ours(*args, **kwargs) if loans is None else _with(loans, ours, args, kwargs)
    if _any_shared((*outs, kwargs.get("out"))):
        calls.settle()
        raise Unmanaged
    if not _lends():
        return ours(*args, **kwargs)
    if loans is not None:
        return _with(loans, ours, args, kwargs)
    before, readers.refuse = getattr(readers, "refuse", False), True
    try:
        return ours(*args, **kwargs)
    except SharedRead:
        pass
    finally:
        readers.refuse = before
    return _with(_Loans(), ours, args, kwargs)


@contextmanager
def storing(array: ndarray) -> Iterator[None]:
    """Let what waits over lent memory be stored in an array; it is computed before this ends."""
    thread = get_ident()
    loans = calls.waiting.get(thread)
    if loans is None or loans.busy:
        yield
        return
    if array._buf.shared or not loans.goes_on():
        calls.settle()
        yield
        return
    try:
        yield
    except BaseException:
        calls.settle()
        raise
    loans.stored()


def adopted(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the arguments with arrays of NumPy's as ours over the same memory.

    None where none is so large that we are faster than NumPy.
    """
    if not _gains_by(args) or not _lends():
        return None
    taken = tuple(map(_adopted, args))
    return taken if _any_shared(taken) else None  # of some layouts none is managed


def _gains_by(values: Sequence[Any]) -> bool:
    for x in values:
        kind = type(x)
        if kind is np.ndarray:
            if x.nbytes >= GAINS_BYTES and is_managed_dtype(x.dtype):
                return True
        elif (kind is list or kind is tuple) and x and _gains_by(x[:1]):
            return True
    return False


def _adopted(x: Any) -> Any:
    kind = type(x)
    if kind is list or kind is tuple:
        return kind(map(_adopted, x)) if _gains_by(x[:1]) else x
    return adopt(x) if kind is np.ndarray else x


def _lends() -> bool:
    """Say whether memory is lent: what is to wait, or goes to others, is a copy anyway."""
    return config.mode != "lazy" and not engine.has_workers()


def _any_shared(values: Any) -> bool:
    for x in values:
        kind = type(x)
        if kind is ndarray:
            if x._np is None and _is_shared(x):
                return True
        elif kind is np.ndarray:
            if x.nbytes >= LARGE_BYTES:
                return True
        elif (kind is list or kind is tuple) and _may_hold(x) and _any_shared(x):
            return True
    return False


def _may_hold(sequence: Sequence[Any]) -> bool:
    """Say whether to look for arrays in it: there may be a million numbers."""
    return bool(sequence) and type(sequence[0]) not in calls.PLAIN


def _is_shared(x: ndarray) -> bool:
    buffer = x._buf
    return (buffer.foreign or buffer._export is not None) and buffer.shared and not buffer.pending


class _Loan:
    """A handle that stands for an array of the program's, over the same memory."""

    __slots__ = ("_memory", "expr", "handle", "original")

    def __init__(self, original: Any) -> None:
        self.original = original
        if type(original) is ndarray:
            buffer = original._buf
            memory = buffer.memory().view()  # never taken for memory that may be used again
            lent = Buffer(leaf(memory, buffer.shape, buffer.dtype))
            self.handle = managed(lent, original._geo, readonly=original._readonly)
        else:
            self.handle = wrap(original)
            if self.handle._np is not None:  # of a layout that is copied where it is read
                return
            memory = self.handle._buf.memory()
        self._memory = memory
        self.expr = weakref.ref(self.handle._buf.expr)

    def give_back(self) -> None:
        """Bring home what was written to the handle."""
        if self.handle._buf.expr is not self.expr():
            np.copyto(self._memory, self.handle._buf.memory())

    def returned(self, x: ndarray) -> ndarray:
        """Return a result as what it is once nothing is lent: none of it shows the memory."""
        if x is self.handle:
            found: ndarray = self.original
            return found
        if x._buf is self.handle._buf:
            return self._shown(x)
        if not x._buf.pending and np.may_share_memory(x._buf.memory(), self._memory):
            x._buf.set(x._buf.snapshot(None))
        return x

    def _shown(self, view: ndarray) -> ndarray:
        """Return a view of the handle as one of the original."""
        if type(self.original) is not ndarray:
            return adopt(concrete(view))
        base = self.original if self.original._base is None else self.original._base
        return managed(self.original._buf, view._geo, base, readonly=view._readonly)


class _Loans:
    """What one thread has lent, for one call or for several in a row, and what waits over it."""

    def __init__(self) -> None:
        self.busy = False  # recording: calls within are part of that
        self._made: dict[int, _Loan] = {}
        self._noted: list[tuple[Place, weakref.ref[Any]]] = []  # Buffers and scalars
        self._lookout = Lookout(_waits)
        self._way: Way = ()  # the operations up to one that is sure to come here

    def goes_on(self) -> bool:
        """Say whether the call being made was to come; if not, nothing waits any more."""
        if self.busy:
            return False
        frame = users_frame(_DEPTH)
        if (frame.f_code, offset_of(frame)) in self._way:
            return True
        self.settled(None)
        return False

    def of(self, x: Any) -> Any:
        """Return ``x`` with what is shared lent, inside lists and tuples too."""
        kind = type(x)
        if kind is list or kind is tuple:
            return kind(map(self.of, x)) if _any_shared(x) else x
        if not _any_shared((x,)):
            return x
        found = self._made.get(id(x)) or _Loan(x)
        if found.handle._np is not None:
            return x
        self._made[id(x)] = found
        return found.handle

    def passed(self, result: Any) -> Any:
        """Return the result, as what it is once nothing is lent any longer.

        What it waits for is computed, unless the program's next operation comes here.
        """
        waits = self._may_wait(result)
        if not waits and not isinstance(result, np.generic):
            return self.settled(result)
        frame = users_frame(_DEPTH)
        following = self._lookout.next_asked(frame, waits=waits)
        if following is None:
            return self.settled(result, self._lookout.last_reads(frame))
        if waits:
            self._note(result, (id(frame), offset_of(frame)))
        for k, (place, ref) in enumerate(self._noted if self._lookout.left else ()):
            if place in self._lookout.left:
                self._noted[k] = _NOWHERE, ref
        self._lookout.left.clear()
        self._way = following
        return result

    def _note(self, result: Any, place: Place) -> None:
        waits = result
        if type(result) is ndarray:
            waits = result._buf
            waits._export = _nobody
        self._noted.append((place, weakref.ref(waits)))

    def _may_wait(self, result: Any) -> bool:
        kind = type(result)
        if kind is DeferredScalar:
            return bool(result.is_pending)
        if kind is not ndarray or result._np is not None:
            return False
        buffer = result._buf
        if buffer._export is not None and buffer._export is not _nobody:
            return False
        if type(buffer) is Chosen:
            return selection(buffer) is not None
        return type(buffer) is Buffer and buffer.pending

    def stored(self) -> None:
        """Compute all, after what waits was read for the last time by an assignment."""
        if calls.waiting.get(get_ident()) is self:
            self.settled(None, self._lookout.last_reads(users_frame(_DEPTH)))

    def settled(self, result: Any, last: Collection[Place] = ()) -> Any:
        """Return the result, computed, as what it is once nothing is lent any longer.

        Of the operations that were read ``last`` by this one nobody will see what they gave.
        """
        thread = get_ident()
        if calls.waiting.get(thread) is self:
            del calls.waiting[thread]
        noted = [(at, x) for at, ref in self._noted if (x := ref()) is not None]
        own = result._buf if type(result) is ndarray and result._np is None else None
        kept = [x for at, x in noted if at not in last]
        shown = (own, *kept)
        spent = [x for _, x in noted if isinstance(x, Buffer) and not any(x is y for y in shown)]
        self._compute(result, kept, spent)
        result = self._returned(result)
        for x in kept:
            if isinstance(x, Buffer):
                self._part(x)
            else:
                x.force()
        self._end()
        return result

    def _compute(self, result: Any, kept: list[Any], spent: list[Buffer]) -> None:
        """Give all but what is spent its value; nobody waits any longer, whatever happens."""
        passing: set[int] = set()
        for x in spent:
            if type(x) is Chosen:
                forget(x)
            else:
                passing.add(id(x.expr))
        own = [result._buf] if type(result) is ndarray and result._np is None else []
        try:
            exprs = [*_exprs_of(result), *[x.expr for x in kept if x.expr is not None]]
            engine.compute_apart([e for e in exprs if e.value is None], passing=passing)
        except BaseException:
            for loan in self._made.values():
                del loan.handle
            for expr in self._alive():
                expr.value = expr.value.copy()
            raise
        finally:
            for x in (*own, *kept, *spent):
                if isinstance(x, Buffer) and x._export is _nobody:
                    x._export = None
            for x in spent:  # which would keep what is lent
                x.expr = Expr(LEAF, (), (), x.shape, x.dtype)
            exprs = []

    def _end(self) -> None:
        """Bring home what was written, and see that nobody keeps what was lent."""
        for loan in self._made.values():
            loan.give_back()
            del loan.handle
        if self._alive():
            engine.compute_apart(self._waiting())
        for expr in self._alive():  # somebody keeps the operand itself
            expr.value = expr.value.copy()

    def _part(self, buffer: Buffer) -> None:
        """Let what was computed not lie in memory that was lent."""
        memory = buffer.memory()
        if any(np.may_share_memory(memory, loan._memory) for loan in self._made.values()):
            buffer.set(buffer.snapshot(None))

    def _returned(self, x: Any) -> Any:
        kind = type(x)
        if kind is list or kind is tuple:
            return kind(map(self._returned, x))
        if kind is DeferredScalar:
            return x.force()
        for loan in self._made.values():
            if type(x) is ndarray and x._np is None:
                x = loan.returned(x)
        return x

    def _alive(self) -> list[Expr]:
        return [e for loan in self._made.values() if (e := loan.expr()) is not None]

    def _waiting(self) -> list[Expr]:
        """Return the pending content of arrays that reads what is lent."""
        lent = {id(expr) for expr in self._alive()}
        return [e for e in engine.window.waiting() if not lent.isdisjoint(stored_operands([e]))]


_NOWHERE = 0, 0  # where what a function returned is: it is seen later
_DEPTH = 4  # frames of this package at least


def _nobody() -> None:
    """Stand for the export of a Buffer that waits over lent memory: it is read here alone."""


def _waits(x: ndarray) -> bool:
    """Say whether an array waits over what is lent: every operation on it comes here."""
    return x._np is None and x._buf._export is _nobody


def _exprs_of(result: Any) -> Iterator[Expr]:
    kind = type(result)
    if kind is list or kind is tuple:
        for part in result:
            yield from _exprs_of(part)
    elif kind is DeferredScalar and result.expr is not None:
        yield result.expr
    elif kind is ndarray and result._np is None:
        yield result._buf.expr


def _with(
    loans: _Loans, ours: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return the call's result with what is shared lent."""
    thread = get_ident()
    outer = calls.waiting.get(thread)
    calls.waiting[thread] = loans
    loans.busy = True
    taken = loans.of(args)
    try:
        result = ours(*taken, **{name: loans.of(x) for name, x in kwargs.items()})
    except Unmanaged:
        result = Unmanaged
    except BaseException:
        del taken
        loans.settled(None)
        raise
    finally:
        loans.busy = False
        if outer is not None and outer is not loans:
            calls.waiting[thread] = outer
    del taken
    if result is NotImplemented or result is Unmanaged:  # before anything was recorded
        loans.settled(None)
        if result is Unmanaged:
            raise Unmanaged
        return result
    within = outer is not None and outer is not loans  # a part of a call that is being made
    return loans.settled(result) if within else loans.passed(result)
