"""Iteration over arrays on nodes: their elements come home a block at a time, as they then are.

Where an iterator of NumPy's stands is told by NumPy's own, over an array of the same shape and
strides whose memory is never read.
"""

from __future__ import annotations

import inspect
from itertools import product
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dnumpy.api.array import exported, facts, ghost, is_managed_dtype, ndarray
from dnumpy.api.callables import Constructor
from dnumpy.api.composites import transpose
from dnumpy.api.flat import Line, flatiter
from dnumpy.api.stands import standing
from dnumpy.api.take import is_far

if TYPE_CHECKING:
    from collections.abc import Iterator

_base: Any = np.ndenumerate

# what leaves each element apart and reads it no earlier than it is reached
_SIMPLE_FLAGS = {"multi_index", "c_index", "f_index", "zerosize_ok", "refs_ok"}
_OF_NUMPYS = (
    "close", "finished", "has_delayed_bufalloc", "has_index", "has_multi_index", "index",
    "iterationneedsapi", "iterindex", "iternext", "iterrange", "itersize", "multi_index", "ndim",
    "nop", "reset", "shape", "dtypes",
)  # fmt: skip


def lies_far(array: Any) -> bool:
    """Say whether elements of an array are to be brought home as they are reached."""
    if type(array) is not ndarray or array._np is not None or not is_far(array):
        return False
    return bool(array.ndim) and is_managed_dtype(facts(array).dtype) and not array._buf.shared


def iterator(self: ndarray) -> Iterator[Any]:
    """Return what yields the rows of an array, or its elements as they are when reached."""
    a = self._np
    if a is not None and a.ndim == 1:
        return iter(a)
    shape = self.shape
    if not shape:
        msg = "iteration over a 0-d array"
        raise TypeError(msg)
    if len(shape) > 1:
        return (self[k] for k in range(shape[0]))
    return (x for x in flatiter(self)) if lies_far(self) else iter(exported(self))


class ndenumerate(_base):  # type: ignore[misc]  # noqa: D101 - its documentation is NumPy's
    __doc__ = np.ndenumerate.__doc__
    __signature__ = inspect.signature(np.ndenumerate)

    def __init__(self, arr: Any) -> None:
        self._places: Iterator[tuple[int, ...]] | None = None
        if lies_far(arr):
            self.iter = flatiter(arr)
            self._places = product(*map(range, facts(arr).shape))
        else:
            super().__init__(standing(arr))

    def __next__(self) -> Any:
        """Return the next index and the element there."""
        if self._places is None:
            return super().__next__()
        return next(self._places), next(self.iter)


class Walk:
    """NumPy's ``nditer`` over one array on nodes, which is read only."""

    __slots__ = ("_array", "_given", "_line", "_walker")

    def __init__(
        self, array: ndarray, line: Line | None, walker: np.nditer, given: tuple[Any, ...]
    ) -> None:
        self._array = array
        self._line = line
        self._walker = walker
        self._given = given

    @property
    def value(self) -> np.ndarray:
        """The element that is reached, as an array without axes."""
        if self._line is None or self._walker.finished:
            return self._walker.value  # type: ignore[return-value]
        at = self._walker.iterindex
        block = self._line.block(at)
        element = block[at - self._line.first :][:1].reshape(())
        element.flags.writeable = False
        return element

    @property
    def operands(self) -> tuple[Any, ...]:
        """The array."""
        self._walker.operands  # noqa: B018 - raises once it is closed
        return (self._array,)

    def copy(self) -> Walk:
        """Return an iterator that stands at the same element."""
        return Walk(self._array, self._line, self._walker.copy(), self._given)

    __copy__ = copy

    def __iter__(self) -> Walk:
        return self

    def __next__(self) -> np.ndarray:
        next(self._walker)
        return self.value

    def __len__(self) -> int:
        return len(self._walker)

    def __getitem__(self, key: Any) -> Any:
        self._walker[key]  # raises what NumPy raises
        return (self.value,)[key]

    def __enter__(self) -> Self:
        self._walker.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._walker.close()

    def __getattr__(self, name: str) -> Any:
        """Ask NumPy's iterator; for what reads or joins elements, one over the array at home."""
        if self._line is not None and name not in _OF_NUMPYS:
            self._come_home()
        return getattr(self._walker, name)

    def _come_home(self) -> None:
        flags, op_flags, order = self._given
        there: Any = np.nditer(exported(self._array), flags, op_flags, order=order)
        if self._walker.finished:
            while there.iternext():
                pass
        else:
            there.iterindex = self._walker.iterindex
        self._walker, self._line = there, None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in Walk.__slots__:
            object.__setattr__(self, name, value)
        else:
            setattr(self._walker, name, value)


def _walk(op: Any, flags: Any = None, op_flags: Any = None, order: Any = "K") -> Any:
    """Return an iterator over one array on nodes; NotImplemented where NumPy's must be."""
    array = op[0] if type(op) in (list, tuple) and len(op) == 1 else op
    if not lies_far(array) or not set(flags or ()) <= _SIMPLE_FLAGS:
        return NotImplemented
    if op_flags not in (None, [], ["readonly"], [["readonly"]], ("readonly",), [("readonly",)]):
        return NotImplemented
    seen = ghost(array)
    if order == "C" or (order in ("K", "A") and seen.flags.c_contiguous):
        line = array
    elif order == "F" or (order in ("K", "A") and seen.flags.f_contiguous):
        line = transpose(array)
    else:
        return NotImplemented
    walker = np.nditer(seen, flags, op_flags, order=order)
    return Walk(array, Line(line), walker, (flags, op_flags, order))


class Walking(Constructor):
    """Stands for ``nditer``."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return an iterator: ours over one array on nodes, else NumPy's."""
        if len(args) in (1, 2, 3) and kwargs.keys() <= {"flags", "op_flags", "order"}:
            found = _walk(*args, **kwargs)
            if found is not NotImplemented:
                return found
        return super().__call__(*args, **kwargs)

    def __instancecheck__(self, instance: object) -> bool:
        return type(instance) is Walk or super().__instancecheck__(instance)
