"""Parcels: all that a task reads from another node, cut out there by one task and sent as one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dnumpy.runtime.operands import AHEAD, Inner, Ref, Take, aligned, taken
from dnumpy.runtime.peaks import watch


class Packed(NamedTuple):
    """The arrays of a parcel, read as the row outputs of a task are."""

    rows: tuple[np.ndarray, ...]

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle so that arrays lie aligned where it arrives."""
        return _arrived, (AHEAD, self.rows)


def _arrived(_: np.ndarray, rows: tuple[np.ndarray, ...]) -> Packed:
    return Packed(aligned(rows))


def pack(takes: tuple[Take, ...], *data: Ref) -> Packed:
    """Return fresh arrays of the rows that are taken, to be sent to another node."""
    rows = tuple([np.ascontiguousarray(taken(take, data)) for take in takes])
    watch.note_leaving([array for array in rows if array.base is None])
    return Packed(rows)


class Parcel:
    """What one task will read from the node ``origin``; it is an argument of that task."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self.nbytes = 0
        self.copied_bytes = 0  # of rows that do not follow one another: others leave as they lie
        self.data: list[Ref] = []
        self.takes: list[Take] = []
        self._numbers: dict[Any, int] = {}

    def add(self, arg: Ref, item: int | None, rows: slice | None, inner: Inner, nbytes: int) -> int:
        """Return the number in the parcel of these rows of an argument, which are ``nbytes``."""
        ends = None if rows is None else (rows.start, rows.stop, rows.step)
        key = (id(arg), item, ends, inner)
        if key not in self._numbers:
            self._numbers[key] = len(self.takes)
            self.takes.append(Take(self._argument(arg), item, rows, inner))
            self.nbytes += nbytes
            if inner or (rows is not None and rows.step != 1):
                self.copied_bytes += nbytes
        return self._numbers[key]

    def contents(self) -> tuple[Any, ...]:
        """Return what tells parcels apart."""
        return (self.origin, *self._numbers)

    def _argument(self, arg: Ref) -> int:
        for number, known in enumerate(self.data):
            if known is arg:
                return number
        self.data.append(arg)
        return len(self.data) - 1
