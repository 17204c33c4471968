"""Counts on a grid by NumPy's own code, with places told from values where edges are even.

NumPy looks for each value among the edges by halves, along one axis after the other, which is most
of what ``histogramdd`` takes.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.ops.sorting import evenly_placed

if TYPE_CHECKING:
    from collections.abc import Callable


class _Numpy:
    """NumPy for functions of its own, but for where values belong among edges."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def searchsorted(a: Any, v: Any, side: Any = "left") -> Any:
        found = evenly_placed(a, np.ascontiguousarray(v), side)
        return np.searchsorted(a, v, side) if found is None else found


def _grafted(function: Any) -> Callable[..., Any]:
    """Return a function of NumPy's that looks for places as told above."""
    source = getattr(function, "_implementation", function)
    space = {**source.__globals__, "np": _Numpy()}
    return FunctionType(
        source.__code__, space, source.__name__, source.__defaults__, source.__closure__
    )


histogramdd = _grafted(np.histogramdd)
