"""The fast functions by name, as compiled loops inline them.

This module imports Numba, and is itself imported only when a kernel is compiled.
"""

from __future__ import annotations

import math
from typing import Any

from numba.core.dispatcher import Dispatcher

from dnumpy.kernels import (
    fast_circle,
    fast_double,
    fast_roots,
    fast_single,
    fast_single_circle,
)
from dnumpy.kernels.fast_bits import choose, inlined

_MODULES = {
    "f8": (fast_double, fast_circle, fast_roots),
    "f4": (fast_single, fast_single_circle),
}
_LIBRARY = {"sin": math.sin, "cos": math.cos, "tan": math.tan}


def functions() -> dict[str, Any]:
    """Return all of them; ``anywhere`` stands after the names of those that have no bound."""
    found = {
        f"fast_{name}_{code}": value
        for code, modules in _MODULES.items()
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher) and value.py_func.__module__ == module.__name__
    }
    for code in _MODULES:
        beyond = found[f"fast_beyond_{code}"]
        for name, library in _LIBRARY.items():
            fast = found[f"fast_{name}_{code}"]
            found[f"fast_{name}_{code}_anywhere"] = _anywhere(fast, library, beyond)
    return found


def _anywhere(fast: Any, library: Any, beyond: Any) -> Any:
    """Return what calls the C library beyond the bound of a function."""

    @inlined
    def anywhere(x: float) -> float:
        far = beyond(x)
        near = fast(choose(far, x - x, x))  # whatever LLVM computes beforehand raises no flags
        return library(x) if far else near

    return anywhere
