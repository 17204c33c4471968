# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from dnumpy._typed._core.records import array, find_duplicate, format_parser, fromarrays, fromfile, fromrecords, fromstring, recarray, record

__all__ = [
    "record",
    "recarray",
    "format_parser",
    "fromarrays",
    "fromrecords",
    "fromstring",
    "fromfile",
    "array",
    "find_duplicate",
]
