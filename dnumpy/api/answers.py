"""What objects of a program's classes answer when NumPy asks them for an array: one of NumPy's.

A class that is written in terms of dnumpy has an ``__array__`` that returns one of our arrays,
which NumPy refuses where it asks in C: ``np.float64(2) * x``, and every library that converts what
it is given. So the method of each class that is made after dnumpy was imported hands out NumPy's
array, over the same memory. Functions of ours are given what it returned.
"""

from __future__ import annotations

import builtins
import functools
import sys
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

from dnumpy import native
from dnumpy.api.array import exported, ndarray

if TYPE_CHECKING:
    from collections.abc import Callable

_ASKED = "__array__"


def _answer_numpy(made: type) -> None:
    """Let what NumPy is handed by objects of a new class be NumPy's."""
    own = vars(made)[_ASKED]
    if type(own) is FunctionType:
        type.__setattr__(made, _ASKED, _answering(own))


def _answering(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def answer(*args: Any, **kwargs: Any) -> Any:
        found = own(*args, **kwargs)
        if type(found) is not ndarray or _is_of_ours(sys._getframe(1).f_globals):
            return found
        return exported(found)

    return answer


def _is_of_ours(names: dict[str, Any]) -> bool:
    return str(names.get("__name__")).startswith("dnumpy.")


def install() -> None:
    """Let classes that are made from now on answer; run once when the package is imported."""
    build: Any = builtins.__build_class__
    if native.built and type(build) is BuiltinFunctionType:
        builtins.__build_class__ = native.build_classes_with(build, _answer_numpy)
