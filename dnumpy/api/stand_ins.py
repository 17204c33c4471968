"""What NumPy says of shapes and dtypes alone, asked with stand-ins, so that nothing is computed.

A stand-in is an array of the same shape and dtype that repeats one element of memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import calls
from dnumpy.api.array import facts, ndarray
from dnumpy.api.scalar import DeferredScalar
from dnumpy.api.stands import standing

if TYPE_CHECKING:
    from collections.abc import Callable


def stand_in(x: Any) -> Any:
    """Return ``x`` with our arrays as stand-ins, inside lists and tuples too."""
    kind = type(x)
    if kind is ndarray:
        if x._np is not None:
            return x._np
        shape, dtype = facts(x)
        return np.broadcast_to(np.zeros((), dtype), shape)
    if kind is DeferredScalar:
        return x.dtype.type(0)
    if kind is list or kind is tuple:
        return kind([stand_in(e) for e in x])
    return standing(x)


def _answered(function: Callable[..., Any]) -> Callable[..., Any]:
    def answer(*args: Any, **kwargs: Any) -> Any:
        return function(*map(stand_in, args), **{k: stand_in(v) for k, v in kwargs.items()})

    answer.__name__ = function.__name__
    return answer


# what depends on the shapes and dtypes of its operands only
NATIVE: dict[str, Callable[..., Any]] = {
    name: _answered(getattr(np, name))
    for name in (
        "can_cast", "common_type", "einsum_path", "iscomplexobj", "isrealobj", "isscalar",
        "iterable", "min_scalar_type", "ndim", "result_type", "shape", "size",
    )
}  # fmt: skip


def broadcast_of(*arrays: Any) -> np.broadcast:
    """Return NumPy's broadcast of stand-ins: its shape counts, not its elements."""
    return np.broadcast(*map(stand_in, arrays))


_converter: Any = vars(np)["_core"]._multiarray_umath._array_converter


class Converter:
    """Stands for the object with which NumPy's own functions convert their operands."""

    def __init__(self, *given: Any) -> None:
        self._given = tuple(x if type(x) is ndarray else calls.unwrap(x) for x in given)
        self._numpys = _converter(*map(stand_in, self._given))

    def __len__(self) -> int:
        return len(self._given)

    def __getitem__(self, item: int) -> Any:
        given = self._given[item]
        return given if type(given) is ndarray else self._numpys[item]

    @property
    def scalar_input(self) -> tuple[bool, ...]:
        """For each operand, whether it was a scalar."""
        found: tuple[bool, ...] = self._numpys.scalar_input
        return found

    def as_arrays(self, *, subok: bool = True, pyscalars: str = "convert_if_no_array") -> Any:
        """Return the operands as arrays; see NumPy's ``_array_converter.as_arrays``."""
        converted = self._numpys.as_arrays(subok=subok, pyscalars=pyscalars)
        return tuple(
            g if type(g) is ndarray else c for g, c in zip(self._given, converted, strict=True)
        )

    def result_type(self, extra_dtype: Any = None, *, ensure_inexact: bool = False) -> Any:
        """Return the operands' common dtype."""
        return self._numpys.result_type(extra_dtype=extra_dtype, ensure_inexact=ensure_inexact)

    def wrap(self, array: Any, /, *, to_scalar: bool | None = None) -> Any:
        """Return a result as an array of the operands' kind, or as a scalar."""
        if type(array) is not ndarray:
            return (
                array
                if type(array) is DeferredScalar
                else self._numpys.wrap(array, to_scalar=to_scalar)
            )
        scalar = all(self.scalar_input) if to_scalar is None else to_scalar
        return array[()] if scalar and not array.ndim else array


REPLACED: dict[Any, Any] = {_converter: Converter, np.broadcast: broadcast_of}
