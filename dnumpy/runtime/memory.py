"""Memory of large arrays, reused when an array dies: the first touch of fresh pages is dear.

A 400 MB array costs 1.4 to 3 times as much to fill when its pages are fresh, so blocks of dead
arrays are kept, up to ``config.pool_bytes``, and handed to the next array of about the same size.
Each has room to grow a little, in pages that nobody touches until then: an array and the same array
with a border take turns in stencils.
But for a few MB, without which a loop over arrays of two sizes would give back the larger ones for
the sake of the smaller, what is kept never makes the whole larger than what live arrays alone have
taken at their most: where fresh memory would, the blocks unused for longest are given back first.
Where live arrays take more than ever, what lies free in malloc's heap goes back to the system too.
On a worker nothing is kept beyond the share of its limit at which Dask begins to write results to
disk: what it then lets go of has to leave memory. Below that, a part of the limit is kept however
little was live at once: a worker serves programs whose arrays have many sizes.

Where no block is of about the size that is asked for, the pages of others are moved to where the
new array lies (:mod:`.pages`), those unused for longest first, before the system is asked for new
ones. That takes 0.02 to 0.1 ms, as long as it takes to fill a few MB: small arrays get pages only
of blocks that would be given back for their sake, or that lay unused for many times as long.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import sys
import threading
from collections import OrderedDict
from contextlib import nullcontext, suppress
from itertools import pairwise
from math import prod
from time import monotonic
from types import BuiltinFunctionType, FunctionType, ModuleType, NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy import native
from dnumpy.config import config
from dnumpy.expr.geometry import address_of
from dnumpy.expr.walk import REFERENCES
from dnumpy.runtime import machine, pages

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    Empty = Callable[[tuple[int, ...], np.dtype], np.ndarray]  # makes memory of a shape and dtype

    from dnumpy.expr.expr import Expr

SMALLEST = 1 << 18  # bytes; below this malloc itself reuses memory well
_BYTE = np.dtype(np.uint8)
_new: Any = np.ndarray.__new__
LINE = 64  # bytes of a line of a cache
HUGE_PAGE = 1 << 21  # bytes
MOST_WASTED = HUGE_PAGE // 8  # bytes of the last huge page that nobody uses
ALWAYS_KEPT = 16 << 20  # bytes of unused blocks that are kept however little was live at once
SLACK = 1.25  # times what is asked for: the largest block that serves
ROOM = 16  # of a block's bytes, one more is there to grow into; a border of 2,000 rows is 1/500
MOST_ROOM = 4 << 20  # bytes; address space may have a limit
MOVED_BYTES = 16 << 20  # of an array, from which on any unused pages are moved under it
MOST_PIECES = 64  # of a block: the system keeps a record of each
IDLE_SECONDS = 0.02  # of a block that it lies unused, after which pages of it are moved under any
# Live blocks stand higher than ever by so much, and by so many times: the heap's free pages go
# back before more are taken. That takes 0.1 ms, and a process is at few such heights.
HIGHER_BYTES = 16 << 20
HIGHER = 1.25


_MOST_KEPT = 16 << 20  # bytes: with 31 MB, the most that glibc takes, programs held 40 MB more


def let_malloc_keep() -> None:
    """Let malloc keep what arrays of some MB give back, as it does once a larger one was freed.

    glibc maps what is larger than 128 KB afresh, and gives back the top of its heap beyond twice
    that, until the program frees something larger: the thresholds then rise to its size, up to
    32 MB, by which temporaries of a loop stop being pages that are zeroed again each time. With
    8 MB, as much as the largest array that NumPy computes here at once takes twice, a singular
    value decomposition of 5,000 x 100 still gave 16 MB back in each round. This frees one that is
    as large as counts; nothing of it is ever touched, and at most twice as much stays in the heap.
    Whoever has set
    ``MALLOC_TRIM_THRESHOLD_``, as Dask's nannies do, keeps it, and other allocators do nothing of
    the kind.
    """
    np.empty(_MOST_KEPT, np.uint8)


def set_modules_apart() -> None:
    """Let collections of garbage pass over the modules that there are when dnumpy is imported.

    Importing leaves 39,000 objects and a full collection that is due a few hundred later, which
    took 11 ms in the midst of the first evaluation; two more at the end of a process took 24 ms to
    take them apart. Where the program has made something itself before, which may be garbage some
    day, all goes with the objects that only full collections look at. Nothing is moved where
    somebody has frozen objects, which are to stay so.
    """
    if not gc.get_freeze_count():
        gc.freeze()  # whatever their generation
        if not _program_has_only_begun():
            gc.unfreeze()  # into the oldest one


def _program_has_only_begun() -> bool:
    """Say whether all that the main module holds are modules, functions, classes and constants."""
    program = vars(sys.modules.get("__main__", object)).copy()
    return all(
        name.startswith("__")
        or isinstance(value, _OF_BEGINNINGS)
        or type(value).__module__ in {"typing", "__future__"}
        for name, value in program.items()
    )


_OF_BEGINNINGS = (
    ModuleType, type, FunctionType, BuiltinFunctionType, int, float, str, bytes, NoneType,
)  # fmt: skip


class Block(NamedTuple):
    """Memory, and as something that is no array, and where that begins.

    ``nbytes`` of it were asked for at some time, and up to ``capacity`` may be. Of what lies
    between ``joints``, addresses in order, the system has one record: before Linux 6.17 it moves no
    more of it at once.
    """

    memory: np.ndarray
    buffer: Any
    nbytes: int
    address: int
    capacity: int
    joints: tuple[int, ...] = ()


class Piece(NamedTuple):
    """Pages of a dead block: whole huge ones, from an address on; they live as long as it does."""

    address: int
    nbytes: int
    block: Block


class _Leased(np.ndarray):
    """The bytes of a block while some array lies in them; the last to die gives the block back.

    NumPy makes it the base of every array over the block, since its own base is no array.
    """

    __slots__ = ("block", "pool", "spare")

    block: Block
    pool: Pool
    spare: int  # bytes of the block beyond what was asked for

    def __del__(self) -> None:
        """Return the block."""
        self.pool.give_back(self.block, self.spare)


def _lease(
    pool: Pool, block: Block, _address: int, spare: int, shape: tuple[int, ...], dtype: np.dtype
) -> np.ndarray:
    """Return an array over a block, which the pool is given back once nothing lies in it."""
    leased = _new(_Leased, (block.nbytes,), _BYTE, block.buffer)
    leased.block, leased.pool, leased.spare = block, pool, spare
    return np.ndarray(shape, dtype, leased)


# which of the two there are makes no difference but in time: see native/lease.c
lease: Callable[..., np.ndarray] = native.lease if native.built else _lease
OWNER: type = native.Lease if native.built else _Leased  # the base of arrays over blocks


class Pool:
    """Blocks of dead arrays by size, the longest unused given up first."""

    def __init__(self) -> None:
        # arrays may go when the names of modules are gone: Python ends
        self._config, self._now = config, monotonic
        self._free: OrderedDict[int, list[Block]] = OrderedDict()
        self._unused_since: dict[int, float] = {}  # of each size: when one was given back last
        self._bytes = 0
        self._live = 0  # bytes of blocks in use
        self._most = 0  # at any time so far
        self._next_height = HIGHER_BYTES  # bytes in use at which the heap is trimmed again
        self._spare = 0  # bytes of blocks in use beyond what was asked for
        self.least_unused = 0  # since :meth:`forget_least_unused`
        self.most_resident = float("inf")  # bytes of the process, beyond which nothing is kept
        self.always_kept = 0  # bytes of unused blocks, where that is more than ALWAYS_KEPT
        self.trimming: Callable[[], AbstractContextManager[object]] = nullcontext
        self._lock = threading.RLock()

    @property
    def live(self) -> int:
        """Bytes of blocks that arrays lie in."""
        return self._live

    @property
    def unused(self) -> int:
        """Bytes that no array lies in."""
        return self._bytes + self._spare

    def forget_least_unused(self) -> None:
        """Note from now on how few bytes are unused."""
        self.least_unused = self.unused  # without the lock: who watches has one of its own

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an uninitialised C-contiguous array, or raise as NumPy does for want of room."""
        nbytes = prod(shape) * dtype.itemsize
        if nbytes < SMALLEST or config.pool_bytes == 0 or dtype.hasobject:
            return np.empty(shape, dtype)
        try:
            block = self._block(nbytes)
        except MemoryError:
            return np.empty(shape, dtype)  # which says in NumPy's words what there is no room for
        return lease(self, block, block.address, block.nbytes - nbytes, shape, dtype)

    def again(self, nbytes: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray | None:
        """Return such an array in the block that lay in use last; None where none has its size.

        In as few steps as can be: an evaluation that was met before has one for each result.
        """
        with self._lock:
            blocks = self._free.get(nbytes)
            if blocks is None:
                return None
            block = self._pop(blocks)
            self._live += nbytes
            unused = self._bytes + self._spare
            self.least_unused = min(self.least_unused, unused)
        return lease(self, block, block.address, 0, shape, dtype)

    def _block(self, nbytes: int) -> Block:
        with self._lock:
            found = self._fitting(nbytes)
            if found is not None:
                block = self._pop(self._free[found])
                if block.nbytes < nbytes:
                    block = block._replace(nbytes=nbytes)
                self._live += block.nbytes
                self._spare += block.nbytes - nbytes
                unused = self._bytes + self._spare
                self.least_unused = min(self.least_unused, unused)
                return block
            self._live += nbytes
            most, height = self._most, self._next_height
            self._most = max(most, self._live)
            pieces = self._pages_for(nbytes)
            self._trim_to(self._spared(self._live))
            higher = self._is_height(self._most)
            if higher:
                self._next_height = max(round(HIGHER * self._most), self._most + HIGHER_BYTES)
        if higher:
            native.trim_heap()
        try:
            return _over(pieces, fresh(nbytes))
        except MemoryError:
            for piece in pieces:  # what is left of its block would hold them
                pages.forget(piece.address, piece.nbytes)
            with self._lock:
                self._live -= nbytes
                self._most, self._next_height = max(most, self._live), height
            raise

    def _pages_for(self, nbytes: int) -> list[Piece]:
        """Take pages of unused blocks for an array of so many bytes, the longest unused first.

        What is left of the last of them stays unused.
        """
        found: list[Piece] = []
        rests: list[tuple[int, int]] = []  # what fills no page, which nobody would use
        lacks = _in_whole_pages(nbytes)
        for size in self._givers(nbytes, self._live):
            since = self._unused_since[size]
            while lacks and size in self._free:
                block = self._pop(self._free[size])
                whole = _in_whole_pages(size)
                part = min(whole, lacks)
                rest = whole - part
                found += _pieces(block, rest, whole)
                lacks -= part
                if rest:
                    self._keep(block._replace(nbytes=rest, capacity=rest + _room(rest)), since)
                    self._free.move_to_end(rest, last=False)
                if size > whole:
                    rests.append((block.address + whole, size - whole))
        if rests:
            with self.trimming():
                for address, size in rests:
                    pages.forget(address, size)
        self.least_unused = min(self.least_unused, self.unused)
        return found

    def _givers(self, nbytes: int, live: int) -> list[int]:
        """Return the sizes of unused blocks whose pages an array may have, in turn.

        With it so many bytes are ``live``.
        """
        if nbytes < HUGE_PAGE or not self._bytes or not pages.can_move():
            return []
        sizes = [n for n in self._free if n >= HUGE_PAGE]
        if nbytes >= MOVED_BYTES or self._bytes > self._spared(live):
            return sizes
        idle = monotonic() - IDLE_SECONDS
        return [n for n in sizes if self._unused_since[n] < idle]

    def movable(self, nbytes: int) -> int:
        """Return the bytes of an array of this size that would lie in pages of unused blocks."""
        with self._lock:
            givers = self._givers(nbytes, self._live + nbytes)
            unused = [_in_whole_pages(n) * len(self._free[n]) for n in givers]
        return min(sum(unused), _in_whole_pages(nbytes))

    def _is_height(self, live: int) -> bool:
        """Say whether the heap is trimmed before so many bytes are live."""
        return live >= self._next_height

    def make_way(self, nbytes: int) -> int:
        """Let go of what lies free in malloc's heap, if fresh memory of so many bytes would.

        Return the bytes of blocks that would be given back before.
        """
        live = self._live + nbytes
        if self._is_height(live):
            native.trim_heap()
        return max(0, self._bytes - self._spared(live))

    def _spared(self, live: int) -> int:
        """Return the bytes of unused blocks that are kept where so many are live."""
        return max(self._most - live, 0) + max(ALWAYS_KEPT, self.always_kept)

    def has(self, nbytes: int) -> bool:
        """Say whether an array of this size would lie in memory that was used before."""
        return self._fitting(nbytes) is not None

    def _fitting(self, nbytes: int) -> int | None:
        """Return the size of the free block to take: the smallest that serves, or else can grow."""
        if nbytes in self._free:
            return nbytes
        serves = [n for n in self._free if nbytes <= n <= SLACK * nbytes]
        if serves:
            return min(serves)
        grows = [n for n, blocks in self._free.items() if n < nbytes <= blocks[-1].capacity]
        return max(grows, default=None)

    def give_back(self, block: Block, spare: int = 0) -> None:
        """Keep ``block`` for the next array of its size, within the cap."""
        with self._lock:
            nbytes = block.nbytes
            self._live -= nbytes
            self._spare -= spare
            self._keep(block, self._now())
            self._free.move_to_end(nbytes)
            most = self._config.pool_bytes
            if self.most_resident < float("inf"):
                most = min(most, max(0, round(self._bytes - self._too_much())))
            if self._bytes > most:
                self._trim_to(most)

    def _keep(self, block: Block, since: float) -> None:
        self._free.setdefault(block.nbytes, []).append(block)
        self._unused_since[block.nbytes] = since
        self._bytes += block.nbytes

    def _too_much(self) -> float:
        """Return the bytes that the process holds beyond what it may while it keeps any."""
        return machine.resident_bytes() - self.most_resident

    def _pop(self, blocks: list[Block]) -> Block:
        """Take the last of those that are free and have one size."""
        block = blocks.pop()
        self._bytes -= block.nbytes
        if not blocks:
            del self._free[block.nbytes], self._unused_since[block.nbytes]
        return block

    def _trim_to(self, most: int) -> None:
        """Give back blocks until they take no more than this."""
        if self._bytes <= most:
            return
        with self.trimming():
            while self._bytes > most:
                self._pop(next(iter(self._free.values())))
            self.least_unused = min(self.least_unused, self.unused)

    def trim(self) -> int:
        """Give every unused block back to the system; return the bytes released."""
        with self._lock:
            released, self._bytes = self._bytes, 0
            self._free.clear()
            self._unused_since.clear()
            self.least_unused = min(self.least_unused, self.unused)
            return released


def is_private(expr: Expr) -> bool:
    """Say whether no array but the value of ``expr`` shows its memory."""
    memory: Any = expr.value
    if type(memory) is not np.ndarray or sys.getrefcount(memory) > REFERENCES:
        return False
    owner = memory.base
    if owner is None:
        return bool(memory.flags.owndata)
    ours = type(owner) is OWNER or (type(owner) is np.ndarray and owner.flags.owndata)
    return ours and sys.getrefcount(owner) <= REFERENCES


def _in_whole_pages(nbytes: int) -> int:
    """Return the bytes of the whole huge pages in so many."""
    return nbytes // HUGE_PAGE * HUGE_PAGE


def _room(nbytes: int) -> int:
    """Return the bytes into which a block of so many may grow."""
    return min(nbytes // ROOM, MOST_ROOM)


def _pieces(block: Block, start: int, stop: int) -> list[Piece]:
    """Return these bytes of a block as pieces between its joints."""
    lo, hi = block.address + start, block.address + stop
    ends = [lo, *[joint for joint in block.joints if lo < joint < hi], hi]
    return [Piece(a, b - a, block) for a, b in pairwise(ends)]


def _over(pieces: Sequence[Piece], block: Block) -> Block:
    """Return the new block, over the pages of these pieces as far as they go."""
    at, joints = block.address, set(block.joints)
    for number, piece in enumerate(pieces):
        if number >= MOST_PIECES or not pages.move(piece.address, at, piece.nbytes):
            pages.forget(piece.address, piece.nbytes)
            continue
        at += piece.nbytes
        joints.add(at)
    return block._replace(joints=tuple(sorted(joints)))


def fresh(nbytes: int) -> Block:
    """Return memory that begins with a whole line of the caches, or with a huge page.

    NumPy's begins 16 bytes after a line: wide stores would touch two lines each, and lines could
    not be written past the caches. The first touch of 4 MB takes 1.5 ms in small pages, and 0.3 in
    huge ones.
    """
    if nbytes >= HUGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
        return _in_huge_pages(nbytes)
    capacity = nbytes + _room(nbytes)
    memory = np.empty(capacity + LINE, _BYTE)
    address = address_of(memory)
    address += -address % LINE
    buffer = (ctypes.c_char * capacity).from_address(address)
    return Block(memory, buffer, nbytes, address, capacity)


def _in_huge_pages(nbytes: int) -> Block:
    """Return memory in huge pages, where there are any, and a rest that fills none in small ones.

    Raises
    ------
    MemoryError
        There is not so much.
    """
    whole = (nbytes + MOST_WASTED) // HUGE_PAGE * HUGE_PAGE
    capacity = nbytes + _room(nbytes)
    try:
        mapped = mmap.mmap(-1, capacity + 2 * HUGE_PAGE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        raise MemoryError(str(error)) from error
    memory = np.frombuffer(mapped, _BYTE)
    address = address_of(memory)
    start = -address % HUGE_PAGE
    with suppress(OSError):  # a kernel without them
        mapped.madvise(mmap.MADV_HUGEPAGE, start, whole)
    buffer = (ctypes.c_char * capacity).from_buffer(mapped, start)
    return Block(memory, buffer, nbytes, address + start, capacity, (address + start + whole,))


pool = Pool()
