"""Floating-point flags of the calling thread, through which compiled kernels say what NumPy tells.

Some of NumPy's own loops end with no flag raised, whatever was raised before them, so that NumPy
tells nothing of what they do inside (comparisons with NaN, ``maximum``, ``tanh``). Kernels that
call such a loop among others note before it what has been raised: in the second of two integers,
and so in the first, where what was raised in the whole run is collected.
"""

from __future__ import annotations

import ctypes
import platform
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.expr.geometry import address_of
from dnumpy.kernels.loops import InnerLoop, run_loop

if TYPE_CHECKING:
    from collections.abc import Collection

# bits of <fenv.h>
_FLAGS = {
    "x86_64": {"invalid": 1, "divide": 4, "over": 8, "under": 16},
    "AMD64": {"invalid": 1, "divide": 4, "over": 8, "under": 16},
    "aarch64": {"invalid": 1, "divide": 2, "over": 4, "under": 8},
    "arm64": {"invalid": 1, "divide": 2, "over": 4, "under": 8},
}
_WORDS = {
    "invalid": "invalid value",
    "divide": "divide by zero",
    "over": "overflow",
    "under": "underflow",
}
ALL_FLAGS = 31
_SAMPLE = 37  # crosses the vector lengths of every CPU and leaves a tail


@lru_cache(maxsize=1)
def fenv() -> Any:
    """Return the C library's access to the floating-point flags of the calling thread."""
    library = ctypes.PyDLL(None)
    for name in ("feclearexcept", "feraiseexcept", "fetestexcept"):
        function = getattr(library, name)
        function.argtypes, function.restype = [ctypes.c_int], ctypes.c_int
    return library


@lru_cache(maxsize=1)
def noting() -> int:
    """Return the address of the C function that writes the flags raised where it is told to."""
    found = ctypes.cast(fenv().fegetexceptflag, ctypes.c_void_p).value
    assert found is not None
    return found


@lru_cache(maxsize=1024)
def forgets(loop: InnerLoop) -> bool:
    """Say whether flags that were raised before a loop of one result may be gone after it."""
    *kinds, result = loop.dtypes
    operands = [np.full(_SAMPLE, 1, kind) for kind in kinds]
    arrays = [*operands, np.empty(_SAMPLE, result)]
    flags, over = fenv(), _FLAGS[platform.machine()]["over"]
    flags.feclearexcept(ALL_FLAGS)
    flags.feraiseexcept(over)
    run_loop(loop, [address_of(a) for a in arrays], _SAMPLE, [a.itemsize for a in arrays])
    kept = flags.fetestexcept(over)
    flags.feclearexcept(ALL_FLAGS)
    return not kept


def tells_faults() -> bool:
    """Say whether this machine's floating-point flags are known."""
    return platform.machine() in _FLAGS


@lru_cache(maxsize=32)
def fault_words(raised: int) -> tuple[str, ...]:
    """Return what NumPy calls the faults of which these flags tell."""
    bits = _FLAGS[platform.machine()]
    return tuple(_WORDS[kind] for kind, bit in bits.items() if raised & bit)


def to_be_told(raised: int, told: Collection[str], *, truncates: bool) -> bool:
    """Say whether NumPy must run again to name the steps at fault."""
    if not raised:
        return False
    bits = _FLAGS[platform.machine()]
    if truncates and raised & bits["invalid"]:
        return True  # the integer that stands for what does not fit is NumPy's to choose
    return any(raised & bits[kind] for kind in told)


def flags_to_be_told(told: Collection[str], *, truncates: bool) -> int:
    """Return the flags after which NumPy must run again."""
    bits = _FLAGS[platform.machine()].values()
    return sum(bit for bit in bits if to_be_told(bit, told, truncates=truncates))
