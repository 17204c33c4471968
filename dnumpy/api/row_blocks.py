"""Arrays on workers that go into a file: a block of rows at a time comes through this process.

``np.save``, ``tofile``, ``np.copyto`` into an array of NumPy's and assignment to a memory map take
what lies on workers so, from 64 MB on: what is held here is a block or two, not the array. NumPy's
own ``numpy.memmap`` knows nothing of this; ``np.memmap``, ``np.lib.format.open_memmap`` and
``np.load(..., mmap_mode="r+")`` give maps that do.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import engine
from dnumpy.api import blocks
from dnumpy.api.array import facts, ghost, is_managed_dtype, ndarray
from dnumpy.api.calls import wrap_result
from dnumpy.api.record import content

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

BLOCK_BYTES = 32 << 20
_open_memmap = np.lib.format.open_memmap


def comes_in_blocks(x: Any) -> bool:
    """Say whether an operand lies on workers, or will, and is worth more than one block."""
    if type(x) is not ndarray or x._np is not None:
        return False
    shape, dtype = facts(x)
    if not is_managed_dtype(dtype) or not shape or x.nbytes < 2 * BLOCK_BYTES:
        return False
    return shape[0] > 1 and blocks.spread(x)


def row_blocks(x: ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """Yield consecutive rows ``lo:hi`` with what they hold; what is pending stays on workers."""
    if x._buf.pending:
        engine.compute_apart([x._buf.expr])
    count = x.shape[0]
    step = max(1, min(count, count * BLOCK_BYTES // x.nbytes))
    for lo in range(0, count, step):
        hi = min(lo + step, count)
        yield lo, hi, engine.value(blocks.copied(content(x[lo:hi])))


def _in_file_order(x: Any) -> bool:
    """Say whether the rows of an array follow one another as they would in a file."""
    return comes_in_blocks(x) and bool(ghost(x).flags.c_contiguous)


@contextmanager
def _opened(file: Any, suffix: str = "") -> Iterator[Any]:
    """Give what is to be written to: the file itself if it is one, else one of that name."""
    if hasattr(file, "write"):
        yield file
        return
    path = os.fspath(file)
    with Path(path if path.endswith(suffix) else path + suffix).open("wb") as out:
        yield out


def save(file: Any, arr: Any, allow_pickle: Any = True, **deprecated: Any) -> Any:
    """Write an ``.npy`` file block by block; as ``numpy.save``."""
    if not _in_file_order(arr) or not allow_pickle or deprecated:
        return NotImplemented
    shape, dtype = facts(arr)
    told: Any = {
        "descr": np.lib.format.dtype_to_descr(dtype),
        "fortran_order": False,
        "shape": shape,
    }
    with _opened(file, ".npy") as out:
        np.lib.format.write_array_header_1_0(out, told)
        for _, _, block in row_blocks(arr):
            out.write(block.reshape(-1).view(np.uint8).data)
    return None


def tofile(self: ndarray, fid: Any, sep: str = "", format: str = "%s") -> Any:
    """Write the items of an array block by block; as ``numpy.ndarray.tofile``."""
    if sep or not comes_in_blocks(self):
        return NotImplemented
    with _opened(fid) as out:
        for _, _, block in row_blocks(self):
            block.tofile(out, sep, format)
    return None


def copied_to(target: np.ndarray, source: Any, casting: Any = "same_kind") -> bool:
    """Copy an array on workers into NumPy's memory block by block; False where NumPy should."""
    if not comes_in_blocks(source) or source.shape != target.shape:
        return False
    if not target.flags.writeable or not np.can_cast(source.dtype, target.dtype, casting):
        return False  # NumPy says why
    for lo, hi, block in row_blocks(source):
        np.copyto(target[lo:hi], block, casting=casting)
    return True


class _Maps(type):
    """Takes NumPy's own memory maps for instances, too."""

    def __instancecheck__(cls, instance: object) -> bool:
        known = np.memmap if cls is memmap else cls
        return type.__instancecheck__(known, instance)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return type.__subclasscheck__(np.memmap if cls is memmap else cls, subclass)


class memmap(np.memmap, metaclass=_Maps):
    """A memory map of a file, into which arrays on workers are written block by block."""

    def __setitem__(self, key: Any, value: Any) -> None:
        """Assign; as ``numpy.memmap``."""
        if type(value) is ndarray and comes_in_blocks(value):
            target = self[key]
            shown = type(target) is not np.generic and np.may_share_memory(target, self)
            if shown and copied_to(target.view(np.ndarray), value, "unsafe"):
                return
        super().__setitem__(key, value)

    def __getitem__(self, key: Any) -> Any:
        """Return what a key shows; what is no part of the map is an array."""
        found = super().__getitem__(key)
        ours = type(found) is memmap and found._mmap is None
        return found.view(np.ndarray) if ours else found

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: Any = False) -> Any:
        """Return results as arrays and scalars; as ``numpy.memmap``."""
        found = super().__array_wrap__(array, context)
        if self is found or type(self) is not memmap:
            return found
        return found[()] if return_scalar else found.view(np.ndarray)


memmap.__module__ = "dnumpy"
memmap.__doc__ = np.memmap.__doc__


def as_ours(mapped: Any) -> Any:
    """Return a map of NumPy's that may be written to as one of ours, over the same file."""
    if type(mapped) is np.memmap and mapped.flags.writeable and is_managed_dtype(mapped.dtype):
        return mapped.view(memmap)
    return wrap_result(mapped)


def open_memmap(*args: Any, **kwargs: Any) -> Any:
    """Open an ``.npy`` file as a memory map; as ``numpy.lib.format.open_memmap``."""
    return as_ours(_open_memmap(*args, **kwargs))


NATIVE: dict[str, Callable[..., Any]] = {"save": save}
METHODS: dict[str, Callable[..., Any]] = {"tofile": tofile}
CREATION: dict[str, Callable[..., Any]] = {"lib.format.open_memmap": open_memmap}
