"""Pages of dead arrays under new ones: moving them takes a thousandth of what new pages take.

The first touch of new pages costs 0.2 ns a byte where the system has them at hand, and ten times
that in a virtual machine that has given them back to its host: 512 MB took 240 to 1,200 ms. The
same memory, moved to where a new array lies, took 0.1 ms (one entry of a page table for each
2 MB), whatever the sizes of the arrays that lay in it before.

Linux from 5.7 on: there the range that pages are taken from stays mapped, empty. Before, anything
might come to lie in it, and would be unmapped with the rest of it.
"""

from __future__ import annotations

import ctypes
import mmap
from functools import lru_cache
from typing import Any

MAY_MOVE, FIXED, KEEP_MAPPED = 1, 2, 4  # MREMAP_MAYMOVE, MREMAP_FIXED, MREMAP_DONTUNMAP
DONT_NEED = 4  # MADV_DONTNEED
TRIED = b"moved"


def move(source: int, target: int, nbytes: int) -> bool:
    """Let ``target`` have the pages of ``source``, which has new ones from then on.

    Both are addresses of whole pages, and of private memory without a file. False where the system
    does not do it, and nothing has changed.
    """
    flags = MAY_MOVE | FIXED | KEEP_MAPPED
    found = _library().mremap(source, nbytes, nbytes, flags, ctypes.c_void_p(target))
    return bool(found == target)


def forget(address: int, nbytes: int) -> None:
    """Give pages back to the system, where they begin at a whole one; what they held is lost."""
    _library().madvise(address, nbytes, DONT_NEED)


@lru_cache(maxsize=1)
def can_move() -> bool:
    """Say whether the system moves pages: a page is, and what it held is looked at."""
    try:
        library = _library()
        kinds = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        one, other = mmap.mmap(-1, mmap.PAGESIZE, kinds), mmap.mmap(-1, mmap.PAGESIZE, kinds)
    except (AttributeError, OSError, TypeError):  # another system, or no memory at all
        return False
    one[: len(TRIED)] = TRIED
    source, target = (ctypes.addressof(ctypes.c_char.from_buffer(each)) for each in (one, other))
    moved = hasattr(library, "mremap") and move(source, target, mmap.PAGESIZE)
    return moved and other[: len(TRIED)] == TRIED and one[: len(TRIED)] == bytes(len(TRIED))


@lru_cache(maxsize=1)
def _library() -> Any:
    library = ctypes.CDLL(None)
    address, size = ctypes.c_void_p, ctypes.c_size_t
    library.mremap.restype = address
    library.mremap.argtypes = (address, size, size, ctypes.c_int, address)
    library.madvise.restype = ctypes.c_int
    library.madvise.argtypes = (address, size, ctypes.c_int)
    return library
