"""How the loops of the Numba peer are compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")
prange: Any = numba.prange
jit: Any = numba.njit


def parallel(function: F) -> F:
    """Compile loops over ``prange`` for all cores; sums are added up in any order."""
    return cast("F", jit(parallel=True, fastmath=True, error_model="numpy")(function))


def parallel_strictly(function: F) -> F:
    """Compile loops over ``prange`` for all cores; arithmetic is as it is written."""
    return cast("F", jit(parallel=True, error_model="numpy")(function))


def inlined(function: F) -> F:
    """Compile a function that such loops call."""
    return cast("F", jit(fastmath=True, error_model="numpy")(function))


def threads() -> int:
    """Return how many threads the loops have."""
    return int(numba.get_num_threads())
