"""Arrays that lie in files, read where they are needed.

An array that is a read-only memory map (``np.load(path, mmap_mode="r")``, ``np.memmap(path,
mode="r")``) is not sent to nodes that see the same file: their tasks read the rows that they want,
block by block, into memory of their own, so that what is held is bounded by the block and not by
the file.
"""

from __future__ import annotations

import mmap
import os
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnumpy.expr.geometry import address_of
from dnumpy.runtime.memory import pool

if TYPE_CHECKING:
    from collections.abc import Collection

    from distributed import Client

    from dnumpy.expr.expr import Shape

BLOCK_BYTES = 8 << 20  # that all tasks of a node together read from files at a time


class Identity(NamedTuple):
    """What tells that two paths, on two nodes, are one file in one state."""

    path: str
    nbytes: int
    changed: int  # nanoseconds
    number: int  # of the inode


def identity_of(path: str) -> Identity | None:
    """Return what the file looks like from here, None where it cannot be read."""
    try:
        seen = Path(path).stat()
    except OSError:
        return None
    return Identity(path, seen.st_size, seen.st_mtime_ns, seen.st_ino)


def sees(identity: Identity) -> bool:
    """Say whether this node sees the same file in the same state."""
    return identity_of(identity.path) == identity


class Seen:
    """Which workers see which files; each is asked once for each state of a file."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Identity], bool] = {}

    def by_all(self, identity: Identity, client: Client, workers: Collection[str]) -> bool:
        """Say whether all of these workers see this very file."""
        unknown = [w for w in workers if (w, identity) not in self._known]
        if unknown:
            told = client.run(sees, identity, workers=unknown)
            self._known |= {(worker, identity): seen for worker, seen in told.items()}
        return all(self._known.get((w, identity), False) for w in workers)


class FileRows(NamedTuple):
    """A C-contiguous array whose rows follow one another in a file, from byte ``offset`` on."""

    identity: Identity
    offset: int
    shape: Shape
    dtype: np.dtype

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return prod(self.shape[1:]) * self.dtype.itemsize

    def rows(self, rows: slice | None) -> np.ndarray:
        """Return these rows in memory of their own; raises OSError where the file is cut short."""
        start, stop, step = (rows or slice(None)).indices(self.shape[0])
        count = len(range(start, stop, step))
        out = pool.empty((count, *self.shape[1:]), self.dtype)
        with Path(self.identity.path).open("rb", buffering=0) as file:
            if step == 1:
                _fill(file.fileno(), out, self.offset + start * self.row_bytes)
            else:
                for k, row in enumerate(range(start, stop, step)):
                    _fill(file.fileno(), out[k : k + 1], self.offset + row * self.row_bytes)
        return out


def _fill(file: int, out: np.ndarray, offset: int) -> None:
    """Read the bytes of ``out`` from a place in a file."""
    if not out.nbytes:
        return
    left = memoryview(out.reshape(-1).view(np.uint8).data)
    while left:
        got = os.preadv(file, [left], offset)
        if not got:
            msg = f"a file that is read by rows ends {len(left)} bytes too early: it was cut short"
            raise OSError(msg)
        left, offset = left[got:], offset + got


def file_of(array: object) -> FileRows | None:
    """Return where an array lies in the file that it maps; None if it is no read-only map."""
    if type(array) is not np.ndarray or array.flags.writeable or not array.flags.c_contiguous:
        return None
    if not array.ndim or array.dtype.hasobject:
        return None
    root: object = array
    while isinstance(root, np.ndarray) and not isinstance(root.base, mmap.mmap):
        root = root.base
    if not isinstance(root, np.memmap) or root.mode != "r" or root.filename is None:
        return None
    identity = identity_of(str(Path(root.filename).resolve()))
    if identity is None:
        return None
    offset = root.offset + address_of(array) - address_of(root)
    return FileRows(identity, offset, array.shape, array.dtype)
