# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from dnumpy._typed._core.function_base import add_newdoc as add_newdoc
from dnumpy._typed._core.overrides import get_array_function_like_doc as get_array_function_like_doc
