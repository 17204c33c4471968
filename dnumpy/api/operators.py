"""The operators of arrays and deferred scalars that call a ufunc."""

from __future__ import annotations

import operator
import re
from math import fsum
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy import native
from dnumpy.api import calls, overrides, quick
from dnumpy.api.array import bare, ndarray, peek, peek_for_writing, wrap
from dnumpy.api.buffer import lock_of
from dnumpy.api.record import grows, to_numpy, widens
from dnumpy.api.scalar import DeferredScalar
from dnumpy.api.ufuncs import IMMEDIATE, as_ours, at_hand, call
from dnumpy.config import config

if TYPE_CHECKING:
    from collections.abc import Callable

_np_array = np.ndarray


def _reflected(wrapped: np.ufunc, plain: Callable[..., Any]) -> Any:
    row = quick.row_of(wrapped)

    def method(self: Any, other: Any) -> Any:
        if type(other) in IMMEDIATE:
            a = self._np
            if a is None:
                a = peek(self)
            if a is not None and not widens(wrapped, self, other):
                return as_ours(wrapped(other, a))
            found = quick.reflected(row, other, self) if row is not None else None
            return call(wrapped, (other, self), {}) if found is None else found
        if has_own_operators(other):
            return calls.wrap_result(plain(other, to_numpy(self)), (other, self))
        if not is_operand(other):
            return calls.run(plain, (other, self), {})  # whose class was asked by Python
        return call(wrapped, (other, self), {})

    return method


def _operator(  # noqa: C901 - every step counts
    wrapped: np.ufunc, plain: Callable[..., Any], theirs: str
) -> Any:
    one = wrapped.nout == 1
    row, binary = quick.row_of(wrapped), quick.binary

    def method(self: Any, other: Any) -> Any:
        a = self._np
        if type(other) is ndarray:
            b = other._np
        elif type(other) in IMMEDIATE:
            b = other
        else:
            return beside(self, other)
        if a is None or b is None or grows(self, other):
            return managed(self, other)
        r = wrapped(a, b)
        if type(r) is _np_array:
            if r.size < config.eager_below:
                made = bare()
                made._np = r
                return made
            return wrap(r)
        return r if one else calls.wrap_result(r, (self, other))

    def managed(self: Any, other: Any) -> Any:
        """Meet an operand of which one or both are managed: small views of such are at hand."""
        a, b = at_hand(self), at_hand(other)
        if a is None or b is None or grows(self, other) or widens(wrapped, self, other):
            found = binary(row, self, other) if row is not None else None
            return call(wrapped, (self, other), {}) if found is None else found
        r = wrapped(a, b)
        return wrap(r) if type(r) is _np_array else calls.wrap_result(r, (self, other))

    def beside(self: Any, other: Any) -> Any:
        """Meet an operand of another kind."""
        if has_own_operators(other):
            return calls.wrap_result(plain(to_numpy(self), other), (self, other))
        if not is_operand(other):
            return left_to(other, theirs, plain, self)
        found = asked_first(other, theirs, self)
        return call(wrapped, (self, other), {}) if found is NotImplemented else found

    return method


_REFUSED = re.compile(r"(unsupported operand|not supported between instances of).*'numpy\.ndarray'")


def left_to(other: Any, theirs: str, plain: Callable[..., Any], ours: Any) -> Any:
    """Return what the class of ``other`` makes of an array of ours, or else of NumPy's array.

    Classes that do not know ours, as pandas' timestamps, would refuse it.
    """
    has_it = any(theirs in vars(kind) for kind in type(other).__mro__)  # not of the metaclass
    found = getattr(type(other), theirs)(other, ours) if has_it else NotImplemented
    if found is not NotImplemented:
        return found
    try:
        return calls.run(plain, (ours, other), {})
    except TypeError as problem:
        if not _REFUSED.search(str(problem)):
            raise
        return NotImplemented  # Python says so itself, of the operator as it was written


