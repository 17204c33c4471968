"""``NDArrayOperatorsMixin`` whose operators call our ufuncs."""

from __future__ import annotations

from types import CellType, FunctionType
from typing import Any

import numpy as np
from numpy.lib import mixins

from dnumpy.api import ufuncs

_numpys: Any = mixins.NDArrayOperatorsMixin


def _over_ours(method: FunctionType) -> FunctionType:
    """Return a method of NumPy's whose one free variable, a ufunc, is ours."""
    (cell,) = method.__closure__ or ()
    closure = (CellType(ufuncs.ours_for(cell.cell_contents)),)
    made = FunctionType(
        method.__code__, method.__globals__, method.__name__, method.__defaults__, closure
    )
    made.__qualname__ = method.__qualname__
    return made


def _operators() -> dict[str, Any]:
    return {
        name: _over_ours(method)
        for name, method in vars(_numpys).items()
        if isinstance(method, FunctionType)
        and method.__closure__ is not None
        and isinstance(method.__closure__[0].cell_contents, np.ufunc)
    }


NDArrayOperatorsMixin: Any = type(
    _numpys.__name__,
    (_numpys,),
    {
        "__slots__": (),
        "__doc__": _numpys.__doc__,
        "__module__": "dnumpy.lib.mixins",
        **_operators(),
    },
)
