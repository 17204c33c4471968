"""Arrays that lie in files, read where they are needed.

An array that is a read-only memory map (``np.load(path, mmap_mode="r")``, ``np.memmap(path,
mode="r")``) is not sent to nodes that see the same file: their tasks read the rows that they want,
block by block, into memory of their own, so that what is held is bounded by the block and not by
the file.
"""

from __future__ import annotations

import mmap
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dnumpy.expr.geometry import address_of
from dnumpy.runtime.memory import pool
from dnumpy.runtime.stored import StoredRows

if TYPE_CHECKING:
    from dnumpy.expr.expr import Shape

BLOCK_BYTES = 8 << 20  # that all tasks of a node together read from files at a time


class Identity(NamedTuple):
    """What tells that two paths, on two nodes, are one file in one state."""

    path: str
    nbytes: int
    changed: int  # nanoseconds
    number: int  # of the inode

    def holds(self) -> bool:
        """Say whether this node sees the same file in the same state."""
        return identity_of(self.path) == self


def identity_of(path: str) -> Identity | None:
    """Return what the file looks like from here, None where it cannot be read."""
    try:
        seen = Path(path).stat()
    except OSError:
        return None
    return Identity(path, seen.st_size, seen.st_mtime_ns, seen.st_ino)


@dataclass(frozen=True, slots=True)
class FileRows(StoredRows):
    """A C-contiguous array whose rows follow one another in a file, from byte ``offset`` on."""

    identity: Identity
    offset: int
    shape: Shape
    dtype: np.dtype

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


def stored_rows(value: object) -> StoredRows | None:
    """Return what reads rows of a stored value where they are needed; None if nothing does."""
    return value if isinstance(value, StoredRows) else file_of(value)
