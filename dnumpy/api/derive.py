"""What a program's subclasses of ``ndarray`` derive from: NumPy's array, which knows ours."""

from __future__ import annotations

from typing import Any

import numpy as np

from dnumpy.api import calls
from dnumpy.api.array import adopt, derive_from, handed_out, ndarray


class Derivable(np.ndarray):
    """NumPy's array, made from memory of ours too, and with ours as its plain view."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new array; its memory may be that of one of ours."""
        named = {k: handed_out(v) for k, v in kwargs.items()}
        return super().__new__(cls, *map(handed_out, args), **named)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """Return a view; as ``numpy.ndarray.view``."""
        named = {k: _numpy_class(v) for k, v in kwargs.items()}
        seen = super().view(*map(_numpy_class, args), **named)
        return adopt(seen) if type(seen) is np.ndarray else seen


class Overriding(Derivable):
    """The base of a class with an ``__array_ufunc__`` of its own, which may call this one."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Run the ufunc; operands of overriding classes are the caller's to convert."""
        named = {k: calls.unwrap(v) for k, v in kwargs.items()}
        if "out" in kwargs:
            named["out"] = calls.for_writing(kwargs["out"])
        plain = getattr(ufunc, "_np", ufunc)
        kind: Any = method
        found = super().__array_ufunc__(plain, kind, *map(calls.unwrap, inputs), **named)
        out = kwargs.get("out", ())
        return calls.wrap_result(found, [*(out if type(out) is tuple else (out,)), *inputs])


def _numpy_class(x: Any) -> Any:
    return np.ndarray if x is ndarray else x


derive_from(Derivable, Overriding)
