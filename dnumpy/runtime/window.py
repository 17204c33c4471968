"""What is pending: how much it is, for whom, and when it waits no longer."""

from __future__ import annotations

import weakref
from math import prod
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.config import EAGER_BELOW, config
from dnumpy.expr.expr import Expr
from dnumpy.expr.survey import waiting
from dnumpy.expr.walk import held_bytes, is_live
from dnumpy.ops.families import Contraction
from dnumpy.ops.table import VIEW
from dnumpy.runtime import direct, find

if TYPE_CHECKING:
    from collections.abc import Iterable

MAIN = get_ident()  # the thread that imports this, whose loops are timed
MOST_ELEMENTS = 1 << 47  # no address space holds more
WINDOW_ELEMENTS = 1 << 36  # element operations pending: about a minute of work
LARGE_ELEMENTS = 1 << 23  # of an operation
LOOKED_ELEMENTS = 1 << 24  # element operations between two looks at the memory that they hold
LOOKED_BYTES = 1 << 23  # of new memory, before which a look is taken at what pending work holds
MOST_PICKED = 8  # little parts of pending content that are recorded before it is computed
HELD_BYTES = 16 << 20  # of dead operands that pending work may hold beside what its results take
LITTLE_ELEMENTS = 1 << 16  # of an array that NumPy passes in the time of recording an operation
LESS_ELEMENTS = 1 << 12  # likewise in a loop that gains by what waits
LITTLE_BYTES = 8 * EAGER_BELOW  # of an array of booleans or bytes that runs at once
MOST_BETWEEN = 4  # operations that nobody holds between two little results
ELEMENTS_OF_LITTLE = 1 << 18  # element operations that wait for each recorded one on little arrays


def computes_here() -> bool:
    """Say whether nobody asked for arrays to wait, and no workers are there for what does."""
    return direct.computes_little() and find.is_only_here(MOST_ELEMENTS)


def _is_elsewhere(expr: Expr) -> bool:
    """Say whether a value is stored in a file, or on nodes."""
    return expr.value is not None and type(expr.value) is not np.ndarray


