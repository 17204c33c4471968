# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from dnumpy._typed.lib._scimath_impl import __all__ as __all__, arccos as arccos, arcsin as arcsin, arctanh as arctanh, log as log, log2 as log2, log10 as log10, logn as logn, power as power, sqrt as sqrt
