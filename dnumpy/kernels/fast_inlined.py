"""The fast functions by name, as compiled loops inline them.

This module imports Numba, and is itself imported only when a kernel is compiled.
"""

from __future__ import annotations

from typing import Any

from numba.core.dispatcher import Dispatcher

from dnumpy.kernels import fast_circle, fast_double, fast_roots

_MODULES = {"f8": (fast_double, fast_circle, fast_roots)}


def functions() -> dict[str, Any]:
    """Return all of them, and what tells for which operands they are left to the C library."""
    return {
        f"fast_{name}_{code}": value
        for code, modules in _MODULES.items()
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Dispatcher) and value.py_func.__module__ == module.__name__
    }