class Window:
    """What is pending: how much was recorded since the last flush, and the Buffers it is for.

    A thread computes what it recorded itself: another one may have another client.
    """

    __slots__ = (  # native/record.c looks for some of them
        "_others",
        "asked",
        "at_once",
        "elements",
        "elements_of_little",
        "elements_passed",
        "evaluations",
        "exprs",
        "little",
        "looked",
        "made",
        "owners",
        "passed",
        "picked",
        "settled",
        "thread",
        "waits",
    )

    def __init__(self) -> None:
        self.exprs = 0
        self.elements = 0
        self.looked = LOOKED_ELEMENTS  # elements at which to look at the memory held
        self.made = 0  # bytes of memory made since the last look
        self.picked = 0  # little parts of pending content that were looked for
        self.little = 0  # operations on little arrays that were recorded
        self.elements_of_little = 0
        self.elements_passed = 0  # of large operands that little results were folded from
        self.passed: set[int] = set()  # those results
        self.asked = 0, 0, False  # exprs, elements, and whether these would go to workers
        self.settled: weakref.ref[Expr] | None = None  # the last of them, if it waits no longer
        self.owners: dict[int, weakref.ref[Any]] = {}  # of what the thread recorded
        self.thread = get_ident()
        self.evaluations = 0  # of this process so far
        self.at_once = 0  # elements of what is computed at once in the loop that runs: expr/laps.py
        self.waits = False  # whether what is of middling size waits there
        self._others: dict[int, dict[int, weakref.ref[Any]]] = {}  # by thread

    def _enter(self, thread: int) -> None:
        """Let the owners be those of a thread."""
        if self.owners:
            self._others[self.thread] = self.owners
        self.owners, self.thread = self._others.pop(thread, {}), thread

    def is_picked_apart(self) -> bool:
        """Count a little part of pending content; say whether the program takes many of them."""
        self.picked += 1
        return self.picked > MOST_PICKED

    def count(self, expr: Expr, owner: weakref.ref[Any], key: int, *, settles: bool = True) -> bool:
        """Count a newly recorded Expr; say whether to ask :func:`flush_if_due`."""
        thread = get_ident()
        if thread != self.thread:
            self._enter(thread)
        self.owners[key] = owner
        self.exprs += 1
        size = prod(expr.shape)
        if size > MOST_ELEMENTS:
            np.empty(expr.shape, expr.dtype)  # raises NumPy's MemoryError
        self.elements += size
        if self.at_once and settles and thread == MAIN and self._goes_at_once(expr):
            self.settled = weakref.ref(expr)
            return True
        if expr.shape and self._is_little(expr, size) and self._is_settled(expr, size, settles):
            return True
        return self.exprs >= config.window_exprs or self.elements >= self.looked

    def _is_little(self, expr: Expr, size: int) -> bool:
        """Say whether NumPy is done with so many elements before an operation is recorded.

        Where a loop was found to gain by what waits, that is not so of many.
        """
        if self.waits and get_ident() == MAIN:
            return size <= LESS_ELEMENTS
        few = LITTLE_BYTES if expr.dtype.itemsize == 1 else LITTLE_ELEMENTS + 1
        return size < few

    def _goes_at_once(self, expr: Expr) -> bool:
        sizes = [expr.size, *[arg.size for arg in expr.operands()]]
        return max(sizes) <= self.at_once and computes_here()

    def _is_settled(self, expr: Expr, size: int, may: bool) -> bool:
        """Say whether an operation on little arrays is computed now, with all that it waits for.

        NumPy takes less for each of them than recording does. The first few wait, for what they
        are made of may be passed once with what comes: for as long as that saves more.
        """
        for arg in expr.args:
            if type(arg) is Expr and (not self._is_little(arg, arg.size) or _is_elsewhere(arg)):
                return False
        self.little += 1
        self.elements_of_little += size
        self._note_passed(expr)
        waits = not may or self.little <= self.large // ELEMENTS_OF_LITTLE
        if waits or not direct.computes_little():
            return False
        self.settled = weakref.ref(expr)
        return True

    def _note_passed(self, expr: Expr, depth: int = MOST_BETWEEN) -> None:
        """Count the elements of large operands that are folded before this has its value.

        So it is with the mean of every row, whose recording counted the means alone: what is done
        to the rows with it may be done in the same pass.
        """
        for arg in expr.args:
            if type(arg) is not Expr or arg.value is not None or id(arg) in self.passed:
                continue
            self.passed.add(id(arg))
            if arg.op is VIEW or isinstance(arg.op, Contraction):
                continue  # which reads no more than it shows, or is passed by itself
            sizes = [e.size for e in arg.operands() if not self._is_little(e, e.size)]
            self.elements_passed += sum(sizes)
            if not sizes and depth:
                self._note_passed(arg, depth - 1)

    @property
    def large(self) -> int:
        """Element operations pending that are none of little arrays."""
        return self.elements - self.elements_of_little + self.elements_passed

    def note_asked(self, *, goes: bool) -> None:
        """Note whether what is pending would go to workers."""
        self.asked = self.exprs, self.elements, goes

    def known_to_go(self) -> bool | None:
        """Say what was noted; None where so much was recorded since that it has to be asked again.

        To ask is to look through all that is pending: as often as that has doubled, and not for
        every operation of a loop.
        """
        exprs, elements, goes = self.asked
        return None if self.exprs >= 2 * exprs or self.elements >= 2 * elements else goes

    def is_due(self) -> bool:
        """Say whether to compute what is pending now: it is much, or holds much memory.

        NumPy would have given back what the program has dropped; it would hold results in its
        place, so that pending work may hold as much as those take.
        """
        if self.exprs >= config.window_exprs or self.elements >= WINDOW_ELEMENTS:
            return True
        large = self.elements >= self.exprs * LARGE_ELEMENTS  # beside which a look costs nothing
        step = LOOKED_ELEMENTS if large else max(4 * LOOKED_ELEMENTS, self.elements)
        self.looked = self.elements + step
        return self.holds_much()

    def needs_room(self, nbytes: int) -> bool:
        """Say whether to compute what is pending before so much memory is made beside it."""
        self.made += nbytes
        if not self.exprs or self.made < max(LOOKED_BYTES, self.exprs << 16):  # a look costs too
            return False
        self.made = 0
        return self.holds_much(nbytes)

    def holds_much(self, more: int = 0) -> bool:
        """Say whether what is pending holds much memory, if ``more`` bytes are added."""
        waiting = self.waiting()
        held = held_bytes(waiting)
        return held > 0 and held + more > HELD_BYTES + sum([expr.nbytes for expr in waiting])

    def waiting(self) -> list[Expr]:
        """Return the pending content of every live Buffer that this thread recorded."""
        thread = get_ident()
        if thread != self.thread:
            self._enter(thread)
        return waiting(self.owners)

    def drain(self) -> list[Expr]:
        """Return the pending content of every live Buffer and start a new window."""
        thread = get_ident()
        if thread != self.thread:
            self._enter(thread)
        found = waiting(self.owners)
        self.owners.clear()
        self.passed.clear()
        self.exprs = self.elements = self.elements_of_little = self.picked = self.little = 0
        self.elements_passed = 0
        self.asked = 0, 0, False
        self.looked = LOOKED_ELEMENTS
        return found

    def leave(self, exprs: Iterable[Expr]) -> None:
        """Let what is still pending of these wait in the new window."""
        for expr in exprs:
            if expr.value is None and is_live(expr):
                assert expr.owner is not None
                self.owners[id(expr.owner())] = expr.owner
