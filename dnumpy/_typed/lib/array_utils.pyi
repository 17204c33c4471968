# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from dnumpy._typed.lib._array_utils_impl import __all__ as __all__, byte_bounds as byte_bounds, normalize_axis_index as normalize_axis_index, normalize_axis_tuple as normalize_axis_tuple
