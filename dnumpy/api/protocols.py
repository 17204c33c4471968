"""How other libraries meet our arrays: NumPy's protocols, the array API, DLPack."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import Any

import numpy as np

from dnumpy import engine, native
from dnumpy.api import calls, dispatch, operators, overrides, places, ufuncs
from dnumpy.api.array import concrete, exported, ndarray, shown_of_far
from dnumpy.api.describe import describe_classes
from dnumpy.api.record import is_lazy, widens
from dnumpy.api.scalar import DeferredScalar
from dnumpy.api.stands import speaks


def _array(self: ndarray, dtype: Any = None, *, copy: bool | None = None) -> np.ndarray:
    """Return the content as a NumPy array; without ``copy`` it shares this array's memory.

    A little part of a large array on nodes is a copy that cannot be written to.
    """
    if self._np is None and copy is False and self._buf.pending:
        msg = "Unable to avoid copy while creating an array as requested: it is not computed yet."
        raise ValueError(msg)
    part = None if copy is False else shown_of_far(self)
    values = exported(self) if part is None else part
    if copy:
        return np.array(values, dtype=dtype, copy=True)
    return values if dtype is None else np.asarray(values, dtype=dtype, copy=copy)


_OURS = (ndarray, DeferredScalar)


def _overrides(x: Any) -> bool:
    """Say whether an operand is of a class of others that has its own way with ufuncs."""
    override = getattr(type(x), "__array_ufunc__", None)
    if type(x) in _OURS or override is None:
        return False
    return override is not np.ndarray.__array_ufunc__ and not isinstance(x, np.generic)


def _array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Run a NumPy ufunc on our arrays; defer to classes that override ufuncs themselves."""
    if len(inputs) == 2 and not kwargs and method == "__call__":
        x, y = inputs  # a scalar of NumPy's is the first operand of an operator
        if type(x) is np.ndarray and not x.ndim:
            x = x[()]  # as which it comes to be compared
        if type(y) is ndarray and type(x) in ufuncs.IMMEDIATE:
            a = y._np if y._np is not None else ufuncs.at_hand(y)
            if a is None or widens(ufunc, x, y):
                return ufuncs.of(ufunc)(x, y)
            return ufuncs.as_ours(ufunc(x, a))
    outs = kwargs.get("out", ())
    if any(map(_overrides, (*outs, kwargs.get("where")))):
        return NotImplemented
    others = [k for k, x in enumerate(inputs) if _overrides(x)]
    if others:
        first = next((k for k, x in enumerate(inputs) if type(x) in _OURS), len(inputs))
        spoken = any(speaks(type(inputs[k]), "__array_ufunc__") for k in others)
        if outs or spoken or others[-1] > first:
            return NotImplemented  # the next of them is asked
        # they took us for a class that they do not know, and would take what NumPy has here
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return calls.run(function, inputs, kwargs)
    if len(outs) == 1:
        kwargs["out"] = outs[0] if ufunc.nout == 1 else outs
    ours = ufuncs.of(ufunc)
    if method == "__call__":
        return ours(*inputs, **kwargs)
    return getattr(ours, method)(*inputs, **kwargs)


