"""Functions of the user's that numba compiles, called with arrays of ours."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

from numba import types
from numba.core.dispatcher import Dispatcher
from numba.core.interpreter import Interpreter
from numba.extending import typeof_impl

if TYPE_CHECKING:
    from collections.abc import Callable


def hand_over(kind: type, handed_over: Callable[[Any], Any]) -> None:
    """Let compiled functions take arrays of a class, which they get as NumPy's.

    They are compiled for NumPy's alone: a call with others finds nothing that was compiled for it,
    and what it is given in place of that hands them over.

    Parameters
    ----------
    kind : type
        The class.
    handed_over : callable
        An argument as numba is to have it, the same object where that is as it is.
    """
    opaque = types.Opaque(f"{kind.__module__}.{kind.__qualname__}")
    typeof_impl.register(kind)(lambda _array, _context: opaque)
    dispatcher: Any = Dispatcher  # of which the stubs tell no more than how it is called
    compile_for = dispatcher._compile_for_args  # noqa: SLF001 - what a call asks for

    @functools.wraps(compile_for)
    def compiled_for(self: Any, *args: Any, **kwargs: Any) -> Any:
        handed = [handed_over(x) for x in args]
        named = {name: handed_over(x) for name, x in kwargs.items()}
        given = [*args, *kwargs.values()]
        if all(x is y for x, y in zip(given, [*handed, *named.values()], strict=True)):
            return compile_for(self, *args, **kwargs)
        if self.py_func.__code__.co_flags & inspect.CO_VARARGS:
            handed[-1:] = handed[-1]  # which numba gathered in a tuple
        return lambda *_args, **_named: self(*handed, **named)

    dispatcher._compile_for_args = compiled_for  # noqa: SLF001


def name_for(meant: Callable[[Any], Any]) -> None:
    """Let compiled functions mean NumPy's modules, functions and arrays where they name others.

    Replaced where numba reads the code of a function, so that all that follows, its analysis for
    loops in parallel too, knows them.

    Parameters
    ----------
    meant : callable
        What numba is to have in place of what a name stands for outside the function.
    """
    reader: Any = Interpreter
    for lookup in ("get_global_value", "get_closure_value"):
        setattr(reader, lookup, _replacing(getattr(reader, lookup), meant))


def _replacing(found: Callable[..., Any], meant: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(found)
    def replaced(self: Any, name: Any) -> Any:
        return meant(found(self, name))

    return replaced
