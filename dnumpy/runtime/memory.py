"""Memory of large arrays, reused when an array dies: the first touch of fresh pages is dear.

A 400 MB array costs 1.4 to 3 times as much to fill when its pages are fresh, so blocks of dead
arrays are kept, up to ``config.pool_bytes``, and handed to the next array of the same size.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from math import prod
from typing import Any

import numpy as np

from dnumpy.config import config

SMALLEST = 1 << 18  # bytes; below this malloc itself reuses memory well


class Lease:
    """Owns a block while some array lies in it; gives it back when the last one dies."""

    __slots__ = ("__array_interface__", "block", "pool")

    def __init__(self, pool: Pool, block: np.ndarray) -> None:
        self.pool = pool
        self.block = block
        self.__array_interface__: dict[str, Any] = {
            "shape": block.shape,
            "typestr": "|u1",
            "data": (block.ctypes.data, False),
            "version": 3,
        }

    def __del__(self) -> None:
        """Return the block."""
        self.pool.give_back(self.block)


class Pool:
    """Blocks of dead arrays by size, the longest unused given up first."""

    def __init__(self) -> None:
        self._free: OrderedDict[int, list[np.ndarray]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.RLock()

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        """Return an uninitialised C-contiguous array."""
        nbytes = prod(shape) * dtype.itemsize
        if nbytes < SMALLEST or config.pool_bytes == 0 or dtype.hasobject:
            return np.empty(shape, dtype)
        lease = Lease(self, self._block(nbytes))
        array: np.ndarray = np.ndarray(shape, dtype, np.asarray(lease))
        return array

    def _block(self, nbytes: int) -> np.ndarray:
        with self._lock:
            blocks = self._free.get(nbytes)
            if blocks:
                self._bytes -= nbytes
                block = blocks.pop()
                if not blocks:
                    del self._free[nbytes]
                return block
        return np.empty(nbytes, np.uint8)

    def give_back(self, block: np.ndarray) -> None:
        """Keep ``block`` for the next array of its size, within the cap."""
        with self._lock:
            self._free.setdefault(block.nbytes, []).append(block)
            self._free.move_to_end(block.nbytes)
            self._bytes += block.nbytes
            while self._bytes > config.pool_bytes:
                size, blocks = next(iter(self._free.items()))
                blocks.pop()
                self._bytes -= size
                if not blocks:
                    del self._free[size]

    def trim(self) -> int:
        """Give every unused block back to the system; return the bytes released."""
        with self._lock:
            released, self._bytes = self._bytes, 0
            self._free.clear()
            return released


pool = Pool()
