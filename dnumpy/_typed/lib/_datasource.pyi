# Generated from the stubs of NumPy 2.4.6 by `python -m dnumpy.api.stubs`: do not edit.
# NumPy is (c) NumPy Developers, BSD-3-Clause.
from _typeshed import OpenBinaryMode, OpenTextMode
from pathlib import Path
from typing import IO, Any, TypeAlias

_Mode: TypeAlias = OpenBinaryMode | OpenTextMode

###

# exported in numpy.lib.nppyio
from numpy.lib._datasource import DataSource as DataSource

from numpy.lib._datasource import Repository as Repository

def open(
    path: str,
    mode: _Mode = "r",
    destpath: str | None = ".",
    encoding: str | None = None,
    newline: str | None = None,
) -> IO[Any]: ...
