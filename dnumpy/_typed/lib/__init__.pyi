# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from dnumpy._typed._core.function_base import add_newdoc
from dnumpy._typed._core.multiarray import add_docstring, tracemalloc_domain

# all submodules of `lib` are accessible at runtime through `__getattr__`,
# so we implicitly re-export them here
from dnumpy._typed.lib import _array_utils_impl as _array_utils_impl, _arraypad_impl as _arraypad_impl, _arraysetops_impl as _arraysetops_impl, _arrayterator_impl as _arrayterator_impl, _datasource as _datasource, _format_impl as _format_impl, _function_base_impl as _function_base_impl, _histograms_impl as _histograms_impl, _index_tricks_impl as _index_tricks_impl, _iotools as _iotools, _nanfunctions_impl as _nanfunctions_impl, _npyio_impl as _npyio_impl, _polynomial_impl as _polynomial_impl, _scimath_impl as _scimath_impl, _shape_base_impl as _shape_base_impl, _stride_tricks_impl as _stride_tricks_impl, _twodim_base_impl as _twodim_base_impl, _type_check_impl as _type_check_impl, _ufunclike_impl as _ufunclike_impl, _utils_impl as _utils_impl, _version as _version, array_utils, format, introspect, mixins, npyio, scimath, stride_tricks
from dnumpy._typed.lib._arrayterator_impl import Arrayterator
from dnumpy._typed.lib._version import NumpyVersion

__all__ = [
    "Arrayterator",
    "add_docstring",
    "add_newdoc",
    "array_utils",
    "format",
    "introspect",
    "mixins",
    "NumpyVersion",
    "npyio",
    "scimath",
    "stride_tricks",
    "tracemalloc_domain",
]