def _array_function(
    self: Any, func: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Run a NumPy function on our arrays."""
    if not all(t is ndarray or t is DeferredScalar or issubclass(t, np.ndarray) for t in types):
        return NotImplemented
    hidden = not any(map(calls.holds_ours, (*args, *kwargs.values())))
    if hidden and hasattr(func, "_implementation"):  # within another sequence
        return calls.run(func._implementation, args, kwargs)
    ours = overrides.functions.get(func)
    if ours is not None:
        return ours(*args, **kwargs)
    runner = calls.run_writing if func.__name__ in dispatch.WRITING else calls.run
    return runner(func, args, kwargs)


def _array_namespace(_self: ndarray, *, api_version: str | None = None) -> Any:
    """Return the array API namespace, which is dnumpy itself."""
    import dnumpy

    numpys: Any = np.empty(0)
    numpys.__array_namespace__(api_version=api_version)  # raises for a version NumPy lacks
    return dnumpy


_TO_WRITE = 1  # the flag of who asks for a buffer to write to: inspect.BufferFlags.WRITABLE


def _priority(_self: ndarray) -> float:
    return 0.0


def _buffer(self: ndarray, flags: int) -> memoryview:
    """Return the memory that code in C asks for, through the module in C or PEP 688.

    NumPy asks for it before it asks for the array: where a buffer cannot tell the dtype, as of
    bytes without fields, it is to ask further.
    """
    part = None if flags & _TO_WRITE else shown_of_far(self)
    memory = exported(self) if part is None else part
    if not _is_told(memory.dtype, memory.dtype.char):
        msg = f"a buffer cannot tell the dtype {memory.dtype}"
        raise BufferError(msg)
    return memory.data


@lru_cache(maxsize=256)
def _is_told(dtype: np.dtype, _char: str) -> bool:
    """Say whether a buffer's format tells all of a dtype, of which several may be equal."""
    try:
        memory = np.empty(1, dtype).data
    except (ValueError, TypeError, BufferError):
        return True  # there is no such buffer, as NumPy will say
    try:
        found = np.asarray(memory).dtype
    except ValueError:  # NumPy writes formats of subarrays with several axes that it cannot read
        return False
    same = found == dtype and found.char == dtype.char
    return same and found.isalignedstruct == dtype.isalignedstruct


def _bytes(self: ndarray) -> bytes:
    """Return the memory's bytes: before Python 3.12 ``bytes`` would take an array for a list."""
    return bytes(concrete(self))


def _numpy_dtype(_self: ndarray) -> Any:
    """Refuse to stand for a dtype, which all else that has one does: an array is none to NumPy."""
    msg = "Cannot construct a dtype from an array"
    raise TypeError(msg)


def _dlpack(self: ndarray, **kwargs: Any) -> Any:
    if self._np is not None:
        return self._np.__dlpack__(**kwargs)
    found = places.resident(self)
    if found is None or kwargs.get("dl_device") == np.empty(0).__dlpack_device__():
        return exported(self).__dlpack__(**kwargs)
    engine.flush()  # pending work may still be about to write
    return found.__dlpack__(**kwargs)


def _dlpack_device(self: ndarray) -> Any:
    if self._np is not None:
        return self._np.__dlpack_device__()
    found = places.resident(self)
    return np.empty(0).__dlpack_device__() if found is None else found.__dlpack_device__()


def _arrow_array(self: ndarray, type: Any = None) -> Any:
    import pyarrow as pa

    return pa.array(exported(self), type=type)


def install() -> None:
    """Give the class its protocols; run once when the package is imported."""
    ndarray.__array__ = _array
    ndarray.__array_ufunc__ = native.method(_array_ufunc, np.ndarray.__array_ufunc__, "protocol")
    ndarray.__array_function__ = _array_function
    ndarray.__array_namespace__ = _array_namespace
    ndarray.__array_priority__ = native.attribute(property(_priority), "__array_priority__")
    ndarray.__buffer__ = _buffer
    ndarray.__numpy_dtype__ = property(_numpy_dtype)
    ndarray.__bytes__ = _bytes
    ndarray.__dlpack__ = _dlpack
    ndarray.__dlpack_device__ = _dlpack_device
    ndarray.__arrow_array__ = _arrow_array
    describe_classes()
    DeferredScalar.__array_ufunc__ = _array_ufunc
    DeferredScalar.__array_function__ = _array_function
    for name, wrapped in operators.BINARY.items():
        plain = divmod if name == "divmod" else getattr(operator, f"__{name}__")
        setattr(DeferredScalar, f"__{name}__", _scalar_operator(wrapped, plain))
        setattr(DeferredScalar, f"__r{name}__", _scalar_reflected(wrapped, plain))
    for name, wrapped in operators.COMPARE.items():
        plain = getattr(operator, name)
        setattr(DeferredScalar, f"__{name}__", _scalar_operator(wrapped, plain))
    for name, wrapped in operators.UNARY.items():
        setattr(DeferredScalar, f"__{name}__", _scalar_unary(wrapped))
    DeferredScalar.__pow__ = _scalar_power
    DeferredScalar.__rpow__ = _scalar_reflected_power
    DeferredScalar.__matmul__ = _scalar_matmul
    DeferredScalar.__rmatmul__ = _scalar_reflected_matmul


_NUMBERS = tuple(type(np.dtype(code)) for code in "?bhilqBHILQefdgFDG")  # classes of their dtypes
_MOST_BITS = 63  # of a Python integer that any NumPy integer holds


def _defers(self: DeferredScalar, other: Any, *, takes_complex: bool) -> bool:
    """Say whether the result with ``other`` may wait: the ufunc then says what the scalar would."""
    kind = type(other)
    if kind is ndarray:
        return True
    dtype = getattr(other, "dtype", None)
    if not takes_complex and "c" in (self.dtype.kind, getattr(dtype, "kind", "")):
        return False
    if self.dtype.char in "qQ":  # of which ufuncs make int64
        return False
    if kind is int:
        return other.bit_length() < _MOST_BITS
    return kind is float or kind is bool or isinstance(dtype, _NUMBERS)


def _scalar_operator(wrapped: np.ufunc, plain: Any) -> Any:
    takes_complex = "DD->D" in wrapped.types or "DD->?" in wrapped.types

    def method(self: DeferredScalar, other: Any) -> Any:
        waits = self.is_pending or is_lazy(other)
        if waits and _defers(self, other, takes_complex=takes_complex):
            return ufuncs.call(wrapped, (self, other), {})
        return calls.wrap_result(plain(self.force(), calls.unwrap(other)))

    return method


def _scalar_reflected(wrapped: np.ufunc, plain: Any) -> Any:
    takes_complex = "DD->D" in wrapped.types

    def method(self: DeferredScalar, other: Any) -> Any:
        waits = self.is_pending or is_lazy(other)
        if waits and _defers(self, other, takes_complex=takes_complex):
            return ufuncs.call(wrapped, (other, self), {})
        return calls.wrap_result(plain(calls.unwrap(other), self.force()))

    return method


def _scalar_power(self: DeferredScalar, exponent: Any, modulo: Any = None) -> Any:
    """NumPy's scalars have a power of their own: integers to negative powers differ."""
    if modulo is not None:
        return pow(self.force(), calls.unwrap(exponent), modulo)
    if type(exponent) is ndarray:
        return ufuncs.call(np.power, (self, exponent), {})
    return calls.wrap_result(self.force() ** calls.unwrap(exponent))


def _scalar_reflected_power(self: DeferredScalar, base: Any, modulo: Any = None) -> Any:
    if modulo is not None:
        return pow(calls.unwrap(base), self.force(), modulo)
    if type(base) is ndarray:
        return ufuncs.call(np.power, (base, self), {})
    return calls.wrap_result(calls.unwrap(base) ** self.force())


def _scalar_matmul(self: DeferredScalar, other: Any) -> Any:
    return calls.wrap_result(self.force() @ calls.unwrap(other))


def _scalar_reflected_matmul(self: DeferredScalar, other: Any) -> Any:
    return calls.wrap_result(calls.unwrap(other) @ self.force())


def _scalar_unary(wrapped: np.ufunc) -> Any:
    def method(self: DeferredScalar) -> Any:
        return ufuncs.call(wrapped, (self,), {})

    return method


install()
