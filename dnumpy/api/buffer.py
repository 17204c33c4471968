"""Buffer: the mutable cell behind every managed array and all its views."""

from __future__ import annotations

import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import engine, native
from dnumpy.expr import unread
from dnumpy.expr.expr import Expr, exact, leaf
from dnumpy.expr.geometry import typed
from dnumpy.ops.table import CAST, FULL, LEAF
from dnumpy.runtime.memory import is_private, pool
from dnumpy.runtime.stored import StoredRows

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.expr.geometry import Geometry
    from dnumpy.runtime.records import Record

_new = object.__new__
_ref = weakref.ref
LARGE_BYTES = 1 << 18  # of shared memory: what is less is copied when it is read
readers = threading.local()  # ``refuse``: whether this thread's call can do without copies
_LOCK_COUNT = 64
LOCKS = tuple(threading.RLock() for _ in range(_LOCK_COUNT))
_OBJECT_BYTES = 16  # addresses of objects are multiples of this: see native/handle.h, too
_OWN_REFERENCES = 2  # Buffer.expr and the argument of the count


def lock_of(buffer: Buffer) -> threading.RLock:
    """Return the lock that guards a Buffer, one of a fixed set."""
    return LOCKS[id(buffer) // _OBJECT_BYTES % _LOCK_COUNT]


class SharedRead(Exception):  # noqa: N818 - control flow, not an error
    """Large shared memory would be copied; whoever said that it ``refuse``s lends it instead."""


def refuse_copies(nbytes: int) -> None:
    """Raise SharedRead where so much would be copied, and whoever calls can do without."""
    if nbytes >= LARGE_BYTES and getattr(readers, "refuse", False):
        raise SharedRead


def shared_copy(view: np.ndarray) -> np.ndarray:
    """Return a copy of what memory shows that others may write to; raises SharedRead."""
    refuse_copies(view.nbytes)
    copied = pool.empty(view.shape, view.dtype)
    np.copyto(copied, view)
    return copied


class Export:
    """Stands between a Buffer's memory and the NumPy arrays handed out; alive while one is."""

    __slots__ = ("__weakref__", "memory", "writeable")

    def __init__(self, memory: np.ndarray, *, writeable: bool) -> None:
        self.memory = memory
        self.writeable = writeable

    @property
    def __array_interface__(self) -> dict[str, Any]:
        interface = dict(self.memory.__array_interface__)
        interface["data"] = (interface["data"][0], not self.writeable)
        return interface

    def array(self) -> np.ndarray:
        """Return a NumPy array over the memory, which keeps this alive."""
        if native.lent is None:
            return np.asarray(self)
        found: np.ndarray = native.lent(self.memory, self, self.writeable)
        return found


class Buffer:
    """One per NumPy base: ``expr`` is its current content.

    ``shape`` and ``dtype`` are those of the C-contiguous base. A *shared* Buffer lies in memory
    that NumPy code outside can read or write at any time: it is read by copying, or where it is
    large before the call returns (:mod:`dnumpy.api.lending`), and written at once. An *unmade* one
    is full of one number, and has no memory until somebody wants that.
    ``run``, where there was one, has the Records of what gave the content its value.
    ``lock`` is held while the content is replaced or written to: see :mod:`dnumpy.api.locks`.
    """

    __slots__ = (
        "__weakref__",
        "_export",
        "_home",
        "dtype",
        "expr",
        "foreign",
        "ghost",
        "run",
        "shape",
        "writeable",
    )

    run: list[Record]

    def __init__(self, expr: Expr, *, writeable: bool = True, foreign: bool = False) -> None:
        self.shape = expr.shape
        self.dtype = expr.dtype
        self.writeable = writeable
        self.foreign = foreign
        self.ghost: np.ndarray | None = None
        self._export: Callable[[], Export | None] | None = None
        self._home: tuple[Any, np.ndarray] | None = None  # (value on nodes, its gathered copy)
        self._hold(expr, settles=True)

    @property
    def lock(self) -> threading.RLock:
        """The lock that guards this Buffer, one of a fixed set."""
        return lock_of(self)

    def set(self, expr: Expr) -> None:
        """Make ``expr`` the content. An Expr that already is another Buffer's content is copied."""
        self._hold(expr, settles=False)

    def _hold(self, expr: Expr, *, settles: bool) -> None:
        if expr.op is not LEAF:
            if expr.owner is not None and expr.owner() not in (None, self):
                expr = Expr(CAST, (expr,), (), expr.shape, expr.dtype)
            expr.owner = weakref.ref(self)
        self.expr = expr
        self._home = None
        if expr.value is None:
            assert expr.owner is not None
            engine.note(expr, expr.owner, id(self), settles=settles)

    def hand_over(self, to: Buffer) -> None:
        """Make the content, just recorded and held by nobody else, that of another Buffer."""
        expr = to.expr = self.expr
        owner = expr.owner = weakref.ref(to)
        to._home = None
        engine.window.owners[id(to)] = owner

    @property
    def pending(self) -> bool:
        """Whether the content is not computed yet."""
        return self.expr.value is None and self.expr.owner is not None

    @property
    def unmade(self) -> bool:
        """Whether the content is one number, and nobody has wanted its memory yet."""
        return self.expr.value is None and self.expr.owner is None

    def make(self) -> None:
        """Make the memory of an unmade Buffer."""
        engine.make_room(self.expr.nbytes)
        with self.lock:
            if self.unmade:
                number = self.expr.params[0]
                make = np.ones if number else np.zeros
                self.expr.value = make(self.shape, self.dtype)

    @property
    def shared(self) -> bool:
        """Whether NumPy code outside may see this memory."""
        if self.foreign and self.expr.value is not None:
            self.foreign = not is_private(self.expr)  # once its maker has let go
        return self.foreign or (self._export is not None and self._export() is not None)

    def memory(self) -> np.ndarray:
        """Return the computed content: a C-contiguous array over the whole base."""
        if self.expr.value is None:
            if self.expr.owner is None:
                self.make()
            else:
                engine.compute([self.expr])
        elif unread.watched:
            unread.note_read(self.expr)
        value = self.expr.value
        if type(value) is np.ndarray:
            return value
        if isinstance(value, StoredRows):
            return engine.read(self.expr)
        if self._home is None or self._home[0] is not value:
            self._home = (value, engine.gather(value))
        return self._home[1]

    def memory_here(self) -> np.ndarray | None:
        """Return the memory that ``memory`` returned last, if that still is the content."""
        value = self.expr.value
        if unread.watched:
            unread.note_read(self.expr)
        if type(value) is np.ndarray:
            return value
        return self._home[1] if self._home is not None and self._home[0] is value else None

    def memory_for_writing(self) -> np.ndarray:
        """Return memory that may be written at once: no pending reader sees the change."""
        memory = self.memory()
        if self._home is not None and self._home[1] is memory:  # a copy that nobody else has
            self._home = None
            self.expr = leaf(memory, self.shape, self.dtype)
            return memory
        if self.expr.op is not LEAF:  # an interned Expr must not change its meaning
            others = sys.getrefcount(self.expr) - _OWN_REFERENCES
            if not others or self.shared:
                self.expr = leaf(memory, self.shape, self.dtype)
                return memory
        elif sys.getrefcount(self.expr) == _OWN_REFERENCES or self.shared:
            return memory
        memory = memory.copy()
        self.expr = leaf(memory, self.shape, self.dtype)
        return memory

    @property
    def is_far(self) -> bool:
        """Whether the computed content lies on nodes and no copy is here."""
        value = self.expr.value
        if value is None or type(value) is np.ndarray:
            return False
        return self._home is None or self._home[0] is not value

    def may_be_written(self) -> bool:
        """Say whether no pending Expr reads the computed content, which is about to change."""
        if sys.getrefcount(self.expr) > _OWN_REFERENCES:
            return False
        if self.expr.op is FULL:  # as it says for not much longer
            self.expr = leaf(self.expr.value, self.shape, self.dtype)
        return True

    def fill(self, cell: np.generic) -> None:
        """Let whoever reads all of the computed content know that every element is ``cell``."""
        unread.note_read(self.expr)
        known = Expr(FULL, (), exact(cell), self.shape, self.dtype)
        known.value = self.expr.value
        self.expr = known

    def export(self) -> np.ndarray:
        """Return the memory as a NumPy array to hand out; the Buffer knows while it is in use."""
        memory = self.memory_for_writing()
        alive = self._export() if self._export is not None else None
        if alive is None or alive.memory is not memory:
            alive = Export(memory, writeable=self.writeable)
            self._export = weakref.ref(alive)
        return typed(alive.array(), self.dtype)

    def pin(self) -> None:
        """Keep the memory where it is, and as one that code outside may read and write at any time.

        For those who were told the address, and of whom nobody knows until when they use it.
        """
        shown = self.export()
        alive = self._export() if self._export is not None else None
        self._export = lambda: alive
        del shown  # held until here, and with it what is kept now

    def snapshot(self, geometry: Geometry | None) -> Expr:
        """Return a leaf with a copy of what the geometry shows now."""
        memory = self.memory()
        copied = shared_copy(memory if geometry is None else geometry.over(memory))
        return leaf(copied, copied.shape, copied.dtype)


if native.built:
    native.take_export(Export)
# what holds the memory that a Buffer was made over, where that is no array: a file, bytes
holders: weakref.WeakKeyDictionary[Buffer, Any] = weakref.WeakKeyDictionary()


def owns(buffer: Buffer) -> bool:
    """Say whether the memory is the base's own, as NumPy's flag says."""
    return not holders or buffer not in holders


def recorded(expr: Expr) -> Buffer:
    """Return the Buffer of an Expr recorded where nobody asks for faults at once."""
    buffer: Buffer = _new(Buffer)
    buffer.shape = expr.shape
    buffer.dtype = expr.dtype
    buffer.writeable = True
    buffer.foreign = False
    buffer.ghost = buffer._export = buffer._home = None
    buffer.expr = expr
    owner = expr.owner = _ref(buffer)
    if engine.window.count(expr, owner, id(buffer)):
        engine.flush_if_due()
    return buffer


def unmade(number: np.generic, shape: tuple[int, ...], dtype: np.dtype) -> Buffer:
    """Return a Buffer full of zeros or ones whose memory is made when somebody wants it."""
    buffer: Buffer = _new(Buffer)
    buffer.shape = shape
    buffer.dtype = dtype
    buffer.writeable = True
    buffer.foreign = False
    buffer.ghost = buffer._export = buffer._home = None
    buffer.expr = Expr(FULL, (), exact(number), shape, dtype)
    return buffer
