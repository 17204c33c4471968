"""The flat iterator: NumPy's over memory at home, indexing of the flattened array on nodes."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.api import calls
from dnumpy.api.array import exported, facts, is_managed_dtype, looked_at
from dnumpy.api.composites import copy, ravel, reshape
from dnumpy.api.picks import repeated
from dnumpy.api.record import Unmanaged
from dnumpy.api.shown import AS_NUMPYS, find_by_module
from dnumpy.api.take import FEW_AXES, bounds, is_far

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.api.array import ndarray


BLOCK = 1 << 15  # elements that an iteration over an array on nodes brings home at a time


class Line:
    """The elements of an array on nodes in C order, each as it is when it is asked for.

    They come home a block at a time, and again once the array was written to.
    """

    __slots__ = ("_array", "_content", "_flat", "_stop", "_values", "first")

    def __init__(self, array: ndarray) -> None:
        self._array = array
        self._content: Any = None
        self.first = self._stop = 0  # of the elements at hand

    def holds(self, at: int) -> bool:
        """Say whether an element is at hand, as it is now."""
        return self.first <= at < self._stop and self._array._buf.expr is self._content

    def __getitem__(self, at: int) -> Any:
        return self.block(at)[at - self.first]

    def block(self, at: int) -> np.ndarray:
        """Return the elements at hand, this one among them."""
        if not self.holds(at):
            if self._array._buf.expr is not self._content:
                self._flat: Any = ravel(self._array)
            first = at - at % BLOCK
            self._values = looked_at(self._flat[first : first + BLOCK])
            buffer = self._array._buf
            self._content = None if buffer.shared else buffer.expr
            self.first, self._stop = first, first + len(self._values)
        return self._values


class _FlatType(type):
    __module__ = AS_NUMPYS

    def __instancecheck__(cls, instance: object) -> bool:
        return type(instance) is cls or isinstance(instance, np.flatiter)


find_by_module(_FlatType)


class flatiter(metaclass=_FlatType):
    """Iterates over an array in C order; indexable, and writes go to the array."""

    __slots__ = ("_array", "_at", "_line", "_made")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: ndarray) -> None:
        self._array = array
        self._made: np.flatiter | None = None
        if array._np is not None:
            self._made = array._np.flat
            return
        if array.ndim > FEW_AXES:
            np.empty((1,) * array.ndim).flat  # noqa: B018 - raises where NumPy refuses so many
        self._at = 0  # of an iteration over an array on nodes
        self._line: Line | None = None

    def _far(self) -> bool:
        """Say whether the elements lie on nodes."""
        array = self._array
        if self._made is not None or array._np is not None or not is_far(array):
            return False
        return bool(array.ndim) and is_managed_dtype(facts(array).dtype)

    @property
    def _np(self) -> np.flatiter:
        """NumPy's iterator, at the same element."""
        if self._made is None:
            self._made = exported(self._array).flat
            for _ in range(self._at):
                next(self._made)
        return self._made

    @property
    def base(self) -> ndarray:
        """The array iterated over."""
        return self._array

    @property
    def coords(self) -> tuple[int, ...]:
        """Index of the next element as one integer per axis."""
        if self._far() and self._at < len(self):
            return self._coordinates(self._at)
        return self._np.coords

    @property
    def index(self) -> int:
        """Index of the next element in C order."""
        return self._at if self._far() else self._np.index

    def copy(self) -> Any:
        """Return the elements as a new 1-D array."""
        if self._far():
            return copy(ravel(self._array))
        return calls.wrap_result(self._np.copy())

    def __iter__(self) -> flatiter:
        return self

    def __next__(self) -> Any:
        if self._made is not None:
            return next(self._made)
        at, line = self._at, self._line
        if line is None or not line.holds(at):
            if not self._far():
                return next(self._np)
            if at >= len(self):
                raise StopIteration
            if line is None:
                line = self._line = Line(self._array)
        self._at = at + 1
        return line[at]

    def __len__(self) -> int:
        return int(self._array.size) if self._far() else len(self._np)

    def __getitem__(self, key: Any) -> Any:
        if type(key) is int:
            if self._made is not None:
                return self._made[key]
            seen = native.lying_here(self._array)
            if seen is not None:
                self._at = 0
                return seen.flat[key]
        if self._far():
            wanted = self._key(key)
            self._at = 0  # an index sends NumPy's iterator back to the first element
            if type(wanted) is tuple:
                return self._array[wanted]
            if wanted is not None:
                found = ravel(self._array)[wanted]
                return copy(found) if type(wanted) is slice else found
        return calls.wrap_result(self._np[calls.unwrap(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        if self._far() and not self._array._readonly and not self._array._buf.shared:
            wanted = self._key(key)
            self._at = 0
            try:
                if wanted is not None and self._write(wanted, value):
                    return
            except Unmanaged:
                pass
        iterator = self._np  # first: a value that shows the same memory is read while it changes
        iterator[calls.unwrap(key)] = calls.unwrap(value)

    def _key(self, key: Any) -> Any:
        """Return an index into the flattened array, None for what NumPy must answer.

        One element is told by its index in the array itself, a tuple.
        """
        if key is Ellipsis:
            return slice(None)
        if type(key) is tuple and len(key) == 1:
            key = key[0]
        if type(key) is slice:
            return key
        if isinstance(key, int | np.integer) and type(key) is not bool:
            return self._coordinates(int(key))
        if type(key) is list:
            key = np.asarray(calls.unwrap(key))
            if key.dtype == bool:
                return None
        shape = getattr(key, "shape", ())
        kind = getattr(getattr(key, "dtype", None), "kind", "")
        if not shape or 0 in shape or (kind == "b" and shape != (len(self),)):
            return None
        if kind in "iu" and kind:
            found = bounds(key, len(self))
            if found.offending is not None:
                msg = f"index {found.offending} is out of bounds for size {len(self)}"
                raise IndexError(msg)
        return key if kind and kind in "biu" else None

    def _coordinates(self, at: int) -> tuple[int, ...]:
        if not -len(self) <= at < len(self):
            msg = f"index {at} is out of bounds for size {len(self)}"
            raise IndexError(msg)
        return tuple(int(k) for k in np.unravel_index(at % len(self), self._array.shape))

    def _write(self, key: Any, value: Any) -> bool:
        array = self._array
        if getattr(value, "_buf", None) is array._buf and type(key) is not tuple:
            return False  # NumPy copies one element after the other, and reads what it has written
        given = calls.unwrap(value) if type(value) in (list, tuple) else value
        values = given if hasattr(given, "reshape") else np.asarray(calls.unwrap(given))
        if not values.size:
            return False
        if type(key) is tuple:
            array[key] = values.reshape(-1)[0]
            return True
        flat = ravel(array)
        _fill(flat, key, values)
        if flat._buf is not array._buf:
            array[...] = reshape(flat, array.shape)
        return True

    def __delitem__(self, _key: Any) -> None:
        msg = "Cannot delete iterator elements"
        raise TypeError(msg)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._np.__array__(), dtype=dtype, copy=copy)


def _fill(flat: Any, key: Any, values: Any) -> None:
    """Write values, over and over, to what a key shows of a 1-D array."""
    if type(key) is slice:
        count = len(range(*key.indices(flat.shape[0])))
        shape: tuple[int, ...] = (count,)
    elif key.dtype == bool:
        count = int(key.sum())
        shape = (count,)
    else:
        count, shape = key.size, key.shape
    if count:
        new = repeated(values, count)
        flat[key] = new if new.size == 1 else new.reshape(shape)


def fill(array: ndarray, value: Any) -> bool:
    """Perform ``array.flat = value`` on nodes; False where NumPy must do it."""
    iterator = flatiter(array)
    if not iterator._far() or array._readonly or array._buf.shared:
        return False
    try:
        return iterator._write(slice(None), value)
    except Unmanaged:
        return False


def _comparison(name: str) -> Callable[[flatiter, Any], Any]:
    compare = getattr(operator, name)

    def method(self: flatiter, other: Any) -> Any:
        other = other._np if type(other) is flatiter else calls.unwrap(other)
        return calls.wrap_result(compare(self._np, other))

    return method


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(flatiter, f"__{_name}__", _comparison(_name))
