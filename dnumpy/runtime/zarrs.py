"""Arrays in Zarr stores that were opened for reading alone, read along their chunks."""

from __future__ import annotations

import pickle
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dnumpy.runtime.files import BLOCK_BYTES, Identity, identity_of
from dnumpy.runtime.memory import pool
from dnumpy.runtime.stored import StoredRows

if TYPE_CHECKING:
    from dnumpy.expr.expr import Shape
    from dnumpy.runtime.stored import Identified

BAND_BYTES = 2 * BLOCK_BYTES  # of rows of chunks, of which a thread keeps those that it will want
_UNREADABLE = (OSError, ImportError, LookupError, ValueError, RuntimeError)
_METADATA = ("zarr.json", ".zarray")  # of the formats 3 and 2


class ZarrIdentity(NamedTuple):
    """What tells that two nodes see one array in a store that is no folder."""

    opened: bytes  # the pickled array, which says where it is
    metadata: str

    def holds(self) -> bool:
        """Say whether this node sees an array with the same metadata there."""
        try:
            array = pickle.loads(self.opened)  # noqa: S301 - from the process that asks
            return _metadata_of(array) == self.metadata
        except _UNREADABLE:
            return False


class _Band(NamedTuple):
    """Rows of whole chunks that were read."""

    identity: Identified
    first: int
    values: np.ndarray


class _Kept(threading.local):
    """The band of which a thread has read a part, which decoding anew would take again."""

    band: _Band | None = None


_kept = _Kept()


@dataclass(frozen=True, slots=True, eq=False)
class ZarrRows(StoredRows):
    """An array in a Zarr store; ``array`` is the one that was opened, which reads and pickles."""

    identity: Any
    array: Any
    shape: Shape
    dtype: np.dtype

    def rows(self, rows: slice | None) -> np.ndarray:
        """Return these rows in memory of their own; raises OSError where chunks cannot be read."""
        if isinstance(self.identity, Identity) and not self.identity.holds():
            msg = (
                f"{self.array.store_path} has changed since it was opened for reading alone, and "
                "its rows were still to be read: take a copy (`array[...]`) before it changes"
            )
            raise OSError(msg)  # what is missing would be read as the fill value
        start, stop, step = (rows or slice(None)).indices(self.shape[0])
        out = pool.empty((len(range(start, stop, step)), *self.shape[1:]), self.dtype)
        if step != 1:
            out[...] = self.array[start:stop:step]
            return out
        at = start
        while at < stop:
            end = self._end_of_read(at, stop)
            out[at - start : end - start] = self._read(at, end)
            at = end
        return out

    def _end_of_read(self, at: int, stop: int) -> int:
        """Return where the next read ends: whole chunks are read at once, of others one."""
        height = self.array.chunks[0]
        last = stop if stop == self.shape[0] else stop - stop % height
        if at % height == 0 and last > at:
            return last
        return min(stop, at - at % height + height)

    def _read(self, start: int, stop: int) -> np.ndarray:
        """Return rows: whole chunks, or some of the rows of one, whose others are kept."""
        height = self.array.chunks[0]
        first = start - start % height
        end = min(first + height, self.shape[0])
        if stop >= end and start == first:
            return self._whole(start, stop)
        band = _kept.band
        if band is None or (band.identity, band.first) != (self.identity, first):
            if stop == end or (end - first) * self.row_bytes > BAND_BYTES:
                return self._whole(start, stop)
            band = _kept.band = _Band(self.identity, first, self._whole(first, end))
        if stop == end:
            _kept.band = None
        return band.values[start - first : stop - first]

    def _whole(self, start: int, stop: int) -> np.ndarray:
        values: np.ndarray = self.array[start:stop]
        return values


def zarr_kind() -> type | None:
    """Return ``zarr.Array`` if the program has imported it."""
    return getattr(sys.modules.get("zarr"), "Array", None)


def zarr_of(value: object) -> ZarrRows | None:
    """Return the rows of a ``zarr.Array`` that every node may read; None for all else.

    That is an array opened for reading alone, in a folder or behind fsspec, of one axis at least.
    """
    kind = zarr_kind()
    if kind is None or type(value) is not kind:
        return None
    array = _anywhere(value)
    if not array.read_only or not array.ndim or array.dtype.hasobject:
        return None
    identity = _identity_of(array)
    if identity is None:
        return None
    return ZarrRows(identity, array, tuple(array.shape), np.dtype(array.dtype))


def _anywhere(array: Any) -> Any:
    """Return the array by a path that means the same in other processes."""
    from zarr import open_array
    from zarr.storage import LocalStore

    if not isinstance(array.store, LocalStore):
        return array
    root = Path(array.store.root).resolve()
    if root == array.store.root or not array.read_only:
        return array
    store = LocalStore(root, read_only=True)
    return open_array(store, path=array.path, mode="r", zarr_format=array.metadata.zarr_format)


def _identity_of(array: Any) -> Identified | None:
    """Return the identity of an array in a store that other processes see too."""
    folder = _folder_of(array)
    if folder is not None:
        found = (identity_of(str((folder / name).resolve())) for name in _METADATA)
        return next((identity for identity in found if identity is not None), None)
    from zarr.storage import FsspecStore

    if not isinstance(array.store, FsspecStore) or "memory" in _protocols(array.store):
        return None
    try:
        return ZarrIdentity(pickle.dumps(array), _metadata_of(array))
    except (*_UNREADABLE, pickle.PicklingError, TypeError, AttributeError):
        return None  # it is read at once


def _folder_of(array: Any) -> Path | None:
    """Return the folder of an array in a file system of the machine."""
    from zarr.storage import FsspecStore, LocalStore

    store = array.store
    if isinstance(store, LocalStore):
        return Path(store.root) / array.path
    if isinstance(store, FsspecStore) and "file" in _protocols(store):
        return Path(store.path) / array.path
    return None


def _protocols(store: Any) -> tuple[str, ...]:
    named = store.fs.protocol
    return (named,) if isinstance(named, str) else tuple(named)


def _metadata_of(array: Any) -> str:
    """Return the metadata that the store has now."""
    from zarr import open_array

    found = open_array(array.store, path=array.path, mode="r")
    return repr(found.metadata)
