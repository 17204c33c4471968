"""What a program's subclasses of ``ndarray`` derive from: NumPy's array, which knows ours."""

from __future__ import annotations

from functools import wraps
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from dnumpy.api import calls, ufuncs
from dnumpy.api.array import adopt, derive_from, handed_out, ndarray

if TYPE_CHECKING:
    from collections.abc import Callable


def _is_unspoken(override: Any) -> bool:
    """Say whether it is a function that NumPy would hand its own ufuncs."""
    is_program = isinstance(override, FunctionType) and override.__module__ != __name__
    return is_program and _SPEAKS not in vars(override)


def _ufunc_spoken(override: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(override)
    def spoken(self: Any, ufunc: Any, *args: Any, **kwargs: Any) -> Any:
        return override(self, ufuncs.ours_for(ufunc), *args, **kwargs)

    vars(spoken)[_SPEAKS] = True
    return spoken


def _wrap_spoken(override: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(override)
    def spoken(self: Any, array: Any, context: Any = None, *more: Any, **kwargs: Any) -> Any:
        if type(context) is tuple:
            context = (ufuncs.ours_for(context[0]), *context[1:])
        return override(self, array, context, *more, **kwargs)

    vars(spoken)[_SPEAKS] = True
    return spoken


_SPEAKS = "_is_handed_ours"
_SPOKEN = {"__array_ufunc__": _ufunc_spoken, "__array_wrap__": _wrap_spoken}


class Derivable(np.ndarray):
    """NumPy's array, made from memory of ours too, and with ours as its plain view."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        """Return a new array; its memory may be that of one of ours."""
        named = {k: handed_out(v) for k, v in kwargs.items()}
        return super().__new__(cls, *map(handed_out, args), **named)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let overrides that a program writes be handed our ufuncs, by whomever they are called."""
        super().__init_subclass__(**kwargs)
        for name, spoken in _SPOKEN.items():
            override = getattr(cls, name)
            if _is_unspoken(override):
                setattr(cls, name, spoken(override))

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
