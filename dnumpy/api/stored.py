"""Stored arrays as operands: those that nobody writes to stay where they are until they are read.

A large ``zarr.Array`` that was opened for reading alone, in a store that other processes see too,
is taken for one that nobody changes, as a read-only memory map is: its rows are read when they are
wanted, on the nodes that see the store. All others NumPy reads at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dnumpy.api.array import is_managed_dtype, managed
from dnumpy.api.buffer import Buffer
from dnumpy.config import config
from dnumpy.runtime.stored import leaf_of
from dnumpy.runtime.zarrs import zarr_kind, zarr_of

if TYPE_CHECKING:
    from dnumpy.api.array import ndarray

LEAST_BYTES = 16 << 20  # reading less at once takes less than knowing where it can be read


def stored(x: Any) -> ndarray | None:
    """Return an array over what ``x`` stores, unread; None where NumPy should read it now."""
    rows = zarr_of(x)
    if rows is None or not is_managed_dtype(rows.dtype):
        return None
    if rows.nbytes < (LEAST_BYTES if config.mode == "default" else 1):
        return None
    return managed(Buffer(leaf_of(rows)), None)


def with_stored(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the operands with those that are stored as arrays of ours; the same if none is."""
    kind = zarr_kind()
    if kind is None or kind not in map(type, args):
        return args
    found = [stored(x) for x in args]
    if not any(f is not None for f in found):
        return args
    return tuple(x if f is None else f for x, f in zip(args, found, strict=True))
