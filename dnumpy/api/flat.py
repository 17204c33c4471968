"""The flat iterator: NumPy's, over an array of ours."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import calls
from dnumpy.api.array import exported

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.api.array import ndarray


class _FlatType(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return type(instance) is cls or isinstance(instance, np.flatiter)


class flatiter(metaclass=_FlatType):
    """Iterates over an array in C order; indexable, and writes go to the array."""

    __slots__ = ("_array", "_np")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: ndarray) -> None:
        self._array = array
        self._np = exported(array).flat

    @property
    def base(self) -> ndarray:
        """The array iterated over."""
        return self._array

    @property
    def coords(self) -> tuple[int, ...]:
        """Index of the next element as one integer per axis."""
        return self._np.coords

    @property
    def index(self) -> int:
        """Index of the next element in C order."""
        return self._np.index

    def copy(self) -> Any:
        """Return the elements as a new 1-D array."""
        return calls.wrap_result(self._np.copy())

    def __iter__(self) -> flatiter:
        return self

    def __next__(self) -> Any:
        return next(self._np)

    def __len__(self) -> int:
        return len(self._np)

    def __getitem__(self, key: Any) -> Any:
        return calls.wrap_result(self._np[calls.unwrap(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self._np[calls.unwrap(key)] = calls.unwrap(value)

    def __delitem__(self, _key: Any) -> None:
        msg = "Cannot delete iterator elements"
        raise TypeError(msg)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._np.__array__(), dtype=dtype, copy=copy)


def _comparison(name: str) -> Callable[[flatiter, Any], Any]:
    compare = getattr(operator, name)

    def method(self: flatiter, other: Any) -> Any:
        other = other._np if type(other) is flatiter else calls.unwrap(other)
        return calls.wrap_result(compare(self._np, other))

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(flatiter, f"__{_name}__", _comparison(_name))
