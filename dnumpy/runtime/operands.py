"""What a task reads: pieces of rows that arrive as arguments, and how they make operands."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from dnumpy.expr.geometry import address_of
from dnumpy.runtime.memory import pool
from dnumpy.runtime.pace import EVEN, Pace
from dnumpy.runtime.stored import StoredRows

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dnumpy.expr.geometry import Geometry
    from dnumpy.runtime.peaks import Taken

Ref = Any  # what a task is given: a value, or Dask's reference to the result of another task


class _Made(NamedTuple):
    rows: tuple[np.ndarray, ...]
    partials: tuple[Any, ...]
    seconds: float
    faults: frozenset[tuple[int, str]]
    lowering: str
    ended: float
    memory: Taken | None
    pace: Pace


class Made(_Made):
    """What a task gives: row outputs, partial outputs with an entry per tile, and how it went.

    It ``ended`` when this was made, in seconds since the epoch by the clock of its node; ``memory``
    is what it took, where that was watched; ``pace`` how what it took differs from what it takes
    over time.
    """

    __slots__ = ()

    def __new__(
        cls,
        rows: tuple[np.ndarray, ...],
        partials: tuple[Any, ...],
        seconds: float,
        faults: frozenset[tuple[int, str]],
        lowering: str = "numpy",
        ended: float | None = None,
        memory: Taken | None = None,
        pace: Pace = EVEN,
    ) -> Self:
        """Return what a task that has just ended gives."""
        at = time.time() if ended is None else ended
        went = seconds, faults, lowering, at, memory, pace
        return super().__new__(cls, rows, partials, *went)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle so that arrays lie aligned where it arrives."""
        return _made, (AHEAD, *self)

    def noting(self, memory: Taken) -> Made:
        """Return the same, with what the task took."""
        return self._replace(memory=memory)

    @property
    def steady_seconds(self) -> float:
        """What the task took, or would take over time if that is more."""
        return self.pace.steady(self.seconds)

    @property
    def nbytes(self) -> int:
        """Bytes of the row outputs."""
        return sum(rows.nbytes for rows in self.rows)


# Dask reads the first array of a message into one buffer with the headers, which may be of any
# length, and each later one into a buffer of its own. A copy would cost the memory twice.
AHEAD = np.zeros(1, np.uint8)