def asked_first(other: Any, theirs: str, ours: Any) -> Any:
    """Return what Python asks for before it asks an array of NumPy's; NotImplemented if nothing.

    That is a subclass of NumPy's array, where it has a reflected operator of its own.
    """
    kind = type(other)
    if not issubclass(kind, _np_array) or getattr(kind, theirs) is getattr(_np_array, theirs):
        return NotImplemented
    return getattr(kind, theirs)(other, ours)


def has_own_operators(other: Any) -> bool:
    """Whether ``other`` is of a subclass of NumPy's array, whose operators Python tries first."""
    if type(other) is _np_array or not issubclass(type(other), _np_array):
        return False
    return not overrides.overridden((other,), "__array_ufunc__")


def is_operand(other: Any) -> bool:
    """Whether NumPy would take ``other`` as an operand rather than defer to its class."""
    if type(other) is ndarray or type(other) is DeferredScalar:
        return True
    if hasattr(type(other), "__array_ufunc__"):
        return type(other).__array_ufunc__ is not None
    priority = getattr(other, "__array_priority__", None)
    if priority is None or isinstance(other, np.ndarray | np.generic):
        return True
    try:
        return fsum((priority,)) <= 0
    except TypeError:  # what is no number NumPy takes for the lowest
        return True


def _inplace(wrapped: np.ufunc) -> Any:
    row = quick.row_of(wrapped)

    def method(self: Any, other: Any) -> Any:
        a = self._np
        if a is None:
            return managed(self, other)
        if type(other) is ndarray:
            b = other._np
        elif type(other) in IMMEDIATE:
            b = other
        else:  # an operand that may override the ufunc
            return NotImplemented if takes_over(other) else recorded(self, other)
        wrapped(a, calls.unwrap(other) if b is None else b, a)
        return self

    def managed(self: Any, other: Any) -> Any:
        b = at_hand(other)
        if b is not None and peek(self) is not None:
            with lock_of(self._buf):
                a = peek_for_writing(self)
                if a is not None:
                    wrapped(a, b, a)
                    return self
        if row is not None and quick.into(row, self, other):
            return self
        return NotImplemented if takes_over(other) else recorded(self, other)

    def recorded(self: Any, other: Any) -> Any:
        return call(wrapped, (self, other), {"out": (self,)})

    return method


def takes_over(other: Any) -> bool:
    """Whether an in-place operator leaves the operation to ``other``, as to a class of units."""
    if type(other) is ndarray or hasattr(type(other), "__array_ufunc__"):
        return False
    return not is_operand(other)


def _unary(wrapped: np.ufunc) -> Any:
    row = quick.row_of(wrapped)

    def method(self: Any) -> Any:
        a = self._np
        if a is None:
            a = peek(self)
        if a is not None:
            r = wrapped(a)
            if type(r) is _np_array:
                made = bare()
                made._np = r
                return made
            return r
        found = quick.unary(row, self) if row is not None else None
        return call(wrapped, (self,), {}) if found is None else found

    return method


BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide,
    "floordiv": np.floor_divide, "mod": np.remainder, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift, "divmod": np.divmod,
}  # fmt: skip
COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip
UNARY = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}


def install(cls: type, *, in_place: bool) -> None:
    """Give ``cls`` NumPy's operators."""
    for name, wrapped in BINARY.items():
        plain = divmod if name == "divmod" else getattr(operator, f"__{name}__")
        row = quick.row_of(wrapped)
        right = f"__r{name}__"
        native.give(cls, f"__{name}__", _operator(wrapped, plain, right), wrapped, row)
        native.give(cls, right, _reflected(wrapped, plain))
        if in_place and name != "divmod":
            native.give(cls, f"__i{name}__", _inplace(wrapped))
    for name, wrapped in UNARY.items():
        native.give(cls, f"__{name}__", _unary(wrapped), wrapped, quick.row_of(wrapped))
