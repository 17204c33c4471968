"""Deferred scalars: full reductions of managed arrays, not computed until somebody looks.

A deferred scalar behaves as the NumPy scalar that it will be: immutable, hashable, formattable,
usable as an index; ``isinstance`` sees the NumPy type. Arithmetic between deferred scalars and
managed arrays stays in the engine.
"""

from __future__ import annotations

import math
import operator
import weakref
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dnumpy import engine
from dnumpy.runtime.dask_collection import while_pickled

if TYPE_CHECKING:
    from collections.abc import Callable

    from dnumpy.expr.expr import Expr
    from dnumpy.runtime.forecast import Prediction
    from dnumpy.runtime.records import Record


class DeferredScalar:
    """The immutable scalar that a pending 0-d Expr denotes."""

    __slots__ = ("__weakref__", "_value", "expr", "run")
    made: ClassVar[bool] = False  # whether there ever was one

    def __init__(self, expr: Expr) -> None:
        self.expr: Expr | None = expr
        self.run: list[Record] | None = None
        self._value: Any = None

    def force(self) -> Any:
        """Return the NumPy scalar, computing it the first time."""
        if self.expr is not None:
            if self.expr.value is None:
                engine.compute([self.expr])
            self._value = self.expr.value[()]
            if self.run is None and self.expr.owner is not None:  # another handle's content
                self.run = engine.measured(self.expr.owner())
            self.expr = None
        return self._value

    def predict(self) -> Prediction:
        """Return the seconds and bytes that computing the scalar would take; computes nothing."""
        return engine.predict([] if self.expr is None else [self.expr])

    @property
    def is_pending(self) -> bool:
        """Whether the scalar is not computed yet."""
        return self.expr is not None and self.expr.value is None

    def as_operand(self) -> Any:
        """Return the Expr while pending, else a constant."""
        from dnumpy.expr.expr import Const

        return Const(self._value) if self.expr is None else self.expr

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The NumPy scalar type, so that isinstance answers as for NumPy's result."""
        return self.dtype.type

    @property
    def dtype(self) -> np.dtype:
        """Dtype, without computing."""
        return self._value.dtype if self.expr is None else self.expr.dtype

    __iter__ = None  # NumPy takes what can be iterated over for a sequence, as in np.zeros(s)

    shape: tuple[()] = property(lambda _self: ())  # type: ignore[assignment]
    ndim: int = property(lambda _self: 0)  # type: ignore[assignment]
    size: int = property(lambda _self: 1)  # type: ignore[assignment]

    def __getattr__(self, name: str) -> Any:
        """Anything else is asked of the NumPy scalar."""
        if name.startswith("__array_") and name not in _FORWARDED:
            raise AttributeError(name)
        return getattr(self.force(), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return a 0-d array."""
        return np.array(self.force(), dtype=dtype)

    def __repr__(self) -> str:
        """Return the NumPy scalar's repr."""
        return repr(self.force())

    def __reduce__(self) -> Any:
        """Pickle as the NumPy scalar."""
        with while_pickled():
            return self.force().__reduce__()


def deferred(expr: Expr) -> Any:
    """Return the scalar that ``expr`` denotes: a NumPy scalar if it is known."""
    if expr.value is not None:
        return expr.value[()]
    DeferredScalar.made = True
    scalar = DeferredScalar(expr)
    if expr.owner is None or expr.owner() is None:
        expr.owner = weakref.ref(scalar)  # computed along with whatever else is looked at
        engine.note(expr, expr.owner, id(scalar))
    return scalar


def _forward(function: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: DeferredScalar, *args: Any) -> Any:
        return function(
            self.force(), *[a.force() if type(a) is DeferredScalar else a for a in args]
        )

    return method


_FORWARDED = ("__array_priority__", "__array_wrap__")
_PLAIN: tuple[Callable[..., Any], ...] = (
    int, float, complex, bool, str, hash, format, round, bytes, math.trunc, math.floor,
    math.ceil, operator.index, operator.getitem, operator.contains,
)  # fmt: skip

for _function in _PLAIN:
    setattr(DeferredScalar, f"__{_function.__name__}__", _forward(_function))
setattr(DeferredScalar, "__buffer__", lambda self, _flags: memoryview(self.force()))  # noqa: B010