def aligned(rows: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """Return arrays that lie aligned in memory, as compiled kernels need them.

    In messages of many small ones they may not.
    """
    return tuple([array if array.flags.aligned else array.copy() for array in rows])


def _made(_: np.ndarray, rows: tuple[np.ndarray, ...], *others: Any) -> Made:
    return Made(aligned(rows), *others)


Inner = tuple[tuple[int, int], ...]  # (start, stop) of the axes after the first


class Take(NamedTuple):
    """Rows of one argument; with ``item``, of that row output of a :class:`Made`."""

    arg: int
    item: int | None
    rows: slice | None
    inner: Inner = ()


Window = tuple[Take, ...]


class Read(NamedTuple):
    """One operand: a window, seen through views of its memory one by one, then a part of it."""

    window: int
    views: tuple[Geometry, ...] = ()
    rows: slice | None = None
    inner: Inner = ()

    def of_rows(self, lo: int, hi: int) -> Read:
        """Return the read of rows ``lo:hi`` of what this one reads."""
        first = 0 if self.rows is None else self.rows.start
        return self._replace(rows=slice(first + lo, first + hi))


class Literal(NamedTuple):
    """An operand that is a scalar, as the user wrote it."""

    value: Any


class Seen(NamedTuple):
    """A part of a home array that a task is given: what is seen through views, some rows of it."""

    views: tuple[Geometry, ...] = ()
    rows: tuple[int, int, int] | None = None  # first, stop and step
    inner: Inner = ()

    def of(self, array: Any) -> np.ndarray:
        """Return the part of the array."""
        for geometry in self.views:
            array = geometry.over(np.ascontiguousarray(array))
        if self.rows is not None:
            array = array[slice(*self.rows)]
        return cut_inside(array, self.inner)


@dataclass(frozen=True, slots=True)
class Bindings:
    """How a task's arguments become its operands."""

    windows: tuple[Window, ...]
    reads: tuple[Read | Literal, ...]

    def values(self, data: Sequence[Any], apart: Collection[int] = ()) -> list[Any]:
        """Return the operands in order; a window of one piece is that piece, without a copy.

        Operands with these numbers are read by rows: several pieces of one stay :class:`Pieces`.
        """
        whole: dict[int, np.ndarray] = {}
        found: list[Any] = []
        for number, read in enumerate(self.reads):
            if isinstance(read, Literal):
                found.append(read.value)
            elif number in apart and self.lies_in_pieces(number):
                found.append(Pieces([taken(take, data) for take in self.windows[read.window]]))
            else:
                if read.window not in whole:
                    whole[read.window] = assembled(self.windows[read.window], data)
                found.append(_seen(read, whole[read.window]))
        return found

    def block(self, lo: int, hi: int, by_rows: Sequence[int]) -> Bindings:
        """Return the same for rows ``lo:hi`` of operands whose first row here is not negative."""
        reads = [
            read if start < 0 or isinstance(read, Literal) else read.of_rows(lo, hi)
            for read, start in zip(self.reads, by_rows, strict=True)
        ]
        return Bindings(self.windows, tuple(reads))

    def lies_in_pieces(self, number: int) -> bool:
        """Say whether an operand is the rows of a window as they are, in several pieces."""
        read = self.reads[number]
        if isinstance(read, Literal) or read.views or read.rows is not None or read.inner:
            return False
        return len(self.windows[read.window]) > 1

    def pieces(self, data: Sequence[Any]) -> list[Any]:
        """Return the rows of the only operand in the arrays that they lie in, one after the other.

        As one array where it is anything else than the rows of a window as they are.
        """
        (read,) = self.reads
        if isinstance(read, Literal) or read.views or read.rows is not None or read.inner:
            return self.values(data)
        return [taken(take, data) for take in self.windows[read.window]]

    def given(self, data: Sequence[Any]) -> list[tuple[int, int, int]]:
        """Return of each piece of memory that is read here: address, bytes read, all bytes."""
        found = []
        for take in chain.from_iterable(self.windows):
            piece = data[take.arg] if take.item is None else data[take.arg].rows[take.item]
            if isinstance(piece, np.ndarray) and piece.nbytes > UNNOTICED:
                found.append((address_of(piece), taken(take, data).nbytes, piece.nbytes))
        return found


class Pieces:
    """Rows in the arrays that they lie in: some of them are put together when they are read."""

    def __init__(self, pieces: Sequence[np.ndarray]) -> None:
        self._pieces = pieces
        self._stops = list(accumulate(map(len, pieces)))
        self.shape = (self._stops[-1], *pieces[0].shape[1:])

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return consecutive rows: a view where they lie together, else a copy of them alone."""
        lo, hi, _ = rows.indices(self._stops[-1])
        first, last = bisect_right(self._stops, lo), bisect_left(self._stops, hi)
        starts = [0, *self._stops]
        parts = [
            self._pieces[k][max(lo - starts[k], 0) : hi - starts[k]] for k in range(first, last + 1)
        ]
        return _together(parts)


UNNOTICED = 1 << 12  # bytes of an operand that is not worth counting


def assembled(window: Window, data: Sequence[Any]) -> np.ndarray:
    """Return the rows of a window in one array, without a copy where they lie together.

    But what arrived in a message may not lie aligned in it, and compiled kernels need whole words.
    """
    return _together([taken(take, data) for take in window])


def _together(pieces: Sequence[np.ndarray]) -> np.ndarray:
    """Return pieces in one array, aligned; without a copy where it is one that is."""
    first = pieces[0]
    if len(pieces) == 1:
        return first if first.flags.aligned else first.copy()
    found = pool.empty((sum(map(len, pieces)), *first.shape[1:]), first.dtype)
    return np.concatenate(pieces, out=found)


def taken(take: Take, data: Sequence[Any]) -> np.ndarray:
    """Return the rows that ``take`` names, without a copy unless they are stored."""
    piece: Any = data[take.arg] if take.item is None else data[take.arg].rows[take.item]
    if isinstance(piece, StoredRows):
        piece = piece.rows(take.rows)
    elif take.rows is not None:
        piece = piece[take.rows]
    piece = cut_inside(piece, take.inner)
    return piece if isinstance(piece, np.ndarray) else piece.here()


def cut_inside(array: Any, inner: Inner) -> Any:
    """Return the part of every row that ``inner`` names, a view."""
    return array[(slice(None), *(slice(*ends) for ends in inner))] if inner else array


def _seen(read: Read, memory: np.ndarray) -> np.ndarray:
    for geometry in read.views:
        memory = geometry.over(np.ascontiguousarray(memory))
    memory = memory if read.rows is None else memory[read.rows]
    return cut_inside(memory, read.inner)
