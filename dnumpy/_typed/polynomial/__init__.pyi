# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from typing import Final, Literal

from dnumpy._typed.polynomial import chebyshev, hermite, hermite_e, laguerre, legendre, polynomial
from dnumpy._typed.polynomial.chebyshev import Chebyshev
from dnumpy._typed.polynomial.hermite import Hermite
from dnumpy._typed.polynomial.hermite_e import HermiteE
from dnumpy._typed.polynomial.laguerre import Laguerre
from dnumpy._typed.polynomial.legendre import Legendre
from dnumpy._typed.polynomial.polynomial import Polynomial

__all__ = [
    "set_default_printstyle",
    "polynomial",
    "Polynomial",
    "chebyshev",
    "Chebyshev",
    "legendre",
    "Legendre",
    "hermite",
    "Hermite",
    "hermite_e",
    "HermiteE",
    "laguerre",
    "Laguerre",
]

def set_default_printstyle(style: Literal["ascii", "unicode"]) -> None: ...

from numpy._pytesttester import PytestTester as _PytestTester

test: Final[_PytestTester]
