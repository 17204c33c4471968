"""What our classes tell of the module that they are from: NumPy's, as programs and libraries ask.

``type(x).__module__ == "numpy"`` is how a library that does not import NumPy looks for its arrays,
and how extensions made with nanobind find out whether they may convert one to another dtype.
Whoever would import the class from there, to have it in another process, is told where it is.
"""

from __future__ import annotations

import copyreg
import sys
from importlib import import_module
from typing import Any

_FINDERS = frozenset({"dnumpy", "cloudpickle", "pickle", "dill"})  # parts of names of modules
_LOOKING_UP = "dnumpy.api.receivers"  # for others, where the module in C was not built


def _module_of(cls: type) -> str:
    frame = sys._getframe(1)
    asking = str(frame.f_globals.get("__name__", ""))
    if asking == _LOOKING_UP and frame.f_back is not None:
        asking = str(frame.f_back.f_globals.get("__name__", ""))
    return "numpy" if _FINDERS.isdisjoint(asking.split(".")) else str(vars(cls)["__module__"])


AS_NUMPYS = property(_module_of)  # what a metaclass has as ``__module__``


def _found(module: str, name: str) -> Any:
    return getattr(import_module(module), name)


def _reduce(cls: type) -> Any:
    return _found, (vars(cls)["__module__"], cls.__qualname__)


def find_by_module(metaclass: type) -> None:
    """Let pickles hold where the classes of a metaclass are: they look for it in C."""
    copyreg.pickle(metaclass, _reduce)
